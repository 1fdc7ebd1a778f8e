"""XLA's call frame, read in code that numba compiles; offsets as in ``xla/ffi/api/c_api.h`` of API version 0.3.

Later minor versions add fields behind these, and take handlers that say 0.3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic as numba_intrinsic
from numba.extending import register_jitable

MAJOR, MINOR = 0, 3

EXTENSION = 8
API = 16
CONTEXT = 24
ARGUMENTS = 72
RESULTS = 112
ATTRIBUTES = 160

BUFFER_DATA = 24
ARRAY_DATA = 16
"""Of an attribute: its type, its length, its data."""

METADATA = 1
EXTENSION_TYPE = 8
EXTENSION_METADATA = 24
METADATA_MAJOR, METADATA_MINOR = 24, 28
METADATA_TRAITS, METADATA_STATE = 32, 40

API_ERROR_CREATE = 48
ERROR_WORDS = 4
"""Of the structure that an error is made of: size, extension, message, code."""

RESOURCE_EXHAUSTED = 8
DEADLINE_EXCEEDED = 4

API_RUN_ID = 176
RUN_ID_WORDS = 4
"""Of the structure by which the number of a run is asked for: size, extension, context, number."""


def intrinsic(function: Callable[..., Any]) -> Callable[..., Any]:
    """Numba's, of a type: what it makes is called with other arguments than it was written with."""
    return numba_intrinsic(function)


def _memory(bits: int, floating: bool) -> tuple[ir.Type, types.Type]:
    if floating:
        return (ir.DoubleType(), types.float64) if bits == 64 else (ir.FloatType(), types.float32)
    return ir.IntType(bits), types.Integer.from_bitwidth(bits, True)


def _loader(bits: int, floating: bool = False) -> Any:
    kind, number = _memory(bits, floating)

    @intrinsic
    def load(typing: Any, address: Any, offset: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            return builder.load(builder.inttoptr(builder.add(*values), kind.as_pointer()), align=bits // 8)

        return number(types.int64, types.int64), generate

    return load


def _storer(bits: int, floating: bool = False) -> Any:
    kind, number = _memory(bits, floating)

    @intrinsic
    def store(typing: Any, address: Any, offset: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            place = builder.inttoptr(builder.add(values[0], values[1]), kind.as_pointer())
            builder.store(values[2], place, align=bits // 8)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, number), generate

    return store


load32, load64, load_double = _loader(32), _loader(64), _loader(64, floating=True)
"""``load(address, offset)``: the number of so many bits there."""

store32, store64 = _storer(32), _storer(64)
"""``store(address, offset, value)``."""


@intrinsic
def call(typing: Any, function: Any, argument: Any) -> Any:
    """``call(function, argument)``: what the function at an address returns, both 64 bits."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        word = ir.IntType(64)
        pointer = builder.inttoptr(values[0], ir.FunctionType(word, [word]).as_pointer())
        return builder.call(pointer, [values[1]])

    return types.int64(types.int64, types.int64), generate


def symbol(name: str) -> Any:
    """``symbol(name)()``: the address of a global symbol, bound when the code is loaded, so that it may be cached."""

    @intrinsic
    def address(typing: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            known = builder.module.globals.get(name)
            place = known or ir.GlobalVariable(builder.module, ir.IntType(8), name)
            return builder.ptrtoint(place, ir.IntType(64))

        return types.int64(), generate

    return address


def _words(count: int) -> Any:
    """``_words(count)()``: the address of so many zeros on the stack."""

    @intrinsic
    def words(typing: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            word = ir.IntType(64)
            place = cgutils.alloca_once(builder, ir.ArrayType(word, count))
            builder.store(ir.Constant(ir.ArrayType(word, count), [0] * count), place)
            return builder.ptrtoint(place, word)

        return types.int64(), generate

    return words


error_words, run_id_words, time_words = _words(ERROR_WORDS), _words(RUN_ID_WORDS), _words(2)
"""Zeroed structures on the stack: of an error, of the question for a run's number, of a time."""


@register_jitable
def answers_metadata(call_frame):
    """Whether this call asks which version the handler speaks; it is answered then."""
    extension = load64(call_frame, EXTENSION)
    if extension == 0 or load32(extension, EXTENSION_TYPE) != METADATA:
        return False
    metadata = load64(extension, EXTENSION_METADATA)
    store32(metadata, METADATA_MAJOR, np.int32(MAJOR))
    store32(metadata, METADATA_MINOR, np.int32(MINOR))
    store32(metadata, METADATA_TRAITS, np.int32(0))
    store64(metadata, METADATA_STATE, types.int64(0))
    return True


@register_jitable
def attribute_row(call_frame):
    """The address of the one attribute, a row of integers."""
    return load64(load64(load64(call_frame, ATTRIBUTES), 0), ARRAY_DATA)


@register_jitable
def argument(call_frame, number):
    """The address of an argument's data."""
    return load64(load64(load64(call_frame, ARGUMENTS), 8 * number), BUFFER_DATA)


@register_jitable
def result(call_frame):
    """The address of the one result's data."""
    return load64(load64(load64(call_frame, RESULTS), 0), BUFFER_DATA)


@register_jitable
def error(call_frame, text, code):
    """An error of XLA's with a text, by its address."""
    words = error_words()
    store64(words, 0, types.int64(8 * ERROR_WORDS))
    store64(words, 16, text)
    store64(words, 24, types.int64(code))
    return call(load64(load64(call_frame, API), API_ERROR_CREATE), words)


@register_jitable
def run_id(call_frame):
    """The number of this run of the program, the same on all its devices."""
    words = run_id_words()
    store64(words, 0, types.int64(8 * RUN_ID_WORDS))
    store64(words, 16, load64(call_frame, CONTEXT))
    call(load64(load64(call_frame, API), API_RUN_ID), words)
    return load64(words, 24)


@intrinsic
def singles(typing: Any, address: Any) -> Any:
    """``singles(address)``: a pointer to the numbers in single precision there."""
    return types.CPointer(types.float32)(types.int64), _pointer(ir.FloatType())


@intrinsic
def doubles(typing: Any, address: Any) -> Any:
    """``doubles(address)``: a pointer to the numbers in double precision there."""
    return types.CPointer(types.float64)(types.int64), _pointer(ir.DoubleType())


def _pointer(number: ir.Type) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.inttoptr(values[0], number.as_pointer())

    return generate
