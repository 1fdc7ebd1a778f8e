"""Copies between chunks: pieces of an axis that belong on other devices, by permutes of just these pieces."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tpufft.collectives.wire import axis_name, permute
from tpufft.layout import AxisNames
from tpufft.steps import Fragment, crossing, rounds


def copy_fragments(
    x: jax.Array,
    axis: int,
    names: AxisNames,
    count: int,
    length: int,
    parts: Sequence[Fragment],
    platform: str,
) -> jax.Array:
    """Assemble a chunk from `parts` of all chunks of one array; see :func:`assemble`."""
    return assemble([(x, parts)], axis, names, count, length, platform)


def assemble(
    pieces: Sequence[tuple[jax.Array, Sequence[Fragment]]],
    axis: int,
    names: AxisNames,
    count: int,
    length: int,
    platform: str,
) -> jax.Array:
    """A chunk of `length` along `axis` from parts of all chunks of some arrays; what no part fills is zero.

    Parts of one array never meet; where those of two do, they are added.

    Parameters
    ----------
    pieces : sequence of (array, sequence of Fragment)
        This device's chunk of each array, and what of it goes where, for all devices.
    axis : int
        The chunked axis.
    names : tuple of str
        The mesh axes that split it; empty where it is whole.
    count : int
        Devices along `names`.
    length : int
        Elements of the new chunk along `axis`.
    platform : str
        The devices' platform.
    """
    spare = max((part.length for _, parts in pieces for part in parts), default=0)
    first = pieces[0][0]
    # One copy of each chunk and one of the result, longer by a piece, serve all rounds.
    shape = (*first.shape[:axis], length + spare, *first.shape[axis + 1 :])
    # A sum with the argument's own zeros keeps the type of a varying value inside shard_map.
    result = jnp.zeros(shape, first.dtype) + jnp.zeros_like(lax.slice_in_dim(first, 0, 1, axis=axis))
    for number, (x, parts) in enumerate(pieces):
        groups = [*rounds([part for part in parts if part.source == part.target]), *rounds(crossing(list(parts)))]
        source = _widened(x, axis, spare) if any(_uneven(group, x.shape[axis]) for group in groups) else x
        for group in groups:
            piece = _cut(source, axis, names, group, max(part.length for part in group))
            pairs = [(part.source, part.target) for part in group]
            if any(sender != receiver for sender, receiver in pairs):
                piece = permute(piece, names, pairs, platform)
            result = _put(result, piece, axis, names, count, group, adds=number > 0)
    return lax.slice_in_dim(result, 0, length, axis=axis)


def _widened(x: jax.Array, axis: int, spare: int) -> jax.Array:
    return jnp.pad(x, [(0, spare if i == axis else 0) for i in range(x.ndim)])


def _uneven(group: list[Fragment], length: int) -> bool:
    """Whether some window of a round reaches beyond the chunk."""
    window = max(part.length for part in group)
    return any(part.source_start + window > length for part in group)


def _cut(x: jax.Array, axis: int, names: AxisNames, group: list[Fragment], window: int) -> jax.Array:
    """What this device sends; what lies behind its piece is for nobody."""
    starts = {part.source_start for part in group}
    if len(starts) == 1:
        first = starts.pop()
        return lax.slice_in_dim(x, first, first + window, axis=axis)
    me = lax.axis_index(axis_name(names)) if names else 0
    start = _by_device({part.source: part.source_start for part in group}, me)
    return lax.dynamic_slice_in_dim(x, start, window, axis=axis)


def _put(
    result: jax.Array,
    piece: jax.Array,
    axis: int,
    names: AxisNames,
    count: int,
    group: list[Fragment],
    *,
    adds: bool,
) -> jax.Array:
    """Write each target's piece into its place, bit by bit as it came, or add it to what is there."""
    window = piece.shape[axis]
    starts, lengths = {part.target_start for part in group}, {part.length for part in group}
    if len(starts) == len(lengths) == 1 and len(group) == count:
        place = starts.pop()
        new = piece + lax.slice_in_dim(result, place, place + window, axis=axis) if adds else piece
        return lax.dynamic_update_slice_in_dim(result, new, place, axis=axis)
    me = lax.axis_index(axis_name(names)) if names else 0
    start = _by_device({part.target: part.target_start for part in group}, me)
    filled = _by_device({part.target: part.length for part in group}, me)
    inside = _on_axis(jnp.arange(window, dtype=np.int32) < filled, axis, piece.ndim)
    present = lax.dynamic_slice_in_dim(result, start, window, axis=axis)
    new = jnp.where(inside, present + piece if adds else piece, present)
    return lax.dynamic_update_slice_in_dim(result, new, start, axis=axis)


def _on_axis(vector: jax.Array, axis: int, rank: int) -> jax.Array:
    return jnp.expand_dims(vector, [other for other in range(rank) if other != axis])


def _by_device(values: dict[int, int], me: jax.Array | int) -> jax.Array:
    table = np.zeros(max(values) + 1, np.int32)
    for device, value in values.items():
        table[device] = value
    inside = jnp.asarray(table)
    return jnp.where(me < len(table), inside[jnp.minimum(me, len(table) - 1)], 0)
