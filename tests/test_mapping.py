"""Functions of one device's chunk on all devices, and arrays as lists of chunks, held against numpy."""

from __future__ import annotations

import functools
import inspect
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import (
    AXIS_TYPES,
    EXPLICIT,
    TYPE_IDS,
    check_chunks,
    collectives,
    context,
    counted_calls,
    counted_work,
    free_port,
    mesh_of,
    poisoned,
    random,
)
from jax import lax
from jax.sharding import Mesh, NamedSharding, SingleDeviceSharding
from jax.sharding import PartitionSpec as P
from numpy.exceptions import AxisError

import tpufft
from tpufft import ChunkedArray, LayoutError, RowChunked, chunk, comm
from tpufft.mapping import num_shards, shard, shards, smap, unshard

ALL = {"x8": P("x"), "x4y2": P(("x", "y")), "x2a1z4": P(("x", "a", "z"))}
MESHES = pytest.mark.parametrize("name", ALL)
TYPES = pytest.mark.parametrize("axis_type", AXIS_TYPES, ids=TYPE_IDS)


def numbers(*shape: int, dtype: Any = np.float64) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=dtype).reshape(shape)


def over(mesh: Mesh, spec: P, x: np.ndarray) -> jax.Array:
    return jax.device_put(x, NamedSharding(mesh, spec))


def pointers(parts: Any) -> list[int]:
    return [part.unsafe_buffer_pointer() for part in parts]


def held(x: jax.Array, mesh: Mesh) -> list[int]:
    """The buffers of an array in the order of a mesh's devices."""
    on = {part.device: part.data.unsafe_buffer_pointer() for part in x.addressable_shards}
    return [on[device] for device in mesh.devices.flat]


def by_hand(fn: Callable[..., Any], count: int, *args: Any, axes: tuple[int | None, ...]) -> list[Any]:
    """What every device computes: the function of its parts of the arguments, split by numpy."""
    parts = [
        [arg] * count if axis is None else np.split(arg, count, axis) for arg, axis in zip(args, axes, strict=True)
    ]
    return [fn(*each) for each in zip(*parts, strict=True)]


def backwards() -> Mesh:
    return Mesh(np.array(jax.devices()[::-1]), ("x",))


# -- how many, and split ---------------------------------------------------------------------------------------------


def test_num_shards() -> None:
    assert num_shards() == 8
    assert num_shards(mesh_of("x4y2")) == 8
    assert num_shards(mesh_of("x1")) == 1
    with jax.set_mesh(mesh_of("x1")):
        assert num_shards() == 1
    with pytest.raises(TypeError, match=r"mesh=8 is no jax.sharding.Mesh"):
        num_shards(8)  # type: ignore[arg-type]


@pytest.mark.each_value
@TYPES
@MESHES
@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("dtype", ["complex128", "float32", "int32", "bool"])
def test_shard(name: str, axis_type: Any, axis: int, dtype: str) -> None:
    mesh, x = mesh_of(name, axis_type), random((8, 3, 16), dtype)
    got = shard(x, mesh, axis)
    check_chunks(got, mesh, P(*(None,) * (axis % 3), *ALL[name]))
    np.testing.assert_array_equal(np.asarray(got), x)


@TYPES
def test_shard_takes_trees_and_any_length(axis_type: Any) -> None:
    mesh = mesh_of("x4y2", axis_type)
    got = shard({"even": numbers(16), "uneven": (numbers(13, 2), None)}, mesh)
    check_chunks(got["even"], mesh, P(("x", "y")))
    uneven, nothing = got["uneven"]
    assert isinstance(uneven, ChunkedArray)
    assert uneven.layout.parts == (8, 1)
    np.testing.assert_array_equal(uneven.to_numpy(), numbers(13, 2))
    assert nothing is None
    # and what is chunked already is taken
    check_chunks(shard(chunk(numbers(4, 16), mesh), mesh, 1), mesh, P(None, ("x", "y")))
    np.testing.assert_array_equal(shard(uneven, mesh).to_numpy(), numbers(13, 2))


def test_shard_finds_the_mesh() -> None:
    mesh = mesh_of("x4y2")
    check_chunks(shard(numbers(16)), Mesh(np.array(jax.devices()), ("x",)), P("x"))
    check_chunks(shard(over(mesh, P("y"), numbers(16, 2))), mesh, P(("x", "y")))
    with jax.set_mesh(mesh_of("x1")):
        assert shard(numbers(3)).sharding.device_set == {jax.devices()[0]}


@TYPES
def test_shard_under_jit_and_its_derivative(axis_type: Any) -> None:
    mesh, x = mesh_of("x8", axis_type), numbers(16)
    check_chunks(jax.jit(lambda x: shard(x, mesh))(x), mesh, P("x"))
    key = jax.jit(lambda keys: shard(keys, mesh))(jax.random.split(jax.random.key(0), 8))
    assert key.sharding.is_equivalent_to(NamedSharding(mesh, P("x")), 1)
    with context(mesh):
        got = jax.grad(lambda x: (shard(x, mesh) ** 2).sum())(jax.device_put(x, NamedSharding(mesh, P())))
    np.testing.assert_allclose(got, 2 * x)


def test_shard_takes_random_keys() -> None:
    mesh, keys = mesh_of("x8"), jax.random.split(jax.random.key(1), 16)
    got = shard(keys, mesh)
    assert [part.shape for part in shards(got)] == [(2,)] * 8
    np.testing.assert_array_equal(jax.random.key_data(got), jax.random.key_data(keys))
    with pytest.raises(LayoutError, match="of random keys, has length 9 along axis 0, which does not divide over 8"):
        shard(keys[:9], mesh)


