r"""What is known of the matrix of one axis without working it out: a column, and what neighbours have to do with it.

A matrix M is told by a column and by an identity :math:`M R = D M`: neighbouring elements of the signal on the one
side (a shift, or the sum of both neighbours), factors of every frequency on the other. The mirrored identity
:math:`S M = M E` has the factors in the signal and the neighbours in the result. The entries are cosines and sines, so
that both follow from their addition theorems.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import jax
import jax.numpy as jnp
import numpy as np

from tpufft.planning.verify.values import roots

Weighted = list[tuple[jax.Array, jax.Array]]
"""Pairs of factors and of the places whose values they multiply."""


@dataclass(frozen=True)
class Matrix:
    """A matrix whose rows and columns are counted from zero; `summed` asks for both neighbours instead of one."""

    size: int
    scale: float

    @property
    def rows(self) -> int:
        """Length of the result."""
        return self.size

    @property
    def columns(self) -> int:
        """Length of the signal."""
        return self.size

    @property
    def is_real(self) -> bool:
        """Whether all entries are; neighbours come in pairs then."""
        return False

    @property
    def is_open(self) -> bool:
        """Whether R is not known of all columns."""
        return False

    @property
    def order(self) -> int:
        """Of the roots of unity that the entries are made of."""
        return self.size

    def entry(self, row: jax.Array, column: jax.Array, dtype: np.dtype) -> jax.Array:
        """Entries, without the scale; `dtype` is complex."""
        raise NotImplementedError

    def neighbours(self, column: jax.Array, summed: bool) -> Weighted:
        """R: what stands at a column is the sum of these."""
        raise NotImplementedError

    def reached(self, column: jax.Array, summed: bool) -> list[jax.Array]:
        """The columns to which R takes the value of a column."""
        raise NotImplementedError

    def may_move(self, column: jax.Array) -> jax.Array:
        """The columns of which R is known."""
        return column >= 0

    def factor(self, row: jax.Array, summed: bool, dtype: np.dtype) -> jax.Array:
        """D."""
        raise NotImplementedError

    def modulation(self, column: jax.Array, summed: bool, dtype: np.dtype) -> jax.Array:
        """E."""
        raise NotImplementedError

    def has_neighbours(self, row: jax.Array, summed: bool) -> jax.Array:
        """The rows of which S is known."""
        del summed
        return row >= 0


@dataclass(frozen=True)
class Fourier(Matrix):
    """A DFT, or the half of its rows or columns that is not the conjugate of the others."""

    inverse: bool
    half_rows: bool = False
    half_columns: bool = False

    @property
    def is_open(self) -> bool:
        """A half is."""
        return self.half_columns

    @property
    def rows(self) -> int:
        """All of them, or the half."""
        return self.size // 2 + 1 if self.half_rows else self.size

    @property
    def columns(self) -> int:
        """All of them, or the half."""
        return self.size // 2 + 1 if self.half_columns else self.size

    def entry(self, row: jax.Array, column: jax.Array, dtype: np.dtype) -> jax.Array:
        """The root of the product of both numbers."""
        return self._root(row * column, dtype)

    def neighbours(self, column: jax.Array, summed: bool) -> Weighted:
        """The column before, or both; a half ends on both sides."""
        if self.half_columns:
            last = self.columns - 1
            return [(column > 0, jnp.maximum(column - 1, 0)), (column < last, jnp.minimum(column + 1, last))]
        moved = [(column >= 0, jnp.remainder(column - 1, self.size))]
        return moved + ([(column >= 0, jnp.remainder(column + 1, self.size))] if summed else [])

    def reached(self, column: jax.Array, summed: bool) -> list[jax.Array]:
        """The column behind, or both."""
        if self.half_columns:
            return [column - 1, column + 1]
        return [jnp.remainder(column + step, self.size) for step in ((1, -1) if summed else (1,))]

    def may_move(self, column: jax.Array) -> jax.Array:
        """All columns; of a half none at the ends, whose other neighbour is a conjugate."""
        return (column > 0) & (column < self.columns - 1) if self.half_columns else column >= 0

    def factor(self, row: jax.Array, summed: bool, dtype: np.dtype) -> jax.Array:
        """A root, or twice its cosine."""
        return 2 * self._root(row, dtype).real if summed else self._root(row, dtype)

    def modulation(self, column: jax.Array, summed: bool, dtype: np.dtype) -> jax.Array:
        """The conjugate of the same."""
        return self.factor(-column, summed, dtype)

    def has_neighbours(self, row: jax.Array, summed: bool) -> jax.Array:
        """All rows; of a half none at the ends."""
        return (row > 0) & (row < self.rows - 1) if self.half_rows else row >= 0

    def _root(self, exponent: jax.Array, dtype: np.dtype) -> jax.Array:
        return roots(self.size, -exponent if self.inverse else exponent, dtype)


@dataclass(frozen=True)
class Circulant(Matrix):
    """A cyclic convolution: it commutes with the shift."""

    def neighbours(self, column: jax.Array, summed: bool) -> Weighted:
        """The column before."""
        del summed
        return [(column >= 0, jnp.remainder(column - 1, self.size))]

    def reached(self, column: jax.Array, summed: bool) -> list[jax.Array]:
        """The column behind."""
        del summed
        return [jnp.remainder(column + 1, self.size)]


@dataclass(frozen=True)
class _Mirror:
    """A cosine or sine of ``(a j + b)(c k + d)`` turns of an order, and what stands behind both ends of its rows.

    Behind an end stands the end itself (`edge`), what stands before it (`point`), or nothing; `sign` says how.
    """

    a: int
    b: int
    c: int
    d: int
    per_point: int
    more: int
    low: str
    high: str
    sign: int = 1
    is_sine: bool = False


MIRRORS: Mapping[str, _Mirror] = MappingProxyType(
    {
        "C1": _Mirror(1, 0, 1, 0, 2, -1, "point", "point"),
        "C2": _Mirror(2, 1, 1, 0, 4, 0, "edge", "edge"),
        "C3": _Mirror(1, 0, 2, 1, 4, 0, "point", "nothing"),
        "C4": _Mirror(2, 1, 2, 1, 8, 0, "edge", "edge", sign=-1),
        "S1": _Mirror(1, 1, 1, 1, 2, 1, "nothing", "nothing", is_sine=True),
    }
)
"""By the names of ``kernels.trig``."""


@dataclass(frozen=True)
class Cosines(Matrix):
    """A cosine or sine transform; its neighbours always come in pairs."""

    kind: str

    @property
    def is_real(self) -> bool:
        """They are."""
        return True

    @property
    def order(self) -> int:
        """Fine enough for halves of points."""
        return self._mirror.per_point * (self.size + self._mirror.more)

    def entry(self, row: jax.Array, column: jax.Array, dtype: np.dtype) -> jax.Array:
        """The cosine or the sine."""
        mirror = self._mirror
        root = roots(self.order, (mirror.a * column + mirror.b) * (mirror.c * row + mirror.d), dtype)
        return -root.imag if mirror.is_sine else root.real

    def neighbours(self, column: jax.Array, summed: bool) -> Weighted:
        """Both, mirrored at the ends."""
        del summed
        last, mirror = self.size - 1, self._mirror
        low = jnp.where(column == 0, int(mirror.low == "edge"), 1 + (column == 1) * int(mirror.low == "point"))
        high = jnp.where(
            column == last,
            mirror.sign * int(mirror.high == "edge"),
            1 + (column == last - 1) * int(mirror.high == "point"),
        )
        return [(low, jnp.maximum(column - 1, 0)), (high, jnp.minimum(column + 1, last))]

    def reached(self, column: jax.Array, summed: bool) -> list[jax.Array]:
        """Both; what stands at an end keeps part of itself."""
        del summed
        return [jnp.maximum(column - 1, 0), jnp.minimum(column + 1, self.size - 1)]

    def factor(self, row: jax.Array, summed: bool, dtype: np.dtype) -> jax.Array:
        """Twice the cosine of a row's step."""
        del summed
        mirror = self._mirror
        return 2 * roots(self.order, mirror.a * (mirror.c * row + mirror.d), dtype).real

    def modulation(self, column: jax.Array, summed: bool, dtype: np.dtype) -> jax.Array:
        """Twice the cosine of a column's step."""
        del summed
        mirror = self._mirror
        return 2 * roots(self.order, mirror.c * (mirror.a * column + mirror.b), dtype).real

    def has_neighbours(self, row: jax.Array, summed: bool) -> jax.Array:
        """All but the ends, where the mirrors of the transposed matrix would come in."""
        del summed
        return (row > 0) & (row < self.size - 1)

    @property
    def _mirror(self) -> _Mirror:
        return MIRRORS[self.kind]
