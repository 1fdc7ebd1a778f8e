"""What the compiler calls: find or make the library's plan of a problem, carry it out, scale.

Compiled by numba and free of addresses, so that it can be cached on disk: functions of the library, the lock and the
table of plans are symbols, bound when the code is loaded.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import register_jitable

from tpufft.kernels.host.library import FUNCTIONS, PREFIXES, library
from tpufft.kernels.host.problem import TARGET, Kind, Word
from tpufft.native import frame, target

SETS, WAYS = 64, 8
"""Plans are kept in so many sets of so many; of a full set the one that rested longest makes room."""

ESTIMATE, PRESERVE_INPUT, UNALIGNED = 1 << 6, 1 << 4, 1 << 1
"""FFTW's flags."""

_ROW = int(Word.KEY_END)
_KEY = _ROW + 1
"""Words that tell plans apart: the row's own, and whether the output is the input."""
_PLAN, _USERS, _AGE, _ENTRY = _KEY, _KEY + 1, _KEY + 2, _KEY + 3
_LOCK_WORDS = 16
_REFUSAL = b"tpufft: the FFT library refused to plan a transform (out of memory, or a problem that it does not have)\0"

_WORD = 8
_KIND, _DOUBLE, _SIGN = _WORD * int(Word.KIND), _WORD * int(Word.DOUBLE), _WORD * int(Word.SIGN)
_ALIGNED, _THREADS = _WORD * int(Word.ALIGNED), _WORD * int(Word.THREADS)
_AXES, _AXIS, _BATCH = _WORD * int(Word.AXES), _WORD * int(Word.AXIS), _WORD * int(Word.BATCH)
_SCALE, _SIZE = _WORD * int(Word.SCALE), _WORD * int(Word.SIZE)
_LOOPS, _LOOP = _WORD * int(Word.LOOPS), _WORD * int(Word.LOOP)
_R2C, _C2R = int(Kind.R2C), int(Kind.C2R)

_word: Any = types.int64
_int: Any = types.int32
_planner = _word(_int, _word, _int, _word, _word, _word, _int, _int)
_real_planner = _word(_int, _word, _int, _word, _word, _word, _int)
_executor, _destroyer = types.void(_word, _word, _word), types.void(_word)


def _symbol(name: str) -> str:
    return f"tpufft_host_{name}"


def _external(name: str, signature: Any) -> types.ExternalFunction:
    return types.ExternalFunction(_symbol(name), signature)


_array: Any = numba.carray  # pyright: ignore[reportPrivateImportUsage]
_table = frame.symbol(_symbol("table"))
_mutex = frame.symbol(_symbol("mutex"))
_refusal = frame.symbol(_symbol("refusal"))
_lock, _unlock = _external("lock", _int(_word)), _external("unlock", _int(_word))
_f_threads, _d_threads = _external("fftwf_threads", types.void(_int)), _external("fftw_threads", types.void(_int))
_f_c2c, _d_c2c = _external("fftwf_plan_guru64_dft", _planner), _external("fftw_plan_guru64_dft", _planner)
_f_r2c, _d_r2c = (_external(f"{name}_plan_guru64_dft_r2c", _real_planner) for name in ("fftwf", "fftw"))
_f_c2r, _d_c2r = (_external(f"{name}_plan_guru64_dft_c2r", _real_planner) for name in ("fftwf", "fftw"))
_f_run, _d_run = _external("fftwf_execute_dft", _executor), _external("fftw_execute_dft", _executor)
_f_run_r2c, _d_run_r2c = (_external(f"{name}_execute_dft_r2c", _executor) for name in ("fftwf", "fftw"))
_f_run_c2r, _d_run_c2r = (_external(f"{name}_execute_dft_c2r", _executor) for name in ("fftwf", "fftw"))
_f_destroy, _d_destroy = _external("fftwf_destroy_plan", _destroyer), _external("fftw_destroy_plan", _destroyer)


