"""Steps that show chunks as axes of their own; nothing leaves its device."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tpufft.errors import LayoutError
from tpufft.layout import Layout
from tpufft.steps.core import Step
from tpufft.steps.neighbours import Adjoint


@dataclass(frozen=True)
class OpenChunks(Step):
    """The chunks of axis `axis` as an axis of their own, put in front of axis `target`; each is whole then."""

    axis: int
    target: int

    def after(self, layout: Layout) -> Layout:
        if layout.padding[self.axis]:
            raise LayoutError(
                f"axis {self.axis} of length {layout.shape[self.axis]} does not divide into {layout.parts[self.axis]} "
                f"equal chunks in {layout}"
            )
        names, count, length = layout.spec[self.axis], layout.parts[self.axis], layout.chunk_shape[self.axis]
        return layout.with_axis(self.axis, size=length, names=()).insert_axis(self.target, count, names)

    def transposed(self, layout: Layout) -> CloseChunks:
        return CloseChunks(self.axis, self.target)

    def describe(self, layout: Layout) -> str:
        return f"view      chunks of axis {self.axis} as axis {self.target}"

    def beside(self, axis: int) -> tuple[OpenChunks, int]:
        """The same step on arrays with one more axis at `axis`, and where that axis is afterwards."""
        step = OpenChunks(self.axis + (self.axis >= axis), self.target + (self.target > axis))
        return step, axis + (step.target <= axis)


@dataclass(frozen=True)
class CloseChunks(Step):
    """The opposite of :class:`OpenChunks`: `axis` and `target` as that one has them."""

    axis: int
    target: int

    def after(self, layout: Layout) -> Layout:
        names, count, length = layout.spec[self.target], layout.parts[self.target], layout.shape[self.axis + 1]
        if layout.shape[self.target] != count or layout.parts[self.axis + 1] > 1:
            raise LayoutError(f"axis {self.target} of {layout} does not stand for the chunks of axis {self.axis + 1}")
        return layout.remove_axis(self.target).with_axis(self.axis, size=count * length, names=names)

    def transposed(self, layout: Layout) -> OpenChunks:
        return OpenChunks(self.axis, self.target)

    def describe(self, layout: Layout) -> str:
        return f"view      axes {self.target}, {self.axis + 1} as one chunked axis"

    def beside(self, axis: int) -> tuple[CloseChunks, int]:
        """As in :class:`OpenChunks`."""
        whole = self.axis + 1
        target = self.target + (self.target >= axis)
        return CloseChunks(whole + (whole >= axis) - 1, target), axis - (target < axis)


def beside(step: Step, axis: int) -> tuple[Step, int]:
    """A step on arrays with one more axis at `axis`, and where that axis is afterwards.

    Parameters
    ----------
    step : Step
        One that works on its `axis` and keeps all axes, or a view.
    axis : int
        Where the new axis stands before the step.
    """
    if isinstance(step, OpenChunks | CloseChunks):
        return step.beside(axis)
    if isinstance(step, Adjoint):
        inner, place = beside(step.step, axis)
        return Adjoint(inner), place  # type: ignore[arg-type]
    own: int = step.axis  # type: ignore[attr-defined]
    return replace(step, axis=own + (own >= axis)), axis  # type: ignore[call-arg]
