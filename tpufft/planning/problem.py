"""What a transform computes: axes, sizes, scales and options, in numpy's meaning, checked; no layout, no device."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

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
FORWARD_OF = {"fft": "ifft", "fft2": "ifft2", "fftn": "ifftn", "fftshift": "ifftshift"}
INVERSE = {**FORWARD_OF, **{inverse: forward for forward, inverse in FORWARD_OF.items()}}
TRANSFORMS = tuple(INVERSE)


@dataclass(frozen=True)
class DFT:
    """One axis' transform: cut or zero-padded to `size`, then the unnormalised DFT times `scale`."""

    axis: int
    size: int
    inverse: bool
    scale: float


@dataclass(frozen=True)
class Roll:
    """One axis' cyclic shift."""

    axis: int
    amount: int


Operation = DFT | Roll


@dataclass(frozen=True)
class Problem:
    """A transform of arrays of one shape and dtype.

    Parameters
    ----------
    name : str
        The public name, one of :data:`TRANSFORMS`.
    shape : tuple of int
        Of the input.
    dtype : numpy.dtype
        In which it is computed, of input and output.
    operations : tuple of DFT or Roll
        What happens to axes, in the order in which it happens.
    norm : str
        One of :data:`NORMS`.
    order : str
        ``natural``, ``transposed`` or ``scrambled``.
    method : str
        One of :data:`METHODS`.
    kernel : str
        ``auto`` or one of ``KERNELS``.
    precision
        Of products, as ``jax.lax`` takes it.
    """

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype
    operations: tuple[Operation, ...]
    norm: str = "backward"
    order: str = "natural"
    method: str = "auto"
    kernel: str = "auto"
    precision: Precision = None

    @property
    def result_shape(self) -> tuple[int, ...]:
        """Of the output."""
        shape = list(self.shape)
        for operation in self.operations:
            if isinstance(operation, DFT):
                shape[operation.axis] = operation.size
        return tuple(shape)

    @property
    def is_inverse(self) -> bool:
        """Whether an order other than natural describes the input and not the result."""
        return self.name not in FORWARD_OF

    @property
    def spec_is_of_input(self) -> bool:
        """Whether a caller's `spec` names the input's chunking: it names the side whose order is natural."""
        return self.order == "natural" or not self.is_inverse

    @property
    def transformed_axes(self) -> tuple[int, ...]:
        """The axes that are transformed, in increasing order."""
        return tuple(sorted({operation.axis for operation in self.operations if isinstance(operation, DFT)}))

    @property
    def spectrum_shape(self) -> tuple[int, ...]:
        """Of the side that holds frequencies, where `order` applies."""
        return self.shape if self.is_inverse else self.result_shape

    def batched(self, axis: int, size: int) -> Problem:
        """The same transform of arrays with one more axis."""

        def moved(operation: Operation) -> Operation:
            return replace(operation, axis=operation.axis + (operation.axis >= axis))

        return replace(
            self,
            shape=(*self.shape[:axis], size, *self.shape[axis:]),
            operations=tuple(moved(operation) for operation in self.operations),
        )

    def inverted(self) -> Problem:
        """The inverse transform, of the result's shape back to the input's."""
        operations: list[Operation] = []
        shape = list(self.shape)
        for operation in self.operations:
            if isinstance(operation, Roll):
                operations.append(Roll(operation.axis, -operation.amount % max(shape[operation.axis], 1)))
                continue
            # scale * (inverse's scale) * size = 1, so that the two undo each other.
            scale = 1.0 / (operation.scale * operation.size)
            operations.append(DFT(operation.axis, operation.size, not operation.inverse, scale))
            shape[operation.axis] = operation.size
        operations.reverse()
        return replace(self, name=INVERSE[self.name], shape=self.result_shape, operations=tuple(operations))


