"""Indices of chunked arrays: values against numpy, chunking kept, and what crosses the wire."""

from __future__ import annotations

import doctest
from typing import Any

import hypothesis.extra.numpy as hnp
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.sharding import AbstractMesh
from jax.sharding import PartitionSpec as P

from tests.chunked_cases import KINDS, Case, check_stored, poisoned
from tests.helpers import AUTO, AXIS_TYPES, collectives, context, counted_work, mesh_of, random, some
from tpufft.chunked import ChunkedArray, chunk, register_operator
from tpufft.errors import LayoutError
from tpufft.layout import Layout
from tpufft.matrix import cuts, indexing
from tpufft.matrix.cuts import Cut, Cuts
from tpufft.matrix.types import ColumnChunked, RowChunked

# Once: what the package registers is this very function.
register_operator("getitem", indexing.getitem)

LAYOUTS = {
    "even rows": Case("x8", P("x"), (16, 6)),
    "uneven rows": Case("x8", P("x"), (21, 3)),
    "empty chunks": Case("x8", P("x"), (5, 4)),
    "columns over two": Case("x4y2", P(None, ("y", "x")), (3, 27)),
    "both": Case("x4y2", P("x", "y"), (11, 7)),
    "three": Case("x2y2z2", P("x", None, ("z", "y")), (5, 3, 9)),
    "size-1 axis": Case("x2a1z4", P(("a", "z"), "x"), (9, 4)),
    "replicated": Case("x8", P(), (5, 4)),
    "mesh of one": Case("x1", P("x"), (5, 4)),
    "line": Case("x8", P("x"), (45,)),
}
UNEVEN = {name: LAYOUTS[name] for name in ("uneven rows", "columns over two", "both", "three")}
s = np.s_
# Of each axis' length, as few as there are; what does not fit an array is refused by numpy as well.
INDICES = (
    *(s[2:], s[:-2], s[1:2], s[-3:-1], s[100:], s[3:3], s[::-1], s[4:1:-1], s[-1:0:-1]),
    *(s[::2], s[1::3], s[::-2], s[-2::-3], s[::1000], s[0], s[-1], s[2], s[...], s[...,], s[()], s[None], s[..., None]),
    *(s[1, ...], s[..., 1], s[..., -2:], s[..., ::-1], s[None, 1:4, None], s[..., None, 0], s[1:, ..., ::-1]),
)
PAIRS = (
    *(s[:, 1], s[1, 1], s[-1, ::-1], s[1:3, 1:], s[::-1, ::-2], s[:, None, 0], s[2:, None, 1:], s[:, 5:2]),
    *([1, 0, 1], s[[2, 0]], s[:, [1, 0]], s[1, [0, 2]], s[[0, 1], [1, 1]], s[[[0], [1]], [0, 2]], s[[1], None, [0]]),
    *(s[:, np.array([1, -1, 0])], s[:, np.zeros(0, int)], s[..., [[0, 1], [1, 2]]], s[1:, [2]], s[[0], 1:]),
)


def made(case: Case, dtype: Any = np.float64, axis_type: Any = AUTO) -> tuple[ChunkedArray, np.ndarray]:
    x = np.asarray(random(case.shape, dtype))
    return poisoned(chunk(x, mesh_of(case.mesh, axis_type), case.spec)), x


def check(got: Any, want: np.ndarray) -> None:
    """Value and dtype to the bit, and chunks of ceil(N / P)."""
    assert isinstance(got, ChunkedArray)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    np.testing.assert_array_equal(got.to_numpy(), want)
    if got.size:
        check_stored(got)


def refused(index: Any, layout: Layout) -> bool:
    """Whether an array of indices meets an axis that is split."""
    axis, items = 0, index if isinstance(index, tuple) else (index,)
    rest = layout.rank - sum(item is not None and item is not ... for item in items)
    for item in items:
        if isinstance(item, list | np.ndarray) and layout.parts[axis] > 1:
            return True
        axis += rest if item is ... else item is not None
    return False


def check_index(c: ChunkedArray, x: np.ndarray, index: Any, wrap: Any = lambda fn: fn) -> None:
    """The same as numpy: value or error."""
    try:
        want = x[index]
    except IndexError:
        with pytest.raises(IndexError):
            c[index]
        return
    if refused(index, c.layout):
        with pytest.raises(LayoutError, match=r"to_numpy.*to_jax\(replicated=True\).*tpufft.chunk"):
            c[index]
        return
    got = wrap(lambda c: c[index])(c)
    check(got, want)
    for item in got.layout.spec:
        assert item == () or item in c.layout.spec


