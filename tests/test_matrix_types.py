"""RowChunked and ColumnChunked: what they are made of, transposes that cost nothing, and the types of results."""

from __future__ import annotations

import doctest
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from tests.chunked_cases import KINDS, check_stored
from tests.chunked_cases import poisoned as poisoned_array
from tests.helpers import AUTO, check_value, collectives, compiled, context, counted_work, mesh_of, random
from tpufft.chunked import ChunkedArray, chunk, chunks, shards, vdot
from tpufft.errors import LayoutError
from tpufft.layout import Layout
from tpufft.matrix import types
from tpufft.matrix.types import ColumnChunked, RowChunked

# Mesh, mesh axes, shape: even, uneven, with empty chunks, over two names, over one of two, a batch, one device.
CASES = (
    ("x8", None, (16, 4)),
    ("x8", None, (21, 3)),
    ("x8", "x", (5, 4)),
    ("x4y2", ("y", "x"), (11, 3)),
    ("x4y2", "y", (7, 5)),
    ("x4y2", None, (2, 13, 3)),
    ("x2a1z4", "a", (5, 3)),
    ("x1", None, (5, 4)),
)
TYPES = (RowChunked, ColumnChunked)
BOTH = pytest.mark.parametrize("kind", TYPES)
MATRICES = pytest.mark.parametrize("case", CASES, ids=str)


def poisoned(a: Any) -> Any:
    """The same matrix with NaN in its padding."""
    return type(a).from_data(poisoned_array(a).data, a.layout)


def made(kind: Any, case: Any, dtype: Any = np.float64, axis_type: Any = AUTO, seed: int = 0) -> tuple[Any, np.ndarray]:
    """A poisoned matrix, chunked along the axis that has the case's chunked length, and what it holds."""
    mesh, names, shape = case
    x = random(shape, dtype, seed)
    x = x if kind is RowChunked else np.ascontiguousarray(x.swapaxes(-1, -2))
    return poisoned(kind.from_array(x, mesh_of(mesh, axis_type), names)), x


def check(got: Any, want: np.ndarray, kind: Any = None) -> None:
    if kind is not None:
        assert type(got) is kind
    check_value(got.to_numpy(), want, times=4)
    check_stored(got)


# -- making one ----------------------------------------------------------------------------------------------------


@pytest.mark.each_value
@KINDS
@BOTH
@MATRICES
def test_from_array_and_back(case: Any, kind: Any, axis_type: Any) -> None:
    a, x = made(kind, case, axis_type=axis_type)
    check(a, x, kind)
    mesh = mesh_of(case[0], axis_type)
    names = case[1] or mesh.axis_names
    axis = a.ndim - (2 if kind is RowChunked else 1)
    assert a.layout.spec[axis] == ((names,) if isinstance(names, str) else tuple(names))
    assert not any(a.layout.spec[other] for other in range(a.ndim) if other != axis)
    assert kind.from_array(a) is a
    assert kind.from_array(a, mesh, case[1]) is a
    for source in (jnp.asarray(x), chunk(x, mesh), jax.device_put(x, NamedSharding(mesh, P())), x.tolist()):
        check(kind.from_array(source, mesh, case[1]), x, kind)
    traced = jax.jit(lambda x: kind.from_array(x, mesh, case[1]) * 2)(x)
    check(traced, 2 * x, kind)
    if kind is RowChunked:
        assert repr(a).startswith(f"RowChunked(float64 {x.shape} on mesh ")


def test_repr() -> None:
    a = RowChunked.from_array(np.ones((10, 4), np.float32), mesh_of("x8"))
    assert repr(a) == "RowChunked(float32 (10, 4) on mesh x=8, chunked P('x', None), padded to (16, 4))"
    assert repr(a.T) == "ColumnChunked(float32 (4, 10) on mesh x=8, chunked P(None, 'x'), padded to (4, 16))"


@pytest.mark.each_value
@BOTH
@pytest.mark.parametrize("dtype", ["int32", "uint8", "bool", "float16", "bfloat16", "complex64"])
def test_types_of_numbers_are_kept(kind: Any, dtype: str) -> None:
    x = random((7, 9), jnp.dtype(dtype))
    a = kind.from_array(x, mesh_of("x8"))
    assert a.dtype == a.T.dtype == x.dtype
    np.testing.assert_array_equal(a.to_numpy(), x)
    np.testing.assert_array_equal(np.asarray(a.T), x.T)


