"""jaxDecomp's own pure-JAX backend on an Auto mesh."""

from __future__ import annotations

import statistics
import time

import numpy as np

from benchmarks.cases import Case
from benchmarks.contestants.base import Contestant
from benchmarks.contestants.jax_common import PACKAGES, auto_mesh, compiled_peak, place

#: Timed trials per mesh shape, after one call that compiles.
TRIALS = 3


class Entry(Contestant):
    """``jax.jit(jaxdecomp.fft.pfft3d)`` on the fastest of its mesh shapes; the result (X, Y, Z) comes as (Y, Z, X)."""

    label = "jaxDecomp, best mesh, transposed output"
    packages = ("jaxdecomp", *PACKAGES)
    chunked = True
    ranks = (3,)

    def __init__(self, devices: int) -> None:
        super().__init__(devices)
        import jax
        from jaxdecomp.fft import pfft3d

        self.jax = jax
        self.fftn = jax.jit(pfft3d)
        self.meshes = mesh_shapes(devices)

    def prepare(self, case: Case, values: np.ndarray) -> None:
        """Try every mesh shape that divides the array, and keep the fastest."""
        self.trials: dict[str, list[float]] = {}
        best = float("inf")
        for shape in self.meshes:
            if case.shape[0] % self.devices or case.shape[1] % self.devices or case.shape[2] % self.devices:
                continue
            placed = place(values, auto_mesh(shape, ("z", "y")), "z", "y")
            seconds = [self._seconds(placed) for _ in range(TRIALS + 1)][1:]
            self.trials[str(shape)] = seconds
            if statistics.median(seconds) < best:
                best = statistics.median(seconds)
                self.values, self.mesh = placed, shape
        if not self.trials:
            raise ValueError(f"shape {case.shape} does not divide over {self.devices} devices along every axis")

    def run(self) -> None:
        """Transform along all axes."""
        self.output = self.jax.block_until_ready(self.fftn(self.values))

    def result(self) -> np.ndarray:
        """The output with its axes back in order."""
        return np.asarray(self.output).transpose(2, 0, 1)

    def peak_bytes(self) -> int | None:
        """Peak of a device on the chosen mesh."""
        return compiled_peak(self.fftn.lower(self.values).compile())

    def notes(self) -> dict[str, object]:
        """The mesh that was chosen, and the trials behind the choice."""
        return {"mesh": list(self.mesh), "mesh_trials_seconds": self.trials}

    def _seconds(self, placed: object) -> float:
        start = time.perf_counter()
        self.jax.block_until_ready(self.fftn(placed))
        return round(time.perf_counter() - start, 9)


def mesh_shapes(devices: int) -> list[tuple[int, int]]:
    """Slabs along either axis, and the squarest pencil: (8, 1), (1, 8), (2, 4) for eight devices."""
    root = max(rows for rows in range(1, devices + 1) if devices % rows == 0 and rows * rows <= devices)
    return list(dict.fromkeys([(devices, 1), (1, devices), (root, devices // root)]))
