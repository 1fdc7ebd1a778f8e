"""What can happen to one axis of an array, as data: transforms, shifts, factors."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tpufft.steps import Ends, Hankel, Phase, Points, Power, Signs, Table, half


@dataclass(frozen=True)
class OneAxis:
    """What all operations tell."""

    axis: int
    size: int

    @property
    def points(self) -> int:
        """Length of the axis that the operation takes."""
        return self.size

    @property
    def result(self) -> int:
        """Length of the axis that it leaves."""
        return self.size

    def inverted(self) -> tuple[Operation, ...]:
        """The operations that undo this one."""
        raise NotImplementedError


@dataclass(frozen=True)
class DFT(OneAxis):
    """One axis' transform: cut or zero-padded to `size`, then the unnormalised DFT times `scale`."""

    inverse: bool
    scale: float

    def inverted(self) -> tuple[Operation, ...]:
        """Scale times the inverse's scale times size is 1, so that the two undo each other."""
        return (replace(self, inverse=not self.inverse, scale=1.0 / (self.scale * self.size)),)


@dataclass(frozen=True)
class Real(OneAxis):
    """A DFT between `size` real points and their half spectrum, times `scale`.

    Parameters
    ----------
    to_real : bool
        From the half spectrum to the real points.
    weighted : bool
        Whether a frequency that stands for its conjugate too counts twice.
    """

    inverse: bool
    scale: float
    to_real: bool
    weighted: bool

    @property
    def points(self) -> int:
        """Length of the axis that the operation takes."""
        return half(self.size) if self.to_real else self.size

    @property
    def result(self) -> int:
        """Length of the axis that it leaves."""
        return self.size if self.to_real else half(self.size)

    def inverted(self) -> tuple[Operation, ...]:
        """A spectrum counts double on one of the two ways."""
        other = replace(
            self,
            inverse=not self.inverse,
            scale=1.0 / (self.scale * self.size),
            to_real=not self.to_real,
            weighted=not self.weighted,
        )
        return (other,)


@dataclass(frozen=True)
class Trig(OneAxis):
    """A cosine or sine transform by one of the bare matrices C1 C2 C3 C4 S1, times `scale`."""

    kind: str
    scale: float

    def inverted(self) -> tuple[Operation, ...]:
        """The matrices are orthogonal up to factors of the first and last elements."""
        period = self.size + {"C1": -1, "S1": 1}.get(self.kind, 0)
        scale = 2.0 / (period * self.scale)
        other = replace(self, kind={"C2": "C3", "C3": "C2"}.get(self.kind, self.kind), scale=scale)
        start = Multiply(self.axis, self.size, Ends(first=0.5))
        both = Multiply(self.axis, self.size, Ends(first=0.5, last=0.5))
        return {"C1": (both, other, both), "C2": (start, other), "C3": (other, start)}.get(self.kind, (other,))


@dataclass(frozen=True)
class Samples(OneAxis):
    """The matrix of phases between any frequencies and positions, times `scale`; `size` is the columns' count.

    Parameters
    ----------
    order : int
        Samples in one period.
    rows, columns : Points
        Of the result and of the argument.
    """

    order: int
    rows: Points
    columns: Points
    inverse: bool
    scale: float

    @property
    def result(self) -> int:
        """Length of the axis that it leaves."""
        return self.rows.count

    def inverted(self) -> tuple[Operation, ...]:
        """None: the matrix need not have an inverse."""
        raise ValueError("a DFT matrix with chosen rows or columns has no inverse that is known; use its adjoint, W.H")


@dataclass(frozen=True)
class Multiply(OneAxis):
    """Every element of an axis times its entry of a table."""

    table: Table

    def inverted(self) -> tuple[Operation, ...]:
        """The reciprocal table."""
        return (replace(self, table=_reciprocal(self.table)),)


@dataclass(frozen=True)
class Flip(OneAxis):
    """An axis backwards."""

    def inverted(self) -> tuple[Operation, ...]:
        """The same."""
        return (self,)


@dataclass(frozen=True)
class Roll(OneAxis):
    """One axis' cyclic shift."""

    amount: int

    def inverted(self) -> tuple[Operation, ...]:
        """The shift back."""
        return (replace(self, amount=-self.amount % max(self.size, 1)),)


Transform = DFT | Real | Trig | Samples
Pointwise = Multiply | Flip | Roll
Operation = Transform | Pointwise


def _reciprocal(table: Table) -> Table:
    if isinstance(table, Ends):
        return Ends(1.0 / table.first, 1.0 / table.inner, 1.0 / table.last)
    if isinstance(table, Power):
        return Power(-table.rate, table.centre, 1.0 / table.scale)
    if isinstance(table, Phase):
        return replace(table, inverse=not table.inverse, scale=1.0 / table.scale)
    if isinstance(table, Hankel):
        return replace(table, inverse=not table.inverse, conjugate=not table.conjugate)
    if isinstance(table, Signs):
        return table
    raise TypeError(f"{table!r} has no reciprocal")