@pytest.mark.each_value
@KINDS
@pytest.mark.parametrize("name", some(LAYOUTS, lambda _, name: name in ("uneven rows", "both", "mesh of one", "line")))
def test_as_numpy_has_it(name: str, axis_type: Any) -> None:
    c, x = made(LAYOUTS[name], axis_type=axis_type)
    for index in INDICES + PAIRS * (x.ndim > 1):
        check_index(c, x, index)


@KINDS
@pytest.mark.parametrize("name", some(LAYOUTS, lambda _, name: name in ("three", "columns over two")))
def test_under_jit(name: str, axis_type: Any) -> None:
    c, x = made(LAYOUTS[name], axis_type=axis_type)
    for index in INDICES[::2] + PAIRS[::2] * (x.ndim > 1):
        check_index(c, x, index, jax.jit)


@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "int32", "float16", "bfloat16", "float32", "complex64", "complex128"]
)
def test_every_dtype(dtype: str) -> None:
    for name in ("uneven rows", "both"):
        c, x = made(LAYOUTS[name], jnp.dtype(dtype))
        for index in (s[3:], s[::-1], s[4], s[2, 1], s[1::3], s[:, 1:], s[:0]):
            check(c[index], x[index])


def test_copies_are_exact() -> None:
    x = random((21, 3), np.float32)
    x[[0, 5, 9, 20]] = np.array([[np.nan], [np.inf], [-0.0], [-np.inf]])
    c = poisoned(chunk(x, mesh_of("x8")))
    for index in (s[1:], s[::-1], s[::2], s[:, 1], s[:, ::-1], s[5:12:3, 1:]):
        np.testing.assert_array_equal(c[index].to_numpy().view(np.uint32), x[index].view(np.uint32))
    for row in (0, 5, 20):
        np.testing.assert_array_equal(c[row].to_numpy(), x[row])


def test_what_is_whole_stays_the_same() -> None:
    c, x = made(LAYOUTS["both"])
    for index in (s[:], s[...], s[:, :], s[()], s[0:11], s[::1, -7:]):
        assert c[index] is c
    assert c[None].spec == P(None, "x", "y")
    check(c[None], x[None])


def test_masks() -> None:
    c, x = made(LAYOUTS["three"])
    mask = np.array([True, False, True])
    for index in (s[:, mask], s[:, [True, False, True]], s[1:, mask], s[..., mask, :], s[2, mask, 3]):
        check(c[index], x[index])
        check(jax.jit(lambda c, index=index: c[index])(c), x[index])
    check(c[:, ~mask & mask], x[:, ~mask & mask])
    whole, y = made(LAYOUTS["replicated"])
    check(whole[y > 0], y[y > 0])
    check(whole[np.asarray(y[:, 0] > 0), 1:], y[y[:, 0] > 0, 1:])
    for wrong in (s[:, mask[:2]], s[np.ones((5, 2), bool)]):
        with pytest.raises(IndexError, match="boolean index"):
            c[wrong]
    with pytest.raises(LayoutError, match="mask"):
        c[x > 0]
    with pytest.raises(LayoutError, match="to_numpy"):
        whole[whole > 0]
    with pytest.raises(IndexError, match=r"single boolean"):
        c[True]
    with pytest.raises(IndexError, match="traced mask"):
        jax.jit(lambda c, mask: c[:, mask])(c, mask)


def test_wrong_indices() -> None:
    c, x = made(LAYOUTS["both"])
    for index, message in (
        (11, "index 11 is out of bounds for axis 0 with size 11"),
        (s[:, -8], "index -8 is out of bounds for axis 1 with size 7"),
        (s[0, 0, 0], "too many indices for array: array is 2-dimensional, but 3 were indexed"),
        (s[..., ...], "single ellipsis"),
        (1.0, "only integers"),
        (np.float64(1), "only integers"),
        ("a", "only integers"),
        (s[:, [0.5]], "only integers|arrays used as indices"),
        (s[[0, 1], [0, 1, 2]], "shape mismatch"),
    ):
        with pytest.raises(IndexError, match=message):
            c[index]
        with pytest.raises(IndexError):
            x[index]
    with pytest.raises(TypeError):
        c[1.5:]
    with pytest.raises(ValueError, match="zero"):
        c[::0]
    with pytest.raises(IndexError):
        c[:0][0]
    with pytest.raises(IndexError):
        made(LAYOUTS["replicated"])[0][:, [4]]
    line, y = made(LAYOUTS["line"])
    check(line[::17], y[::17])


def test_steps_longer_than_a_chunk() -> None:
    mesh = AbstractMesh((64,), ("x",))
    layout = Layout.of((640,), np.float32, mesh, P("x"))
    with pytest.raises(LayoutError, match=r"steps of 20 takes 32 elements.*to_numpy.*tpufft.chunk"):
        cuts.cut(None, layout, (Cut(0, 32, 20),))
    c, x = made(LAYOUTS["line"])
    for step in (6, 7, 11, 30, 44):
        for index in (s[::step], s[1::step], s[::-step], s[40::-step]):
            check(c[index], x[index])


