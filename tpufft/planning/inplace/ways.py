"""Which plan transforms an axis where it is: by exchanges, by the ring, or, of one point, by a factor."""

from __future__ import annotations

from collections.abc import Callable

from tpufft.layout import Layout
from tpufft.planning.inplace.bluestein import bluestein
from tpufft.planning.inplace.builder import StepBuilder, Tools, Way
from tpufft.planning.inplace.fourstep import four_step
from tpufft.planning.inplace.real import real_line
from tpufft.planning.inplace.trigonometric import trig_line
from tpufft.planning.operations import DFT, Real, Transform, Trig
from tpufft.steps import Diagonal, Ends, Program, RealPart, Ring, Widen

Cost = Callable[[Program], float]

POINT = {"C1": 1.0, "C2": 1.0, "C3": 1.0, "C4": 0.5**0.5, "S1": 1.0}
"""What one point is multiplied by."""


def by_exchange(layout: Layout, operation: Transform, tools: Tools, order: str, cost: Cost) -> StepBuilder:
    """By the four-step plan, by its real form, or by Bluestein's convolution, whichever costs less."""

    def dft(build: StepBuilder, part: DFT, wanted: str = "natural") -> None:
        build.fit(part.axis, part.size)
        start = build.layout
        found = []
        stepped = StepBuilder(start)
        if four_step(stepped, part, tools, wanted):
            found.append(stepped)
        if part.size % start.parts[part.axis]:
            convolved = StepBuilder(start)
            bluestein(convolved, part, tools)
            found.append(convolved)
        build.extend(min(found, key=lambda other: cost(other.program)).steps)

    if isinstance(operation, DFT):
        build = StepBuilder(layout)
        dft(build, operation, order)
        return build
    return _line(layout, operation, tools, dft, paired=True)


def by_ring(layout: Layout, operation: Transform, tools: Tools, both_ways: bool) -> StepBuilder:
    """By the one-shuffle product with the DFT matrix; real transforms by the complex one of the same length."""

    def dft(build: StepBuilder, part: DFT) -> None:
        build.fit(part.axis, part.size)
        build.add(Ring(part.axis, part.inverse, part.scale, both_ways, tools.precision))

    return _line(layout, operation, tools, dft, paired=False)


def single(build: StepBuilder, operation: Transform) -> None:
    """A transform of one point: a factor, and another dtype."""
    build.fit(operation.axis, operation.points)
    if isinstance(operation, Real):
        build.add(RealPart() if operation.to_real else Widen())
    factor = operation.scale * (POINT[operation.kind] if isinstance(operation, Trig) else 1.0)
    if factor != 1.0:
        build.add(Diagonal(operation.axis, Ends(first=factor)))


def _line(layout: Layout, operation: Transform, tools: Tools, dft: Way, *, paired: bool) -> StepBuilder:
    build = StepBuilder(layout)
    if operation.size == 1:
        single(build, operation)
    elif isinstance(operation, Real):
        real_line(build, operation, tools, dft, paired=paired)
    elif isinstance(operation, Trig):
        trig_line(build, operation, tools, dft, paired=paired)
    else:
        dft(build, operation)
    return build
