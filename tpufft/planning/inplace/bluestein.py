"""Bluestein's plan of a chunked axis of any length: the DFT as a convolution with a chirp.

With c_j = exp(-+ pi i j^2 / L), ``exp(-+ 2 pi i jk/L) = c_j c_k conj(c_(k-j))``: modulate, convolve cyclically,
modulate. The convolution's length is 2 P B, a matrix of 2 P rows of which the signal fills the first half, a row on
each device, so that its zeros never cross the wire; nor is anything reordered. Four exchanges, of B, 2 B, 2 B and B
elements, and one of the kernel.
"""

from __future__ import annotations

from dataclasses import replace

from tpufft.layout import Layout, ceil_div
from tpufft.planning.inplace.builder import StepBuilder, Tools
from tpufft.planning.operations import DFT
from tpufft.steps import Chirp, ChirpSpectrum, Diagonal, Exchange, Local, Merge, Program, Resize, Split, Step, Twiddle


def bluestein(build: StepBuilder, operation: DFT, tools: Tools, order: int | None = None) -> None:
    r"""Append the steps of one chunked axis' DFT, or of a chirp transform with roots of another order.

    .. math:: X_k = \text{scale} \sum_{j<N} x_j\, e^{\mp 2\pi i jk/L}, \qquad k < N

    Parameters
    ----------
    build : StepBuilder
        Where the axis is chunked.
    operation : DFT
        Its axis, direction and scale; cut or padded with zeros to its size N first.
    tools : Tools
        Of the local transforms.
    order : int, optional
        L. Default: N.
    """
    axis, inner, points = operation.axis, operation.axis + 1, operation.size
    names, parts = build.layout.spec[axis], build.layout.parts[axis]
    chirp = Chirp(points if order is None else order, operation.inverse)
    columns = column_count(points, parts)
    size = 2 * parts * columns

    def local(target: int, inverse: bool) -> None:
        scale = 1.0 / build.layout.shape[target] if inverse else 1.0
        build.add(Local((target,), inverse, scale, tools.kernel(build.layout, (target,)), tools.precision))

    build.fit(axis, points)
    build.add(Diagonal(axis, chirp))
    build.fit(axis, parts * columns)
    build.add(Split(axis, parts))
    build.exchange(names, axis, inner)
    build.add(Resize(axis, 2 * parts))
    first = len(build.steps)
    local(axis, False)
    build.add(Twiddle(axis, inner, size, False))
    build.exchange(names, inner, axis)
    local(inner, False)
    kernel = Layout((2 * parts, columns), build.layout.dtype, build.layout.mesh, ((), names))
    scaled = replace(chirp, scale=operation.scale)
    build.add(ChirpSpectrum(axis, points, scaled, Program(kernel, _of_matrix(build.steps[first:], axis))))
    local(inner, True)
    build.exchange(names, axis, inner)
    build.add(Twiddle(axis, inner, size, True))
    local(axis, True)
    build.add(Resize(axis, parts))
    build.exchange(names, inner, axis)
    build.add(Merge(axis))
    build.fit(axis, points)
    build.add(Diagonal(axis, chirp))


def _of_matrix(steps: list[Step], axis: int) -> tuple[Step, ...]:
    """The same steps on a matrix whose rows are axis 0."""
    line: list[Step] = []
    for step in steps:
        if isinstance(step, Local):
            line.append(replace(step, axes=tuple(other - axis for other in step.axes)))
        elif isinstance(step, Twiddle):
            line.append(replace(step, rows=step.rows - axis, columns=step.columns - axis))
        elif isinstance(step, Exchange):
            line.append(replace(step, source=step.source - axis, target=step.target - axis))
    return tuple(line)


def column_count(points: int, parts: int) -> int:
    """The least smooth number of columns B, a multiple of the devices, with P B not below the signal's length."""
    return parts * _smooth(ceil_div(points, parts * parts))


def _smooth(least: int) -> int:
    """The smallest product of small primes that is not below `least`."""
    best = 1 << max(least - 1, 0).bit_length()
    five = 1
    while five < best:
        three = five
        while three < best:
            rest = ceil_div(least, three)
            best = min(best, three << max(rest - 1, 0).bit_length())
            three *= 3
        five *= 5
    return best
