"""Multiplication along an axis: by a table told by a formula, and by the spectrum of a chirp."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tpufft.errors import LayoutError
from tpufft.layout import Layout
from tpufft.steps.core import Program, Step
from tpufft.steps.tables import Chirp, Table


@dataclass(frozen=True)
class Diagonal(Step):
    """Multiplication of every element of an axis, chunked or not, by its entry of a table."""

    axis: int
    table: Table

    def after(self, layout: Layout) -> Layout:
        if self.table.is_complex and layout.dtype.kind != "c":
            raise LayoutError(f"{self.table.describe()} cannot multiply {layout} in its own dtype")
        return layout

    def transposed(self, layout: Layout) -> Diagonal:
        return self

    def describe(self, layout: Layout) -> str:
        return f"multiply  axis {self.axis} by {self.table.describe()}"


@dataclass(frozen=True)
class ChirpSpectrum(Step):
    """Multiplication by the spectrum of Bluestein's kernel, seen as a matrix of 2 P rows, chunked by rows.

    The kernel is the conjugate chirp of `points` elements on each side of zero. Its spectrum is made where it is
    needed, by the steps of `line` on one matrix, so that no program carries a table as long as the axis.

    Parameters
    ----------
    axis : int
        The rows; the columns are the axis behind.
    points : int
        Elements of the signal.
    chirp : Chirp
        What modulates the signal; the kernel is its conjugate times its scale.
    line : Program
        The steps that bring the kernel's whole rows and chunked columns into its spectrum.
    """

    axis: int
    points: int
    chirp: Chirp
    line: Program

    def after(self, layout: Layout) -> Layout:
        return layout

    def transposed(self, layout: Layout) -> ChirpSpectrum:
        return self

    def wire_bytes(self, layout: Layout) -> int:
        return self.line.wire_bytes

    def collectives(self, layout: Layout) -> Mapping[str, int]:
        return self.line.collectives

    def describe(self, layout: Layout) -> str:
        return f"multiply  axes {self.axis}, {self.axis + 1} by the spectrum of a chirp of {self.points}"
