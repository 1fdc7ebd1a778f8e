"""The lazy DFT matrix against its definition in exact fractions: entries, products, collectives, derivatives."""

from __future__ import annotations

import pickle
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import oracle
import pytest
from helpers import (
    AXIS_TYPES,
    TYPE_IDS,
    Case,
    check_result,
    check_value,
    collectives,
    context,
    counted_work,
    mesh_of,
    pairs,
    place,
    poisoned,
    put,
    random,
    sample_id,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.sharding import PartitionSpec as P

import tpufft
from tpufft.kernels import samples, turns
from tpufft.matrix.dft import dft_matrix

PI = np.longdouble("3.14159265358979323846264338327950288")


def turn(f: float, t: float, n: int) -> Fraction:
    """The fraction of a turn f t / n within half a turn each way, exactly."""
    turns = Fraction(float(f)) * Fraction(float(t)) / n
    return turns - round(turns)


def dense(f: Any, t: Any, n: int, *, inverse: bool = False) -> np.ndarray:
    """The matrix by its definition, right to long double."""
    units = [[np.ldexp(np.longdouble(int(turn(a, b, n) * 2**60)), -60) for b in t] for a in f]
    angles = 2 * PI * np.array(units, np.longdouble).reshape(len(f), len(t))
    return (np.cos(angles) + (1j if inverse else -1j) * np.sin(angles)) / (n if inverse else 1)


def points(kind: str, count: int, n: int, seed: int = 0) -> Any:
    """Points of one kind, and what they are as a list."""
    rng = np.random.default_rng(seed)
    reach = min(3.0 * n, 2.0**31 - count)
    listed = {
        "any": rng.uniform(-reach, reach, count),
        "near": rng.uniform(-0.5, 0.5, count),
        "whole": np.rint(rng.uniform(-reach, reach, count)),
        "halves": np.rint(rng.uniform(-reach, reach, count) / 2) + 0.5,
        "tiny": rng.uniform(-1, 1, count) * 1e-12,
        "centred": np.arange(count) - count // 2,
        "count": np.arange(count),
    }[kind]
    return (count if kind == "count" else listed), listed


# -- entries -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("n", [1, 7, 1000, 10**6, 999_983, 2**31 - 1, 2**31])
def test_entries_are_rounded_once(n: int, dtype: str) -> None:
    kinds = ("any", "near", "whole", "halves", "tiny", "centred", "count")
    for number, rows in enumerate(kinds):
        for columns in (kinds[number], kinds[number - 1], kinds[number - 3]):
            (f, f_listed), (t, t_listed) = points(rows, 9, n, 1), points(columns, 12, n, 2)
            W = dft_matrix(n, rows=f, columns=t, dtype=dtype)
            want = dense(f_listed, t_listed, n)
            block = W.block()
            assert (block.dtype, block.shape, W.shape) == (np.dtype(dtype), (9, 12), (9, 12))
            eps = np.finfo(dtype).eps
            assert np.abs(np.asarray(block) - want).max() <= 2 * eps, (rows, columns)
            assert np.abs(W.to_numpy(np.complex128) - want).max() <= 2**-51, (rows, columns)
            assert np.abs(np.asarray(W) - want).max() <= 2 * eps
            assert np.asarray(W).dtype == np.dtype(dtype)


def test_entries_of_the_inverse_the_conjugate_and_the_transpose() -> None:
    (_, f), (_, t) = points("any", 5, 10, 3), points("any", 4, 10, 4)
    W, V = (dft_matrix(10, rows=f, columns=t, inverse=inverse, dtype=np.complex128) for inverse in (False, True))
    want, back = dense(f, t, 10), dense(f, t, 10, inverse=True)
    for matrix, entries in ((W, want), (V, back), (W.T, want.T), (W.conj(), want.conj()), (V.H, back.conj().T)):
        assert matrix.shape == entries.shape
        np.testing.assert_allclose(matrix.to_numpy(), entries.astype(complex), rtol=0, atol=1e-14)
        np.testing.assert_allclose(np.asarray(matrix.block()), entries.astype(complex), rtol=0, atol=1e-14)


def test_blocks_are_slices() -> None:
    W = dft_matrix(10**6, rows=10**6, columns=np.linspace(-5e5, 5e5, 77), dtype=np.complex128)
    rows, columns = slice(999_990, None, 3), slice(None, None, -11)
    f, t = np.arange(10**6)[rows], np.linspace(-5e5, 5e5, 77)[columns]
    np.testing.assert_allclose(
        np.asarray(W.block(rows, columns)), dense(f, t, 10**6).astype(complex), atol=1e-15, rtol=0
    )
    assert W.block(slice(0, 0)).shape == (0, 77)
    with pytest.raises(TypeError, match="rows=3 is no slice"):
        W.block(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"W\.block"):
        W.to_numpy()


FAR = st.floats(-(2.0**31) + 1, 2.0**31 - 1)


@settings(max_examples=300, deadline=None)
@given(FAR | st.integers(-(2**31) + 1, 2**31 - 1).map(float), FAR | st.floats(-1, 1), st.integers(1, 2**31))
def test_turns_of_any_points(f: float, t: float, n: int) -> None:
    for word, right in ((np.uint32, Fraction(1, 2**29)), (np.uint64, Fraction(1, 2**60))):
        for a, b in ((f, t), (t, f)):
            cut = turns.fraction(np.array([a]), n, np.dtype(word)), turns.whole(np.array([b]), np.dtype(word))
            bits = np.dtype(word).itemsize * 8
            found = Fraction(int(turns.turn(*cut)[0]), 2**bits) - turn(f, t, n)
            assert abs(found - round(found)) <= right


def test_turns_of_long_periods() -> None:
    rng = np.random.default_rng(5)
    for n in (2**32 - 1, 2**32, 2**32 + 1, 3**30, 2**53 - 1):
        f, t = rng.uniform(-(2**52), 2**52, 20), np.rint(rng.uniform(-(2**52), 2**52, 20))
        found = dft_matrix(n, rows=f, columns=t, dtype=np.complex128).to_numpy()
        assert np.abs(found - dense(f, t, n)).max() <= 2**-50


# -- products ----------------------------------------------------------------------------------------------------------

# Where the contracted axis is, how it and the others are chunked; the sizes of both sides are put in its place.
PLACES = {
    "vector": ("x8", P("x"), (None,)),
    "vector over two": ("x4y2", P(("y", "x")), (None,)),
    "rows": ("x8", P("x"), (None, 3)),
    "columns": ("x8", P(None, "x"), (None, 8)),
    "both": ("x4y2", P("x", "y"), (None, 5)),
    "batch": ("x4y2", P("y", "x"), (3, None, 2)),
    "replicated": ("x8", P(), (None, 3)),
    "one device": ("x1", P("x"), (None, 3)),
    "size-1 axis": ("x2a1z4", P(("a", "z"), "x"), (None, 4)),
}
SIZES = {"even": (16, 24), "uneven": (13, 27), "more": (30, 9), "tiny": (3, 17), "many": (21, 2)}
KINDS = [
    ("any", "count"),
    ("count", "any"),
    ("any", "near"),
    ("centred", "count"),
    ("count", "count"),
    ("whole", "whole"),
]
PRODUCTS = pairs(
    place=list(PLACES),
    size=list(SIZES),
    kind=KINDS,
    dtype=["complex64", "complex128", "float32", "int32"],
    adjoint=[False, True],
    axis_type=list(AXIS_TYPES),
)


@pytest.mark.each_value(2)
@pytest.mark.parametrize("row", [pytest.param(row, id=sample_id(row)) for row in PRODUCTS])
def test_products(row: dict) -> None:
    (m, n), (rows, columns) = SIZES[row["size"]], row["kind"]
    name, spec, shape = PLACES[row["place"]]
    (f, f_listed), (t, t_listed) = points(rows, m, 50, 1), points(columns, n, 50, 2)
    W, entries = dft_matrix(50, rows=f, columns=t), dense(f_listed, t_listed, 50)
    if row["adjoint"]:
        W, entries = W.H, entries.conj().T
    case = Case(name, spec, tuple(entries.shape[1] if size is None else size for size in shape))
    x = random(case.shape, row["dtype"])
    axis = max(len(shape) - 2, 0)
    want = np.moveaxis(np.tensordot(entries.astype(complex), x.astype(complex), (1, axis)), 0, axis)
    mesh = mesh_of(name, row["axis_type"])
    argument = place(x, case, row["axis_type"])
    dtype = np.result_type(x.dtype if x.dtype.kind in "fc" else np.float32, np.complex64)
    found = W @ argument
    if isinstance(argument, tpufft.ChunkedArray):
        assert isinstance(found, tpufft.ChunkedArray)
        assert (found.dtype, found.layout.parts) == (dtype, argument.layout.parts)
        check_value(found.to_numpy(), want, times=2)
    else:
        check_result(found, want, dtype, mesh, spec, times=2)


def test_products_from_the_left_contract_the_last_axis() -> None:
    (_, f), (_, t) = points("any", 11, 20, 1), points("any", 14, 20, 2)
    W, entries = dft_matrix(20, rows=f, columns=t, dtype=np.complex128), dense(f, t, 20).astype(complex)
    case = Case("x4y2", P("y", "x"), (5, 11))
    x = random(case.shape)
    for argument in (x, jnp.asarray(x), place(x, case), x.tolist()):
        found = argument @ W
        check_value(np.asarray(found), x @ entries)
    assert isinstance(place(x, case) @ W, tpufft.ChunkedArray)
    check_value(np.asarray(x[0] @ W), x[0] @ entries)
    check_value(np.asarray(jnp.asarray(x[0]) @ W), x[0] @ entries)


@pytest.mark.parametrize("n", [40, 41])
@pytest.mark.parametrize("shape", [("line",), ("rows", 3), (2, "rows", 3)], ids=str)
def test_the_whole_matrix_is_the_ring(n: int, shape: tuple) -> None:
    spec = P(*("x" if isinstance(size, str) else None for size in shape))
    case = Case("x8", spec, tuple(n if isinstance(size, str) else size for size in shape))
    argument, axis = place(random(case.shape, np.complex64), case), max(len(shape) - 2, 0)
    W = dft_matrix(n)
    pair = {
        "fft": (W, {}),
        "ifft": (dft_matrix(n, inverse=True), {}),
        "conjugate": (W.H, {"norm": "forward"}),
        "of the inverse": (dft_matrix(n, rows=np.arange(n), inverse=True).conj(), {"norm": "forward"}),
    }
    for name, (matrix, options) in pair.items():
        same = tpufft.ifft if name in ("ifft", "conjugate") else tpufft.fft
        found, want = matrix @ argument, same(argument, method="ring", axis=axis, **options)
        np.testing.assert_array_equal(np.asarray(found), np.asarray(want), err_msg=name)
    assert str(W.plan(case.shape, spec=spec)) == str(
        tpufft.plan("fft", case.shape, np.complex64, spec=spec, method="ring", axis=axis)
    )
    back = dft_matrix(n, inverse=True) @ (W @ argument)
    check_value(np.asarray(back), np.asarray(argument), times=2)


def test_what_comes_back() -> None:
    mesh, x = mesh_of("x8"), random((16, 3), np.complex64)
    W = dft_matrix(16, mesh, rows=np.linspace(0, 3, 24))
    assert isinstance(W @ x, jax.Array)
    assert (W @ x).sharding.shard_shape((24, 3)) == (3, 3)
    odd = dft_matrix(16, mesh, rows=np.linspace(0, 3, 5))
    assert (odd @ x).sharding.is_fully_replicated
    case = Case("x8", P("x"), (16, 3))
    assert isinstance(odd @ put(x, case), tpufft.ChunkedArray)

    class Rows(tpufft.ChunkedArray):
        pass

    rows = Rows.from_data(put(x, case), tpufft.chunk(x, mesh).layout)
    assert type(W @ rows) is type(odd @ rows) is Rows
    assert (W @ np.ones((16, 3), np.complex128)).dtype == np.complex128
    assert (dft_matrix(16, rows=[0.5], dtype=np.complex128) @ x).dtype == np.complex128
    assert (W @ np.zeros((16, 0))).shape == (24, 0)
    assert (dft_matrix(16, rows=[]) @ x).shape == (0, 3)
    np.testing.assert_array_equal(np.asarray(dft_matrix(16, columns=[]) @ np.zeros((0, 3))), np.zeros((16, 3)))


@pytest.mark.parametrize("kinds", [("any", "count"), ("count", "any"), ("any", "any")], ids=str)
def test_panels(kinds: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    (f, f_listed), (t, t_listed) = points(kinds[0], 45, 61, 7), points(kinds[1], 50, 61, 8)
    x = random((50, 2), np.complex128)
    want = dense(f_listed, t_listed, 61).astype(complex) @ x
    monkeypatch.setattr(samples, "PANEL_BYTES", 8192)
    case = Case("x2y2z2", P("y"), x.shape)
    check_value(np.asarray(dft_matrix(61, rows=f, columns=t, dtype=x.dtype) @ place(x, case)), want)


def test_no_device_holds_its_rows_of_the_matrix() -> None:
    points = np.random.default_rng(0).uniform(0, 1 << 14, 1 << 14)
    W = dft_matrix(1 << 14, rows=points, columns=points[::-1])
    plan = W.plan((1 << 14, 2), spec=P("x"))
    rows = (1 << 14) ** 2 * 8 // 8
    memory = plan.compile().memory_analysis()
    assert memory.temp_size_in_bytes < 2.5 * samples.PANEL_BYTES < rows
    assert plan.peak_bytes < 2.5 * samples.PANEL_BYTES


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_any_points(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 100))
    far = st.floats(-1e4, 1e4) | st.integers(-1000, 1000).map(float)
    f, t = (np.array(data.draw(st.lists(far, min_size=1, max_size=9))) for _ in range(2))
    x = random((len(t),), np.complex128, seed=n)
    # The sum may cancel, so that its error is of the size of its terms.
    error = np.abs(np.asarray(dft_matrix(n, rows=f, columns=t, dtype=x.dtype) @ x) - dense(f, t, n) @ x)
    assert error.max() <= 4 * np.finfo(np.float64).eps * np.abs(x).sum()


# -- what is sent ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("m", "n"), [(24, 80), (80, 24), (80, 75)])
def test_permutes_and_nothing_else(m: int, n: int) -> None:
    mesh, spec = mesh_of("x8"), P("x")
    W = dft_matrix(100, mesh, rows=np.linspace(-9, 9, m), columns=np.linspace(-9, 9, n))
    plan = W.plan((n, 3), spec=spec)
    assert plan.hlo_collectives() == {"collective-permute": 7}
    assert plan.wire_bytes == 7 * min(-(-m // 8), -(-n // 8)) * 3 * 8
    assert ("sums" if m < n else "chunks") in str(plan)
    x = poisoned(tpufft.chunk(random((n, 3), np.complex64), mesh, spec))
    y = tpufft.chunk(random((m, 3), np.complex64), mesh, spec)
    pulled = collectives(lambda x, y: jax.vjp(lambda x: W @ x, x)[1](y)[0], x, y)
    assert pulled == {"collective-permute": 7}
    pushed = collectives(lambda x: jax.jvp(lambda x: W @ x, (x,), (x,)), x)
    assert set(pushed) == {"collective-permute"}


def test_a_whole_axis_sends_nothing() -> None:
    W = dft_matrix(12, mesh_of("x8"), rows=[1.5, 2.5])
    assert W.plan((12, 16), spec=P(None, "x")).hlo_collectives() == {}
    assert W.plan((12, 16), spec=P(None, "x")).wire_bytes == 0


# -- JAX ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis_type", AXIS_TYPES, ids=TYPE_IDS)
@pytest.mark.parametrize(("m", "n"), [(16, 24), pytest.param(24, 8, marks=pytest.mark.long)])
def test_derivatives_and_maps(m: int, n: int, axis_type: Any) -> None:
    mesh, case, out = mesh_of("x8", axis_type), Case("x8", P("x"), (n, 3)), Case("x8", P("x"), (m, 3))
    (_, f), (t, t_listed) = points("any", m, 30, 1), points("count", n, 30, 2)
    W, entries = dft_matrix(30, mesh, rows=f, columns=t, dtype=np.complex128), dense(f, t_listed, 30).astype(complex)
    x, y = random(case.shape), random(out.shape, seed=1)
    X, Y = put(x, case, axis_type), put(y, out, axis_type)
    kind = x.dtype
    with context(mesh):
        found, pull = jax.vjp(lambda x: W @ x, X)
        check_result(found, entries @ x, kind, mesh, case.spec)
        check_result(pull(Y)[0], entries.T @ y, kind, mesh, case.spec)
        pushed = jax.jvp(lambda x: W @ x, (X,), (2 * X,))[1]
        check_result(pushed, 2 * entries @ x, kind, mesh, case.spec)
        gradient = jax.grad(lambda x: jnp.sum(jnp.abs(W @ x) ** 2))(X)
        check_result(gradient, 2 * (entries.T @ (entries @ x).conj()), kind, mesh, case.spec)
        # As an argument of a jitted function the matrix is part of the program.
        jitted = jax.jit(lambda W, x: W @ x)
        check_result(jitted(W, X), entries @ x, kind, mesh, case.spec)
        mapped = jax.jit(jax.vmap(lambda x: W.apply(x, 0, spec=P("x")), in_axes=1, out_axes=1))(X)
        check_value(np.asarray(mapped), entries @ x)

        def step(carry, _):
            again = W.H @ (W @ carry)
            return again / n, None

        looped = jax.jit(lambda x: jax.lax.scan(step, x, None, length=2)[0])(X)
        normal = entries.conj().T @ entries / n
        check_value(np.asarray(looped), normal @ normal @ x, times=2)


def test_chunked_arrays_under_jit() -> None:
    case = Case("x4y2", P(("x", "y")), (21, 2))
    W, x = dft_matrix(21, rows=[0.25, 1.75, 30.0], dtype=np.complex128), random((21, 2))
    entries = dense([0.25, 1.75, 30.0], range(21), 21).astype(complex)
    argument = place(x, case)
    found = jax.jit(lambda c: W @ c)(argument)
    assert isinstance(found, tpufft.ChunkedArray)
    check_value(found.to_numpy(), entries @ x)
    gradient = jax.grad(lambda c: (abs(W @ c) ** 2).sum())(argument)
    check_value(gradient.to_numpy(), 2 * (entries.T @ (entries @ x).conj()))


def test_equal_matrices_share_a_program() -> None:
    values = np.linspace(0.1, 3.3, 12)
    made = [dft_matrix(16, mesh_of("x8"), rows=values.copy()) for _ in range(2)]
    assert made[0] == made[1]
    assert len({*made, made[0].T.T, made[0].H.H, pickle.loads(pickle.dumps(dft_matrix(16, rows=values)))}) == 2
    assert made[0] != made[0].conj()
    assert made[0] != dft_matrix(16, mesh_of("x8"), rows=values + 1e-15)
    assert dft_matrix(16, rows=np.arange(16.0), columns=list(range(16))) == dft_matrix(16)
    assert dft_matrix(16, rows=np.int64(5)) == dft_matrix(16, rows=jnp.arange(5)) == dft_matrix(16, rows=np.array(5))
    assert jax.tree.leaves(made[0]) == []
    jitted = jax.jit(lambda W, x: W @ x)
    x = put(random((16, 2), np.complex64), Case("x8", P("x"), (16, 2)))
    jitted(made[0], x), made[0] @ x
    with counted_work() as work:
        jitted(made[1], x), made[1] @ x
    assert not work, work


def test_single_precision_needs_no_wide_types() -> None:
    (_, f), (_, t) = points("any", 9, 10**6, 1), points("any", 10, 10**6, 2)
    with jax.enable_x64(False):
        W = dft_matrix(10**6, mesh_of("x8"), rows=f, columns=t)
        check_value(np.asarray(W @ np.ones((10, 1), np.complex64)), dense(f, t, 10**6).sum(1, keepdims=True), times=2)
        assert np.abs(np.asarray(W.block()) - dense(f, t, 10**6)).max() <= 2 * np.finfo(np.float32).eps
        text = W.plan((10, 1), spec=P("x")).lower().as_text()
        assert not any(wide in text for wide in ("f64", "ui64"))
        with pytest.raises(ValueError, match="complex128 needs 64-bit types"):
            dft_matrix(8, dtype="complex128")
    wide = dft_matrix(8, rows=[0.5], dtype="complex128")
    with jax.enable_x64(False), pytest.raises(ValueError, match="complex128 needs 64-bit types"):
        wide @ np.ones(8, np.complex64)


def test_precision_reaches_the_products() -> None:
    W = dft_matrix(16, rows=[0.5, 1.5])
    assert W.plan((16,), precision="high").steps[0].precision == "high"  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="precision='best'"):
        W.apply(np.ones(16), precision="best")


def test_it_prints() -> None:
    W = dft_matrix(16, mesh_of("x8"), rows=[0.5, 1.5], inverse=True)
    assert repr(W) == (
        "DFTMatrix(complex64 (2, 16) on mesh x=8, period 16, rows 2 in 0.5...1.5, columns 0...15, "
        "conjugated, times 0.0625)"
    )
    assert "samples   axis 0: 16 -> 2 points, x: sums one way" in str(W.plan((16,)))
    assert (len(W), W.ndim, W.size) == (2, 2, 32)


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((0,), ValueError, "n=0"),
        ((-3,), ValueError, "n=-3"),
        ((2.5,), TypeError, "n=2.5 is no integer"),
        ((True,), TypeError, "n=True"),
        ((8, "x"), TypeError, "mesh='x'"),
        ((2**31 + 1,), ValueError, r"rows reaches .* below 2\*\*31, or ask for complex128"),
        ((8, None, [[1.0]]), ValueError, r"rows has shape \(1, 1\)"),
        ((8, None, 2.5), ValueError, r"rows has shape \(\)"),
        ((8, None, np.array(2.5)), ValueError, r"rows has shape \(\)"),
        ((8, None, -1), ValueError, "rows=-1"),
        ((8, None, True), TypeError, "rows is an array of bool"),
        ((8, None, [1.0, np.nan]), ValueError, r"rows\[1\] is nan"),
        ((8, None, [1j]), TypeError, "rows is an array of complex128"),
        ((8, None, ["a"]), TypeError, "rows is an array of"),
        ((8, None, [[1], [2, 3]]), TypeError, "rows=.* is no array of numbers"),
        ((8, None, np.ones(3, bool)), TypeError, "flatnonzero"),
        ((8, None, None, [np.inf]), ValueError, r"columns\[0\] is inf"),
        ((8, None, None, [2.0**31]), ValueError, "columns reaches"),
        ((8, None, None, None, "float32"), ValueError, "dtype=float32"),
    ],
)
def test_bad_matrices(arguments: tuple, error: type[Exception], message: str) -> None:
    named = dict(zip(("n", "mesh", "rows", "columns", "dtype"), arguments, strict=False))
    with pytest.raises(error, match=message):
        dft_matrix(**named)


