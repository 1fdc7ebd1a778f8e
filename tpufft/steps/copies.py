"""Steps that copy intervals of one axis between chunks: other lengths, cyclic shifts."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from tpufft.errors import LayoutError
from tpufft.layout import Layout
from tpufft.steps.core import Step


@dataclass(frozen=True)
class Fragment:
    """A contiguous piece of one chunk that belongs in one other chunk."""

    source: int
    target: int
    source_start: int
    target_start: int
    length: int


def fragments(intervals: tuple[tuple[int, int, int], ...], before: int, after: int) -> list[Fragment]:
    """Cut intervals (old start, new start, length) at the borders of chunks of `before` and `after` elements."""
    found = []
    for old_start, new_start, total in intervals:
        done = 0
        while done < total:
            source, source_start = divmod(old_start + done, before)
            target, target_start = divmod(new_start + done, after)
            length = min(before - source_start, after - target_start, total - done)
            found.append(Fragment(source, target, source_start, target_start, length))
            done += length
    return found


def rounds(parts: list[Fragment]) -> list[list[Fragment]]:
    """Group fragments so that in each group every chunk sends at most one and receives at most one.

    Fragments of the same offsets and length come first into the same group, so that a shift needs one group for each.
    """
    groups: list[list[Fragment]] = []
    sending: list[set[int]] = []
    receiving: list[set[int]] = []
    for part in sorted(parts, key=lambda part: (-part.length, part.source_start, part.target_start, part.target)):
        free = (n for n in range(len(groups)) if part.source not in sending[n] and part.target not in receiving[n])
        number = next(free, len(groups))
        if number == len(groups):
            groups.append([])
            sending.append(set())
            receiving.append(set())
        groups[number].append(part)
        sending[number].add(part.source)
        receiving[number].add(part.target)
    return groups


class Moving(Protocol):
    """A step that sends fragments of chunks to other devices."""

    def parted(self, layout: Layout) -> list[list[Fragment]]:
        """What goes where, for each array that is copied from."""
        ...


@functools.lru_cache(maxsize=1024)
def traffic(step: Moving, layout: Layout) -> tuple[int, int]:
    """Elements that one device sends at most, and permutes; kept, since thousands of devices take long to sort."""
    groups = [group for parts in step.parted(layout) for group in rounds(crossing(parts))]
    return sum(max(part.length for part in group) for group in groups), len(groups)


def permutes(step: Moving, layout: Layout) -> dict[str, int]:
    """The collectives that bring fragments to where they belong."""
    count = traffic(step, layout)[1]
    return {"collective-permute": count} if count else {}


def crossing(parts: list[Fragment]) -> list[Fragment]:
    """What goes from one chunk to another."""
    return [part for part in parts if part.source != part.target]


def row_bytes(layout: Layout, axis: int) -> int:
    """Bytes of one element of an axis, in one chunk."""
    return layout.chunk_bytes // max(layout.chunk_shape[axis], 1)


@dataclass(frozen=True)
class Copy(Step):
    """A step that copies intervals of one axis, between neighbours where the axis is chunked."""

    axis: int

    def intervals(self, layout: Layout) -> tuple[tuple[int, int, int], ...]:
        """What is copied: start in the old axis, start in the new one, length."""
        raise NotImplementedError

    def fragments(self, layout: Layout) -> list[Fragment]:
        """The intervals, cut at the borders of chunks."""
        before, after = layout.chunk_shape[self.axis], self.after(layout).chunk_shape[self.axis]
        return fragments(self.intervals(layout), before, after)

    def wire_bytes(self, layout: Layout) -> int:
        return traffic(self, layout)[0] * row_bytes(layout, self.axis)

    def collectives(self, layout: Layout) -> Mapping[str, int]:
        return permutes(self, layout)

    def parted(self, layout: Layout) -> list[list[Fragment]]:
        """All of it, from one array."""
        return [self.fragments(layout)]


@dataclass(frozen=True)
class Resize(Copy):
    """Another length of an axis: cut off at the end, or zeros appended. Also another chunk size of the same length."""

    size: int
    padding: int = 0

    def after(self, layout: Layout) -> Layout:
        return layout.with_axis(self.axis, size=self.size, padding=self.padding)

    def transposed(self, layout: Layout) -> Resize:
        return Resize(self.axis, layout.shape[self.axis], layout.padding[self.axis])

    def intervals(self, layout: Layout) -> tuple[tuple[int, int, int], ...]:
        return ((0, 0, min(self.size, layout.shape[self.axis])),)

    def describe(self, layout: Layout) -> str:
        old = layout.shape[self.axis]
        if old == self.size:
            return f"resize    axis {self.axis}: chunks of {self.after(layout).chunk_shape[self.axis]}"
        return f"resize    axis {self.axis}: {old} -> {self.size}"


@dataclass(frozen=True)
class Shift(Copy):
    """A cyclic shift of an axis towards higher indices."""

    amount: int

    def after(self, layout: Layout) -> Layout:
        return layout

    def transposed(self, layout: Layout) -> Shift:
        return Shift(self.axis, -self.amount % max(layout.shape[self.axis], 1))

    def intervals(self, layout: Layout) -> tuple[tuple[int, int, int], ...]:
        size = layout.shape[self.axis]
        amount = self.amount % max(size, 1)
        return tuple(part for part in ((0, amount, size - amount), (size - amount, 0, amount)) if part[2])

    def describe(self, layout: Layout) -> str:
        return f"shift     axis {self.axis} by {self.amount}"


@dataclass(frozen=True)
class Piece:
    """An interval of one lane of an axis, and where it goes.

    Parameters
    ----------
    source, target : int
        Where it starts, before and after.
    length : int
        Its elements.
    mirrored : bool
        Whether it arrives backwards.
    factor : float
        What it is multiplied by.
    source_lane, target_lane : int
        Which lane of the axis behind.
    """

    source: int
    target: int
    length: int
    mirrored: bool = False
    factor: float = 1.0
    source_lane: int = 0
    target_lane: int = 0

    def transposed(self) -> Piece:
        """The way back."""
        return replace(
            self,
            source=self.target,
            target=self.source,
            source_lane=self.target_lane,
            target_lane=self.source_lane,
        )

    def fragments(self, before: int, after: int) -> list[Fragment]:
        """The piece cut at the borders of chunks; of a mirrored one, starts are those in each chunk backwards."""
        if not self.mirrored:
            return fragments(((self.source, self.target, self.length),), before, after)
        found, done = [], 0
        while done < self.length:
            source, source_start = divmod(self.source + self.length - 1 - done, before)
            target, target_start = divmod(self.target + done, after)
            length = min(source_start + 1, after - target_start, self.length - done)
            found.append(Fragment(source, target, before - 1 - source_start, target_start, length))
            done += length
        return found


@dataclass(frozen=True)
class Rearrange(Step):
    """Pieces of the lanes of an axis in other places, some backwards, some negated; what no piece fills is zero.

    Parameters
    ----------
    axis : int
        The axis; its lanes are the axis behind it.
    size : int
        Its new length.
    lanes : int
        Lanes of the result.
    pieces : tuple of Piece
        What goes where. What comes from two pieces is added, which the transpose of a copy in two places needs.
    """

    axis: int
    size: int
    lanes: int
    pieces: tuple[Piece, ...]

    def after(self, layout: Layout) -> Layout:
        if layout.parts[self.axis + 1] > 1 or layout.padding[self.axis + 1]:
            raise LayoutError(f"the lanes along axis {self.axis + 1} are not whole in {layout}")
        padding = -self.size % layout.parts[self.axis]
        return layout.with_axis(self.axis, size=self.size, padding=padding).with_axis(self.axis + 1, size=self.lanes)

    def transposed(self, layout: Layout) -> Rearrange:
        back = tuple(piece.transposed() for piece in self.pieces)
        return Rearrange(self.axis, layout.shape[self.axis], layout.shape[self.axis + 1], back)

    def fragments(self, layout: Layout) -> list[list[Fragment]]:
        """For each piece, what goes where."""
        before, after = layout.chunk_shape[self.axis], self.after(layout).chunk_shape[self.axis]
        return [piece.fragments(before, after) for piece in self.pieces]

    def wire_bytes(self, layout: Layout) -> int:
        row = row_bytes(layout, self.axis) // max(layout.shape[self.axis + 1], 1)
        return traffic(self, layout)[0] * row

    def collectives(self, layout: Layout) -> Mapping[str, int]:
        return permutes(self, layout)

    def parted(self, layout: Layout) -> list[list[Fragment]]:
        """What goes where, for each piece."""
        return self.fragments(layout)

    def describe(self, layout: Layout) -> str:
        return f"rearrange axis {self.axis}: {layout.shape[self.axis]} -> {self.size}"
