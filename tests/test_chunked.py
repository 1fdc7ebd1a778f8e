"""Chunked arrays: values against numpy, chunking kept, and padding that never shows, NaN put into it by hand."""

from __future__ import annotations

import doctest
import importlib
import math
import pkgutil
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import tpufft.chunked
from tests.helpers import (
    AUTO,
    AXIS_TYPES,
    EXPLICIT,
    MESHES,
    TYPE_IDS,
    check_value,
    collectives,
    context,
    counted_work,
    mesh_of,
    random,
    some,
    tolerance,
)
from tpufft.chunked import ChunkedArray, chunk, elementwise, register_operator, registry, vdot
from tpufft.errors import LayoutError
from tpufft.layout import Layout


@dataclass(frozen=True)
class Case:
    mesh: str
    spec: P
    shape: tuple[int, ...]


CASES = {
    "even line": Case("x8", P("x"), (48,)),
    "even rows": Case("x8", P("x"), (16, 6)),
    "even pencil": Case("x4y2", P("x", "y"), (8, 4, 3)),
    "uneven line": Case("x8", P("x"), (45,)),
    "short last chunk and empty ones": Case("x8", P("x"), (17,)),
    "uneven columns": Case("x8", P(None, "x"), (3, 13)),
    "uneven both": Case("x4y2", P("x", "y"), (7, 5)),
    "uneven over two": Case("x4y2", P(("y", "x"), None), (11, 3)),
    "uneven three": Case("x2y2z2", P("x", "y", "z"), (3, 4, 5)),
    "tiny": Case("x8", P("x"), (3, 2)),
    "one element": Case("x8", P("x"), (1,)),
    "mesh axis of size 1": Case("x2a1z4", P("x", "a", "z"), (3, 3, 6)),
    "replicated": Case("x8", P(), (5, 2)),
    "replicated over one": Case("x4y2", P("x"), (7, 2)),
    "mesh of one": Case("x1", P("x"), (5, 2)),
    "no axes": Case("x8", P(), ()),
    "nothing": Case("x8", P("x"), (0, 3)),
    "nothing in a whole axis": Case("x8", P("x"), (5, 0)),
}
FULL = {name: case for name, case in CASES.items() if 0 not in case.shape}
UNEVEN = {name: case for name, case in FULL.items() if "even" in name or name == "tiny"}
KINDS = pytest.mark.parametrize("axis_type", AXIS_TYPES, ids=TYPE_IDS)


def every(cases: dict[str, Case]) -> Any:
    return pytest.mark.parametrize("case", cases.values(), ids=cases.keys())


def poisoned(c: ChunkedArray) -> ChunkedArray:
    """The same array with NaN (the largest number, True) stored behind its end."""
    inside = np.zeros(c.layout.stored_shape, bool)
    inside[tuple(slice(size) for size in c.shape)] = True
    poison = {"f": math.nan, "c": complex(math.nan, math.nan), "b": True}.get(c.dtype.kind)
    poison = np.iinfo(c.dtype).max if poison is None else poison
    data = np.where(inside, np.asarray(c.data), np.asarray(poison, c.dtype))
    return ChunkedArray.from_data(jax.device_put(data, c.layout.sharding), c.layout)


def made(case: Case, dtype: Any = np.float64, axis_type: Any = AUTO, seed: int = 0) -> tuple[ChunkedArray, np.ndarray]:
    """A poisoned array and what it holds."""
    x = np.asarray(random(case.shape, dtype, seed))
    return poisoned(chunk(x, mesh_of(case.mesh, axis_type), case.spec)), x


def check(
    got: Any, want: np.ndarray, like: ChunkedArray | None = None, *, exact: bool = False, times: float = 1
) -> None:
    """Value, kind of dtype, and the chunking of `like`."""
    want = np.asarray(want)
    if like is not None:
        assert isinstance(got, ChunkedArray)
        assert got.layout.spec == like.layout.spec
        assert got.layout.padding == like.layout.padding
        assert got.mesh == like.mesh
        check_stored(got)
    assert got.shape == want.shape
    value = np.asarray(got)
    assert value.dtype == got.dtype
    assert value.dtype.kind == want.dtype.kind, f"{value.dtype} instead of {want.dtype}"
    if exact or value.dtype.kind in "biu":
        np.testing.assert_array_equal(value, want)
    else:
        assert not np.isnan(value).any()
        check_value(value, want, times=times)


