"""mkl_fft: about the practical limit of one shared-memory machine."""

from __future__ import annotations

import numpy as np

from benchmarks.cases import Case
from benchmarks.contestants.base import Contestant


class Entry(Contestant):
    """``mkl_fft.fftn`` with MKL's own choice of threads."""

    label = "mkl_fft (limit)"
    packages = ("mkl_fft", "mkl", "numpy")

    def __init__(self, devices: int) -> None:
        super().__init__(devices)
        import mkl_fft

        self.fftn = mkl_fft.fftn

    def prepare(self, case: Case, values: np.ndarray) -> None:
        """Keep the input."""
        self.values = values

    def run(self) -> None:
        """Transform along all axes."""
        self.output = self.fftn(self.values)
