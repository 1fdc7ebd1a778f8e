"""How long programs take on their devices."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from tpufft.execution import Bound, awaited, compiled_function
from tpufft.layout import Layout


def signal_in(layout: Layout) -> jax.Array:
    """Numbers between -1 and 1 that every device makes for itself."""

    def made() -> jax.Array:
        count = jnp.arange(layout.stored_shape[-1], dtype=jnp.float32) if layout.rank else jnp.float32(1)
        return jnp.broadcast_to(jnp.sin(count), layout.stored_shape).astype(layout.dtype)

    return jax.block_until_ready(jax.jit(made, out_shardings=layout.sharding)())


def call_of(bound: Bound) -> Callable[[jax.Array], Any]:
    """A program as eager calls start it."""
    return awaited(compiled_function(bound), bound.out_layout.mesh)


def seconds_of(call: Callable[[jax.Array], Any], x: jax.Array) -> float:
    """Of one call, its result awaited."""
    began = time.perf_counter()
    jax.block_until_ready(call(x))
    return time.perf_counter() - began
