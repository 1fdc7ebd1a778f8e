"""What the linear primitive needs to know of a transform: the interface that ``planning`` fills."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import jax
import numpy as np
from jax.core import ShapedArray, Tracer
from jax.sharding import NamedSharding

from tpufft.execution.product import run_product
from tpufft.execution.rules import run
from tpufft.layout import AxisNames, Layout
from tpufft.meshes import visible_sharding
from tpufft.steps import Precision, ProductProgram, Program


@dataclass(frozen=True)
class Bound:
    """A transform with its layouts and the steps between them.

    Parameters
    ----------
    in_layout, out_layout : Layout
        As the caller's specs say, mesh axes of size 1 included.
    program : Program
        The steps, between the same layouts without such axes.
    """

    in_layout: Layout
    program: Program
    out_layout: Layout

    @property
    def in_layouts(self) -> tuple[Layout, ...]:
        """Of the argument."""
        return (self.in_layout,)

    @property
    def inner_layouts(self) -> tuple[tuple[Layout, ...], Layout]:
        """Of the argument and the result as the steps have them."""
        return (self.program.in_layout,), self.program.out_layout

    def carry_out(self, platform: str, chunk: jax.Array) -> jax.Array:
        """The steps, on one device's chunk."""
        return run(self.program, chunk, platform)

    def transposed(self) -> Bound:
        """The transposed matrix."""
        return Bound(self.out_layout, self.program.transposed(), self.in_layout)


@dataclass(frozen=True)
class BoundProduct:
    """A product of two arrays with its layouts and all that is done between them.

    Parameters
    ----------
    in_layouts : tuple of two Layouts
        Of the operands, as the caller's specs say, mesh axes of size 1 included.
    program : ProductProgram
        Between the same layouts without such axes.
    out_layout : Layout
        Of the product.
    precision
        Of the products.
    """

    in_layouts: tuple[Layout, Layout]
    program: ProductProgram
    out_layout: Layout
    precision: Precision = None

    @property
    def inner_layouts(self) -> tuple[tuple[Layout, ...], Layout]:
        """Of the operands and the product as the steps have them."""
        return (self.program.a.in_layout, self.program.b.in_layout), self.program.out_layout

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to multiply, so that the product has no elements or is zero."""
        return any(0 in layout.shape for layout in self.in_layouts)

    def carry_out(self, platform: str, a: jax.Array, b: jax.Array) -> jax.Array:
        """All of it, on one device's chunks."""
        return run_product(self.program, a, b, self.precision, platform)


class Operator(Protocol):
    """A linear map on arrays: hashable, comparable, independent of data."""

    def result(self) -> tuple[tuple[int, ...], np.dtype]:
        """Shape and dtype of the result, as it is stored."""
        ...

    def bound(self, visible: Layout | None, *, tracing: bool) -> Bound:
        """Layouts and steps, for an argument whose layout is `visible` (None: it does not show)."""
        ...

    def located(self, visible: Layout | None) -> Operator:
        """The same map, with the argument's layout remembered."""
        ...

    def transposed(self) -> Operator:
        """The transposed map."""
        ...

    def batched(self, axis: int, size: int, names: AxisNames | None) -> Operator:
        """The same map on arrays with one more axis, split over `names` (None: as the array shows)."""
        ...

    def batch_axis(self, axis: int) -> int:
        """Where an axis that is put in front of `axis` of the argument stands in the result."""
        ...


def visible_layout(x: jax.Array | ShapedArray) -> Layout | None:
    """The layout that an array shows: a concrete array's sharding, or a tracer's type on an Explicit mesh."""
    return layout_of(x.shape, x.dtype, visible_sharding(x))


def shown_layout(x: Any) -> tuple[Layout | None, bool]:
    """The layout of what stands behind an eager tracer, less what ``vmap`` hides; and whether `x` is staged by ``jit``.

    Derivatives and batches of concrete arrays are worked out as they are called: there the array can be looked at.
    """
    if not isinstance(x, Tracer):
        return (visible_layout(x) if isinstance(x, jax.Array) else None), False
    tracer: Any = x
    if hasattr(tracer, "primal"):
        return shown_layout(tracer.primal)
    if hasattr(tracer, "batch_dim") and hasattr(tracer, "val"):
        layout, staged = shown_layout(tracer.val)
        axis: int | None = tracer.batch_dim
        hidden = layout is not None and axis is not None and layout.rank == tracer.ndim + 1
        return (layout.remove_axis(axis) if hidden else layout), staged  # type: ignore[union-attr, arg-type]
    return visible_layout(tracer), True


def layout_of(shape: tuple[int, ...], dtype: np.dtype, sharding: Any) -> Layout | None:
    """The layout that a sharding with a mesh and a spec says; None for any other."""
    if not isinstance(sharding, NamedSharding) or sharding.mesh.empty:
        return None
    return Layout.of(shape, dtype, sharding.mesh, sharding.spec)
