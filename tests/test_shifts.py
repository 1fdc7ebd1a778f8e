"""fftshift, ifftshift and fftfreq: values, dtypes and chunking, and what crosses the wire."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import oracle
import pytest
from helpers import (
    AXIS_TYPES,
    CASES,
    DTYPES,
    Case,
    check,
    check_chunks,
    collectives,
    context,
    mesh_of,
    put,
    random,
)
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import tpufft

SHIFTED = {
    "line": None,
    "line over two, other order": None,
    "rows": (0,),
    "columns": (-1, 0),
    "whole 2-D": None,
    "rows over two": 0,
    "replicated over one": None,
    "pencil": (1, 2),
    "size-1 axis": (0, -1),
    "size-1 axis of several": None,
    "replicated": None,
    "mesh of one": None,
}


@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
@pytest.mark.parametrize("case", SHIFTED)
def test_shifts(case, name):
    axes, axis_type = SHIFTED[case], AXIS_TYPES[len(case) % 2]
    case = CASES[case]
    x = random(case.shape)
    sharded = put(x, case, axis_type)
    got = getattr(tpufft, name)(sharded, axes=axes)
    check_chunks(got, sharded.sharding.mesh, case.spec)
    np.testing.assert_array_equal(got, oracle.shift(x, axes, inverse=name == "ifftshift"))


@pytest.mark.parametrize("shape", [(7,), (8, 3), (5, 4, 1)])
def test_odd_sizes_and_both_ways(shape):
    """The two differ where a length is odd; chunks here are whole axes."""
    x = random(shape)
    for axes in (None, 0, (0, -1), (0, 0), []):
        there = tpufft.fftshift(x, axes=axes)
        np.testing.assert_array_equal(there, np.fft.fftshift(x, axes=axes))
        np.testing.assert_array_equal(oracle.shift(x, axes), np.fft.fftshift(x, axes=axes))
        np.testing.assert_array_equal(tpufft.ifftshift(there, axes=axes), x)


def on_three(x: np.ndarray) -> jax.Array:
    """Chunked over three devices, so that half a length is no whole number of chunks."""
    mesh = jax.make_mesh((3,), ("x",), axis_types=AXIS_TYPES[:1], devices=jax.devices()[:3])
    return jax.device_put(x, NamedSharding(mesh, P("x")))


@pytest.mark.parametrize("n", [3, 6, 9, 12, 15])
def test_half_a_length_that_is_no_whole_number_of_chunks(n):
    x = on_three(random((n,), "float64"))
    there, back = tpufft.fftshift(x), tpufft.ifftshift(x)
    np.testing.assert_array_equal(there, np.fft.fftshift(x))
    np.testing.assert_array_equal(back, np.fft.ifftshift(x))
    assert there.sharding.spec == back.sharding.spec == P("x")


@pytest.mark.parametrize("dtype", [*DTYPES, "bfloat16", "uint8"])
def test_every_dtype_is_kept(dtype):
    case = CASES["line"]
    x = random(case.shape, jnp.dtype(dtype))
    got = tpufft.fftshift(put(x, case))
    assert got.dtype == x.dtype
    np.testing.assert_array_equal(np.asarray(got), oracle.shift(x))


def test_a_ring_of_two_mesh_axes_in_another_order_than_the_mesh_has():
    mesh = jax.make_mesh((3, 2), ("x", "y"), axis_types=AXIS_TYPES[:1] * 2, devices=jax.devices()[:6])
    for n in (6, 18):
        x = random((n,))
        for names in (("x", "y"), ("y", "x")):
            got = tpufft.fftshift(jax.device_put(x, NamedSharding(mesh, P(names))))
            check(got, oracle.shift(x), x.dtype, mesh, P(names))


def test_a_shift_is_an_exact_copy():
    """Pieces are moved, not computed with: NaN and inf do not spread, and a zero keeps its sign."""
    for n in (12, 15):
        x = random((n,), "float32")
        x[[0, 2, 5, 7, 10]] = np.nan, -0.0, np.inf, -np.inf, -0.0
        got = np.asarray(tpufft.fftshift(on_three(x)))
        np.testing.assert_array_equal(got.view(np.uint32), np.fft.fftshift(x).view(np.uint32))


def test_empty_axes():
    for shape, spec in [((8, 0), P("x")), ((8, 0), P(None, "x")), ((0,), P("x"))]:
        got = tpufft.fftshift(put(random(shape), Case("x8", spec, shape)))
        assert got.shape == shape
        assert got.sharding.spec == spec


def test_one_or_two_permutes_and_nothing_else():
    three = on_three(np.zeros(9)).sharding.mesh
    for mesh, n, permutes in [(mesh_of("x8"), 64, 1), (mesh_of("x8"), 40, 1), (three, 12, 2), (three, 15, 2)]:
        plan = tpufft.plan("fftshift", (n,), "complex64", mesh)
        assert plan.hlo_collectives() == {"collective-permute": permutes}
        assert plan.wire_bytes <= plan.in_layout.chunk_bytes
        x = jax.device_put(np.zeros(n), plan.in_layout.sharding)
        assert collectives(lambda v, mesh=mesh: tpufft.fftshift(v, mesh), x) == {"collective-permute": permutes}
    local = tpufft.plan("ifftshift", (8, 6), "int32", mesh_of("x8"), axes=(1,))
    assert local.hlo_collectives() == {}


@pytest.mark.parametrize("axis_type", AXIS_TYPES)
def test_derivative_of_a_shift_is_the_shift_back(axis_type):
    case = CASES["whole 2-D"]
    x, w = random(case.shape, "float64"), random(case.shape, "float64", seed=1)
    sharded, weights = put(x, case, axis_type), put(w, case, axis_type)
    with context(sharded.sharding.mesh):
        got = jax.grad(lambda v: jnp.sum(tpufft.fftshift(v) * weights))(sharded)
        batched = jax.vmap(tpufft.fftshift, in_axes=1, out_axes=1)(sharded)
    check(got, oracle.shift(w, inverse=True), np.float64, sharded.sharding.mesh, case.spec)
    np.testing.assert_array_equal(batched, oracle.shift(x, 0))
    check_chunks(batched, sharded.sharding.mesh, case.spec)


# -- fftfreq --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 7, 8, 24])
def test_frequencies_on_one_device(n):
    for d in (1.0, 0.25, 3):
        got = tpufft.fftfreq(n, d)
        assert got.dtype == np.float64
        assert len(got.sharding.device_set) == 1
        np.testing.assert_allclose(got, oracle.frequencies(n, d), rtol=1e-15)
        np.testing.assert_allclose(got, np.fft.fftfreq(n, d), rtol=1e-15)


@pytest.mark.parametrize("axis_type", AXIS_TYPES)
@pytest.mark.parametrize("order", ["natural", "scrambled"])
def test_frequencies_of_every_chunk(order, axis_type):
    for mesh, spec in [("x8", None), ("x4y2", None), ("x4y2", P("y")), ("x4y2", P(("y", "x"))), ("x8", P())]:
        where = mesh_of(mesh, axis_type)
        got = tpufft.fftfreq(24, 0.5, mesh=where, spec=spec, order=order)
        filled = P(where.axis_names) if spec is None else spec
        check_chunks(got, where, filled)
        parts = len({str(shard.index) for shard in got.addressable_shards})
        position = np.arange(24)
        bins = position if order == "natural" else position // (24 // parts) + parts * (position % (24 // parts))
        np.testing.assert_allclose(got, oracle.frequencies(24, 0.5)[bins], rtol=1e-15)


def test_frequencies_take_numpy_integers():
    np.testing.assert_array_equal(tpufft.fftfreq(np.int64(6)), np.fft.fftfreq(6))


def test_shifted_frequencies_increase():
    f = np.asarray(tpufft.fftshift(tpufft.fftfreq(16, mesh=mesh_of("x8"))))
    assert (np.diff(f) > 0).all()
