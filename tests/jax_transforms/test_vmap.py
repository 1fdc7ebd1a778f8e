"""vmap: every in_axes and out_axes, nested, with derivatives, and a batch that is itself chunked over mesh axes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import oracle
import pytest
from helpers import (
    AUTO,
    AXIS_TYPES,
    EXPLICIT,
    TYPE_IDS,
    Case,
    check,
    check_chunks,
    check_value,
    compiled,
    context,
    mesh_of,
    put,
    random,
)
from jax.sharding import PartitionSpec as P

import tpufft

SHAPE = (4, 8, 2)
SENT = {"all-to-all", "collective-permute"}
ANYWHERE = [
    (0, P("x", "y")),  # the batch chunked over x, rows over y
    (1, P("x", "y")),
    (2, P("x", "y")),
    (-1, P("y", None, "x")),
    (-3, P(None, ("x", "y"))),
    (1, P(None, ("y", "x"), None)),  # only the batch is chunked
]


def batched(x: np.ndarray, in_axis: int, out_axis: int = 0) -> np.ndarray:
    """fft2 of every slice, by the definition."""
    x = np.moveaxis(x, in_axis, 0)
    return np.moveaxis(oracle.transform("fftn", x, axes=(1, 2)), 0, out_axis)


def moved(spec: P, in_axis: int, out_axis: int = 0) -> P:
    """The chunking of the batched result: the batch's entry moves, the others keep their order."""
    entries = [*spec, None, None, None][:3]
    entry = entries.pop(in_axis)
    entries.insert(out_axis, entry)
    return P(*entries)


@pytest.mark.each_value
@pytest.mark.parametrize("axis_type", AXIS_TYPES, ids=TYPE_IDS)
@pytest.mark.parametrize(("in_axis", "spec"), ANYWHERE)
def test_eager_vmap_keeps_the_batch_and_the_rest_where_they_are(in_axis, spec, axis_type):
    case = Case("x4y2", spec, (8, 8, 8) if "('x'" in str(spec) or "('y'" in str(spec) else (4, 8, 4))
    x = random(case.shape)
    sharded = put(x, case, axis_type)
    mesh = sharded.sharding.mesh
    with context(mesh):
        got = jax.vmap(tpufft.fft2, in_axes=in_axis)(sharded)
    check(got, batched(x, in_axis), x.dtype, mesh, moved(spec, in_axis))


@pytest.mark.parametrize("out_axis", [0, 1, 2])
def test_out_axes(out_axis):
    case = Case("x4y2", P("x", "y"), SHAPE)
    x = random(SHAPE)
    got = jax.vmap(tpufft.fft2, in_axes=1, out_axes=out_axis)(put(x, case))
    check(got, batched(x, 1, out_axis), x.dtype, mesh_of("x4y2"), moved(P("x", "y"), 1, out_axis))


@pytest.mark.parametrize("in_axis", [0, 2])
def test_jitted_vmap_on_an_explicit_mesh_needs_no_names(in_axis):
    spec = P("x", "y") if in_axis == 0 else P("y", None, "x")
    case = Case("x4y2", spec, (4, 8, 4))
    x = random(case.shape)
    mesh = mesh_of("x4y2", EXPLICIT)
    program, found = compiled(jax.vmap(tpufft.fft2, in_axes=in_axis), put(x, case, EXPLICIT))
    assert set(found) <= SENT
    check(program(put(x, case, EXPLICIT)), batched(x, in_axis), x.dtype, mesh, moved(spec, in_axis))


@pytest.mark.parametrize("in_axis", [0, 1])
def test_jitted_vmap_on_an_auto_mesh_is_told_by_spmd_axis_name(in_axis):
    spec = P("x", "y") if in_axis == 0 else P("y", "x")
    case = Case("x4y2", spec, (4, 8, 2) if in_axis == 0 else (8, 4, 2))
    x = random(case.shape)
    mesh = mesh_of("x4y2")

    def grid(v):
        return tpufft.fft2(v, mesh, spec=P("y"))

    program, found = compiled(jax.vmap(grid, in_axes=in_axis, spmd_axis_name="x"), put(x, case))
    assert set(found) <= SENT
    check(program(put(x, case)), batched(x, in_axis), x.dtype, mesh, moved(spec, in_axis))
    with context(mesh):
        check(jax.jit(jax.vmap(grid, in_axes=in_axis))(put(x, case)), batched(x, in_axis), x.dtype, mesh, P(None, "y"))


def test_the_batched_array_with_its_spec_is_the_other_way():
    case = Case("x4y2", P("x", "y"), SHAPE)
    x = random(SHAPE)
    program, found = compiled(lambda v: tpufft.fft2(v, mesh_of("x4y2"), spec=P("x", "y")), put(x, case))
    assert set(found) <= SENT
    check(program(put(x, case)), batched(x, 0), x.dtype, mesh_of("x4y2"), P("x", "y"))


def test_spmd_axis_name_of_several_mesh_axes_and_of_nested_batches():
    mesh = mesh_of("x2y2z2")
    case = Case("x2y2z2", P(("x", "y"), "z"), (4, 8))
    x = random(case.shape)
    program, found = compiled(
        jax.vmap(lambda v: tpufft.fft(v, mesh, spec=P("z")), spmd_axis_name=("x", "y")), put(x, case)
    )
    assert "all-gather" not in found
    check(program(put(x, case)), oracle.along(x, 1), x.dtype, mesh, case.spec)
    case = Case("x2y2z2", P("x", "y", "z"), (2, 4, 8))
    x = random(case.shape)
    inner = jax.vmap(lambda v: tpufft.fft(v, mesh, spec=P("z")), spmd_axis_name="y")
    program, found = compiled(jax.vmap(inner, spmd_axis_name="x"), put(x, case))
    assert "all-gather" not in found
    check(program(put(x, case)), oracle.along(x, 2), x.dtype, mesh, case.spec)


