"""A chunked DFT by the ring: one shared block of the DFT matrix and diagonal phases instead of a stored block row.

Device p holds rows i of its block row, N = P n. For the chunk of device q the block is
``W_N^((pn+i)(qn+j)) = W_N^(ij) W_P^(pj) W_P^(iq) W_P^(pqn)``: one n x n matrix, made once, with its columns turned by
the device's own phases; and for each chunk that comes by, a phase for each row of the result.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tpufft.collectives import axis_name, ring_product
from tpufft.kernels import phases, twiddle
from tpufft.layout import AxisNames, ceil_div
from tpufft.steps import Precision

BLOCK_BYTES = 1 << 28
"""The most that a device keeps of the shared block; larger ones are made anew, panel by panel, for each product."""


def ring_dft(
    chunk: jax.Array,
    axis: int,
    names: AxisNames,
    count: int,
    *,
    inverse: bool,
    scale: float,
    both_ways: bool,
    precision: Precision,
    platform: str,
) -> jax.Array:
    """The unnormalised DFT times `scale` along the chunked `axis` of a complex chunk, in natural order.

    Cost for each device: 8 N n FLOPs for each transform of length N = P n, P-1 permutes of a chunk.
    """
    n = chunk.shape[axis]
    moved = jnp.moveaxis(chunk, axis, 0)
    columns = moved.reshape(n, -1)
    planes = jnp.stack([columns.real, columns.imag], axis=1)  # (n, plane, batch): the planes share one product
    me = lax.axis_index(axis_name(names))
    turns = jnp.asarray(phases.roots(count, np.arange(count, dtype=np.int64), inverse).astype(chunk.dtype))
    width = _panel_width(n, np.dtype(chunk.dtype).itemsize)
    shared = _panel(0, n, n, count, me, inverse, scale, turns) if width == n else None
    row = np.arange(n, dtype=np.int32) % count

    def product(q: jax.Array, part: jax.Array) -> jax.Array:
        matrix = shared
        if matrix is not None:
            raw = _multiply(matrix, part, precision)
        else:
            starts = jnp.arange(ceil_div(n, width)) * width
            panels = lax.map(
                lambda start: _multiply(_panel(start, width, n, count, me, inverse, scale, turns), part, precision),
                starts,
            )
            raw = panels.reshape(-1, 2, part.shape[2])[:n]
        phase = turns[(jnp.asarray(row) * q + (me * q) % count * (n % count)) % count][:, None]
        real, imag = raw[:, 0], raw[:, 1]
        return jnp.stack([real * phase.real - imag * phase.imag, real * phase.imag + imag * phase.real], axis=1)

    total = ring_product(planes, names, count, product, jnp.zeros_like(planes), platform, both_ways=both_ways)
    return jnp.moveaxis(lax.complex(total[:, 0], total[:, 1]).reshape(moved.shape), 0, axis)


def _panel_width(n: int, itemsize: int) -> int:
    """Rows of the shared block that are held at once."""
    return n if n * n * itemsize <= BLOCK_BYTES else max(1, BLOCK_BYTES // (4 * n * itemsize))


def _panel(
    start: jax.Array | int,
    rows: int,
    n: int,
    count: int,
    me: jax.Array,
    inverse: bool,
    scale: float,
    turns: jax.Array,
) -> jax.Array:
    """Rows ``start .. start + rows`` of W_N^(ij) W_P^(pj), as complex numbers."""
    dtype = np.dtype(turns.dtype)
    panels = ceil_div(n, rows)
    place = (panels, jnp.asarray(start) // rows) if panels > 1 else None
    block = twiddle.block(rows, n, n * count, inverse, dtype, row_chunk=place, scale=scale)
    column = jnp.arange(n, dtype=jnp.int32) % count
    return block * turns[(column * me) % count][None, :]


def _multiply(matrix: jax.Array, part: jax.Array, precision: Precision) -> jax.Array:
    """A complex matrix (rows, n) times planes (n, plane, batch), as two real products."""
    batch = part.shape[2]
    flat = part.reshape(part.shape[0], 2 * batch)
    highest = lax.Precision.HIGHEST if precision is None else precision
    by_real = jnp.matmul(matrix.real, flat, precision=highest).reshape(-1, 2, batch)
    by_imag = jnp.matmul(matrix.imag, flat, precision=highest).reshape(-1, 2, batch)
    return jnp.stack([by_real[:, 0] - by_imag[:, 1], by_real[:, 1] + by_imag[:, 0]], axis=1)
