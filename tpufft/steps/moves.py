"""Steps that change the layout: exchanges, padding, and an axis seen as a matrix or back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tpufft.errors import LayoutError
from tpufft.layout import AxisNames, Layout, mesh_size
from tpufft.steps.core import Step


@dataclass(frozen=True)
class Exchange(Step):
    """Axis `source` is freed of the mesh axes `names`, and axis `target` is split over them instead.

    Parameters
    ----------
    names : tuple of str
        The mesh axes.
    source, target : int
        The axis that becomes whole, and the one that is split.
    shared : bool
        By copies within the memory that CPU devices of one process share, instead of an all-to-all. A program that
        other programs may run beside, one of a caller's own ``jit``, takes the all-to-all all the same.
    """

    names: AxisNames
    source: int
    target: int
    shared: bool = False

    def after(self, layout: Layout) -> Layout:
        return layout.move(self.names, self.source, self.target)

    def transposed(self, layout: Layout) -> Exchange:
        return Exchange(self.names, self.target, self.source, self.shared)

    def wire_bytes(self, layout: Layout) -> int:
        parts = mesh_size(layout.mesh, self.names)
        return layout.chunk_bytes * (parts - 1) // parts

    def collectives(self, layout: Layout) -> Mapping[str, int]:
        return {"shared-exchange" if self.shared else "all-to-all": 1}

    def describe(self, layout: Layout) -> str:
        how = ", in shared memory" if self.shared else ""
        return f"exchange  {', '.join(self.names)}: axis {self.source} -> axis {self.target}{how}"


@dataclass(frozen=True)
class Part(Step):
    """Every device keeps its own part of what all along the mesh axes `names` hold: axis `axis` is split over them.

    Only products begin with it, and their derivatives are products again: it has no transpose, which would gather.
    """

    names: AxisNames
    axis: int

    def after(self, layout: Layout) -> Layout:
        return layout.with_axis(self.axis, names=layout.spec[self.axis] + self.names)

    def transposed(self, layout: Layout) -> Step:
        raise LayoutError(f"a part of {layout} along {self.names} has no transpose that does not gather")

    def describe(self, layout: Layout) -> str:
        return f"part      axis {self.axis} over {', '.join(self.names)}"


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
class Split(Step):
    """An axis seen as the rows and columns of a matrix, row by row; the rows stay chunked."""

    axis: int
    rows: int

    def after(self, layout: Layout) -> Layout:
        size, padding = layout.shape[self.axis], layout.padding[self.axis]
        columns = max(size // self.rows, 1)
        if size % self.rows or padding % columns or layout.chunk_shape[self.axis] % columns:
            raise LayoutError(f"axis {self.axis} of {size} in {layout} has no {self.rows} rows of whole chunks")
        rows = layout.with_axis(self.axis, size=self.rows, padding=padding // columns)
        return rows.insert_axis(self.axis + 1, size // self.rows)

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
        if layout.parts[self.axis + 1] > 1 or layout.padding[self.axis + 1]:
            raise LayoutError(f"rows along axis {self.axis} are not whole in {layout}")
        padding = columns * layout.padding[self.axis]
        return layout.remove_axis(self.axis + 1).with_axis(self.axis, size=rows * columns, padding=padding)

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
