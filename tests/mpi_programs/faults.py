"""Processes that do not do what the others wait for: ``mpirun -n 2 python -m mpi4py faults.py FAULT``."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import time

import jax
import jax.numpy as jnp

from tpufft.comm import mpi

FAULT, RANK = sys.argv[1], mpi.rank()


@jax.jit
def pair(x: jax.Array) -> jax.Array:
    if RANK == 0:
        return mpi.recv(x, source=1, tag=5)
    mpi.send(x, dest=0, tag=5)
    return x


def wait() -> None:
    time.sleep(60)


def run() -> None:
    three, other = jnp.zeros(3), {"shape": jnp.zeros(4), "dtype": jnp.zeros(3, jnp.int32)}
    match FAULT:
        case "never sent":
            pair(three) if RANK == 0 else wait()
        case "never received":
            wait() if RANK == 0 else pair(jnp.zeros(1_000_000))
        case "shape" | "dtype":
            pair(three if RANK == 0 else other[FAULT])
        case "peer ends":
            if RANK == 0:
                pair(three)
        case "peer dies":
            pair(three) if RANK == 0 else os.kill(os.getpid(), signal.SIGKILL)
        case "collective shape":
            jax.jit(mpi.allreduce)(jnp.zeros(3 + RANK))
        case "collective dtype":
            mpi.allgather(three if RANK == 0 else other["dtype"])
        case "collective without a peer":
            mpi.allreduce(three) if RANK == 0 else wait()
        case "two collectives":
            mpi.allreduce(three) if RANK == 0 else mpi.bcast(three)
        case "more arrays":
            mpi.allreduce((three, three) if RANK else three)
        case "wrong operation":
            mpi.allreduce(three, wrong_operation)
        case _:
            raise ValueError(FAULT)


def wrong_operation(a: object, b: object) -> object:
    raise RuntimeError("the operation fails")


if __name__ == "__main__":
    faulthandler.dump_traceback_later(50, exit=True)
    pair(jnp.ones(2))  # what goes wrong does so in the middle of a program that works
    run()
