"""One side of a plan inside a program: where its elements stand, and which bins they are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from tpufft.chunked import ChunkedArray
from tpufft.errors import LayoutError
from tpufft.layout import Layout


@dataclass(frozen=True)
class Side:
    """A layout, and the axis that is stored in scrambled order.

    Parameters
    ----------
    layout : Layout
        Of the plan.
    scrambled : int, optional
        An axis of which position ``c n + d`` holds the bin ``c + P d``.
    """

    layout: Layout
    scrambled: int | None

    @property
    def inner(self) -> Layout:
        """The layout on a mesh of Auto axes, where programs of elementwise operations need no annotation."""
        mesh = self.layout.mesh
        if not isinstance(mesh, Mesh):
            raise LayoutError(f"plan: its mesh {mesh} has no devices to verify it on; plan for a jax.sharding.Mesh")
        return replace(
            self.layout, mesh=Mesh(mesh.devices, mesh.axis_names, axis_types=(AxisType.Auto,) * mesh.devices.ndim)
        )

    def positions(self) -> list[jax.Array]:
        """The stored places along every axis, padding included, int64, of full rank; inside a program."""
        inner = self.inner
        found = []
        for axis, length in enumerate(inner.stored_shape):
            shape = tuple(length if other == axis else 1 for other in range(inner.rank))
            spec = PartitionSpec(*(names if other == axis else None for other, names in enumerate(inner.spec)))
            place = lax.broadcasted_iota(np.int64, shape, axis)
            found.append(lax.with_sharding_constraint(place, NamedSharding(inner.mesh, spec)))  # type: ignore[arg-type]
        return found

    def bins(self) -> list[jax.Array]:
        """Like :meth:`positions`, of what is stored there."""
        return [self.bin_at(axis, place) for axis, place in enumerate(self.positions())]

    def bin_at(self, axis: int, position: jax.Array) -> jax.Array:
        """What is stored at positions along an axis."""
        if axis != self.scrambled:
            return position
        parts, columns = self._matrix(axis)
        return position // columns + parts * (position % columns)

    def inside(self) -> jax.Array:
        """Which stored elements belong to the array; inside a program."""
        found = jnp.ones((1,) * self.layout.rank, np.bool_)
        for place, size, padding in zip(self.positions(), self.layout.shape, self.layout.padding, strict=True):
            found = found & (place < size) if padding else found
        return found

    def stride(self, axis: int) -> int:
        """How far apart neighbouring bins are stored, but for those at the ends of the chunks."""
        return self._matrix(axis)[1] if axis == self.scrambled else 1

    def neighbour(self, moved: jax.Array, axis: int, step: int) -> jax.Array:
        """The values `step` bins before, of data rolled by ``step * stride``; inside a program.

        In scrambled order the rows of the matrix of P rows hold consecutive bins, but for the row that came around.
        """
        if axis != self.scrambled:
            return moved
        parts, columns = self._matrix(axis)
        shape = moved.shape
        table = moved.reshape(*shape[:axis], parts, columns, *shape[axis + 1 :])
        row = lax.broadcasted_iota(np.int32, tuple(parts if other == axis else 1 for other in range(table.ndim)), axis)
        around = row == (0 if step > 0 else parts - 1)
        return jnp.where(around, jnp.roll(table, step, axis + 1), table).reshape(shape)

    def entered(self, data: jax.Array) -> jax.Array | ChunkedArray:
        """Data of the inner layout as the plan takes it; nothing moves."""
        placed = jax.device_put(data, self.layout.sharding)
        return placed if self.layout.is_even else ChunkedArray(placed, self.layout)

    def left(self, y: jax.Array | ChunkedArray) -> jax.Array:
        """What the plan returned, as data of the inner layout; nothing moves."""
        return jax.device_put(y.data if isinstance(y, ChunkedArray) else y, self.inner.sharding)

    def _matrix(self, axis: int) -> tuple[int, int]:
        parts = self.layout.parts[axis]
        return parts, self.layout.shape[axis] // parts


@contextmanager
def counting(side: Side) -> Iterator[None]:
    """Where programs are traced: 64-bit integers count along any axis (every other dtype is named), on Auto axes."""
    with jax.enable_x64(True), jax.set_mesh(side.inner.mesh):  # type: ignore[arg-type]
        yield


def sides_of(order: str, is_inverse: bool, axes: tuple[int, ...], before: Layout, after: Layout) -> tuple[Side, Side]:
    """Both sides of a plan; `axes` are those of complex DFTs, which the scrambled order is for."""

    def side(layout: Layout, holds_order: bool) -> Side:
        found = [axis for axis in axes if layout.parts[axis] > 1 and layout.shape[axis] % layout.parts[axis] == 0]
        return Side(layout, found[0] if order == "scrambled" and holds_order and found else None)

    return side(before, is_inverse), side(after, not is_inverse)
