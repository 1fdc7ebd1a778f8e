"""What one call of the library transforms, as a row of integers that a compiled program can carry.

The library makes one plan per problem: transforms of one to three axes, repeated over one batch axis. What is left of
an array's batch axes after merging is counted through by the caller of the plan, as loops over offsets.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

TARGET = "tpufft_host_dft"
"""The name of the library's call in compiled programs."""

MAX_AXES = 3
"""Most axes of one plan; an array of more is transformed in several calls."""

MAX_LOOPS = MAX_AXES
"""Most batch axes left to be counted through: between the axes and at both ends lies one each, and the plan has one."""

LEAST_PANEL = 16
"""Fewest adjacent lines that are worth a plan of their own where another batch axis is longer."""

ALIGNMENT = 64
"""Bytes to which the compiler aligns buffers."""


class Kind(IntEnum):
    """Which pair of number types a plan goes between."""

    C2C = 0
    R2C = 1
    C2R = 2


class Word(IntEnum):
    """The place of each number in the row."""

    KIND = 0
    DOUBLE = 1
    SIGN = 2
    ALIGNED = 3
    THREADS = 4
    AXES = 5
    AXIS = 6
    BATCH = AXIS + 3 * MAX_AXES
    KEY_END = BATCH + 3
    SCALE = KEY_END
    SIZE = SCALE + 1
    LOOPS = SIZE + 1
    LOOP = LOOPS + 1
    END = LOOP + 3 * MAX_LOOPS


@dataclass(frozen=True)
class Span:
    """An axis: its length, and its strides in the input's and in the output's items."""

    length: int
    source: int
    target: int

    @property
    def words(self) -> tuple[int, int, int]:
        """As the row has them."""
        return self.length, self.source, self.target


@dataclass(frozen=True)
class Problem:
    """One call.

    Parameters
    ----------
    kind : Kind
        Between which types.
    double : bool
        Double precision.
    inverse : bool
        The sign of the phase: plus. ``C2R`` has plus always, ``R2C`` minus.
    axes : tuple of Span
        The transformed ones, lengths as the real side has them.
    batch : Span
        The axis that the plan repeats over.
    loops : tuple of Span
        The axes that the caller counts through, outermost first.
    scale : float
        A factor on the output.
    size : int
        Real numbers in the output.
    """

    kind: Kind
    double: bool
    inverse: bool
    axes: tuple[Span, ...]
    batch: Span
    loops: tuple[Span, ...]
    scale: float
    size: int

    def words(self, threads: int) -> np.ndarray:
        """The row of integers, for plans of so many threads; see :class:`Word`."""
        row = np.zeros(Word.END, np.int64)
        row[Word.KIND] = self.kind
        row[Word.DOUBLE] = self.double
        row[Word.SIGN] = 1 if self.inverse else -1
        row[Word.ALIGNED] = self._is_aligned()
        row[Word.THREADS] = threads
        row[Word.AXES] = len(self.axes)
        row[Word.BATCH : Word.BATCH + 3] = self.batch.words
        row[Word.SCALE] = np.float64(self.scale).view(np.int64)
        row[Word.SIZE] = self.size
        row[Word.LOOPS] = len(self.loops)
        for start, spans in ((Word.AXIS, self.axes), (Word.LOOP, self.loops)):
            for number, span in enumerate(spans):
                row[start + 3 * number : start + 3 * number + 3] = span.words
        return row

    def _is_aligned(self) -> bool:
        """Whether every offset that the loops come to has the alignment of the buffers themselves."""
        item = 8 if self.double else 4
        source = item if self.kind == Kind.R2C else 2 * item
        target = item if self.kind == Kind.C2R else 2 * item
        return all(loop.source * source % ALIGNMENT == loop.target * target % ALIGNMENT == 0 for loop in self.loops)


def problem(
    kind: Kind,
    shape: Sequence[int],
    axes: Sequence[int],
    *,
    double: bool,
    inverse: bool = False,
    scale: float = 1.0,
) -> Problem:
    """The problem of transforming contiguous arrays along `axes`.

    Parameters
    ----------
    kind : Kind
        Between which types; ``R2C`` and ``C2R`` take one axis.
    shape : sequence of int
        Of the array, on the real side for ``R2C`` and ``C2R``.
    axes : sequence of int
        At most three, from the front.
    double, inverse, scale
        As :class:`Problem` has them.
    """
    halved = list(shape)
    if kind != Kind.C2C:
        halved[axes[0]] = shape[axes[0]] // 2 + 1
    sources, targets = (list(shape), halved) if kind == Kind.R2C else (halved, list(shape))
    if kind == Kind.C2C:
        sources = targets = list(shape)
    spans = [
        Span(length, source, target)
        for length, source, target in zip(shape, _strides(sources), _strides(targets), strict=True)
    ]
    others = _merged([span for axis, span in enumerate(spans) if axis not in axes])
    batch = _repeated(others)
    return Problem(
        kind=kind,
        double=double,
        inverse=inverse,
        axes=tuple(spans[axis] for axis in axes),
        batch=batch,
        loops=tuple(span for span in others if span is not batch),
        scale=scale,
        size=math.prod(targets) * (1 if kind == Kind.C2R else 2),
    )


def _strides(shape: Sequence[int]) -> list[int]:
    return [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]


def _merged(spans: Sequence[Span]) -> list[Span]:
    """Neighbours that one stride counts through as one axis."""
    merged: list[Span] = []
    for span in spans:
        last = merged[-1] if merged else None
        if span.length == 1:
            continue
        if last and (last.source, last.target) == (span.length * span.source, span.length * span.target):
            merged[-1] = Span(last.length * span.length, span.source, span.target)
        else:
            merged.append(span)
    return merged


def _repeated(others: Sequence[Span]) -> Span:
    """The axis for the plan: adjacent lines if they are many, else the longest."""
    if not others:
        return Span(1, 1, 1)
    last = others[-1]
    if last.length >= LEAST_PANEL:
        return last
    return max(others, key=lambda span: span.length)
