"""Times to plan and compile, and what the compiled program says of its memory."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from benchmarks.contestants.jax_common import PACKAGES, auto_mesh, compiled_peak
from benchmarks.machine import package_version


class Compilation:
    """``tpufft.plan(...)`` with the first axis chunked over all devices, lowered and compiled; nothing is run."""

    def __init__(self, devices: int) -> None:
        import jax

        import tpufft

        self.jax: Any = jax
        self.tpufft: Any = tpufft
        self.mesh = auto_mesh((devices,), ("x",))
        # what the first compilation of a process costs beside is no transform's own
        jax.jit(jax.numpy.fft.fft).lower(jax.ShapeDtypeStruct((8,), "complex64")).compile()

    def version(self) -> dict[str, str | None]:
        """Versions of what is measured."""
        return {name: package_version(name) for name in ("tpufft", *PACKAGES)}

    def measure(self, transform: str, shape: Sequence[int], dtype: str, options: dict[str, Any]) -> dict[str, Any]:
        """Seconds of each stage, and the peak of a device in chunks of the input."""
        # what an earlier plan traced or compiled must not shorten this one
        self.jax.clear_caches()
        spec = self.jax.sharding.PartitionSpec("x")
        times = [time.perf_counter()]
        plan = self.tpufft.plan(transform, shape, dtype, self.mesh, spec=spec, **options)
        times.append(time.perf_counter())
        lowered = plan.lower()
        times.append(time.perf_counter())
        compiled = lowered.compile()
        times.append(time.perf_counter())
        stages = ("plan_seconds", "lower_seconds", "compile_seconds")
        taken = {name: round(end - start, 4) for name, (start, end) in zip(stages, pairwise(times), strict=True)}
        peak = compiled_peak(compiled)
        return {**taken, "peak_chunks": None if peak is None else round(peak / plan.in_layout.chunk_bytes, 2)}
