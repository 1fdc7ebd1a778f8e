"""Messages between independent processes, each with one device and a program of its own: MPI from inside ``jax.jit``.

The names are those of :mod:`tpufft.comm`, for ``if rank == 0: y = recv(...)`` instead of one program on many devices.
Every call happens, in program order, used or not, eagerly and in ``jit``, ``scan``, ``cond`` and ``while_loop``.
"""

import importlib.util

from tpufft.errors import MissingExtraError

if importlib.util.find_spec("mpi4py") is None:
    raise MissingExtraError("tpufft.comm.mpi", "mpi")

from tpufft.comm.mpi.moves import allgather, alltoall, bcast, gather, scatter
from tpufft.comm.mpi.point import ANY_SOURCE, ANY_TAG, Status, recv, send, sendrecv
from tpufft.comm.mpi.reductions import allreduce, reduce, scan
from tpufft.comm.mpi.ties import barrier, keep, vary
from tpufft.comm.mpi.waiting import timeout
from tpufft.comm.mpi.world import rank, size

__all__ = [
    "ANY_SOURCE",
    "ANY_TAG",
    "Status",
    "allgather",
    "allreduce",
    "alltoall",
    "barrier",
    "bcast",
    "gather",
    "keep",
    "rank",
    "recv",
    "reduce",
    "scan",
    "scatter",
    "send",
    "sendrecv",
    "size",
    "timeout",
    "vary",
]
