"""What a transform computes, as data: the array, what happens to its axes, the options; no layout, no device."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tpufft.planning.operations import Operation, Real, Transform
from tpufft.steps import Precision, complex_dtype, real_dtype


@dataclass(frozen=True)
class Problem:
    """A transform of arrays of one shape and dtype.

    Parameters
    ----------
    name : str
        The public name, one of ``catalogue.TRANSFORMS``.
    shape : tuple of int
        Of the input.
    dtype : numpy.dtype
        In which it is computed, of the input.
    operations : tuple of Operation
        What happens to axes, in the order in which it happens.
    norm : str
        One of ``words.NORMS``.
    order : str
        ``natural``, ``transposed`` or ``scrambled``.
    method : str
        One of ``words.METHODS``.
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
            shape[operation.axis] = operation.result
        return tuple(shape)

    @property
    def result_dtype(self) -> np.dtype:
        """Of the output."""
        dtype = self.dtype
        for operation in self.operations:
            if isinstance(operation, Real):
                dtype = real_dtype(dtype) if operation.to_real else complex_dtype(dtype)
        return dtype

    @property
    def is_inverse(self) -> bool:
        """Whether an order other than natural describes the input and not the result."""
        return self.name.startswith("i")

    @property
    def spec_is_of_input(self) -> bool:
        """Whether a caller's `spec` names the input's chunking: it names the side whose order is natural."""
        return self.order == "natural" or not self.is_inverse

    @property
    def transformed_axes(self) -> tuple[int, ...]:
        """The axes that are transformed, in increasing order."""
        return tuple(sorted({operation.axis for operation in self.operations if isinstance(operation, Transform)}))

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
        back = [other for operation in reversed(self.operations) for other in operation.inverted()]
        name = self.name[1:] if self.is_inverse else f"i{self.name}"
        return replace(self, name=name, shape=self.result_shape, dtype=self.result_dtype, operations=tuple(back))
