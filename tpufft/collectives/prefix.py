"""Folds of all devices' values in their order, by permutes over doubling distances."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax

from tpufft.collectives.wire import axis_name, permute
from tpufft.layout import AxisNames

Combine = Callable[[jax.Array, jax.Array], jax.Array]


def prefix_fold(x: jax.Array, names: AxisNames, count: int, combine: Combine, platform: str) -> jax.Array:
    r"""Fold on every device what the devices up to it have.

    .. math:: y_r = x_0 \circ x_1 \circ \dots \circ x_r

    Parameters
    ----------
    x : array
        This device's value, varying over `names`.
    names : tuple of str
        The mesh axes, the first the slowest.
    count : int
        Devices P along them.
    combine : callable
        Associative, of two values of the shape and dtype of `x`, the one of the lower positions first.
    platform : str
        The devices' platform.

    Notes
    -----
    ceil(log2 P) permutes of `x`.
    """
    me = lax.axis_index(axis_name(names))
    distance = 1
    while distance < count:
        pairs = [(sender, sender + distance) for sender in range(count - distance)]
        coming = permute(x, names, pairs, platform)
        x = _combined(me >= distance, combine, coming, x, x)
        distance *= 2
    return x


def tree_fold(x: jax.Array, names: AxisNames, count: int, combine: Combine, platform: str) -> jax.Array:
    r"""Fold what all devices have, in their order; the first device gets it.

    .. math:: y_0 = x_0 \circ x_1 \circ \dots \circ x_{P-1}

    Parameters
    ----------
    x, names, count, combine, platform
        As in :func:`prefix_fold`.

    Returns
    -------
    array
        The fold on the first device; on the others what they have contributed.

    Notes
    -----
    ceil(log2 P) permutes of `x`, P-1 messages in all: every device but the first sends once.
    """
    me = lax.axis_index(axis_name(names))
    distance = 1
    while distance < count:
        receivers = range(0, count - distance, 2 * distance)
        pairs = [(receiver + distance, receiver) for receiver in receivers]
        coming = permute(x, names, pairs, platform)
        receives = (me % (2 * distance) == 0) & (me < count - distance)
        x = _combined(receives, combine, x, coming, x)
        distance *= 2
    return x


def _combined(receives: jax.Array, combine: Combine, low: jax.Array, high: jax.Array, own: jax.Array) -> jax.Array:
    """The two values combined where something was received, else this device's own."""
    # Elsewhere too the function sees true values: on the zeros of an empty message its derivative may be NaN.
    new = combine(jnp.where(receives, low, own), jnp.where(receives, high, own))
    return jnp.where(receives, new, own)