def test_bad_shard() -> None:
    mesh = mesh_of("x8")
    with pytest.raises(AxisError, match=r"x has 1 axis; axis 1 is not one of them"):
        shard(numbers(8), mesh, 1)
    with pytest.raises(TypeError, match=r"x: axis=0.5 is no integer"):
        shard(numbers(8), mesh, 0.5)  # type: ignore[arg-type]
    with pytest.raises(LayoutError, match=r"x\['a'\] is a scalar, which has no axis to split"):
        shard({"a": np.float64(3)}, mesh)
    with pytest.raises(TypeError, match=r"x\[0\]=1.0 is no array of NumPy or JAX; make one with np.asarray"):
        shard([1.0, 2.0], mesh)
    with pytest.raises(TypeError, match=r"x has the dtype <U1"):
        shard(np.array(["a"] * 8), mesh)
    with pytest.raises(TypeError, match=r"mesh='x' is no jax.sharding.Mesh"):
        shard(numbers(8), "x")  # type: ignore[arg-type]
    with pytest.raises(LayoutError, match=r"pass mesh= or use jax.set_mesh"):
        jax.jit(shard)(numbers(8))
    with pytest.raises(LayoutError, match=r"contradicts the array"):
        shard(over(mesh, P("x"), numbers(8)), mesh_of("x4y2"))
    with pytest.raises(LayoutError, match=r"tpufft.shard was called in a shard_map over \('x',\)"):
        smap(lambda x: shard(x, mesh), mesh, shard=[0])(numbers(8))


# -- lists of what each device has -----------------------------------------------------------------------------------


@TYPES
@MESHES
def test_shards_are_the_buffers_in_the_mesh_s_order(name: str, axis_type: Any) -> None:
    mesh, x = mesh_of(name, axis_type), numbers(16, 3)
    y = shard(x, mesh)
    parts = shards(y)
    assert pointers(parts) == held(y, mesh)
    assert [part.devices() for part in parts] == [{device} for device in mesh.devices.flat]
    for part, want in zip(parts, np.split(x, 8), strict=True):
        np.testing.assert_array_equal(part, want)


def test_shards_follow_the_mesh_not_the_device_numbers() -> None:
    parts = shards(shard(numbers(8), backwards()))
    assert [float(part[0]) for part in parts] == list(range(8))
    assert [next(iter(part.devices())).id for part in parts] == list(range(7, -1, -1))


def test_shards_of_every_other_chunking() -> None:
    mesh, x = mesh_of("x4y2"), numbers(8, 6)
    both = shards(over(mesh, P("x", "y"), x))
    for part, want in zip(both, [half for row in np.split(x, 4) for half in np.split(row, 2, 1)], strict=True):
        np.testing.assert_array_equal(part, want)
    for part, want in zip(shards(over(mesh, P("y"), x)), np.split(x, 2) * 4, strict=True):
        np.testing.assert_array_equal(part, want)
    for part in shards(over(mesh, P(), x)):
        np.testing.assert_array_equal(part, x)
    (alone,) = shards(jnp.ones(3))
    assert alone.shape == (3,)


def test_shards_of_a_chunked_array_have_no_padding() -> None:
    mesh, x = mesh_of("x8"), numbers(13, 2)
    parts = shards(poisoned(chunk(x, mesh)))
    assert [len(part) for part in parts] == [2, 2, 2, 2, 2, 2, 1, 0]
    np.testing.assert_array_equal(np.concatenate(parts), x)
    even = chunk(numbers(16), mesh)
    assert pointers(shards(even)) == held(even.data, mesh)
    grid = poisoned(chunk(numbers(3, 3), mesh_of("x4y2"), P("x", "y")))
    assert [part.shape for part in shards(grid)] == [(1, 2), (1, 1)] * 3 + [(0, 2), (0, 1)]


def test_shards_of_trees() -> None:
    mesh = mesh_of("x8")
    parts = shards({"a": shard(numbers(8), mesh), "b": chunk(numbers(9), mesh)})
    assert len(parts) == 8
    assert [part["a"].shape + part["b"].shape for part in parts[3:6]] == [(1, 2), (1, 1), (1, 0)]


def test_bad_shards() -> None:
    mesh, x = mesh_of("x8"), numbers(8)
    with pytest.raises(TypeError, match=r"x is ndarray, which is on no device; use tpufft.shard first"):
        shards(x)
    with pytest.raises(TypeError, match=r"x is traced, so that it is on no device"):
        jax.jit(shards)(x)
    with pytest.raises(TypeError, match=r"x is traced"):
        jax.jit(shards)(chunk(x, mesh))
    with pytest.raises(TypeError, match=r"x=None has no array"):
        shards(None)
    with pytest.raises(LayoutError, match=r"x\['b'\] lives on .* x\['a'\] on .* or in another order"):
        shards({"a": shard(x, mesh), "b": shard(x, backwards())})


# -- and back --------------------------------------------------------------------------------------------------------


@pytest.mark.each_value
@TYPES
@MESHES
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_unshard_copies_nothing(name: str, axis_type: Any, axis: int) -> None:
    mesh, x = mesh_of(name, axis_type), numbers(16, 8)
    y = shard(x, mesh, axis)
    again = unshard(shards(y), mesh, axis)
    check_chunks(again, mesh, y.sharding.spec)
    assert held(again, mesh) == held(y, mesh)
    np.testing.assert_array_equal(again, x)


def test_unshard_finds_the_devices() -> None:
    parts = shards(shard(numbers(16), backwards()))
    check_chunks(unshard(parts), backwards(), P("x"))
    three = unshard(parts[2:5])
    assert list(three.sharding.mesh.devices.flat) == [jax.devices()[number] for number in (5, 4, 3)]
    assert three.sharding.mesh.axis_names == ("x",)
    np.testing.assert_array_equal(three, numbers(16)[4:10])
    mesh = mesh_of("x4y2")
    with jax.set_mesh(mesh):
        check_chunks(unshard(shards(shard(numbers(16), mesh))), mesh, P(("x", "y")))


def test_unshard_moves_what_is_nowhere_in_particular() -> None:
    for parts in ([numbers(2) + number for number in range(8)], [jnp.arange(2.0) + number for number in range(8)]):
        got = unshard(parts)
        check_chunks(got, Mesh(np.array(jax.devices()), ("x",)), P("x"))
        np.testing.assert_array_equal(got, np.concatenate(parts))
    one = mesh_of("x1")
    check_chunks(unshard([numbers(3)], one), one, P("x"))
    mixed = [numbers(2), *shards(shard(numbers(16), mesh_of("x8")))[1:]]
    np.testing.assert_array_equal(unshard(mixed), numbers(16))


