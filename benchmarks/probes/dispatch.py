"""What a call of a mapped function costs, by where its arguments are."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.contestants.jax_common import PACKAGES, auto_mesh, place
from benchmarks.machine import package_version


class Dispatch:
    """One function of chunks by ``tpufft.smap``, with arguments of several kinds, beside ``jax.shard_map`` itself."""

    def __init__(self, devices: int) -> None:
        import jax

        from tpufft import mapping

        self.jax: Any = jax
        self.mapping: Any = mapping
        self.mesh = auto_mesh((devices,), ("x",))
        self.calls: dict[str, Callable[[], Any]] = {}
        self.compilations = 0
        jax.monitoring.register_event_duration_secs_listener(self._count)

    def version(self) -> dict[str, str | None]:
        """Versions of what is measured."""
        return {name: package_version(name) for name in ("tpufft", *PACKAGES)}

    def prepare(self, rows: int, columns: int, *, is_collective: bool, warm_up: int) -> None:
        """Make the functions and their arguments, hold results against each other, and call all a few times."""
        jax, mesh, specs = self.jax, self.mesh, self.jax.sharding.PartitionSpec

        def scaled(x: Any, w: Any) -> Any:
            y = x * w
            return y + jax.lax.psum(y.sum(), "x") if is_collective else y

        def varying(x: Any, w: Any) -> Any:
            return scaled(x, jax.lax.pcast(w, "x", to="varying"))

        by_jax = jax.jit(jax.shard_map(varying, mesh=mesh, in_specs=(specs("x"), specs()), out_specs=specs("x")))
        mapped = self.mapping.smap(scaled, mesh, shard=["x"])
        x = np.random.default_rng(0).standard_normal((rows, columns)).astype(np.float32)
        w = np.arange(columns, dtype=np.float32)
        sharded, copied = place(x, mesh, "x"), place(w, mesh)
        parts = self.mapping.shards(sharded)
        self.calls = {
            "shard_map": lambda: by_jax(sharded, copied),
            "sharded": lambda: mapped(sharded, copied),
            "unsharded": lambda: mapped(x, w),
            "lists": lambda: mapped(parts, copied),
        }
        results = {name: call() for name, call in self.calls.items()}
        results["lists"] = self.mapping.unshard(results["lists"], mesh)
        for result in results.values():
            np.testing.assert_allclose(np.asarray(result), np.asarray(results["shard_map"]), rtol=1e-5)
        self.turns(warm_up)
        self.compilations = 0

    def turns(self, count: int) -> dict[str, Any]:
        """Microseconds of single calls, waited for, all taking turns; and what was traced or compiled meanwhile."""
        names = list(self.calls)
        times: dict[str, list[float]] = {name: [] for name in names}
        gc.collect()
        gc.disable()
        for turn in range(count):
            # which comes first goes round: whoever follows finds warmer caches
            first = turn % len(names)
            for name in names[first:] + names[:first]:
                start = time.perf_counter()
                self.jax.block_until_ready(self.calls[name]())
                times[name].append(round((time.perf_counter() - start) * 1e6, 2))
        gc.enable()
        return {"us": times, "compilations": self.compilations}

    def _count(self, event: str, duration_secs: float, **_: str | int) -> None:
        if event.startswith("/jax/core/compile/"):
            self.compilations += 1
