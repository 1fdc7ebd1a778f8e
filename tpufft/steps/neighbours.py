"""Steps that look at the cells of neighbouring chunks, and other lengths of an axis that keep its chunking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tpufft.errors import LayoutError
from tpufft.layout import Layout, ceil_div
from tpufft.steps.copies import row_bytes
from tpufft.steps.core import Step

MODES = ("wrap", "constant", "edge", "reflect", "symmetric")
"""What stands beyond the ends of an axis, in numpy.pad's words; ``constant`` is zero."""


@dataclass(frozen=True)
class Neighbourly(Step):
    """A step along one axis that keeps the number of chunks; the layout before follows from the one behind.

    Its transpose is :class:`Adjoint`, which JAX derives from the way in which the step is carried out.
    """

    axis: int

    def before(self, layout: Layout) -> Layout:
        """The layout that this step takes, given the one it leaves."""
        raise NotImplementedError

    def transposed(self, layout: Layout) -> Step:
        return Adjoint(self)


@dataclass(frozen=True)
class Adjoint(Step):
    """The transpose of a step: what it took from a neighbour is added there."""

    step: Neighbourly

    @property
    def axis(self) -> int:
        """That of the step."""
        return self.step.axis

    def after(self, layout: Layout) -> Layout:
        return self.step.before(layout)

    def transposed(self, layout: Layout) -> Step:
        return self.step

    def wire_bytes(self, layout: Layout) -> int:
        return self.step.wire_bytes(self.after(layout))

    def collectives(self, layout: Layout) -> Mapping[str, int]:
        return self.step.collectives(self.after(layout))

    def describe(self, layout: Layout) -> str:
        return f"{self.step.describe(self.after(layout))}, transposed"


@dataclass(frozen=True)
class Halo(Neighbourly):
    """Every chunk widened by its neighbours' cells.

    Parameters
    ----------
    axis : int
        Along which axis.
    left, right : int
        Cells in front of each chunk and behind it.
    mode : str
        One of :data:`MODES`, for what is beyond the array's ends.
    """

    left: int
    right: int
    mode: str

    def after(self, layout: Layout) -> Layout:
        return layout.with_axis(self.axis, size=layout.shape[self.axis] + self._more(layout))

    def before(self, layout: Layout) -> Layout:
        return layout.with_axis(self.axis, size=layout.shape[self.axis] - self._more(layout))

    def _more(self, layout: Layout) -> int:
        return (self.left + self.right) * layout.parts[self.axis]

    def reaches(self, layout: Layout) -> tuple[int, int]:
        """Cells that are fetched from either side: those beyond an end are mirrored from within the other side's."""
        chunk, own = layout.chunk_shape[self.axis], 1 if self.mode == "reflect" else 0
        if self.mode in ("constant", "edge"):
            # Further away than the other chunks there is nothing to fetch.
            most = chunk * (layout.parts[self.axis] - 1)
            return min(self.left, most), min(self.right, most)
        if self.mode == "wrap":
            return self.left, self.right
        size = layout.shape[self.axis]
        last = size - (size - 1) // chunk * chunk
        return max(self.left, self.right - last + own), max(self.right, self.left - chunk + own)

    def wraps_by_sum(self, layout: Layout) -> bool:
        """Whether both ends are told to all: the last chunk is short, so that no neighbour's permute leads there."""
        return self.mode == "wrap" and layout.padding[self.axis] > 0

    def wire_bytes(self, layout: Layout) -> int:
        if layout.parts[self.axis] == 1:
            return 0
        ends = 2 * (self.left + self.right) if self.wraps_by_sum(layout) else 0
        return (sum(self.reaches(layout)) + ends) * row_bytes(layout, self.axis)

    def collectives(self, layout: Layout) -> Mapping[str, int]:
        if layout.parts[self.axis] == 1:
            return {}
        hops = sum(ceil_div(reach, layout.chunk_shape[self.axis]) for reach in self.reaches(layout))
        sums = (self.left > 0) + (self.right > 0) if self.wraps_by_sum(layout) else 0
        counts = {"collective-permute": hops, "all-reduce": sums}
        return {name: count for name, count in counts.items() if count}

    def describe(self, layout: Layout) -> str:
        return f"halo      axis {self.axis}: {self.left} before, {self.right} behind, {self.mode}"


@dataclass(frozen=True)
class Repeat(Neighbourly):
    """Every element `times` times."""

    times: int

    def after(self, layout: Layout) -> Layout:
        size, padding = layout.shape[self.axis], layout.padding[self.axis]
        return layout.with_axis(self.axis, size=size * self.times, padding=padding * self.times)

    def before(self, layout: Layout) -> Layout:
        size, padding = layout.shape[self.axis], layout.padding[self.axis]
        return layout.with_axis(self.axis, size=size // self.times, padding=padding // self.times)

    def describe(self, layout: Layout) -> str:
        return f"repeat    axis {self.axis}: each element {self.times} times"


@dataclass(frozen=True)
class Prolong(Neighbourly):
    """Twice as many points by linear interpolation, times a factor.

    Parameters
    ----------
    axis : int
        Along which axis.
    mode : str
        One of :data:`MODES`, for the point behind the last.
    factor : float
        Of all values.
    """

    mode: str
    factor: float = 1.0

    @property
    def halo(self) -> Halo:
        """What it needs of its neighbours."""
        return Halo(self.axis, 0, 1, self.mode)

    def after(self, layout: Layout) -> Layout:
        return Repeat(self.axis, 2).after(layout)

    def before(self, layout: Layout) -> Layout:
        size, padding = layout.shape[self.axis], layout.padding[self.axis]
        if size % 2 or padding % 2:
            raise LayoutError(f"axis {self.axis} of length {size} in {layout} is not twice another")
        return Repeat(self.axis, 2).before(layout)

    def wire_bytes(self, layout: Layout) -> int:
        return self.halo.wire_bytes(layout)

    def collectives(self, layout: Layout) -> Mapping[str, int]:
        return self.halo.collectives(layout)

    def describe(self, layout: Layout) -> str:
        return f"prolong   axis {self.axis}: {layout.shape[self.axis]} -> {2 * layout.shape[self.axis]}, {self.mode}"
