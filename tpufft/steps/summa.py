"""The contraction in which panels of both operands go round the rows and columns of a mesh."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from tpufft.errors import LayoutError
from tpufft.layout import AxisNames, Layout, ceil_div
from tpufft.steps.contraction import Contraction


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
