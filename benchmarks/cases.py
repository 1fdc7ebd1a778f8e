"""The transforms that are raced: one shape each, complex64, normal random input."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

#: The race of the repository; on the command line a case is its shape, as ``256x256x256``.
CASES = ("4194304", "2048x2048", "4096x4096", "128x128x128", "256x256x256")
#: The same at sizes that only show that everything works.
QUICK_CASES = ("4096", "64x64", "16x16x16")
DEVICES = (1, 2, 8)

#: Least ratio of medians against XLA's partitioned transform, by case and device count.
TARGETS = {("256x256x256", 8): 4.0, ("4096x4096", 8): 4.0, ("4194304", 8): 4.0}


@dataclass(frozen=True)
class Case:
    """One shape to transform along all of its axes."""

    shape: tuple[int, ...]

    @classmethod
    def parse(cls, text: str) -> Case:
        """The case that a person names by its shape, as ``4096x4096``."""
        sizes = text.lower().split("x")
        if not all(size.isdigit() and int(size) > 0 for size in sizes):
            raise ValueError(f"case {text!r} is no shape; write sizes with x between them, as 256x256x256")
        return cls(tuple(int(size) for size in sizes))

    @property
    def name(self) -> str:
        """The shape with x between the sizes."""
        return "x".join(str(size) for size in self.shape)

    @property
    def title(self) -> str:
        """The shape as a heading has it: ``3-D 256^3``, ``1-D 2^22``."""
        first = self.shape[0]
        if len(self.shape) == 1 and first & (first - 1) == 0:
            return f"1-D 2^{first.bit_length() - 1}"
        if len(self.shape) > 1 and len(set(self.shape)) == 1:
            return f"{len(self.shape)}-D {first}^{len(self.shape)}"
        return f"{len(self.shape)}-D {self.name}"

    @property
    def bytes(self) -> int:
        """Bytes of the whole complex64 input."""
        return 8 * math.prod(self.shape)

    def divides(self, devices: int) -> bool:
        """Whether the first axis splits into equal chunks."""
        return self.shape[0] % devices == 0

    def input(self, seed: int = 0) -> np.ndarray:
        """Independent normal real and imaginary parts."""
        generator = np.random.default_rng(seed)
        values = np.empty(self.shape, np.complex64)
        values.real = generator.standard_normal(self.shape, np.float32)
        values.imag = generator.standard_normal(self.shape, np.float32)
        return values
