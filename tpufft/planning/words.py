"""The words and numbers that transforms take, checked one by one, each with a message that quotes the bad value."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tpufft.kernels import KERNELS
from tpufft.steps import Precision

METHODS = ("auto", "exchange", "ring")
PRECISIONS = (
    "default",
    "fastest",
    "bfloat16",
    "high",
    "bfloat16_3x",
    "tensorfloat32",
    "highest",
    "float32",
)
"""The words that JAX's products take."""

NORMS = ("backward", "ortho", "forward")


def computing_dtype(dtype: object) -> np.dtype:
    """The complex dtype in which an array of `dtype` is transformed, as JAX promotes.

    Raises
    ------
    TypeError
        For what is no number.
    """
    return _computing_dtype(np.dtype(dtype), widest_float())  # type: ignore[call-overload]


@functools.lru_cache(maxsize=64)
def _computing_dtype(dtype: np.dtype, widest: np.dtype) -> np.dtype:
    del widest  # part of the key: what JAX promotes to depends on it
    if not (jnp.issubdtype(dtype, np.number) or dtype == np.bool_):
        raise TypeError(f"an array of dtype {dtype} cannot be transformed; give numbers")
    if dtype in (np.longdouble, np.clongdouble) and dtype not in (np.float64, np.complex128):
        raise TypeError(f"JAX has no {dtype}; convert the array to float64 or complex128")
    real = jax.eval_shape(jax.numpy.sin, jax.ShapeDtypeStruct((), jax.dtypes.canonicalize_dtype(dtype))).dtype
    return np.dtype(np.complex128 if real in (np.float64, np.complex128) else np.complex64)


def widest_float() -> np.dtype:
    """float64 where 64-bit types are on, else float32."""
    return np.dtype(jax.dtypes.canonicalize_dtype(np.float64))


def asked_dtype(dtype: object) -> np.dtype:
    """A dtype that a caller names: an error where JAX would silently make it a smaller one."""
    named = np.dtype(dtype)  # type: ignore[call-overload]
    if jax.dtypes.canonicalize_dtype(named) != named:
        raise ValueError(
            f"dtype={named} needs 64-bit types: jax.config.update('jax_enable_x64', True), or ask for complex64"
        )
    return named


def check_word(argument: str, value: object, allowed: Sequence[str], of: str = "") -> str:
    """`value` if it is one of the words that `argument` takes."""
    if value not in allowed:
        raise ValueError(f"{argument}={value!r}{of}: one of {', '.join(map(repr, allowed))}")
    return str(value)


def check_precision(precision: Precision, kernel: str, also: tuple[str, ...] = ()) -> Precision:
    """A precision that JAX's products take, or one of the words that the caller takes besides."""
    if precision is None or precision in also:
        return precision
    if precision == "float64_emulated":
        raise ValueError(
            "precision='float64_emulated' is not built yet for transforms, only for tpufft.matmul and tpufft.einsum; "
            "use complex128 on a platform that has it"
        )
    if kernel != "auto" and not KERNELS[kernel].has_precision:
        raise ValueError(f"precision={precision!r}: kernel={kernel!r} has no choice of precision; use kernel='matmul'")
    if isinstance(precision, lax.DotAlgorithmPreset | lax.Precision):
        return precision
    if isinstance(precision, str):
        if precision in PRECISIONS:
            return precision
        if precision in lax.DotAlgorithmPreset.__members__:
            return lax.DotAlgorithmPreset[precision]
    raise ValueError(
        f"precision={precision!r}: one of {', '.join((*PRECISIONS, *also))}, or a jax.lax.DotAlgorithmPreset"
    )


def check_shape(shape: object) -> tuple[int, ...]:
    """A shape of non-negative sizes."""
    if not isinstance(shape, Sequence | np.ndarray) or isinstance(shape, str):
        raise TypeError(f"shape={shape!r} is no sequence of sizes; give one such as ({shape!r},)")
    for size in shape:
        if not hasattr(size, "__index__"):
            raise TypeError(f"shape={tuple(shape)}: the size {size!r} is no integer")
        if size < 0:
            raise ValueError(f"shape={tuple(shape)}: the size {size} is negative")
    return tuple(int(size) for size in shape)


def check_axis(axis: object, rank: int) -> int:
    """A non-negative axis number."""
    try:
        number = int(axis.__index__())  # type: ignore[attr-defined]
    except AttributeError:
        raise TypeError(f"axis={axis!r} is no integer") from None
    if not -rank <= number < rank:
        raise np.exceptions.AxisError(number, rank)
    return number % rank


def check_axes(
    rank: int, sizes: Sequence[int | None] | None, axes: Sequence[int] | None, *, several: bool
) -> tuple[list[int], list[int | None]]:
    """Axes as non-negative numbers, and a size or None for each."""
    if several and axes is not None and not isinstance(axes, Sequence | np.ndarray):
        raise TypeError(f"axes={axes!r} must be a sequence of integers, such as ({axes!r},)")
    if several and sizes is not None and not isinstance(sizes, Sequence | np.ndarray):
        raise TypeError(f"s={sizes!r} must be a sequence of integers, such as ({sizes!r},)")
    if axes is None:
        count = rank if sizes is None else len(sizes)
        if count > rank:
            raise ValueError(f"s={tuple(sizes or ())} has {count} sizes, but the array has {rank} axes")
        axes = range(rank - count, rank)
    cooked = [check_axis(axis, rank) for axis in axes]
    lengths: list[int | None] = [None] * len(cooked) if sizes is None else list(sizes)
    if len(lengths) != len(cooked):
        raise ValueError(f"s={tuple(lengths)} and axes={tuple(axes)} have different lengths: one size for each axis")
    for size in lengths:
        if size is not None and not hasattr(size, "__index__"):
            raise TypeError(f"{'s' if several else 'n'}: the size {size!r} is no integer")
    return cooked, lengths