def transform_problem(
    name: str,
    shape: tuple[int, ...],
    dtype: np.dtype,
    *,
    sizes: Sequence[int | None] | None,
    axes: Sequence[int] | None,
    norm: str | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> Problem:
    """A Fourier transform over `axes`, with numpy's rules for sizes, axes, repeats and norms.

    Parameters
    ----------
    name : str
        ``fft ifft fft2 ifft2 fftn ifftn``.
    shape, dtype
        Of the input; the dtype may be real or integer.
    sizes : sequence of int, optional
        Length of each transformed axis; None or -1: as it is.
    axes : sequence of int, optional
        None: the last ``len(sizes)`` axes, or all of them.
    norm, order, method, kernel, precision
        As in :class:`Problem`.

    Raises
    ------
    numpy.exceptions.AxisError
        For an axis that the array does not have.
    ValueError
        For a size below 1, sizes and axes of different length, or an unknown word.
    """
    axes, sizes = _cook_axes(len(shape), sizes, axes, several=name not in ("fft", "ifft"))
    norm = check_word("norm", "backward" if norm is None else norm, NORMS)
    orders = ("natural", "scrambled") if name in ("fft", "ifft") else ("natural", "transposed")
    inverse = name not in FORWARD_OF
    operations = []
    current = list(shape)
    for axis, size in reversed(list(zip(axes, sizes, strict=True))):
        keeps = size == -1 and name not in ("fft", "ifft")
        length = current[axis] if size is None else shape[axis] if keeps else int(size)
        if length < 1:
            raise ValueError(
                f"{'n' if name in ('fft', 'ifft') else 's'}: {length} points along axis {axis}; at least 1"
            )
        operations.append(DFT(axis, length, inverse, _scale(norm, length, inverse)))
        current[axis] = length
    return Problem(
        name,
        tuple(shape),
        computing_dtype(dtype),
        tuple(operations),
        norm,
        check_word("order", order, orders, f" of {name}"),
        check_word("method", method, METHODS),
        check_word("kernel", kernel, ("auto", *KERNELS)),
        check_precision(precision, kernel),
    )


def shift_problem(name: str, shape: tuple[int, ...], dtype: np.dtype, axes: int | Sequence[int] | None) -> Problem:
    """``fftshift`` or ``ifftshift`` of `axes` (None: all)."""
    chosen: Sequence[int]
    if axes is None:
        chosen = range(len(shape))
    elif isinstance(axes, int | np.integer):
        chosen = (int(axes),)
    elif isinstance(axes, Sequence | np.ndarray):
        chosen = axes
    else:
        raise TypeError(f"axes={axes!r}: an integer, a sequence of integers, or None for all axes")
    rolls = []
    for axis in (check_axis(one, len(shape)) for one in chosen):
        half = shape[axis] // 2 if name == "fftshift" else -(shape[axis] // 2) % max(shape[axis], 1)
        rolls.append(Roll(axis, half))
    return Problem(name, tuple(shape), np.dtype(dtype), tuple(rolls))


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


def check_precision(precision: Precision, kernel: str) -> Precision:
    """A precision that JAX's products take."""
    if precision is None:
        return None
    if precision == "float64_emulated":
        raise ValueError("precision='float64_emulated' is not built yet; use complex128 on a platform that has it")
    if kernel == "xla":
        raise ValueError(f"precision={precision!r}: kernel='xla' has no choice of precision; use kernel='matmul'")
    if isinstance(precision, lax.DotAlgorithmPreset | lax.Precision):
        return precision
    if isinstance(precision, str):
        if precision in PRECISIONS:
            return precision
        if precision in lax.DotAlgorithmPreset.__members__:
            return lax.DotAlgorithmPreset[precision]
    raise ValueError(f"precision={precision!r}: one of {', '.join(PRECISIONS)}, or a jax.lax.DotAlgorithmPreset")


def check_axis(axis: object, rank: int) -> int:
    """A non-negative axis number."""
    try:
        number = int(axis.__index__())  # type: ignore[attr-defined]
    except AttributeError:
        raise TypeError(f"axis={axis!r} is no integer") from None
    if not -rank <= number < rank:
        raise np.exceptions.AxisError(number, rank)
    return number % rank


def _cook_axes(
    rank: int, sizes: Sequence[int | None] | None, axes: Sequence[int] | None, *, several: bool
) -> tuple[list[int], list[int | None]]:
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


def _scale(norm: str, length: int, inverse: bool) -> float:
    if norm == "ortho":
        return 1.0 / math.sqrt(length)
    return 1.0 / length if (norm == "backward") == inverse else 1.0
