"""The collective form: inside one's own shard_map (check_vma on), under derivatives, and on fake meshes under vmap."""

from __future__ import annotations

import functools

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
    check_value,
    compiled,
    context,
    mesh_of,
    put,
    random,
)
from jax import lax
from jax.sharding import PartitionSpec as P

import tpufft
from tpufft import LayoutError, spmd


def mapped(function, mesh, spec, out_spec=None):
    return jax.jit(jax.shard_map(function, mesh=mesh, in_specs=spec, out_specs=spec if out_spec is None else out_spec))


# Name, case, mesh axes, options for spmd, options for the oracle.
CALLS = [
    ("fft", Case("x8", P("x"), (48,)), "x", {}, {}),
    ("ifft", Case("x8", P("x"), (64,)), ("x",), {"norm": "ortho"}, {"norm": "ortho"}),
    ("fft", Case("x8", P("x", None), (16, 3)), "x", {"axis": 0}, {"axis": 0}),
    ("fft", Case("x8", P(None, "x"), (3, 16)), "x", {"method": "ring"}, {}),
    ("fft", Case("x8", P("x"), (40,)), "x", {"n": 24}, {"n": 24}),
    ("fft", Case("x4y2", P("x", "y"), (4, 8)), "y", {}, {}),
    ("ifft", Case("x4y2", P("x", "y"), (4, 8)), "x", {"axis": 0}, {"axis": 0}),
    ("fft", Case("x4y2", P(("y", "x")), (64,)), ("y", "x"), {}, {}),
    ("fft", Case("x4y2", P(("y", "x")), (16,)), ("y", "x"), {"method": "ring"}, {}),
    ("fftn", Case("x8", P("x"), (8, 4, 3)), "x", {}, {}),
    ("ifftn", Case("x8", P("x"), (16, 30)), "x", {"kernel": "matmul"}, {}),
    ("fftn", Case("x4y2", P("x", "y"), (8, 4, 3)), ("x", "y"), {"spec": P("x", "y")}, {}),
    ("fftn", Case("x4y2", P(None, "y", "x"), (3, 4, 8)), ("x", "y"), {"spec": P(None, "y", "x")}, {}),
    ("ifftn", Case("x4y2", P("x"), (8, 4)), "x", {"s": (16, 6), "axes": (0, 1)}, {"s": (16, 6), "axes": (0, 1)}),
    ("fftn", Case("x2a1z4", P("x", "a", "z"), (4, 3, 8)), ("x", "a", "z"), {"spec": P("x", "a", "z")}, {}),
    ("fftn", Case("x1", P("x"), (5, 6)), "x", {}, {}),
]


@pytest.mark.parametrize(("name", "case", "names", "options", "wanted"), CALLS)
def test_inside_a_shard_map(name, case, names, options, wanted):
    mesh = mesh_of(case.mesh, AXIS_TYPES[len(case.shape) % 2])
    x = random(case.shape)
    function = mapped(lambda c: getattr(spmd, name)(c, names, **options), mesh, case.spec)
    got = function(jax.device_put(x, jax.NamedSharding(mesh, case.spec)))
    check(got, oracle.transform(name, x, **wanted), x.dtype, mesh, case.spec)


@pytest.mark.parametrize("dtype", ["float32", "complex64", "int32", "bool", "float16"])
def test_dtypes(dtype):
    case = Case("x8", P("x"), (16,))
    x = random(case.shape, dtype)
    got = mapped(lambda c: spmd.fft(c, "x"), mesh_of("x8"), P("x"))(put(x, case))
    check(got, oracle.transform("fft", x.astype(complex)), np.complex64, mesh_of("x8"), P("x"))
    shifted = mapped(lambda c: spmd.fftshift(c, "x"), mesh_of("x8"), P("x"))(put(x, case))
    assert shifted.dtype == x.dtype
    np.testing.assert_array_equal(shifted, oracle.shift(x))


@pytest.mark.parametrize("axis", [0, -1])
def test_shifts(axis):
    spec = P("x", None) if axis == 0 else P(None, "x")
    x = random((16, 8))
    for name in ("fftshift", "ifftshift"):
        function = mapped(lambda c, name=name: getattr(spmd, name)(c, "x", axis=axis), mesh_of("x8"), spec)
        got = function(put(x, Case("x8", spec, x.shape)))
        np.testing.assert_array_equal(got, oracle.shift(x, axis % 2, inverse=name == "ifftshift"))


