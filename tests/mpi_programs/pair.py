"""Two processes, one sends and one receives: ``mpirun -n 2 python -m mpi4py pair.py``."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from tpufft.comm import mpi


@jax.jit
def squares(x: jax.Array) -> jax.Array:
    """Squares, worked out by process 1 and sent to process 0."""
    if mpi.rank() == 0:
        return mpi.recv(x, source=1)
    mpi.send(x**2, dest=0)
    return x


y = squares(jnp.arange(4.0))
if mpi.rank() == 0:
    print(y)