@pytest.mark.parametrize("axis_type", AXIS_TYPES, ids=TYPE_IDS)
def test_nested_vmap_eagerly(axis_type):
    case = Case("x2y2z2", P("x", "y", "z"), (2, 4, 8))
    x = random(case.shape)
    sharded = put(x, case, axis_type)
    mesh = sharded.sharding.mesh
    with context(mesh):
        check(jax.vmap(jax.vmap(tpufft.ifft))(sharded), oracle.along(x, 2, inverse=True), x.dtype, mesh, case.spec)
        twice = jax.vmap(jax.vmap(tpufft.fft, in_axes=1, out_axes=1), in_axes=1, out_axes=1)(sharded)
    check(twice, oracle.along(x, 0), x.dtype, mesh, case.spec)


@pytest.mark.parametrize("axis_type", AXIS_TYPES, ids=TYPE_IDS)
def test_vmap_of_grad_and_grad_of_vmap(axis_type):
    case = Case("x4y2", P("x", "y"), SHAPE)
    x = random(SHAPE)
    sharded = put(x, case, axis_type)
    mesh = sharded.sharding.mesh
    want = 2 * oracle.transform("fftn", np.conj(batched(x, 0)), axes=(1, 2))

    def power(transform):
        return lambda v: jnp.sum(jnp.abs(transform(v)) ** 2)

    with context(mesh):
        if axis_type is AUTO:
            got = jax.vmap(jax.grad(power(tpufft.fft2)))(sharded)
        else:
            got = jax.grad(power(jax.vmap(tpufft.fft2)))(sharded)
    check(got, want, x.dtype, mesh, case.spec, times=2)
    if axis_type is AUTO:
        jitted = jax.vmap(jax.grad(power(lambda v: tpufft.fft2(v, mesh, spec=P("y")))), spmd_axis_name="x")
    else:
        jitted = jax.vmap(jax.grad(power(tpufft.fft2)))
    program, found = compiled(jitted, sharded)
    assert "all-gather" not in found
    check(program(sharded), want, x.dtype, mesh, case.spec, times=2)


def test_arguments_that_are_not_batched():
    mesh = mesh_of("x8")
    x, w = random((8, 2)), random((3,), "float64")
    sharded = put(x, Case("x8", P("x"), (8, 2)))
    got = jax.vmap(lambda v, scale: scale * tpufft.fft2(v), in_axes=(None, 0))(sharded, w)
    check_value(got, w[:, None, None] * oracle.transform("fft2", x))
    again = jax.vmap(lambda v, scale: tpufft.fft2(v * scale), in_axes=(None, 0))(sharded, w)
    check(again, w[:, None, None] * oracle.transform("fft2", x), x.dtype, mesh, P(None, "x"))


def test_options_hold_in_the_batch():
    mesh = mesh_of("x8")
    x = random((3, 16, 4))
    sharded = put(x, Case("x8", P(None, "x"), x.shape))
    got = jax.vmap(lambda v: tpufft.ifftn(v, s=(8, 6), axes=(0, 1), norm="forward"))(sharded)
    want = oracle.transform("ifftn", x, s=(8, 6), axes=(1, 2), norm="forward")
    check(got, want, x.dtype, mesh, P(None, "x"))
    got = jax.vmap(lambda v: tpufft.fft(v, axis=1, method="ring"), in_axes=2, out_axes=2)(sharded)
    check(got, oracle.along(x, 1), x.dtype, mesh, P(None, "x"))
    got = jax.vmap(lambda v: tpufft.fft2(v, out_spec=P(None, "x")))(
        put(random((3, 8, 8)), Case("x8", P(None, "x"), ()))
    )
    check_chunks(got, mesh, P(None, None, "x"))


def test_a_plan_maps_over_batches():
    mesh = mesh_of("x8")
    plan = tpufft.plan("fft2", (8, 4), "complex128", mesh)
    x = random((3, 8, 4))
    got = jax.vmap(plan)(put(x, Case("x8", P(None, "x"), x.shape)))
    check(got, batched(x, 0), x.dtype, mesh, P(None, "x"))


@pytest.mark.parametrize("mesh", [None, "x8"])
def test_numpy_arguments(mesh):
    x = random((3, 8, 4))
    where = None if mesh is None else mesh_of(mesh)
    got = jax.vmap(lambda v: tpufft.fft2(v, where))(x)
    check_value(got, batched(x, 0))
    check_value(jax.vmap(lambda v: tpufft.fft2(v, where))(jnp.asarray(x)), batched(x, 0))


def test_eager_vmap_of_a_numpy_array_on_an_explicit_mesh_keeps_the_batch_whole():
    mesh = jax.make_mesh((8,), ("x",))
    value = np.random.default_rng(0).standard_normal((3, 8, 8)).astype(np.complex64)
    result = jax.vmap(lambda v: tpufft.fft2(v, mesh, spec=jax.sharding.PartitionSpec("x")))(value)
    np.testing.assert_allclose(result, np.fft.fft2(value), atol=1e-4)
