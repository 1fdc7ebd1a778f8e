"""scipy.fft with one worker per core."""

from __future__ import annotations

import numpy as np

from benchmarks.cases import Case
from benchmarks.contestants.base import Contestant
from benchmarks.environment import cores


class Entry(Contestant):
    """``scipy.fft.fftn(x, workers=cores)``."""

    label = "scipy.fft, all workers"
    packages = ("scipy", "numpy")

    def __init__(self, devices: int) -> None:
        super().__init__(devices)
        import scipy.fft

        self.fftn = scipy.fft.fftn
        self.workers = cores()

    def prepare(self, case: Case, values: np.ndarray) -> None:
        """Keep the input."""
        self.values = values

    def run(self) -> None:
        """Transform along all axes."""
        self.output = self.fftn(self.values, workers=self.workers)

    def notes(self) -> dict[str, object]:
        """The number of workers."""
        return {"workers": self.workers}
