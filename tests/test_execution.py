"""The linear primitive: who decides where it runs, what it overwrites, and that its programs are made once."""

from __future__ import annotations

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AbstractMesh, AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import tpufft
from tpufft import Layout
from tpufft.execution import Bound, call, compiled_function, mesh_platform, transform_p, visible_layout
from tpufft.planning import Request, transform_problem

AUTO, EXPLICIT = AxisType.Auto, AxisType.Explicit


def mesh_of(axis_type: AxisType = AUTO, **axes: int) -> Mesh:
    count = int(np.prod(list(axes.values())))
    devices = np.array(jax.devices()[:count]).reshape(tuple(axes.values()))
    return Mesh(devices, tuple(axes), axis_types=(axis_type,) * len(axes))


def numbers(*shape: int, dtype: Any = np.complex64) -> np.ndarray:
    generator = np.random.default_rng(0)
    return (generator.standard_normal(shape) + 1j * generator.standard_normal(shape)).astype(dtype)


def placed(x: np.ndarray, mesh: Mesh, spec: P) -> jax.Array:
    return jax.device_put(x, NamedSharding(mesh, spec))


def pointers(x: jax.Array) -> list[int]:
    return [shard.data.unsafe_buffer_pointer() for shard in x.addressable_shards]


def aligned(x: np.ndarray) -> np.ndarray:
    """A copy whose memory JAX's CPU devices could use without copying."""
    raw = np.empty(x.nbytes + 64, np.uint8)
    start = -raw.ctypes.data % 64
    copy = raw[start : start + x.nbytes].view(x.dtype).reshape(x.shape)
    copy[...] = x
    return copy


# -- donation ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["fftn", "ifftn"])
def test_overwriting_takes_the_arguments_buffers(name: str) -> None:
    original = numbers(64, 64)
    # What JAX itself computed: a buffer that it borrows from NumPy cannot be given away.
    x = placed(original, mesh_of(x=8), P("x")) * 1
    before = pointers(x)
    y = getattr(tpufft, name)(x, overwrite_x=True)
    assert x.is_deleted()
    assert pointers(y) == before
    np.testing.assert_allclose(y, getattr(np.fft, name)(original), atol=1e-3)


def test_without_it_the_argument_lives() -> None:
    original = numbers(16, 16)
    x = placed(original, mesh_of(x=8), P("x"))
    tpufft.fftn(x)
    tpufft.plan("fftn", (16, 16), np.complex64, mesh_of(x=8))(x)
    np.testing.assert_array_equal(x, original)


def test_a_plan_that_overwrites() -> None:
    plan = tpufft.plan("fftn", (32, 32), np.complex64, mesh_of(x=8), overwrite_x=True)
    x = placed(numbers(32, 32), mesh_of(x=8), P("x"))
    plan(x)
    assert x.is_deleted()