def test_it_sends_what_the_plan_says_and_nothing_else():
    x = put(random((64,)), Case("x8", P("x"), (64,)))

    def both(c):
        there = spmd.fft(c, "x", order="scrambled", method="exchange")
        return spmd.ifft(there, "x", order="scrambled", method="exchange")

    back, found = compiled(mapped(both, mesh_of("x8"), P("x")), x)
    assert found == {"all-to-all": 4}
    check(back(x), np.asarray(x), np.complex128, mesh_of("x8"), P("x"))


@pytest.mark.parametrize(
    "case", [Case("x8", P("x"), (8, 16)), Case("x4y2", P("x", "y"), (4, 8, 8))], ids=lambda case: case.mesh
)
def test_transposed_and_back(case):
    mesh = mesh_of(case.mesh)
    names = mesh.axis_names
    x = random(case.shape)
    plan = tpufft.plan("fftn", case.shape, x.dtype, mesh, spec=case.spec, order="transposed")
    there = mapped(
        lambda c: spmd.fftn(c, names, spec=case.spec, order="transposed"),
        mesh,
        case.spec,
        plan.out_layout.partition_spec,
    )
    spectrum = there(put(x, case))
    check(spectrum, oracle.transform("fftn", x), x.dtype, mesh, plan.out_layout.partition_spec)
    back = mapped(
        lambda c: spmd.ifftn(c, names, spec=case.spec, order="transposed"),
        mesh,
        plan.out_layout.partition_spec,
        case.spec,
    )
    check(back(spectrum), x, x.dtype, mesh, case.spec)


@pytest.mark.parametrize(("method", "axis_type"), [("exchange", AUTO), ("ring", EXPLICIT)])
def test_gradients_through_a_shard_map(method, axis_type):
    case = Case("x8", P("x"), (16,))
    x = random(case.shape)
    sharded = put(x, case, axis_type)
    mesh = sharded.sharding.mesh
    function = mapped(lambda c: spmd.fft(c, "x", method=method), mesh, P("x"))
    y = oracle.along(x, 0)
    want = oracle.along(4 * np.abs(y) ** 2 * y.conj(), 0)
    with context(mesh):
        grad = jax.grad(lambda v: jnp.sum(jnp.abs(function(v)) ** 4))(sharded)
    check(grad, want, x.dtype, mesh, P("x"), times=3)


def test_gradients_inside_a_shard_map():
    """A loss of all devices, made by a psum; check_vma keeps its derivative right."""
    case = Case("x4y2", P("x", "y"), (8, 4))
    x = random(case.shape)
    mesh = mesh_of("x4y2")

    def grad(c):
        def loss(u):
            y = spmd.fftn(u, ("x", "y"), spec=P("x", "y"))
            return lax.psum(jnp.sum(jnp.abs(y) ** 2), ("x", "y"))

        return jax.grad(loss)(c)

    got = mapped(grad, mesh, P("x", "y"))(put(x, case))
    check(got, 2 * x.size * x.conj(), x.dtype, mesh, P("x", "y"), times=2)


def test_jvp_scan_and_vmap_inside_a_shard_map():
    case = Case("x8", P(None, "x"), (3, 16))
    x, dx = random(case.shape), random(case.shape, seed=1)
    mesh = mesh_of("x8")

    def body(c, t):
        rows = jax.vmap(lambda line: spmd.fft(line, "x"))
        y, dy = jax.jvp(rows, (c,), (t,))
        turned = lax.scan(lambda carry, _: (spmd.fft(carry, "x", norm="ortho"), None), c, None, length=4)[0]
        return y, dy, turned

    y, dy, turned = mapped(body, mesh, (case.spec, case.spec), (case.spec,) * 3)(put(x, case), put(dx, case))
    for got, want in ((y, oracle.along(x, 1)), (dy, oracle.along(dx, 1)), (turned, x)):
        check(got, want, x.dtype, mesh, case.spec, times=2)


@pytest.mark.parametrize("axis_type", AXIS_TYPES, ids=TYPE_IDS)
def test_some_axes_manual(axis_type):
    """A shard_map over one mesh axis of two: the other stays JAX's."""
    case = Case("x4y2", P("x", "y"), (8, 4))
    x = random(case.shape)
    mesh = mesh_of("x4y2", axis_type)
    function = jax.shard_map(
        lambda c: spmd.fft(c, "x", axis=0), mesh=mesh, in_specs=P("x"), out_specs=P("x"), axis_names={"x"}
    )
    check_value(jax.jit(function)(put(x, case, axis_type)), oracle.along(x, 0))


# -- fake meshes -------------------------------------------------------------------------------------------------------


def chunks_of(x: np.ndarray, parts: int) -> np.ndarray:
    return x.reshape(parts, -1, *x.shape[1:])


