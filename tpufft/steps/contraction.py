"""Products of two arrays, as data: which axes meet, and what devices that hold chunks of them do.

A contraction is what :class:`Step` is, with two layouts before it instead of one. Axes are named by letters, as in
``einsum``: a letter of both operands and of the result is a batch axis, one of both operands alone is summed over.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from tpufft.layout import AxisNames, Layout
from tpufft.steps.core import Program


@dataclass(frozen=True)
class Terms:
    """The letters of two operands and of their product.

    Parameters
    ----------
    a, b, c : str
        A letter for every axis, each at most once in an operand. Every letter stands in two of the three at least.
    """

    a: str
    b: str
    c: str

    @property
    def contracted(self) -> str:
        """Summed over."""
        return "".join(letter for letter in self.a if letter in self.b and letter not in self.c)

    @property
    def batch(self) -> str:
        """In all three."""
        return "".join(letter for letter in self.c if letter in self.a and letter in self.b)

    @property
    def left(self) -> str:
        """The first operand's own."""
        return "".join(letter for letter in self.a if letter not in self.b)

    @property
    def right(self) -> str:
        """The second operand's own."""
        return "".join(letter for letter in self.b if letter not in self.a)

    def of(self, side: str) -> str:
        """The letters of the operand ``"a"`` or ``"b"``."""
        return self.a if side == "a" else self.b

    def __str__(self) -> str:
        return f"{self.a},{self.b}->{self.c}"


@dataclass(frozen=True)
class Contraction:
    """How devices that hold chunks of two arrays make chunks of their product.

    Parameters
    ----------
    terms : Terms
        Which axes meet.
    dtype : numpy.dtype
        Of the product.
    summed : tuple of str
        Mesh axes over which the devices' results are added up at the end, and the sum left on all of them.
    """

    schedule: ClassVar[str] = ""

    terms: Terms
    dtype: np.dtype
    summed: AxisNames = ()

    def after(self, a: Layout, b: Layout) -> Layout:
        """The layout of the product."""
        shape, spec, padding = [], [], []
        for letter in self.terms.c:
            layout, axis = (
                (a, self.terms.a.index(letter)) if letter in self.terms.a else (b, self.terms.b.index(letter))
            )
            shape.append(layout.shape[axis])
            spec.append(self.names_after(letter, layout.spec[axis]))
            padding.append(layout.padding[axis])
        return Layout(tuple(shape), self.dtype, a.mesh, tuple(spec), tuple(padding))

    def names_after(self, letter: str, names: AxisNames) -> AxisNames:
        """The mesh axes that split an axis of the product, of those that split the operand's."""
        del letter
        return names

    def flops(self, a: Layout, b: Layout) -> float:
        """Arithmetic of one device: two for every real product."""
        sizes = dict(zip(self.terms.a, a.chunk_shape, strict=True))
        for letter, size in zip(self.terms.b, b.chunk_shape, strict=True):
            # Where one operand is whole and the other travels, all of the axis is worked through.
            sizes[letter] = max(sizes.get(letter, 0), size)
        for letter in self.travelled(a, b):
            sizes[letter] = dict(zip(self.terms.a + self.terms.b, a.stored_shape + b.stored_shape, strict=True))[letter]
        planes = (2 if a.dtype.kind == "c" else 1) * (2 if b.dtype.kind == "c" else 1)
        return 2.0 * planes * math.prod(sizes.values())

    def travelled(self, a: Layout, b: Layout) -> str:
        """Letters along which a device meets the chunks of other devices."""
        del a, b
        return ""

    def wire_bytes(self, a: Layout, b: Layout) -> int:
        """Bytes that one device sends."""
        if not self.summed:
            return 0
        parts = a.device_count_along(self.summed)
        return 2 * self.after(a, b).chunk_bytes * (parts - 1) // parts

    def collectives(self, a: Layout, b: Layout) -> Mapping[str, int]:
        """HLO collectives that are executed, by opcode."""
        del a, b
        return {"all-reduce": 1} if self.summed else {}

    def scratch_bytes(self, a: Layout, b: Layout) -> int:
        """Bytes of one device besides the operands and the product."""
        del a, b
        return 0

    def describe(self, a: Layout, b: Layout) -> str:
        """The contraction in a few words."""
        del a, b
        return f"product   {self.terms} of what is at hand{self._sum_text()}"

    def _sum_text(self) -> str:
        return f", summed over {', '.join(self.summed)}" if self.summed else ""


@dataclass(frozen=True)
class LocalProduct(Contraction):
    """Every device multiplies what it holds."""

    schedule: ClassVar[str] = "local"


@dataclass(frozen=True)
class ProductProgram:
    """Steps on each operand, the contraction, steps on the product.

    Parameters
    ----------
    a, b : Program
        What is done to the operands first.
    contraction : Contraction
        How they meet.
    c : Program
        What is done to the product.
    """

    a: Program
    b: Program
    contraction: Contraction
    c: Program

    @property
    def out_layout(self) -> Layout:
        """The layout of the result."""
        return self.c.out_layout

    @cached_property
    def meeting(self) -> tuple[Layout, Layout]:
        """The operands' layouts when they meet."""
        return self.a.out_layout, self.b.out_layout

    @property
    def wire_bytes(self) -> int:
        """Bytes that one device sends."""
        own = self.contraction.wire_bytes(*self.meeting)
        return own + sum(part.wire_bytes for part in (self.a, self.b, self.c))

    @property
    def collectives(self) -> dict[str, int]:
        """Collectives that are executed, by HLO opcode."""
        total = Counter(dict(self.contraction.collectives(*self.meeting)))
        for part in (self.a, self.b, self.c):
            total.update(part.collectives)
        return dict(total)


def panels(length: int, panel: int | None) -> list[int]:
    """A length cut into panels, the last may be shorter."""
    if panel is None or panel >= length:
        return [length]
    return [panel] * (length // panel) + ([length % panel] if length % panel else [])