@register_jitable
def _made(row, source, target):
    """A new plan, 0 where the library refuses; under the lock, since planning is not thread-safe."""
    double, kind = frame.load64(row, _DOUBLE) != 0, frame.load64(row, _KIND)
    axes, threads = frame.load64(row, _AXES), frame.load64(row, _THREADS)
    flags = ESTIMATE | (0 if frame.load64(row, _ALIGNED) else UNALIGNED) | (PRESERVE_INPUT if kind == _C2R else 0)
    sign, rank, one, batch = frame.load64(row, _SIGN), _int(axes), _int(1), row + _BATCH
    if double:
        _d_threads(_int(threads))
        if kind == _R2C:
            return _d_r2c(rank, row + _AXIS, one, batch, source, target, _int(flags))
        if kind == _C2R:
            return _d_c2r(rank, row + _AXIS, one, batch, source, target, _int(flags))
        return _d_c2c(rank, row + _AXIS, one, batch, source, target, _int(sign), _int(flags))
    _f_threads(_int(threads))
    if kind == _R2C:
        return _f_r2c(rank, row + _AXIS, one, batch, source, target, _int(flags))
    if kind == _C2R:
        return _f_c2r(rank, row + _AXIS, one, batch, source, target, _int(flags))
    return _f_c2c(rank, row + _AXIS, one, batch, source, target, _int(sign), _int(flags))


@register_jitable
def _destroy(row, plan):
    if frame.load64(row, _DOUBLE):
        _d_destroy(plan)
    else:
        _f_destroy(plan)


@register_jitable
def _execute(row, plan, source, target):
    double, kind = frame.load64(row, _DOUBLE) != 0, frame.load64(row, _KIND)
    if kind == _R2C:
        if double:
            _d_run_r2c(plan, source, target)
        else:
            _f_run_r2c(plan, source, target)
    elif kind == _C2R:
        if double:
            _d_run_c2r(plan, source, target)
        else:
            _f_run_c2r(plan, source, target)
    elif double:
        _d_run(plan, source, target)
    else:
        _f_run(plan, source, target)


@register_jitable
def _set_of(row, in_place):
    """The address of the set in which a problem's plan may be."""
    mixed = in_place
    for number in range(_ROW):
        mixed = (mixed ^ frame.load64(row, _WORD * number)) * 1099511628211
    number = ((mixed >> 32) ^ mixed) & (SETS - 1)
    return _table() + _WORD * (1 + number * WAYS * _ENTRY)


@register_jitable
def _is_entry_of(entry, row, in_place):
    if frame.load64(entry, _WORD * _PLAN) == 0 or frame.load64(entry, _WORD * _ROW) != in_place:
        return False
    for number in range(_ROW):  # noqa: SIM110 - compiled by numba
        if frame.load64(entry, _WORD * number) != frame.load64(row, _WORD * number):
            return False
    return True


@register_jitable
def _claimed(row, source, target):
    """(plan, entry): the plan is in use until :func:`_release`; entry 0 where all of a set are in use by others."""
    in_place = _word(source == target)
    first = _set_of(row, in_place)
    clock = frame.load64(_table(), 0) + 1
    frame.store64(_table(), 0, clock)
    oldest, oldest_age = _word(0), clock
    for way in range(WAYS):
        entry = first + _WORD * way * _ENTRY
        if _is_entry_of(entry, row, in_place):
            frame.store64(entry, _WORD * _USERS, frame.load64(entry, _WORD * _USERS) + 1)
            frame.store64(entry, _WORD * _AGE, clock)
            return frame.load64(entry, _WORD * _PLAN), entry
        if frame.load64(entry, _WORD * _USERS) == 0 and frame.load64(entry, _WORD * _AGE) < oldest_age:
            oldest, oldest_age = entry, frame.load64(entry, _WORD * _AGE)
    plan = _made(row, source, target)
    if plan == 0 or oldest == 0:
        return plan, _word(0)
    rested = frame.load64(oldest, _WORD * _PLAN)
    if rested != 0:
        _destroy(oldest, rested)
    for number in range(_ROW):
        frame.store64(oldest, _WORD * number, frame.load64(row, _WORD * number))
    frame.store64(oldest, _WORD * _ROW, in_place)
    frame.store64(oldest, _WORD * _PLAN, plan)
    frame.store64(oldest, _WORD * _USERS, 1)
    frame.store64(oldest, _WORD * _AGE, clock)
    return plan, oldest


@register_jitable
def _release(row, plan, entry):
    if entry == 0:
        _destroy(row, plan)
    else:
        frame.store64(entry, _WORD * _USERS, frame.load64(entry, _WORD * _USERS) - 1)


