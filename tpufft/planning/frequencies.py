"""Which frequency stands where: the bins of every kind of transform, made part by part where they live."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass

import jax
import numpy as np

from tpufft.layout import Layout
from tpufft.planning.operations import Real, Samples, Trig
from tpufft.planning.orders import frequency_index
from tpufft.planning.problem import Problem
from tpufft.planning.words import widest_float


@dataclass(frozen=True)
class Bins:
    """Frequencies ``(k + offset) / (period d)`` of the bins k.

    Parameters
    ----------
    period : int
        Points after which the signal, or its even or odd continuation, repeats.
    offset : float
        Of a cosine or sine transform that begins beside zero.
    negative : bool
        Whether the upper half stands for negative frequencies.
    """

    period: int
    offset: float = 0.0
    negative: bool = False


def bins_of(problem: Problem, axis: int) -> Bins:
    """The bins along a transformed axis of a problem's spectrum."""
    for operation in problem.operations:
        if operation.axis != axis:
            continue
        if type(operation) is Samples:
            raise ValueError("the rows of a DFT matrix are its frequencies; see W.row_points of the matrix W")
        if isinstance(operation, Real) and operation.to_real == problem.is_inverse:
            return Bins(operation.size)
        if isinstance(operation, Trig):
            return _trigonometric(problem, operation)
    return Bins(problem.spectrum_shape[axis], negative=True)


def _trigonometric(problem: Problem, operation: Trig) -> Bins:
    """An inverse takes the spectrum that the forward transform of the transposed matrix leaves."""
    kind = {"C2": "C3", "C3": "C2"}.get(operation.kind, operation.kind) if problem.is_inverse else operation.kind
    n, sine = operation.size, "dst" in problem.name
    if kind == "C1":
        return Bins(2 * (n - 1))
    if kind == "S1":
        return Bins(2 * (n + 1), 1.0)
    return Bins(2 * n, (1.0 if sine else 0.0) if kind == "C2" else 0.5)


def frequencies(line: Layout, d: float, order: str, bins: Bins) -> jax.Array:
    """Frequencies of a chunked axis, each device's part made where it lives; data as stored, padding included.

    Parameters
    ----------
    line : Layout
        Of the 1-D result.
    d : float
        Sample spacing.
    order : str
        ``natural`` or ``scrambled``.
    bins : Bins
        What the elements are.
    """
    if not isinstance(d, numbers.Real) or isinstance(d, bool):
        raise TypeError(f"d={d!r}: the sample spacing is a real number")
    if d == 0:
        raise ValueError(f"d={d}: the sample spacing cannot be zero")
    dtype = widest_float()

    def part(index: Sequence[slice] | tuple[slice, ...]) -> np.ndarray:
        positions = np.arange(*index[0].indices(line.stored_shape[0]), dtype=np.int64)
        found = frequency_index(line, 0, order if bins.negative else "natural", positions)
        if bins.negative:
            found = np.where(found < (bins.period + 1) // 2, found, found - bins.period)
        return ((found + bins.offset) / (bins.period * d)).astype(dtype)

    return jax.make_array_from_callback(line.stored_shape, line.sharding, part)  # type: ignore[arg-type]
