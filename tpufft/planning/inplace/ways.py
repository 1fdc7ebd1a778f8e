"""Which plan transforms an axis where it is: by exchanges, by the ring, or, of one point, by a factor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tpufft.layout import Layout
from tpufft.planning.inplace.bluestein import bluestein
from tpufft.planning.inplace.builder import Cost, StepBuilder, Tools, Way, cheapest
from tpufft.planning.inplace.fourstep import four_step, row_count
from tpufft.planning.inplace.real import real_line
from tpufft.planning.inplace.trigonometric import trig_line
from tpufft.planning.operations import DFT, Real, Samples, Transform, Trig
from tpufft.steps import Diagonal, Ends, Nonuniform, Precision, RealPart, Ring, Widen

POINT = {"C1": 1.0, "C2": 1.0, "C3": 1.0, "C4": 0.5**0.5, "S1": 1.0}
"""What one point is multiplied by."""


def by_exchange(layout: Layout, operation: Transform, tools: Tools, order: str, cost: Cost) -> StepBuilder:
    """By the four-step plan, by its real form, or by Bluestein's convolution, whichever costs less."""

    def dft(build: StepBuilder, part: DFT, wanted: str = "natural") -> None:
        build.fit(part.axis, part.size)
        parts = build.layout.parts[part.axis]
        ways: list[Callable[[StepBuilder], None]] = []
        if row_count(part.size, parts) is not None:
            ways.append(lambda line: four_step(line, part, tools, wanted))
        if part.size % parts:
            ways.append(lambda line: bluestein(line, part, tools))
        cheapest(build, ways, cost)

    build = StepBuilder(layout)
    if isinstance(operation, DFT):
        dft(build, operation, order)
    elif isinstance(operation, Samples):
        nonuniform(build, operation, tools.precision, both_ways=False)
    else:
        _of_real(build, operation, replace(tools, cost=cost), dft)
    return build


def by_ring(layout: Layout, operation: Transform, tools: Tools, both_ways: bool) -> StepBuilder:
    """By the one-shuffle product with the DFT matrix; real transforms by the complex one of the same length."""

    def dft(build: StepBuilder, part: DFT) -> None:
        build.fit(part.axis, part.size)
        build.add(Ring(part.axis, part.inverse, part.scale, both_ways, tools.precision))

    build = StepBuilder(layout)
    if isinstance(operation, DFT):
        dft(build, operation)
    elif isinstance(operation, Samples):
        nonuniform(build, operation, tools.precision, both_ways)
    else:
        _of_real(build, operation, tools, dft)
    return build


def nonuniform(build: StepBuilder, operation: Samples, precision: Precision, both_ways: bool) -> None:
    """A matrix between any points, where the axis is; there is no other way than by blocks of it."""
    one = operation
    build.fit(one.axis, one.size)
    build.add(Nonuniform(one.axis, one.order, one.rows, one.columns, one.inverse, one.scale, both_ways, precision))


def _of_real(build: StepBuilder, operation: Real | Trig, tools: Tools, dft: Way) -> None:
    if operation.size == 1:
        single(build, operation)
    elif isinstance(operation, Real):
        real_line(build, operation, tools, dft)
    else:
        trig_line(build, operation, tools, dft)


def single(build: StepBuilder, operation: Transform) -> None:
    """A transform of one point: a factor, and another dtype."""
    build.fit(operation.axis, operation.points)
    if isinstance(operation, Real):
        build.add(RealPart() if operation.to_real else Widen())
    factor = operation.scale * (POINT[operation.kind] if isinstance(operation, Trig) else 1.0)
    if factor != 1.0:
        build.add(Diagonal(operation.axis, Ends(first=factor)))
