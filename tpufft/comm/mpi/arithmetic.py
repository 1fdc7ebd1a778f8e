"""How MPI combines arrays: its own operations where they mean the same as numpy's, else functions of two arrays."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax.numpy as jnp
import numpy as np

from tpufft.comm.mpi.call import Call, kind
from tpufft.comm.mpi.messages import memory
from tpufft.comm.mpi.waiting import end_all
from tpufft.comm.mpi.world import mpi

_NATIVE = {"sum": "SUM", "prod": "PROD", "max": "MAX", "min": "MIN"}
_LOGICAL = {"logical_and": "LAND", "logical_or": "LOR", "logical_xor": "LXOR"}
# MPI leaves it open what the larger of NaN and a number is, and has none of bools.
_EXTREMES: dict[str, Callable[[Any, Any], Any]] = {"max": np.maximum, "min": np.minimum}


def is_small_float(dtype: Any) -> bool:
    """Whether a dtype is a float that MPI cannot add up."""
    return jnp.issubdtype(dtype, jnp.floating) and np.dtype(dtype).itemsize < 4


def can_reduce(dtype: Any) -> bool:
    """Whether values of a dtype can be combined."""
    return np.dtype(dtype).kind in "biufc" or is_small_float(dtype)


@contextmanager
def operation(call: Call, x: np.ndarray) -> Iterator[tuple[Any, Callable[[np.ndarray], Any]]]:
    """The MPI operation that combines arrays like `x`, and how these are handed over."""
    function: Callable[[Any, Any], Any]
    if isinstance(call.op, str):
        is_extreme = call.op in _EXTREMES and x.dtype.kind in "fb"
        if not is_extreme:
            yield getattr(mpi(), (_NATIVE | _LOGICAL)[call.op]), lambda array: array
            return
        function, batch = _EXTREMES[call.op], 0
    else:
        function, batch = call.op, call.batch
    # One element of a type as large as the array: MPI would cut an array of many into pieces.
    whole = mpi().BYTE.Create_contiguous(x.nbytes).Commit()
    op = mpi().Op.Create(_combining(call, function, x, batch), commute=False)
    try:
        yield op, lambda array: [memory(array)[0], 1, whole]
    finally:
        op.Free()
        whole.Free()


def _combining(
    call: Call, function: Callable[[Any, Any], Any], x: np.ndarray, batch: int
) -> Callable[[Any, Any, Any], None]:
    shape, dtype = x.shape, x.dtype

    def combine(lower: Any, upper: Any, datatype: Any) -> None:
        del datatype
        try:
            a, b = (np.frombuffer(part, dtype, count=x.size).reshape(shape) for part in (lower, upper))
            if not batch:
                b[...] = _checked(function(a, b.copy()), b)
                return
            for index in np.ndindex(*shape[:batch]):
                b[index] = _checked(function(a[index], b[index].copy()), b[index])
        except BaseException:  # MPI would not pass it on, and the other processes would wait
            end_all(f"tpufft.comm.mpi: {call.name}: op={function!r} fails on {kind(x)}\n{traceback.format_exc()}")

    return combine


def _checked(result: Any, like: Any) -> np.ndarray:
    result = np.asarray(result)
    if result.shape != np.shape(like):
        raise ValueError(f"op gives an array of shape {result.shape} instead of {np.shape(like)}")
    return result
