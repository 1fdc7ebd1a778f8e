"""jnp.fft on an array that one device holds whole."""

from __future__ import annotations

import numpy as np

from benchmarks.cases import Case
from benchmarks.contestants.base import Contestant
from benchmarks.contestants.jax_common import PACKAGES, compiled_peak


class Entry(Contestant):
    """``jax.numpy.fft.fftn``, called eagerly."""

    label = "jnp.fft, one device"
    packages = PACKAGES

    def __init__(self, devices: int) -> None:
        super().__init__(devices)
        import jax

        self.jax = jax

    def prepare(self, case: Case, values: np.ndarray) -> None:
        """Put the input on the first device."""
        self.values = self.jax.block_until_ready(self.jax.device_put(values, self.jax.devices()[0]))

    def run(self) -> None:
        """Transform along all axes."""
        self.output = self.jax.block_until_ready(self.jax.numpy.fft.fftn(self.values))

    def peak_bytes(self) -> int | None:
        """Peak of the one device."""
        return compiled_peak(self.jax.jit(self.jax.numpy.fft.fftn).lower(self.values).compile())
