"""Arithmetic, functions and reductions of chunked arrays: values against numpy, NaN in the padding."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from tests.chunked_cases import CASES, FULL, KINDS, Case, check, check_stored, check_sum, every, made, poisoned
from tests.helpers import (
    AUTO,
    AXIS_TYPES,
    collectives,
    context,
    counted_work,
    mesh_of,
    random,
    some,
)
from tpufft.chunked import ChunkedArray, chunk, elementwise, vdot
from tpufft.errors import LayoutError

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


@pytest.mark.each_value
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


@pytest.mark.each_value
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


@pytest.mark.each_value
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


@pytest.mark.each_value
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


@pytest.mark.each_value
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


@pytest.mark.each_value
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


@pytest.mark.each_value
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


@pytest.mark.each_value
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
