"""A caller's own function on every device's chunk: the other user of the one ``shard_map``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
from jax.core import Tracer

from tpufft.chunked import check_is_array
from tpufft.collectives import make_varying
from tpufft.errors import LayoutError
from tpufft.execution.dispatch import awaited, mesh_platform
from tpufft.execution.padding import cleared
from tpufft.execution.primitive import enter
from tpufft.execution.rules import run
from tpufft.layout import Layout
from tpufft.meshes import AnyMesh
from tpufft.steps import Halo, Program


def mapped(fn: Callable[..., Any], mesh: AnyMesh, in_specs: Any, out_specs: Any) -> Callable[..., Any]:
    """`fn` of the chunks as a function of global arrays, whose varying types JAX checks.

    Parameters
    ----------
    fn : callable
        Of one device's chunks.
    mesh : Mesh
        The devices; all its axes are mapped.
    in_specs, out_specs : pytree of PartitionSpec
        As ``jax.shard_map`` takes them.
    """
    return jax.shard_map(fn, mesh=mesh, in_specs=in_specs, out_specs=out_specs)


def map_chunks(
    fn: Callable[[jax.Array], Any], data: jax.Array, layout: Layout, halos: tuple[Halo, ...], *, crop: bool
) -> Any:
    """`fn` on every chunk with its halos; its results have the chunking of the argument.

    Parameters
    ----------
    fn : callable
        Of one device's widened chunk; hashable.
    data : jax.Array
        As `layout` stores it, or a tracer.
    layout : Layout
        Of the argument.
    halos : tuple of Halo
        What each chunk is widened by.
    crop : bool
        Whether what `fn` returns is cut down to the chunk.
    """
    if isinstance(data, Tracer):
        return _compiled(fn, layout, halos, crop)(enter(data, layout))
    return _started(fn, layout, halos, crop)(data)


@functools.lru_cache(maxsize=128)
def _started(fn: Callable[..., Any], layout: Layout, halos: tuple[Halo, ...], crop: bool) -> Callable[..., Any]:
    return awaited(_compiled(fn, layout, halos, crop), layout.mesh)


@functools.lru_cache(maxsize=128)
def _compiled(fn: Callable[..., Any], layout: Layout, halos: tuple[Halo, ...], crop: bool) -> Callable[..., Any]:
    """A jitted function, so that eager derivatives are not worked out operation by operation."""
    program = Program(layout.simplified(), halos)
    platform = mesh_platform(layout.mesh)
    plain = set(range(layout.rank)) - {halo.axis for halo in halos}  # halos see to the padding of their axes
    names = tuple(name for split in layout.spec for name in split)

    def work(chunk: jax.Array) -> Any:
        for axis in plain:
            split = program.in_layout.spec[axis]
            chunk = cleared(chunk, axis, layout.shape[axis], split, layout.parts[axis])
        result = fn(run(program, chunk, platform))
        return jax.tree.map(lambda part: make_varying(_fitted(part, layout, halos, crop), names), result)

    return jax.jit(mapped(work, layout.mesh, (layout.partition_spec,), layout.partition_spec))


def _fitted(part: Any, layout: Layout, halos: tuple[Halo, ...], crop: bool) -> jax.Array:
    """What a caller's function returned, of the chunk's size where it is to be cropped."""
    check_is_array(part, "what fn returned")
    part = jax.numpy.asarray(part)
    if part.ndim != layout.rank:
        raise LayoutError(
            f"fn returned {part.dtype}{list(part.shape)} for a chunk with {layout.rank} axes; right is an array with "
            "as many, or a pytree of such arrays"
        )
    if not crop:
        return part
    for halo in halos:
        length, total = layout.chunk_shape[halo.axis], part.shape[halo.axis]
        if total == length + halo.left + halo.right:
            part = jax.lax.slice_in_dim(part, halo.left, halo.left + length, axis=halo.axis)
    if part.shape != layout.chunk_shape:
        wide = [size + sum(h.left + h.right for h in halos if h.axis == n) for n, size in enumerate(layout.chunk_shape)]
        raise LayoutError(
            f"fn returned {part.dtype}{list(part.shape)}; with crop=True right is the shape of the widened chunk, "
            f"{wide}, or that of the chunk, {list(layout.chunk_shape)}; use crop=False for any other"
        )
    return part
