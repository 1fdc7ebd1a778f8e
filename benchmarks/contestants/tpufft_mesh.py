"""tpufft on an array that is already chunked."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.cases import NAMES, Case
from benchmarks.contestants.base import Contestant
from benchmarks.contestants.jax_common import PACKAGES, auto_mesh, compiled_peak, place


class Entry(Contestant):
    """``tpufft.fftn(x, mesh)``, or a sibling, eagerly, first axis chunked over all devices, natural order."""

    label = "tpufft"
    packages = ("tpufft", *PACKAGES)
    chunked = uneven = True
    transforms = NAMES

    def __init__(self, devices: int) -> None:
        super().__init__(devices)
        import jax

        import tpufft

        self.jax, self.tpufft = jax, tpufft
        self.mesh = auto_mesh((devices,), ("x",))

    def prepare(self, case: Case, values: np.ndarray) -> None:
        """Chunk the input; the first, untimed calls plan and compile."""
        self.spec = self.jax.sharding.PartitionSpec("x")
        if case.divides(self.devices):
            self.values: Any = place(values, self.mesh, "x")
        else:
            self.values = self.jax.block_until_ready(self.tpufft.chunk(values, self.mesh, self.spec))
        self.transform = getattr(self.tpufft, case.transform)
        self.plan = self.tpufft.plan(case.transform, values.shape, values.dtype, self.mesh, spec=self.spec)

    def run(self) -> None:
        """Transform along all axes."""
        self.output = self.jax.block_until_ready(self.transform(self.values, self.mesh))

    def peak_bytes(self) -> int | None:
        """Peak of a device."""
        return compiled_peak(self.plan.compile())

    def notes(self) -> dict[str, object]:
        """The plan, as it prints, and whether the output kept the chunking."""
        wanted = self.jax.sharding.NamedSharding(self.mesh, self.spec)
        # the chunks of an uneven result are those of its data
        uneven = isinstance(self.output, self.tpufft.ChunkedArray)
        stored = self.output.data if uneven else self.output
        kept = stored is not None and stored.sharding.is_equivalent_to(wanted, stored.ndim)
        return {"plan": str(self.plan).splitlines(), "chunking_kept": bool(kept)}
