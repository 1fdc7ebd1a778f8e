"""The kernel of Bluestein's convolution, made where it is needed."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from tpufft.kernels import phases, tables, twiddle
from tpufft.layout import Layout
from tpufft.steps import Chirp, ChirpSpectrum


def chirp_kernel(step: ChirpSpectrum, line: Layout, count: int, position: jax.Array) -> jax.Array:
    """One device's columns of the conjugate chirp, as a matrix of 2 P rows of B columns.

    Rows in the second half stand for negative indices, j = r + b with r = B a or B (a - 2 P): with L the chirp's
    order, ``j^2 = r^2 + 2 r b + b^2`` is a factor for each row, roots of order L, and a factor for each column.
    """
    rows, columns = line.shape
    width = line.chunk_shape[1]
    order, inverse = step.chirp.order, not step.chirp.inverse
    start = np.concatenate([np.arange(rows // 2), np.arange(-rows // 2, 0)]).astype(np.int64) * columns
    squares = phases.product_mod(start, start, 2 * order)
    row = phases.roots(2 * order, squares, inverse) * step.chirp.scale
    column = tables.values(Chirp(order, inverse), columns, width, count, position, line.dtype)
    cross = twiddle.block(start, width, order, inverse, line.dtype, column_chunk=(count, position))
    kernel = jnp.asarray(row.astype(line.dtype))[:, None] * cross * column[None, :]
    # Of each row only the columns whose index is below the signal's length, either way.
    first = np.clip(1 - step.points - start, 0, columns).astype(np.int32)
    until = np.clip(step.points - start, 0, columns).astype(np.int32)
    place = jnp.arange(width, dtype=np.int32) + position.astype(np.int32) * width
    inside = (place[None, :] >= first[:, None]) & (place[None, :] < until[:, None])
    return jnp.where(inside, kernel, jnp.zeros_like(kernel))
