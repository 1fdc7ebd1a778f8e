"""XLA's call frame, read in code that numba compiles; offsets as in ``xla/ffi/api/c_api.h`` of API version 0.3.

Later minor versions add fields behind these, and take handlers that say 0.3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic as numba_intrinsic

MAJOR, MINOR = 0, 3

EXTENSION = 8
API = 16
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


@intrinsic
def error_words(typing: Any) -> Any:
    """``error_words()``: the address of a zeroed structure on the stack, for an error to be made of."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        word = ir.IntType(64)
        place = cgutils.alloca_once(builder, ir.ArrayType(word, ERROR_WORDS))
        builder.store(ir.Constant(ir.ArrayType(word, ERROR_WORDS), [0] * ERROR_WORDS), place)
        return builder.ptrtoint(place, word)

    return types.int64(), generate


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
