"""How each kind of step is carried out on one device's chunk, inside somebody's ``shard_map``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tpufft.collectives import assemble, axis_name, copy_fragments, exchange, shared
from tpufft.execution.block_row import ring_dft
from tpufft.execution.chirp import chirp_kernel
from tpufft.execution.halves import collect, fold, spread, unfold
from tpufft.execution.neighbours import FORWARD, adjoint
from tpufft.execution.samples import nonuniform
from tpufft.kernels import KERNELS, real, tables, trig, twiddle
from tpufft.layout import Layout
from tpufft.steps import (
    Adjoint,
    AsComplex,
    AsReal,
    ChirpSpectrum,
    CloseChunks,
    Collect,
    Copy,
    Deinterleave,
    Diagonal,
    Exchange,
    Fold,
    Fragment,
    Interleave,
    Local,
    LocalReal,
    LocalTrig,
    Merge,
    Nonuniform,
    OpenChunks,
    Pad,
    Part,
    Program,
    RealPart,
    Rearrange,
    Resize,
    Ring,
    Shift,
    Split,
    Spread,
    Step,
    Table,
    Trim,
    Twiddle,
    Unfold,
    Widen,
    complex_dtype,
    real_dtype,
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
        nothing = chunk.sum(dtype=chunk.dtype).real.astype(program.out_layout.dtype)
        return jnp.zeros(program.out_layout.chunk_shape, program.out_layout.dtype) + nothing
    for step, layout in zip(program.steps, program.layouts, strict=False):
        chunk = _RULES[type(step)](step, layout, chunk, platform)
    return chunk


def _local(step: Local, layout: Layout, chunk: jax.Array, platform: str) -> jax.Array:
    kernel = KERNELS[step.kernel]
    return kernel.transform(chunk, step.axes, inverse=step.inverse, scale=step.scale, precision=step.precision)


def _exchange(step: Exchange, layout: Layout, chunk: jax.Array, platform: str) -> jax.Array:
    if step.shared and shared.is_alone():
        others = tuple(name for name in layout.mesh.axis_names if name not in step.names)
        return shared.shared_exchange(chunk, step.names, step.source, step.target, others)
    return exchange(chunk, step.names, step.source, step.target, platform)


def _part(step: Part, layout: Layout, chunk: jax.Array, platform: str) -> jax.Array:
    length = chunk.shape[step.axis] // layout.device_count_along(step.names)
    start = lax.axis_index(axis_name(step.names)) * length
    return lax.dynamic_slice_in_dim(chunk, start, length, step.axis)


def _ring(step: Ring, layout: Layout, chunk: jax.Array, platform: str) -> jax.Array:
    return ring_dft(
        chunk,
        step.axis,
        layout.spec[step.axis],
        layout.parts[step.axis],
        size=layout.shape[step.axis],
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


def _open_chunks(step: OpenChunks, layout: Layout, chunk: jax.Array, platform: str) -> jax.Array:
    return jnp.expand_dims(chunk, step.target)


def _close_chunks(step: CloseChunks, layout: Layout, chunk: jax.Array, platform: str) -> jax.Array:
    return jnp.squeeze(chunk, step.target)


def _interleave(step: Interleave, layout: Layout, chunk: jax.Array, platform: str) -> jax.Array:
    return chunk.swapaxes(step.axis, step.axis + 1).reshape(step.after(layout).chunk_shape)


def _deinterleave(step: Deinterleave, layout: Layout, chunk: jax.Array, platform: str) -> jax.Array:
    rows, columns = step.after(layout).chunk_shape[step.axis : step.axis + 2]
    before, behind = chunk.shape[: step.axis], chunk.shape[step.axis + 1 :]
    return chunk.reshape(*before, columns, rows, *behind).swapaxes(step.axis, step.axis + 1)


def _local_real(step: LocalReal, layout: Layout, chunk: jax.Array, platform: str) -> jax.Array:
    options = {
        "inverse": step.inverse,
        "scale": step.scale,
        "weighted": step.weighted,
        "kernel": step.kernel,
        "precision": step.precision,
    }
    return real.c2r(chunk, step.axes, step.size, **options) if step.to_real else real.r2c(chunk, step.axes, **options)


def _local_trig(step: LocalTrig, layout: Layout, chunk: jax.Array, platform: str) -> jax.Array:
    return trig.transform(
        chunk, step.axis, kind=step.kind, scale=step.scale, kernel=step.kernel, precision=step.precision
    )


def _widen(step: Widen, layout: Layout, chunk: jax.Array, platform: str) -> jax.Array:
    return chunk.astype(complex_dtype(chunk.dtype))


def _real_part(step: RealPart, layout: Layout, chunk: jax.Array, platform: str) -> jax.Array:
    return chunk.real


def _as_real(step: AsReal, layout: Layout, chunk: jax.Array, platform: str) -> jax.Array:
    return jnp.stack([chunk.real, -chunk.imag if step.conjugate else chunk.imag], axis=step.axis + 1)


def _as_complex(step: AsComplex, layout: Layout, chunk: jax.Array, platform: str) -> jax.Array:
    parts = jnp.split(chunk, 2, axis=step.axis + 1)
    first, second = (jnp.squeeze(part, step.axis + 1) for part in parts)
    return lax.complex(first, -second if step.conjugate else second)


def _diagonal(step: Diagonal, layout: Layout, chunk: jax.Array, platform: str) -> jax.Array:
    return _times(chunk, _entries(step.table, layout, step.axis), step.axis)


def _entries(table: Table, layout: Layout, axis: int) -> jax.Array:
    """One device's part of a table along an axis."""
    count, position = _position(layout, axis) or (1, jnp.zeros((), np.int32))
    size, chunk = layout.shape[axis], layout.chunk_shape[axis]
    return tables.values(table, size, chunk, count, position, real_dtype(layout.dtype))