def test_unshard_takes_what_shards_gives() -> None:
    mesh = mesh_of("x8")
    tree = {"a": shard(numbers(8, 2), mesh), "b": (poisoned(chunk(numbers(13), mesh)), None)}
    again = unshard(shards(tree), mesh)
    np.testing.assert_array_equal(again["a"], numbers(8, 2))
    uneven, nothing = again["b"]
    assert isinstance(uneven, ChunkedArray)
    assert nothing is None
    np.testing.assert_array_equal(uneven.to_numpy(), numbers(13))
    keys = shard(jax.random.split(jax.random.key(2), 8), mesh)
    np.testing.assert_array_equal(jax.random.key_data(unshard(shards(keys))), jax.random.key_data(keys))


def test_bad_unshard() -> None:
    mesh = mesh_of("x8")
    parts = shards(shard(numbers(16), mesh))
    with pytest.raises(LayoutError, match=r"shards has 7 arrays; the mesh has 8 devices: right is one array for each"):
        unshard(parts[:7], mesh)
    with pytest.raises(
        LayoutError, match=r"shards\[0\] is on device \[7\]; right is device \[0\], number 0 of the mesh"
    ):
        unshard(parts[::-1], mesh)
    with pytest.raises(LayoutError, match=r"entries \[0, 2\] of shards are all on device \[0\]; right is one on each"):
        unshard([parts[0], parts[1], parts[0]])
    with pytest.raises(
        LayoutError, match=r"shards\[0\] is on devices \[0, 1, 2, 3, 4, 5, 6, 7\]; right is device \[0\]"
    ):
        unshard([shard(numbers(16), mesh)] * 8, mesh)
    with pytest.raises(LayoutError, match=r"have the lengths \[2, 2, 2, 2, 2, 2, 2, 3\] along axis 0"):
        unshard([numbers(2)] * 7 + [numbers(3)])
    with pytest.raises(LayoutError, match=r"must have the same number of axes"):
        unshard([numbers(2)] * 7 + [numbers(2, 1)])
    with pytest.raises(TypeError, match=r"dtypes \['float64', 'int64'\]; all must have the same"):
        unshard([numbers(2)] * 7 + [np.arange(2)])
    with pytest.raises(TypeError, match=r"shards\[7\] has the structure .*'b'.*, shards\[0\] has .*'a'"):
        unshard([{"a": numbers(2)}] * 7 + [{"b": numbers(2)}])
    with pytest.raises(LayoutError, match=r"shards\[0\] is a scalar, which has no axis to join along; give it one: x"):
        unshard([np.float64(1)] * 8)
    with pytest.raises(TypeError, match=r"shards\[0\]\[1\]=2.0 is no array of NumPy or JAX"):
        unshard([(numbers(2), 2.0)] * 8)
    with pytest.raises(TypeError, match=r"shards\[0\] has the dtype object"):
        unshard([np.array([None])] * 8)
    with pytest.raises(AxisError, match=r"shards\[0\] has 1 axis; axis 1 is not one of them"):
        unshard([numbers(2)] * 8, axis=1)
    with pytest.raises(TypeError, match=r"shards is one array of shape \(16,\): give a list with one array"):
        unshard(numbers(16))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"shards=\[\]: give a list"):
        unshard([])
    with pytest.raises(TypeError, match=r"mesh=3 is no jax.sharding.Mesh"):
        unshard(parts, 3)  # type: ignore[arg-type]
    with pytest.raises(LayoutError, match="names no devices"):
        unshard(parts, mesh.abstract_mesh)  # type: ignore[arg-type]
    with pytest.raises(
        TypeError, match=r"shards\[0\] is traced, so that it is on no device; call tpufft.unshard outside"
    ):
        jax.jit(unshard)([numbers(2)] * 8)
    with pytest.raises(TypeError, match="joined under jit"):
        jax.jit(lambda: unshard([numbers(2)] * 8))()
    with pytest.raises(LayoutError, match=r"tpufft.unshard was called in a shard_map"):
        smap(lambda x: unshard([x] * 8), mesh, shard=[0])(numbers(8))


# -- smap: arguments -------------------------------------------------------------------------------------------------


@TYPES
@MESHES
def test_smap_is_the_function_of_every_device_s_part(name: str, axis_type: Any) -> None:
    mesh, x, y, w = mesh_of(name, axis_type), numbers(16, 3), numbers(2, 8), numbers(3) + 1

    def function(x: Any, y: Any, w: Any) -> Any:
        return {"rows": x * w[None], "columns": y.sum(axis=1) + w[0], "total": x.sum() + w.sum()}

    mapped = smap(
        function, mesh, shard={0: 0, "y": 1}, replicate=["w"], out_axis={"rows": 0, "columns": -1, "total": 0}
    )
    want = by_hand(function, 8, x, y, w, axes=(0, 1, None))
    for got in (mapped(x, y, w), mapped(shard(x, mesh), w=over(mesh, P(), w), y=shard(y, mesh, 1))):
        for key in ("rows", "columns", "total"):
            check_chunks(got[key], mesh, ALL[name])
            np.testing.assert_allclose(got[key], np.concatenate([np.atleast_1d(each[key]) for each in want]))


def arguments(first: Any, second: Any = None, *rest: Any, third: Any = 3.0, mode: str = "add", **more: Any) -> Any:
    assert mode == "add"
    return tuple(each if each is None else each + 0 for each in (first, second, *rest, third, *more.values()))


