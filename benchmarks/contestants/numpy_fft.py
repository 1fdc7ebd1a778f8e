"""numpy.fft, which is single-threaded."""

from __future__ import annotations

import numpy as np

from benchmarks.cases import NUMPY_NAMES, Case
from benchmarks.contestants.base import Contestant


class Entry(Contestant):
    """``numpy.fft.fftn`` and its siblings."""

    label = "numpy.fft"
    packages = ("numpy",)
    transforms = NUMPY_NAMES

    def prepare(self, case: Case, values: np.ndarray) -> None:
        """Keep the input."""
        self.values, self.transform = values, getattr(np.fft, case.transform)

    def run(self) -> None:
        """Transform along all axes."""
        self.output = self.transform(self.values)
