"""Derivatives and batches of products: right values, the operands' chunking kept, of a ring a ring."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import AUTO, EXPLICIT, check_value, collectives, context, mesh_of, poisoned
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from products import Pairing, exact, numbers

from tpufft import ChunkedArray, LayoutError, RowChunked, chunk, einsum, matmul

PAIRINGS = [
    Pairing("x8", "rows", "rows"),
    Pairing("x8", "rows", "columns", axis_type=EXPLICIT),
    Pairing("x8", "columns", "rows"),
    Pairing("x8", "columns", "whole"),
    Pairing("x4y2", "blocks", "blocks", axis_type=EXPLICIT),
    Pairing("x4y2", "rows", "blocks"),
]


def weighted(a: Any, b: Any, **options: Any) -> Any:
    """A real function of a product whose derivative is known: the sum of squares."""
    c = matmul(a, b, **options)
    return (c * c.conj()).real.sum() / 2


@pytest.mark.each_value
@pytest.mark.parametrize("pairing", PAIRINGS, ids=str)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_reverse(pairing: Pairing, dtype: str) -> None:
    a, b = pairing.operands(dtype)
    x, y = exact(a), exact(b)
    with context(a.mesh):
        da, db = jax.grad(weighted, (0, 1))(a, b)
        counts = collectives(jax.jit(jax.grad(weighted, (0, 1))), a, b)
    # JAX's gradient of a real function is the conjugate of the usual one.
    check_value(np.asarray(da), (x @ y @ y.conj().T).conj(), times=8)
    check_value(np.asarray(db), (x.conj().T @ x @ y).conj(), times=8)
    assert da.layout.spec == a.layout.spec
    assert db.layout.spec == b.layout.spec
    assert type(da) is type(a)
    assert "all-gather" not in counts


@pytest.mark.parametrize("schedule", ["ring", "bidirectional"])
def test_derivatives_of_a_ring_are_rings(schedule: str) -> None:
    a, b = PAIRINGS[0].operands()
    pieces = {"ring": 1, "bidirectional": 2}[schedule]

    def of(a: Any, b: Any) -> Any:
        return matmul(a, b, schedule=schedule)

    c, pull = jax.vjp(of, a, b)
    counts = collectives(jax.jit(pull), c)
    assert set(counts) == {"collective-permute"}
    # One ring for each operand's cotangent; halves of a chunk of one row are not cut further.
    assert 2 * 7 <= counts["collective-permute"] <= pieces * 2 * 7
    forward = collectives(jax.jit(lambda a, b: jax.jvp(of, (a, b), (a, b))), a, b)
    assert set(forward) == {"collective-permute"}


@pytest.mark.parametrize("pairing", PAIRINGS[:3], ids=str)
def test_forward_and_second_order(pairing: Pairing) -> None:
    a, b = pairing.operands()
    x, y = exact(a), exact(b)
    ta, tb = (type(c)(c.data * 0 + 1.5, c.layout) for c in (a, b))
    tx, ty = (np.full(z.shape, 1.5) for z in (x, y))
    with context(a.mesh):
        _, dc = jax.jvp(matmul, (clean(a), clean(b)), (clean(ta), clean(tb)))
        second = jax.jvp(jax.grad(weighted), (clean(a), b), (clean(ta), clean(tb)))[1]
    check_value(np.asarray(dc), tx @ y + x @ ty, times=8)
    check_value(np.asarray(second), tx @ y @ y.T + x @ ty @ y.T + x @ y @ ty.T, times=16)
    assert second.layout.spec == a.layout.spec


def clean(c: ChunkedArray) -> Any:
    """The same array with zeros in its padding; NaN stays out of the test's own arithmetic."""
    return type(c).from_data(jnp.nan_to_num(c.data), c.layout) if not c.layout.is_even else c


def test_a_real_operand_of_a_complex_one_has_a_real_derivative() -> None:
    a, b = PAIRINGS[0].operands("float64", "complex128")
    da = jax.grad(weighted)(a, b)
    assert da.dtype == np.float64
    x, y = exact(a), exact(b)
    check_value(np.asarray(da), (x @ y @ y.conj().T).real, times=8)