def check_stored(c: ChunkedArray) -> None:
    """That the data is where the layout says, in equal chunks of ceil(N / P)."""
    assert c.data.shape == c.layout.stored_shape
    assert c.data.dtype == c.dtype
    assert c.data.sharding.is_equivalent_to(c.layout.sharding, c.ndim), f"{c.data.sharding} for {c.layout}"
    for size, parts, length in zip(c.shape, c.layout.parts, c.layout.chunk_shape, strict=True):
        assert length == -(-size // parts)
    assert all(shard.data.shape == c.layout.chunk_shape for shard in c.data.addressable_shards)


def check_sum(got: Any, terms: np.ndarray, axis: Any = None, *, times: float = 1, **how: Any) -> None:
    """A sum, to what rounding of its terms explains: they may cancel."""
    want, scale = terms.sum(axis=axis, **how), np.abs(terms).sum(axis=axis, **how)
    assert got.shape == want.shape
    assert got.dtype.kind == want.dtype.kind
    allowed = times * tolerance(got.dtype, terms.size) * scale if got.dtype.kind in "fc" else 0 * scale
    assert (np.abs(np.asarray(got) - want) <= allowed).all()


# -- making one ----------------------------------------------------------------------------------------------------


@KINDS
@every(CASES)
def test_chunk_and_back(case: Case, axis_type: Any) -> None:
    x = random(case.shape, np.float64)
    mesh = mesh_of(case.mesh, axis_type)
    c = chunk(x, mesh, case.spec)
    check_stored(c)
    assert (c.shape, c.dtype, c.ndim, c.size, c.mesh) == (x.shape, x.dtype, x.ndim, x.size, mesh)
    np.testing.assert_array_equal(c.to_numpy(), x)
    np.testing.assert_array_equal(np.asarray(poisoned(c)), x)
    np.testing.assert_array_equal(np.asarray(c.data)[tuple(slice(size) for size in x.shape)], x)
    assert chunk(c) is c
    assert chunk(c, mesh, case.spec) is c


@KINDS
@every(CASES)
def test_from_a_jax_array_wherever_it_is(case: Case, axis_type: Any) -> None:
    x = random(case.shape, np.float32)
    mesh = mesh_of(case.mesh, axis_type)
    sources = [jnp.asarray(x), jax.device_put(x, jax.devices()[3]), jax.device_put(x, NamedSharding(mesh, P()))]
    for source in sources:
        c = chunk(source, mesh, case.spec)
        check_stored(c)
        check(c, x, exact=True)


@KINDS
def test_from_an_array_that_is_chunked_otherwise(axis_type: Any) -> None:
    mesh = mesh_of("x4y2", axis_type)
    x = random((10, 12), np.float64)
    source = jax.device_put(x, NamedSharding(mesh, P("y", "x")))
    own = chunk(source)
    assert own.spec == P("y", "x")
    assert own.data is source
    for spec in (P("x", "y"), P(None, ("x", "y")), P(("y", "x")), P()):
        c = chunk(source, mesh, spec)
        check_stored(c)
        check(c, x, exact=True)
        check(chunk(poisoned(c), spec=P("x")), x, exact=True)


def test_axis_types_of_the_mesh_asked_for() -> None:
    x = random((10, 12), np.float64)
    source = jax.device_put(x, NamedSharding(mesh_of("x4y2", EXPLICIT), P("y", "x")))
    c = chunk(source, mesh_of("x4y2"), P("x"))
    check_stored(c)
    assert c.data.sharding.mesh == mesh_of("x4y2")
    check(c, x, exact=True)


@KINDS
@every(UNEVEN)
def test_chunks_move_between_meshes(case: Case, axis_type: Any) -> None:
    c, x = made(case, axis_type=axis_type)
    for mesh, spec in (("x8", P("x")), ("x2y2z2", P(("z", "y"))), ("x1", P()), ("x4y2", P("x"))):
        there = chunk(c, mesh_of(mesh, axis_type), spec)
        check_stored(there)
        assert there.mesh == mesh_of(mesh, axis_type)
        check(there, x, exact=True)


def test_defaults() -> None:
    x = np.arange(10)
    assert chunk(x).mesh.axis_names == ("x",)
    assert chunk(x).layout.parts == (8,)
    mesh = mesh_of("x4y2")
    assert chunk(np.ones((3, 2)), mesh).spec == P(("x", "y"))
    with jax.set_mesh(mesh):
        assert chunk(x).mesh == mesh
    assert chunk([1.0, 2.0]).to_numpy().tolist() == [1.0, 2.0]
    assert chunk(3).item() == 3
    assert chunk(np.float32(2)).dtype == np.float32


@KINDS
@every({name: CASES[name] for name in ("even rows", "uneven both", "tiny", "no axes")})
def test_chunk_under_jit(case: Case, axis_type: Any) -> None:
    mesh = mesh_of(case.mesh, axis_type)
    x = random(case.shape, np.float64)
    c = jax.jit(lambda x: chunk(x, mesh, case.spec))(x)
    check_stored(c)
    check(c, x, exact=True)
    moved = jax.jit(lambda c: chunk(c, spec=P()))(poisoned(c))
    check(moved, x, exact=True)
    assert moved.spec == P()
    gradient = jax.jit(jax.grad(lambda x: (chunk(x, mesh, case.spec) ** 2).sum()))(x)
    check(gradient, 2 * x)
    with context(mesh):
        check(jax.grad(lambda x: (chunk(x, mesh, case.spec) ** 2).sum())(x), 2 * x)


def test_wrong_chunks() -> None:
    mesh = mesh_of("x8")
    there = jax.device_put(np.ones(8), NamedSharding(mesh, P("x")))
    with pytest.raises(LayoutError, match=r"x=4, y=2.*x=8"):
        chunk(there, mesh_of("x4y2"))
    with pytest.raises(LayoutError, match="pass mesh="):
        jax.jit(chunk)(np.ones(8))
    with pytest.raises(LayoutError, match="names the mesh axis"):
        chunk(np.ones(8), mesh, P("y"))
    with pytest.raises(TypeError, match=r"mesh=.* is no"):
        chunk(np.ones(8), 8)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="dtype <U1"):
        chunk(["a", "b"], mesh)  # type: ignore[arg-type]
    with pytest.raises(LayoutError, match="shard_map"):
        jax.shard_map(lambda x: chunk(x).data, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(np.ones(8))
    layout = Layout.of((10,), np.float32, mesh, P("x"))
    with pytest.raises(LayoutError, match=r"\(10,\).*\(16,\)"):
        ChunkedArray.from_data(np.ones(10, np.float32), layout)
    with pytest.raises(LayoutError, match=r"float64.*float32"):
        ChunkedArray.from_data(np.ones(16), layout)


# -- what it becomes -----------------------------------------------------------------------------------------------


@KINDS
@every(CASES)
def test_to_jax(case: Case, axis_type: Any) -> None:
    c, x = made(case, axis_type=axis_type)
    whole = c.to_jax(replicated=True)
    assert isinstance(whole, jax.Array)
    assert whole.sharding.is_fully_replicated
    np.testing.assert_array_equal(np.asarray(whole), x)
    np.testing.assert_array_equal(jax.jit(lambda c: c.to_jax(replicated=True))(c), x)
    if c.layout.is_even:
        assert c.to_jax() is c.data
    else:
        with pytest.raises(LayoutError, match=r"to_jax\(replicated=True\).*tpufft\.chunk"):
            c.to_jax()


def test_python_protocols() -> None:
    c = chunk(random((10, 6), np.float32), mesh_of("x8"))
    assert len(c) == 10
    assert repr(c) == "ChunkedArray(float32 (10, 6) on mesh x=8, chunked P('x', None), padded to (16, 6))"
    assert c.block_until_ready() is c
    assert np.array(c, np.float64).dtype == np.float64
    with pytest.raises(ValueError, match="copy"):
        np.array(c, copy=False)
    with pytest.raises(TypeError, match="to_numpy"):
        iter(c)
    with pytest.raises(TypeError, match="to_numpy"):
        c[0]
    with pytest.raises(TypeError, match="unhashable"):
        hash(c)
    with pytest.raises(ValueError, match="size 1"):
        bool(c)
    with pytest.raises(TypeError, match="without axes"):
        len(chunk(1.0))
    one = chunk([2.0])
    assert (one.item(), float(one), int(one), complex(one), bool(one)) == (2.0, 2.0, 2, 2 + 0j, True)
    assert not hasattr(c, "__jax_array__")
    with pytest.raises(TypeError):
        jnp.sin(c)


# -- single elements -----------------------------------------------------------------------------------------------

BINARY = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
BITS = {"&": lambda a, b: a & b, "|": lambda a, b: a | b, "^": lambda a, b: a ^ b}


@KINDS
@pytest.mark.parametrize("name", some(CASES))
def test_arithmetic(name: str, axis_type: Any) -> None:
    case = CASES[name]
    (c, x), (d, y) = made(case, axis_type=axis_type), made(case, axis_type=axis_type, seed=1)
    for operator in BINARY.values():
        check(operator(c, d), operator(x, y), c)
        check(operator(c, 0.75), operator(x, 0.75), c)
        check(operator(0.75, c), operator(0.75, x), c)
    check(abs(c) ** d, np.abs(x) ** y, c)
    check(c**3, x**3, c)
    check(2**c, 2**x, c)
    check(np.power(abs(c), 0.5), np.abs(x) ** 0.5, c)
    for got, want in zip(divmod(c, d) + divmod(3, c), divmod(x, y) + divmod(3, x), strict=True):
        check(got, want, c)
    check(-c, -x, c)
    check(+c, x, c)
    check(abs(c), np.abs(x), c)


@KINDS
@every({name: CASES[name] for name in ("uneven both", "even rows", "tiny")})
def test_arithmetic_with_arrays(case: Case, axis_type: Any) -> None:
    c, x = made(case, axis_type=axis_type)
    y = random(case.shape, np.float64, seed=1)
    chunked = chunk(y, c.mesh, case.spec)
    whole = jax.device_put(y, NamedSharding(c.mesh, P()))
    row, column = y[:1], y[:, :1]
    for operator in BINARY.values():
        for other in (y, jnp.asarray(y), whole):
            check(operator(c, other), operator(x, y), c)
            check(operator(other, c), operator(y, x), c)
    for other in (row, column, y[0], np.float64(3), np.array(3.0), y[:1, :1], jnp.asarray(3.0)):
        check(c * other, x * np.asarray(other), c)
        check(other - c, np.asarray(other) - x, c)
    if chunked.layout.is_even:
        check(c + chunked.data, x + y, c)
    with pytest.raises(ValueError, match="does not broadcast"):
        c + y[:, :1].T[:, :1].repeat(17, 0)
    with pytest.raises(ValueError, match="does not broadcast"):
        c + y[None]


@pytest.mark.parametrize("dtype", ["int32", "uint8", "bool"])
@every(CASES)
def test_integers_and_bits(case: Case, dtype: str) -> None:
    (c, x), (d, y) = made(case, dtype), made(case, dtype, seed=1)
    for operator in BITS.values():
        check(operator(c, d), operator(x, y), c)
        check(operator(c, y), operator(x, y), c)
    check(~c, ~x, c)
    if dtype != "bool":
        check(c << 1, x << 1, c)
        check(c >> 1, x >> 1, c)
        check(c % (d + np.asarray(1, dtype)), x % (y + np.asarray(1, dtype)), c)
    check(c + 1.5, x + 1.5, c)
    assert (c + 1.5).dtype == jnp.result_type(dtype, 1.5)
    assert (c * np.float32(2)).dtype == jnp.result_type(dtype, np.float32)


@pytest.mark.parametrize("dtype", ["complex128", "complex64", "float32", "float16", "int32", "bool"])
@every({name: CASES[name] for name in ("uneven both", "even rows", "nothing")})
def test_parts(case: Case, dtype: str) -> None:
    c, x = made(case, dtype)
    check(c.real, x.real, c, exact=True)
    check(c.imag, x.imag, c, exact=True)
    check(c.conj(), x.conj(), c, exact=True)
    check(np.real(c), x.real, c, exact=True)
    check(c.astype(np.complex64), x.astype(np.complex64), c, exact=True)
    assert c.real.dtype == x.real.dtype


UFUNCS = [
    *("sin", "cos", "exp", "expm1", "tanh", "sinh", "arctan", "log1p", "square", "sign", "floor", "rint", "isfinite"),
    *("isnan", "sqrt", "log", "reciprocal", "arccosh", "logical_not"),
]


@pytest.mark.parametrize("name", UFUNCS)
def test_numpy_functions(name: str) -> None:
    ufunc = getattr(np, name)
    for case in ("uneven both", "even rows", "tiny", "nothing"):
        c, x = made(CASES[case])
        check(ufunc(abs(c) + 1.25), ufunc(np.abs(x) + 1.25), c)


def test_numpy_functions_of_several() -> None:
    (c, x), (d, y) = made(CASES["uneven both"]), made(CASES["uneven both"], seed=1)
    for ufunc in (np.add, np.maximum, np.hypot, np.arctan2, np.logaddexp, np.copysign, np.less, np.logical_and):
        check(ufunc(c, d), ufunc(x, y), c)
        check(ufunc(y, c), ufunc(y, x), c)
        check(ufunc(c, 0.5), ufunc(x, 0.5), c)
    for got, want in zip(np.modf(c), np.modf(x), strict=True):
        check(got, want, c)
    check(np.where(c > 0, c, 0), np.where(x > 0, x, 0), c)
    check(np.clip(c, -0.5, 0.5), np.clip(x, -0.5, 0.5), c)
    check(np.zeros_like(c), np.zeros_like(x), c)
    check(np.isclose(c, x, rtol=1e-3), np.isclose(x, x), c)
    assert np.allclose(c, x)
    assert np.sum(c).item() == pytest.approx(x.sum())
    assert np.max(c, axis=1).shape == x.max(axis=1).shape
    check(np.vdot(c, y), np.vdot(x, y))
    assert np.shape(c) == x.shape
    assert np.ndim(c) == 2
    np.testing.assert_array_equal(np.concatenate([c, c]), np.concatenate([x, x]))


def test_numpy_functions_that_do_not_work_on_chunks() -> None:
    c, x = made(CASES["uneven both"])
    for wrong in (
        lambda: np.add.reduce(c),
        lambda: np.add.outer(c, c),
        lambda: np.sin(c, where=x > 0),
        lambda: np.sin(x, out=c),
        lambda: np.vecdot(c, c),
    ):
        with pytest.raises(TypeError, match="to_numpy"):
            wrong()
    with pytest.raises(TypeError, match="out="):
        c.sum(out=x)
    with pytest.raises(TypeError):
        c + "a"
    assert (c == "a") is False
    assert (c == None) is False  # noqa: E711
    with pytest.raises(TypeError, match="is a str"):
        elementwise(jnp.add, c, "a")
    with pytest.raises(TypeError, match="not elementwise"):
        elementwise(jnp.sum, c)
    with pytest.raises(TypeError, match=r"tpufft\.chunk"):
        elementwise(jnp.add, x, x)


def test_other_layouts_are_refused() -> None:
    mesh = mesh_of("x4y2")
    x = random((8, 6), np.float64)
    c = chunk(x, mesh, P("x", "y"))
    for other in (chunk(x, mesh, P("y", "x")), chunk(x, mesh, P()), chunk(x, mesh_of("x8"))):
        with pytest.raises(LayoutError, match=r"(?s)chunked.*chunked.*tpufft.chunk\(other, mesh, P\('x', 'y'\)\)"):
            c + other
        check(c + chunk(other, mesh, P("x", "y")), 2 * x, c)
    with pytest.raises(LayoutError, match=r"jax\.Array chunked P\(None, 'y'\)"):
        c + jax.device_put(x, NamedSharding(mesh, P(None, "y")))
    with pytest.raises(LayoutError, match="lives on"):
        c + jax.device_put(x, NamedSharding(mesh_of("x8"), P()))
    with pytest.raises(LayoutError, match="which none of them has"):
        c.sum(axis=0, keepdims=True) + c.sum(axis=1, keepdims=True)


def test_mesh_axes_of_size_one_are_no_other_layout() -> None:
    for axis_type in AXIS_TYPES:
        mesh = mesh_of("x2a1z4", axis_type)
        x = random((3, 5), np.float64)
        c, d = chunk(x, mesh, P("x", "a")), chunk(x, mesh, P("x"))
        check(c + d, 2 * x, c)
        check(d + c, 2 * x, d)


@KINDS
@every(FULL)
def test_chunked_axes_broadcast(case: Case, axis_type: Any) -> None:
    c, x = made(case, axis_type=axis_type)
    for axis in range(c.ndim):
        kept = c.mean(axis=axis, keepdims=True)
        check(c - kept, x - x.mean(axis=axis, keepdims=True), c)
    if c.ndim:
        check(c / c.max(axis=0), x / x.max(axis=0), c)
        check(c / c.max(), x / x.max(), c)


@KINDS
@every(FULL)
def test_elementwise_communicates_nothing(case: Case, axis_type: Any) -> None:
    c, _ = made(case, axis_type=axis_type)
    assert not collectives(lambda a, b: np.exp(a) / (1 + b * b), c, c)
    gradient = jax.grad(lambda c: np.sin(c * c).sum())
    with context(c.mesh):
        assert set(collectives(gradient, c)) <= {"all-reduce"}


def test_dtypes() -> None:
    c, x = made(CASES["uneven line"], np.float32)
    assert (c * 2.0).dtype == np.float32
    assert (c * np.float64(2)).dtype == np.float64
    assert (c + chunk(x.astype(np.complex64), c.mesh, c.spec)).dtype == np.complex64
    assert (c > 0).dtype == np.bool_
    assert c.sum().dtype == np.float32
    assert (c > 0).sum().dtype == np.int64
    assert c.sum(dtype=np.float64).dtype == np.float64


def test_second_call_compiles_nothing() -> None:
    c, _ = made(CASES["uneven both"])

    def work() -> None:
        (2.0 * c + c**2).sum()
        np.sin(c).mean(axis=0)
        chunk(c.data, c.mesh, P("y"))

    work()
    with counted_work() as counts:
        work()
    assert not counts


# -- along axes ----------------------------------------------------------------------------------------------------


def _norm(x: np.ndarray, axis: Any = None, keepdims: bool = False) -> np.ndarray:
    return np.sqrt((np.abs(x) ** 2).sum(axis=axis, keepdims=keepdims))


REDUCERS = {name: getattr(np, name) for name in ("sum", "prod", "max", "min", "mean", "any", "all")} | {"norm": _norm}


def check_reduced(got: Any, name: str, x: np.ndarray, axis: Any = None, keepdims: bool = False) -> None:
    if name == "sum":
        check_sum(got, x, axis, keepdims=keepdims)
    elif name == "mean" and x.size:
        count = x.size / REDUCERS["sum"](x, axis=axis).size if axis is not None else x.size
        check_sum(got, x / count, axis, keepdims=keepdims, times=2)
    else:
        # A product rounds once for every factor.
        check(got, REDUCERS[name](x, axis=axis, keepdims=keepdims), times=x.size if name == "prod" else 1)


@KINDS
@pytest.mark.parametrize("name", some(REDUCERS, lambda _, name: name in ("sum", "min")))
def test_reductions(name: str, axis_type: Any) -> None:
    for case in FULL.values() if axis_type is AUTO else (CASES["uneven both"], CASES["even pencil"], CASES["tiny"]):
        c, x = made(case, axis_type=axis_type)
        total = getattr(c, name)()
        assert isinstance(total, jax.Array)
        check_reduced(total, name, x)
        axes = [*range(c.ndim), (), tuple(range(c.ndim))] + [(-1, 0)] * (c.ndim > 1)
        for axis in axes:
            for keepdims in (False, True) if axis == 0 else (False,):
                got = getattr(c, name)(axis=axis, keepdims=keepdims)
                assert isinstance(got, ChunkedArray)
                check_reduced(got, name, x, axis, keepdims)
                check_stored(got)
        assert getattr(c, name)(keepdims=True).shape == (1,) * c.ndim


@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64", "complex128", "int32", "uint8", "bool"])
@pytest.mark.parametrize("name", REDUCERS)
def test_reductions_of_other_types(name: str, dtype: str) -> None:
    for case in ("uneven both", "even rows", "tiny"):
        c, x = made(CASES[case], dtype)
        wide = x.astype(np.float64) if dtype == "float16" and name in ("sum", "mean", "norm", "prod") else x
        wide = x.astype(np.float64) if name in ("mean", "norm") and dtype in ("int32", "uint8", "bool") else wide
        # Half precision does not hold the product of all.
        for axis in (0, 1) if (name, dtype) == ("prod", "float16") else (None, 0, 1):
            check_reduced(getattr(c, name)(axis=axis), name, wide, axis)
            if name in ("max", "min", "mean") and dtype[0] in "fc":
                assert getattr(c, name)(axis=axis).dtype == dtype


def test_not_a_number_is_seen_where_it_is_an_element() -> None:
    for dtype in (np.float64, np.complex128):
        x = random((7, 5), dtype)
        x[2, 3] = math.nan
        c = poisoned(chunk(x, mesh_of("x4y2"), P("x", "y")))
        for name in ("sum", "max", "min", "mean", "norm"):
            np.testing.assert_array_equal(np.isnan(getattr(c, name)(axis=0)), np.isnan(REDUCERS[name](x, axis=0)))
            assert np.isnan(np.asarray(getattr(c, name)()))


def test_complex_extremes_compare_real_parts_first() -> None:
    x = np.array([1 + 1j, 2 - 5j, 2 + 3j, -1 + 9j, -1 - 9j])
    c = poisoned(chunk(x, mesh_of("x8")))
    assert (c.max().item(), c.min().item()) == (2 + 3j, -1 - 9j)


def test_reductions_of_nothing() -> None:
    for case in ("nothing", "nothing in a whole axis"):
        c, x = made(CASES[case])
        for name in ("sum", "prod", "any", "all"):
            check(getattr(c, name)(), REDUCERS[name](x))
            for axis in (0, 1):
                check(getattr(c, name)(axis=axis), REDUCERS[name](x, axis=axis))
        assert math.isnan(c.mean().item())
        with pytest.raises(ValueError, match="no identity"):
            c.max()


def test_wrong_axes() -> None:
    c, _ = made(CASES["uneven both"])
    with pytest.raises(np.exceptions.AxisError):
        c.sum(axis=2)
    with pytest.raises(ValueError, match="repeated axis"):
        c.sum(axis=(0, 0))


@KINDS
@pytest.mark.parametrize("dtype", ["float64", "complex128", "complex64", "int32"])
def test_inner_product(dtype: str, axis_type: Any) -> None:
    for case in (*FULL.values(), CASES["nothing"]):
        (c, x), (d, y) = made(case, dtype, axis_type), made(case, dtype, axis_type, seed=1)
        want = np.vdot(x, y)
        scale = 1 + np.linalg.norm(x) * np.linalg.norm(y)
        for got in (vdot(c, d), vdot(c, y), vdot(x, d)):
            assert isinstance(got, jax.Array)
            assert got.shape == ()
            assert abs(np.asarray(got) - want) <= 1e-5 * scale if dtype == "complex64" else 1e-13 * scale
    with pytest.raises(ValueError, match="shape"):
        vdot(c, np.ones(3))


def test_a_plain_loop_is_safe() -> None:
    c, x = made(CASES["uneven both"])
    for _ in range(100):
        total = c.sum()
    check_sum(total, x)


# -- derivatives ---------------------------------------------------------------------------------------------------


@KINDS
@every(FULL)
def test_gradients_never_see_padding(case: Case, axis_type: Any) -> None:
    mesh = mesh_of(case.mesh, axis_type)
    c, x = made(case, axis_type=axis_type)
    d, y = made(case, axis_type=axis_type, seed=1)
    functions = {
        "square": (lambda c: (c * c).sum(), 2 * x),
        "reciprocal": (lambda c: (1 / c).sum(), -1 / x**2),
        "log": (lambda c: np.log(c * c).sum(), 2 / x),
        "norm": (lambda c: c.norm(), x / np.linalg.norm(x)),
        "inner product": (lambda c: vdot(c, d), y),
        "maximum": (lambda c: c.max(), (x == x.max()).astype(float)),
        "mean along an axis": (lambda c: (c.mean(axis=0) ** 2).sum() if c.ndim else c.sum(), _mean_gradient(x)),
        "with an array": (lambda c: (c * y).sum(), y),
        "square root": (lambda c: np.sqrt(abs(c)).sum(), np.sign(x) / np.sqrt(np.abs(x)) / 2),
    }
    with context(mesh):
        for function, want in functions.values():
            for gradient in (jax.grad(function), jax.jit(jax.grad(function))):
                got = gradient(c)
                check(got, want, c, times=4)
                assert not np.isnan(np.asarray(got.data)).any()


def _mean_gradient(x: np.ndarray) -> np.ndarray:
    return np.broadcast_to(2 * x.mean(axis=0) / x.shape[0], x.shape) if x.ndim else np.ones_like(x)


@every(UNEVEN)
def test_gradients_of_other_arguments(case: Case) -> None:
    c, x = made(case)
    one = np.ones_like(x)
    check_sum(jax.grad(lambda s: np.log(c * c + s).sum())(0.5), 1 / (x * x + 0.5), times=4)
    check(jax.grad(lambda y: (c / y).sum())(one * 2), -x / 4, times=4)
    check(jax.jit(jax.grad(lambda y: (c / y).sum()))(one * 2), -x / 4, times=4)
    check_sum(jax.grad(lambda y: (c * y).sum())(x[:1]), x, 0, keepdims=True)
    # Singular at the value that stands in for padding, and nowhere else.
    shifted = lambda a, s: jnp.log(jnp.abs(a - s))  # noqa: E731
    check_sum(jax.grad(lambda s: elementwise(shifted, c + 3, s).sum())(1.0), -1 / (x + 2), times=4)


@every(UNEVEN)
def test_forward_and_second_derivatives(case: Case) -> None:
    c, x = made(case)
    t, v = made(case, seed=1)
    value, tangent = jax.jvp(lambda c: (1 / c).sum(), (c,), (t,))
    check_sum(value, 1 / x)
    check_sum(tangent, -v / x**2, times=4)
    value, tangent = jax.jvp(lambda c: np.sin(c) * c, (c,), (t,))
    check(tangent, v * (np.cos(x) * x + np.sin(x)), c, times=4)
    hessian_times = jax.jvp(jax.grad(lambda c: (c * c * c).sum()), (c,), (t,))[1]
    check(hessian_times, 6 * x * v, c, times=4)
    reverse = jax.grad(lambda c: vdot(jax.grad(lambda c: (1 / c).sum())(c), t))(c)
    check(reverse, 2 * v / x**3, c, times=4)
    y, pull = jax.vjp(np.exp, c)
    check(pull(poisoned(y))[0], np.exp(x) ** 2, c, times=4)


def test_complex_gradient_is_that_of_jax() -> None:
    c, x = made(CASES["uneven both"], np.complex128)
    want = jax.grad(lambda x: jnp.sum(jnp.abs(x) ** 2 + jnp.real(x * x)))(jnp.asarray(x))
    check(jax.grad(lambda c: (abs(c) ** 2 + (c * c).real).sum())(c), np.asarray(want), c, times=4)


# -- jax's transformations -----------------------------------------------------------------------------------------


@KINDS
@every(CASES)
def test_jit(case: Case, axis_type: Any) -> None:
    c, x = made(case, axis_type=axis_type)
    check(jax.jit(lambda c: c)(c), x, exact=True)
    got = jax.jit(lambda c: np.cos(c) + 2 * c)(c)
    check(got, np.cos(x) + 2 * x)
    assert got.layout == c.layout
    if c.size:
        check_stored(got)
    with counted_work() as counts:
        jax.jit(lambda c: c)
        again = jax.tree.unflatten(jax.tree.structure(c), jax.tree.leaves(c))
    assert again.layout == c.layout
    assert not counts


def test_tree() -> None:
    c, x = made(CASES["uneven both"], np.float32)
    (path, leaf), *rest = jax.tree_util.tree_flatten_with_path(c)[0]
    assert not rest
    assert jax.tree_util.keystr(path) == ".data"
    assert leaf is c.data
    half = jax.tree.map(lambda a: a.astype(np.float16), c)
    assert half.dtype == np.float16
    check(jax.tree.map(lambda a, b: a + b, c, half).astype(np.float16), x.astype(np.float16) * 2, c)
    for placeholder in (None, object(), 3, "leaf"):
        assert jax.tree.unflatten(jax.tree.structure(c), [placeholder]).layout == c.layout
    shapes = jax.eval_shape(lambda c: (c + 1j).sum(axis=0, keepdims=True), c)
    assert (shapes.shape, shapes.dtype) == ((1, 5), np.complex64)
    even, y = made(CASES["even rows"])
    there = jax.device_put(even, NamedSharding(mesh_of("x4y2"), P("y")))
    assert (there.mesh, there.spec) == (mesh_of("x4y2"), P("y"))
    check(there, y, exact=True)
    check(jax.device_get(c), x, exact=True)


@KINDS
def test_vmap(axis_type: Any) -> None:
    mesh = mesh_of("x4y2", axis_type)
    x = random((6, 7, 5), np.float64)
    c = poisoned(chunk(x, mesh, P(None, "x", "y")))
    seen = []

    def inner(row: ChunkedArray) -> ChunkedArray:
        seen.append(row.layout)
        return row / row.max()

    for program in (jax.vmap(inner), jax.jit(jax.vmap(inner))):
        check(program(c), x / x.max(axis=(1, 2), keepdims=True), c)
        assert (seen[-1].shape, seen[-1].spec) == ((7, 5), (("x",), ("y",)))
    middle = poisoned(chunk(x.swapaxes(0, 1), mesh, P("x", None, "y")))
    got = jax.vmap(inner, in_axes=1, out_axes=1)(middle)
    check(got, x.swapaxes(0, 1) / x.swapaxes(0, 1).max(axis=(0, 2), keepdims=True), middle)
    total = jax.vmap(lambda row: row.sum())(c)
    check_sum(total, x, (1, 2))
    with context(mesh):
        check(jax.vmap(jax.grad(lambda row: (1 / row).sum()))(c), -1 / x**2, c)
        check(jax.grad(lambda c: jax.vmap(lambda row: (1 / row).sum())(c).sum())(c), -1 / x**2, c)
    with pytest.raises(LayoutError, match="leaves this axis whole"):
        jax.vmap(inner, in_axes=1)(c)


def test_vmap_over_a_chunked_axis() -> None:
    mesh = mesh_of("x4y2")
    x = random((8, 5), np.float64)
    c = poisoned(chunk(x, mesh, P("x", "y")))
    for axis_name in (None, "x"):
        for wrap in (lambda f: f, jax.jit):
            got = wrap(jax.vmap(lambda row: row * 2 + 1, spmd_axis_name=axis_name))(c)
            check(got, 2 * x + 1, c)


@KINDS
def test_scan(axis_type: Any) -> None:
    mesh = mesh_of("x4y2", axis_type)
    x = random((6, 7, 5), np.float64)
    c = poisoned(chunk(x, mesh, P(None, "x", "y")))
    start = chunk(np.zeros((7, 5)), mesh, P("x", "y"))

    def step(carry: ChunkedArray, row: ChunkedArray) -> tuple[ChunkedArray, ChunkedArray]:
        carry = carry + 1 / row
        return carry, carry * 2

    def both(c: ChunkedArray) -> tuple[ChunkedArray, ChunkedArray]:
        return jax.lax.scan(step, start, c)

    with context(mesh):
        for program in (both, jax.jit(both)):
            carry, rows = program(c)
            check(carry, (1 / x).sum(axis=0), start, times=4)
            check(rows, 2 * np.cumsum(1 / x, axis=0), c, times=4)
        check(jax.grad(lambda c: both(c)[0].sum())(c), -1 / x**2, c)
        check(jax.lax.fori_loop(0, 3, lambda _, c: c * 2, c), 8 * x, c)
        check_sum(jax.checkpoint(lambda c: np.sin(c).sum())(c), np.sin(x))
    uneven = chunk(random((7, 5), np.float64), mesh, P("x"))
    # On an Explicit mesh JAX itself refuses a scan over a chunked axis.
    refusal = (LayoutError, "scan") if axis_type is AUTO else (ValueError, "replicated")
    with pytest.raises(refusal[0], match=refusal[1]):
        jax.lax.scan(lambda carry, row: (carry, row), 0.0, uneven)


def test_a_mesh_seen_only_as_a_type() -> None:
    mesh = mesh_of("x4y2", EXPLICIT)
    x = random((8, 4), np.float64)
    source = jax.device_put(x, NamedSharding(mesh, P("x", "y")))
    c = jax.jit(lambda x: chunk(x) * 2)(source)
    assert c.mesh == mesh
    assert c.spec == P("x", "y")
    check(c, 2 * x)
    check(c + 1, 2 * x + 1, c)


# -- what floors above define --------------------------------------------------------------------------------------


def test_operators_are_registered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_REGISTERED", {})
    c, x = made(CASES["uneven both"])
    with pytest.raises(TypeError, match="unsupported operand"):
        c @ c
    with pytest.raises(TypeError, match="to_numpy"):
        _ = c.T
    product = lambda a, b: np.asarray(a) @ np.asarray(b)  # noqa: E731
    register_operator("matmul", product)
    register_operator("matmul", product)
    register_operator("transpose", lambda a: a.to_numpy().T)
    register_operator("getitem", lambda a, index: a.to_numpy()[index])
    np.testing.assert_array_equal(c @ x.T, x @ x.T)
    np.testing.assert_array_equal(x.T @ c, x.T @ x)
    np.testing.assert_array_equal(c.T, x.T)
    np.testing.assert_array_equal(c[1:3], x[1:3])
    with pytest.raises(ValueError, match="registered already"):
        register_operator("matmul", lambda a, b: a)
    with pytest.raises(ValueError, match="'dot' is no operator"):
        register_operator("dot", product)


def test_subclasses_are_pytrees_and_keep_their_type() -> None:
    class Rows(ChunkedArray):
        pass

    c, x = made(CASES["uneven both"])
    rows = Rows(c.data, c.layout)
    check(rows * 2 + c, 3 * x, c)
    assert type(rows * 2) is Rows
    assert type(jax.jit(lambda r: r)(rows)) is Rows
    assert type(rows.sum(axis=0)) is ChunkedArray


def test_examples() -> None:
    modules = [tpufft.chunked.__name__ + "." + item.name for item in pkgutil.iter_modules(tpufft.chunked.__path__)]
    results = [doctest.testmod(importlib.import_module(name)) for name in modules]
    assert sum(result.attempted for result in results) > 10
    assert not any(result.failed for result in results)


def test_every_mesh_is_met() -> None:
    assert {case.mesh for case in CASES.values()} == set(MESHES)
