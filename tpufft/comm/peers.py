"""Who sends to whom: peers as a caller gives them, checked and turned into a table when a function is traced."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

Peers: TypeAlias = Callable[[int], int | None] | Sequence[int | None] | Mapping[int, int | None] | np.ndarray
# For each rank that receives something, the rank that sends it.
Senders: TypeAlias = dict[int, int]


def senders_by_dest(dest: Peers, count: int) -> Senders:
    """For each receiver its sender, where `dest` says to whom each rank sends.

    Raises
    ------
    ValueError
        For peers that are no ranks, and for two messages to one rank.
    TypeError
        For what does not say a peer for each rank.
    """
    senders: Senders = {}
    for sender, receiver in enumerate(_peers(dest, count, "dest")):
        if receiver is None:
            continue
        if receiver in senders:
            raise ValueError(
                f"dest has ranks {senders[receiver]} and {sender} both send to rank {receiver}; a rank receives one "
                "message of each send: use two sends, or comm.gather or comm.reduce"
            )
        senders[receiver] = sender
    return senders


def senders_by_source(source: Peers, count: int) -> Senders:
    """For each receiver its sender, where `source` says from whom each rank receives."""
    peers = _peers(source, count, "source")
    return {receiver: sender for receiver, sender in enumerate(peers) if sender is not None}


def check_match(sent: Senders, wanted: Senders, tag: int) -> None:
    """Refuse a `source` that is not the inverse of the message's `dest`.

    Raises
    ------
    ValueError
        That names the first rank at which they differ.
    """
    for receiver in sorted({*sent, *wanted}):
        got, asked = sent.get(receiver), wanted.get(receiver)
        if got != asked:
            there = "no rank sends to it" if got is None else f"rank {got} sends to it"
            here = "it receives nothing" if asked is None else f"it receives from rank {asked}"
            raise ValueError(f"tag {tag}, rank {receiver}: by dest {there}, by source {here}; source inverts dest")


def pairs_text(senders: Senders) -> str:
    """The pairs of a message as errors name them."""
    pairs = [f"{sender}->{receiver}" for receiver, sender in sorted(senders.items(), key=lambda pair: pair[::-1])]
    if len(pairs) > 8:
        pairs = [*pairs[:4], "...", pairs[-1]]
    return f"dest {', '.join(pairs) or 'nobody'}"


def _peers(peers: Any, count: int, argument: str) -> list[int | None]:
    """One peer or None for every rank."""
    if isinstance(peers, Mapping):
        ranks = [_rank(rank, count, f"{argument} has the key {rank!r}, which") for rank in peers]
        given = dict(zip(ranks, peers.values(), strict=True))
        listed = [given.get(rank) for rank in range(count)]
    elif callable(peers):
        listed = [peers(rank) for rank in range(count)]
    elif isinstance(peers, Sequence | np.ndarray) and not isinstance(peers, str | bytes):
        listed = list(peers)
        if len(listed) != count:
            raise ValueError(
                f"{argument} has {len(listed)} entries for {count} ranks; right is one for each, None for no message"
            )
    else:
        raise _no_peers(peers, count, argument)
    return [
        None if peer is None else _rank(peer, count, f"{argument} gives rank {rank} the peer {peer!r}, which")
        for rank, peer in enumerate(listed)
    ]


def _rank(value: Any, count: int, subject: str) -> int:
    right = f"right is an integer from 0 to {count - 1}, or None"
    if isinstance(value, bool | np.bool_):
        raise TypeError(f"{subject} is no integer; {right}")
    try:
        number = operator.index(value)
    except Exception:  # a traced value raises an error of JAX's own
        raise TypeError(f"{subject} is no integer known when the function is traced; {right}") from None
    if not 0 <= number < count:
        raise ValueError(f"{subject} is out of range; {right}")
    return number


def _no_peers(peers: Any, count: int, argument: str) -> TypeError:
    step = "+" if argument == "dest" else "-"
    right = f"a function of the rank such as lambda r: (r {step} 1) % {count}, a sequence of {count} peers, or a dict"
    try:
        number = operator.index(peers)
    except Exception:  # a traced value raises an error of JAX's own
        return TypeError(f"{argument}={peers!r} does not say a peer for each rank; right is {right}")
    if argument == "dest":
        return TypeError(
            f"dest={number} would have every rank send to rank {number}; right is {right} ({{0: {number}}})"
        )
    return TypeError(f"source={number} would have rank {number} send to all: comm.bcast does; right is {right}")