def test_against_differences() -> None:
    a, b = PAIRINGS[0].operands()
    x, y = exact(a), exact(b)
    da = np.asarray(jax.grad(lambda a: ((a @ b) ** 3).sum())(a))
    step = 1e-6
    moved = x.copy()
    moved[3, 4] += step
    want = (((moved @ y) ** 3).sum() - ((x @ y) ** 3).sum()) / step
    assert abs(da[3, 4] - want) < 1e-3 * abs(want)


def test_broadcast_operands_sum_over_the_batch() -> None:
    mesh = mesh_of("x4y2")
    x, y = numbers((7, 6), np.float64, 1), numbers((4, 6, 5), np.float64, 2)
    a, b = poisoned(chunk(x, mesh, P("x"))), poisoned(chunk(y, mesh, P("y", "x")))
    da, db = jax.grad(weighted, (0, 1))(a, b)
    check_value(np.asarray(da), np.einsum("bmn,bkn->mk", x @ y, y), times=8)
    check_value(np.asarray(db), np.einsum("mk,bmn->bkn", x, x @ y), times=8)
    assert da.spec == P("x")
    assert db.spec == P("y", "x")
    assert "all-gather" not in collectives(jax.jit(jax.grad(weighted, (0, 1))), a, b)
    # Sums over devices of pairs are sums of pairs.
    doubled = jax.grad(lambda a: weighted(a, b, precision="float64_emulated"))(a)
    want = np.einsum("bmn,bkn->mk", x @ y, y)
    assert np.linalg.norm(doubled.to_numpy() - want) < 1e-13 * np.linalg.norm(want)


def test_pairs_have_no_reverse_derivative() -> None:
    a, b = PAIRINGS[0].operands("float32")
    low = a * 0
    with pytest.raises(TypeError, match="no reverse derivative"):
        jax.grad(lambda a: matmul((a, low), b, precision="float64_emulated")[0].sum())(a)


@pytest.mark.parametrize("axis_type", [AUTO, EXPLICIT])
def test_arrays_keep_their_chunking(axis_type: Any) -> None:
    mesh = mesh_of("x8", axis_type)
    sharding = NamedSharding(mesh, P("x"))
    x, y = (jax.device_put(numbers((16, 16), np.float32, seed), sharding) for seed in (1, 2))

    def energy(x: Any, y: Any) -> Any:
        return (matmul(x, y) ** 2).sum() / 2

    with context(mesh):
        dx, dy = jax.grad(energy, (0, 1))(x, y)
    for got, want in ((dx, exact(x) @ exact(y) @ exact(y).T), (dy, exact(x).T @ exact(x) @ exact(y))):
        check_value(got, want, times=16)
        assert got.sharding.is_equivalent_to(sharding, 2)


# -- batches ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axes", [(0, None), (None, 0), (0, 0), (2, 1)], ids=str)
def test_vmap(axes: tuple[int | None, int | None]) -> None:
    mesh = mesh_of("x8")
    x, y = numbers((11, 13), np.float64, 1), numbers((13, 5), np.float64, 2)
    scales = np.array([1.0, -2.0, 0.5])

    def batch(z: np.ndarray, axis: int | None) -> ChunkedArray:
        if axis is None:
            return poisoned(chunk(z, mesh, P("x")))
        spec: list[Any] = ["x", None]
        spec.insert(axis, None)
        return poisoned(chunk(np.stack([z * s for s in scales], axis), mesh, P(*spec)))

    c = jax.vmap(matmul, axes)(batch(x, axes[0]), batch(y, axes[1]))
    powers = sum(axis is not None for axis in axes)
    check_value(c.to_numpy(), np.stack([x @ y * s**powers for s in scales]), times=8)
    assert c.layout.spec == ((), ("x",), ())


