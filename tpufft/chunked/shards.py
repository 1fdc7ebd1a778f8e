"""A matrix as a list of arrays, one for each device, and back; nothing passes through the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.sharding import Mesh

from tpufft.errors import LayoutError
from tpufft.layout import AxisNames, Layout, ceil_div


def joined_layout(shards: Sequence[Any], mesh: Mesh, names: AxisNames, axis: int, what: str = "shards") -> Layout:
    """The layout of the matrix whose chunks are given, checked.

    Raises
    ------
    LayoutError
        For a wrong number of arrays, or one of another shape than its chunk has.
    TypeError
        For arrays of different dtypes, or traced ones.
    """
    count = int(np.prod([mesh.shape[name] for name in names]))
    wrong = next((shard for shard in shards if not hasattr(shard, "shape") or not hasattr(shard, "dtype")), None)
    if wrong is not None:
        raise TypeError(f"{what} has the entry {wrong!r}, which is no array; one array for each device")
    if any(isinstance(shard, Tracer) for shard in shards):
        raise TypeError(f"{what} are traced, so that they have no devices; call from_shards outside of jit")
    if len(shards) != count:
        raise LayoutError(f"{what} has {len(shards)} arrays; the mesh axes {names} have {count} devices, one for each")
    shapes = [tuple(shard.shape) for shard in shards]
    ranks = {len(shape) for shape in shapes}
    if len(ranks) > 1 or min(ranks) < -axis:
        raise LayoutError(f"{what} have shapes {shapes}; all must have the same number of axes, at least {-axis}")
    rank = ranks.pop()
    axis += rank
    others = {(*shape[:axis], *shape[axis + 1 :]) for shape in shapes}
    if len(others) > 1:
        raise LayoutError(f"{what} have shapes {shapes}; they may differ along axis {axis} only")
    dtypes = {np.dtype(jax.dtypes.canonicalize_dtype(shard.dtype)) for shard in shards}
    if len(dtypes) > 1:
        raise TypeError(f"{what} have dtypes {sorted(map(str, dtypes))}; all must have the same")
    lengths = [shape[axis] for shape in shapes]
    total = sum(lengths)
    chunk = ceil_div(total, count)
    right = [min(chunk, max(0, total - number * chunk)) for number in range(count)]
    if lengths != right:
        raise LayoutError(
            f"{what} have the lengths {lengths} along axis {axis}; {total} elements over {count} devices are {right}: "
            "chunks of equal length, of which the last may be short or empty"
        )
    shape = (*shapes[0][:axis], total, *shapes[0][axis + 1 :])
    spec = ((),) * axis + (names,) + ((),) * (rank - axis - 1)
    return Layout.of(shape, dtypes.pop(), mesh, spec)


def joined(shards: Sequence[Any], layout: Layout, axis: int) -> jax.Array:
    """The stored data whose chunks are given; each is padded where it is, and stays there if it is a device's own."""
    sharding = layout.sharding
    length, parts = layout.chunk_shape[axis], []
    places = _places(layout, axis)
    for device in sharding.addressable_devices:
        # What lies on another device is brought here; what is here stays.
        shard = jax.device_put(shards[places[device]], device)
        if isinstance(shard, Tracer):
            raise TypeError(
                "a list of arrays is joined under jit, where they are on no device; join them outside of it"
            )
        missing = length - shard.shape[axis]
        if missing:
            with _alone(device):
                shard = jnp.pad(shard, [(0, missing if each == axis else 0) for each in range(layout.rank)])
        parts.append(shard)
    return jax.make_array_from_single_device_arrays(layout.stored_shape, sharding, parts)


def parted(data: jax.Array, layout: Layout, axis: int) -> list[jax.Array]:
    """The chunks along an axis in order, without padding, each on its device."""
    others = [each for each in layout.chunked_axes if each != axis]
    if others:
        raise LayoutError(
            f"axis {others[0]} of {layout} is split too, so that no device holds whole rows or columns; use "
            "tpufft.chunk(x, mesh, spec) with a spec that splits one axis"
        )
    if isinstance(data, Tracer):
        raise TypeError("a traced array has no shards; call to_shards outside of jit")
    on_device = {shard.device: shard.data for shard in data.addressable_shards}
    found: dict[int, jax.Array] = {}
    for device, position in _places(layout, axis).items():
        if device in on_device:
            found.setdefault(position, on_device[device])
    length, size = layout.chunk_shape[axis], layout.shape[axis]
    shards = []
    for position in sorted(found):
        valid, shard = min(length, max(0, size - position * length)), found[position]
        if valid != length:
            with _alone(next(iter(shard.devices()))):
                shard = jax.lax.slice_in_dim(shard, 0, valid, axis=axis)
        shards.append(shard)
    return shards


def per_device(data: jax.Array, mesh: Mesh, layout: Layout | None = None) -> list[jax.Array]:
    """What every device of a mesh holds, in the mesh's order, however the array is split; nothing moves.

    Parameters
    ----------
    data : jax.Array
        Spread over the mesh. Of a job of several processes, each gets what its own devices hold.
    mesh : Mesh
        The devices.
    layout : Layout, optional
        Where there is padding behind the array's end, which is cut off; that is a copy of the chunks it concerns.
    """
    held = {shard.device: shard.data for shard in data.addressable_shards}
    found = []
    for index in np.ndindex(mesh.devices.shape):
        device = mesh.devices[index]
        if device not in held:
            continue
        chunk = held[device]
        if layout is not None and not layout.is_even:
            slices = layout.chunk_slices(dict(zip(mesh.axis_names, index, strict=True)))
            valid = [piece.stop - piece.start for piece in slices]
            if valid != list(chunk.shape):
                with _alone(device):
                    chunk = jax.lax.slice(chunk, [0] * chunk.ndim, valid)
        found.append(chunk)
    return found


def _alone(device: Any) -> Any:
    """Work on one device, whatever mesh is set around the call."""
    return jax.set_mesh(Mesh(np.array([device]), ("device",)))


def _places(layout: Layout, axis: int) -> dict[Any, int]:
    """The position along an axis of every device of the mesh."""
    mesh = layout.mesh
    if not isinstance(mesh, Mesh):
        raise LayoutError(f"{layout.describe()} names no devices; use a jax.sharding.Mesh")
    names = layout.spec[axis]
    devices = np.moveaxis(mesh.devices, [mesh.axis_names.index(name) for name in names], range(len(names)))
    rows = devices.reshape(layout.parts[axis], -1)
    return {device: position for position, row in enumerate(rows) for device in row}
