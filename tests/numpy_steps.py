"""What every step does to an array's own elements, in plain numpy: whole programs without a device.

Neither chunks nor padding are known here; tables are worked out in whole numbers and long doubles.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from functools import singledispatch

import numpy as np
from test_steps import columns_first, dft, resized, twiddled

from tpufft.steps import (
    AsComplex,
    AsReal,
    Chirp,
    ChirpSpectrum,
    Collect,
    Deinterleave,
    Diagonal,
    Ends,
    Exchange,
    Fold,
    Interleave,
    Local,
    LocalReal,
    LocalTrig,
    Merge,
    Nonuniform,
    Pad,
    Phase,
    Piece,
    Power,
    Program,
    RealPart,
    Rearrange,
    Resize,
    Ring,
    Shift,
    Signs,
    Split,
    Spread,
    Step,
    Table,
    Trim,
    Twiddle,
    Unfold,
    Widen,
)

PI = np.longdouble("3.14159265358979323846264338327950288")


def run(program: Program, x: np.ndarray) -> np.ndarray:
    """The program's result; every step on the way must leave the shape and kind that its layout tells."""
    for step, after in zip(program.steps, program.layouts[1:], strict=True):
        x = apply(step, x)
        assert x.shape == after.shape, f"{step} leaves {x.shape} instead of {after.shape}"
        assert x.dtype.kind == after.dtype.kind, f"{step} leaves {x.dtype} instead of {after.dtype}"
    return x


@singledispatch
def apply(step: Step, x: np.ndarray) -> np.ndarray:
    """One step's result."""
    raise NotImplementedError(f"{step}")


# -- tables -----------------------------------------------------------------------------------------------------------


def roots(order: int, exponents: Sequence[int], inverse: bool) -> np.ndarray:
    """Roots of unity in long doubles: exponents of any size are reduced as whole numbers, to half a turn each way."""
    reduced = [exponent % order for exponent in exponents]
    signed = np.array([e - order if 2 * e > order else e for e in reduced], np.int64).astype(np.longdouble)
    angles = 2 * PI * (signed / np.longdouble(order))
    return np.cos(angles) + (1j if inverse else -1j) * np.sin(angles)


def entries(table: Table, index: Sequence[int], size: int) -> np.ndarray:
    """Entries of a table in long doubles, by its definition."""
    if isinstance(table, Ends):
        ends = [(table.first if j == 0 else 1) * (table.last if j == size - 1 else 1) for j in index]
        found = [end if j in (0, size - 1) else table.inner for j, end in zip(index, ends, strict=True)]
        return np.array(found, np.longdouble)
    if isinstance(table, Signs):
        return np.array([(-1) ** (j % 2) for j in index], np.longdouble)
    if isinstance(table, Phase):
        return table.scale * roots(table.order, [table.rate * j + table.offset for j in index], table.inverse)
    if isinstance(table, Chirp):
        return table.scale * roots(2 * table.order, [j * j for j in index], table.inverse)
    if isinstance(table, Power):
        return table.scale * np.exp(table.rate * (np.array(index, np.longdouble) - table.centre))
    raise NotImplementedError(f"{table}")


@functools.lru_cache(maxsize=4096)
def _column(table: Table, size: int) -> np.ndarray:
    return entries(table, range(size), size).astype(complex if table.is_complex else float)


@apply.register
def _(step: Diagonal, x: np.ndarray) -> np.ndarray:
    size = x.shape[step.axis]
    return x * _column(step.table, size).reshape([size if axis == step.axis else 1 for axis in range(x.ndim)])


@apply.register
def _(step: ChirpSpectrum, x: np.ndarray) -> np.ndarray:
    rows, columns = x.shape[step.axis : step.axis + 2]
    half_chirp = _column(step.chirp, step.points).conj()
    kernel = np.zeros(rows * columns, complex)
    kernel[: step.points] = half_chirp
    kernel[rows * columns - step.points + 1 :] = half_chirp[:0:-1]
    spectrum = np.fft.fft(kernel).reshape(columns, rows).T
    return x * spectrum.reshape([{step.axis: rows, step.axis + 1: columns}.get(i, 1) for i in range(x.ndim)])


# -- transforms -------------------------------------------------------------------------------------------------------


@apply.register
def _(step: Local, x: np.ndarray) -> np.ndarray:
    return dft(x, step.axes, step.inverse, step.scale)


@apply.register
def _(step: Ring, x: np.ndarray) -> np.ndarray:
    return dft(x, (step.axis,), step.inverse, step.scale)


@apply.register
def _(step: Nonuniform, x: np.ndarray) -> np.ndarray:
    f, t = (points.listed().astype(np.longdouble) for points in (step.rows, step.columns))
    angles = 2 * PI * (np.outer(f, t) / step.order % 1)
    matrix = (np.cos(angles) + (1j if step.inverse else -1j) * np.sin(angles)) * step.scale
    return np.moveaxis(np.tensordot(matrix.astype(complex), x, (1, step.axis)), 0, step.axis)


@apply.register
def _(step: Twiddle, x: np.ndarray) -> np.ndarray:
    return twiddled(x, step.rows, step.columns, step.modulus, 1 if step.inverse else -1, step.scale)


