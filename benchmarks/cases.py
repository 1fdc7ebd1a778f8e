"""The transforms that are raced: a name and a shape each, single precision, normal random input."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

#: Transforms of complex numbers, of real ones to a half spectrum, of a half spectrum to real ones, and real to real.
COMPLEX = ("fft", "ifft", "fftn", "ifftn")
TO_HALF = ("rfft", "rfftn")
FROM_HALF = ("irfft", "irfftn")
TRIGONOMETRIC = ("dct", "idct", "dst", "idst", "dctn", "idctn", "dstn", "idstn")
NUMPY_NAMES = (*COMPLEX, *TO_HALF, *FROM_HALF)
NAMES = (*NUMPY_NAMES, *TRIGONOMETRIC)

#: The race of the repository; on the command line a case is its shape, as ``256x256x256``,
#: which is transformed by ``fftn``, or a name and a shape, as ``rfftn:256x256x256``.
CASES = ("4194304", "2048x2048", "4096x4096", "128x128x128", "256x256x256")
#: The same at sizes that only show that everything works.
QUICK_CASES = ("4096", "64x64", "16x16x16")
DEVICES = (1, 2, 8)

#: Least ratio of medians against XLA's partitioned transform, by case and device count.
TARGETS = {("256x256x256", 8): 4.0, ("4096x4096", 8): 4.0, ("4194304", 8): 4.0}


@dataclass(frozen=True)
class Case:
    """One shape to transform along all of its axes; of a half spectrum, the shape is that of the real result."""

    shape: tuple[int, ...]
    transform: str = "fftn"

    @classmethod
    def parse(cls, text: str) -> Case:
        """The case that a person names by its shape, as ``4096x4096``, or by name and shape, as ``dct:4096``."""
        transform, _, shape = text.lower().rpartition(":")
        sizes, transform = shape.split("x"), transform or "fftn"
        if transform not in NAMES:
            raise ValueError(f"case {text!r} names no transform that is raced; use one of {', '.join(NAMES)}")
        if not all(size.isdigit() and int(size) > 0 for size in sizes):
            raise ValueError(f"case {text!r} is no shape; write sizes with x between them, as 256x256x256")
        case = cls(tuple(int(size) for size in sizes), transform)
        if len(sizes) > 1 and not transform.endswith("n"):
            raise ValueError(f"case {text!r}: {transform} transforms one axis; use {transform}n for {len(sizes)}")
        if transform in FROM_HALF and case.shape[-1] % 2:
            raise ValueError(f"case {text!r}: the last size of {transform} is even here, as half a spectrum implies it")
        return case

    @property
    def name(self) -> str:
        """As it is written on the command line."""
        sizes = "x".join(str(size) for size in self.shape)
        return sizes if self.transform == "fftn" else f"{self.transform}:{sizes}"

    @property
    def title(self) -> str:
        """Name and shape as a heading has them: ``3-D 256^3``, ``rfft 1-D 2^22``."""
        first, rank = self.shape[0], len(self.shape)
        sizes = "x".join(str(size) for size in self.shape)
        if rank == 1 and first & (first - 1) == 0:
            sizes = f"2^{first.bit_length() - 1}"
        if rank > 1 and len(set(self.shape)) == 1:
            sizes = f"{first}^{rank}"
        return f"{rank}-D {sizes}" if self.transform == "fftn" else f"{self.transform} {rank}-D {sizes}"

    @property
    def dtype(self) -> type[np.generic]:
        """Of the input."""
        return np.complex64 if self.transform in COMPLEX + FROM_HALF else np.float32

    @property
    def input_shape(self) -> tuple[int, ...]:
        """The shape, or the half spectrum's."""
        return (*self.shape[:-1], self.shape[-1] // 2 + 1) if self.transform in FROM_HALF else self.shape

    @property
    def bytes(self) -> int:
        """Bytes of the whole input."""
        return np.dtype(self.dtype).itemsize * math.prod(self.input_shape)

    def divides(self, devices: int) -> bool:
        """Whether the input's first axis splits into equal chunks."""
        return self.input_shape[0] % devices == 0

    def input(self, seed: int = 0) -> np.ndarray:
        """Independent normal numbers, or real and imaginary parts."""
        generator = np.random.default_rng(seed)
        shape = self.input_shape
        if self.dtype is np.float32:
            return generator.standard_normal(shape, np.float32)
        values = np.empty(shape, np.complex64)
        values.real = generator.standard_normal(shape, np.float32)
        values.imag = generator.standard_normal(shape, np.float32)
        return values
