"""What XLA makes of jnp.fft on a sharded array: the reference of the race."""

from __future__ import annotations

import numpy as np

from benchmarks.cases import Case
from benchmarks.contestants.base import Contestant
from benchmarks.contestants.jax_common import JAX_NAMES, PACKAGES, auto_mesh, compiled_peak, jax_transform, place


class Entry(Contestant):
    """``jax.jit(jnp.fft.fftn)``, or a sibling, on an array whose first axis is chunked over all devices."""

    label = "jax.jit of jnp.fft, XLA-partitioned"
    packages = PACKAGES
    transforms = JAX_NAMES
    chunked = True

    def __init__(self, devices: int) -> None:
        super().__init__(devices)
        import jax

        self.jax = jax
        self.mesh = auto_mesh((devices,), ("x",))

    def prepare(self, case: Case, values: np.ndarray) -> None:
        """Chunk the input and compile."""
        self.values = place(values, self.mesh, "x")
        self.transform = self.jax.jit(jax_transform(case.transform))
        self.compiled = self.transform.lower(self.values).compile()

    def run(self) -> None:
        """Call the jitted function."""
        self.output = self.jax.block_until_ready(self.transform(self.values))

    def peak_bytes(self) -> int | None:
        """Peak of a device."""
        return compiled_peak(self.compiled)

    def notes(self) -> dict[str, object]:
        """Whether the output is still chunked is XLA's choice."""
        return {"output_replicated": bool(self.compiled.output_shardings.is_fully_replicated)}
