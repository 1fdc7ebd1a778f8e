"""Relative errors of single transforms against numpy's in complex128."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.cases import Case
from benchmarks.contestants.jax_common import PACKAGES, auto_mesh, place
from benchmarks.machine import package_version


class ScipyAccuracy:
    """scipy.fft in complex64: the yardstick (numpy computes in double and rounds)."""

    def __init__(self) -> None:
        import scipy.fft

        self.fft: Any = scipy.fft.fft

    def version(self) -> dict[str, str | None]:
        """Versions of what is measured."""
        return {name: package_version(name) for name in ("scipy", "numpy")}

    def errors(self, n: int, seeds: Sequence[int]) -> list[float]:
        """One relative error for each seed."""
        return [relative_l2(self.fft, n, seed) for seed in seeds]


class TpufftAccuracy:
    """tpufft.fft of one axis, chunked over all devices."""

    def __init__(self, devices: int) -> None:
        import tpufft

        self.tpufft: Any = tpufft
        self.mesh = auto_mesh((devices,), ("x",))

    def version(self) -> dict[str, str | None]:
        """Versions of what is measured."""
        return {name: package_version(name) for name in ("tpufft", *PACKAGES)}

    def errors(self, n: int, seeds: Sequence[int], options: dict[str, str]) -> list[float]:
        """One relative error for each seed, with the options given to ``tpufft.fft``."""
        return [relative_l2(lambda values: self._transform(values, options), n, seed) for seed in seeds]

    def _transform(self, values: np.ndarray, options: dict[str, str]) -> np.ndarray:
        return np.asarray(self.tpufft.fft(place(values, self.mesh, "x"), self.mesh, **options))


def relative_l2(transform: Callable[[np.ndarray], np.ndarray], n: int, seed: int) -> float:
    """Error of a complex64 transform of n normal random values, relative to the result's L2 norm."""
    values = Case((n,)).input(seed)
    reference = np.fft.fft(values.astype(np.complex128))
    result = transform(values)
    if result.dtype != np.complex64:
        raise TypeError(f"a complex64 transform returned {result.dtype}; its error would say nothing")
    return float(np.linalg.norm(result - reference) / np.linalg.norm(reference))
