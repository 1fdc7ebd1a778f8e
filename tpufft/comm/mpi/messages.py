"""Messages from one process to another: what is sent says of itself what it is, so that the receiver can check it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tpufft.comm.mpi.call import Call, kind
from tpufft.comm.mpi.waiting import Deadline, Disagreement
from tpufft.comm.mpi.world import communicator, mpi

_HEAD = 256
_MARK = "tpufft"


def memory(x: np.ndarray) -> list[Any]:
    """A contiguous array as MPI takes it, whatever its dtype."""
    return [x.reshape(-1).view(np.uint8), mpi().BYTE]


def exchange(call: Call, arrays: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """Send and receive, all that is sent first, leaf by leaf.

    Raises
    ------
    Disagreement
        If the time is up, or what comes is not what is awaited.
    """
    comm, deadline = communicator(call.comm), Deadline(sum(x.nbytes for x in arrays))
    count = {"send": len(arrays), "recv": 0}.get(call.function, call.sent)
    sent, likes = arrays[:count], arrays[count:]
    requests = []
    if call.dest is not None:
        # Their memory is read until the requests have completed.
        headers = [_header(call, x) for x in sent]
        requests = [_start(call, header, x, comm) for header, x in zip(headers, sent, strict=True)]
    # Of several arrays from anybody, the first decides whose they are.
    source, tag, total = call.source, call.recvtag, 0
    results = []
    for like in likes:
        if source is None:
            results.append(like)
            continue
        value, source, tag = _receive(call, like, source, tag, comm, deadline)
        results.append(value)
        total += value.size

    def late() -> str:
        what = ", ".join(map(kind, sent))
        return f"rank {call.dest} did not receive {what} with tag {call.sendtag}{_waiting(comm)}"

    deadline.complete(requests, late)
    if call.function == "send":
        return (np.zeros((), np.int32),)
    status = (mpi().PROC_NULL if source is None else source, tag, total) if call.status else ()
    return (*results, *(np.asarray(number, np.int32) for number in status))


def _header(call: Call, x: np.ndarray) -> np.ndarray:
    text = f"{_MARK}|{'derivative of ' * call.derivative}{kind(x)}".encode()[:_HEAD]
    header = np.zeros(_HEAD, np.uint8)
    header[: len(text)] = np.frombuffer(text, np.uint8)
    return header


def _text(header: np.ndarray) -> str:
    mark, _, text = bytes(header).rstrip(b"\0").decode(errors="replace").partition("|")
    return text if mark == _MARK else ""


def _framed(header: np.ndarray, body: np.ndarray) -> Any:
    """Header and array as one message, without a copy of either."""
    parts = [part for part in (header, body.reshape(-1).view(np.uint8)) if part.nbytes]
    frame = mpi().BYTE.Create_hindexed([part.nbytes for part in parts], [mpi().Get_address(part) for part in parts])
    return frame.Commit()


def _start(call: Call, header: np.ndarray, x: np.ndarray, comm: Any) -> Any:
    frame = _framed(header, x)
    request = comm.Isend([mpi().BOTTOM, 1, frame], call.dest, call.sendtag)
    frame.Free()
    return request


def _receive(
    call: Call, like: np.ndarray, source: int, tag: int, comm: Any, deadline: Deadline
) -> tuple[np.ndarray, int, int]:
    """One array, and from whom and with which tag it came."""
    status = mpi().Status()
    wanted_source = mpi().ANY_SOURCE if source == -1 else source
    wanted_tag = mpi().ANY_TAG if tag == -1 else tag
    awaited = _text(_header(call, like))
    origin = f"from {'any rank' if source == -1 else f'rank {source}'} with {'any tag' if tag == -1 else f'tag {tag}'}"

    def late() -> str:
        return f"no message came {origin} ({awaited} awaited){_waiting(comm)}"

    message = deadline.wait(lambda: comm.Improbe(wanted_source, wanted_tag, status), late)
    source, tag, count = status.Get_source(), status.Get_tag(), status.Get_count(mpi().BYTE)
    value, header = np.empty(like.shape, like.dtype), np.zeros(_HEAD, np.uint8)
    if count == _HEAD + value.nbytes:
        frame = _framed(header, value)
        request = message.Irecv([mpi().BOTTOM, 1, frame])
        frame.Free()
    else:
        header = np.zeros(max(count, _HEAD), np.uint8)
        request = message.Irecv([header, count, mpi().BYTE])
    deadline.complete([request], lambda: f"the message {origin} did not arrive whole")
    said = _text(header[:_HEAD])
    if said != awaited:
        what = said or f"{count} bytes that no function of tpufft.comm.mpi sent"
        raise Disagreement(f"the message from rank {source} with tag {tag} is {what}; awaited is {awaited}")
    return value, source, tag


def _waiting(comm: Any) -> str:
    """Which message waits instead, if one does."""
    status = mpi().Status()
    if not comm.Iprobe(mpi().ANY_SOURCE, mpi().ANY_TAG, status):
        return ""
    return f", while one from rank {status.Get_source()} with tag {status.Get_tag()} waits to be received,"