def test_what_is_chunked_already_stays() -> None:
    mesh = mesh_of("x4y2")
    x = random((8, 12), np.float64)
    source = jax.device_put(x, NamedSharding(mesh, P("x")))
    assert RowChunked.from_array(source).data is source
    assert ColumnChunked.from_array(source).spec == P(None, ("x", "y"))
    assert RowChunked.from_array(source, axis_name=("x", "y")).spec == P(("x", "y"))
    c = chunk(x, mesh, P("y"))
    assert RowChunked.from_array(c).data is c.data
    with jax.set_mesh(mesh):
        assert RowChunked.from_array(x).spec == P(("x", "y"))
    line = RowChunked.from_array(np.arange(9), mesh, "x")
    assert (line.shape, line.spec, line.T is line) == ((9,), P("x"), True)


def test_bad_arguments() -> None:
    mesh = mesh_of("x4y2")
    x = np.ones((6, 4))
    for wrong in ("z", ("x", "z"), (), 3):
        with pytest.raises(LayoutError, match=r"axis_name=.*('x', 'y'|mesh axis)"):
            RowChunked.from_array(x, mesh, wrong)  # type: ignore[arg-type]
    with pytest.raises(LayoutError, match=r"ColumnChunked has at least 2 axes"):
        ColumnChunked.from_array(np.ones(4), mesh)
    with pytest.raises(LayoutError, match=r"RowChunked has at least an axis"):
        RowChunked.from_array(3.0, mesh)
    with pytest.raises(TypeError, match=r"no jax\.sharding\.Mesh"):
        RowChunked.from_array(x, 8)  # type: ignore[arg-type]
    with pytest.raises(LayoutError, match="pass mesh="):
        jax.jit(RowChunked.from_array)(x)
    columns = chunk(x, mesh, P(None, "x"))
    with pytest.raises(LayoutError, match=r"not that of a RowChunked, in which axis -2"):
        RowChunked.from_data(columns.data, columns.layout)
    with pytest.raises(LayoutError, match="stores"):
        ColumnChunked.from_data(np.ones((3, 3)), columns.layout)


# -- one array for each device -------------------------------------------------------------------------------------


@pytest.mark.each_value
@KINDS
@BOTH
@MATRICES
def test_shards_and_back(case: Any, kind: Any, axis_type: Any) -> None:
    a, x = made(kind, case, axis_type=axis_type)
    axis = a.ndim - (2 if kind is RowChunked else 1)
    with context(a.mesh):
        parts = a.to_shards()
        assert len(parts) == a.layout.parts[axis]
        np.testing.assert_array_equal(np.concatenate([np.asarray(part) for part in parts], axis), x)
        home = {shard.device: shard.data for shard in a.data.addressable_shards}
        for part in parts:
            (device,) = part.devices()
            if part.shape == home[device].shape:
                assert part.unsafe_buffer_pointer() == home[device].unsafe_buffer_pointer()
        back = kind.from_array(parts, a.mesh, case[1])
    assert back.layout == a.layout
    check(back, x, kind)
    if a.layout.is_even and a.layout.device_count == len(parts):
        for ours, theirs in zip(back.to_shards(), parts, strict=True):
            assert ours.unsafe_buffer_pointer() == theirs.unsafe_buffer_pointer()
    check(kind.from_shards([np.asarray(part) for part in parts], a.mesh, case[1]), x, kind)


def test_shards_of_a_view_and_of_a_vector() -> None:
    a, x = made(RowChunked, ("x8", None, (21, 3)))
    parts = a.T.to_shards()
    assert [part.shape for part in parts] == [(3, 3)] * 7 + [(3, 0)]
    check(ColumnChunked.from_shards(parts, a.mesh), x.T, ColumnChunked)
    line = RowChunked.from_array(np.arange(10), a.mesh)
    check(RowChunked.from_shards(line.to_shards(), a.mesh), np.arange(10), RowChunked)


