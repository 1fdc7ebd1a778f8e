"""Steps that copy intervals of one axis between chunks: other lengths, cyclic shifts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Copy(Step):
    """A step that copies intervals of one axis, between neighbours where the axis is chunked."""

    axis: int

    def intervals(self, layout: Layout) -> tuple[tuple[int, int, int], ...]:
        """What is copied: start in the old axis, start in the new one, length."""
        raise NotImplementedError

    def moved(self, layout: Layout) -> list[Fragment]:
        """What crosses from one chunk to another."""
        return [part for part in self.fragments(layout) if part.source != part.target]

    def fragments(self, layout: Layout) -> list[Fragment]:
        """The intervals, cut at the borders of chunks."""
        before, after = layout.chunk_shape[self.axis], self.after(layout).chunk_shape[self.axis]
        return fragments(self.intervals(layout), before, after)

    def rounds(self, layout: Layout) -> list[list[Fragment]]:
        """The moved fragments as partial permutations of the devices."""
        return rounds(self.moved(layout))

    def wire_bytes(self, layout: Layout) -> int:
        row = layout.chunk_bytes // max(layout.chunk_shape[self.axis], 1)
        return sum(max(part.length for part in group) for group in self.rounds(layout)) * row

    def collectives(self, layout: Layout) -> Mapping[str, int]:
        count = len(self.rounds(layout))
        return {"collective-permute": count} if count else {}


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
