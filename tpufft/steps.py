"""The steps of a plan, as data: one thing that every device does, what it costs, and its transpose.

A step knows nothing of how it is carried out (that is ``execution``) and nothing of time (that is
``planning.cost``). Given the layout before it, it tells the layout after it, the bytes that each device puts on the
wire, the collectives it executes, and the step that is its transpose as a linear map. A :class:`Program` is an input
layout and steps.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from jax.lax import DotAlgorithmPreset

from tpufft.errors import LayoutError
from tpufft.layout import AxisNames, Layout, mesh_size

Precision = str | DotAlgorithmPreset | None


@dataclass(frozen=True)
class Step:
    """One thing every device does."""

    def after(self, layout: Layout) -> Layout:
        """The layout that this step leaves."""
        raise NotImplementedError

    def transposed(self, layout: Layout) -> Step:
        """The step whose matrix is the transpose of this one's, given the layout before this one."""
        raise NotImplementedError

    def wire_bytes(self, layout: Layout) -> int:
        """Bytes that one device sends."""
        del layout
        return 0

    def collectives(self, layout: Layout) -> Mapping[str, int]:
        """HLO collectives that are executed, by opcode."""
        del layout
        return {}

    def describe(self, layout: Layout) -> str:
        """The step in a few words, given the layout before it."""
        raise NotImplementedError


@dataclass(frozen=True)
class Local(Step):
    r"""An unnormalised DFT times `scale` along axes that every device holds whole.

    .. math:: y_k = \text{scale} \sum_j x_j\, e^{\mp 2\pi i jk/N}
    """

    axes: tuple[int, ...]
    inverse: bool
    scale: float
    kernel: str
    precision: Precision = None

    def after(self, layout: Layout) -> Layout:
        for axis in self.axes:
            if layout.parts[axis] > 1 or layout.padding[axis]:
                raise LayoutError(f"axis {axis} is not whole on every device in {layout}")
        return layout

    def transposed(self, layout: Layout) -> Local:
        return self

    def describe(self, layout: Layout) -> str:
        lengths = " x ".join(str(layout.shape[axis]) for axis in self.axes)
        axes = f"ax{'is' if len(self.axes) == 1 else 'es'} {', '.join(map(str, self.axes))}"
        return f"local     {axes} of {lengths}, kernel {self.kernel}"


@dataclass(frozen=True)
class Exchange(Step):
    """An all-to-all that frees axis `source` of the mesh axes `names` and splits axis `target` instead."""

    names: AxisNames
    source: int
    target: int

    def after(self, layout: Layout) -> Layout:
        return layout.move(self.names, self.source, self.target)

    def transposed(self, layout: Layout) -> Exchange:
        return Exchange(self.names, self.target, self.source)

    def wire_bytes(self, layout: Layout) -> int:
        parts = mesh_size(layout.mesh, self.names)
        return layout.chunk_bytes * (parts - 1) // parts

    def collectives(self, layout: Layout) -> Mapping[str, int]:
        return {"all-to-all": 1}

    def describe(self, layout: Layout) -> str:
        return f"exchange  {', '.join(self.names)}: axis {self.source} -> axis {self.target}"


@dataclass(frozen=True)
class Ring(Step):
    """A DFT along a chunked axis by the one-shuffle product: chunks travel, a block row of the matrix stays."""

    axis: int
    inverse: bool
    scale: float
    both_ways: bool = False
    precision: Precision = None

    def after(self, layout: Layout) -> Layout:
        if layout.padding[self.axis]:
            raise LayoutError(f"axis {self.axis} is padded in {layout}; the ring needs equal chunks")
        return layout

    def transposed(self, layout: Layout) -> Ring:
        return self

    def wire_bytes(self, layout: Layout) -> int:
        return layout.chunk_bytes * (layout.parts[self.axis] - 1)

    def collectives(self, layout: Layout) -> Mapping[str, int]:
        return {"collective-permute": layout.parts[self.axis] - 1}

    def describe(self, layout: Layout) -> str:
        ways = "both ways" if self.both_ways else "one way"
        return f"ring      axis {self.axis} of {layout.shape[self.axis]}, {', '.join(layout.spec[self.axis])} {ways}"


