"""Products of two arrays, as data: which axes meet, and how devices that hold chunks of them work together.

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

from tpufft.errors import LayoutError
from tpufft.layout import AxisNames, Layout, ceil_div
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
class _Travelling(Contraction):
    """One operand's chunks come by all devices along one axis.

    Parameters
    ----------
    moving : {"a", "b"}
        The operand that travels.
    letter : str
        Its axis that is chunked: summed over, or joined together in the product.
    """

    moving: str = "b"
    letter: str = ""

    def mover(self, a: Layout, b: Layout) -> tuple[Layout, int]:
        """The travelling operand's layout, and the number of its axis."""
        layout = a if self.moving == "a" else b
        return layout, self.terms.of(self.moving).index(self.letter)

    def names(self, a: Layout, b: Layout) -> AxisNames:
        """The mesh axes of the ring."""
        layout, axis = self.mover(a, b)
        return layout.spec[axis]

    def names_after(self, letter: str, names: AxisNames) -> AxisNames:
        return () if letter == self.letter else names

    def travelled(self, a: Layout, b: Layout) -> str:
        del a, b
        return self.letter


@dataclass(frozen=True)
class RingProduct(_Travelling):
    """One-shuffle: one operand's chunks go round, every device multiplies those that come by with what it holds.

    Parameters
    ----------
    both_ways : bool
        Half of the chunks come round the other way.
    panel : int, optional
        Elements of a chunk along the axis that go round at a time. None: all.
    """

    both_ways: bool = False
    panel: int | None = None

    @property
    def schedule(self) -> str:  # type: ignore[override]
        return "bidirectional" if self.both_ways else "ring"

    def rounds(self, a: Layout, b: Layout) -> list[int]:
        """The length of each panel, one after the other."""
        layout, axis = self.mover(a, b)
        return panels(layout.chunk_shape[axis], self.panel)

    def wire_bytes(self, a: Layout, b: Layout) -> int:
        layout, axis = self.mover(a, b)
        return super().wire_bytes(a, b) + (layout.parts[axis] - 1) * layout.chunk_bytes

    def collectives(self, a: Layout, b: Layout) -> Mapping[str, int]:
        layout, axis = self.mover(a, b)
        permutes = (layout.parts[axis] - 1) * len(self.rounds(a, b))
        return {**super().collectives(a, b), **({"collective-permute": permutes} if permutes else {})}

    def scratch_bytes(self, a: Layout, b: Layout) -> int:
        layout, axis = self.mover(a, b)
        part = layout.chunk_bytes * max(self.rounds(a, b), default=1) // max(layout.chunk_shape[axis], 1)
        return (4 if self.both_ways else 2) * part

    def describe(self, a: Layout, b: Layout) -> str:
        layout, axis = self.mover(a, b)
        ways = "both ways" if self.both_ways else "one way"
        how = "summed over" if self.letter in self.terms.contracted else "joined along"
        rounds = self.rounds(a, b)
        by = f" in {len(rounds)} panels" if len(rounds) > 1 else ""
        return (
            f"ring      {self.terms}, chunks of {self.moving} go round {', '.join(layout.spec[axis])} {ways}{by}, "
            f"{how} {self.letter}{self._sum_text()}"
        )


@dataclass(frozen=True)
class GatheredProduct(_Travelling):
    """One operand is gathered whole on every device first; to be compared with."""

    schedule: ClassVar[str] = "gather"

    def wire_bytes(self, a: Layout, b: Layout) -> int:
        layout, axis = self.mover(a, b)
        return super().wire_bytes(a, b) + (layout.parts[axis] - 1) * layout.chunk_bytes

    def collectives(self, a: Layout, b: Layout) -> Mapping[str, int]:
        return dict(Counter(super().collectives(a, b)) + Counter({"all-gather": 1}))

    def scratch_bytes(self, a: Layout, b: Layout) -> int:
        layout, axis = self.mover(a, b)
        return layout.parts[axis] * layout.chunk_bytes

    def describe(self, a: Layout, b: Layout) -> str:
        return f"gather    {self.terms}, {self.moving} whole on every device of {', '.join(self.names(a, b))}"


