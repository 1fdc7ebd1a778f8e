"""The four-step plan of a chunked axis of real numbers: half the arithmetic and half the wire.

With N = A B, A and B even, j = a B + b and k = c + A d: of the A rows after the first transform A/2 + 1 are kept, the
others are their conjugates. Row c of the transformed matrix holds the frequencies c + A d and, conjugated and
backwards, those of row A - c: both are on one device, which unfolds them before the last exchange. What is left to the
wire besides three exchanges is a permute of fewer than P elements, since N/2 + 1 frequencies do not divide.
"""

from __future__ import annotations

import functools
import math

from tpufft.layout import ceil_div
from tpufft.planning.inplace.builder import StepBuilder, Tools, Way, cheapest, transposed
from tpufft.planning.inplace.fourstep import WASTE, divisors
from tpufft.planning.operations import DFT, Real
from tpufft.steps import (
    Collect,
    Diagonal,
    Ends,
    Local,
    LocalReal,
    Split,
    Twiddle,
    Unfold,
    Widen,
    half,
    real_dtype,
)

SLACK = 1.015
"""By how much the padded chunks of a matrix may exceed the least, if it is nearer to a square."""


def real_line(build: StepBuilder, operation: Real, tools: Tools, dft: Way) -> None:
    """Append the steps of a real DFT, or of its transpose, along a chunked axis.

    Parameters
    ----------
    build : StepBuilder
        Where the axis is chunked.
    operation : Real
        Axis, points, direction, scale.
    tools : Tools
        Of the local transforms.
    dft : Way
        Of the complex transform, for lengths that have no two even factors, or only such that cost more.
    """
    axis, size = operation.axis, operation.size
    rows = real_rows(size, build.layout.parts[axis]) if tools.cost else None
    build.fit(axis, operation.points)
    weights = Diagonal(axis, half_weights(size)) if operation.weighted else None

    def as_complex(line: StepBuilder) -> None:
        line.add(Widen())
        dft(line, DFT(axis, size, operation.inverse, operation.scale))
        line.fit(axis, half(size))

    def forward(line: StepBuilder) -> None:
        if rows is None or tools.cost is None:
            as_complex(line)
        else:
            cheapest(
                line, [as_complex, functools.partial(_paired, operation=operation, rows=rows, tools=tools)], tools.cost
            )

    if not operation.to_real:
        forward(build)
    if weights is not None:
        build.add(weights)
    if operation.to_real:
        signal = build.layout.with_axis(axis, size=size, padding=-size % build.layout.parts[axis])
        transposed(build, signal.with_dtype(real_dtype(signal.dtype)), forward)


def _paired(build: StepBuilder, operation: Real, rows: int, tools: Tools) -> None:
    axis, inner, size, inverse = operation.axis, operation.axis + 1, operation.size, operation.inverse
    names, parts = build.layout.spec[axis], build.layout.parts[axis]
    columns = size // rows
    build.fit(axis, size, ceil_div(rows, parts) * columns)
    build.add(Split(axis, rows))
    build.exchange(names, axis, inner)
    kernel = tools.kernel(build.layout, (axis,))
    build.add(LocalReal((axis,), rows, inverse, 1.0, False, False, kernel, tools.precision))
    build.add(Twiddle(axis, inner, size, inverse, operation.scale))
    build.exchange(names, inner, axis)
    build.add(Local((inner,), inverse, 1.0, tools.kernel(build.layout, (inner,)), tools.precision))
    build.add(Unfold(inner))
    build.exchange(names, axis, inner + 1)
    build.add(Collect(axis, rows))


@functools.lru_cache(maxsize=4096)
def real_rows(size: int, parts: int) -> int | None:
    """The even number of rows A, with an even number of columns, whose padded chunks are shortest.

    None where a length has no such factors, or only such that waste more than they save.
    """
    if size % 4:
        return None

    def padded(count: int) -> int:
        return ceil_div(count, parts) * parts

    def volume(rows: int) -> float:
        """Of three exchanges, in units of the complex transform's."""
        columns = size // rows
        first = padded(rows) * padded(columns) / 2
        return (first + padded(half(rows)) * (padded(columns) + 2 * padded(columns // 2))) / (3 * size)

    even = {rows: volume(rows) for rows in divisors(size) if rows % 2 == 0 and size // rows % 2 == 0}
    least = min(even.values())
    # Square matrices have the longest contiguous blocks.
    near = [rows for rows, wire in even.items() if wire <= least * SLACK]
    return min(near, key=lambda rows: abs(math.log(rows * rows / size))) if least <= WASTE / 2 else None


def half_weights(size: int) -> Ends:
    """How often each frequency of a half spectrum counts: twice, but for zero and the highest of an even length."""
    return Ends(1.0, 2.0, 1.0 if size % 2 == 0 or size == 1 else 2.0)
