"""The exchange: an all-to-all that frees one array axis of its mesh axes and splits another."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from tpufft.collectives.wire import axis_name, send_whole
from tpufft.layout import AxisNames


def exchange(x: jax.Array, names: AxisNames, source: int, target: int, platform: str) -> jax.Array:
    """Gather axis `source` of a chunk over the mesh axes `names` and split axis `target` over them.

    Each device sends all but its own share: (P-1)/P of a chunk. What goes to one device is packed together first, and
    unpacked in its place afterwards: so the compiler merges both with the steps around, and keeps a chunk less than
    with an all-to-all that splits and joins inner axes by itself.
    """
    name = axis_name(names)
    count = lax.axis_size(name)
    shape = x.shape
    packed = x.reshape(*shape[:target], count, shape[target] // count, *shape[target + 1 :])
    packed = lax.optimization_barrier(jnp.moveaxis(packed, target, 0))
    received = send_whole(lambda part: lax.all_to_all(part, name, 0, 0, tiled=True), packed, platform)
    joined = list(shape)
    joined[target] //= count
    joined[source] *= count
    return jnp.moveaxis(received, 0, source).reshape(joined)
