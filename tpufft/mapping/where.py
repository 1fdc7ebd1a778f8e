"""Which mesh a call is about, which part of an array each device has, and whether an array may go there."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec
from numpy.exceptions import AxisError

from tpufft.chunked import ChunkedArray
from tpufft.errors import LayoutError
from tpufft.layout import mesh_size
from tpufft.meshes import AnyMesh, context_mesh, default_mesh, same_devices, visible_sharding


def device_count(mesh: AnyMesh) -> int:
    """The devices of a mesh."""
    return mesh_size(mesh, mesh.axis_names)


def own_devices(mesh: Mesh) -> list[Any]:
    """The devices of a mesh in its order; in a job of several processes, this process's."""
    return [device for device in mesh.devices.flat if device.process_index == jax.process_index()]


def split(mesh: AnyMesh, axis: int | None) -> PartitionSpec:
    """One array axis over all mesh axes together, the first the slowest; None: no axis."""
    if axis is None:
        return PartitionSpec()
    names = mesh.axis_names
    return PartitionSpec(*(None,) * axis, names[0] if len(names) == 1 else tuple(names))


def shown_mesh(x: Any) -> AnyMesh | None:
    """The mesh over which an array, or a list of one array for each device, is spread, as far as it shows."""
    if isinstance(x, ChunkedArray):
        return x.mesh
    if isinstance(x, list):
        return own_mesh(x)
    visible = visible_sharding(x)
    return None if visible is None else visible.mesh


def own_mesh(parts: Sequence[Any]) -> Mesh:
    """The devices on which the entries of a list are, in its order; where not all are on one, the usual mesh."""
    context = context_mesh()
    usual = context if isinstance(context, Mesh) else default_mesh()
    if not all(map(is_placed, parts)):
        return usual
    devices = [next(iter(part.devices())) for part in parts]
    if own_devices(usual) == devices:
        return usual
    for device in devices:
        if devices.count(device) > 1:
            numbers = [number for number, other in enumerate(devices) if other == device]
            raise LayoutError(
                f"entries {numbers} of shards are all on {device_text([device])}; right is one on each device"
            )
    return Mesh(np.array(devices), ("x",))


def is_placed(leaf: Any) -> bool:
    """Whether an array was put on a device, instead of being there because it has to be somewhere."""
    return isinstance(leaf, jax.Array) and not isinstance(leaf, Tracer) and leaf.committed


def found_mesh(what: str, arrays: Iterable[Any]) -> AnyMesh:
    """The mesh where the caller gave none: of the first array that shows one, of ``jax.set_mesh``, all devices.

    Raises
    ------
    LayoutError
        Under tracing, where arrays do not show their devices and there are several.
    """
    is_traced = False
    for array in arrays:
        if (mesh := shown_mesh(array)) is not None:
            return mesh
        is_traced |= isinstance(array, Tracer)
    context = context_mesh()
    if context is not None:
        return context
    if is_traced and jax.device_count() > 1:
        raise LayoutError(
            f"{what} was called under jit or another transformation, where an array's own devices do not show: pass "
            "mesh= or use jax.set_mesh"
        )
    return default_mesh()


def mesh_in_context(mesh: AnyMesh, context: AnyMesh | None) -> AnyMesh:
    """A mesh as JAX takes it where ``jax.set_mesh`` has set one: the same, whatever the types of its axes.

    Raises
    ------
    LayoutError
        For another.
    """
    if context is None or mesh == context:
        return mesh
    if not same_devices(mesh, context):
        raise LayoutError(
            f"the mesh {dict(mesh.shape)} and that of jax.set_mesh, {dict(context.shape)}, differ in axes or devices; "
            "a program runs on one: call without jax.set_mesh, or use its mesh"
        )
    return context


def checked_axis(axis: Any, rank: int, what: str) -> int:
    """An axis counted from the front.

    Raises
    ------
    AxisError
        If there is no such axis.
    TypeError
        If it is no integer.
    """
    if isinstance(axis, bool):
        raise TypeError(f"{what}: axis={axis} is no integer")
    try:
        number = operator.index(axis)
    except TypeError:
        raise TypeError(f"{what}: axis={axis!r} is no integer") from None
    if not -rank <= number < rank:
        raise AxisError(f"{what} has {rank} ax{'is' if rank == 1 else 'es'}; axis {number} is not one of them")
    return number % rank


def check_devices(x: jax.Array, mesh: AnyMesh, what: str) -> None:
    """Refuse an array that was put on other devices than those of a mesh; from one of them it may be spread.

    Raises
    ------
    LayoutError
        That names both.
    """
    if not isinstance(mesh, Mesh) or not x.committed:
        return
    here, there = x.sharding.device_set, set(mesh.devices.flat)
    if here != there and not (len(here) == 1 and here <= there):
        raise LayoutError(
            f"{what} lives on {device_text(here)}, the mesh has {device_text(there)}; pass the mesh on which it lives, "
            "or move it with jax.device_put"
        )


def device_text(devices: Iterable[Any]) -> str:
    """Devices as messages name them."""
    numbers = sorted(device.id for device in devices)
    shown = str(numbers) if len(numbers) <= 8 else f"[{numbers[0]} ... {numbers[-1]}]"
    return f"device{'s' * (len(numbers) != 1)} {shown}"


def is_in_place(x: jax.Array, target: NamedSharding) -> bool:
    """Whether an array is already where it should be, as its type tells too."""
    sharding = x.sharding
    same = isinstance(sharding, NamedSharding) and sharding.mesh == target.mesh
    return same and sharding.is_equivalent_to(target, x.ndim)


def declared(x: jax.Array, target: NamedSharding) -> jax.Array:
    """A traced array with its chunking in its type, where types carry it."""
    if AxisType.Explicit not in target.mesh.axis_types:
        return x
    visible = visible_sharding(x)
    if visible is None:
        return jax.device_put(x, target)
    return jax.sharding.reshard(x, NamedSharding(visible.mesh, target.spec))


def is_key(x: Any) -> bool:
    """Whether these are typed random keys."""
    return isinstance(x, jax.Array) and jnp.issubdtype(x.dtype, jax.dtypes.prng_key)


def length_text(what: str, axis: int, length: int, count: int) -> str:
    """That a length does not divide over devices, and what would."""
    down, up = length // count * count, math.ceil(length / count) * count
    right = f"{up}" if not down else f"{down} or {up}"
    return (
        f"{what} has length {length} along axis {axis}, which does not divide over {count} devices; right is a "
        f"multiple of {count}: cut it or pad it to {right}"
    )