@register_jitable
def _scale(row, target, start, size):
    """Multiply `size` real numbers of the output from the one number `start` on."""
    factor = frame.load_double(row, _SCALE)
    if factor == 1.0:
        return
    if frame.load64(row, _DOUBLE):
        numbers = _array(frame.doubles(target + 8 * start), size)
        for index in range(size):
            numbers[index] *= factor
    else:
        single = np.float32(factor)
        numbers32 = _array(frame.singles(target + 4 * start), size)
        for index in range(size):
            numbers32[index] *= single


@register_jitable
def _run_loops(row, plan, source, target):
    """The plan at every offset that the loops come to."""
    item = _word(8 if frame.load64(row, _DOUBLE) else 4)
    kind, loops = frame.load64(row, _KIND), frame.load64(row, _LOOPS)
    source_item = item if kind == _R2C else 2 * item
    target_reals = _word(1 if kind == _C2R else 2)
    count = _word(1)
    for loop in range(loops):
        count *= frame.load64(row, _LOOP + 3 * _WORD * loop)
    size = frame.load64(row, _SIZE)
    # Where one loop counts through whole blocks of the output, each is scaled while the cache has it.
    block = frame.load64(row, _LOOP + 2 * _WORD) * target_reals if loops == 1 else size
    by_blocks = block * count == size
    for turn in range(count):
        rest, source_offset, target_offset = _word(turn), _word(0), _word(0)
        for back in range(loops):
            place = row + _LOOP + 3 * _WORD * (loops - 1 - back)
            length = frame.load64(place, 0)
            source_offset += rest % length * frame.load64(place, _WORD)
            target_offset += rest % length * frame.load64(place, 2 * _WORD)
            rest //= length
        _execute(row, plan, source + source_item * source_offset, target + target_reals * item * target_offset)
        if by_blocks:
            _scale(row, target, turn * block, block)
    if not by_blocks:
        _scale(row, target, _word(0), size)


def _handle(call_frame):
    if frame.answers_metadata(call_frame):
        return _word(0)
    row, source, target = frame.attribute_row(call_frame), frame.argument(call_frame, 0), frame.result(call_frame)
    _lock(_mutex())
    plan, entry = _claimed(row, source, target)
    _unlock(_mutex())
    if plan == 0:
        return frame.error(call_frame, _refusal(), frame.RESOURCE_EXHAUSTED)
    _run_loops(row, plan, source, target)
    _lock(_mutex())
    _release(row, plan, entry)
    _unlock(_mutex())
    return _word(0)


def _no_threads(count: int) -> None:
    """What a library without threads is told of them: nothing."""


@functools.cache
def _state() -> dict[str, Any]:
    """What the symbols stand for; kept as long as the process, since the compiled code refers to it."""
    process = ctypes.CDLL(None)
    mutex = (ctypes.c_int64 * _LOCK_WORDS)()
    process.pthread_mutex_init(mutex, None)
    return {
        "table": np.zeros(1 + SETS * WAYS * _ENTRY, np.int64),
        "mutex": mutex,
        "refusal": ctypes.create_string_buffer(_REFUSAL),
        "no_threads": ctypes.CFUNCTYPE(None, ctypes.c_int)(_no_threads),
        "process": process,
    }


def _addresses() -> dict[str, int]:
    state, found = _state(), library()
    silent = ctypes.cast(state["no_threads"], ctypes.c_void_p).value or 0
    addresses = {prefix + name: found.addresses[prefix + name] for prefix in PREFIXES for name in FUNCTIONS}
    addresses |= {f"{prefix}threads": found.threads.get(prefix, silent) for prefix in PREFIXES}
    for name in ("lock", "unlock"):
        function = getattr(state["process"], f"pthread_mutex_{name}")
        addresses[name] = ctypes.cast(function, ctypes.c_void_p).value or 0
    addresses |= {name: ctypes.addressof(state[name]) for name in ("mutex", "refusal")}
    addresses["table"] = state["table"].ctypes.data
    return {_symbol(name): address for name, address in addresses.items()}


def register() -> None:
    """Make the handler known to JAX, once per process.

    Raises
    ------
    UnavailableError
        There is no library.
    """
    target.register(TARGET, _handle, _addresses)
