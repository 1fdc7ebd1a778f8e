"""mkl_fft: about the practical limit of one shared-memory machine."""

from __future__ import annotations

import numpy as np

from benchmarks.cases import NUMPY_NAMES, Case
from benchmarks.contestants.base import Contestant


class Entry(Contestant):
    """``mkl_fft.fftn`` and its siblings with MKL's own choice of threads."""

    label = "mkl_fft (limit)"
    packages = ("mkl_fft", "mkl", "numpy")
    transforms = NUMPY_NAMES

    def __init__(self, devices: int) -> None:
        super().__init__(devices)
        import mkl_fft

        self.mkl_fft = mkl_fft

    def prepare(self, case: Case, values: np.ndarray) -> None:
        """Keep the input."""
        self.values, self.transform = values, getattr(self.mkl_fft, case.transform)

    def run(self) -> None:
        """Transform along all axes."""
        self.output = self.transform(self.values)
