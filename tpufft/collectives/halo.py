"""Halos: every chunk with the cells of its neighbours, fetched hop by hop."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tpufft.collectives.wire import axis_name, permute
from tpufft.layout import AxisNames, ceil_div


@dataclass(frozen=True)
class Line:
    """A chunked axis.

    Parameters
    ----------
    axis : int
        Of the chunk.
    names : tuple of str
        The mesh axes that split it.
    count : int
        Into how many chunks.
    size : int
        Elements of the whole axis, without padding.
    platform : str
        The devices' platform.
    """

    axis: int
    names: AxisNames
    count: int
    size: int
    platform: str

    @property
    def rank(self) -> jax.Array:
        """Which chunk this is."""
        return lax.axis_index(axis_name(self.names)) if self.count > 1 else jnp.zeros((), np.int32)

    def times(self, chunks: jax.Array, length: int, bound: int) -> jax.Array:
        """So many chunks in elements, as far as `bound` elements: all of them may be more than an int32 holds."""
        most = ceil_div(bound, max(length, 1)) + 1
        return jnp.clip(chunks, -most, most).astype(np.int32) * np.int32(length)

    def on_axis(self, vector: jax.Array, rank: int) -> jax.Array:
        """A vector along the axis, to be broadcast."""
        return vector.reshape([-1 if axis == self.axis else 1 for axis in range(rank)])


def widened(
    chunk: jax.Array, line: Line, left: int, right: int, mode: str, reaches: tuple[int, int], *, wraps_by_sum: bool
) -> jax.Array:
    """A chunk with `left` cells before it and `right` cells behind it.

    Parameters
    ----------
    chunk : array
        This device's, with zeros in its padding.
    line : Line
        The chunked axis.
    left, right : int
        The widths.
    mode : str
        ``wrap``, ``constant`` (zero), ``edge``, ``reflect`` or ``symmetric``: what is beyond the array's ends.
    reaches : tuple of int
        Cells to fetch from before and from behind: mirrored cells come from among them. Fewer than the widths only
        where the rest lies beyond the array's ends on every device, and is zero or the end's own cell.
    wraps_by_sum : bool
        For ``wrap`` where the last chunk is short: both ends are told to all by a sum.

    Notes
    -----
    Permutes between neighbours only, one for each chunk's length of reach.
    """
    beyond = (max(left - reaches[0], 0), max(right - reaches[1], 0))
    if any(beyond):
        left, right = left - beyond[0], right - beyond[1]
        near = widened(chunk, line, left, right, mode, reaches, wraps_by_sum=wraps_by_sum)
        amounts = [beyond if axis == line.axis else (0, 0) for axis in range(chunk.ndim)]
        return jnp.pad(near, amounts, mode="edge" if mode == "edge" else "constant")
    length = chunk.shape[line.axis]
    is_ring = mode == "wrap" and not wraps_by_sum
    before, behind = (_fetched(chunk, line, reach, way, is_ring) for reach, way in zip(reaches, (1, -1), strict=True))
    wide = jnp.concatenate([part for part in (before, chunk, behind) if part is not None], axis=line.axis)
    if is_ring or mode == "constant":  # zeros of the padding, and where nothing was received
        return wide
    head = tail = None
    if wraps_by_sum:
        head = _told(chunk, line, 0, right) if right else None
        tail = _told(chunk, line, line.size - left, left) if left else None
    first = _before(wide, line, length, reaches[0], left, mode, tail)
    rest = _behind(wide, line, length, reaches[0], right, mode, head)
    return rest if first is None else jnp.concatenate([first, rest], axis=line.axis)


def _fetched(chunk: jax.Array, line: Line, reach: int, way: int, is_ring: bool) -> jax.Array | None:
    """`reach` cells from the chunks before (way 1) or behind (-1); zeros beyond the ends, unless it is a ring."""
    length = chunk.shape[line.axis]
    parts: list[jax.Array] = []
    here, missing = chunk, reach
    pairs = [(rank, rank + way) for rank in range(line.count)]
    pairs = [(a, b % line.count) for a, b in pairs if is_ring or 0 <= b < line.count]
    while missing:
        amount = min(length, missing)
        start = here.shape[line.axis] - amount if way > 0 else 0
        here = lax.slice_in_dim(here, start, start + amount, axis=line.axis)
        if line.count > 1:
            here = permute(here, line.names, pairs, line.platform)
        elif not is_ring:
            here = jnp.zeros_like(here)
        parts.append(here)
        missing -= amount
    if not parts:
        return None
    return jnp.concatenate(parts[::-1] if way > 0 else parts, axis=line.axis)


def _rest(line: Line, length: int, bound: int) -> jax.Array:
    """How many elements of the array there are from the start of this chunk on; exact below `bound`."""
    last = (line.size - 1) // length
    return line.times(last - line.rank, length, bound) + np.int32(line.size - last * length)


def _told(chunk: jax.Array, line: Line, start: int, width: int) -> jax.Array:
    """`width` elements of the array from `start` on, on every device."""
    length = chunk.shape[line.axis]
    first = line.times(start // length - line.rank, length, width + length) + np.int32(start % length)
    place = first + jnp.arange(width, dtype=np.int32)
    inside = line.on_axis((place >= 0) & (place < length), chunk.ndim)
    own = _taken(chunk, line, place)
    own = jnp.where(inside, own, jnp.zeros_like(own))
    if line.count == 1:
        return own
    if own.dtype == np.bool_:
        return lax.psum(own.astype(np.int32), axis_name(line.names)).astype(np.bool_)
    return lax.psum(own, axis_name(line.names))


def _taken(x: jax.Array, line: Line, place: jax.Array) -> jax.Array:
    return jnp.take(x, jnp.clip(place, 0, x.shape[line.axis] - 1), axis=line.axis, mode="clip")


def _before(
    wide: jax.Array, line: Line, length: int, reach: int, width: int, mode: str, tail: jax.Array | None
) -> jax.Array | None:
    """The cells before a chunk, those before the array's start put right."""
    if not width:
        return None
    strip = lax.slice_in_dim(wide, reach - width, reach, axis=line.axis)
    start = line.times(line.rank, length, width)
    place = start - width + jnp.arange(width, dtype=np.int32)  # in the array
    if tail is not None:
        beyond = _taken(tail, line, place + width)
    else:
        mirrored = {"edge": jnp.zeros_like(place), "reflect": -place, "symmetric": -1 - place}[mode]
        beyond = _taken(wide, line, mirrored - start + reach)
    return jnp.where(line.on_axis(place < 0, wide.ndim), beyond, strip)


