"""Messages that were sent and not received yet, while a function is being traced.

A message belongs to the trace in which it was sent: the body of one ``jit``, ``scan``, ``cond``, ``grad``, ``vmap``
and so on, in one thread. Only a :func:`tpufft.comm.recv` in that very trace takes it, whatever other traces began,
ended or failed meanwhile, so that no value gets where it is not defined.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax.extend

from tpufft.comm.peers import Senders, pairs_text
from tpufft.layout import AxisNames


class Handle:
    """What :func:`tpufft.comm.keep` ties to a result.

    Parameters
    ----------
    value : pytree of arrays
        What arrives.
    """

    def __init__(self, value: Any) -> None:
        self.value = value
        self.is_kept = False


class Message(Handle):
    """A message on its way.

    Parameters
    ----------
    value : pytree of arrays
        What arrives, zeros where nothing does.
    names : tuple of str
        The mesh axes.
    tag : int
        The caller's mark.
    senders : dict
        For each receiver its sender.
    """

    def __init__(self, value: Any, names: AxisNames, tag: int, senders: Senders) -> None:
        super().__init__(value)
        self.names, self.tag, self.senders = names, tag, senders
        # The value may hold the trace; the message itself must not.
        self.trace = weakref.ref(_current_trace())
        self.manual = _manual_axes()

    def __str__(self) -> str:
        return f"tag {self.tag} ({pairs_text(self.senders)})"


class _Mailbox(threading.local):
    """One thread's messages, in the order in which they were sent."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        # Within `opened`, those that no one can receive any more, in words.
        self.lost: list[str] | None = None


_MAILBOX = _Mailbox()


def post(message: Message) -> None:
    """Leave a message for a later :func:`take`."""
    _MAILBOX.messages.append(message)


def take(names: AxisNames, tag: int) -> Message:
    """The earliest message of these axes and this tag that was sent in this trace.

    Raises
    ------
    ValueError
        If there is none; it tells which there are.
    """
    trace = _current_trace()
    for message in _MAILBOX.messages:
        if message.trace() is trace and (message.names, message.tag) == (names, tag):
            _MAILBOX.messages.remove(message)
            return message
    raise ValueError(_none_waits(names, tag, trace))


def sweep() -> None:
    """Forget the messages of traces that have ended; every function of ``tpufft.comm`` begins with it.

    JAX does not tell when a trace has ended. But in one thread traces nest: one that is not around the current trace
    and not within it has ended. The body of a ``shard_map`` does not show what is around it, but maps further axes.
    """
    if not _MAILBOX.messages:
        return
    current = _current_trace()
    waiting = []
    for message in _MAILBOX.messages:
        trace = message.trace()
        if trace is not None and (_related(trace, current) or message.manual < _manual_axes()):
            waiting.append(message)
        elif _MAILBOX.lost is not None and not message.is_kept:
            _MAILBOX.lost.append(str(message))
    _MAILBOX.messages = waiting


@contextmanager
def opened() -> Iterator[None]:
    """A mailbox of its own for one mapped function, in which every message must be received or kept.

    Raises
    ------
    ValueError
        At the end, if some message is neither; not where the function itself raised.
    """
    before = _MAILBOX.messages, _MAILBOX.lost
    _MAILBOX.messages, _MAILBOX.lost = [], []
    try:
        yield
        left = [*_MAILBOX.lost, *(str(message) for message in _MAILBOX.messages if not message.is_kept)]
    finally:
        _MAILBOX.messages, _MAILBOX.lost = before
    if left:
        raise ValueError(
            f"tpufft.comm.send without a recv: {'; '.join(left)}; receive each with comm.recv of the same axes and "
            "tag, in the same function body, or tie its handle to a result with comm.keep"
        )


def _none_waits(names: AxisNames, tag: int, trace: Any) -> str:
    here = [message for message in _MAILBOX.messages if message.trace() is trace]
    elsewhere = [message for message in _MAILBOX.messages if message.trace() is not trace]
    waiting = ", ".join(f"tag {message.tag} of {message.names}" for message in here) or "no message"
    text = f"tpufft.comm.recv: no send of tag {tag} along {names} is unmatched here; what waits: {waiting}"
    if any((message.names, message.tag) == (names, tag) for message in elsewhere):
        text += (
            "; one waits in a function around or within this one, and a send and its recv must stand in the body of "
            "the same scan, cond, jit, grad, vmap or other transformation"
        )
    return text


def _current_trace() -> Any:
    with jax.extend.core.take_current_trace() as trace:
        return trace


def _manual_axes() -> frozenset[str]:
    return frozenset(jax.sharding.get_abstract_mesh().manual_axes)


def _related(trace: Any, current: Any) -> bool:
    """Whether a trace is the current one, or known to be around or within it."""
    return any(one is current for one in _line(trace)) or any(one is trace for one in _line(current))


def _line(trace: Any) -> list[Any]:
    """A trace and those around it, as far as JAX tells: the attribute is its own, and not all traces have it."""
    line = [trace]
    while (parent := getattr(line[-1], "parent_trace", None)) is not None:
        line.append(parent)
    return line
