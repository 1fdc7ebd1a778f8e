"""What a call does when its turn comes: it checks that processes agree, moves the bytes, and waits for them."""

from __future__ import annotations

import hashlib
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tpufft.comm.mpi import arithmetic, messages
from tpufft.comm.mpi.call import Call
from tpufft.comm.mpi.waiting import Deadline, Disagreement, end_all
from tpufft.comm.mpi.world import communicator, mpi

_LINE = 512


def perform(call: Call, *operands: Any) -> tuple[np.ndarray, ...]:
    """Make a call, or end all processes with one message that says why it could not be made."""
    try:
        arrays = [np.ascontiguousarray(x).reshape(x.shape) for x in map(np.asarray, operands)]
        if call.function in ("send", "recv", "sendrecv"):
            return messages.exchange(call, arrays)
        comm, deadline = communicator(call.comm), Deadline(call.size * sum(x.nbytes for x in arrays))
        _agree(call, arrays, comm, deadline)
        return (_COLLECTIVES[call.function](call, arrays, comm, deadline),)
    except Disagreement as failure:
        reason = str(failure)
    except BaseException:  # whatever it was, the other processes must not wait for this one
        reason = traceback.format_exc()
    me = communicator(call.comm).Get_rank()
    return end_all(f"tpufft.comm.mpi: {call.name} on rank {me} of {call.size}: {reason}")


def _agree(call: Call, arrays: Sequence[np.ndarray], comm: Any, deadline: Deadline) -> None:
    """Hold a digest of the call against the others': one all-reduce of 16 bytes.

    Raises
    ------
    Disagreement
        That says which ranks make which call.
    """
    if call.size == 1:
        return
    text = call.described(arrays).encode()[:_LINE]
    digest = int.from_bytes(hashlib.blake2b(text, digest_size=7).digest())
    most = np.zeros(2, np.int64)

    def late() -> str:
        return f"{text.decode()}: not all ranks have come to a collective call"

    deadline.complete([comm.Iallreduce(np.array([digest, -digest], np.int64), most, mpi().MAX)], late)
    if most[0] == -most[1]:
        return
    mine, all_texts = np.zeros(_LINE, np.uint8), np.zeros((call.size, _LINE), np.uint8)
    mine[: len(text)] = np.frombuffer(text, np.uint8)
    deadline.complete([comm.Iallgather(mine, all_texts)], late)
    ranks: dict[str, list[int]] = {}
    for number, row in enumerate(all_texts):
        ranks.setdefault(bytes(row).rstrip(b"\0").decode(errors="replace"), []).append(number)
    calls = "; ".join(f"{said} on rank {', '.join(map(str, numbers))}" for said, numbers in ranks.items())
    raise Disagreement(f"the ranks make different calls: {calls}")


def _complete(call: Call, deadline: Deadline, request: Any) -> None:
    deadline.complete([request], lambda: f"{call.name} did not end on all ranks")


def _barrier(call: Call, arrays: Sequence[np.ndarray], comm: Any, deadline: Deadline) -> np.ndarray:
    _complete(call, deadline, comm.Ibarrier())
    return np.zeros((), np.int32)


def _bcast(call: Call, arrays: Sequence[np.ndarray], comm: Any, deadline: Deadline) -> np.ndarray:
    y = arrays[0].copy()
    _complete(call, deadline, comm.Ibcast(messages.memory(y), call.root))
    return y


def _scatter(call: Call, arrays: Sequence[np.ndarray], comm: Any, deadline: Deadline) -> np.ndarray:
    (x,) = arrays
    y = np.empty(x.shape[1:], x.dtype)
    sent = messages.memory(x) if comm.Get_rank() == call.root else None
    _complete(call, deadline, comm.Iscatter(sent, messages.memory(y), call.root))
    return y


def _gather(call: Call, arrays: Sequence[np.ndarray], comm: Any, deadline: Deadline) -> np.ndarray:
    (x,) = arrays
    y = np.zeros((call.size, *x.shape), x.dtype)
    received = messages.memory(y) if comm.Get_rank() == call.root else None
    _complete(call, deadline, comm.Igather(messages.memory(x), received, call.root))
    return y


def _allgather(call: Call, arrays: Sequence[np.ndarray], comm: Any, deadline: Deadline) -> np.ndarray:
    (x,) = arrays
    y = np.empty((call.size, *x.shape), x.dtype)
    _complete(call, deadline, comm.Iallgather(messages.memory(x), messages.memory(y)))
    return y


def _alltoall(call: Call, arrays: Sequence[np.ndarray], comm: Any, deadline: Deadline) -> np.ndarray:
    (x,) = arrays
    y = np.empty_like(x)
    _complete(call, deadline, comm.Ialltoall(messages.memory(x), messages.memory(y)))
    return y


def _reduced(call: Call, arrays: Sequence[np.ndarray], comm: Any, deadline: Deadline) -> np.ndarray:
    (x,) = arrays
    if not x.size:
        return x
    # Half precision is computed in single.
    work = x.astype(np.float32) if arithmetic.is_small_float(x.dtype) else x
    y = np.zeros_like(work)
    is_result = call.function != "reduce" or comm.Get_rank() == call.root
    with arithmetic.operation(call, work) as (op, buffer):
        sent, received = buffer(work), buffer(y) if is_result else None
        if call.function == "reduce":
            request = comm.Ireduce(sent, received, op, call.root)
        else:
            request = (comm.Iallreduce if call.function == "allreduce" else comm.Iscan)(sent, received, op)
        _complete(call, deadline, request)
    return y.astype(x.dtype)


_COLLECTIVES: dict[str, Callable[[Call, Sequence[np.ndarray], Any, Deadline], np.ndarray]] = {
    "barrier": _barrier,
    "bcast": _bcast,
    "scatter": _scatter,
    "gather": _gather,
    "allgather": _allgather,
    "alltoall": _alltoall,
    "reduce": _reduced,
    "allreduce": _reduced,
    "scan": _reduced,
}