@pytest.mark.parametrize(
    ("split", "call", "shapes"),
    [
        ([0], ((0,), {}), [(1,), None, ()]),
        (["first", 1], ((0, 0), {}), [(1,), (1,), ()]),
        ([0, "second"], ((), {"second": 0, "first": 0}), [(1,), (1,), ()]),
        ({0: 0, 1: -1}, ((0,), {"second": 0}), [(1,), (1,), ()]),
        ([0, 3], ((0, 0, 0, 0), {"third": 0}), [(1,), (8,), (8,), (1,), (8,)]),
        (["third", "other"], ((0,), {"third": 0, "other": 0, "another": 0}), [(8,), None, (1,), (1,), (8,)]),
        ((), ((0,), {}), [(8,), None, ()]),
    ],
)
def test_positions_and_names_are_one(split: Any, call: Any, shapes: list[Any]) -> None:
    args, kwargs = [numbers(8) for _ in call[0]], {name: numbers(8) for name in call[1]}
    seen = []

    def watched(*args: Any, **kwargs: Any) -> Any:
        out = arguments(*args, **kwargs)
        seen.append([None if each is None else np.shape(each) for each in out])
        return jnp.zeros(1)

    watched.__signature__ = inspect.signature(arguments)  # type: ignore[attr-defined]
    smap(watched, mesh_of("x8"), shard=split)(*args, **kwargs)
    assert seen[-1] == shapes


def test_defaults_that_are_split_arrive_in_parts() -> None:
    whole = numbers(16)

    def function(x: Any, w: Any = whole, mode: str = "add") -> Any:
        return x + w if mode == "add" else None

    mapped = smap(function, mesh_of("x8"), shard=["x", "w"])
    np.testing.assert_array_equal(mapped(numbers(16)), 2 * numbers(16))
    assert mapped.__name__ == "function"
    assert str(inspect.signature(mapped)) == str(inspect.signature(function))


def test_arguments_are_trees_with_none_in_them() -> None:
    def function(state: Any, bias: Any) -> Any:
        assert state["b"][1] is None
        assert bias is None
        return state["a"] + state["b"][0][:, 0]

    x = numbers(8, 2)
    got = smap(function, mesh_of("x8"), shard={"state": 0, "bias": 0})({"a": numbers(8), "b": (x, None)}, None)
    np.testing.assert_array_equal(got, numbers(8) + x[:, 0])


def test_numbers_become_arrays_and_keep_no_type() -> None:
    x = numbers(8, dtype=np.float32)
    mapped = smap(lambda x, scale, flag: jnp.where(flag, x * scale, x), mesh_of("x8"), shard=[0])
    got = mapped(x, 2.0, np.bool_(True))
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, 2 * x)
    np.testing.assert_array_equal(mapped(x, 3, np.bool_(False)), x)


def test_random_keys_are_copied_or_split() -> None:
    mesh, key, x = mesh_of("x4y2"), jax.random.key(3), numbers(8, 2)
    got = smap(lambda key, x: x + jax.random.normal(key, x.shape), mesh, shard=["x"])(key, x)
    np.testing.assert_allclose(got, x + np.tile(jax.random.normal(key, (1, 2)), (8, 1)))
    keys = jax.random.split(key, 8)
    split = smap(lambda keys: jax.random.normal(keys[0], (2,))[None], mesh, shard=[0])(keys)
    np.testing.assert_allclose(split, [jax.random.normal(each, (2,)) for each in keys])


def test_no_argument_at_all() -> None:
    np.testing.assert_array_equal(smap(comm.rank, mesh_of("x4y2"))(), np.arange(8))


def test_the_mesh_is_found() -> None:
    identity, grid, x = smap(lambda x: x, shard=[0]), mesh_of("x4y2"), numbers(16)
    check_chunks(identity(x), Mesh(np.array(jax.devices()), ("x",)), P("x"))
    check_chunks(identity(over(grid, P(), x)), grid, P(("x", "y")))
    check_chunks(identity(chunk(x, grid)), grid, P(("x", "y")))
    check_chunks(identity(unshard(shards(shard(x, backwards())))), backwards(), P("x"))
    explicit = mesh_of("x4y2", EXPLICIT)
    for mesh in (grid, explicit):
        with jax.set_mesh(mesh):
            check_chunks(identity(x), mesh, P(("x", "y")))
            check_chunks(jax.jit(identity)(x), mesh, P(("x", "y")))
    with jax.set_mesh(explicit):  # the same devices, with axes of the other type
        check_chunks(smap(lambda x: x, grid, shard=[0])(x), explicit, P(("x", "y")))


@TYPES
def test_what_is_elsewhere_is_brought(axis_type: Any) -> None:
    mesh, x = mesh_of("x8", axis_type), numbers(16, 8)
    doubled = smap(lambda x: 2 * x, mesh, shard=[0])
    other = mesh_of("x4y2")
    elsewhere = (
        jnp.asarray(x),
        jax.device_put(x, jax.devices()[5]),
        over(mesh, P(None, "x"), x),
        over(mesh, P(), x),
        over(other, P("y", "x"), x),
        over(backwards(), P("x"), x),
        chunk(x, other, P("x", "y")),
        RowChunked.from_array(x.T, mesh).T,
    )
    for each in elsewhere:
        got = doubled(each)
        check_chunks(got, mesh, P("x"))
        np.testing.assert_array_equal(got, 2 * x)
    for each in (x, over(mesh, P(None, "x"), x)):  # by the compiled program itself
        check_chunks(jax.jit(doubled)(each), mesh, P("x"))
    whole = smap(lambda x: x.sum(), mesh)
    for each in (over(mesh, P("x"), x), chunk(x, mesh), poisoned(chunk(x[:13], other))):
        np.testing.assert_allclose(whole(each), np.full(8, np.asarray(each).sum()))


# -- smap: results ---------------------------------------------------------------------------------------------------


