"""Slices of chunked axes: pieces of chunks go where the shorter axis has them, by permutes, and nothing is gathered."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from tpufft import execution
from tpufft.errors import LayoutError
from tpufft.execution import Bound
from tpufft.layout import AxisNames, Layout, ceil_div
from tpufft.meshes import check_same_devices
from tpufft.steps import Merge, Piece, Program, Rearrange, Split, Step

# To how many devices a chunk is spread at once: more go by several stages, so that few permutes spread to thousands.
SPREAD = 4
# Elements with gaps longer than a chunk travel one by one, so many at most.
SINGLES = 16


@dataclass(frozen=True)
class Cut:
    """The elements ``start + k * step`` of an axis, for k below `count`."""

    start: int
    count: int
    step: int = 1


@dataclass(frozen=True)
class Cuts:
    """Slices of chunked axes as a linear map; implements ``execution.Operator``.

    Parameters
    ----------
    layout : Layout
        Of the argument.
    cuts : tuple of Cut or None
        What is kept of each axis; None: all.
    open_axes : tuple of int
        Batch axes that are split as the argument shows.
    is_transposed : bool
        Whether this is the transposed map: elements go back to their places among zeros.
    """

    layout: Layout
    cuts: tuple[Cut | None, ...]
    open_axes: tuple[int, ...] = ()
    is_transposed: bool = False

    def result(self) -> tuple[tuple[int, ...], np.dtype]:
        """Stored shape and dtype of the result."""
        layout = self.layout if self.is_transposed else sliced_layout(self.layout, self.cuts)
        return layout.stored_shape, layout.dtype

    def transposed(self) -> Cuts:
        """The transposed map."""
        return replace(self, is_transposed=not self.is_transposed)

    def located(self, visible: Layout | None) -> Cuts:
        """The same map with the chunking of batch axes remembered."""
        if visible is None or not self.open_axes:
            return self
        layout = self.layout
        for axis in self.open_axes:
            layout = layout.with_axis(axis, names=visible.spec[axis])
        return replace(self, layout=layout, open_axes=())

    def bound(self, visible: Layout | None, *, tracing: bool) -> Bound:
        """Layouts and steps, for an argument of which `visible` shows."""
        del tracing
        layout = self.located(visible).layout
        if visible is not None:
            check_same_devices(layout.mesh, visible.mesh)
            layout = replace(layout, mesh=visible.mesh)
        bound = _bound(layout, self.cuts)
        return bound.transposed() if self.is_transposed else bound

    def batch_axis(self, axis: int) -> int:
        """Cuts keep the order of axes."""
        return axis

    def batched(self, axis: int, size: int, names: AxisNames | None) -> Cuts:
        """The same map on arrays with one more axis."""
        moved = tuple(each + (each >= axis) for each in self.open_axes)
        return replace(
            self,
            layout=self.layout.insert_axis(axis, size, names or ()),
            cuts=(*self.cuts[:axis], None, *self.cuts[axis:]),
            open_axes=moved if names is not None else (*moved, axis),
        )


def cut(data: Any, layout: Layout, cuts: tuple[Cut | None, ...]) -> jax.Array:
    """Slices of chunked axes.

    Parameters
    ----------
    data : jax.Array
        The stored data of `layout`, which has elements.
    layout : Layout
        In the least padding.
    cuts : tuple of Cut or None
        What is kept of each axis, at least one element; None: all.

    Returns
    -------
    jax.Array
        The stored data of :func:`sliced_layout`.

    Raises
    ------
    LayoutError
        For many elements with gaps longer than a chunk.
    """
    for axis, kept in enumerate(cuts):
        if kept is not None and abs(kept.step) > layout.chunk_shape[axis] and kept.count > SINGLES:
            raise LayoutError(
                f"a slice of axis {axis} of {layout} in steps of {kept.step} takes {kept.count} elements from as many "
                f"chunks, which are of {layout.chunk_shape[axis]}; only {SINGLES} go singly: use .to_numpy() or "
                ".to_jax(replicated=True), or tpufft.chunk(c, mesh, spec) with a spec that leaves this axis whole"
            )
    operator = Cuts(layout, cuts)
    if isinstance(data, Tracer):
        return execution.apply(operator, execution.enter(data, layout))
    return execution.call(operator, data)


def sliced_layout(layout: Layout, cuts: tuple[Cut | None, ...]) -> Layout:
    """The layout of slices: each axis split as it was, into chunks of its new length."""
    for axis, kept in enumerate(cuts):
        if kept is not None:
            layout = layout.with_axis(axis, size=kept.count, padding=-kept.count % layout.parts[axis])
    return layout


@functools.lru_cache(maxsize=1024)
def _bound(layout: Layout, cuts: tuple[Cut | None, ...]) -> Bound:
    start = layout.simplified()
    steps = [step for axis, kept in enumerate(cuts) if kept is not None for step in steps_of(start, axis, kept)]
    return Bound(layout, Program(start, tuple(steps)), sliced_layout(layout, cuts))


def steps_of(layout: Layout, axis: int, kept: Cut) -> list[Step]:
    """The steps that keep a slice of a chunked axis, in chunks of its new length.

    A slice with gaps first comes in chunks as long as their elements span, of which each device then keeps its own.
    """
    parts, gap = layout.parts[axis], abs(kept.step)
    chunk = ceil_div(kept.count, parts)
    if gap > layout.chunk_shape[axis]:
        pieces = tuple(Piece(kept.start + number * kept.step, number, 1) for number in range(kept.count))
        return [Split(axis, layout.shape[axis]), Rearrange(axis, kept.count, 1, pieces), Merge(axis)]
    span = (kept.count - 1) * gap + 1
    first = kept.start if kept.step > 0 else kept.start - span + 1
    piece = Piece(first, 0, span, mirrored=kept.step < 0)
    # Lanes, of which there is one, are what pieces are taken from.
    steps: list[Step] = [Split(axis, layout.shape[axis])]
    length = layout.chunk_shape[axis]
    while length > SPREAD * chunk * gap:
        length = max(ceil_div(length, SPREAD), chunk * gap)
        steps.append(Rearrange(axis, parts * length, 1, (piece,)))
        piece = Piece(0, 0, span)
    if gap == 1:
        return [*steps, Rearrange(axis, kept.count, 1, (piece,)), Merge(axis)]
    steps += [Rearrange(axis, parts * chunk * gap, 1, (piece,)), Merge(axis), Split(axis, parts * chunk)]
    return [*steps, Rearrange(axis, kept.count, 1, (Piece(0, 0, kept.count),)), Merge(axis)]
