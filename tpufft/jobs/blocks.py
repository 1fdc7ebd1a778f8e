"""A part of an array as blocks of bounded size, so that a pass over it needs little memory and shows progress."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TypeAlias

Slices: TypeAlias = tuple[slice, ...]
Progress: TypeAlias = Callable[[int, int], None]
"""Called with the bytes done and the bytes in all after every block."""

BLOCK_BYTES = 1 << 25


def concrete(index: Slices, shape: tuple[int, ...]) -> Slices:
    """Slices with start and stop as numbers, as JAX's shard indices need not have them."""
    return tuple(slice(*part.indices(size)[:2]) for part, size in zip(index, shape, strict=True))


def extent(index: Slices) -> tuple[int, ...]:
    """The shape of what slices with numbers select."""
    return tuple(part.stop - part.start for part in index)


def relative(inner: Slices, outer: Slices) -> Slices:
    """Where `inner` lies within `outer`."""
    return tuple(
        slice(part.start - base.start, part.stop - base.start) for part, base in zip(inner, outer, strict=True)
    )


def blocks(index: Slices, itemsize: int, slow_axes: tuple[int, ...], limit: int = BLOCK_BYTES) -> Iterator[Slices]:
    """The blocks of a part: cut along the slowest axes first, so that each is long runs in the file.

    Parameters
    ----------
    index : tuple of slice
        The part, with numbers.
    itemsize : int
        Bytes of one element.
    slow_axes : tuple of int
        Axes from the slowest to the fastest.
    limit : int
        Bytes of a block at most (one element at least).
    """
    shape = extent(index)
    if 0 in shape:
        return
    if math.prod(shape) * itemsize <= limit or not slow_axes:
        yield index
        return
    axis, *faster = slow_axes
    row = math.prod(shape[other] for other in faster) * itemsize
    rows = max(1, limit // row)
    part = index[axis]
    for start in range(part.start, part.stop, rows):
        block = (*index[:axis], slice(start, min(start + rows, part.stop)), *index[axis + 1 :])
        yield from blocks(block, itemsize, tuple(faster), limit)


class Tally:
    """Adds up bytes for a progress callback."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._done = 0
        self._total = total

    def add(self, count: int) -> None:
        """Count bytes that are done."""
        self._done += count
        if self._progress is not None:
            self._progress(self._done, self._total)
