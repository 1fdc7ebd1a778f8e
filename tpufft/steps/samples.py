"""A DFT between points that need not be 0 ... N-1: frequencies and sample positions as data, and the step."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tpufft.errors import LayoutError
from tpufft.layout import Layout
from tpufft.steps.core import Precision, Step


@dataclass(frozen=True, eq=False, repr=False)
class Points:
    """Frequencies or positions along an axis; hashed and compared by content.

    Parameters
    ----------
    count : int
        How many.
    start : int
        The first of whole numbers without a gap.
    values : ndarray of float64, optional
        All of them, where they are not such numbers. Nobody may write to it.
    """

    count: int
    start: int = 0
    values: np.ndarray | None = None

    @classmethod
    def of(cls, values: np.ndarray) -> Points:
        """The points that an array of float64 lists, as whole numbers without a gap where they are."""
        if len(values) and abs(values[0]) < 2**53 and values[0] == np.rint(values[0]):
            start = int(values[0])
            if np.array_equal(values, np.arange(start, start + len(values))):
                return cls(len(values), start)
        kept = np.array(values, np.float64) + 0.0  # minus zero is zero
        kept.flags.writeable = False
        return cls(len(kept), 0, kept)

    @property
    def are_listed(self) -> bool:
        """Whether they are anything but whole numbers without a gap."""
        return self.values is not None

    def listed(self, part: slice = slice(None)) -> np.ndarray:
        """Some of them in float64."""
        if self.values is not None:
            return self.values[part]
        chosen = range(self.start, self.start + self.count)[part]
        return np.arange(chosen.start, chosen.stop, chosen.step, dtype=np.float64)

    @functools.cached_property
    def largest(self) -> float:
        """The largest magnitude."""
        if self.values is not None:
            return float(np.abs(self.values).max(initial=0.0))
        return float(max(abs(self.start), abs(self.start + self.count - 1)) if self.count else 0)

    def describe(self) -> str:
        """What they are, in a few words."""
        if self.values is None:
            return f"{self.start}...{self.start + self.count - 1}" if self.count else "none"
        first, last = (f"{value:.4g}" for value in (self.values.min(), self.values.max())) if self.count else ("", "")
        return f"{self.count} in {first}...{last}" if self.count else "none"

    @functools.cached_property
    def _content(self) -> bytes:
        return b"" if self.values is None else self.values.tobytes()

    @functools.cached_property
    def _hash(self) -> int:
        return hash((self.count, self.start, self._content))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Points):
            return NotImplemented
        if self is other:
            return True
        return (self._hash, self.count, self.start) == (other._hash, other.count, other.start) and (
            self._content == other._content
        )

    def __repr__(self) -> str:
        return f"Points({self.describe()})"


@dataclass(frozen=True)
class Nonuniform(Step):
    r"""The product of a matrix of phases with an axis, whole or chunked; by a ring where it is chunked.

    .. math:: y_k = \text{scale} \sum_j x_j\, e^{\mp 2\pi i f_k t_j/\text{order}}

    Parameters
    ----------
    axis : int
        The axis that is contracted; the result stands in its place, chunked as it was.
    order : int
        Samples in one period.
    rows, columns : Points
        f and t.
    inverse : bool
        The sign of the phase.
    scale : float
        A factor on all of it.
    both_ways : bool
        Half of the chunks that travel go round the other way.
    precision
        Of the products.
    """

    axis: int
    order: int
    rows: Points
    columns: Points
    inverse: bool
    scale: float
    both_ways: bool = False
    precision: Precision = None

    def after(self, layout: Layout) -> Layout:
        if layout.shape[self.axis] != self.columns.count:
            raise LayoutError(f"axis {self.axis} of {layout} has no {self.columns.count} samples")
        return layout.with_axis(self.axis, size=self.rows.count, padding=-self.rows.count % layout.parts[self.axis])

    def transposed(self, layout: Layout) -> Nonuniform:
        # The exponent is symmetric in f and t.
        return Nonuniform(
            self.axis, self.order, self.columns, self.rows, self.inverse, self.scale, self.both_ways, self.precision
        )

    def sums_travel(self, layout: Layout) -> bool:
        """Whether the result's chunks travel and not the argument's: the smaller of the two does."""
        return self.after(layout).chunk_shape[self.axis] < layout.chunk_shape[self.axis]

    def wire_bytes(self, layout: Layout) -> int:
        moved = min(layout.chunk_bytes, self.after(layout).chunk_bytes)
        return moved * (layout.parts[self.axis] - 1)

    def collectives(self, layout: Layout) -> Mapping[str, int]:
        parts = layout.parts[self.axis]
        return {"collective-permute": parts - 1} if parts > 1 else {}

    def describe(self, layout: Layout) -> str:
        text = f"samples   axis {self.axis}: {self.columns.count} -> {self.rows.count} points"
        if layout.parts[self.axis] == 1:
            return f"{text}, whole"
        what = "sums" if self.sums_travel(layout) else "chunks"
        ways = "both ways" if self.both_ways and what == "chunks" else "one way"
        return f"{text}, {', '.join(layout.spec[self.axis])}: {what} {ways}"
