"""How values cross the wire: a complex chunk is one collective everywhere."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax

from tpufft.layout import AxisNames


def axis_name(names: AxisNames) -> str | AxisNames:
    """Mesh axes as JAX's collectives take them: one name bare, several as a tuple, the first the slowest."""
    return names[0] if len(names) == 1 else names


def send_whole(collective: Callable[[jax.Array], jax.Array], x: jax.Array, platform: str) -> jax.Array:
    """Apply a collective to `x` so that it stays one collective.

    XLA for TPU splits a complex collective in two; there the planes travel stacked, behind the other axes so that the
    collective's axis numbers keep their meaning.
    """
    if platform != "tpu" or not jnp.iscomplexobj(x):
        return collective(x)
    moved = collective(jnp.stack([x.real, x.imag], axis=-1))
    return lax.complex(moved[..., 0], moved[..., 1])