@pytest.mark.parametrize(
    ("parts", "method"),
    [(1, "auto"), (2, "exchange"), (3, "ring"), (5, "exchange"), (6, "ring"), (64, "exchange"), (64, "ring")],
)
def test_any_number_of_fake_devices(parts, method):
    x = random((parts * (6 if parts < 5 else parts),))
    chunks = chunks_of(x, parts)
    got = jax.jit(jax.vmap(lambda c: spmd.fft(c, "x", method=method), axis_name="x"))(chunks)
    # The definition would be a matrix of 16 million entries for the largest.
    check_value(np.asarray(got).reshape(-1), oracle.along(x, 0) if x.size < 2000 else np.fft.fft(x), times=3)
    shifted = jax.jit(jax.vmap(lambda c: spmd.fftshift(c, "x"), axis_name="x"))(chunks)
    np.testing.assert_array_equal(np.asarray(shifted).reshape(-1), oracle.shift(x))


def test_a_thousand_fake_devices():
    parts = 1000
    x = random((parts, parts), "complex64")
    got = jax.jit(jax.vmap(lambda c: spmd.fft(c, "x", axis=0), axis_name="x"))(chunks_of(x, parts))
    check_value(np.asarray(got).reshape(x.shape), np.fft.fft(x.astype(complex), axis=0))


def test_a_fake_grid():
    x = random((8, 8))
    tiles = x.reshape(4, 2, 4, 2).transpose(0, 2, 1, 3)
    local = functools.partial(spmd.fftn, axis_name=("a", "b"), spec=P("a", "b"))
    grid = jax.vmap(jax.vmap(local, axis_name="b"), axis_name="a")
    got = np.asarray(jax.jit(grid)(tiles)).transpose(0, 2, 1, 3).reshape(8, 8)
    check_value(got, oracle.transform("fftn", x))


def test_gradients_on_a_fake_mesh():
    chunks = random((4, 8))
    line = jax.vmap(lambda c: spmd.fft(c, "x"), axis_name="x")
    grad = jax.jit(jax.grad(lambda v: jnp.sum(jnp.abs(line(v)) ** 2)))(chunks)
    check_value(np.asarray(grad), 2 * chunks.size * chunks.conj(), times=2)


# -- mistakes ----------------------------------------------------------------------------------------------------------


def test_outside_of_any_shard_map():
    with pytest.raises(LayoutError, match=r"axis_name='x' is not bound.*shard_map.*tpufft\.fft"):
        spmd.fft(np.ones(8), "x")
    with pytest.raises(LayoutError, match=r"axis_name=.*'y'.* is not bound"):
        mapped(lambda c: spmd.fft(c, "y"), mesh_of("x8"), P("x"))(jnp.ones(8))


@pytest.mark.parametrize("name", ["fft", "ifft", "fft2", "ifft2", "fftn", "ifftn", "fftshift", "ifftshift"])
def test_the_outer_functions_name_the_form_that_exists(name):
    case = Case("x4y2", P("x", "y"), (8, 4))
    with pytest.raises(LayoutError, match=r"shard_map over \('x', 'y'\).*tpufft\.spmd\.") as caught:
        mapped(getattr(tpufft, name), mesh_of("x4y2"), P("x", "y"))(put(random(case.shape), case))
    advised = str(caught.value).split("tpufft.spmd.")[1].split("(")[0]
    assert callable(getattr(spmd, advised, None)), f"tpufft.spmd.{advised} does not exist"


def test_other_mistakes_inside_a_shard_map():
    x = put(random((16,)), Case("x8", P("x"), (16,)))

    def run(function):
        return mapped(function, mesh_of("x8", AUTO), P("x"))(x)

    with pytest.raises(np.exceptions.AxisError):
        run(lambda c: spmd.fft(c, "x", axis=1))
    with pytest.raises(ValueError, match="norm='unitary'"):
        run(lambda c: spmd.fft(c, "x", norm="unitary"))
    with pytest.raises(LayoutError, match="names the mesh axis 'y'"):
        run(lambda c: spmd.fft(c, "x", spec=P("y")))
    with pytest.raises(ValueError, match="order='transposed'"):
        run(lambda c: spmd.fft(c, "x", order="transposed"))


def test_explicit_meshes_need_no_more():
    case = Case("x8", P("x"), (16,))
    x = random(case.shape)
    got = jax.shard_map(lambda c: spmd.ifft(spmd.fft(c, "x"), "x"), out_specs=P("x"))
    with jax.set_mesh(mesh_of("x8", EXPLICIT)):
        check(jax.jit(got)(put(x, case, EXPLICIT)), x, x.dtype, mesh_of("x8", EXPLICIT), P("x"))
