"""Local and global views: nothing leaves its device, nothing is copied that need not be."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import (
    AUTO,
    AXIS_TYPES,
    CASES,
    EXPLICIT,
    TYPE_IDS,
    Case,
    check,
    compiled,
    context,
    mesh_of,
    put,
    random,
    some,
)
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import tpufft
from tpufft.layout import Layout

EVEN = [name for name, case in CASES.items() if Layout.of(case.shape, "f4", mesh_of(case.mesh), case.spec).is_even]


def blocks(x: np.ndarray, parts: tuple[int, ...]) -> np.ndarray:
    """The chunks of an array in front of their own axes, in numpy."""
    shape = [n for size, count in zip(x.shape, parts, strict=True) for n in (count, size // count)]
    rank = x.ndim
    return x.reshape(shape).transpose([*range(0, 2 * rank, 2), *range(1, 2 * rank, 2)])


def layout_of(case: Case) -> Layout:
    return Layout.of(case.shape, np.complex128, mesh_of(case.mesh), case.spec)


def view_spec(case: Case) -> P:
    return P(*case.spec)


@pytest.mark.parametrize("axis_type", AXIS_TYPES, ids=TYPE_IDS)
@pytest.mark.parametrize("name", some(EVEN))
def test_a_view_and_its_inverse(name: str, axis_type: object) -> None:
    case = CASES[name]
    x = random(case.shape)
    array = put(x, case, axis_type)
    view = tpufft.local_view(array)
    check(view, blocks(x, layout_of(case).parts), x.dtype, array.sharding.mesh, view_spec(case), times=0)
    back = tpufft.global_view(view)
    check(back, x, x.dtype, array.sharding.mesh, case.spec, times=0)
    with context(array.sharding.mesh):
        jitted = jax.jit(lambda x: tpufft.local_view(x, array.sharding.mesh, spec=case.spec))
        check(jitted(array), np.asarray(view), x.dtype, array.sharding.mesh, view_spec(case), times=0)


@pytest.mark.parametrize("dtype", ["float16", "int32", "bool"])
def test_dtypes_are_kept(dtype: str) -> None:
    case = CASES["pencil"]
    x = random(case.shape, dtype)
    assert tpufft.local_view(put(x, case)).dtype == dtype
    np.testing.assert_array_equal(tpufft.local_view(put(x, case)), blocks(x, layout_of(case).parts))


@pytest.mark.parametrize("axis_type", AXIS_TYPES, ids=TYPE_IDS)
def test_the_very_buffers_where_they_may_be_taken(axis_type: object) -> None:
    array = put(random((8, 8), "float32"), CASES["whole 2-D"], axis_type)
    places = [shard.data.unsafe_buffer_pointer() for shard in array.addressable_shards]
    view = tpufft.local_view(array, overwrite_x=True)
    assert array.is_deleted()
    assert places == [shard.data.unsafe_buffer_pointer() for shard in view.addressable_shards]
    back = tpufft.global_view(view, overwrite_x=True)
    assert view.is_deleted()
    assert places == [shard.data.unsafe_buffer_pointer() for shard in back.addressable_shards]


def test_no_copy_and_no_collective_within_a_program() -> None:
    case = CASES["two on one of three"]
    mesh = mesh_of(case.mesh)

    def step(x: jax.Array) -> jax.Array:
        view = tpufft.local_view(2 * x, mesh, spec=case.spec)
        return tpufft.global_view(view + 1, mesh, spec=case.spec) * 3

    program, found = compiled(step, put(random(case.shape, "float32"), case))
    assert not found
    text = program.as_text()
    assert " copy(" not in text
    assert "transpose(" not in text
    assert program.memory_analysis().temp_size_in_bytes == 0


@pytest.mark.parametrize("axis_type", AXIS_TYPES, ids=TYPE_IDS)
def test_derivatives_and_maps(axis_type: object) -> None:
    case = CASES["whole 2-D"]
    x, weights = random(case.shape, "float64"), random((4, 2, 2, 3), "float64", seed=1)
    array = put(x, case, axis_type)
    mesh = array.sharding.mesh
    flat = weights.transpose(0, 2, 1, 3).reshape(case.shape)
    with context(mesh):
        gradient = jax.grad(lambda x: (jnp.asarray(tpufft.local_view(x) ** 3) * weights).sum())(array)
        check(gradient, 3 * x**2 * flat, x.dtype, mesh, case.spec)
        _, tangent = jax.jvp(tpufft.local_view, (array,), (array,))
        check(tangent, blocks(x, (4, 2)), x.dtype, mesh, case.spec, times=0)
        for axis in (0, 1, 2):
            batch = jnp.stack([array, 2 * array], axis=axis)
            many = jax.vmap(tpufft.local_view, in_axes=axis, out_axes=axis)(batch)
            want = np.stack([blocks(x, (4, 2)), 2 * blocks(x, (4, 2))], axis=axis)
            np.testing.assert_array_equal(many, want)
            back = jax.vmap(tpufft.global_view, in_axes=axis, out_axes=axis)(many)
            np.testing.assert_array_equal(back, batch)


def test_a_batch_that_is_split_stays_split() -> None:
    mesh = mesh_of("x4y2")
    batch = jax.device_put(random((4, 6, 3), "float32"), NamedSharding(mesh, P("x", "y")))
    view = jax.vmap(tpufft.local_view)(batch)
    check(view, np.asarray(batch).reshape(4, 2, 3, 3)[:, :, None], np.float32, mesh, P("x", "y"), times=0)


def test_from_numpy_and_with_a_spec() -> None:
    mesh, x = mesh_of("x4y2"), random((8, 6), "float32")
    view = tpufft.local_view(x, mesh, spec=P(None, "y"))
    check(view, blocks(x, (1, 2)), x.dtype, mesh, P(None, "y"), times=0)
    moved = tpufft.local_view(jax.device_put(x, NamedSharding(mesh, P("x"))), mesh, spec=P(("y", "x")))
    check(moved, blocks(x, (8, 1)), x.dtype, mesh, P(("y", "x")), times=0)
    check(tpufft.global_view(np.asarray(view), mesh, spec=P(None, "y")), x, x.dtype, mesh, P(None, "y"), times=0)
    chunked = tpufft.chunk(x, mesh, P("x"))
    check(tpufft.local_view(chunked), blocks(x, (4, 1)), x.dtype, mesh, P("x"), times=0)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda m: tpufft.local_view(tpufft.chunk(np.ones(13), m)), "axis 0 of x, of length 13.*multiple of 8"),
        (lambda m: tpufft.local_view(np.ones(8), m, spec=P("z")), "'z'"),
        (lambda m: tpufft.local_view(np.array(["a"]), m), "dtype"),
        (lambda m: tpufft.global_view(np.ones(8), m), "1 axes"),
        (lambda m: tpufft.global_view(np.ones((4, 2)), m, spec=P("x")), "counts 4 chunks.*8 devices"),
        (lambda m: jax.jit(tpufft.local_view)(np.ones(8)), "pass mesh= and spec="),
        (lambda m: jax.jit(lambda x: tpufft.local_view(x, m))(np.ones(8)), "pass mesh= and spec="),
        (lambda m: tpufft.local_view(np.ones(8), "x"), "no jax.sharding.Mesh"),
        (
            lambda m: jax.shard_map(tpufft.local_view, mesh=m, in_specs=P("x"), out_specs=P("x"))(np.ones(8)),
            "every device holds its chunk",
        ),
    ],
)
def test_bad_input(call: object, says: str) -> None:
    with pytest.raises((ValueError, TypeError), match=says):
        call(mesh_of("x8"))  # type: ignore[operator]


def test_explicit_types_tell_the_layout_under_jit() -> None:
    mesh = mesh_of("x8", EXPLICIT)
    x = jax.device_put(np.arange(16.0), NamedSharding(mesh, P("x")))
    assert mesh_of("x8", AUTO) != mesh
    with jax.set_mesh(mesh):
        view = jax.jit(tpufft.local_view)(x)
    check(view, np.arange(16.0).reshape(8, 2), np.float64, mesh, P("x"), times=0)