@dataclass(frozen=True)
class Twiddle(Step):
    r"""Multiplication by :math:`\text{scale}\cdot e^{\mp 2\pi i rc/\text{modulus}}`, r and c the indices on two axes."""

    rows: int
    columns: int
    modulus: int
    inverse: bool
    scale: float = 1.0

    def after(self, layout: Layout) -> Layout:
        return layout

    def transposed(self, layout: Layout) -> Twiddle:
        return self

    def describe(self, layout: Layout) -> str:
        return f"twiddle   axes {self.rows}, {self.columns} by roots of order {self.modulus}"


@dataclass(frozen=True)
class Pad(Step):
    """Storage behind the end of a whole axis, so that it can be split."""

    axis: int
    amount: int

    def after(self, layout: Layout) -> Layout:
        return layout.with_axis(self.axis, padding=layout.padding[self.axis] + self.amount)

    def transposed(self, layout: Layout) -> Trim:
        return Trim(self.axis, self.amount)

    def describe(self, layout: Layout) -> str:
        return f"pad       axis {self.axis} by {self.amount}"


@dataclass(frozen=True)
class Trim(Step):
    """The end of :class:`Pad`: an axis that is whole again loses its padding."""

    axis: int
    amount: int

    def after(self, layout: Layout) -> Layout:
        return layout.with_axis(self.axis, padding=layout.padding[self.axis] - self.amount)

    def transposed(self, layout: Layout) -> Pad:
        return Pad(self.axis, self.amount)

    def describe(self, layout: Layout) -> str:
        return f"trim      axis {self.axis} by {self.amount}"


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


