"""scipy.fft with one worker per core."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.cases import NAMES, Case
from benchmarks.contestants.base import Contestant
from benchmarks.environment import cores


class Entry(Contestant):
    """``scipy.fft.fftn(x, workers=cores)`` and its siblings."""

    label = "scipy.fft, all workers"
    packages = ("scipy", "numpy")
    transforms = NAMES

    def __init__(self, devices: int) -> None:
        super().__init__(devices)
        import scipy.fft

        self.fft: Any = scipy.fft
        self.workers = cores()

    def prepare(self, case: Case, values: np.ndarray) -> None:
        """Keep the input."""
        self.values, self.transform = values, getattr(self.fft, case.transform)

    def run(self) -> None:
        """Transform along all axes."""
        self.output = self.transform(self.values, workers=self.workers)

    def notes(self) -> dict[str, object]:
        """The number of workers."""
        return {"workers": self.workers}
