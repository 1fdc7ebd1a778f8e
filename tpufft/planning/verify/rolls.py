"""Cyclic shifts of whole arrays, told exactly: every element has a random number of its own place."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from tpufft.planning.operations import Roll
from tpufft.planning.plan import Plan
from tpufft.planning.verify.sides import Side, counting
from tpufft.planning.verify.values import uniform


def moved_wrongly(plan: Plan, rolls: Sequence[Roll], before: Side, after: Side, seed: np.uint32) -> float:
    """The part of a shifted array's elements that are not where they belong."""

    def signal(seed: jax.Array) -> jax.Array:
        return uniform(seed, before.positions(), before.layout.dtype)

    def wrong(seed: jax.Array, y: jax.Array) -> jax.Array:
        places = after.positions()
        for roll in rolls:
            places[roll.axis] = jnp.remainder(places[roll.axis] - roll.amount, roll.size)
        differs = y != uniform(seed, places, after.layout.dtype)
        return jnp.sum(after.inside() & differs, dtype=np.int64) / max(after.layout.size, 1)

    scalar = NamedSharding(after.inner.mesh, PartitionSpec())  # type: ignore[arg-type]
    with counting(before):
        data = jax.jit(signal, out_shardings=before.inner.sharding)(seed).block_until_ready()
    y = after.left(plan(before.entered(data)))
    with counting(before):
        return float(jax.jit(wrong, out_shardings=scalar)(seed, y))