def test_vmap_over_an_axis_that_is_split() -> None:
    mesh = mesh_of("x4y2")
    x, y = numbers((4, 7, 6), np.float64, 1), numbers((4, 6, 5), np.float64, 2)
    a, b = chunk(x, mesh, P("y", "x")), chunk(y, mesh, P("y", "x"))
    c = jax.vmap(matmul)(a, b)
    check_value(c.to_numpy(), x @ y, times=4)
    assert c.layout.spec == (("y",), ("x",), ())
    counts = collectives(jax.jit(jax.vmap(matmul, spmd_axis_name="y")), a, b)
    assert "all-gather" not in counts
    summed = jax.jit(jax.grad(lambda a, b: (jax.vmap(matmul, spmd_axis_name="y")(a, b) ** 2).sum() / 2))(a, b)
    check_value(summed.to_numpy(), x @ y @ y.swapaxes(1, 2), times=8)


def test_scan_and_checkpoint() -> None:
    a = RowChunked.from_array(numbers((13, 13), np.float64) / 13, mesh_of("x8"))
    x = a.to_numpy()

    def power(a: Any) -> Any:
        last, _ = jax.lax.scan(lambda v, _: (jax.checkpoint(matmul)(a, v), None), a, None, length=3)
        return (last * last).sum()

    want = np.linalg.matrix_power(x, 4)
    assert abs(float(jax.jit(power)(a)) - (want**2).sum()) < 1e-12 * (want**2).sum()
    step = 1e-6
    moved = x.copy()
    moved[2, 5] += step
    slope = ((np.linalg.matrix_power(moved, 4) ** 2).sum() - (want**2).sum()) / step
    got = np.asarray(jax.jit(jax.grad(power))(a))
    assert abs(got[2, 5] - slope) < 1e-3 * abs(slope) + 1e-8


# -- einsum -----------------------------------------------------------------------------------------------------------

CASES = {
    "mk,kn->mn": ((11, 13), (13, 5)),
    "km,kn->mn": ((13, 11), (13, 5)),
    "mk,nk->nm": ((11, 13), (5, 13)),
    "bmk,bkn->bmn": ((3, 11, 13), (3, 13, 5)),
    "mbk,kn->bnm": ((11, 3, 13), (13, 5)),
    "mkl,kln->mn": ((11, 4, 3), (4, 3, 5)),
    "...k,kn->...n": ((3, 11, 13), (13, 5)),
    "...mk,...kn": ((1, 11, 13), (3, 13, 5)),
    "m,n->mn": ((11,), (5,)),
    "k,k->": ((13,), (13,)),
    "m,m->m": ((13,), (13,)),
}


@pytest.mark.each_value
@pytest.mark.parametrize("subscripts", CASES)
@pytest.mark.parametrize("axis", [0, -1])
def test_einsum(subscripts: str, axis: int) -> None:
    mesh = mesh_of("x8")
    x, y = (numbers(shape, np.complex128, seed) for seed, shape in enumerate(CASES[subscripts]))

    def split(z: np.ndarray) -> ChunkedArray:
        spec: list[Any] = [None] * z.ndim
        spec[axis] = "x"
        return poisoned(chunk(z, mesh, P(*spec)))

    if x.shape[axis] == 1:
        with pytest.raises(LayoutError, match="batch axis 0 of length 1 is split"):
            einsum(subscripts, split(x), split(y))
        return
    c = einsum(subscripts, split(x), split(y))
    check_value(np.asarray(c), np.einsum(subscripts, x, y), times=32)


@pytest.mark.parametrize(
    ("subscripts", "words"),
    [
        ("mk->km", r"has operands \['mk'\]; a product has two"),
        ("mk,kn,nl->ml", r"has operands .*'nl'\]; a product has two"),
        ("mm,mn->mn", "m stands twice in a"),
        ("mk,kn->n", "m is in one operand alone"),
        ("mk,kn->mnz", "z of the result is in no operand"),
        ("mk,kn->mz", "z of the result is in no operand"),
        ("mkl,kn->mn", "names 3 axes of an operand with 2"),
        ("mk,mn->kn", "m has length 11 in a and 13 in b"),
        ("m1,1n->mn", "other signs than letters"),
    ],
)
def test_subscripts_that_no_product_covers(subscripts: str, words: str) -> None:
    a, b = PAIRINGS[0].operands()
    with pytest.raises(ValueError, match=words):
        einsum(subscripts, a, b)
