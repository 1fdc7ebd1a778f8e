"""Contractions in which chunks of one operand, or of the product, come by all devices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from tpufft.layout import AxisNames, Layout
from tpufft.steps.contraction import Contraction, panels


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

    def wire_bytes(self, a: Layout, b: Layout) -> int:
        layout, axis = self.mover(a, b)
        return super().wire_bytes(a, b) + (layout.parts[axis] - 1) * layout.chunk_bytes


@dataclass(frozen=True)
class RingProduct(_Travelling):
    """One-shuffle: one operand's chunks go round, every device multiplies those that come by with what it holds.

    Parameters
    ----------
    both_ways : bool
        One half of each chunk goes round the other way.
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

    def collectives(self, a: Layout, b: Layout) -> Mapping[str, int]:
        layout, axis = self.mover(a, b)
        ways = sum(2 if self.both_ways and length > 1 else 1 for length in self.rounds(a, b))
        permutes = (layout.parts[axis] - 1) * ways
        return {**super().collectives(a, b), **({"collective-permute": permutes} if permutes else {})}

    def scratch_bytes(self, a: Layout, b: Layout) -> int:
        layout, axis = self.mover(a, b)
        part = layout.chunk_bytes * max(self.rounds(a, b), default=1) // max(layout.chunk_shape[axis], 1)
        return 2 * part

    def describe(self, a: Layout, b: Layout) -> str:
        layout, axis = self.mover(a, b)
        ways = "both ways" if self.both_ways else "one way"
        how = "summed over" if self.letter in self.terms.contracted else "joined along"
        by = _panels_text(self.rounds(a, b))
        return (
            f"ring      {self.terms}, chunks of {self.moving} go round {', '.join(layout.spec[axis])} {ways}{by}, "
            f"{how} {self.letter}{self._sum_text()}"
        )


@dataclass(frozen=True)
class GatheredProduct(_Travelling):
    """One operand is gathered whole on every device first; to be compared with."""

    schedule: ClassVar[str] = "gather"

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
    panel : int, optional
        Elements of the target axis of a device's result that are worked out at a time. None: all.
    """

    names: AxisNames = ()
    target: str = ""
    panel: int | None = None

    def rounds(self, a: Layout, b: Layout) -> list[int]:
        """The length of each panel of a device's result."""
        after = self.after(a, b)
        return panels(after.chunk_shape[self.terms.c.index(self.target)], self.panel)

    def names_after(self, letter: str, names: AxisNames) -> AxisNames:
        return names + self.names if letter == self.target else names

    def wire_bytes(self, a: Layout, b: Layout) -> int:
        parts = a.device_count_along(self.names)
        return super().wire_bytes(a, b) + (parts - 1) * self.after(a, b).chunk_bytes


@dataclass(frozen=True)
class ScatteredSum(_Scattering):
    """A local product, then one all-to-all, and a sum of what comes."""

    schedule: ClassVar[str] = "reduce"

    def collectives(self, a: Layout, b: Layout) -> Mapping[str, int]:
        return dict(Counter(super().collectives(a, b)) + Counter({"all-to-all": len(self.rounds(a, b))}))

    def scratch_bytes(self, a: Layout, b: Layout) -> int:
        after = self.after(a, b)
        share = max(self.rounds(a, b), default=1) / max(after.chunk_shape[self.terms.c.index(self.target)], 1)
        return int(2 * a.device_count_along(self.names) * after.chunk_bytes * share)

    def describe(self, a: Layout, b: Layout) -> str:
        by = _panels_text(self.rounds(a, b))
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
        ways = sum(2 if self.both_ways and length > 1 else 1 for length in self.rounds(a, b))
        permutes = (a.device_count_along(self.names) - 1) * ways
        return dict(Counter(super().collectives(a, b)) + Counter({"collective-permute": permutes}))

    def scratch_bytes(self, a: Layout, b: Layout) -> int:
        after = self.after(a, b)
        length = max(after.chunk_shape[self.terms.c.index(self.target)], 1)
        return 2 * after.chunk_bytes * max(self.rounds(a, b), default=1) // length

    def describe(self, a: Layout, b: Layout) -> str:
        by = _panels_text(self.rounds(a, b))
        ways = "both ways" if self.both_ways else "one way"
        return (
            f"ring      {self.terms}, chunks of the product along {self.target} go round {', '.join(self.names)} {ways}"
            f"{by}{self._sum_text()}"
        )


def _panels_text(rounds: list[int]) -> str:
    return f" in {len(rounds)} panels" if len(rounds) > 1 else ""