def test_results_of_every_kind_and_axis() -> None:
    mesh, x = mesh_of("x8"), numbers(16, 3)

    def function(x: Any) -> Any:
        total = comm.allreduce(x.sum())
        many = (x[:, None] + jnp.zeros((1, 4, 1)), {"flag": x[0, 0] > 3, "nothing": None})
        return {"many": many, "kind": x.astype(np.int32), "total": total, "constant": 7, "twice": total}

    out_axis = {"many": -2, "kind": 1, "total": None, "constant": None, "twice": 0}
    with pytest.raises(AxisError, match=r"the output\['many'\]\[1\]\['flag'\] of function has 1 axis"):
        smap(function, mesh, shard=[0], out_axis=out_axis)(x)
    got = smap(function, mesh, shard=[0], out_axis={**out_axis, "many": (-2, 0)})(x)
    wide = np.concatenate([np.repeat(part[:, None], 4, 1) for part in np.split(x, 8)], 1)
    check_chunks(got["many"][0], mesh, P(None, "x"))
    np.testing.assert_array_equal(got["many"][0], wide)
    np.testing.assert_array_equal(got["many"][1]["flag"], x[::2, 0] > 3)
    assert got["many"][1]["nothing"] is None
    assert got["kind"].dtype == np.int32
    np.testing.assert_array_equal(got["kind"], np.concatenate(np.split(x, 8), 1))
    assert got["total"].sharding.is_equivalent_to(NamedSharding(mesh, P()), 0)
    np.testing.assert_array_equal(got["total"], x.sum())
    np.testing.assert_array_equal(got["constant"], 7)
    np.testing.assert_array_equal(got["twice"], np.full(8, x.sum()))


def test_results_without_elements_are_chunked_too() -> None:
    mesh = mesh_of("x8")
    check_chunks(smap(lambda x: x[:, :0], mesh, shard=[0])(numbers(16, 2)), mesh, P("x"))
    check_chunks(smap(lambda x: x, mesh, shard=[0])(numbers(0, 2)), mesh, P("x"))
    assert [part.shape for part in smap(lambda x: x[:, :0], mesh, shard=[0])([numbers(2, 2)] * 8)] == [(2, 0)] * 8


def test_batch_maps_over_the_chunk() -> None:
    mesh, x, y = mesh_of("x8"), random((16, 3, 4)), random((3, 2))
    row = smap(lambda x: x.sum(), mesh, shard=[0], batch=[0])
    np.testing.assert_allclose(row(x[:, 0]), x[:, 0].sum(1))

    def pair(x: Any, y: Any, z: Any = None) -> Any:
        assert x.shape == (2, 4)
        assert y.shape == (2,)
        assert z is None
        return x.sum(1) * y, x[0]

    first, second = smap(pair, mesh, shard={0: 0, "z": 0}, batch={0: 1, "y": 0, "z": 0}, out_axis=(1, -1))(x, y)
    parts = np.split(x, 8)
    np.testing.assert_allclose(first, np.concatenate([part.sum(2).T * y for part in parts], 1))
    np.testing.assert_allclose(second, np.concatenate([part[0] for part in parts], 1))


def test_batch_of_what_every_device_has() -> None:
    x, w = random((8,)), random((5, 2))
    got = smap(lambda x, w: comm.allreduce(x * w.sum()), mesh_of("x8"), shard=["x"], batch={"w": -2}, out_axis=None)(
        x, w
    )
    np.testing.assert_allclose(got, x.sum() * w.sum(1)[:, None])


# -- lists of shards -------------------------------------------------------------------------------------------------


@TYPES
@MESHES
def test_lists_in_lists_out(name: str, axis_type: Any) -> None:
    mesh, x = mesh_of(name, axis_type), numbers(16, 3)

    def function(x: Any, w: Any) -> Any:
        return {"y": x + w, "sum": x.sum(), "all": comm.allreduce(x.sum())}

    mapped = smap(function, mesh, shard=["x"], out_axis={"y": 0, "sum": 0, "all": None})
    got = mapped(np.split(x, 8), 1.0)
    assert [part.devices() for part in got["y"]] == [{device} for device in mesh.devices.flat]
    assert [part.shape for part in got["sum"]] == [(1,)] * 8
    again = mapped(got["y"], 1.0)["y"]  # calls chain
    np.testing.assert_array_equal(unshard(again, mesh), x + 2)
    np.testing.assert_array_equal(np.asarray(got["all"]), x.sum())


def test_lists_in_trees_and_along_other_axes() -> None:
    mesh, x = mesh_of("x8"), numbers(2, 16)
    mapped = smap(lambda d: {"a": d["a"] + d["b"][0], "b": d["b"]}, mesh, shard={"d": -1}, out_axis=1)
    parts = np.split(x, 8, 1)
    got = mapped({"a": parts, "b": (x,)})
    np.testing.assert_array_equal(np.concatenate(got["a"], 1), 2 * x)
    assert [part.shape for part in got["b"][0]] == [(2, 2)] * 8
    got = mapped(got)
    np.testing.assert_array_equal(np.concatenate(got["a"], 1), 3 * x)
    # where nothing is split, a list is a pytree as any other
    assert smap(lambda both: both[0] + both[1], mesh)([1.0, 2.0]).shape == (8,)


def test_a_list_shows_its_devices() -> None:
    parts = shards(shard(numbers(16), backwards()))
    got = smap(lambda x: x + 1, shard=[0])(parts)
    assert [part.devices() for part in got] == [part.devices() for part in parts]
    assert len(smap(lambda x: x + 1, shard=[0])(parts[:3])) == 3


WORKER = """
import os, sys
import jax
jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 2)
os.environ["NPROC"] = "8"
jax.distributed.initialize(f"127.0.0.1:{sys.argv[1]}", 2, int(sys.argv[2]))
import numpy as np
from tpufft import comm
from tpufft.mapping import shard, shards, smap, unshard
mesh = jax.sharding.Mesh(np.array(jax.devices()), ("x",))
x = shard(np.arange(8, dtype=np.float32), mesh)
parts = shards(x)
assert unshard(parts).sharding == unshard(parts, mesh).sharding == x.sharding
mapped = smap(lambda x, w: (x * w, comm.allreduce(x.sum())), mesh, shard=["x"], out_axis=(0, None))
for each in (x, np.arange(8, dtype=np.float32)):
    assert mapped(each, 2.0)[1] == 28
found, total = mapped(mapped(parts, 2.0)[0], 2.0)
print("FOUND", [part.tolist() for part in found], float(total))
"""


