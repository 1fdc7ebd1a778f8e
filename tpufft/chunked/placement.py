"""An array's elements onto the devices of a layout, padding included, and into the chunking that it declares."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer
from jax.sharding import AxisType, NamedSharding

from tpufft.layout import Layout, normalize_spec
from tpufft.meshes import check_same_devices, same_devices, visible_sharding


def settled(x: Any) -> Any:
    """An array, computed: where several CPU devices hold it, the program that makes it is waited for.

    Many programs with collectives in flight can run out of the host's threads, which ends the process.
    """
    if isinstance(x, jax.Array) and not isinstance(x, Tracer):
        devices = x.sharding.device_set
        if len(devices) > 1 and next(iter(devices)).platform == "cpu":
            return x.block_until_ready()
    return x


def constrained(x: Any, layout: Layout) -> Any:
    """Stored data in the chunking of `layout`: moved only where it is not there already."""
    visible = visible_sharding(x)
    if not isinstance(x, Tracer):
        if visible is not None and visible.mesh == layout.mesh and visible.is_equivalent_to(layout.sharding, x.ndim):
            return x
        return jax.device_put(x, layout.sharding)
    if visible is not None:
        if normalize_spec(visible.spec, layout.rank, layout.mesh) == layout.spec:
            return x
        return jax.sharding.reshard(x, NamedSharding(visible.mesh, layout.partition_spec))  # type: ignore[arg-type]
    if AxisType.Explicit not in layout.mesh.axis_types:
        return lax.with_sharding_constraint(x, layout.sharding)
    # A value that knows of no mesh: only device_put tells the program around it; under vmap it is a part of one.
    return x if hasattr(x, "batch_dim") else jax.device_put(x, layout.sharding)


def place(x: Any, layout: Layout) -> jax.Array:
    """The stored data of a layout, zeros in the padding.

    Parameters
    ----------
    x : array
        The elements, as they are or with padding of any amount behind them.
    layout : Layout
        What goes where.

    Raises
    ------
    LayoutError
        If `x` lives on another mesh.
    """
    if isinstance(x, Tracer):
        if visible_sharding(x) is None and AxisType.Explicit in layout.mesh.axis_types:
            # Onto the mesh before it is padded: the cotangent comes back from there with a type of its own.
            x = constrained(x, Layout.of(x.shape, x.dtype, layout.mesh, ()))
        return constrained(_fit(x, layout), layout)
    if not layout.size:
        return _nothing(layout)
    if not isinstance(x, jax.Array):
        return _from_host(np.asarray(x), layout)
    visible = visible_sharding(x)
    if visible is not None:
        check_same_devices(layout.mesh, visible.mesh)
    if x.shape == layout.stored_shape:
        return settled(constrained(x, layout))
    if visible is None:
        return settled(jax.device_put(_fitter(layout, None)(x), layout.sharding))
    if visible.mesh != layout.mesh:  # in the types of its axes only
        x = jax.device_put(x, NamedSharding(layout.mesh, visible.spec))  # type: ignore[arg-type]
    source = Layout.of(x.shape, x.dtype, layout.mesh, visible.spec)
    if source.spec != layout.spec:
        return settled(_rechunked(x, source, layout))
    return settled(constrained(_fitter(layout, layout.sharding)(x), layout))


def moved(data: Any, source: Layout, target: Layout) -> jax.Array:
    """The stored data of one layout in another of the same shape, on the same mesh or on other devices."""
    if isinstance(data, Tracer) or same_devices(source.mesh, target.mesh):
        return place(data, target)
    return _rechunked(data, source, target)


def _rechunked(data: jax.Array, source: Layout, target: Layout) -> jax.Array:
    """Data moves in a stored shape that divides over both sides' devices, so that no device ever holds the whole."""
    parts = [math.lcm(a, b) for a, b in zip(source.parts, target.parts, strict=True)]
    padding = tuple(-size % count for size, count in zip(target.shape, parts, strict=True))
    between = place(data, replace(source, shape=target.shape, padding=padding))
    return place(jax.device_put(between, replace(target, padding=padding).sharding), target)


def stored(data: jax.Array, layout: Layout) -> jax.Array:
    """What a compiled program returned, in its layout: arrays without elements come in a chunking of their own."""
    return data if layout.size or isinstance(data, Tracer) else _nothing(layout)


def whole(data: Any, layout: Layout) -> jax.Array:
    """The array without its padding, on every device."""
    single = replace(layout, spec=((),) * layout.rank, padding=(0,) * layout.rank)
    return place(data, single)


def _nothing(layout: Layout) -> jax.Array:
    return _from_host(np.zeros(layout.shape, layout.dtype), layout)


def _from_host(x: np.ndarray, layout: Layout) -> jax.Array:
    """Every device's part made by itself: no padded copy of the whole."""

    def part(index: tuple[slice, ...] | None) -> np.ndarray:
        starts = [(piece.start or 0) for piece in index or ()]
        given = x[tuple(slice(start, start + size) for start, size in zip(starts, layout.chunk_shape, strict=True))]
        if given.shape == layout.chunk_shape:
            return np.asarray(given, layout.dtype)
        chunk = np.zeros(layout.chunk_shape, layout.dtype)
        chunk[tuple(slice(size) for size in given.shape)] = given
        return chunk

    return jax.make_array_from_callback(layout.stored_shape, layout.sharding, part)


@functools.lru_cache(maxsize=1024)
def _fitter(layout: Layout, sharding: NamedSharding | None) -> Callable[[jax.Array], jax.Array]:
    return jax.jit(functools.partial(_fit, layout=layout), out_shardings=sharding)


def _fit(x: jax.Array, layout: Layout) -> jax.Array:
    """Padding cut off behind every axis, or zeros put there, to the stored shape."""
    if x.shape == layout.stored_shape:
        return x

    def fit(x: jax.Array) -> jax.Array:
        x = lax.slice(x, (0,) * x.ndim, layout.shape)
        return jnp.pad(x, [(0, amount) for amount in layout.padding])

    if not isinstance(x, Tracer):
        return fit(x)
    visible = visible_sharding(x)
    if visible is None:
        return fit(x)
    # Types of arrays forbid to cut a chunked axis; inside, the compiler sees to the chunks.
    out = NamedSharding(visible.mesh, layout.partition_spec)
    return cast(jax.Array, jax.sharding.auto_axes(fit, axes=visible.mesh.axis_names, out_sharding=out)(x))
