"""The largest or smallest of all devices' values, element by element, with a derivative."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tpufft.collectives.wire import axis_name
from tpufft.layout import AxisNames


def extreme(x: jax.Array, names: AxisNames, largest: bool) -> jax.Array:
    """The largest or smallest value along `names`, element by element; NaN where any device has one.

    Parameters
    ----------
    x : array
        Real numbers or bool.
    names : tuple of str
        Mesh axes.
    largest : bool
        The maximum, or else the minimum.

    Notes
    -----
    One all-reduce of `x`; another two for a derivative, which goes to the devices that attain the extreme, in equal
    shares.
    """
    if jnp.issubdtype(x.dtype, jnp.floating):
        return _real_extreme(x, names, largest)
    if x.dtype == bool:
        return _reduced(x.astype(np.uint8), names, largest).astype(bool)
    return _reduced(x, names, largest)


@functools.partial(jax.custom_jvp, nondiff_argnums=(1, 2))
def _real_extreme(x: jax.Array, names: AxisNames, largest: bool) -> jax.Array:
    # A reduction of floating-point numbers may drop a NaN; integers in the same order, NaN beyond all, cannot.
    integer = np.dtype(f"int{8 * x.dtype.itemsize}")
    ends = np.iinfo(integer)
    key = _mirrored(lax.bitcast_convert_type(x, integer), ends)
    key = jnp.where(jnp.isnan(x), np.asarray(ends.max if largest else ends.min, integer), key)
    return lax.bitcast_convert_type(_mirrored(_reduced(key, names, largest), ends), x.dtype)


@_real_extreme.defjvp
def _extreme_jvp(
    names: AxisNames, largest: bool, primals: tuple[Any], tangents: tuple[Any]
) -> tuple[jax.Array, jax.Array]:
    found = _real_extreme(primals[0], names, largest)
    attains = primals[0] == found
    sharers = lax.psum(attains.astype(found.dtype), axis_name(names))
    share = jnp.where(attains, tangents[0], jnp.zeros_like(tangents[0]))
    return found, lax.psum(share, axis_name(names)) / sharers


def _reduced(x: jax.Array, names: AxisNames, largest: bool) -> jax.Array:
    return (lax.pmax if largest else lax.pmin)(x, axis_name(names))


def _mirrored(bits: jax.Array, ends: np.iinfo) -> jax.Array:
    """Bits of real numbers as integers of the same order, and back: the negative ones count the other way."""
    negative = lax.shift_right_arithmetic(bits, np.asarray(ends.bits - 1, ends.dtype))
    return bits ^ (negative & np.asarray(ends.max, ends.dtype))
