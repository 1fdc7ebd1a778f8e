"""Cosine and sine transforms of a chunked axis, by DFTs of one length; type 1 by a real one of twice the period."""

from __future__ import annotations

from tpufft.planning.inplace.bluestein import bluestein
from tpufft.planning.inplace.builder import StepBuilder, Tools, Way, cheapest, transposed
from tpufft.planning.inplace.real import real_line
from tpufft.planning.operations import DFT, Real, Trig
from tpufft.steps import (
    AsComplex,
    AsReal,
    Diagonal,
    Ends,
    Merge,
    Phase,
    Piece,
    RealPart,
    Rearrange,
    Split,
    Widen,
    half,
)


def trig_line(build: StepBuilder, operation: Trig, tools: Tools, dft: Way) -> None:
    """Append the steps of a cosine or sine transform along a chunked axis.

    Parameters
    ----------
    build : StepBuilder
        Where the axis is chunked; real or complex.
    operation : Trig
        Axis, points, matrix, scale.
    tools : Tools
        Of the local transforms.
    dft : Way
        Of a complex transform of a chunked axis.
    """
    build.fit(operation.axis, operation.size)
    if build.layout.dtype.kind == "c":
        # The real matrix acts on both planes.
        last = build.layout.rank - 1
        build.add(AsReal(last))
        trig_line(build, operation, tools, dft)
        build.add(AsComplex(last))
        return
    if operation.kind == "C2":
        _second(build, operation, tools, dft)
    elif operation.kind == "C3":
        transposed(build, build.layout, lambda line: _second(line, operation, tools, dft))
    elif operation.kind == "C4":
        _fourth(build, operation, tools, dft)
    else:
        _first(build, operation, tools, dft)


def _interleaved(build: StepBuilder, axis: int) -> None:
    """An axis as the lanes of its even and its odd elements; a missing last one is zero."""
    size, parts = build.layout.shape[axis], build.layout.parts[axis]
    pairs = (size + 1) // 2
    build.fit(axis, 2 * pairs, 2 * -(-pairs // parts))
    build.add(Split(axis, pairs))


def _second(build: StepBuilder, operation: Trig, tools: Tools, dft: Way) -> None:
    """C2: even elements, then odd ones backwards; a DFT; X_k = Re(exp(-pi i k / 2N) V_k)."""
    axis, size = operation.axis, operation.size
    evens, odds = (size + 1) // 2, size // 2
    _interleaved(build, axis)
    pieces = (Piece(0, 0, evens), Piece(0, evens, odds, mirrored=True, source_lane=1))
    build.add(Rearrange(axis, size, 1, tuple(piece for piece in pieces if piece.length)))
    build.add(Merge(axis))
    quarter = Diagonal(axis, Phase(4 * size, 1))

    def as_complex(line: StepBuilder) -> None:
        line.add(Widen())
        dft(line, DFT(axis, size, False, operation.scale))
        line.add(quarter)
        line.add(RealPart())

    def as_real(line: StepBuilder) -> None:
        """The upper half of the result is in the imaginary parts: X_(N-k) = -Im(exp(-pi i k / 2N) V_k)."""
        _half_spectrum(line, axis, size, operation.scale, tools, dft)
        line.add(quarter)
        line.add(AsReal(axis))
        lower, upper = half(size), size - half(size)
        mirrored = Piece(1, lower, upper, mirrored=True, factor=-1.0, source_lane=1)
        line.add(Rearrange(axis, size, 1, (Piece(0, 0, lower), *((mirrored,) if upper else ()))))
        line.add(Merge(axis))

    if tools.cost is None:
        as_complex(build)
    else:
        cheapest(build, [as_complex, as_real], tools.cost)


def _half_spectrum(build: StepBuilder, axis: int, size: int, scale: float, tools: Tools, dft: Way) -> None:
    real_line(build, Real(axis, size, False, scale, to_real=False, weighted=False), tools, dft)


def _fourth(build: StepBuilder, operation: Trig, tools: Tools, dft: Way) -> None:
    """C4: pairs x_2j + i x_(N-1-2j) as N/2 complex numbers, or of an odd length a chirp transform of order 2N."""
    axis, size = operation.axis, operation.size
    if size % 2:
        build.add(Widen())
        build.add(Diagonal(axis, Phase(4 * size, 1)))
        bluestein(build, DFT(axis, size, False, operation.scale), tools, order=2 * size)
        build.add(Diagonal(axis, Phase(8 * size, 2, 1)))
        build.add(RealPart())
        return
    pairs = size // 2
    # t_j = (x_2j + i x_(N-1-2j)) exp(-pi i (4j+1) / 4N); X_2k = Re T_k', X_(N-1-2k) = -Im T_k'.
    turn = Diagonal(axis, Phase(8 * size, 4, 1))
    straight, back = Piece(0, 0, pairs), Piece(0, 0, pairs, True, 1.0, 1, 1)
    _interleaved(build, axis)
    build.add(Rearrange(axis, pairs, 2, (straight, back)))
    build.add(AsComplex(axis))
    build.add(turn)
    dft(build, DFT(axis, pairs, False, operation.scale))
    build.add(Diagonal(axis, Phase(2 * size, 1)))
    build.add(AsReal(axis, conjugate=True))
    build.add(Rearrange(axis, pairs, 2, (straight, back)))
    build.add(Merge(axis))
    build.fit(axis, size)


def _first(build: StepBuilder, operation: Trig, tools: Tools, dft: Way) -> None:
    """C1 and S1: the even or odd extension to the period, a real DFT of that length, its real or imaginary parts."""
    axis, size = operation.axis, operation.size
    even = operation.kind == "C1"
    period = 2 * (size - 1) if even else 2 * (size + 1)
    if even:
        build.add(Diagonal(axis, Ends(2.0, 1.0, 2.0)))
        pieces = (Piece(0, 0, size), Piece(1, size, size - 2, mirrored=True))
    else:
        pieces = (Piece(0, 1, size), Piece(0, size + 2, size, mirrored=True, factor=-1.0))
    build.add(Split(axis, size))
    build.add(Rearrange(axis, period, 1, tuple(piece for piece in pieces if piece.length)))
    build.add(Merge(axis))
    _half_spectrum(build, axis, period, operation.scale / 2, tools, dft)
    if even:
        build.add(RealPart())
        return
    build.add(AsReal(axis))
    build.add(Rearrange(axis, size, 1, (Piece(1, 0, size, factor=-1.0, source_lane=1),)))
    build.add(Merge(axis))
