"""Twiddle factors of a chunk: blocks of the matrix W[r, c] = exp(-+2 pi i r c / N), made on the device.

A block as large as a chunk is never stored in the program: with c = c0 + g * s + f it is the product of three factors,
W[r, c0] W[r, g s] W[r, f], whose tables hold about 2 sqrt(columns) entries for each row. Each table entry is rounded
once from float64, so that the product is right to three roundings.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np

from tpufft.kernels import phases

WHOLE_TABLE = 64
"""Chunks up to which the phases of their starts are one table."""


def block(
    rows: int | np.ndarray,
    columns: int,
    order: int,
    inverse: bool,
    dtype: np.dtype,
    *,
    row_chunk: tuple[int, jax.Array] | None = None,
    column_chunk: tuple[int, jax.Array] | None = None,
    scale: float = 1.0,
) -> jax.Array:
    """A (rows, columns) block of the matrix of roots.

    Parameters
    ----------
    rows : int or ndarray of int64
        Rows of the block; or the r of each, where they are not those of a chunk.
    columns : int
        Columns of the block.
    order : int
        Order N of the roots.
    inverse : bool
        Sign of the phase.
    dtype : complex dtype
        Of the result.
    row_chunk, column_chunk : tuple of int and integer array, optional
        Into how many chunks the whole matrix's rows (columns) are cut, and which of them this block is. At most one.
    scale : float
        A factor on all of it.
    """
    if row_chunk is not None:
        if column_chunk is not None or isinstance(rows, np.ndarray):
            raise ValueError("a block can be chunked along rows or along columns, not both")
        turned = block(columns, rows, order, inverse, dtype, column_chunk=row_chunk, scale=scale)
        return turned.T
    fine = max(1, math.isqrt(columns - 1) + 1)
    coarse = -(-columns // fine)
    row = rows if isinstance(rows, np.ndarray) else np.arange(rows, dtype=np.int64)
    head = phases.outer_roots(order, row, np.arange(coarse, dtype=np.int64) * fine, inverse) * scale
    tail = phases.outer_roots(order, row, np.arange(fine, dtype=np.int64), inverse)
    heads = jnp.asarray(head.astype(dtype))
    if column_chunk is not None:
        heads = heads * chunk_starts(*column_chunk, columns, row, order, inverse, dtype)[:, None]
    full = heads[:, :, None] * jnp.asarray(tail.astype(dtype))[:, None, :]
    return full.reshape(len(row), coarse * fine)[:, :columns]


def chunk_starts(
    count: int, position: jax.Array, columns: int, row: np.ndarray, order: int, inverse: bool, dtype: np.dtype
) -> jax.Array:
    """``W[r, position * columns]`` for all `row`; on many chunks in two factors, so that no table has count x rows."""
    fine = count if count <= WHOLE_TABLE else math.isqrt(count - 1) + 1
    near = phases.outer_roots(order, np.arange(fine, dtype=np.int64) * columns, row, inverse)
    starts = jnp.asarray(near.astype(dtype))[position % fine]
    if fine < count:
        far = phases.outer_roots(order, np.arange(0, count, fine, dtype=np.int64) * columns, row, inverse)
        starts = starts * jnp.asarray(far.astype(dtype))[position // fine]
    return starts
