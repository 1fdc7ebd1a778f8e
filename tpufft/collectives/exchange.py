"""The exchange: an all-to-all that frees one array axis of its mesh axes and splits another."""

from __future__ import annotations

import jax
from jax import lax

from tpufft.collectives.wire import axis_name, send_whole
from tpufft.layout import AxisNames


def exchange(x: jax.Array, names: AxisNames, source: int, target: int, platform: str) -> jax.Array:
    """Gather axis `source` of a chunk over the mesh axes `names` and split axis `target` over them.

    Each device sends all but its own share: (P-1)/P of a chunk.
    """
    return send_whole(
        lambda part: lax.all_to_all(part, axis_name(names), split_axis=target, concat_axis=source, tiled=True),
        x,
        platform,
    )
