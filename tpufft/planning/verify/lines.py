"""One axis of a transform: its matrix, the factors and the flip on both sides of it, and what is cut or added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from tpufft.planning.operations import DFT, Flip, Multiply, Operation, Pointwise, Real, Roll, Samples, Trig
from tpufft.planning.problem import Problem
from tpufft.planning.verify.matrices import Circulant, Cosines, Fourier, Matrix
from tpufft.steps import Ends, Hankel, Power, Signs, Table


@dataclass(frozen=True)
class Line:
    """What happens along one axis.

    Parameters
    ----------
    axis : int
        Which one.
    matrix : Matrix
        The transform proper.
    before, after : tuple
        Factors and flips of the matrix's columns and rows, in the order in which they happen.
    doubled : str
        ``rows``, ``columns`` or nothing: what counts twice, as a frequency that stands for its conjugate too.
    filled : int
        Elements of the input that are transformed; what stands behind them is cut, what is missing is zero.
    tones : Hankel, optional
        The eigenvalues, of a circulant matrix.
    """

    axis: int
    matrix: Matrix
    before: tuple[Pointwise, ...]
    after: tuple[Pointwise, ...]
    doubled: str
    filled: int
    tones: Hankel | None = None

    def column(self, place: jax.Array) -> jax.Array:
        """The column of the matrix that an element of the input belongs to; a flip is its own inverse."""
        return self._walk(place, self.before)

    def row(self, place: jax.Array) -> jax.Array:
        """The row of the matrix that an element of the result belongs to."""
        return self._walk(place, tuple(reversed(self.after)))

    @property
    def turned(self) -> bool:
        """Whether the result runs against the rows."""
        return sum(isinstance(operation, Flip) for operation in self.after) % 2 == 1

    @property
    def is_closed(self) -> bool:
        """Whether the neighbours of all columns are transformed and known."""
        return self.filled == self.matrix.columns and not self.matrix.is_open

    def column_factor(self, place: jax.Array, dtype: np.dtype) -> jax.Array:
        """What an element of the input is multiplied by before the matrix."""
        return self._factor(place, self.before, dtype, self.matrix.columns, self.doubled == "columns")

    def row_factor(self, place: jax.Array, dtype: np.dtype) -> jax.Array:
        """What an element of the result has been multiplied by behind the matrix."""
        return self._factor(place, tuple(reversed(self.after)), dtype, self.matrix.rows, self.doubled == "rows")

    def _walk(self, place: jax.Array, operations: Sequence[Pointwise]) -> jax.Array:
        for operation in operations:
            if isinstance(operation, Flip):
                place = operation.size - 1 - place
        return place

    def _factor(
        self, place: jax.Array, operations: Sequence[Pointwise], dtype: np.dtype, length: int, doubled: bool
    ) -> jax.Array:
        factor = jnp.ones(place.shape, dtype)
        for operation in operations:
            if isinstance(operation, Flip):
                place = operation.size - 1 - place
            elif isinstance(operation, Multiply):
                factor = factor * _entry(operation.table, place, operation.size, dtype)
        if doubled:
            own = (place == 0) | ((place == length - 1) & (self.matrix.size % 2 == 0))
            factor = factor * jnp.where(own, 1, 2).astype(dtype)
        return factor


def lines_of(problem: Problem) -> tuple[Line, ...]:
    """The transformed axes of a problem.

    Raises
    ------
    ValueError
        For an axis that is transformed twice.
    """
    axes = dict.fromkeys(operation.axis for operation in problem.operations)
    return tuple(_line(problem, axis) for axis in axes)


def _line(problem: Problem, axis: int) -> Line:
    operations = [operation for operation in problem.operations if operation.axis == axis]
    at = [number for number, operation in enumerate(operations) if not isinstance(operation, Multiply | Flip | Roll)]
    first, last = at[0], at[-1]
    core = operations[first : last + 1]
    matrix, doubled, tones = _core(problem, axis, core)
    before, after = operations[:first], operations[last + 1 :]
    filled = min(problem.shape[axis], operations[0].points)
    return Line(axis, matrix, tuple(before), tuple(after), doubled, filled, tones)  # type: ignore[arg-type]


def _core(problem: Problem, axis: int, core: list[Operation]) -> tuple[Matrix, str, Hankel | None]:
    match core:
        case [DFT(size=size, inverse=inverse, scale=scale)]:
            return Fourier(size, scale, inverse), "", None
        case [Real(to_real=to_real) as real]:
            side = "" if not real.weighted else "columns" if to_real else "rows"
            return Fourier(real.size, real.scale, real.inverse, not to_real, to_real), side, None
        case [Trig(size=size, kind=kind, scale=scale)]:
            return Cosines(size, scale, kind), "", None
        case [Real(to_real=False) as there, Multiply(table=Hankel() as tones), Real(to_real=True) as back]:
            return Circulant(there.size, there.scale * back.scale * there.size), "", tones
    if any(isinstance(operation, Samples) for operation in core):
        raise ValueError(
            f"{problem.name} has rows or columns of its own choice, whose signals do not shift; verify the whole "
            "matrix's plan, and compare W.block(rows, columns) for some of the others"
        )
    raise ValueError(
        f"{problem.name} transforms axis {axis} {len(core)} times; verify the plans of one transform each instead"
    )


def _entry(table: Table, place: jax.Array, size: int, dtype: np.dtype) -> jax.Array:
    """Factors of a table that is no phase, by its formula."""
    if isinstance(table, Signs):
        return (1 - 2 * jnp.remainder(place, 2)).astype(dtype)
    if isinstance(table, Power):
        return table.scale * jnp.exp(table.rate * (place.astype(dtype) - dtype.type(table.centre)))
    if isinstance(table, Ends):
        if size == 1:
            return jnp.full(place.shape, table.first * table.last, dtype)
        inner = jnp.where(place == size - 1, table.last, table.inner)
        return jnp.where(place == 0, table.first, inner).astype(dtype)
    raise ValueError(f"nothing is known of multiplication by {table.describe()}")
