"""tpufft on an array that is already chunked."""

from __future__ import annotations

import numpy as np

from benchmarks.cases import Case
from benchmarks.contestants.base import Contestant
from benchmarks.contestants.jax_common import PACKAGES, auto_mesh, compiled_peak, place


class Entry(Contestant):
    """``tpufft.fftn(x, mesh)``, eagerly, first axis chunked over all devices, natural order."""

    label = "tpufft"
    packages = ("tpufft", *PACKAGES)
    chunked = True

    def __init__(self, devices: int) -> None:
        super().__init__(devices)
        import jax

        import tpufft

        self.jax, self.tpufft = jax, tpufft
        self.mesh = auto_mesh((devices,), ("x",))

    def prepare(self, case: Case, values: np.ndarray) -> None:
        """Chunk the input; the first, untimed calls plan and compile."""
        self.values = place(values, self.mesh, "x")
        self.plan = self.tpufft.plan("fftn", case.shape, "complex64", self.mesh, spec=self.values.sharding.spec)

    def run(self) -> None:
        """Transform along all axes."""
        self.output = self.jax.block_until_ready(self.tpufft.fftn(self.values, self.mesh))

    def peak_bytes(self) -> int | None:
        """Peak of a device."""
        return compiled_peak(self.plan.compile())

    def notes(self) -> dict[str, object]:
        """The plan, as it prints, and whether the output kept the chunking."""
        kept = self.output is not None and self.output.sharding.is_equivalent_to(self.values.sharding, self.output.ndim)
        return {"plan": str(self.plan).splitlines(), "chunking_kept": bool(kept)}
