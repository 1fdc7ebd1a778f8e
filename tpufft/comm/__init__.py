"""Messages between devices, for use inside a function that is mapped over them: ``shard_map``, ``smap``.

Every device calls the same functions with its own values: all of them, so never in a branch of ``lax.cond`` that only
some devices take, where the others would wait for ever. A message that nothing depends on may be removed, on all
devices alike; :func:`keep` ties it to a result.
"""

from tpufft.comm.axes import rank, size
from tpufft.comm.moves import allgather, alltoall, bcast, gather, scatter
from tpufft.comm.point import recv, send, sendrecv
from tpufft.comm.reductions import allreduce, reduce, scan
from tpufft.comm.ties import barrier, keep, vary

__all__ = [
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
    "vary",
]
