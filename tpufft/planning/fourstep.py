"""The four-step plan of a chunked axis: N = P n points as a matrix of P rows, one for each device.

With j = a n + b and k = c + P d,
``X[c + P d] = sum_b W_n^(bd) W_N^(bc) sum_a W_P^(ac) x[a n + b]``:
exchange, P-point transforms, twiddle factors, exchange, n-point transforms. What is stored then is row c, the scrambled
order; a third exchange brings the natural one.
"""

from __future__ import annotations

from collections.abc import Callable

from tpufft.layout import AxisNames, Layout
from tpufft.planning.problem import DFT
from tpufft.steps import (
    Exchange,
    Interleave,
    Local,
    Merge,
    Pad,
    Precision,
    Resize,
    Split,
    Step,
    Trim,
    Twiddle,
)

KernelChoice = Callable[[Layout, tuple[int, ...]], str]


class StepBuilder:
    """Steps with the layout that they have reached.

    Parameters
    ----------
    layout : Layout
        Where the steps start.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.steps: list[Step] = []

    def add(self, step: Step) -> None:
        """Append one step."""
        self.layout = step.after(self.layout)
        self.steps.append(step)

    def exchange(self, names: AxisNames, source: int, target: int) -> None:
        """Append an exchange, with the padding that it needs and without the padding that it makes superfluous."""
        missing = self.layout.least_padding(target, self.layout.spec[target] + names) - self.layout.padding[target]
        if missing > 0:
            self.add(Pad(target, missing))
        self.add(Exchange(names, source, target))
        superfluous = self.layout.padding[source] - self.layout.least_padding(source)
        if superfluous and self.layout.parts[source] == 1:
            self.add(Trim(source, superfluous))
        elif superfluous:
            self.add(Resize(source, self.layout.shape[source], self.layout.least_padding(source)))


def four_step(layout: Layout, operation: DFT, order: str, kernel: KernelChoice, precision: Precision) -> list[Step]:
    """The steps of one chunked axis' DFT.

    Parameters
    ----------
    layout : Layout
        The axis divides evenly over its mesh axes.
    operation : DFT
        Its axis, direction and scale.
    order : str
        ``natural``, or ``scrambled``: of the result for a forward transform, of the input for an inverse one.
    kernel : callable
        Chooses the kernel for some axes of a layout.
    precision
        Of the kernels' products.
    """
    axis, names, rows = operation.axis, layout.spec[operation.axis], layout.parts[operation.axis]
    inner = axis + 1
    build = StepBuilder(layout)
    build.add(Split(axis, rows))
    columns = build.layout.shape[inner]
    # The inverse kernel divides by its length for nothing; any other scale rides on the twiddle factors.
    shares = operation.inverse and operation.scale == 1.0 / operation.size

    def local(target: int) -> None:
        scale = 1.0 / build.layout.shape[target] if shares else 1.0
        build.add(Local((target,), operation.inverse, scale, kernel(build.layout, (target,)), precision))

    def twiddle() -> None:
        scale = 1.0 if shares else operation.scale
        build.add(Twiddle(axis, inner, rows * columns, operation.inverse, scale))

    if order == "scrambled" and operation.inverse:
        local(inner)
        build.exchange(names, axis, inner)
        twiddle()
        local(axis)
        build.exchange(names, inner, axis)
        build.add(Merge(axis))
        return build.steps
    build.exchange(names, axis, inner)
    local(axis)
    twiddle()
    build.exchange(names, inner, axis)
    local(inner)
    if order == "scrambled":
        build.add(Merge(axis))
        return build.steps
    build.exchange(names, axis, inner)
    build.add(Interleave(axis))
    if build.layout.padding[axis]:
        build.add(Resize(axis, build.layout.shape[axis]))
    return build.steps