@dataclass(frozen=True)
class Split(Step):
    """An axis seen as the rows and columns of a matrix, row by row; the rows stay chunked."""

    axis: int
    rows: int

    def after(self, layout: Layout) -> Layout:
        size = layout.shape[self.axis]
        if size % self.rows or self.rows % layout.parts[self.axis] or layout.padding[self.axis]:
            raise LayoutError(f"axis {self.axis} of {size} in {layout} has no {self.rows} rows of whole chunks")
        return layout.with_axis(self.axis, size=self.rows).insert_axis(self.axis + 1, size // self.rows)

    def transposed(self, layout: Layout) -> Merge:
        return Merge(self.axis)

    def describe(self, layout: Layout) -> str:
        return f"view      axis {self.axis} as {self.rows} rows of {layout.shape[self.axis] // self.rows}"


@dataclass(frozen=True)
class Merge(Step):
    """The opposite of :class:`Split`: axes `axis` and ``axis + 1`` as one, row by row."""

    axis: int

    def after(self, layout: Layout) -> Layout:
        rows, columns = layout.shape[self.axis], layout.shape[self.axis + 1]
        if layout.parts[self.axis + 1] > 1 or layout.padding[self.axis + 1] or layout.padding[self.axis]:
            raise LayoutError(f"rows along axis {self.axis} are not whole in {layout}")
        return layout.remove_axis(self.axis + 1).with_axis(self.axis, size=rows * columns)

    def transposed(self, layout: Layout) -> Split:
        return Split(self.axis, layout.shape[self.axis])

    def describe(self, layout: Layout) -> str:
        return f"view      axes {self.axis}, {self.axis + 1} as one"


@dataclass(frozen=True)
class Interleave(Step):
    """Axes `axis` and ``axis + 1`` as one, column by column; the columns' chunking stays."""

    axis: int

    def after(self, layout: Layout) -> Layout:
        rows, columns = layout.shape[self.axis], layout.shape[self.axis + 1]
        if layout.parts[self.axis] > 1 or layout.padding[self.axis]:
            raise LayoutError(f"columns along axis {self.axis} are not whole in {layout}")
        return layout.remove_axis(self.axis).with_axis(
            self.axis, size=rows * columns, padding=rows * layout.padding[self.axis + 1]
        )

    def transposed(self, layout: Layout) -> Deinterleave:
        return Deinterleave(self.axis, layout.shape[self.axis])

    def describe(self, layout: Layout) -> str:
        return f"reorder   axes {self.axis}, {self.axis + 1} as one, column by column"


@dataclass(frozen=True)
class Deinterleave(Step):
    """The opposite of :class:`Interleave`: an axis as `rows` x columns, column by column."""

    axis: int
    rows: int

    def after(self, layout: Layout) -> Layout:
        size, padding = layout.shape[self.axis], layout.padding[self.axis]
        if size % self.rows or padding % self.rows or layout.chunk_shape[self.axis] % self.rows:
            raise LayoutError(f"axis {self.axis} of {size} in {layout} has no columns of {self.rows} in whole chunks")
        columns = layout.with_axis(self.axis, size=size // self.rows, padding=padding // self.rows)
        return columns.insert_axis(self.axis, self.rows)

    def transposed(self, layout: Layout) -> Interleave:
        return Interleave(self.axis)

    def describe(self, layout: Layout) -> str:
        return f"reorder   axis {self.axis} as columns of {self.rows}"


# -- copies between chunks -------------------------------------------------------------------------------------------


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
    for part in sorted(parts, key=lambda part: (-part.length, part.source_start, part.target_start, part.target)):
        for group in groups:
            if all(part.source != other.source and part.target != other.target for other in group):
                group.append(part)
                break
        else:
            groups.append([part])
    return groups


# -- programs ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Program:
    """An input layout and the steps that lead to the output layout."""

    in_layout: Layout
    steps: tuple[Step, ...]

    @cached_property
    def layouts(self) -> tuple[Layout, ...]:
        """The layout before each step, and the last one's result."""
        layouts = [self.in_layout]
        for step in self.steps:
            layouts.append(step.after(layouts[-1]))
        return tuple(layouts)

    @property
    def out_layout(self) -> Layout:
        """The layout of the result."""
        return self.layouts[-1]

    @property
    def wire_bytes(self) -> int:
        """Bytes that one device sends."""
        return sum(step.wire_bytes(layout) for step, layout in zip(self.steps, self.layouts, strict=False))

    @property
    def collectives(self) -> dict[str, int]:
        """Collectives that are executed, by HLO opcode."""
        total: Counter[str] = Counter()
        for step, layout in zip(self.steps, self.layouts, strict=False):
            total.update(step.collectives(layout))
        return dict(total)

    def transposed(self) -> Program:
        """The program of the transposed matrix: the steps' transposes, last first."""
        pairs = list(zip(self.steps, self.layouts, strict=False))
        return Program(self.out_layout, tuple(step.transposed(layout) for step, layout in reversed(pairs)))

    def then(self, other: Program) -> Program:
        """Both programs, one after the other."""
        if other.in_layout != self.out_layout:
            raise LayoutError(f"the first program leaves {self.out_layout}, the second takes {other.in_layout}")
        return Program(self.in_layout, self.steps + other.steps)


def dft_flops(length: int, batch: int) -> float:
    """FLOPs of a complex DFT by a fast algorithm, by the usual convention 5 N log2 N."""
    return 5.0 * length * math.log2(max(length, 2)) * batch if length > 1 else 0.0


__all__ = [
    "Copy",
    "Deinterleave",
    "Exchange",
    "Fragment",
    "Interleave",
    "Local",
    "Merge",
    "Pad",
    "Precision",
    "Program",
    "Resize",
    "Ring",
    "Shift",
    "Split",
    "Step",
    "Trim",
    "Twiddle",
    "dft_flops",
]
