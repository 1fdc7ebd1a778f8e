"""A gradient over data that two processes have: ``mpirun -n 2 python -m mpi4py shared.py``."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from tpufft.comm import mpi

x = jnp.arange(3.0) + mpi.rank()


def loss(w: jax.Array) -> jax.Array:
    """The sum over all processes, each with the same weight and with data of its own."""
    return mpi.allreduce(jnp.sum((x * mpi.vary(w)) ** 2))


y, gradient = jax.jit(jax.value_and_grad(loss))(jnp.float32(1))
if mpi.rank() == 0:
    print(y, gradient)
