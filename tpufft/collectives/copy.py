"""Copies between chunks: pieces of an axis that belong on other devices, by permutes of just these pieces."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tpufft.collectives.wire import axis_name, permute
from tpufft.layout import AxisNames
from tpufft.steps import Fragment, rounds


def copy_fragments(
    x: jax.Array,
    axis: int,
    names: AxisNames,
    count: int,
    length: int,
    parts: Sequence[Fragment],
    platform: str,
) -> jax.Array:
    """Assemble a chunk of `length` along `axis` from `parts` of all chunks; what no part fills is zero.

    Parameters
    ----------
    x : array
        This device's chunk.
    axis : int
        The chunked axis.
    names : tuple of str
        The mesh axes that split it; empty where it is whole.
    count : int
        Devices along `names`.
    length : int
        Elements of the new chunk along `axis`.
    parts : sequence of Fragment
        What goes where, for all devices.
    platform : str
        The devices' platform.
    """
    shape = (*x.shape[:axis], length, *x.shape[axis + 1 :])
    # A sum with the argument's own zeros keeps the type of a varying value inside shard_map.
    result = jnp.zeros(shape, x.dtype) + jnp.zeros_like(lax.slice_in_dim(x, 0, 1, axis=axis))
    stay = rounds([part for part in parts if part.source == part.target])
    move = rounds([part for part in parts if part.source != part.target])
    for group in [*stay, *move]:
        result = _add_round(result, x, axis, names, count, group, platform)
    return result


def _add_round(
    result: jax.Array, x: jax.Array, axis: int, names: AxisNames, count: int, group: list[Fragment], platform: str
) -> jax.Array:
    window = max(part.length for part in group)
    piece = _cut(x, axis, names, count, group, window)
    pairs = [(part.source, part.target) for part in group]
    if any(source != target for source, target in pairs):
        piece = permute(piece, names, pairs, platform)
    return _put(result, piece, axis, names, count, group)


def _cut(x: jax.Array, axis: int, names: AxisNames, count: int, group: list[Fragment], window: int) -> jax.Array:
    starts = {part.source_start for part in group}
    # A permute drops what nobody asked for; a copy on the spot needs a mask unless all devices take part.
    masked = len(group) < count and all(part.source == part.target for part in group)
    if len(starts) == 1 and len({part.length for part in group}) == 1 and not masked:
        first = starts.pop()
        return lax.slice_in_dim(x, first, first + window, axis=axis)
    me = lax.axis_index(axis_name(names)) if names else 0
    start = _by_device({part.source: part.source_start for part in group}, me)
    filled = _by_device({part.source: part.length for part in group}, me)
    widened = jnp.pad(x, [(0, window if i == axis else 0) for i in range(x.ndim)])
    piece = lax.dynamic_slice_in_dim(widened, start, window, axis=axis)
    inside = jnp.arange(window, dtype=np.int32) < filled
    return jnp.where(_on_axis(inside, axis, x.ndim), piece, jnp.zeros_like(piece))


def _put(
    result: jax.Array, piece: jax.Array, axis: int, names: AxisNames, count: int, group: list[Fragment]
) -> jax.Array:
    """Write each target's piece into its place, bit by bit as it came."""
    starts, lengths = {part.target_start for part in group}, {part.length for part in group}
    if len(starts) == len(lengths) == 1 and len(group) == count:
        return lax.dynamic_update_slice_in_dim(result, piece, starts.pop(), axis=axis)
    me = lax.axis_index(axis_name(names)) if names else 0
    start = _by_device({part.target: part.target_start for part in group}, me)
    filled = _by_device({part.target: part.length for part in group}, me)
    length = result.shape[axis]
    widths = [(0, length if i == axis else 0) for i in range(piece.ndim)]
    shifted = lax.slice_in_dim(jnp.roll(jnp.pad(piece, widths), start, axis=axis), 0, length, axis=axis)
    place = jnp.arange(length, dtype=np.int32)
    inside = (place >= start) & (place < start + filled)
    return jnp.where(_on_axis(inside, axis, piece.ndim), shifted, result)


def _on_axis(vector: jax.Array, axis: int, rank: int) -> jax.Array:
    return jnp.expand_dims(vector, [other for other in range(rank) if other != axis])


def _by_device(values: dict[int, int], me: jax.Array | int) -> jax.Array:
    table = np.zeros(max(values) + 1, np.int32)
    for device, value in values.items():
        table[device] = value
    inside = jnp.asarray(table)
    return jnp.where(me < len(table), inside[jnp.minimum(me, len(table) - 1)], 0)
