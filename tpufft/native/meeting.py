"""Where the devices of one program meet, inside one process: each shows the address of what it has, and copies.

A slot of a table stands for one exchange of one run among one group of devices. Who comes writes its address and waits
until all have come; then each copies what it needs from the others, and waits until all have copied, since after that
its own memory may be used anew.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np
from numba import types
from numba.extending import register_jitable

from tpufft.native import SHARED_EXCHANGE, frame, target

SLOTS, MOST = 64, 1024
"""How many exchanges may go on at once, and among how many devices each."""

LIMIT_SECONDS = 60
"""How long one device waits for the others."""

# The row: which exchange, among how many; the loops over blocks and their strides in bytes; what shifts them.
OPERATION, COUNT, OUTER, OUTER_SOURCE, OUTER_TARGET = 0, 1, 2, 3, 4
INNER, INNER_SOURCE, INNER_TARGET, RUN, SOURCE_SHIFT, TARGET_SHIFT = 5, 6, 7, 8, 9, 10
ROW_WORDS = 11

_WORD = 8
# A slot: run, operation, group, how many have come, how many have left, its generation; then addresses.
_RUN_ID, _OPERATION, _GROUP, _COME, _LEFT, _GENERATION, _BROKEN = (_WORD * number for number in range(7))
_ADDRESSES = 7 * _WORD
_SLOT = _ADDRESSES + MOST * _WORD
_LATE = b"tpufft: an exchange between the devices of this process waited for a device that did not come\0"
_FULL = b"tpufft: more exchanges at once between the devices of this process than there are places for\0"

_word: Any = types.int64
_int: Any = types.int32


def _symbol(name: str) -> str:
    return f"tpufft_meeting_{name}"


def _external(name: str, signature: Any) -> types.ExternalFunction:
    return types.ExternalFunction(_symbol(name), signature)


_table, _mutex, _condition = (frame.symbol(_symbol(name)) for name in ("table", "mutex", "condition"))
_late, _full = (frame.symbol(_symbol(name)) for name in ("late", "full"))
_lock, _unlock = _external("lock", _int(_word)), _external("unlock", _int(_word))
_broadcast = _external("broadcast", _int(_word))
_wait = _external("wait", _int(_word, _word, _word))
_now = _external("now", _int(_int, _word))
_copy = _external("copy", _word(_word, _word, _word))


@register_jitable
def _joined(run, operation, group, count):
    """The slot of an exchange, found or taken; 0 where none is free. Under the lock."""
    free = _word(0)
    for number in range(SLOTS):
        slot = _table() + number * _SLOT
        come = frame.load64(slot, _COME)
        if come == 0:
            free = slot if free == 0 else free
        elif (
            come < count
            and frame.load64(slot, _RUN_ID) == run
            and frame.load64(slot, _OPERATION) == operation
            and frame.load64(slot, _GROUP) == group
            and frame.load64(slot, _BROKEN) == 0
        ):
            return slot
    if free != 0:
        frame.store64(free, _RUN_ID, run)
        frame.store64(free, _OPERATION, operation)
        frame.store64(free, _GROUP, group)
    return free


@register_jitable
def _waited(slot, place, until, generation):
    """Whether a number of the slot came to `until`, or the slot was left by all, before time is up. Under the lock."""
    time = frame.time_words()
    _now(_int(0), time)
    frame.store64(time, 0, frame.load64(time, 0) + LIMIT_SECONDS)
    while frame.load64(slot, _GENERATION) == generation and frame.load64(slot, place) < until:
        if frame.load64(slot, _BROKEN) != 0:
            return False
        if _wait(_condition(), _mutex(), time) != 0:
            frame.store64(slot, _BROKEN, _word(1))
            _broadcast(_condition())
            return False
    return True


@register_jitable
def _copied(row, slot, index, target):
    """What every device has for this one, each beginning with another, so that none is read by all at once."""
    count = frame.load64(row, _WORD * COUNT)
    outer, inner, run = (
        frame.load64(row, _WORD * OUTER),
        frame.load64(row, _WORD * INNER),
        frame.load64(row, _WORD * RUN),
    )
    outer_source, outer_target = frame.load64(row, _WORD * OUTER_SOURCE), frame.load64(row, _WORD * OUTER_TARGET)
    inner_source, inner_target = frame.load64(row, _WORD * INNER_SOURCE), frame.load64(row, _WORD * INNER_TARGET)
    shift = index * frame.load64(row, _WORD * SOURCE_SHIFT)
    target_shift = frame.load64(row, _WORD * TARGET_SHIFT)
    for turn in range(count):
        number = (index + turn) % count
        source = frame.load64(slot, _ADDRESSES + _WORD * number) + shift
        into = target + number * target_shift
        for block in range(outer):
            here, there = source + block * outer_source, into + block * outer_target
            for line in range(inner):
                _copy(there + line * inner_target, here + line * inner_source, run)


def _handle(call_frame):
    if frame.answers_metadata(call_frame):
        return _word(0)
    row, source, into = frame.attribute_row(call_frame), frame.argument(call_frame, 0), frame.result(call_frame)
    place = frame.argument(call_frame, 1)
    index, group = _word(frame.load32(place, 0)), _word(frame.load32(place, 4))
    count, run = frame.load64(row, _WORD * COUNT), frame.run_id(call_frame)
    _lock(_mutex())
    slot = _joined(run, frame.load64(row, _WORD * OPERATION), group, count)
    if slot == 0:
        _unlock(_mutex())
        return frame.error(call_frame, _full(), frame.RESOURCE_EXHAUSTED)
    generation = frame.load64(slot, _GENERATION)
    frame.store64(slot, _ADDRESSES + _WORD * index, source)
    frame.store64(slot, _COME, frame.load64(slot, _COME) + 1)
    if frame.load64(slot, _COME) == count:
        _broadcast(_condition())
    arrived = _waited(slot, _COME, count, generation)
    _unlock(_mutex())
    if not arrived:
        return frame.error(call_frame, _late(), frame.DEADLINE_EXCEEDED)
    _copied(row, slot, index, into)
    _lock(_mutex())
    frame.store64(slot, _LEFT, frame.load64(slot, _LEFT) + 1)
    left = True
    if frame.load64(slot, _LEFT) == count:
        frame.store64(slot, _GENERATION, generation + 1)
        frame.store64(slot, _COME, _word(0))
        frame.store64(slot, _LEFT, _word(0))
        _broadcast(_condition())
    else:
        left = _waited(slot, _LEFT, count, generation)
    _unlock(_mutex())
    return _word(0) if left else frame.error(call_frame, _late(), frame.DEADLINE_EXCEEDED)


@functools.cache
def _state() -> dict[str, Any]:
    """What the symbols stand for; kept as long as the process, since the compiled code refers to it."""
    process = ctypes.CDLL(None)
    mutex, condition = (ctypes.c_int64 * 16)(), (ctypes.c_int64 * 16)()
    process.pthread_mutex_init(mutex, None)
    process.pthread_cond_init(condition, None)
    return {
        "table": np.zeros(SLOTS * _SLOT // _WORD, np.int64),
        "mutex": mutex,
        "condition": condition,
        "late": ctypes.create_string_buffer(_LATE),
        "full": ctypes.create_string_buffer(_FULL),
        "process": process,
    }


def _addresses() -> dict[str, int]:
    state = _state()
    functions = {
        "lock": "pthread_mutex_lock",
        "unlock": "pthread_mutex_unlock",
        "broadcast": "pthread_cond_broadcast",
        "wait": "pthread_cond_timedwait",
        "now": "clock_gettime",
        "copy": "memcpy",
    }
    addresses = {
        name: ctypes.cast(getattr(state["process"], function), ctypes.c_void_p).value or 0
        for name, function in functions.items()
    }
    addresses |= {name: ctypes.addressof(state[name]) for name in ("mutex", "condition", "late", "full")}
    addresses["table"] = state["table"].ctypes.data
    return {_symbol(name): address for name, address in addresses.items()}


def register() -> None:
    """Make the handler known to JAX, once per process."""
    target.register(SHARED_EXCHANGE, _handle, _addresses)
