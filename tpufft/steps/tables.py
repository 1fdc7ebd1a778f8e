"""Diagonal matrices as data: what each element of an axis is multiplied by, told by a formula and not by its values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class Table:
    """Factors along an axis."""

    is_complex: ClassVar[bool] = False

    def describe(self) -> str:
        """The formula in a few words."""
        raise NotImplementedError


@dataclass(frozen=True)
class Ends(Table):
    """One factor for the first element, one for the last, one for those between; a single element gets both."""

    first: float = 1.0
    inner: float = 1.0
    last: float = 1.0

    def describe(self) -> str:
        return f"{self.first:g}, {self.inner:g} ... {self.inner:g}, {self.last:g}"


@dataclass(frozen=True)
class Signs(Table):
    """:math:`(-1)^j`."""

    def describe(self) -> str:
        return "alternating signs"


@dataclass(frozen=True)
class Phase(Table):
    r"""A linear phase :math:`\text{scale}\cdot e^{\mp 2\pi i (\text{rate}\, j + \text{offset})/\text{order}}`."""

    is_complex: ClassVar[bool] = True
    order: int
    rate: int
    offset: int = 0
    inverse: bool = False
    scale: float = 1.0

    def describe(self) -> str:
        return f"roots of order {self.order}"


@dataclass(frozen=True)
class Chirp(Table):
    r"""A quadratic phase :math:`\text{scale}\cdot e^{\mp \pi i j^2/\text{order}}`."""

    is_complex: ClassVar[bool] = True
    order: int
    inverse: bool = False
    scale: float = 1.0

    def describe(self) -> str:
        return f"chirp of order {self.order}"


@dataclass(frozen=True)
class Hankel(Table):
    r"""The Mellin factors of a fast Hankel transform of `size` points, on its half spectrum.

    Parameters
    ----------
    size : int
        Points of the real signal.
    dln, mu, offset, bias : float
        As ``scipy.fft.fht`` has them.
    inverse : bool
        The reciprocals of the conjugates instead.
    conjugate : bool
        The conjugates of all that.
    """

    is_complex: ClassVar[bool] = True
    size: int
    dln: float
    mu: float
    offset: float
    bias: float
    inverse: bool = False
    conjugate: bool = False

    def describe(self) -> str:
        return f"Mellin factors, mu={self.mu:g}"


@dataclass(frozen=True)
class Power(Table):
    r"""The bias of a Hankel transform: :math:`\text{scale}\cdot e^{\text{rate}\,(j - \text{centre})}`."""

    rate: float
    centre: float
    scale: float = 1.0

    def describe(self) -> str:
        return f"powers of exp({self.rate:g})"