@KINDS
def test_traced_positions(axis_type: Any) -> None:
    for name in ("uneven rows", "both", "replicated"):
        c, x = made(LAYOUTS[name], axis_type=axis_type)
        row = jax.jit(lambda c, i: c[i])
        column = jax.jit(lambda c, i: c[1:, i])
        for i in (0, 3, -1, -2):
            check(row(c, i), x[i])
            check(column(c, i % 3), x[1:, i % 3])
        check(row(c, np.uint8(2)), x[2])
        # As JAX has it: beyond the end is the end.
        check(row(c, 1000), x[-1])
    c, x = made(LAYOUTS["uneven rows"], axis_type=axis_type)
    table = np.array([[0, -1, 1], [2, 2, 0]])
    check(jax.jit(lambda c, i: c[2:, i])(c, table), x[2:, table])
    with counted_work() as counts:
        for i in range(3):
            row(c, i)
            c[i]
    assert counts["jaxpr_trace_duration"] <= 2
    with context(c.mesh):
        got = jax.jit(jax.grad(lambda c, i: (c[:, i] ** 2).sum()))(c, table)
    want = np.zeros_like(x)
    np.add.at(want, s[:, table], 2 * x[:, table])
    np.testing.assert_allclose(np.asarray(got), want)


# -- what crosses the wire -----------------------------------------------------------------------------------------

WIRE = (
    (s[2:], {"collective-permute"}),
    (s[::-1], {"collective-permute"}),
    (s[::3], {"collective-permute"}),
    (s[4], {"all-reduce"}),
    (s[4, 1:], {"all-reduce", "collective-permute"}),
    (s[..., None], set()),
    (s[3:1], set()),
)


@KINDS
@pytest.mark.parametrize("name", some(UNEVEN, lambda _, name: name in ("uneven rows", "both")))
def test_nothing_is_gathered(name: str, axis_type: Any) -> None:
    c, x = made(UNEVEN[name], axis_type=axis_type)
    for index, allowed in WIRE:
        found = collectives(lambda c, index=index: c[index], c)
        assert set(found) <= allowed, f"{found} for {index}"
        assert found.get("all-reduce", 0) <= 1
        weights = random(x[index].shape, np.float64, seed=1)
        gradient = jax.grad(lambda c, index=index, weights=weights: (c[index] * weights).sum())
        want = np.zeros_like(x)
        want[index] = weights
        with context(c.mesh):
            found = collectives(gradient, c)
            got = gradient(c)
        assert set(found) <= {"collective-permute"}, f"{found} for the gradient of {index}"
        np.testing.assert_array_equal(np.asarray(got), want)
        check_stored(got)


@KINDS
def test_axes_that_are_whole_stay_where_they_are(axis_type: Any) -> None:
    c, x = made(LAYOUTS["uneven rows"], axis_type=axis_type)
    for index in (s[:, 1], s[:, ::-1], s[:, [0, 2, 2]], s[:, None, [[0], [1]]], s[:, np.array([True, False, True])]):
        assert not collectives(lambda c, index=index: c[index], c)
        gradient = jax.grad(lambda c, index=index: (c[index] ** 2).sum())
        want = np.zeros_like(x)
        np.add.at(want, index, 2 * x[index])
        with context(c.mesh):
            assert not collectives(gradient, c)
            np.testing.assert_allclose(np.asarray(gradient(c)), want)
            check_stored(gradient(c))


