"""Programs that the argument's layout alone decides, as the primitive runs them: nothing is searched for."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import jax
import numpy as np
from jax.core import Tracer

from tpufft.chunked import ChunkedArray
from tpufft.execution.arguments import call_on, run_stored
from tpufft.execution.operator import Bound
from tpufft.execution.primitive import apply, enter
from tpufft.layout import AxisNames, Layout
from tpufft.meshes import check_same_devices
from tpufft.steps import Program, Step, beside


@dataclass(frozen=True)
class Fixed:
    """A program as an ``Operator``.

    Parameters
    ----------
    in_layout : Layout
        Of the argument.
    steps : tuple of Step
        What is done; each works along an axis and may be put beside another one.
    open_axes : tuple of int
        Batch axes of the argument whose splitting is what the array shows.
    """

    in_layout: Layout
    steps: tuple[Step, ...]
    open_axes: tuple[int, ...] = ()

    def __hash__(self) -> int:
        return self._hash

    @functools.cached_property
    def _hash(self) -> int:
        return hash((self.in_layout, self.steps, self.open_axes))

    @functools.cached_property
    def out_layout(self) -> Layout:
        """Of the result."""
        return Program(self.in_layout, self.steps).out_layout

    def result(self) -> tuple[tuple[int, ...], np.dtype]:
        """Stored shape and dtype of the result."""
        return self.out_layout.stored_shape, self.out_layout.dtype

    def bound(self, visible: Layout | None, *, tracing: bool) -> Bound:
        """The program on the mesh that the argument shows."""
        del tracing
        layout = self.in_layout
        if visible is not None:
            check_same_devices(layout.mesh, visible.mesh)
            layout = replace(layout, mesh=visible.mesh)
            for axis in self.open_axes:
                layout = layout.with_axis(axis, names=visible.spec[axis])
        return Bound(layout, Program(layout.simplified(), self.steps), Program(layout, self.steps).out_layout)

    def located(self, visible: Layout | None) -> Fixed:
        """The same with the splitting of all axes remembered."""
        return self if visible is None else Fixed(self.bound(visible, tracing=False).in_layout, self.steps)

    def transposed(self) -> Fixed:
        """The steps' transposes, last first."""
        back = Program(self.in_layout, self.steps).transposed()
        return Fixed(back.in_layout, back.steps, tuple(map(self.batch_axis, self.open_axes)))

    def batched(self, axis: int, size: int, names: AxisNames | None) -> Fixed:
        """The same on arrays with one more axis."""
        steps, place = [], axis
        for step in self.steps:
            moved, place = beside(step, place)
            steps.append(moved)
        shown = tuple(other + (other >= axis) for other in self.open_axes)
        layout = self.in_layout.insert_axis(axis, size, names or ())
        return Fixed(layout, tuple(steps), shown if names is not None else (*shown, axis))

    def batch_axis(self, axis: int) -> int:
        """Where the new axis is in the result."""
        for step in self.steps:
            axis = beside(step, axis)[1]
        return axis


def run_fixed(
    steps: tuple[Step, ...], x: jax.Array | np.ndarray | ChunkedArray, layout: Layout, *, donate: bool = False
) -> jax.Array | ChunkedArray:
    """Run steps on an array.

    Parameters
    ----------
    steps : tuple of Step
        What is done.
    x : array
        Of the shape and dtype of `layout`; moved where it is stored otherwise.
    layout : Layout
        Where it is to be.
    donate : bool
        Whether the argument's buffer may be used up.
    """
    operator = _fixed(layout, steps)
    if not (layout.is_even and operator.out_layout.is_even):
        return run_stored(operator, x, layout, operator.out_layout, donate=donate)
    data = x.data if isinstance(x, ChunkedArray) else x
    if isinstance(data, Tracer):
        return apply(operator, enter(data, layout).astype(layout.dtype))
    return call_on(operator, data, layout.dtype, layout.sharding, donate=donate)


@functools.lru_cache(maxsize=1024)
def _fixed(layout: Layout, steps: tuple[Step, ...]) -> Fixed:
    return Fixed(layout, steps)
