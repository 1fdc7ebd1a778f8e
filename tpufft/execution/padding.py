"""Zeros in the padding of a chunk, before something adds up over it."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tpufft.collectives import axis_name
from tpufft.layout import AxisNames


def cleared(chunk: jax.Array, axis: int, size: int, names: AxisNames, count: int) -> jax.Array:
    """One device's chunk with zeros behind the end of an axis; zero times what stood there might be NaN.

    Parameters
    ----------
    chunk : array
        What the device holds.
    axis : int
        Which axis.
    size : int
        Elements of the whole axis, without padding.
    names : tuple of str
        The mesh axes that split it.
    count : int
        Into how many chunks.
    """
    length = chunk.shape[axis]
    if size == length * count:
        return chunk
    first: Any = 0
    if count > 1:
        first = lax.axis_index(axis_name(names)).astype(np.uint32) * np.uint32(length)
    index = lax.broadcasted_iota(np.uint32, (length,), 0) + first
    inside = (index < size).reshape([-1 if other == axis else 1 for other in range(chunk.ndim)])
    return jnp.where(inside, chunk, jnp.zeros_like(chunk))