def test_bad_operands() -> None:
    W = dft_matrix(8, mesh_of("x8"), rows=[0.5, 1.5])
    for x, error, message in (
        (np.ones((2, 7)), ValueError, r"W @ x: axis 0 of x of shape \(2, 7\) has 2, but the matrix has 8 columns"),
        (np.float64(3.0), ValueError, "W @ x: x has no axis, but the matrix has 8 columns"),
        ("abc", TypeError, "W @ x: x='abc'"),
        (object(), TypeError, "no array of numbers"),
        (W, TypeError, "to_numpy"),
        (np.array(["a"] * 8), TypeError, "dtype <U1"),
    ):
        with pytest.raises(error, match=message):
            W @ x
    with pytest.raises(ValueError, match=r"x @ W: axis 0 of x of shape \(8,\) has 8, but the matrix has 2 rows"):
        np.ones(8) @ W
    with pytest.raises(np.exceptions.AxisError):
        W.apply(np.ones(8), 1)
    other = put(np.ones(8, np.complex64), Case("x4y2", P("x"), (8,)))
    with pytest.raises(tpufft.LayoutError, match="contradicts the array"):
        W @ other
    with pytest.raises(tpufft.LayoutError, match="jit"):
        jax.jit(lambda x: dft_matrix(8, rows=[0.5]) @ x)(np.ones(8))
    with pytest.raises(TypeError, match="rows is traced"):
        jax.jit(lambda f: dft_matrix(8, rows=f).block())(np.ones(3))
    with pytest.raises(ValueError, match="no inverse that is known"):
        _ = W.plan((8,)).inverse
    for shape, error, message in (
        ("x", TypeError, "shape='x' is no sequence of sizes"),
        (None, TypeError, "shape=None is no sequence"),
        (8, TypeError, r"shape=8 is no sequence of sizes; give one such as \(8,\)"),
        ((-8,), ValueError, "the size -8 is negative"),
    ):
        with pytest.raises(error, match=message):
            W.plan(shape)  # type: ignore[arg-type]


def test_refuses_a_chunk_of_a_shard_map() -> None:
    mesh = mesh_of("x8")
    inside = jax.shard_map(lambda x: dft_matrix(1, rows=[0.5]) @ x, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    with pytest.raises(tpufft.LayoutError, match="shard_map"):
        inside(jnp.ones(8))


def test_the_oracle_is_the_other_oracle() -> None:
    np.testing.assert_allclose(dense(range(9), range(9), 9).astype(complex), oracle.matrix(9), atol=1e-15)
