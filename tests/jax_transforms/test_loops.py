"""scan, fori_loop, while_loop, cond, checkpoint: values, chunking, derivatives, and no gathers."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import oracle
import pytest
from helpers import AXIS_TYPES, CASES, EXPLICIT, TYPE_IDS, Case, check, compiled, context, mesh_of, put, random
from jax import lax
from jax.sharding import PartitionSpec as P

import tpufft

CASE = CASES["rows"]


def step_of(mesh):
    """One turn of a loop: a transform that keeps its size, and something pointwise."""
    return lambda v: tpufft.fft2(v, mesh, spec=CASE.spec, norm="ortho") * 1.5


def turned(x: np.ndarray, turns: int) -> np.ndarray:
    for _ in range(turns):
        x = 1.5 * oracle.transform("fft2", x, norm="ortho")
    return x


@pytest.mark.parametrize("axis_type", AXIS_TYPES, ids=TYPE_IDS)
def test_scan_over_a_carry_and_its_gradient(axis_type):
    x = random(CASE.shape)
    sharded = put(x, CASE, axis_type)
    mesh = sharded.sharding.mesh
    step = step_of(mesh)

    def loop(v):
        return lax.scan(lambda c, _: (step(c), jnp.sum(jnp.abs(c))), v, None, length=3)

    with context(mesh):
        got, sums = loop(sharded)
    check(got, turned(x, 3), x.dtype, mesh, CASE.spec, times=3)
    np.testing.assert_allclose(sums, [np.abs(turned(x, turn)).sum() for turn in range(3)], rtol=1e-12)

    grad, found = compiled(jax.grad(lambda v: jnp.sum(jnp.abs(loop(v)[0]) ** 2)), sharded)
    assert "all-gather" not in found
    want = 2 * 1.5**6 * np.conj(x)  # the transform is unitary here
    check(grad(sharded), want, x.dtype, mesh, CASE.spec, times=4)


@pytest.mark.parametrize("axis_type", AXIS_TYPES, ids=TYPE_IDS)
def test_scan_over_a_stack_of_chunked_arrays(axis_type):
    case = Case("x8", P(None, "x"), (3, 8, 2))
    x = random(case.shape)
    sharded = put(x, case, axis_type)
    mesh = sharded.sharding.mesh
    program, found = compiled(
        lambda v: lax.scan(lambda c, u: (c, tpufft.ifft2(u, mesh, spec=P("x"))), 0.0, v)[1], sharded
    )
    assert "all-gather" not in found
    check(program(sharded), oracle.transform("ifftn", x, axes=(1, 2)), x.dtype, mesh, case.spec)


@pytest.mark.parametrize("axis_type", AXIS_TYPES, ids=TYPE_IDS)
def test_checkpoint(axis_type):
    x = random(CASE.shape)
    sharded = put(x, CASE, axis_type)
    mesh = sharded.sharding.mesh

    def layer(v):
        return tpufft.fft2(jnp.abs(v) * v, mesh, spec=CASE.spec)

    def loss(function):
        return lambda v: jnp.sum(jnp.abs(function(v)) ** 2)

    # |F(|v| v)|^2 summed is N |v|^4 summed.
    want = 4 * x.size * np.abs(x) ** 2 * np.conj(x)
    if axis_type is EXPLICIT:
        with context(mesh):
            eager = jax.grad(loss(jax.checkpoint(layer)))(sharded)
        check(eager, want, x.dtype, mesh, CASE.spec, times=4)
    program, found = compiled(jax.grad(loss(jax.checkpoint(layer))), sharded)
    assert "all-gather" not in found
    check(program(sharded), want, x.dtype, mesh, CASE.spec, times=4)


def test_fori_while_and_cond():
    mesh = mesh_of("x8")
    x = random(CASE.shape)
    sharded, step = put(x, CASE), step_of(mesh)
    four = jax.jit(lambda v: lax.fori_loop(0, 4, lambda _, c: step(c), v))(sharded)
    check(four, turned(x, 4), x.dtype, mesh, CASE.spec, times=4)
    until = jax.jit(
        lambda v: lax.while_loop(lambda c: jnp.sum(jnp.abs(c) ** 2) < 20 * np.sum(np.abs(x) ** 2), step, v)
    )(sharded)
    check(until, turned(x, 4), x.dtype, mesh, CASE.spec, times=4)
    either = jax.jit(lambda flag, v: lax.cond(flag, step, lambda u: u * 1.0, v))
    check(either(True, sharded), turned(x, 1), x.dtype, mesh, CASE.spec, times=2)
    check(either(False, sharded), x, x.dtype, mesh, CASE.spec)


def test_a_spectral_step_in_a_scan_sends_what_its_two_transforms_send():
    """The loop of every spectral solver: there, multiply, back."""
    case = Case("x8", P("x"), (8, 16))
    mesh = mesh_of("x8")
    x = random(case.shape)
    k = np.fft.fftfreq(8)[:, None] + np.fft.fftfreq(16)[None, :]

    def step(v, _):
        options = {"mesh": mesh, "spec": P("x"), "order": "transposed", "method": "exchange"}
        spectrum = tpufft.fft2(v, **options)
        return tpufft.ifft2(spectrum * jnp.exp(-k), **options), None

    program, found = compiled(lambda v: lax.scan(step, v, None, length=5)[0], put(x, case))
    assert found == {"all-to-all": 10}
    want = oracle.transform("ifft2", oracle.transform("fft2", x) * np.exp(-5 * k))
    check(program(put(x, case)), want, x.dtype, mesh, case.spec, times=8)
