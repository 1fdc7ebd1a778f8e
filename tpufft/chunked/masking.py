"""The padding of a layout, replaced: no value and no derivative may depend on what is stored there."""

from __future__ import annotations

import functools
import operator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tpufft.layout import Layout
from tpufft.meshes import visible_sharding


def masked(x: Any, layout: Layout, fill: Any, like: Any = None) -> jax.Array:
    """Data with `fill` in the padding of `layout`; to be called under ``jit``.

    Parameters
    ----------
    x : array
        The stored data of `layout`, or what broadcasts against it.
    layout : Layout
        Where the padding is.
    fill : scalar
        Of any type that converts to that of `x`.
    like : array, optional
        The stored data whose chunking the mask takes. Default: `x`.
    """
    if layout.is_even:
        return x
    return jnp.where(_valid(layout, x if like is None else like), x, lax.full_like(x, fill, shape=()))


def _valid(layout: Layout, like: Any) -> jax.Array:
    """Which stored elements belong to the array."""
    sharding = visible_sharding(like)  # shows on Explicit meshes, whose types the mask must match
    padded = [axis for axis, amount in enumerate(layout.padding) if amount]
    # Unsigned, since 32 bits are what there is without x64.
    indices = (lax.broadcasted_iota(np.uint32, layout.stored_shape, axis, out_sharding=sharding) for axis in padded)
    inside = (index < layout.shape[axis] for index, axis in zip(indices, padded, strict=True))
    return functools.reduce(operator.and_, inside)