def test_few_permutes_and_two_chunks_of_wire() -> None:
    for parts, size in ((8, 800), (8, 763), (64, 6363), (1024, 102400)):
        layout = Layout.of((size,), np.float32, AbstractMesh((parts,), ("x",)), P("x"))
        for index, permutes in (
            (s[5:], 1),
            (s[:-5], 1),
            (s[::-1], 2),
            (s[size // 10 :], 4),
            (s[17 : size // 2], 4),
            (s[::2], 1),
            (s[1:-1:3], 3),
            (s[::-7], 3),
            # A short slice is spread from one device to all.
            (s[60:160], 20),
        ):
            start, stop, step = index.indices(size)
            operator = Cuts(layout, (Cut(start, len(range(start, stop, step)), step),))
            for each in (operator, operator.transposed()):
                program = each.bound(None, tracing=False).program
                assert set(program.collectives) <= {"collective-permute"}
                assert program.collectives.get("collective-permute", 0) <= permutes, (parts, index)
                assert program.wire_bytes <= 2.1 * layout.chunk_bytes, (parts, index)


# -- jax's transformations -----------------------------------------------------------------------------------------


@KINDS
def test_transformations(axis_type: Any) -> None:
    mesh = mesh_of("x8", axis_type)
    x = random((3, 21, 5), np.float64)
    c = poisoned(chunk(x, mesh, P(None, "x")))
    with context(mesh):
        for index, same in (
            (s[2:9:2, ::-1], s[:, 2:9:2, ::-1]),
            (s[4], s[:, 4]),
            (s[-3:, [0, 0]], s[:, -3:, [0, 0]]),
            (s[3:3], s[:, 3:3]),
        ):
            for wrap in (lambda fn: fn, jax.jit):
                check(wrap(jax.vmap(lambda m, index=index: m[index]))(c), x[same])
            got = jax.vmap(jax.grad(lambda m, index=index: m[index].sum()))(c)
            want = np.zeros_like(x)
            np.add.at(want, same, 1)
            np.testing.assert_array_equal(np.asarray(got), want)
            value, tangent = jax.jvp(lambda c, same=same: c[same], (c,), (c * 2,))
            check(value, x[same])
            check(tangent, 2 * x[same])
        total, rows = jax.lax.scan(lambda k, m: (k + m[1:].sum(), m[::-1]), 0.0, c)
        np.testing.assert_allclose(total, x[:, 1:].sum())
        check(rows, x[:, ::-1])
        second = jax.grad(lambda c: (jax.grad(lambda c: (c[0, 2:] ** 3).sum())(c)[0, ::2] ** 2).sum())(c)
        want = np.zeros_like(x)
        want[0, 2::2] = 2 * 3 * 6 * x[0, 2::2] ** 3
        np.testing.assert_allclose(np.asarray(second), want)


def test_second_call_compiles_nothing() -> None:
    c, _ = made(LAYOUTS["both"])

    def work(i: int) -> None:
        c[2:]
        c[::-1, i]
        c[i]
        c[1, i]

    work(1)
    with counted_work() as counts:
        work(2)
    assert not counts


# -- kinds of results ----------------------------------------------------------------------------------------------


def test_matrices_stay_matrices() -> None:
    x = random((21, 5), np.float64)
    a = RowChunked.from_array(x, mesh_of("x8"))
    for index, kind in (
        (s[2:], RowChunked),
        (s[::-1, 1:], RowChunked),
        (s[:, 0], RowChunked),
        (s[:, [0, 1]], RowChunked),
        (s[None], RowChunked),
        (s[..., None, :], ChunkedArray),
        (s[3], ChunkedArray),
        (s[3, 2], ChunkedArray),
    ):
        got = a[index]
        check(got, x[index])
        assert type(got) is kind, index
    view = a.T
    for index, kind in (
        (s[1:], ColumnChunked),
        (s[::-1, 3:8], ColumnChunked),
        (s[0], RowChunked),
        (s[:, 0], ChunkedArray),
    ):
        got = view[index]
        check(got, x.T[index])
        assert type(got) is kind, index
    assert type(view[1:, ::-1].T) is RowChunked
    assert view[1:].turned_source is not None
    assert type(chunk(x, mesh_of("x8"))[1:]) is ChunkedArray


# -- any index -----------------------------------------------------------------------------------------------------


@st.composite
def calls(draw: Any) -> tuple[str, Any, Any]:
    name = draw(st.sampled_from(sorted(LAYOUTS)))
    case = LAYOUTS[name]
    index = draw(hnp.basic_indices(case.shape, allow_newaxis=True, allow_ellipsis=True, max_dims=4))
    return name, draw(st.sampled_from(AXIS_TYPES)), index


@given(calls())
@settings(max_examples=60, deadline=None)
def test_any_basic_index(call: tuple[str, Any, Any]) -> None:
    name, axis_type, index = call
    c, x = made(LAYOUTS[name], axis_type=axis_type)
    check(c[index], np.asarray(x[index]))


@given(st.data())
@settings(max_examples=30, deadline=None)
def test_any_array_index(data: Any) -> None:
    case = Case("x8", P("x"), (11, 3, 4))
    c, x = made(case)
    tables = data.draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=2, max_side=3))
    rows, columns = (
        data.draw(hnp.arrays(np.int64, shape, elements=st.integers(-size, size - 1)))
        for shape, size in zip(tables.input_shapes, (3, 4), strict=True)
    )
    first = data.draw(st.sampled_from([s[:], s[2:], s[::-1], s[::3], 4, -1]))
    for index in ((first, rows, columns), (first, rows, None, columns), (None, first, ..., columns), (first, rows)):
        check(c[index], np.asarray(x[index]))


def test_examples() -> None:
    results = [doctest.testmod(module) for module in (indexing, cuts)]
    assert sum(result.attempted for result in results) > 3
    assert not any(result.failed for result in results)
