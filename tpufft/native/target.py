"""Handlers of compiled programs' calls: compiled by numba, found by XLA under a name."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping
from typing import Any

import jax
import llvmlite.binding
import numba
from numba import types

_registering = threading.Lock()


def register(name: str, handle: Callable[..., Any], symbols: Callable[[], Mapping[str, int]]) -> None:
    """Make a handler known to JAX for CPUs, once per process.

    Parameters
    ----------
    name : str
        What programs call it.
    handle : callable
        ``handle(call_frame)``, for numba: of the call frame's address, the address of an error or 0.
    symbols : callable
        A function of a module, which gives the addresses of the symbols that the handler refers to; they must last as
        long as the process. The code itself is free of addresses, so that numba can keep it on disk.
    """
    with _registering:
        _registered(name, handle, symbols)


@functools.cache  # of as many as the package has; kept as long as the process, since compiled programs call them
def _registered(name: str, handle: Callable[..., Any], symbols: Callable[[], Mapping[str, int]]) -> Any:
    for symbol, address in symbols().items():
        llvmlite.binding.add_symbol(symbol, address)
    word: Any = types.int64
    try:
        compiled = numba.cfunc(word(word), cache=True)(handle)
    except RuntimeError:  # nowhere to cache
        compiled = numba.cfunc(word(word))(handle)
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(compiled.ctypes), platform="cpu", api_version=1)
    return compiled