@pytest.mark.long
def test_every_process_has_its_own_part_of_a_list() -> None:
    port = str(free_port())
    environment = {key: value for key, value in os.environ.items() if key not in ("NPROC", "XLA_FLAGS")}
    environment["PYTHONPATH"] = str(Path(tpufft.__file__).parents[1])
    started = [
        subprocess.Popen([sys.executable, "-c", WORKER, port, rank], env=environment, stdout=subprocess.PIPE, text=True)
        for rank in ("0", "1")
    ]
    try:
        said = [process.communicate(timeout=120)[0] for process in started]
    finally:
        for process in started:
            process.kill()
    for lines, want in zip(said, ("[[0.0, 4.0], [8.0, 12.0]] 56.0", "[[16.0, 20.0], [24.0, 28.0]] 56.0"), strict=True):
        assert f"FOUND {want}" in lines


# -- derivatives and other transformations ---------------------------------------------------------------------------


def scaled(x: Any, w: Any) -> Any:
    """Rows times weights, and something that all devices have of them."""
    y = jnp.sin(x) * w[None]
    return y, comm.allreduce((y**2).sum())


def scaled_by_numpy(x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, float, np.ndarray, np.ndarray]:
    """The same, and the derivatives of the sum of both results."""
    y = np.sin(x) * w
    slope = 1 + 2 * y
    return y, (y**2).sum(), slope * np.cos(x) * w, (slope * np.sin(x)).sum(0)


@TYPES
@pytest.mark.parametrize("name", ["x8", "x4y2"])
def test_derivatives(name: str, axis_type: Any) -> None:
    mesh, x, w = mesh_of(name, axis_type), random((8, 3), np.float64), random((3,), np.float64, seed=1)
    mapped = smap(scaled, mesh, shard=["x"], out_axis=(0, None))
    placed = shard(x, mesh), over(mesh, P(), w)
    y, total, dx, dw = scaled_by_numpy(x, w)

    def loss(x: Any, w: Any) -> Any:
        y, total = mapped(x, w)
        return y.sum() + total

    with context(mesh):
        got = jax.grad(loss, (0, 1))(*placed)
    check_chunks(got[0], mesh, ALL[name])
    np.testing.assert_allclose(got[0], dx)
    np.testing.assert_allclose(got[1], dw)
    jitted = jax.jit(jax.value_and_grad(jax.checkpoint(loss), (0, 1)))(*placed)
    np.testing.assert_allclose(jitted[0], y.sum() + total)
    np.testing.assert_allclose(jitted[1][1], dw)
    _, tangent = jax.jvp(jax.jit(loss), placed, placed)
    np.testing.assert_allclose(tangent, (dx * x).sum() + (dw * w).sum())


@TYPES
def test_vmap_and_scan_around_it(axis_type: Any) -> None:
    mesh, x, w = mesh_of("x8", axis_type), random((8, 3), np.float64), random((4, 3), np.float64, seed=1)
    mapped = smap(scaled, mesh, shard=["x"], out_axis=(0, None))
    wants = [scaled_by_numpy(x, each) for each in w]
    y, total = jax.jit(jax.vmap(mapped, in_axes=(None, 0)))(shard(x, mesh), w)
    np.testing.assert_allclose(y, [want[0] for want in wants])
    np.testing.assert_allclose(total, [want[1] for want in wants])

    def turn(x: Any, w: Any) -> Any:
        y, total = mapped(x, w)
        return x, y.sum() + total

    _, sums = jax.jit(lambda x, w: lax.scan(turn, x, w))(shard(x, mesh), w)
    np.testing.assert_allclose(sums, [want[0].sum() + want[1] for want in wants])


def test_eager_vmap_and_vjp() -> None:
    mesh, x = mesh_of("x8"), random((2, 8), np.float64)
    squared = smap(lambda x: x**2, mesh, shard=[0])
    np.testing.assert_allclose(jax.vmap(squared)(x), x**2)
    y, pull = jax.vjp(squared, x[0])
    np.testing.assert_allclose(pull(jnp.ones_like(y))[0], 2 * x[0])
    np.testing.assert_allclose(jax.jacfwd(squared)(x[0]), np.diag(2 * x[0]))


def test_a_derivative_inside_is_this_device_s_own() -> None:
    x, w = random((16, 3), np.float64), random((3,), np.float64, seed=1)

    def step(x: Any, w: Any) -> Any:
        own = jax.grad(lambda w: ((x @ w) ** 2).mean())(w)
        return own[None], comm.allreduce(own) / comm.size()

    own, mean = smap(step, mesh_of("x4y2"), shard=[0], out_axis=(0, None))(x, w)
    want = [2 * part.T @ (part @ w) / 2 for part in np.split(x, 8)]
    np.testing.assert_allclose(own, want)
    np.testing.assert_allclose(mean, np.mean(want, 0))


def test_loops_branches_and_collectives_inside() -> None:
    x = random((16,), np.float64)

    def function(x: Any) -> Any:
        def turn(total: Any, each: Any) -> Any:
            total = lax.cond(each > 0, lambda: total + each, lambda: total - comm.vary(1.0))
            return total, lax.ppermute(total, "x", [(device, (device + 1) % 8) for device in range(8)])

        return lax.scan(turn, comm.vary(0.0), x)

    total, passed = smap(function, mesh_of("x8"), shard=[0])(x)
    steps = np.cumsum(np.where(x > 0, x, -1).reshape(8, 2), 1)
    np.testing.assert_allclose(total, steps[:, -1])
    np.testing.assert_allclose(np.reshape(passed, (8, 2)), np.roll(steps, 1, 0))


# -- what it costs ---------------------------------------------------------------------------------------------------