@dataclass(frozen=True)
class _Scattering(Contraction):
    """Both operands are chunked along what is summed over: devices add up each other's products.

    Parameters
    ----------
    names : tuple of str
        The mesh axes that split what is summed over, and split the product's axis `target` afterwards.
    target : str
        A letter of the product.
    """

    names: AxisNames = ()
    target: str = ""

    def names_after(self, letter: str, names: AxisNames) -> AxisNames:
        return names + self.names if letter == self.target else names

    def wire_bytes(self, a: Layout, b: Layout) -> int:
        parts = a.device_count_along(self.names)
        return super().wire_bytes(a, b) + (parts - 1) * self.after(a, b).chunk_bytes


@dataclass(frozen=True)
class ScatteredSum(_Scattering):
    """A local product, then one all-to-all, and a sum of what comes.

    Parameters
    ----------
    panel : int, optional
        Elements of the target axis of a device's result that are worked out at a time. None: all.
    """

    schedule: ClassVar[str] = "reduce"

    panel: int | None = None

    def rounds(self, a: Layout, b: Layout) -> list[int]:
        """The length of each panel of a device's result."""
        after = self.after(a, b)
        return panels(after.chunk_shape[self.terms.c.index(self.target)], self.panel)

    def collectives(self, a: Layout, b: Layout) -> Mapping[str, int]:
        return dict(Counter(super().collectives(a, b)) + Counter({"all-to-all": len(self.rounds(a, b))}))

    def scratch_bytes(self, a: Layout, b: Layout) -> int:
        after = self.after(a, b)
        share = max(self.rounds(a, b), default=1) / max(after.chunk_shape[self.terms.c.index(self.target)], 1)
        return int(2 * a.device_count_along(self.names) * after.chunk_bytes * share)

    def describe(self, a: Layout, b: Layout) -> str:
        rounds = self.rounds(a, b)
        by = f" in {len(rounds)} panels" if len(rounds) > 1 else ""
        return (
            f"reduce    {self.terms} of what is at hand, then sums over {', '.join(self.names)}{by} into chunks "
            f"along {self.target}{self._sum_text()}"
        )


@dataclass(frozen=True)
class RingSum(_Scattering):
    """The product's chunks go round and gather the devices' shares.

    Parameters
    ----------
    both_ways : bool
        One half of each chunk goes round the other way.
    """

    both_ways: bool = False

    @property
    def schedule(self) -> str:  # type: ignore[override]
        return "bidirectional" if self.both_ways else "ring"

    def collectives(self, a: Layout, b: Layout) -> Mapping[str, int]:
        length = self.after(a, b).chunk_shape[self.terms.c.index(self.target)]
        permutes = (a.device_count_along(self.names) - 1) * (2 if self.both_ways and length > 1 else 1)
        return dict(Counter(super().collectives(a, b)) + Counter({"collective-permute": permutes}))

    def scratch_bytes(self, a: Layout, b: Layout) -> int:
        return 2 * self.after(a, b).chunk_bytes

    def describe(self, a: Layout, b: Layout) -> str:
        ways = "both ways" if self.both_ways else "one way"
        return (
            f"ring      {self.terms}, chunks of the product along {self.target} go round {', '.join(self.names)} {ways}"
            f"{self._sum_text()}"
        )


