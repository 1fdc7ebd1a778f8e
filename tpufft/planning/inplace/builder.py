"""Steps with the layout that they have reached."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tpufft.layout import AxisNames, Layout, ceil_div
from tpufft.planning.operations import DFT
from tpufft.steps import Exchange, Pad, Precision, Program, Resize, Step, Trim

KernelChoice = Callable[[Layout, tuple[int, ...]], str]
Cost = Callable[[Program], float]
Way = Callable[["StepBuilder", DFT], None]
"""Transforms a chunked axis where it is, from and to natural order and the least padding."""


@dataclass(frozen=True)
class Tools:
    """What the ways of a chunked axis share.

    Parameters
    ----------
    kernel : callable
        Chooses the kernel for some axes of a layout.
    precision
        Of the kernels' products.
    cost : callable, optional
        Seconds of a program, where there is more than one way. None: only by the complex transform.
    """

    kernel: KernelChoice
    precision: Precision = None
    cost: Cost | None = None


class StepBuilder:
    """Steps with the layout that they have reached.

    Parameters
    ----------
    layout : Layout
        Where the steps start.
    """

    def __init__(self, layout: Layout) -> None:
        self.start = layout
        self.layout = layout
        self.steps: list[Step] = []

    def copy(self) -> StepBuilder:
        """Another builder that has come as far."""
        other = StepBuilder(self.start)
        other.layout, other.steps = self.layout, list(self.steps)
        return other

    def add(self, step: Step) -> None:
        """Append one step."""
        self.layout = step.after(self.layout)
        self.steps.append(step)

    def extend(self, steps: Sequence[Step]) -> None:
        """Append several steps."""
        for step in steps:
            self.add(step)

    def exchange(self, names: AxisNames, source: int, target: int) -> None:
        """Append an exchange, with the padding that it needs and without the padding that it makes superfluous."""
        self.make_room(names, target)
        self.add(Exchange(names, source, target))
        superfluous = self.layout.padding[source] - self.layout.least_padding(source)
        if superfluous and self.layout.parts[source] == 1:
            self.add(Trim(source, superfluous))
        elif superfluous:
            self.add(Resize(source, self.layout.shape[source], self.layout.least_padding(source)))

    def make_room(self, names: AxisNames, axis: int) -> None:
        """Append the padding with which an axis can be split by more mesh axes."""
        size, count, parts = self.layout.shape[axis], self.layout.device_count_along(names), self.layout.parts[axis]
        if parts > 1 and self.layout.chunk_shape[axis] % count:
            self.fit(axis, size, count * ceil_div(size, count * parts))
        missing = self.layout.least_padding(axis, self.layout.spec[axis] + names) - self.layout.padding[axis]
        if missing > 0:
            self.add(Pad(axis, missing))

    def fit(self, axis: int, size: int, chunk: int | None = None) -> None:
        """Cut or zero-pad an axis to `size`, in chunks of `chunk` elements (None: the least)."""
        parts = self.layout.parts[axis]
        padding = -size % parts if chunk is None else parts * chunk - size
        if (self.layout.shape[axis], self.layout.padding[axis]) != (size, padding):
            self.add(Resize(axis, size, padding))

    @property
    def program(self) -> Program:
        """All steps from the start."""
        return Program(self.start, tuple(self.steps))


def cheapest(build: StepBuilder, ways: Sequence[Callable[[StepBuilder], None]], cost: Cost) -> None:
    """Append what costs least of several ways to the same result."""
    found = []
    for way in ways:
        found.append(StepBuilder(build.layout))
        way(found[-1])
    build.extend(min(found, key=lambda other: cost(other.program)).steps)


def transposed(build: StepBuilder, start: Layout, way: Callable[[StepBuilder], None]) -> None:
    """Append the transpose of what `way` does from `start`, which must end in the layout reached."""
    other = StepBuilder(start)
    way(other)
    build.extend(other.program.transposed().steps)