@TYPES
def test_the_second_call_works_nothing_out(axis_type: Any) -> None:
    mesh = mesh_of("x8", axis_type)
    mapped = smap(lambda x, w: (x * w, comm.allreduce(x)), mesh, shard=["x"], out_axis=(0, None))
    x, w = shard(numbers(16), mesh), over(mesh, P(), np.float64(2))
    mapped(x, w)
    with counted_work() as work, counted_calls() as calls:
        y, _ = mapped(x, w)
    assert not work
    assert calls[0] <= 80
    assert y.is_ready()  # on several CPU devices a call waits: a loop of calls keeps one program in flight
    with counted_work() as work:
        mapped(y, w=w)  # another way to say the same is another program, once
        mapped(y + 1, w=w)
        mapped(np.asarray(y), 3.0)
    assert work["backend_compile_duration"] <= 4
    with counted_work() as work:
        mapped(np.asarray(y) + 1, 4.0)
        mapped(y, w=w)
    assert not work


def test_nothing_is_sent_but_what_the_function_sends() -> None:
    mesh = mesh_of("x4y2")
    x = shard(numbers(16), mesh)
    assert not collectives(smap(lambda x, w: x * w, mesh, shard=[0]), x, 2.0)
    summed = smap(comm.allreduce, mesh, shard=[0], out_axis=None)
    assert collectives(summed, x) == {"all-reduce": 1}


def test_many_kinds_of_calls_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tpufft.mapping.calls.MOST_CALLS", 2)
    mapped = smap(lambda x: x + 1, mesh_of("x8"), shard=[0])
    for length in (8, 16, 24, 8):
        np.testing.assert_array_equal(mapped(numbers(length)), numbers(length) + 1)


def test_threads_share_a_mapped_function() -> None:
    mapped = smap(lambda x: comm.allreduce(x.sum()), mesh_of("x8"), shard=[0], out_axis=None)
    found: dict[int, float] = {}

    def work(number: int) -> None:
        found[number] = float(mapped(numbers(8) * number))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert found == {number: 28.0 * number for number in range(4)}


# -- bad input -------------------------------------------------------------------------------------------------------


def two(a: Any, b: Any) -> Any:
    return a + b


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"shard": ["c"]}, ValueError, "shard names 'c', which two does not take; its signature is two(a"),
        ({"batch": [2]}, ValueError, "batch names position 2, which two does not take"),
        ({"replicate": [-1]}, ValueError, "replicate names position -1, which two does not take"),
        ({"shard": [True]}, TypeError, "shard names True, which is no position or name"),
        ({"shard": "ab"}, TypeError, "shard='ab' is no sequence of positions or names; write shard=('ab',)"),
        ({"shard": 0}, TypeError, "shard=0 is no sequence of positions or names; write shard=(0,)"),
        ({"shard": ["a", 0]}, ValueError, "shard=['a', 0] names argument 'a' of two twice"),
        ({"shard": {"a": 0.5}}, TypeError, "has the axis 0.5 of argument 'a'; an axis is an integer"),
        ({"shard": ["a"], "replicate": [0]}, ValueError, "argument 'a' of two is in shard and in replicate"),
        ({"replicate": {"a": 0}}, TypeError, "replicate={'a': 0} names axes"),
        ({"out_axis": "x"}, TypeError, "out_axis='x' has 'x' in it; an axis is an integer, or None"),
        ({"out_axis": (0, True)}, TypeError, "has True in it"),
        ({"mesh": 8}, TypeError, "mesh=8 is no jax.sharding.Mesh"),
        ({"fn": 3}, TypeError, "fn=3 is not callable"),
    ],
)
def test_bad_smap(options: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=re.escape(text)):
        smap(**{"fn": two, "mesh": mesh_of("x8"), **options})


GOOD, ODD = numbers(8), numbers(13)


@pytest.mark.parametrize(
    ("args", "error", "text"),
    [
        ((GOOD,), TypeError, "two() missing a required argument: 'b'"),
        ((GOOD, GOOD, GOOD), TypeError, "two() too many positional arguments"),
        (
            (ODD, 1.0),
            LayoutError,
            "argument 'a' of two has length 13 along axis 0, which does not divide over 8 devices",
        ),
        (({"k": (ODD,)}, 1.0), LayoutError, "argument 'a'['k'][0] of two has length 13 along axis 0"),
        ((2.0, 1.0), LayoutError, "argument 'a' of two is a scalar, which has no axis to split"),
        ((GOOD, "full"), TypeError, "argument 'b' of two is 'full', no array of NumPy or JAX and no number"),
        ((GOOD, np.sin), TypeError, "functools.partial(fn, ...)"),
        ((GOOD, True), TypeError, "a truth value that is data is np.bool_"),
        ((GOOD, np.array(["a"])), TypeError, "argument 'b' of two has the dtype <U1"),
        (([GOOD] * 7, 1.0), LayoutError, "argument 'a' of two is a list of 7 arrays; a list in the place"),
        (([GOOD] * 7 + [ODD], 1.0), LayoutError, "is a list of arrays of the shapes (8,), (13,)"),
        (([1.0] * 8, 1.0), LayoutError, "is a list whose entry 0 is float; a list in the place"),
        (([np.float64(1)] * 8, 1.0), LayoutError, "is a list whose entry 0 is float64"),
        (([(GOOD,)] * 8, 1.0), LayoutError, "is a list whose entry 0 is tuple"),
    ],
)
def test_bad_arguments(args: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=re.escape(text)):
        smap(two, mesh_of("x8"), shard=["a"])(*args)


def test_axes_that_an_argument_does_not_have() -> None:
    mesh = mesh_of("x8")
    with pytest.raises(AxisError, match=r"argument 'a' of two has 1 axis; axis -2 is not one of them"):
        smap(two, mesh, shard={"a": -2})(GOOD, 1.0)
    with pytest.raises(AxisError, match=r"argument 'b' of two, in batch, has 0 axes; axis 0 is not one of them"):
        smap(two, mesh, shard=["a"], batch=["b"])(GOOD, 1.0)
    with pytest.raises(TypeError, match=r"is called with 1 arguments by position; smap names 3"):
        smap(lambda *args: args[0], mesh, shard=[3])(GOOD)


