"""The layout of an array that JAX has rebuilt around other data: ``vmap`` and ``scan`` take axes away and add them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jax.sharding import Mesh

from tpufft.errors import LayoutError
from tpufft.layout import Layout, normalize_spec
from tpufft.meshes import visible_sharding


@dataclass(frozen=True, eq=False)
class Frame:
    """The static part of a chunked array; two that differ in dtype only are equal, as JAX's trees of arrays are.

    Parameters
    ----------
    layout : Layout
        Of the leaf.
    source_type : type, optional
        Of the array that holds the leaf, where this one shows it the other way round.
    """

    layout: Layout
    source_type: Any = None

    @property
    def _key(self) -> tuple:
        layout = self.layout
        return layout.shape, layout.mesh, layout.spec, layout.padding, self.source_type

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Frame):
            return False
        same = self.layout is other.layout and self.source_type is other.source_type
        return same or self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def refitted(layout: Layout, leaf: Any, unmapped: int = 0) -> Layout:
    """The layout that fits a leaf which stands in the place of the data.

    Parameters
    ----------
    layout : Layout
        Of the data that was there.
    leaf : object
        What is there now: an array or tracer of the same shape, or with one axis less or more; anything else, such as
        JAX's placeholders, leaves the layout as it is.
    unmapped : int
        How many of the last axes no map may take away or add, since the leaf has them in another order than the caller
        sees.

    Raises
    ------
    LayoutError
        If a padded axis was taken away: what is unspecified would be taken for elements. Or one of the `unmapped`.
    """
    shape, dtype = getattr(leaf, "shape", None), getattr(leaf, "dtype", None)
    if not isinstance(shape, tuple) or not isinstance(dtype, np.dtype) or hasattr(leaf, "to_numpy"):
        return layout
    if len(shape) < layout.rank:
        layout = _without_axis(layout, leaf, shape, unmapped)
    elif len(shape) > layout.rank:
        allowed = layout.rank - unmapped
        axis = next((each for each in _positions(shape, layout.stored_shape) if not unmapped or each <= allowed), None)
        layout = layout if axis is None else layout.insert_axis(axis, shape[axis])
    if shape == layout.stored_shape and layout.size:
        layout = _as_shown(layout, leaf)
    return layout if dtype == layout.dtype else replace(layout, dtype=dtype)


def _positions(longer: tuple[int, ...], shorter: tuple[int, ...]) -> Iterator[int]:
    """The axes whose removal from one shape gives the other."""
    return (axis for axis in range(len(longer)) if longer[:axis] + longer[axis + 1 :] == shorter)


def _without_axis(layout: Layout, leaf: Any, shape: tuple[int, ...], unmapped: int) -> Layout:
    axes = list(_positions(layout.stored_shape, shape))
    batch = getattr(leaf, "batch_dim", None)
    axis = batch if batch in axes else next(iter(axes), None)
    if axis is None:
        return layout
    if axis >= layout.rank - unmapped:
        raise LayoutError(
            f"a map (vmap, scan) over rows or columns of a transposed view would run over the other axis of {layout}, "
            "which is what the view shows; use .T.copy(), which is transposed in storage too, or map over the original"
        )
    if layout.padding[axis]:
        raise LayoutError(
            f"axis {axis} of {layout} is padded from {layout.shape[axis]} to {layout.stored_shape[axis]} elements, "
            "so a map over it (vmap, scan) would take padding for elements; use tpufft.chunk(x, mesh, spec) with "
            "a spec that leaves this axis whole, or divides it"
        )
    return layout.remove_axis(axis)


def _as_shown(layout: Layout, leaf: Any) -> Layout:
    """The chunking that the leaf shows, where it shows one that the padding fits."""
    sharding = visible_sharding(leaf)
    if sharding is None or (sharding.mesh == layout.mesh and sharding.spec == layout.partition_spec):
        return layout
    concrete = isinstance(sharding.mesh, Mesh)
    mesh = sharding.mesh if concrete else layout.mesh
    if not concrete and sharding.mesh.shape != layout.mesh.shape:
        return layout
    spec = normalize_spec(sharding.spec, layout.rank, mesh)
    shown = Layout(layout.shape, layout.dtype, mesh, spec, layout.padding)
    if mesh == layout.mesh and shown.simplified() == layout.simplified():
        return layout
    fits = all(not pad or a == b for pad, a, b in zip(layout.padding, layout.parts, shown.parts, strict=True))
    return shown if fits else layout