@apply.register
def _(step: LocalReal, x: np.ndarray) -> np.ndarray:
    axis, size = step.axes[-1], step.size
    weights = [2 if step.weighted and 2 * k % size else 1 for k in range(size // 2 + 1)]
    weights = np.array(weights).reshape([-1 if i == axis else 1 for i in range(x.ndim)])
    if step.to_real:
        return np.real(dft(resized(x * weights, axis, size), step.axes, step.inverse, step.scale))
    return resized(dft(x, step.axes, step.inverse, step.scale), axis, size // 2 + 1) * weights


@functools.cache
def trigonometric(kind: str, n: int) -> np.ndarray:
    """The bare cosines or sines: row k, column j."""
    j, k = np.arange(n)[None, :], np.arange(n)[:, None]
    # The angle is pi times the first over the second.
    phase, turns = {
        "C1": (j * k, n - 1),
        "C2": ((2 * j + 1) * k, 2 * n),
        "C3": (j * (2 * k + 1), 2 * n),
        "C4": ((2 * j + 1) * (2 * k + 1), 4 * n),
        "S1": ((j + 1) * (k + 1), n + 1),
    }[kind]
    angles = np.pi * (phase % (2 * turns)) / turns
    return np.sin(angles) if kind[0] == "S" else np.cos(angles)


@apply.register
def _(step: LocalTrig, x: np.ndarray) -> np.ndarray:
    y = np.tensordot(trigonometric(step.kind, x.shape[step.axis]), x, axes=(1, step.axis))
    return step.scale * np.moveaxis(y, 0, step.axis)


# -- moves ------------------------------------------------------------------------------------------------------------


@apply.register(Exchange)
@apply.register(Pad)
@apply.register(Trim)
def _(step: Step, x: np.ndarray) -> np.ndarray:
    return x


@apply.register
def _(step: Resize, x: np.ndarray) -> np.ndarray:
    return resized(x, step.axis, step.size)


@apply.register
def _(step: Shift, x: np.ndarray) -> np.ndarray:
    return np.roll(x, step.amount, step.axis)


@apply.register
def _(step: Split, x: np.ndarray) -> np.ndarray:
    return x.reshape(*x.shape[: step.axis], step.rows, x.shape[step.axis] // step.rows, *x.shape[step.axis + 1 :])


@apply.register
def _(step: Merge, x: np.ndarray) -> np.ndarray:
    return x.reshape(*x.shape[: step.axis], math.prod(x.shape[step.axis : step.axis + 2]), *x.shape[step.axis + 2 :])


@apply.register
def _(step: Interleave, x: np.ndarray) -> np.ndarray:
    return columns_first(x, step.axis)


@apply.register
def _(step: Deinterleave, x: np.ndarray) -> np.ndarray:
    columns = x.reshape(*x.shape[: step.axis], -1, step.rows, *x.shape[step.axis + 1 :])
    return columns.swapaxes(step.axis, step.axis + 1)


@apply.register
def _(step: Rearrange, x: np.ndarray) -> np.ndarray:
    lanes = np.moveaxis(x, (step.axis, step.axis + 1), (0, 1))
    out = np.zeros((step.size, step.lanes, *lanes.shape[2:]), x.dtype)
    filled = np.zeros((step.size, step.lanes), bool)
    for piece in step.pieces:
        for source, target in _pairs(piece):
            assert not filled[target, piece.target_lane], f"{step} fills element {target} twice"
            filled[target, piece.target_lane] = True
            out[target, piece.target_lane] = piece.factor * lanes[source, piece.source_lane]
    return np.moveaxis(out, (0, 1), (step.axis, step.axis + 1))


def _pairs(piece: Piece) -> list[tuple[int, int]]:
    """Each element of a piece, and where it goes."""
    targets = range(piece.target, piece.target + piece.length)
    sources = range(piece.source, piece.source + piece.length)
    return list(zip(reversed(sources) if piece.mirrored else sources, targets, strict=True))


# -- real and complex -------------------------------------------------------------------------------------------------


@apply.register
def _(step: Widen, x: np.ndarray) -> np.ndarray:
    return x.astype(complex)


@apply.register
def _(step: RealPart, x: np.ndarray) -> np.ndarray:
    return np.real(x).copy()


@apply.register
def _(step: AsReal, x: np.ndarray) -> np.ndarray:
    z = x.conj() if step.conjugate else x
    return np.stack([np.real(z), np.imag(z)], step.axis + 1)


@apply.register
def _(step: AsComplex, x: np.ndarray) -> np.ndarray:
    z = x.take(0, step.axis + 1) + 1j * x.take(1, step.axis + 1)
    return z.conj() if step.conjugate else z


@apply.register
def _(step: Unfold, x: np.ndarray) -> np.ndarray:
    half = x.shape[step.axis] // 2
    lanes = x.take(range(half), step.axis), x.take(range(2 * half - 1, half - 1, -1), step.axis).conj()
    return np.stack(lanes, step.axis)


@apply.register
def _(step: Fold, x: np.ndarray) -> np.ndarray:
    first, second = x.take(0, step.axis), x.take(1, step.axis)
    return np.concatenate([first, np.flip(second, step.axis).conj()], step.axis)


def _places(rows: int, columns: int) -> list[tuple[int, int, int]]:
    """Row, lane and column of every frequency of the half spectrum, the highest last."""
    low = [(c, 0, d) if c <= rows // 2 else (rows - c, 1, d) for d in range(columns) for c in range(rows)]
    return [*low, (0, 1, columns - 1)]


@apply.register
def _(step: Collect, x: np.ndarray) -> np.ndarray:
    lanes = np.moveaxis(x, range(step.axis, step.axis + 3), range(3))
    return np.moveaxis(np.stack([lanes[place] for place in _places(step.rows, lanes.shape[2])]), 0, step.axis)


@apply.register
def _(step: Spread, x: np.ndarray) -> np.ndarray:
    line = np.moveaxis(x, step.axis, 0)
    columns = (len(line) - 1) // step.rows
    lanes = np.zeros((step.rows // 2 + 1, 2, columns, *line.shape[1:]), x.dtype)
    for value, place in zip(line, _places(step.rows, columns), strict=True):
        lanes[place] = value
    return np.moveaxis(lanes, range(3), range(step.axis, step.axis + 3))
