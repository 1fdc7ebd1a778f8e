"""grad, value_and_grad, vjp, linear_transpose, grad of grad: values, chunking, and what the backward pass sends."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.test_util
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

# Transform, case, options: slab, pencil, lines, several mesh axes, resizing, both directions, norms, the ring.
MAPS = [
    ("fftn", Case("x8", P("x"), (8, 2, 3)), {}, AUTO),
    ("fft", Case("x8", P("x"), (16,)), {"norm": "ortho"}, EXPLICIT),
    ("ifft", Case("x4y2", P(("y", "x")), (16,)), {"n": 24}, AUTO),
    ("fft", Case("x8", P("x"), (24,)), {"method": "ring", "n": 16}, EXPLICIT),
    ("ifft2", Case("x4y2", P("x", "y"), (4, 6)), {"s": (8, 4)}, AUTO),
    ("fft", Case("x8", P("x", None), (8, 3)), {"axis": 1, "n": 5, "kernel": "matmul"}, EXPLICIT),
    ("fftn", Case("x2a1z4", P("x", "a", "z"), (2, 3, 4)), {"axes": (0, 2), "norm": "forward"}, AUTO),
    ("fft2", Case("x4y2", P("x"), (4, 3)), {"axes": (0, 0)}, EXPLICIT),
]


def map_id(value: object) -> str | None:
    return f"{value.mesh}-{value.spec}-{value.shape}" if isinstance(value, Case) else getattr(value, "name", None)


def settings(options: dict) -> dict:
    """What the oracle takes of the options."""
    return {key: value for key, value in options.items() if key not in ("method", "kernel", "order")}


def power(y):
    """A real function that is not linear, and its derivative as JAX has it: conjugated."""
    return jnp.sum(jnp.abs(y) ** 4)


def pulled_back(matrix: np.ndarray, cotangent: np.ndarray) -> np.ndarray:
    return np.tensordot(cotangent, matrix, axes=cotangent.ndim)


@pytest.mark.each_value
@pytest.mark.parametrize(("name", "case", "options", "axis_type"), MAPS, ids=map_id)
def test_eager_vjp(name, case, options, axis_type):
    x = random(case.shape)
    matrix = oracle.linear_map(name, case.shape, **settings(options))
    y = np.tensordot(matrix, x, axes=x.ndim)
    sharded = put(x, case, axis_type)
    mesh = sharded.sharding.mesh

    def transform(v):
        return getattr(tpufft, name)(v, **options)

    with context(mesh):
        got, pull = jax.vjp(transform, sharded)
        check(got, y, x.dtype, mesh, case.spec)
        check(pull(got)[0], pulled_back(matrix, y), x.dtype, mesh, case.spec)


@pytest.mark.each_value
@pytest.mark.parametrize(
    ("name", "case", "options", "sent", "axis_type"),
    [
        ("fftn", Case("x8", P("x"), (8, 16, 3)), {}, {"all-to-all": 2}, EXPLICIT),
        ("ifftn", Case("x8", P("x"), (8, 8, 3)), {"order": "transposed"}, {"all-to-all": 1}, AUTO),
        ("fft", Case("x8", P("x"), (64,)), {}, {"all-to-all": 3}, AUTO),
        ("fft", Case("x8", P("x"), (64,)), {"order": "scrambled"}, {"all-to-all": 2}, EXPLICIT),
        ("fftn", Case("x4y2", P("x", "y"), (8, 8, 8)), {}, {"all-to-all": 4}, AUTO),
        ("fft", Case("x8", P("x"), (32,)), {"method": "ring"}, {"collective-permute": 7}, AUTO),
        ("fft", Case("x8", P("x"), (32,)), {"method": "ring"}, {"collective-permute": 7}, EXPLICIT),
        ("fftn", Case("x8", P("x"), (8, 8)), {"axes": (1,)}, {}, EXPLICIT),
    ],
    ids=map_id,
)
def test_the_jitted_backward_pass_sends_what_the_forward_pass_sends(name, case, options, sent, axis_type):
    mesh = mesh_of(case.mesh, axis_type)
    options = {"method": "exchange", **options}

    def transform(v):
        return getattr(tpufft, name)(v, mesh, spec=case.spec, **options)

    plan = tpufft.plan(name, case.shape, np.complex128, mesh, spec=case.spec, **options)
    assert plan.bound.program.collectives == sent
    x = jax.device_put(random(case.shape), plan.in_layout.sharding)
    cotangent = jax.device_put(random(case.shape, seed=1), plan.out_layout.sharding)
    pull, found = compiled(lambda v, ct: jax.vjp(transform, v)[1](ct)[0], x, cotangent)
    assert found == sent
    check_chunks(pull(x, cotangent), mesh, plan.in_layout.partition_spec)


@pytest.mark.parametrize(
    ("case", "axis_type"),
    [("rows", AUTO), ("whole 2-D", EXPLICIT), ("line over two", EXPLICIT), ("rows over two", AUTO), ("slab", EXPLICIT)],
)
def test_jitted_grad_keeps_the_chunking_and_gathers_nothing(case, axis_type):
    case = CASES[case]
    mesh = mesh_of(case.mesh, axis_type)
    x = random(case.shape)
    y = oracle.transform("fftn", x)
    want = oracle.transform("fftn", 4 * np.abs(y) ** 2 * y.conj())
    sharded = put(x, case, axis_type)
    grad, found = compiled(jax.grad(lambda v: power(tpufft.fftn(v, mesh, spec=case.spec))), sharded)
    assert "all-gather" not in found
    check(grad(sharded), want, x.dtype, mesh, case.spec, times=3)


@pytest.mark.parametrize("axis_type", AXIS_TYPES, ids=TYPE_IDS)
def test_value_and_grad_of_real_input_is_real(axis_type):
    """Jitted on the Auto mesh, eagerly on the Explicit one."""
    case = CASES["rows"]
    x = random(case.shape, "float32")
    weights = np.abs(random(case.shape, "float32", seed=1))
    sharded, scale = put(x, case, axis_type), put(weights, case, axis_type)
    mesh = sharded.sharding.mesh

    def loss(v, w, fftn):
        return jnp.sum(w * jnp.abs(fftn(v)) ** 2)

    plain, wanted = jax.value_and_grad(loss, argnums=(0, 1))(x.astype(float), weights.astype(float), jnp.fft.fftn)
    both = jax.value_and_grad(lambda v, w: loss(v, w, lambda u: tpufft.fftn(u, mesh, spec=case.spec)), argnums=(0, 1))
    with context(mesh):
        value, grads = (jax.jit(both) if axis_type is AUTO else both)(sharded, scale)
    assert float(value) == pytest.approx(float(plain), rel=1e-5)
    for got, want in zip(grads, wanted, strict=True):
        check(got, np.asarray(want), np.float32, mesh, case.spec, times=2)


def test_numerical_derivatives():
    case = Case("x4y2", P("x", "y"), (4, 2))
    x = put(random(case.shape), case)
    jax.test_util.check_grads(lambda v: jnp.abs(tpufft.fft2(v)) ** 2, (x,), order=1, modes=("fwd", "rev"))


@pytest.mark.parametrize("axis_type", AXIS_TYPES, ids=TYPE_IDS)
def test_grad_of_grad(axis_type):
    """Eagerly on the Auto mesh, jitted on the Explicit one."""
    case = Case("x8", P("x"), (8, 2))
    x = random(case.shape, "float64")
    sharded = put(x, case, axis_type)
    mesh = sharded.sharding.mesh

    def outer(fft2):
        return jax.grad(lambda v: jnp.sum(jax.grad(lambda u: power(fft2(u)))(v) ** 3))

    want = np.asarray(jax.jit(outer(jnp.fft.fft2))(x))
    if axis_type is AUTO:
        got = outer(tpufft.fft2)(sharded)
    else:
        twice, found = compiled(outer(lambda v: tpufft.fft2(v, mesh, spec=case.spec)), sharded)
        assert "all-gather" not in found
        got = twice(sharded)
    check(got, want, x.dtype, mesh, case.spec, times=8)


@pytest.mark.parametrize("axis_type", AXIS_TYPES, ids=TYPE_IDS)
def test_linear_transpose(axis_type):
    """The transform is linear for JAX too: no linearisation is needed."""
    case = CASES["rows"]
    mesh = mesh_of("x8", axis_type)
    x = put(random(case.shape), case, axis_type)
    with context(mesh):
        back = jax.linear_transpose(lambda v: tpufft.fft(v, mesh, axis=0, n=24, spec=case.spec), x)
        ct = put(random((24, 6), seed=1), case, axis_type)
        (got,) = back(ct)
    want = pulled_back(oracle.linear_map("fft", (16, 6), axis=0, n=24), np.asarray(ct))
    check(got, want, x.dtype, mesh, case.spec)


def test_the_inverse_undoes_in_the_derivative_too():
    case = CASES["rows"]
    x = put(random(case.shape), case)
    got = jax.grad(lambda v: jnp.sum(jnp.abs(tpufft.ifftn(tpufft.fftn(v))) ** 2))(x)
    check(got, 2 * np.conj(np.asarray(x)), x.dtype, mesh_of(case.mesh), case.spec, times=2)


def test_a_plan_is_differentiable():
    case = CASES["rows"]
    x = random(case.shape)
    plan = tpufft.plan("fft2", case.shape, x.dtype, mesh_of("x8"), spec=case.spec, overwrite_x=True)
    sharded = put(x, case)
    got = jax.grad(lambda v: power(plan(v)))(sharded)
    y = oracle.transform("fft2", x)
    want = oracle.transform("fft2", 4 * np.abs(y) ** 2 * y.conj())
    check(got, want, x.dtype, mesh_of("x8"), case.spec, times=3)
    check(jax.jit(jax.grad(lambda v: power(plan(v))))(sharded), want, x.dtype, mesh_of("x8"), case.spec, times=3)


def test_on_explicit_meshes_set_mesh_is_all_that_is_needed():
    """The gradient's type carries the chunking under jit, as the argument's does."""
    case = CASES["whole 2-D"]
    x = put(random(case.shape), case, EXPLICIT)
    seen = []

    def loss(v):
        y = tpufft.fft2(v)
        seen.append(jax.typeof(y).sharding.spec)
        return power(y)

    with jax.set_mesh(x.sharding.mesh):
        grad = jax.jit(jax.grad(loss))(x)
    assert seen == [P("x", "y")]
    check_chunks(grad, x.sharding.mesh, case.spec)


def test_gradients_of_numpy_arguments():
    x = random((8, 3))
    want = oracle.transform("fft2", 2 * np.conj(oracle.transform("fft2", x)))
    for options in ({}, {"mesh": mesh_of("x8"), "spec": P("x")}):
        got = jax.grad(lambda v, options=options: jnp.sum(jnp.abs(tpufft.fft2(v, **options)) ** 2))(x)
        check(got, want, x.dtype, mesh_of("x8"), P("x"), times=2)


@pytest.mark.parametrize("spec", [P(("x", "y")), P(), P(None, "y", "x")])
def test_a_spec_that_moves_an_explicit_array_moves_its_cotangent_back(spec):
    mesh = jax.make_mesh((4, 2), ("x", "y"))
    value = np.random.default_rng(0).standard_normal((16, 8, 8)).astype(np.complex64)
    x = jax.device_put(value, jax.sharding.NamedSharding(mesh, P("x", "y")))
    with jax.set_mesh(mesh):
        gradient = jax.grad(lambda v: jnp.sum(jnp.abs(tpufft.fftn(v, mesh, spec=spec)) ** 2))(x)
    assert gradient.sharding.is_equivalent_to(x.sharding, 3)
    np.testing.assert_allclose(gradient, 2 * value.size * value.conj(), rtol=1e-3, atol=1)
