"""What numpy and scipy accept and refuse where the functions of this package differ."""

from __future__ import annotations

import operator
import os
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from tpufft.chunked import ChunkedArray
from tpufft.planning import widest_float


def as_array(x: Any) -> Any:
    """An array with shape and dtype: JAX's and the package's own as they are, others NumPy's in native byte order."""
    if isinstance(x, jax.Array | ChunkedArray):
        return x
    array = np.asarray(x)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def promoted(array: Any) -> Any:
    """NumPy's integers as NumPy and scipy promote them; all else as it is."""
    integers = isinstance(array, np.ndarray) and array.dtype.kind in "biu"
    return array.astype(widest_float()) if integers else array


def jax_has(array: Any) -> bool:
    """Whether JAX has an array's dtype; where 64-bit types are off it has the smaller one."""
    if not isinstance(array, np.ndarray):
        return True
    return array.dtype.kind in "biufc" and array.dtype.itemsize <= (16 if array.dtype.kind == "c" else 8)


def check_out(out: object, output: str) -> None:
    """Refuse an `out` that no result can be written to."""
    if output != "numpy":
        raise TypeError(f"out= is for NumPy arrays, and this namespace has output={output!r}; make one with 'numpy'")
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out={out!r} must be of ArrayType numpy.ndarray")


def filled(out: np.ndarray, result: np.ndarray) -> np.ndarray:
    """`out` with the result in it, as NumPy casts."""
    if out.shape != result.shape:
        raise ValueError(f"out has wrong shape {out.shape}; the result has {result.shape}")
    np.copyto(out, result, casting="same_kind")
    return out


def check_workers(workers: int | None) -> None:
    """Refuse what scipy refuses; the mesh does the work."""
    count = os.cpu_count() or 1
    if workers == 0:
        raise ValueError("workers must not be zero")
    if workers is not None and workers < -count:
        raise ValueError(f"workers value out of range; got {workers}, must not be less than {-count}")


def scipy_axes(
    shape: tuple[int, ...], s: int | Sequence[int] | None, axes: int | Sequence[int] | None
) -> tuple[tuple[int, ...] | None, tuple[int, ...]]:
    """Lengths and axes of a transform along several, checked as scipy does: each axis once."""
    rank = len(shape)
    sizes = None if s is None else _integers(s, "s")
    if axes is None:
        if sizes is not None and len(sizes) > rank:
            raise ValueError(f"s={sizes} has {len(sizes)} sizes, but the array has {rank} axes")
        cooked = tuple(range(rank - (rank if sizes is None else len(sizes)), rank))
    else:
        given = _integers(axes, "axes")
        wrong = [axis for axis in given if not -rank <= axis < rank]
        if wrong:
            raise np.exceptions.AxisError(wrong[0], rank)
        cooked = tuple(axis % rank for axis in given)
        if len(set(cooked)) != len(cooked):
            raise ValueError(f"axes={given} has an axis twice; all axes must be unique")
    if sizes is None:
        return None, cooked
    if cooked and len(sizes) != len(cooked):
        raise ValueError(f"s={sizes} and axes={cooked} have different lengths: one size for each axis")
    return tuple(shape[axis] if size == -1 else size for size, axis in zip(sizes, cooked, strict=False)), cooked


def _integers(values: Any, argument: str) -> tuple[int, ...]:
    try:
        return tuple(operator.index(value) for value in np.atleast_1d(np.asarray(values, object)))
    except TypeError:
        raise ValueError(f"{argument}={values!r} must be an integer or a sequence of integers") from None
