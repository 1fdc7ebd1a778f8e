"""pyFFTW: an FFTW plan made by measuring, on aligned arrays that are used again in every call."""

from __future__ import annotations

import numpy as np

from benchmarks.cases import Case
from benchmarks.contestants.base import Contestant
from benchmarks.environment import cores


class Entry(Contestant):
    """``pyfftw.FFTW(..., threads=cores, flags=("FFTW_MEASURE",))``, planned outside the timed body."""

    label = "pyFFTW, measured plan, output reused"
    packages = ("pyfftw", "numpy")

    def __init__(self, devices: int) -> None:
        super().__init__(devices)
        import pyfftw

        self.pyfftw = pyfftw
        self.threads = cores()

    def prepare(self, case: Case, values: np.ndarray) -> None:
        """Plan, then fill the input: measuring overwrites it."""
        source = self.pyfftw.empty_aligned(case.shape, "complex64")
        target = self.pyfftw.empty_aligned(case.shape, "complex64")
        axes = tuple(range(len(case.shape)))
        self.plan = self.pyfftw.FFTW(source, target, axes=axes, threads=self.threads, flags=("FFTW_MEASURE",))
        source[...] = values

    def run(self) -> None:
        """Execute the plan."""
        self.output = self.plan.execute()

    def result(self) -> np.ndarray:
        """The plan's own output array."""
        return self.plan.output_array

    def notes(self) -> dict[str, object]:
        """Threads and FFTW's version."""
        return {"threads": self.threads, "fftw": self.pyfftw.fftw_version}