def _behind(
    wide: jax.Array, line: Line, length: int, reach: int, width: int, mode: str, head: jax.Array | None
) -> jax.Array:
    """A chunk and the cells behind it, those behind the array's end put right."""
    total = length + width
    own = lax.slice_in_dim(wide, reach, reach + total, axis=line.axis)
    # Of equal chunks only what is behind them can be beyond the end.
    kept = length if line.size == length * line.count else 0
    if kept == total:
        return own
    strip = lax.slice_in_dim(own, kept, total, axis=line.axis)
    rest = _rest(line, length, total)
    place = jnp.arange(kept, total, dtype=np.int32)  # from the start of the chunk
    if head is not None:
        beyond = _taken(head, line, place - rest)
    elif mode == "wrap":  # of padding alone, nothing is asked
        beyond = jnp.zeros_like(strip)
    else:
        last = rest - 1
        mirrored = {"edge": jnp.broadcast_to(last, place.shape), "reflect": 2 * last - place}.get(mode)
        mirrored = 2 * last + 1 - place if mirrored is None else mirrored
        beyond = _taken(wide, line, mirrored + reach)
    strip = jnp.where(line.on_axis(place >= rest, wide.ndim), beyond, strip)
    parts = [lax.slice_in_dim(own, 0, kept, axis=line.axis), strip] if kept else [strip]
    return functools.reduce(lambda a, b: jnp.concatenate([a, b], axis=line.axis), parts)
