"""Derivatives of functions whose values come from several processes, against what they are by hand."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from checks import check, data, everyone
from jax import lax

from tpufft.comm import mpi

RANK, SIZE = mpi.rank(), mpi.size()
NEXT, LAST = (RANK + 1) % SIZE, (RANK - 1) % SIZE
X, W = data(RANK, 3), data(RANK, 3, seed=1)
ALL_X, ALL_W = everyone(3), everyone(3, seed=1)


def same(got: object, wanted: np.ndarray) -> None:
    np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-12)


@check
def of_a_sum_over_processes() -> None:
    total, moved = jax.jvp(mpi.allreduce, (X,), (W,))
    same(total, ALL_X.sum(0))
    same(moved, ALL_W.sum(0))

    def loss(x):
        return (mpi.allreduce(x) ** 2).sum()

    # The loss is one value that all processes have, so it counts once.
    same(jax.jit(jax.grad(loss))(X), 2 * ALL_X.sum(0))
    same(jax.jvp(jax.grad(loss), (X,), (W,))[1], 2 * ALL_W.sum(0))


@check
def of_a_sum_that_every_process_uses_in_its_own_way() -> None:
    same(jax.jit(jax.grad(lambda x: (W * mpi.vary(mpi.allreduce(x))).sum()))(X), ALL_W.sum(0))
    same(jax.jvp(mpi.vary, (X,), (W,))[1], W)


@check
def of_messages_around_a_ring() -> None:
    def around(x):
        return mpi.sendrecv(x, x, NEXT, LAST)

    same(jax.jvp(jax.jit(around), (X,), (W,))[1], ALL_W[LAST])
    same(jax.jit(jax.grad(lambda x: (W * around(x)).sum()))(X), ALL_W[NEXT])
    # Two messages one after the other come back in the reverse order.
    same(jax.grad(lambda x: (W * around(jnp.sin(around(x)))).sum())(X), np.cos(X) * ALL_W[(RANK + 2) % SIZE])


@check
def of_one_value_for_all() -> None:
    same(jax.jvp(lambda x: mpi.bcast(x, root=1), (X,), (W,))[1], ALL_W[1])
    got = jax.jit(jax.grad(lambda x: (W * mpi.bcast(x, root=1)).sum()))(X)
    same(got, ALL_W.sum(0) if RANK == 1 else np.zeros(3))


@check
def through_a_loop() -> None:
    def loss(x):
        return lax.scan(lambda x, _: (mpi.allreduce(x) / SIZE, None), x, None, length=3)[0].sum()

    same(jax.jit(jax.jvp, static_argnums=0)(loss, (X,), (W,))[1], ALL_W.mean(0).sum())
    same(jax.jit(jax.grad(loss))(X), np.full(3, 1 / SIZE**3))


@check
def of_everything_else_there_is_none() -> None:
    rows = jnp.zeros((SIZE, 2))
    functions = {
        "allgather": mpi.allgather,
        "gather": mpi.gather,
        "scatter": mpi.scatter,
        "alltoall": mpi.alltoall,
        "scan": mpi.scan,
        "allreduce": lambda x: mpi.allreduce(x, "max"),
    }
    for name, function in functions.items():
        with pytest.raises(TypeError, match=rf"{name} .*derivative.*sendrecv"):
            jax.grad(lambda x, function=function: function(x).sum())(rows)
    mpi.barrier()
