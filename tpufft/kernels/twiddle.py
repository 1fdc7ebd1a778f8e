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


def block(
    rows: int,
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
    rows, columns : int
        Shape of the block.
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
        if column_chunk is not None:
            raise ValueError("a block can be chunked along rows or along columns, not both")
        turned = block(columns, rows, order, inverse, dtype, column_chunk=row_chunk, scale=scale)
        return turned.T
    fine = max(1, math.isqrt(columns - 1) + 1)
    coarse = -(-columns // fine)
    row = np.arange(rows, dtype=np.int64)
    head = phases.outer_roots(order, row, np.arange(coarse, dtype=np.int64) * fine, inverse) * scale
    tail = phases.outer_roots(order, row, np.arange(fine, dtype=np.int64), inverse)
    heads = jnp.asarray(head.astype(dtype))
    if column_chunk is not None:
        count, position = column_chunk
        starts = phases.outer_roots(order, np.arange(count, dtype=np.int64) * columns, row, inverse)
        heads = heads * jnp.asarray(starts.astype(dtype))[position][:, None]
    full = heads[:, :, None] * jnp.asarray(tail.astype(dtype))[:, None, :]
    return full.reshape(rows, coarse * fine)[:, :columns]
