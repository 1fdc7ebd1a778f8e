"""Steps that do arithmetic: local transforms, rings, twiddle factors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tpufft.layout import Layout
from tpufft.steps.core import Precision, Step, check_whole


@dataclass(frozen=True)
class Local(Step):
    r"""An unnormalised DFT times `scale` along axes that every device holds whole.

    .. math:: y_k = \text{scale} \sum_j x_j\, e^{\mp 2\pi i jk/N}
    """

    axes: tuple[int, ...]
    inverse: bool
    scale: float
    kernel: str
    precision: Precision = None

    def after(self, layout: Layout) -> Layout:
        check_whole(layout, self.axes)
        return layout

    def transposed(self, layout: Layout) -> Local:
        return self

    def describe(self, layout: Layout) -> str:
        lengths = " x ".join(str(layout.shape[axis]) for axis in self.axes)
        axes = f"ax{'is' if len(self.axes) == 1 else 'es'} {', '.join(map(str, self.axes))}"
        return f"local     {axes} of {lengths}, kernel {self.kernel}"


@dataclass(frozen=True)
class Ring(Step):
    """A DFT along a chunked axis by the one-shuffle product: chunks travel, a block row of the matrix stays."""

    axis: int
    inverse: bool
    scale: float
    both_ways: bool = False
    precision: Precision = None

    def after(self, layout: Layout) -> Layout:
        return layout

    def transposed(self, layout: Layout) -> Ring:
        return self

    def wire_bytes(self, layout: Layout) -> int:
        return layout.chunk_bytes * (layout.parts[self.axis] - 1)

    def collectives(self, layout: Layout) -> Mapping[str, int]:
        return {"collective-permute": layout.parts[self.axis] - 1}

    def describe(self, layout: Layout) -> str:
        ways = "both ways" if self.both_ways else "one way"
        return f"ring      axis {self.axis} of {layout.shape[self.axis]}, {', '.join(layout.spec[self.axis])} {ways}"


@dataclass(frozen=True)
class Twiddle(Step):
    r"""Multiplication by :math:`\text{scale}\cdot e^{\mp 2\pi i rc/\text{modulus}}`, r and c indices on two axes."""

    rows: int
    columns: int
    modulus: int
    inverse: bool
    scale: float = 1.0

    def after(self, layout: Layout) -> Layout:
        return layout

    def transposed(self, layout: Layout) -> Twiddle:
        return self

    def describe(self, layout: Layout) -> str:
        return f"twiddle   axes {self.rows}, {self.columns} by roots of order {self.modulus}"
