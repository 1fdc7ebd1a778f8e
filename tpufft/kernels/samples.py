r"""Products with a matrix of phases :math:`e^{\mp 2\pi i f_k t_j/n}` between any points, made where it is needed.

Turns are counted in whole numbers (:mod:`tpufft.kernels.turns`), so that a phase is rounded once, however far the
points are out.

Where one side is whole numbers without a gap, its index is :math:`S g + h`, and the matrix is never made: phases of h
are a short matrix in a product, phases of g are factors in a sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tpufft.kernels import matmul
from tpufft.kernels.turns import Fraction, Whole, added, fraction, turn, whole, word_of
from tpufft.layout import ceil_div
from tpufft.steps import Points, Precision

PANEL_BYTES = 1 << 26
"""The most that a device makes at once of the matrix, or of what stands for it."""

PHASE_FLOPS = 60.0
"""What a phase costs: its digits, its sine and its cosine."""


class Place(NamedTuple):
    """Which of the points a device means: elements of a chunk, chunks, and which chunk."""

    chunk: int
    chunks: int
    position: jax.Array


# -- phases ------------------------------------------------------------------------------------------------------------


class Phase(NamedTuple):
    """Cosines, and sines with the sign of the transform."""

    real: jax.Array
    imag: jax.Array


def phase(turns: jax.Array, inverse: bool) -> Phase:
    r""":math:`e^{\mp 2\pi i u}` of turns u in words.

    To the nearest quarter in whole numbers; what is left is below an eighth of a turn, where Taylor's series is short.
    Takes half the time of ``cos`` and ``sin``, which reduce their arguments once more.
    """
    double = turns.dtype == np.uint64
    bits = turns.dtype.itemsize * 8
    quarter = turns + (1 << (bits - 3)) >> (bits - 2)
    left = lax.bitcast_convert_type(turns - (quarter << (bits - 2)), np.int64 if double else np.int32)
    angle = left.astype(np.float64 if double else np.float32) * math.ldexp(2 * math.pi, -bits)
    square = angle * angle
    terms = 9 if double else 5
    sine = angle + angle * square * _series(square, range(3, 2 * terms, 2))
    cosine = 1 + square * _series(square, range(2, 2 * terms + 1, 2))
    odd = quarter & 1 == 1
    real, imag = jnp.where(odd, sine, cosine), jnp.where(odd, cosine, sine)
    real = jnp.where(quarter + 1 & 2 == 0, real, -real)
    return Phase(real, jnp.where((quarter & 2 == 0) == inverse, imag, -imag))


def _series(square: jax.Array, degrees: range) -> jax.Array:
    """Taylor's series of a sine or a cosine from the term of the first of `degrees` on, which is taken out of it."""
    factors = [(-1) ** (degree // 2) / math.factorial(degree) for degree in degrees]
    total = jnp.full_like(square, factors[-1])
    for factor in factors[-2::-1]:
        total = total * square + factor
    return total


def entries(f: Fraction, t: Whole, inverse: bool) -> Phase:
    """The matrix for one side's fractions and the other's whole numbers."""
    return phase(turn(_along(f, 0), _along(t, 1)), inverse)


def host_entries(rows: np.ndarray, columns: np.ndarray, order: int, inverse: bool) -> np.ndarray:
    """The matrix for listed points in complex128, by NumPy."""
    word = np.dtype(np.uint64)
    f, t = fraction(rows, order, word), whole(columns, word)
    turns = turn(_along(f, 0), _along(t, 1))
    quarter = turns + (1 << 61) >> 62
    angles = (turns - (quarter << 62)).view(np.int64) * math.ldexp(2 * math.pi, -64)
    found = (np.cos(angles) + 1j * np.sin(angles)) * np.array([1, 1j, -1, -1j])[quarter]
    return found if inverse else found.conj()


def _along(x: Any, axis: int) -> Any:
    """Points along the rows (0) or the columns (1) of a matrix."""
    return jax.tree.map(lambda part: part[:, None] if axis == 0 else part[None, :], x)


# -- one device's part of the points -----------------------------------------------------------------------------------


def _fraction_at(points: Points, order: int, place: Place, word: np.dtype) -> Fraction:
    """The fractions of one chunk of points; of whole numbers as sums over start, coarse and fine steps."""
    if points.are_listed:
        found = fraction(np.pad(points.listed(), (0, place.chunk * place.chunks - points.count)), order, word)
        return jax.tree.map(lambda part: _chosen(part, place), found)
    fine = math.isqrt(max(place.chunk - 1, 0)) + 1
    coarse = ceil_div(place.chunk, fine)
    starts = fraction(points.start + np.arange(place.chunks) * float(place.chunk), order, word)
    heads = fraction(np.arange(coarse) * float(fine), order, word)
    tails = fraction(np.arange(fine) * 1.0, order, word)
    # Whole turns matter beside fractional points only, and then those are what is cut here.
    start = Fraction(*(jnp.asarray(part)[place.position][None] for part in starts[:2]))
    head = added(Fraction(*map(jnp.asarray, heads[:2])), start)
    total = added(_along(head, 0), _along(Fraction(*map(jnp.asarray, tails[:2])), 1))
    return Fraction(total.high.reshape(-1)[: place.chunk], total.low.reshape(-1)[: place.chunk])


def _whole_at(points: Points, place: Place, word: np.dtype) -> Whole:
    found = whole(np.pad(points.listed(), (0, place.chunk * place.chunks - points.count)), word)
    return jax.tree.map(lambda part: _chosen(part, place), found)


def _chosen(table: np.ndarray, place: Place) -> jax.Array:
    return jnp.asarray(table.reshape(place.chunks, place.chunk))[place.position]


def _first(points: Points, place: Place, word: np.dtype) -> jax.Array:
    """The first number of a chunk of whole numbers."""
    return place.position.astype(word) * place.chunk + np.array(points.start).astype(word)


# -- products ----------------------------------------------------------------------------------------------------------


def product(
    planes: jax.Array,
    rows: Points,
    columns: Points,
    order: int,
    inverse: bool,
    *,
    row_place: Place,
    column_place: Place,
    precision: Precision,
) -> jax.Array:
    """One block of the matrix times a chunk.

    Parameters
    ----------
    planes : array
        Real and imaginary parts, (columns of the block, plane, batch); zero where there is padding.
    rows, columns : Points
        Of the whole matrix.
    order : int
        Samples in one period.
    inverse : bool
        The sign of the phase.
    row_place, column_place : Place
        Which block.
    precision
        Of the products.

    Returns
    -------
    array
        (rows of the block, plane, batch). Rows that are padding hold anything.
    """
    word = word_of(planes.dtype)
    if not columns.are_listed:
        f = _fraction_at(rows, order, row_place, word)
        return _to_points(planes, f, _first(columns, column_place, word), inverse, precision)
    if not rows.are_listed:
        f = _fraction_at(columns, order, column_place, word)
        return _from_points(planes, f, _first(rows, row_place, word), row_place.chunk, inverse, precision)
    f, t = _fraction_at(rows, order, row_place, word), _whole_at(columns, column_place, word)
    width = _panel_width(planes, len(f.high), 2 * len(planes) + planes.shape[2])

    def panel(f: Fraction) -> jax.Array:
        return _multiplied(entries(f, t, inverse), planes, precision)

    return _below_each_other(panel, f, width)


class Work(NamedTuple):
    """What one block costs: FLOPs of products and of phases, and how many columns a product with a matrix has."""

    products: float
    phases: float
    batch: float


def work(rows: Points, columns: Points, m: int, n: int, batch: float) -> Work:
    """What a block of m rows and n columns costs."""
    made, shared = float(m) * n, batch
    points, numbers = (m, n) if not columns.are_listed else (n, m)
    if numbers and not (columns.are_listed and rows.are_listed):
        short = _cut(numbers, batch)
        made, shared = points * (short + numbers / short), batch * numbers / short
    return Work(8.0 * m * n * batch, PHASE_FLOPS * made, shared)


def panel_bytes(rows: Points, columns: Points, m: int, n: int, batch: float, itemsize: int) -> float:
    """What a device makes at once for one block; `itemsize` is of a real number."""
    if not columns.are_listed:
        count, numbers = m, _numbers(n, batch)
    elif not rows.are_listed:
        count, numbers = n, _numbers(m, batch)
    else:
        count, numbers = m, 2 * n + batch
    return min(PANEL_BYTES, count * numbers * itemsize)


def _numbers(size: int, batch: float) -> float:
    """What one point needs beside `size` whole numbers: phases, and products before and after their sum."""
    short = _cut(size, batch)
    count = ceil_div(size, short) if short else 0
    return 2 * (short + count) + 8 * count * batch


def _to_points(x: jax.Array, f: Fraction, first: jax.Array, inverse: bool, precision: Precision) -> jax.Array:
    """From whole numbers to any points: ``sum_g e(f (first + S g)) sum_h e(f h) x[S g + h]``."""
    n, _, batch = x.shape
    short = _cut(n, batch)
    count = ceil_div(n, short)
    x = jnp.pad(x, [(0, count * short - n), (0, 0), (0, 0)]).reshape(count, short, 2, batch).swapaxes(0, 1)
    near, far = _steps(short, 1, f.low.dtype), _steps(count, short, f.low.dtype) + first
    wanted = matmul.dot_precision(precision)

    def panel(f: Fraction) -> jax.Array:
        inner = _multiplied(_phases(f, near, inverse), x, precision)
        outer = _phases(f, far, inverse)
        by_real = jnp.einsum("kg,kgpb->kpb", outer.real, inner, precision=wanted)
        by_imag = jnp.einsum("kg,kgpb->kpb", outer.imag, inner, precision=wanted)
        return _joined(by_real, by_imag)

    return _below_each_other(panel, f, _panel_width(x, len(f.high), _numbers(n, batch)))


def _from_points(x: jax.Array, f: Fraction, first: jax.Array, m: int, inverse: bool, precision: Precision) -> jax.Array:
    """The transpose: from any points to whole numbers."""
    batch = x.shape[2]
    short = _cut(m, batch)
    count = ceil_div(m, short)
    near, far = _steps(short, 1, f.low.dtype), _steps(count, short, f.low.dtype) + first

    def panel(f: Fraction, part: jax.Array) -> jax.Array:
        outer = _phases(f, far, inverse)
        real, imag = outer.real[:, :, None, None], outer.imag[:, :, None, None]
        turned = _joined(real * part[:, None], imag * part[:, None])
        inner = _phases(f, near, inverse)
        found = _multiplied(Phase(inner.real.T, inner.imag.T), turned, precision)
        return found.swapaxes(0, 1).reshape(count * short, 2, batch)[:m]

    width = _panel_width(x, len(x), _numbers(m, batch))
    if width >= len(x):
        return panel(f, x)
    total = jnp.broadcast_to(jnp.zeros_like(x[:1]), (m, 2, batch))
    return lax.scan(lambda total, part: (total + panel(*part), None), total, _panels((f, x), width))[0]


def _cut(size: int, batch: float) -> int:
    """How long the short matrix is: as the root, and longer the more columns share it; at last it is the matrix."""
    short = math.isqrt(int(size * (1 + batch)))
    return size if 2 * short > size else max(1, ceil_div(size, ceil_div(size, max(short, 1))))


def _steps(count: int, step: int, word: np.dtype) -> jax.Array:
    return jnp.arange(count, dtype=word) * step


def _phases(f: Fraction, number: jax.Array, inverse: bool) -> Phase:
    return phase(turn(_along(f, 0), Whole(number[None, :])), inverse)


def _multiplied(matrix: Phase, x: jax.Array, precision: Precision) -> jax.Array:
    """A complex matrix (rows, n) times planes (n, ..., plane, batch), as two real products."""
    wanted = matmul.dot_precision(precision)
    flat = x.reshape(x.shape[0], -1)
    by_real = jnp.matmul(matrix.real, flat, precision=wanted).reshape(-1, *x.shape[1:])
    by_imag = jnp.matmul(matrix.imag, flat, precision=wanted).reshape(-1, *x.shape[1:])
    return _joined(by_real, by_imag)


def _joined(by_real: jax.Array, by_imag: jax.Array) -> jax.Array:
    """The planes, last but one, of a product whose factor's parts have been multiplied apart."""
    return jnp.stack([by_real[..., 0, :] - by_imag[..., 1, :], by_real[..., 1, :] + by_imag[..., 0, :]], axis=-2)


def _panel_width(x: jax.Array, count: int, numbers: float) -> int:
    """How many points make a panel, of which each needs some numbers."""
    return min(count, max(1, int(PANEL_BYTES // (max(numbers, 1) * x.dtype.itemsize))))


def _panels(parts: Any, width: int) -> Any:
    """Arrays of points cut into panels, zeros behind the end."""

    def cut(part: jax.Array) -> jax.Array:
        part = jnp.pad(part, [(0, -len(part) % width)] + [(0, 0)] * (part.ndim - 1))
        return part.reshape(-1, width, *part.shape[1:])

    return jax.tree.map(cut, parts)


def _below_each_other(panel: Callable[[Fraction], jax.Array], f: Fraction, width: int) -> jax.Array:
    """The results for all points, of which `width` are worked on at once."""
    if width >= len(f.high):
        return panel(f)
    found = lax.map(panel, _panels(f, width))
    return found.reshape(-1, *found.shape[2:])[: len(f.high)]
