"""numpy.fft, which is single-threaded."""

from __future__ import annotations

import numpy as np

from benchmarks.cases import Case
from benchmarks.contestants.base import Contestant


class Entry(Contestant):
    """``numpy.fft.fftn``."""

    label = "numpy.fft"
    packages = ("numpy",)

    def prepare(self, case: Case, values: np.ndarray) -> None:
        """Keep the input."""
        self.values = values

    def run(self) -> None:
        """Transform along all axes."""
        self.output = np.fft.fftn(self.values)