def test_wrong_shards() -> None:
    mesh = mesh_of("x8")

    def parts(*lengths: int) -> list[np.ndarray]:
        return [np.ones((length, 3)) for length in lengths]

    with pytest.raises(LayoutError, match=r"2 arrays; .* have 8 devices"):
        RowChunked.from_shards(parts(2, 2), mesh)
    with pytest.raises(LayoutError, match=r"10 elements over 8 devices are \[2, 2, 2, 2, 2, 0, 0, 0\]"):
        RowChunked.from_shards(parts(2, 2, 1, 1, 1, 1, 1, 1), mesh)
    with pytest.raises(LayoutError, match="differ along axis 1 only"):
        ColumnChunked.from_shards(parts(2, 2, 2, 2, 2, 2, 2, 1), mesh)
    with pytest.raises(TypeError, match="dtypes"):
        RowChunked.from_shards([*parts(*[1] * 7), np.ones((1, 3), np.int32)], mesh)
    with pytest.raises(LayoutError, match="number of axes"):
        RowChunked.from_shards([*parts(*[1] * 7), np.ones(3)], mesh)
    with pytest.raises(TypeError, match="traced"):
        jax.jit(lambda parts: RowChunked.from_shards(parts, mesh))(parts(*[1] * 8))
    with pytest.raises(TypeError, match="traced"):
        jax.jit(lambda a: a.to_shards())(RowChunked.from_array(np.ones((8, 2)), mesh))
    batch = chunk(np.ones((4, 8, 2)), mesh_of("x4y2"), P("y", "x"))
    with pytest.raises(LayoutError, match=r"axis 0 .* is split too"):
        RowChunked(batch.data, batch.layout).to_shards()


# -- transposes ----------------------------------------------------------------------------------------------------


def test_a_transpose_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    a, _ = made(RowChunked, ("x8", None, (21, 3)))

    def refuse(*_: Any) -> Any:
        raise AssertionError("something was computed")

    monkeypatch.setattr(chunks, "transposed", refuse)
    with counted_work() as counts, jax.transfer_guard("disallow"):
        view = a.T
        assert view.T is a
        assert view.mT is a
        assert (view.shape, view.spec, type(view)) == ((3, 21), P(None, "x"), ColumnChunked)
        assert view.turned_source is a
        assert "data" not in vars(view)
        assert jax.tree.leaves(view)[0] is a.data
    assert not counts
    program, found = compiled(lambda a: a.T, a)
    assert not found
    assert "transpose(" not in (program.as_text() or "")
    got = program(a)
    assert type(got) is ColumnChunked
    assert got.turned_source is not None
    np.testing.assert_array_equal(view.to_numpy(), a.to_numpy().T)


@pytest.mark.each_value
@KINDS
@BOTH
@MATRICES
def test_transposes(case: Any, kind: Any, axis_type: Any) -> None:
    a, x = made(kind, case, axis_type=axis_type)
    other = ColumnChunked if kind is RowChunked else RowChunked
    turned = np.swapaxes(x, -1, -2)
    check(a.mT, turned, other)
    check(a.mT.copy(), turned, other)
    assert a.mT.copy().turned_source is None
    check(a.mT * 2 + 1, 2 * turned + 1, other)
    check(a.mT + turned, 2 * turned, other)
    check(a.mT.astype(np.float32), turned.astype(np.float32), other)
    np.testing.assert_array_equal(a.T.to_numpy(), x.T)
    check(chunk(x, a.mesh, a.spec).T, x.T, ChunkedArray)
    check(chunk(x, a.mesh, a.spec).mT, turned, ChunkedArray)
    assert not collectives(lambda c: c.mT + 1, poisoned_array(chunk(x, a.mesh, a.spec)))


def test_transposes_of_other_ranks() -> None:
    mesh = mesh_of("x4y2")
    x = random((5, 6, 7), np.float64)
    c = poisoned_array(chunk(x, mesh, P("x", None, "y")))
    check(c.T, x.T, ChunkedArray)
    assert c.T.spec == P("y", None, "x")
    check(c.mT, x.swapaxes(1, 2))
    line = chunk(np.arange(5.0), mesh)
    assert line.T is line
    with pytest.raises(ValueError, match="two axes"):
        _ = line.mT
    a = RowChunked.from_array(x, mesh)
    check(a.T, x.T, RowChunked)
    gradient = jax.grad(lambda c: (c.T * x.T).sum())(c)
    check(gradient, x, ChunkedArray)
    assert gradient.spec == c.spec


def test_a_view_that_is_traced_does_not_leak() -> None:
    a, x = made(RowChunked, ("x8", None, (21, 3)))
    view = a.T
    y = random((3, 21), np.float64)
    check(jax.jit(lambda y: view + y)(y), x.T + y, ColumnChunked)
    check(view + y, x.T + y, ColumnChunked)
    check(view, x.T)

    def outer(a: RowChunked) -> Any:
        inner = a.T
        _, first = jax.lax.scan(lambda k, _: (k, (inner + y).sum()), 0.0, None, length=2)
        return first, inner + y

    sums, total = jax.jit(outer)(a)
    np.testing.assert_allclose(sums, 2 * [(x.T + y).sum()])
    check(total, x.T + y)


