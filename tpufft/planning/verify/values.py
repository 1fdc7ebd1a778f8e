"""Numbers told by where they stand: random ones and roots of unity, elementwise, so that each device makes its own."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from tpufft.kernels import phases

_GOLDEN, _HIGH, _OTHER = 0x9E3779B9, 0x85EBCA6B, 0x5BD1E995


def bits(seed: jax.Array, places: Sequence[jax.Array]) -> jax.Array:
    """32 random bits for every combination of places: a hash of the seed and of 64 bits along each axis.

    Parameters
    ----------
    seed : uint32 array
        A scalar.
    places : sequence of int64 arrays
        Indices along each axis, that broadcast against each other.
    """
    state = _mix(seed.astype(np.uint32) + np.uint32(_GOLDEN)).reshape((1,) * len(places))
    for place in places:
        high = (place >> 32).astype(np.uint32) * np.uint32(_HIGH)
        state = _mix(state * np.uint32(_GOLDEN) + (place.astype(np.uint32) ^ high))
    return state


def uniform(seed: jax.Array, places: Sequence[jax.Array], dtype: np.dtype) -> jax.Array:
    """Random numbers of any dtype: fractions between -1 and 1, their planes, integers, or bits; see :func:`bits`."""
    drawn = bits(seed, places)
    if dtype.kind == "b":
        return (drawn & np.uint32(1)).astype(dtype)
    if dtype.kind in "iu":
        return drawn.astype(dtype)
    if dtype.kind == "c":
        drawn = jnp.stack([drawn, bits(seed ^ np.uint32(_OTHER), places)])
    # 24 bits are what float32 holds, so that every dtype draws the same numbers.
    fractions = (drawn >> np.uint32(8)).astype(dtype.type(0).real.dtype) * dtype.type(2.0**-23).real - 1
    return jax.lax.complex(fractions[0], fractions[1]) if dtype.kind == "c" else fractions


def roots(order: int, exponents: jax.Array, dtype: np.dtype) -> jax.Array:
    r"""The roots :math:`e^{-2\pi i e/\text{order}}` of int64 exponents of any sign and size.

    Reduced in integers; a root is the product of two entries of short tables that the host makes in float64.
    """
    width = (order.bit_length() + 1) // 2
    fine, coarse = 1 << width, -(-order >> width)
    heads, tails = (
        jnp.asarray(phases.roots(order, exponents, inverse=False).astype(dtype))
        for exponents in (np.arange(coarse + 1, dtype=np.int64) * fine, np.arange(fine, dtype=np.int64))
    )
    reduced = jnp.remainder(exponents, order)
    head, tail = heads.at[reduced >> width], tails.at[reduced & (fine - 1)]
    return head.get(mode="promise_in_bounds") * tail.get(mode="promise_in_bounds")


def _mix(state: jax.Array) -> jax.Array:
    """Every bit of the result depends on every bit of the state."""
    state = (state ^ (state >> np.uint32(16))) * np.uint32(0x7FEB352D)
    state = (state ^ (state >> np.uint32(15))) * np.uint32(0x846CA68B)
    return state ^ (state >> np.uint32(16))
