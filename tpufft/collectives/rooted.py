"""One device's value on all devices, bit by bit."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tpufft.collectives.wire import axis_name, send_whole
from tpufft.layout import AxisNames


def from_one(x: jax.Array, names: AxisNames, root: int, platform: str) -> jax.Array:
    """The value of the device at position `root`, on all devices along `names` and typed as the same on them.

    Parameters
    ----------
    x : array
        Only the root's counts.
    names : tuple of str
        Mesh axes, the first the slowest.
    root : int
        A position along them.
    platform : str
        The devices' platform.

    Notes
    -----
    One all-reduce of `x`: twice (P-1)/P of it for each device. Integers are summed, all zero but the root's: a sum of
    floating-point numbers loses negative zeros, and on a CPU subnormal numbers. The derivative is a sum of `x`'s dtype.
    """
    if jnp.issubdtype(x.dtype, jnp.inexact):
        return _inexact_from_one(x, names, root, platform)
    return _bits_from_one(x, names, root)


@functools.partial(jax.custom_jvp, nondiff_argnums=(1, 2, 3))
def _inexact_from_one(x: jax.Array, names: AxisNames, root: int, platform: str) -> jax.Array:
    if not jnp.iscomplexobj(x):
        return _bits_from_one(x, names, root)
    planes = _bits_from_one(jnp.stack([x.real, x.imag], axis=-1), names, root)
    return lax.complex(planes[..., 0], planes[..., 1])


@_inexact_from_one.defjvp
def _from_one_jvp(
    names: AxisNames, root: int, platform: str, primals: tuple[Any], tangents: tuple[Any]
) -> tuple[jax.Array, jax.Array]:
    moved = send_whole(lambda part: lax.psum(part, axis_name(names)), _only(tangents[0], names, root), platform)
    return _inexact_from_one(primals[0], names, root, platform), moved


def _bits_from_one(x: jax.Array, names: AxisNames, root: int) -> jax.Array:
    unsigned = np.dtype(f"uint{8 * x.dtype.itemsize}")
    if x.dtype == bool:
        return lax.psum(_only(x.astype(unsigned), names, root), axis_name(names)).astype(bool)
    if not jnp.issubdtype(x.dtype, jnp.inexact):
        return lax.psum(_only(x, names, root), axis_name(names))
    bits = _only(lax.bitcast_convert_type(x, unsigned), names, root)
    return lax.bitcast_convert_type(lax.psum(bits, axis_name(names)), x.dtype)


def _only(x: jax.Array, names: AxisNames, root: int) -> jax.Array:
    return jnp.where(lax.axis_index(axis_name(names)) == root, x, jnp.zeros_like(x))
