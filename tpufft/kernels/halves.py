"""The half spectrum of real data: for how many entries of the whole each of its own stands."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np


def weights(n: int, weighted: bool = True) -> np.ndarray:
    """2 where an entry stands for its mirror image too, else 1; all 1 if not `weighted`."""
    found = np.ones(n // 2 + 1)
    if weighted:
        found[1 : (n + 1) // 2] = 2.0
    return found


def along(table: np.ndarray, axis: int, like: jax.Array) -> jax.Array:
    """A table of the dtype of `like`, shaped to be multiplied along an axis of it."""
    return jnp.asarray(table, like.dtype).reshape(-1, *(1,) * (like.ndim - axis - 1))[(None,) * axis]