def _times(chunk: jax.Array, factors: jax.Array, axis: int) -> jax.Array:
    others = [other for other in range(chunk.ndim) if other != axis]
    return chunk * jnp.expand_dims(factors, others)


def _chirp_spectrum(step: ChirpSpectrum, layout: Layout, chunk: jax.Array, platform: str) -> jax.Array:
    line = step.line.in_layout
    kernel = chirp_kernel(step, line, *(_position(line, 1) or (1, jnp.zeros((), np.int32))))
    others = [axis for axis in range(chunk.ndim) if axis not in (step.axis, step.axis + 1)]
    return chunk * jnp.expand_dims(run(step.line, kernel, platform), others)


def _rearrange(step: Rearrange, layout: Layout, chunk: jax.Array, platform: str) -> jax.Array:
    names, count = layout.spec[step.axis], layout.parts[step.axis]
    length = step.after(layout).chunk_shape[step.axis]
    lanes: dict[int, list[tuple[jax.Array, Sequence[Fragment]]]] = {}
    for piece, parts in zip(step.pieces, step.fragments(layout), strict=True):
        lane = lax.index_in_dim(chunk, piece.source_lane, step.axis + 1, keepdims=False)
        lane = jnp.flip(lane, step.axis) if piece.mirrored else lane
        lane = lane if piece.factor == 1.0 else lane * np.asarray(piece.factor, real_dtype(chunk.dtype))
        lanes.setdefault(piece.target_lane, []).append((lane, parts))
    full = {n: assemble(found, step.axis, names, count, length, platform) for n, found in lanes.items()}
    empty = jnp.zeros_like(next(iter(full.values())))
    return jnp.stack([full.get(number, empty) for number in range(step.lanes)], axis=step.axis + 1)


_RULES: Mapping[type[Step], Callable[[Any, Layout, jax.Array, str], jax.Array]] = MappingProxyType(
    {
        Local: _local,
        LocalReal: _local_real,
        LocalTrig: _local_trig,
        Exchange: _exchange,
        Part: _part,
        Ring: _ring,
        Nonuniform: nonuniform,
        Twiddle: _twiddle,
        Diagonal: _diagonal,
        ChirpSpectrum: _chirp_spectrum,
        Pad: _pad,
        Trim: _trim,
        Resize: _resize,
        Shift: _shift,
        Rearrange: _rearrange,
        Split: _reshape,
        Merge: _reshape,
        OpenChunks: _open_chunks,
        CloseChunks: _close_chunks,
        Interleave: _interleave,
        Deinterleave: _deinterleave,
        Widen: _widen,
        RealPart: _real_part,
        AsReal: _as_real,
        AsComplex: _as_complex,
        Unfold: unfold,
        Fold: fold,
        Collect: collect,
        Spread: spread,
        Adjoint: adjoint,
        **FORWARD,
    }
)