# -- arithmetic and reductions -------------------------------------------------------------------------------------


@pytest.mark.each_value
@KINDS
@BOTH
@MATRICES
def test_arithmetic_keeps_the_type(case: Any, kind: Any, axis_type: Any) -> None:
    (a, x), (b, y) = made(kind, case, axis_type=axis_type), made(kind, case, axis_type=axis_type, seed=1)
    check(2 * a + b, 2 * x + y, kind)
    check(a - y, x - y, kind)
    check(np.sin(a), np.sin(x), kind)
    check(chunk(a) + chunk(y, a.mesh, a.spec), x + y, kind)
    check(chunk(y, a.mesh, a.spec) + a, x + y, kind)
    np.testing.assert_array_equal((a > b).to_numpy(), x > y)
    assert type(a > b) is kind
    assert type(a.astype(np.complex64)) is kind
    np.testing.assert_array_equal(np.asarray(a), x)
    np.testing.assert_array_equal(np.asarray(a.to_jax(replicated=True)), x)
    np.testing.assert_array_equal(np.asarray(a.mT.to_jax(replicated=True)), x.swapaxes(-1, -2))


@BOTH
@pytest.mark.parametrize("turns", [False, True])
def test_reductions(kind: Any, turns: bool) -> None:
    for case in CASES[1:6:2]:
        a, x = made(kind, case)
        a, x = (a.mT, x.swapaxes(-1, -2)) if turns else (a, x)
        for axis in (*range(-1, a.ndim - 1), (-1, -2), 0):
            for name in ("sum", "max", "min", "mean"):
                got = getattr(a, name)(axis=axis)
                assert type(got) is ChunkedArray
                np.testing.assert_allclose(got.to_numpy(), getattr(x, name)(axis=axis), atol=1e-12)
                check_stored(got)
            np.testing.assert_allclose(a.norm(axis=axis), np.sqrt((x * x).sum(axis=axis)))
        assert not turns or a.ndim > 2 or "data" not in vars(a), "a view is reduced as it is stored"
        for axis in (0, -1):
            np.testing.assert_allclose(a.sum(axis=axis, keepdims=True), x.sum(axis=axis, keepdims=True), atol=1e-12)
        np.testing.assert_allclose(a.max(), x.max())
        np.testing.assert_allclose(a.norm(), np.linalg.norm(x))
        np.testing.assert_allclose(vdot(a, a * 2), 2 * (x * x).sum())
        np.testing.assert_allclose(np.vdot(a, x), (x * x).sum())


# -- jax's transformations -----------------------------------------------------------------------------------------


@pytest.mark.each_value
@KINDS
@BOTH
@MATRICES
def test_derivatives(case: Any, kind: Any, axis_type: Any) -> None:
    a, x = made(kind, case, axis_type=axis_type)
    view, turned = a.mT, x.swapaxes(-1, -2)
    weights = random(turned.shape, np.float64, seed=1)
    with context(a.mesh):
        for wrap in (lambda fn: fn, jax.jit):
            got = wrap(jax.grad(lambda a: (1 / a).sum()))(a)
            check(got, -1 / x**2, kind)
            # The cotangent of a view is one, with the elements of its source in place.
            got = wrap(jax.grad(lambda v: (v * v).sum()))(view)
            check(got, 2 * turned, type(view))
            assert got.turned_source is not None
            got = wrap(jax.grad(lambda v: (v * weights + 1 / v).sum()))(view)
            check(got, weights - 1 / turned**2, type(view))
            got = wrap(jax.grad(lambda a: (a.mT * weights).sum()))(a)
            check(got, weights.swapaxes(-1, -2), kind)
        _, tangent = jax.jvp(lambda v: v * v, (view,), (view,))
        check(tangent, 2 * turned**2, type(view))
        assert set(collectives(jax.grad(lambda a: (a.mT * weights).sum()), a)) <= {"all-reduce"}


