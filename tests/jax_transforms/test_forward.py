"""jvp, linearize, jacfwd, jacrev, hessian: values against the transform's matrix, chunking, and what is sent."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import oracle
import pytest
from helpers import (
    AUTO,
    AXIS_TYPES,
    CASES,
    EXPLICIT,
    TYPE_IDS,
    Case,
    check,
    check_chunks,
    compiled,
    context,
    mesh_of,
    put,
    random,
)
from jax.sharding import PartitionSpec as P

import tpufft

SMALL = Case("x4y2", P("x", "y"), (4, 2))


@pytest.mark.parametrize("axis_type", AXIS_TYPES, ids=TYPE_IDS)
@pytest.mark.parametrize("case", ["whole 2-D", "rows"])
def test_jvp_and_linearize(case, axis_type):
    case = CASES[case]
    x, dx = random(case.shape), random(case.shape, seed=1)
    sharded, tangent = put(x, case, axis_type), put(dx, case, axis_type)
    mesh = sharded.sharding.mesh
    y, dy = oracle.transform("ifftn", x), oracle.transform("ifftn", dx)
    with context(mesh):
        out, dout = jax.jvp(tpufft.ifftn, (sharded,), (tangent,))
        again, push = jax.linearize(tpufft.ifftn, sharded)
        pushed = push(tangent)
    for got, want in ((out, y), (dout, dy), (again, y), (pushed, dy)):
        check(got, want, x.dtype, mesh, case.spec)


@pytest.mark.parametrize("axis_type", AXIS_TYPES, ids=TYPE_IDS)
def test_jvp_of_something_that_is_not_linear_has_the_tangent_on_other_arrays_too(axis_type):
    case = CASES["rows"]
    x, dx = random(case.shape, "float64"), random(case.shape, "float64", seed=1)
    sharded = put(x, case, axis_type)
    mesh = sharded.sharding.mesh
    y, dy = oracle.transform("fft2", x * x), oracle.transform("fft2", 2 * x * dx)
    with context(mesh):
        # A tangent that lives elsewhere, as numpy's does, is brought to where the primal lives.
        out, dout = jax.jvp(lambda v: tpufft.fft2(v * v), (sharded,), (put(dx, case, axis_type),))
        assert dout.dtype == np.complex128
        check(out, y, np.complex128, mesh, case.spec)
        check(dout, dy, np.complex128, mesh, case.spec, times=2)


def test_the_jitted_jvp_sends_twice_what_the_transform_sends_and_gathers_nothing():
    for case, axis_type, sent in [
        (Case("x8", P("x"), (64,)), AUTO, {"all-to-all": 6}),
        (Case("x8", P("x"), (8, 16, 2)), EXPLICIT, {"all-to-all": 4}),
    ]:
        mesh = mesh_of(case.mesh, axis_type)
        x, dx = put(random(case.shape), case, axis_type), put(random(case.shape, seed=1), case, axis_type)

        def pushed(v, t, mesh=mesh, spec=case.spec):
            return jax.jvp(lambda u: tpufft.fftn(u, mesh, spec=spec, method="exchange"), (v,), (t,))

        program, found = compiled(pushed, x, dx)
        assert found == sent
        for got in program(x, dx):
            check_chunks(got, mesh, case.spec)


@pytest.mark.parametrize("axis_type", AXIS_TYPES, ids=TYPE_IDS)
def test_jacfwd_and_jacrev_are_the_matrix(axis_type):
    """Of complex input as a holomorphic function; the side of the array stays chunked."""
    matrix = oracle.linear_map("fft2", SMALL.shape)
    x = put(random(SMALL.shape), SMALL, axis_type)
    mesh = x.sharding.mesh
    with context(mesh):
        forward = jax.jacfwd(tpufft.fft2, holomorphic=True)(x)
        reverse = jax.jacrev(tpufft.fft2, holomorphic=True)(x)
    check(forward, matrix, x.dtype, mesh, P("x", "y"))
    check(reverse, matrix, x.dtype, mesh, P(None, None, "x", "y"))


def test_jacfwd_of_real_input():
    x = put(random(SMALL.shape, "float64"), SMALL)
    got = jax.jacfwd(tpufft.fft2)(x)
    check(got, oracle.linear_map("fft2", SMALL.shape), np.complex128, mesh_of("x4y2"), P("x", "y"))


@pytest.mark.parametrize("axis_type", AXIS_TYPES, ids=TYPE_IDS)
def test_jitted_jacobians_of_a_real_function(axis_type):
    """d|y_k|^2 / dx_j = 2 Re(conj(y_k) L_kj)."""
    x = random(SMALL.shape, "float64")
    sharded = put(x, SMALL, axis_type)
    mesh = sharded.sharding.mesh
    matrix = oracle.linear_map("fft2", SMALL.shape)
    want = 2 * np.real(np.conj(oracle.transform("fft2", x))[..., None, None] * matrix)

    def power(v):
        return jnp.abs(tpufft.fft2(v, mesh, spec=SMALL.spec)) ** 2

    for jacobian, spec in ((jax.jacfwd, P("x", "y")), (jax.jacrev, P(None, None, "x", "y"))):
        program, found = compiled(jacobian(power), sharded)
        assert "all-gather" not in found
        check(program(sharded), want, np.float64, mesh, spec, times=2)


@pytest.mark.parametrize("axis_type", AXIS_TYPES, ids=TYPE_IDS)
def test_hessian(axis_type):
    """Of sum |Lx|^2 for real x: 2 Re(L^H L), which is 2 N."""
    case = Case("x8", P("x"), (8,))
    x = put(random(case.shape, "float64"), case, axis_type)
    mesh = x.sharding.mesh
    with context(mesh):
        got = jax.jit(jax.hessian(lambda v: jnp.sum(jnp.abs(tpufft.fft(v, mesh, spec=case.spec)) ** 2)))(x)
    check(got, 16 * np.eye(8), np.float64, mesh, P("x"), times=2)
