"""jnp.fft on an array that one device holds whole."""

from __future__ import annotations

import numpy as np

from benchmarks.cases import Case
from benchmarks.contestants.base import Contestant
from benchmarks.contestants.jax_common import JAX_NAMES, PACKAGES, compiled_peak, jax_transform


class Entry(Contestant):
    """``jax.numpy.fft.fftn`` and its siblings, called eagerly."""

    label = "jnp.fft, one device"
    packages = PACKAGES
    transforms = JAX_NAMES

    def __init__(self, devices: int) -> None:
        super().__init__(devices)
        import jax

        self.jax = jax

    def prepare(self, case: Case, values: np.ndarray) -> None:
        """Put the input on the first device."""
        self.values = self.jax.block_until_ready(self.jax.device_put(values, self.jax.devices()[0]))
        self.transform = jax_transform(case.transform)

    def run(self) -> None:
        """Transform along all axes."""
        self.output = self.jax.block_until_ready(self.transform(self.values))

    def peak_bytes(self) -> int | None:
        """Peak of the one device."""
        return compiled_peak(self.jax.jit(self.transform).lower(self.values).compile())
