"""How each kind of step is carried out on one device's chunk, inside somebody's ``shard_map``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from tpufft.collectives import axis_name, copy_fragments, exchange
from tpufft.execution.block_row import ring_dft
from tpufft.kernels import KERNELS, twiddle
from tpufft.layout import Layout
from tpufft.steps import (
    Copy,
    Deinterleave,
    Exchange,
    Interleave,
    Local,
    Merge,
    Pad,
    Program,
    Resize,
    Ring,
    Shift,
    Split,
    Step,
    Trim,
    Twiddle,
)


def run(program: Program, chunk: jax.Array, platform: str) -> jax.Array:
    """Carry out a program on one device's chunk.

    Parameters
    ----------
    program : Program
        The steps.
    chunk : array
        This device's part of the input, of shape ``program.in_layout.chunk_shape``.
    platform : str
        The devices' platform, for what depends on it on the wire.
    """
    if 0 in program.in_layout.shape:
        # The sum of nothing is a zero that varies over the mesh as the chunk does.
        return jnp.zeros(program.out_layout.chunk_shape, chunk.dtype) + chunk.sum(dtype=chunk.dtype)
    for step, layout in zip(program.steps, program.layouts, strict=False):
        chunk = _RULES[type(step)](step, layout, chunk, platform)
    return chunk


def _local(step: Local, layout: Layout, chunk: jax.Array, platform: str) -> jax.Array:
    kernel = KERNELS[step.kernel]
    return kernel.transform(chunk, step.axes, inverse=step.inverse, scale=step.scale, precision=step.precision)


def _exchange(step: Exchange, layout: Layout, chunk: jax.Array, platform: str) -> jax.Array:
    return exchange(chunk, step.names, step.source, step.target, platform)


def _ring(step: Ring, layout: Layout, chunk: jax.Array, platform: str) -> jax.Array:
    return ring_dft(
        chunk,
        step.axis,
        layout.spec[step.axis],
        layout.parts[step.axis],
        inverse=step.inverse,
        scale=step.scale,
        both_ways=step.both_ways,
        precision=step.precision,
        platform=platform,
    )


def _twiddle(step: Twiddle, layout: Layout, chunk: jax.Array, platform: str) -> jax.Array:
    factors = twiddle.block(
        chunk.shape[step.rows],
        chunk.shape[step.columns],
        step.modulus,
        step.inverse,
        layout.dtype,
        row_chunk=_position(layout, step.rows),
        column_chunk=_position(layout, step.columns),
        scale=step.scale,
    )
    if step.rows > step.columns:
        factors = factors.T
    others = [axis for axis in range(chunk.ndim) if axis not in (step.rows, step.columns)]
    return chunk * jnp.expand_dims(factors, others)


def _position(layout: Layout, axis: int) -> tuple[int, jax.Array] | None:
    return (layout.parts[axis], lax.axis_index(axis_name(layout.spec[axis]))) if layout.parts[axis] > 1 else None


def _pad(step: Pad, layout: Layout, chunk: jax.Array, platform: str) -> jax.Array:
    return jnp.pad(chunk, [(0, step.amount if axis == step.axis else 0) for axis in range(chunk.ndim)])


def _trim(step: Trim, layout: Layout, chunk: jax.Array, platform: str) -> jax.Array:
    return lax.slice_in_dim(chunk, 0, chunk.shape[step.axis] - step.amount, axis=step.axis)


def _resize(step: Resize, layout: Layout, chunk: jax.Array, platform: str) -> jax.Array:
    if layout.parts[step.axis] > 1:
        return _copy(step, layout, chunk, platform)
    kept = lax.slice_in_dim(chunk, 0, min(step.size, layout.shape[step.axis]), axis=step.axis)
    missing = step.size + step.padding - kept.shape[step.axis]
    return jnp.pad(kept, [(0, missing if axis == step.axis else 0) for axis in range(chunk.ndim)])


def _shift(step: Shift, layout: Layout, chunk: jax.Array, platform: str) -> jax.Array:
    if layout.parts[step.axis] > 1:
        return _copy(step, layout, chunk, platform)
    return jnp.roll(chunk, step.amount, axis=step.axis)


def _copy(step: Copy, layout: Layout, chunk: jax.Array, platform: str) -> jax.Array:
    return copy_fragments(
        chunk,
        step.axis,
        layout.spec[step.axis],
        layout.parts[step.axis],
        step.after(layout).chunk_shape[step.axis],
        step.fragments(layout),
        platform,
    )


def _reshape(step: Split | Merge, layout: Layout, chunk: jax.Array, platform: str) -> jax.Array:
    return chunk.reshape(step.after(layout).chunk_shape)


def _interleave(step: Interleave, layout: Layout, chunk: jax.Array, platform: str) -> jax.Array:
    return chunk.swapaxes(step.axis, step.axis + 1).reshape(step.after(layout).chunk_shape)


def _deinterleave(step: Deinterleave, layout: Layout, chunk: jax.Array, platform: str) -> jax.Array:
    rows, columns = step.after(layout).chunk_shape[step.axis : step.axis + 2]
    before, behind = chunk.shape[: step.axis], chunk.shape[step.axis + 1 :]
    return chunk.reshape(*before, columns, rows, *behind).swapaxes(step.axis, step.axis + 1)


_RULES: Mapping[type[Step], Callable[[Any, Layout, jax.Array, str], jax.Array]] = MappingProxyType(
    {
        Local: _local,
        Exchange: _exchange,
        Ring: _ring,
        Twiddle: _twiddle,
        Pad: _pad,
        Trim: _trim,
        Resize: _resize,
        Shift: _shift,
        Split: _reshape,
        Merge: _reshape,
        Interleave: _interleave,
        Deinterleave: _deinterleave,
    }
)