@KINDS
def test_maps_over_a_batch(axis_type: Any) -> None:
    mesh = mesh_of("x8", axis_type)
    x = random((3, 10, 4), np.float64)
    a = poisoned(RowChunked.from_array(x, mesh))
    seen = []

    def inner(m: Any) -> Any:
        seen.append(type(m))
        return m.T * 2

    with context(mesh):
        for wrap in (lambda fn: fn, jax.jit):
            check(wrap(jax.vmap(inner))(a), 2 * x.swapaxes(1, 2), ColumnChunked)
            assert seen[-1] is RowChunked
            check(wrap(jax.vmap(lambda m: m.T, out_axes=1))(a), x.transpose(2, 0, 1), ColumnChunked)
            check(wrap(jax.vmap(inner))(a.mT), 2 * x, RowChunked)
            assert seen[-1] is ColumnChunked
            check(wrap(jax.vmap(jax.grad(lambda m: (m.T * m.T).sum())))(a), 2 * x, RowChunked)
        start = RowChunked.from_array(np.zeros((10, 4)), mesh)
        carry, rows = jax.lax.scan(lambda k, m: (k + m, m * 2), start.T, a.mT)
        check(carry, x.sum(axis=0).T, ColumnChunked)
        check(rows, 2 * x.swapaxes(1, 2), ColumnChunked)


@KINDS
def test_maps_over_rows_and_columns(axis_type: Any) -> None:
    mesh = mesh_of("x8", axis_type)
    x = random((10, 4), np.float64)
    a = poisoned(RowChunked.from_array(x, mesh))
    with context(mesh):
        got = jax.vmap(lambda column: column / column.max(), in_axes=1, out_axes=1)(a)
        check(got, x / x.max(axis=0))
        for wrong in (0, 1):
            with pytest.raises(LayoutError, match=r"transposed view.*\.T\.copy\(\)"):
                jax.vmap(lambda row: row, in_axes=wrong)(a.T)
        with pytest.raises(LayoutError, match=r"\.T\.copy\(\)"):
            jax.lax.scan(lambda k, row: (k, row), 0.0, ColumnChunked.from_array(x, mesh).T)
        got = jax.vmap(lambda row: row * 2)(a.T.copy())
        check(got, 2 * x.T, ColumnChunked)


def test_pytrees() -> None:
    a, x = made(RowChunked, ("x8", None, (16, 4)))
    for array in (a, a.T):
        (path, leaf), *rest = jax.tree_util.tree_flatten_with_path(array)[0]
        assert not rest
        assert jax.tree_util.keystr(path) == ".data"
        assert leaf is a.data
        for placeholder in (None, object(), 3):
            assert jax.tree.unflatten(jax.tree.structure(array), [placeholder]).layout == array.layout
        assert type(jax.tree.map(lambda d: d.astype(np.float32), array)) is type(array)
        assert jax.tree.structure(array) == jax.tree.structure(array * 2)
        got = jax.eval_shape(lambda c: c * 1j, array)
        assert (got.shape, got.dtype) == (array.shape, np.complex128)
        np.testing.assert_array_equal(np.asarray(jax.device_get(array)), array.to_numpy())
        assert array.block_until_ready() is array
    assert jax.tree.structure(a.T) != jax.tree.structure(a.T.copy())
    whole = jax.device_put(a, NamedSharding(a.mesh, P()))
    assert type(whole) is ChunkedArray
    np.testing.assert_array_equal(whole.to_numpy(), x)
    whole = jax.device_put(a.T, NamedSharding(a.mesh, P()))
    assert type(whole) is ChunkedArray
    np.testing.assert_array_equal(whole.to_numpy(), x.T)
    branch = jax.jit(lambda flag, v: jax.lax.cond(flag, lambda v: v * 2, lambda v: v + 1, v))
    check(branch(True, a.T), 2 * x.T, ColumnChunked)
    with pytest.raises(AttributeError, match="'ColumnChunked' object has no attribute 'nothing'"):
        _ = a.T.nothing


def test_direct_construction_checks_nothing() -> None:
    layout = Layout.of((10, 4), np.float32, mesh_of("x8"), P("x"))
    assert RowChunked(None, layout).layout is layout
    assert RowChunked.describes(layout)
    assert not ColumnChunked.describes(layout)
    assert type(ColumnChunked.fitting(None, layout)) is RowChunked


def test_empty_matrices() -> None:
    for shape in ((0, 3), (5, 0)):
        for kind in TYPES:
            a = kind.from_array(np.zeros(shape), mesh_of("x8"))
            assert (a.T.to_numpy().shape, (a.T + 1).shape, a.T.copy().shape) == (3 * (shape[::-1],))
            assert [part.size for part in a.to_shards()] == [0] * 8
            back = kind.from_shards(a.to_shards(), a.mesh)
            assert back.shape == shape


def test_examples() -> None:
    results = [doctest.testmod(module) for module in (types, shards)]
    assert sum(result.attempted for result in results) > 10
    assert not any(result.failed for result in results)