@dataclass(frozen=True)
class Summa(Contraction):
    """Both operands and the product in blocks over two (groups of) mesh axes; panels of both operands go round.

    The classical algorithm broadcasts panels along rows and columns of devices. Here they start skewed and go from
    neighbour to neighbour, as in Cannon's, on meshes that need not be square: with L the least common multiple of the
    two sides, every device meets L panels in its own order.

    Parameters
    ----------
    letter : str
        What is summed over: split over the columns of devices in `a`, over the rows in `b`.
    panel : int, optional
        Elements of the summed axis that go round at a time. None: as L says.
    """

    schedule: ClassVar[str] = "summa"

    letter: str = ""
    panel: int | None = None

    def sides(self, a: Layout, b: Layout) -> tuple[AxisNames, AxisNames]:
        """The mesh axes of the rows and of the columns of devices."""
        return b.spec[self.terms.b.index(self.letter)], a.spec[self.terms.a.index(self.letter)]

    def counts(self, a: Layout, b: Layout) -> tuple[int, int]:
        """Rows and columns of devices."""
        rows, columns = self.sides(a, b)
        return a.device_count_along(rows), a.device_count_along(columns)

    def blocks(self, a: Layout, b: Layout) -> int:
        """Panels in all."""
        rows, columns = self.counts(a, b)
        return summa_blocks(rows, columns, a.stored_shape[self.terms.a.index(self.letter)], self.panel)

    def travelled(self, a: Layout, b: Layout) -> str:
        del a, b
        return self.letter

    def skews(self, a: Layout, b: Layout) -> tuple[int, int]:
        """Permutes of a chunk of each operand that bring its panels into their order."""
        (rows, columns), blocks = self.counts(a, b), self.blocks(a, b)
        return (
            skew_permutes(blocks, across=columns, along=rows),
            skew_permutes(blocks, across=rows, along=columns),
        )

    def wire_bytes(self, a: Layout, b: Layout) -> int:
        blocks, (rows, columns) = self.blocks(a, b), self.counts(a, b)
        total = super().wire_bytes(a, b)
        for layout, count, skew in zip((a, b), (columns, rows), self.skews(a, b), strict=True):
            total += layout.chunk_bytes * (skew + ((blocks - 1) * count // blocks if count > 1 else 0))
        return total

    def collectives(self, a: Layout, b: Layout) -> Mapping[str, int]:
        blocks, (rows, columns) = self.blocks(a, b), self.counts(a, b)
        permutes = sum(self.skews(a, b)) + (blocks - 1) * ((rows > 1) + (columns > 1))
        return dict(Counter(super().collectives(a, b)) + Counter({"collective-permute": permutes}))

    def scratch_bytes(self, a: Layout, b: Layout) -> int:
        return 2 * (a.chunk_bytes + b.chunk_bytes)

    def describe(self, a: Layout, b: Layout) -> str:
        rows, columns = self.sides(a, b)
        return (
            f"summa     {self.terms}, {self.blocks(a, b)} panels of a go round {', '.join(columns)}, of b round "
            f"{', '.join(rows)}{self._sum_text()}"
        )


def panels(length: int, panel: int | None) -> list[int]:
    """A length cut into panels, the last may be shorter."""
    if panel is None or panel >= length:
        return [length]
    return [panel] * (length // panel) + ([length % panel] if length % panel else [])


def summa_blocks(rows: int, columns: int, size: int, panel: int | None) -> int:
    """Panels of a summed axis that `rows` x `columns` devices hold: the fewest that both sides hold whole numbers of.

    A multiple of the least common multiple of both sides where `panel` asks for shorter ones.
    """
    least = math.lcm(rows, columns)
    times = 1 if panel is None else max(1, ceil_div(size, least * panel))
    if size % least:
        raise LayoutError(f"a summed axis stored in {size} elements is not padded to a multiple of {least} panels")
    while (size // least) % times:
        times += 1
    return least * times


def skew_permutes(blocks: int, *, across: int, along: int) -> int:
    """Permutes of a chunk that bring an operand into the order in which its devices meet its panels.

    Its `blocks` panels are spread over `across` devices; the device in place r of `along` others starts with what lies
    ``r * blocks / along`` panels further on: on one other device, or on two.
    """
    if along == 1 or across == 1:
        return 0
    return 2 if (blocks // along) % (blocks // across) else 1


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
