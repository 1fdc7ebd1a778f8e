"""Rows of an array, one for every device: sent to each, or gathered from each."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from tpufft.collectives.wire import axis_name, send_whole
from tpufft.layout import AxisNames


def swap_rows(x: jax.Array, names: AxisNames, axis: int, platform: str) -> jax.Array:
    """Send row q along `axis` to device q, and put what comes from device q in row q: (P-1)/P of `x` on the wire."""
    name = axis_name(names)
    if not _manual(names):
        # Under a vmap, JAX mistakes the shape of what is the same on all its devices.
        x = jnp.where(lax.axis_index(name) >= 0, x, x)
    # Rows that the compiler knows (zeros around one row, in a derivative) must look alike to it: on CPUs it gives them
    # layouts of their own, and refuses the exchange then.
    x = lax.optimization_barrier(x)
    swapped = send_whole(lambda part: lax.all_to_all(part, name, axis, axis, tiled=True), x, platform)
    return lax.optimization_barrier(swapped)


def all_rows(x: jax.Array, names: AxisNames, axis: int, platform: str) -> jax.Array:
    """What every device has, as rows along a new axis, typed as the same on all: P-1 times `x` on the wire."""
    name = axis_name(names)
    # The derivative of the gather of equal results is a slice; that of the other kind is a reduce-scatter.
    to = "invarying" if _manual(names) else "varying"
    return send_whole(lambda part: lax.all_gather(part, name, axis=axis, to=to), x, platform)


def _manual(names: AxisNames) -> bool:
    """Whether the axes are those of a mesh, not of a ``vmap``."""
    return set(names) <= set(jax.sharding.get_abstract_mesh().manual_axes)
