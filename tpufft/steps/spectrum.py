"""Steps of the real four-step plan: a matrix of half its rows unfolded to both halves, and brought into order.

With N = A B, A even, j = a B + b and k = c + A d, the real input leaves rows c = 0 ... A/2 after the first transform;
row c also holds, conjugated and backwards, the frequencies of row A - c. So both are on one device before the last
exchange, and what is left to the wire is a permute of a few elements.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tpufft.errors import LayoutError
from tpufft.layout import Layout
from tpufft.steps.copies import Fragment, fragments, permutes, row_bytes, traffic
from tpufft.steps.core import Step
from tpufft.steps.real import half


@dataclass(frozen=True)
class Unfold(Step):
    """A whole axis of B columns as two lanes of B/2: the first half, and the conjugate of the second half backwards."""

    axis: int

    def after(self, layout: Layout) -> Layout:
        size = layout.shape[self.axis]
        if size % 2 or layout.parts[self.axis] > 1 or layout.padding[self.axis] or layout.dtype.kind != "c":
            raise LayoutError(f"axis {self.axis} of {layout} is not an even number of whole complex columns")
        return layout.with_axis(self.axis, size=size // 2).insert_axis(self.axis, 2)

    def transposed(self, layout: Layout) -> Fold:
        return Fold(self.axis)

    def describe(self, layout: Layout) -> str:
        return f"unfold    axis {self.axis} into both halves of the spectrum"


@dataclass(frozen=True)
class Fold(Step):
    """The transpose of :class:`Unfold`, and its inverse."""

    axis: int

    def after(self, layout: Layout) -> Layout:
        size = layout.shape[self.axis + 1]
        if layout.shape[self.axis] != 2 or layout.parts[self.axis + 1] > 1 or layout.padding[self.axis + 1]:
            raise LayoutError(f"axes {self.axis}, {self.axis + 1} of {layout} are not two lanes of whole columns")
        return layout.remove_axis(self.axis).with_axis(self.axis, size=2 * size)

    def transposed(self, layout: Layout) -> Unfold:
        return Unfold(self.axis)

    def describe(self, layout: Layout) -> str:
        return f"fold      axes {self.axis}, {self.axis + 1} into a half of the rows"


def half_spectrum_fragments(rows: int, columns: int, chunk: int, target: int) -> list[Fragment]:
    """How the ordered columns of every device become equal chunks of the half spectrum.

    Each device holds `chunk` columns of `rows` frequencies and, behind them, one element more: on the device of the
    last column that is the highest frequency, ``rows * columns``.

    Parameters
    ----------
    rows, columns : int
        A, and half of B.
    chunk : int
        Columns on a device.
    target : int
        Elements of a chunk of the result.
    """
    size = rows * columns
    parts = fragments(((0, 0, size),), chunk * rows, target)
    holder, (device, start) = (columns - 1) // chunk, divmod(size, target)
    return [*parts, Fragment(holder, device, chunk * rows, start, 1)]


@dataclass(frozen=True)
class Collect(Step):
    """Rows c = 0 ... A/2, two lanes and chunked columns as the half spectrum in natural order, chunked alike."""

    axis: int
    rows: int

    def after(self, layout: Layout) -> Layout:
        if layout.shape[self.axis : self.axis + 2] != (half(self.rows), 2) or layout.parts[self.axis] > 1:
            raise LayoutError(f"axes {self.axis}, {self.axis + 1} of {layout} are not the half rows of {self.rows}")
        line = layout.remove_axis(self.axis).remove_axis(self.axis)
        size = self.rows * line.shape[self.axis] + 1
        return line.with_axis(self.axis, size=size, padding=-size % line.parts[self.axis])

    def transposed(self, layout: Layout) -> Spread:
        return Spread(self.axis, self.rows)

    def parts(self, layout: Layout) -> list[Fragment]:
        """What goes where."""
        chunk, target = layout.chunk_shape[self.axis + 2], self.after(layout).chunk_shape[self.axis]
        return half_spectrum_fragments(self.rows, layout.shape[self.axis + 2], chunk, target)

    def wire_bytes(self, layout: Layout) -> int:
        after = self.after(layout)
        return traffic(self, layout)[0] * row_bytes(after, self.axis)

    def collectives(self, layout: Layout) -> Mapping[str, int]:
        return permutes(self, layout)

    def parted(self, layout: Layout) -> list[list[Fragment]]:
        """All of it, from one array."""
        return [self.parts(layout)]

    def describe(self, layout: Layout) -> str:
        return f"collect   axis {self.axis} as the half spectrum of {2 * self.rows * layout.shape[self.axis + 2]}"


@dataclass(frozen=True)
class Spread(Step):
    """The transpose of :class:`Collect`: what it leaves out comes back as zeros."""

    axis: int
    rows: int

    def after(self, layout: Layout) -> Layout:
        columns, rest = divmod(layout.shape[self.axis] - 1, self.rows)
        if rest:
            raise LayoutError(f"axis {self.axis} of {layout} is no half spectrum of {self.rows} rows")
        line = layout.with_axis(self.axis, size=columns, padding=-columns % layout.parts[self.axis])
        return line.insert_axis(self.axis, 2).insert_axis(self.axis, half(self.rows))

    def transposed(self, layout: Layout) -> Collect:
        return Collect(self.axis, self.rows)

    def parts(self, layout: Layout) -> list[Fragment]:
        """What goes where."""
        after = self.after(layout)
        chunk, target = after.chunk_shape[self.axis + 2], layout.chunk_shape[self.axis]
        forward = half_spectrum_fragments(self.rows, after.shape[self.axis + 2], chunk, target)
        return [Fragment(p.target, p.source, p.target_start, p.source_start, p.length) for p in forward]

    def wire_bytes(self, layout: Layout) -> int:
        return traffic(self, layout)[0] * row_bytes(layout, self.axis)

    def collectives(self, layout: Layout) -> Mapping[str, int]:
        return permutes(self, layout)

    def parted(self, layout: Layout) -> list[list[Fragment]]:
        """All of it, from one array."""
        return [self.parts(layout)]

    def describe(self, layout: Layout) -> str:
        return f"spread    axis {self.axis} over half of {self.rows} rows"
