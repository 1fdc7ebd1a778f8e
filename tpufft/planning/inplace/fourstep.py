"""The four-step plan of a chunked axis: N = A B points as a matrix of A rows, chunked by rows.

With j = a B + b and k = c + A d,
``X[c + A d] = sum_b W_B^(bd) W_N^(bc) sum_a W_A^(ac) x[a B + b]``:
exchange, A-point transforms, twiddle factors, exchange, B-point transforms; a third exchange brings the natural order.
Where the devices P divide N there is one row for each; what is stored before the third exchange is row c, the
scrambled order. Other lengths take the factors that waste least in padded chunks.
"""

from __future__ import annotations

import functools
import math

from tpufft.errors import LayoutError
from tpufft.layout import ceil_div
from tpufft.planning.inplace.builder import StepBuilder, Tools
from tpufft.planning.operations import DFT
from tpufft.steps import Interleave, Local, Merge, Split, Twiddle

TRIED = 1 << 20
"""Up to which divisor a length is searched for factors."""

WASTE = 4.0
"""By how much padded chunks may exceed a length before its factors are of no use."""


def four_step(build: StepBuilder, operation: DFT, tools: Tools, order: str = "natural") -> None:
    """Append the steps of one chunked axis' DFT.

    Parameters
    ----------
    build : StepBuilder
        Where the axis is chunked.
    operation : DFT
        Its axis, direction and scale; cut or padded with zeros to its size first.
    tools : Tools
        Of the local transforms.
    order : str
        ``natural``, or ``scrambled``: of the result for a forward transform, of the input for an inverse one. Where
        the chunks do not divide the length, the scrambled order is the natural one.

    Raises
    ------
    LayoutError
        Where :func:`row_count` knows no factors of the length.
    """
    axis, inner = operation.axis, operation.axis + 1
    names, parts = build.layout.spec[axis], build.layout.parts[axis]
    rows = row_count(operation.size, parts)
    if rows is None:
        raise LayoutError(f"{operation.size} points have no factors for {parts} devices; use Bluestein's plan")
    columns = operation.size // rows
    scrambled = order == "scrambled" and rows == parts
    build.fit(axis, operation.size, ceil_div(rows, parts) * columns)
    build.add(Split(axis, rows))
    # The inverse kernel divides by its length for nothing; any other scale rides on the twiddle factors.
    shares = operation.inverse and operation.scale == 1.0 / operation.size

    def local(target: int) -> None:
        scale = 1.0 / build.layout.shape[target] if shares else 1.0
        build.add(Local((target,), operation.inverse, scale, tools.kernel(build.layout, (target,)), tools.precision))

    def twiddle() -> None:
        scale = 1.0 if shares else operation.scale
        build.add(Twiddle(axis, inner, operation.size, operation.inverse, scale))

    if scrambled and operation.inverse:
        local(inner)
        build.exchange(names, axis, inner)
        twiddle()
        local(axis)
        build.exchange(names, inner, axis)
        build.add(Merge(axis))
        return
    build.exchange(names, axis, inner)
    local(axis)
    twiddle()
    build.exchange(names, inner, axis)
    local(inner)
    if scrambled:
        build.add(Merge(axis))
        return
    build.exchange(names, axis, inner)
    build.add(Interleave(axis))
    build.fit(axis, operation.size)


@functools.lru_cache(maxsize=4096)
def row_count(size: int, parts: int) -> int | None:
    """Rows A of the four-step matrix: one for each device, or the divisor whose padded chunks waste least."""
    if size % parts == 0:
        return parts

    def waste(rows: int) -> float:
        return _padded(rows, parts) * _padded(size // rows, parts) / size

    best = min(divisors(size), key=lambda rows: (waste(rows), abs(math.log(rows * rows / size))))
    return best if waste(best) <= WASTE else None


def _padded(size: int, parts: int) -> int:
    return ceil_div(size, parts) * parts


@functools.lru_cache(maxsize=4096)
def divisors(size: int) -> tuple[int, ...]:
    """The divisors of a length, ascending, those beyond :data:`TRIED` only as cofactors."""
    low = [d for d in range(1, min(math.isqrt(size), TRIED) + 1) if size % d == 0]
    return tuple(sorted({*low, *(size // d for d in low)}))