def test_batches_of_different_length() -> None:
    mesh = mesh_of("x8")
    with pytest.raises(LayoutError, match=r"in batch differ in length: 'a' has 1, 'b' has 8 along their axes in batch"):
        smap(two, mesh, shard=["a"], batch=["a", "b"])(GOOD, GOOD)
    with pytest.raises(LayoutError, match=r"all arguments of two in batch are None"):
        smap(two, mesh, batch=["a"])(None, GOOD)


def test_arrays_on_other_devices() -> None:
    four = Mesh(np.array(jax.devices()[:4]), ("x",))
    mapped = smap(two, mesh_of("x8"), shard=["a"])
    text = r"lives on devices \[0, 1, 2, 3\], the mesh has devices \[0, 1, 2, 3, 4, 5, 6, 7\]; pass the mesh on which"
    with pytest.raises(LayoutError, match=rf"argument 'a' of two {text}"):
        mapped(shard(GOOD, four), 1.0)
    with pytest.raises(LayoutError, match=rf"argument 'b' of two {text}"):
        mapped(GOOD, over(four, P(), GOOD))
    with pytest.raises(LayoutError, match=r"lives on device \[6\], the mesh has devices \[0, 1, 2, 3\]"):
        smap(two, four, shard=["a"])(jax.device_put(GOOD, SingleDeviceSharding(jax.devices()[6])), 1.0)
    with pytest.raises(LayoutError, match=r"shards\[0\] is on device \[7\]; right is device \[0\]"):
        mapped(shards(shard(GOOD, mesh_of("x8")))[::-1], 1.0)


def test_padding_is_no_business_of_a_function_of_chunks() -> None:
    mesh = mesh_of("x8")
    text = r"a ChunkedArray whose axis 0 of length 13 is stored with 3 elements of padding"
    with pytest.raises(LayoutError, match=text):
        smap(two, mesh, shard=["a"])(chunk(ODD, mesh), 1.0)


def test_where_devices_do_not_show() -> None:
    mesh = mesh_of("x8")
    mapped = smap(two, mesh, shard=["a"])
    with pytest.raises(LayoutError, match=r"the smap of two was called under jit .* pass mesh= or use jax.set_mesh"):
        jax.jit(smap(two, shard=["a"]))(GOOD, 1.0)
    with pytest.raises(TypeError, match=r"is a list of traced arrays, which are on no device"):
        jax.grad(lambda parts: mapped(parts, 1.0)[0].sum())([GOOD] * 8)
    with pytest.raises(TypeError, match="joined under jit"):
        jax.jit(lambda: mapped([GOOD] * 8, 1.0))()
    with pytest.raises(TypeError, match=r"two was given lists of shards under jit, grad or another transformation"):
        jax.grad(lambda b: mapped([GOOD] * 8, b)[0].sum())(1.0)
    with (
        pytest.raises(LayoutError, match=r"and that of jax.set_mesh, .* differ in axes or devices"),
        jax.set_mesh(mesh_of("x4y2")),
    ):
        mapped(GOOD, 1.0)


def test_a_result_that_differs_is_not_the_same() -> None:
    with pytest.raises(LayoutError, match=r"has out_axis=None, but may differ between devices along 'x', 'y': make it"):
        smap(two, mesh_of("x4y2"), shard=["a"], out_axis=None)(GOOD, 1.0)


def test_bad_results() -> None:
    mesh = mesh_of("x8")
    with pytest.raises(AxisError, match=r"the output of two has 1 axis; axis 1 is not one of them"):
        smap(two, mesh, shard=["a"], out_axis=1)(GOOD, 1.0)
    with pytest.raises(ValueError, match=r"out_axis=\{'a': 0\} does not fit what two returns"):
        smap(two, mesh, shard=["a"], out_axis={"a": 0})(GOOD, 1.0)
    with pytest.raises(TypeError, match=r"the output\[1\] of <lambda> is 'text'; outputs are arrays"):
        smap(lambda a: (a, "text"), mesh, shard=["a"])(GOOD)


def test_no_smap_in_an_smap() -> None:
    mesh = mesh_of("x8")
    with pytest.raises(LayoutError, match=r"the smap of two was called in a shard_map over \('x',\).*call two itself"):
        smap(lambda a: smap(two, mesh, shard=["a"])(a, 1.0), mesh, shard=[0])(GOOD)


def loop(kind: str, x: Any) -> Any:
    """A loop or branch whose types differ in the devices' axes."""
    start = jnp.zeros((), x.dtype)
    if kind == "scan":
        return lax.scan(lambda total, each: (total + each, None), start, x)[0]
    if kind == "fori":
        return lax.fori_loop(0, 3, lambda _, total: total + x[0], start)
    if kind == "while":
        return lax.while_loop(lambda total: total < 3, lambda total: total + x[0], start)
    if kind == "switch":
        return lax.switch(1, [lambda: jnp.zeros(1), lambda: x, lambda: x])
    return lax.cond(x[0] > 3, lambda: jnp.zeros(1), lambda: x)


@pytest.mark.parametrize("kind", ["scan", "fori", "while", "cond", "switch"])
@pytest.mark.parametrize("under", ["eager", "jit"])
def test_a_loop_s_types_and_their_remedy(kind: str, under: str) -> None:
    mapped = smap(functools.partial(loop, kind), mesh_of("x8"), shard=["x"])
    with pytest.raises(TypeError, match=r"tpufft.comm.vary\(x\)") as caught:
        (mapped if under == "eager" else jax.jit(mapped))(GOOD)
    assert isinstance(caught.value.__cause__, TypeError)
    assert str(caught.value).startswith(str(caught.value.__cause__))
    assert "manual axis types" in str(caught.value.__cause__)


def test_other_errors_of_a_function_stay_as_they_are() -> None:
    def fails(x: Any) -> Any:
        raise TypeError("carry on")

    with pytest.raises(TypeError, match=r"^carry on"):
        smap(fails, mesh_of("x8"), shard=[0])(GOOD)