def test_where_nothing_can_alias_nothing_is_said() -> None:
    x = placed(numbers(16, 16), mesh_of(x=8), P("x"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y = tpufft.fft(x, n=32, overwrite_x=True)
    np.testing.assert_allclose(y, np.fft.fft(numbers(16, 16), n=32), atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.int16, np.complex64])
@pytest.mark.parametrize("mesh", [mesh_of(x=1), mesh_of(x=8)], ids=["1", "8"])
@pytest.mark.parametrize("overwrite_x", [False, True])
def test_numpy_arrays_are_never_overwritten(mesh: Mesh, dtype: type, overwrite_x: bool) -> None:
    original = (numbers(64, 64) * 9).real.astype(dtype)
    x = aligned(original)
    for spec in (P("x"), P(None, "x"), P()):
        tpufft.fftn(x, mesh, spec=spec, overwrite_x=overwrite_x)
        tpufft.fftn(x, mesh, spec=spec, axes=(1,), overwrite_x=overwrite_x)
        np.testing.assert_array_equal(x, original)
    plan = tpufft.plan("fftn", x.shape, np.complex64, mesh, overwrite_x=overwrite_x)
    np.testing.assert_allclose(plan(x), np.fft.fftn(original), atol=2e-2)
    np.testing.assert_array_equal(x, original)


def test_a_converted_argument_survives_where_it_is_not_given_away() -> None:
    original = numbers(16, 16).real
    x = placed(original, mesh_of(x=8), P("x"))
    y = tpufft.fftn(x)
    np.testing.assert_array_equal(x, original)
    np.testing.assert_allclose(y, np.fft.fftn(original), atol=1e-4)


@pytest.mark.parametrize("spec", [P("x"), P(None, "x"), P()])
def test_an_array_that_moves_first_is_not_harmed(spec: P) -> None:
    original = numbers(16, 16)
    for x in (jnp.asarray(original), placed(original, mesh_of(x=8), P("x")), placed(original, mesh_of(x=8), P())):
        y = tpufft.fftn(x, mesh_of(x=8), spec=spec)
        assert y.sharding.is_equivalent_to(NamedSharding(mesh_of(x=8), spec), 2)
        np.testing.assert_array_equal(x, original)
        np.testing.assert_allclose(y, np.fft.fftn(original), atol=1e-4)


def test_overwriting_is_ignored_under_tracing() -> None:
    mesh = mesh_of(x=8)
    x = placed(numbers(16, 16), mesh, P("x"))
    y = jax.jit(lambda x: tpufft.fftn(x, mesh, spec=P("x"), overwrite_x=True) + x)(x)
    assert not x.is_deleted()
    np.testing.assert_allclose(y, np.fft.fftn(numbers(16, 16)) + numbers(16, 16), atol=1e-4)


# -- bound operators ---------------------------------------------------------------------------------------------


def request(spec: P | None = None, **options: Any) -> Request:
    problem = transform_problem("fftn", (16, 24), np.dtype(np.complex64), sizes=None, axes=None, **options)
    return Request(problem, mesh_of(x=8), Layout.of((16, 24), np.complex64, mesh_of(x=8), spec).spec)


def test_a_bound_operator_and_its_transpose() -> None:
    bound = request(order="transposed").bound(None, tracing=False)
    back = bound.transposed()
    assert (back.in_layout, back.out_layout) == (bound.out_layout, bound.in_layout)
    assert back.transposed() == bound
    assert hash(back.transposed()) == hash(bound)
    assert back.program.in_layout.spec == bound.program.out_layout.spec
    assert request().transposed().transposed() == request()


def test_programs_are_made_once() -> None:
    first, same = (request(spec).bound(None, tracing=False) for spec in (P("x"), P("x", None)))
    assert compiled_function(first) is compiled_function(same)
    assert compiled_function(first, donate=True) is compiled_function(same, donate=True)
    assert compiled_function(first) is not compiled_function(first, donate=True)
    other = request(norm="ortho").bound(None, tracing=False)
    assert isinstance(other, Bound)
    assert compiled_function(first) is not compiled_function(other)


def test_an_operator_called_directly() -> None:
    x = numbers(16, 24)
    y = call(request(), placed(x, mesh_of(x=8), P("x")))
    np.testing.assert_allclose(y, np.fft.fftn(x), atol=1e-4)


# -- what an array shows -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis_type", [AUTO, EXPLICIT])
def test_a_concrete_array_shows_its_layout(axis_type: AxisType) -> None:
    mesh = mesh_of(axis_type, one=1, x=8)
    shown = visible_layout(placed(numbers(16, 24), mesh, P("x", "one")))
    assert shown == Layout.of((16, 24), np.complex64, mesh, P("x", "one"))


def test_an_array_of_one_device_shows_nothing() -> None:
    assert visible_layout(jnp.ones(8)) is None


def test_a_tracer_shows_what_its_type_carries() -> None:
    seen: dict[str, Any] = {}

    def look(name: str, x: jax.Array) -> jax.Array:
        seen[name] = visible_layout(x)
        return x

    auto, explicit = mesh_of(AUTO, x=8), mesh_of(EXPLICIT, x=8)
    jax.jit(lambda x: look("auto", x))(placed(numbers(16), auto, P("x")))
    jax.jit(lambda x: look("explicit", x))(placed(numbers(16), explicit, P("x")))
    jax.jit(lambda x: look("unsharded", x))(jnp.ones(8))
    assert seen["auto"] is None
    assert seen["unsharded"] is None
    assert seen["explicit"].spec == (("x",),)


def test_platforms_of_meshes() -> None:
    assert mesh_platform(mesh_of(x=8)) == "cpu"
    assert mesh_platform(AbstractMesh((8,), ("x",))) == "cpu"
    chip = jax.sharding.AbstractDevice(device_kind="TPU v4", num_cores=None, platform="tpu")
    assert mesh_platform(AbstractMesh((8,), ("x",), abstract_device=chip)) == "tpu"


# -- the primitive -----------------------------------------------------------------------------------------------


def test_a_call_is_one_equation() -> None:
    mesh = mesh_of(x=8)
    jaxpr = jax.make_jaxpr(lambda x: tpufft.fftn(x, mesh, spec=P("x")))(numbers(16, 16))
    assert [equation.primitive for equation in jaxpr.eqns if equation.primitive is transform_p] == [transform_p]
    assert jaxpr.out_avals[0].shape == (16, 16)


def test_shapes_and_types_without_any_device_working() -> None:
    x = jax.ShapeDtypeStruct((2**20, 2**14), np.complex64)
    y = jax.eval_shape(lambda x: tpufft.fft(x, mesh_of(x=8), spec=P("x"), n=2**15), x)
    assert (y.shape, y.dtype) == ((2**20, 2**15), np.complex64)


def test_it_is_linear_to_jax() -> None:
    mesh = mesh_of(x=8)
    x = numbers(16, dtype=np.complex128)

    def function(x: jax.Array) -> jax.Array:
        return tpufft.fft(x, mesh, spec=P("x"))

    transpose = jax.linear_transpose(function, jax.ShapeDtypeStruct(x.shape, x.dtype))
    np.testing.assert_allclose(transpose(placed(x, mesh, P("x")))[0], np.fft.fft(x), atol=1e-12)
    _, tangent = jax.jvp(function, (placed(x, mesh, P("x")),), (placed(1j * x, mesh, P("x")),))
    np.testing.assert_allclose(tangent, 1j * np.fft.fft(x), atol=1e-12)


@pytest.mark.parametrize("axis_type", [AUTO, EXPLICIT])
@pytest.mark.parametrize("cotangent", [np.asarray, jnp.asarray], ids=["numpy", "one device"])
def test_a_cotangent_without_sharding_gets_the_arguments(cotangent: Any, axis_type: AxisType) -> None:
    mesh = mesh_of(axis_type, x=8)
    original = numbers(16, 24, dtype=np.complex128)
    with jax.set_mesh(mesh):
        x = placed(original, mesh, P(None, "x"))
        y, pull = jax.vjp(lambda x: tpufft.fftn(x, order="transposed", spec=P(None, "x")), x)
        given = numbers(16, 24, dtype=np.complex128)
        # An Explicit mesh carries the chunking in the cotangent's type, so JAX refuses one without it.
        pulled = pull(cotangent(given) if axis_type is AUTO else placed(given, mesh, y.sharding.spec))[0]
    assert pulled.sharding.is_equivalent_to(x.sharding, 2)
    np.testing.assert_allclose(pulled, np.fft.fftn(given), atol=1e-11)


def test_the_gradient_of_a_sum_keeps_the_chunking() -> None:
    x = placed(numbers(16, 24).real, mesh_of(x=8), P(None, "x"))
    gradient = jax.grad(lambda x: (jnp.abs(tpufft.fftn(x)) ** 2).sum())(x)
    assert gradient.sharding.is_equivalent_to(x.sharding, 2)
    np.testing.assert_allclose(gradient, 2 * 16 * 24 * np.asarray(x), rtol=1e-4, atol=1e-2)


def test_a_symbolic_zero_costs_nothing() -> None:
    x = placed(numbers(16), mesh_of(x=8), P("x"))
    gradient = jax.grad(lambda x: jnp.abs(jax.lax.stop_gradient(tpufft.fft(x))).sum() + x.real.sum())(x)
    np.testing.assert_array_equal(gradient, np.ones(16, np.complex64))


# -- meshes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis_type", [AUTO, EXPLICIT])
@pytest.mark.parametrize("spec", [P("x", "one"), P("one", "x"), P(("one", "x")), P(("x", "one")), P(None, "one")])
def test_mesh_axes_of_size_one_stay_in_the_spec(spec: P, axis_type: AxisType) -> None:
    mesh = mesh_of(axis_type, one=1, x=8)
    original = numbers(16, 24)
    x = placed(original, mesh, spec)
    for y in (tpufft.fftn(x), jax.jit(lambda x: tpufft.fftn(x, mesh, spec=spec))(x)):
        assert y.sharding.is_equivalent_to(x.sharding, 2)
        np.testing.assert_allclose(y, np.fft.fftn(original), atol=1e-3)
    assert tpufft.fftn(x).sharding.spec == Layout.of((16, 24), np.complex64, mesh, spec).partition_spec


def test_the_type_of_the_result_on_an_explicit_mesh() -> None:
    mesh = mesh_of(EXPLICIT, x=8)
    types = {}

    @jax.jit
    def function(x: jax.Array) -> jax.Array:
        y = tpufft.fftn(x, order="transposed")
        types["out"] = jax.typeof(y).sharding.spec
        return y

    function(placed(numbers(16, 24), mesh, P("x")))
    assert types["out"] == P(None, "x")


@pytest.mark.parametrize("reorder", [lambda d: d[::-1], lambda d: d[[3, 1, 4, 0, 5, 2, 7, 6]], lambda d: d[2:6]])
def test_any_devices_in_any_order(reorder: Any) -> None:
    devices = reorder(np.array(jax.devices()))
    mesh = Mesh(devices, ("x",))
    original = numbers(16, 24)
    y = tpufft.fftn(placed(original, mesh, P("x")))
    assert set(y.sharding.device_set) == set(devices)
    np.testing.assert_allclose(y, np.fft.fftn(original), atol=1e-3)
    line = tpufft.fft(placed(original.ravel(), mesh, P("x")), method="ring")
    np.testing.assert_allclose(line, np.fft.fft(original.ravel()), atol=1e-3)


@pytest.mark.parametrize("axis_type", [AUTO, EXPLICIT])
@pytest.mark.parametrize("make", [np.asarray, jnp.asarray], ids=["numpy", "one device"])
def test_jit_of_an_array_that_is_not_on_the_mesh(make: Any, axis_type: AxisType) -> None:
    mesh = mesh_of(axis_type, x=8)
    x = make(numbers(16, 16))
    y = jax.jit(lambda x: tpufft.fftn(x, mesh, spec=P("x")))(x)
    assert y.sharding.is_equivalent_to(NamedSharding(mesh, P("x")), 2)
    np.testing.assert_allclose(y, np.fft.fftn(numbers(16, 16)), atol=1e-4)


@pytest.mark.parametrize("axis_type", [AUTO, EXPLICIT])
def test_jit_of_an_array_that_is_made_inside(axis_type: AxisType) -> None:
    mesh = mesh_of(axis_type, x=8)
    y = jax.jit(lambda: tpufft.fft(jnp.ones(16, jnp.complex64), mesh, spec=P("x")))()
    np.testing.assert_allclose(y, np.fft.fft(np.ones(16)), atol=1e-5)


def test_a_call_that_fails_leaves_the_next_one_alone() -> None:
    mesh = mesh_of(x=8)
    x = placed(numbers(16, 16), mesh, P("x"))
    x.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        tpufft.fftn(x)
    np.testing.assert_allclose(tpufft.fftn(numbers(16, 16), mesh), np.fft.fftn(numbers(16, 16)), atol=1e-4)
