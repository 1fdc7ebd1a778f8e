"""What every step can tell of itself, and programs: an input layout and steps."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jax import lax

from tpufft.errors import LayoutError
from tpufft.layout import Layout

Precision = str | lax.DotAlgorithmPreset | lax.Precision | None


@dataclass(frozen=True)
class Step:
    """One thing every device does."""

    def after(self, layout: Layout) -> Layout:
        """The layout that this step leaves."""
        raise NotImplementedError

    def transposed(self, layout: Layout) -> Step:
        """The step whose matrix is the transpose of this one's, given the layout before this one."""
        raise NotImplementedError

    def wire_bytes(self, layout: Layout) -> int:
        """Bytes that one device sends."""
        del layout
        return 0

    def collectives(self, layout: Layout) -> Mapping[str, int]:
        """HLO collectives that are executed, by opcode."""
        del layout
        return {}

    def describe(self, layout: Layout) -> str:
        """The step in a few words, given the layout before it."""
        raise NotImplementedError


@dataclass(frozen=True)
class Program:
    """An input layout and the steps that lead to the output layout."""

    in_layout: Layout
    steps: tuple[Step, ...]

    @cached_property
    def layouts(self) -> tuple[Layout, ...]:
        """The layout before each step, and the last one's result."""
        layouts = [self.in_layout]
        for step in self.steps:
            layouts.append(step.after(layouts[-1]))
        return tuple(layouts)

    @property
    def out_layout(self) -> Layout:
        """The layout of the result."""
        return self.layouts[-1]

    @property
    def wire_bytes(self) -> int:
        """Bytes that one device sends."""
        return sum(step.wire_bytes(layout) for step, layout in zip(self.steps, self.layouts, strict=False))

    @property
    def collectives(self) -> dict[str, int]:
        """Collectives that are executed, by HLO opcode."""
        total: Counter[str] = Counter()
        for step, layout in zip(self.steps, self.layouts, strict=False):
            total.update(step.collectives(layout))
        return dict(total)

    def transposed(self) -> Program:
        """The program of the transposed matrix: the steps' transposes, last first."""
        pairs = list(zip(self.steps, self.layouts, strict=False))
        return Program(self.out_layout, tuple(step.transposed(layout) for step, layout in reversed(pairs)))

    def then(self, other: Program) -> Program:
        """Both programs, one after the other."""
        if other.in_layout != self.out_layout:
            raise LayoutError(f"the first program leaves {self.out_layout}, the second takes {other.in_layout}")
        return Program(self.in_layout, self.steps + other.steps)


def check_whole(layout: Layout, axes: Iterable[int]) -> None:
    """Refuse a layout in which one of `axes` is chunked or padded."""
    for axis in axes:
        if layout.parts[axis] > 1 or layout.padding[axis]:
            raise LayoutError(f"axis {axis} is not whole on every device in {layout}")


def real_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of a complex number's parts; a real dtype as it is."""
    return np.dtype(dtype).type(0).real.dtype


def complex_dtype(dtype: np.dtype) -> np.dtype:
    """The complex dtype whose parts have `dtype`; a complex dtype as it is."""
    return np.result_type(dtype, np.complex64)


def dft_flops(length: int, batch: int) -> float:
    """FLOPs of a complex DFT by a fast algorithm, by the usual convention 5 N log2 N."""
    return 5.0 * length * math.log2(max(length, 2)) * batch if length > 1 else 0.0
