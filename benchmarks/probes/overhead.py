"""What an eager call costs beyond the compiled program it ends in."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.cases import Case
from benchmarks.contestants.jax_common import PACKAGES, auto_mesh, place
from benchmarks.machine import package_version


class Overhead:
    """``tpufft.fft``/``fftn`` eagerly beside ``plan.compile()`` of the same arguments, on the same array."""

    def __init__(self, devices: int) -> None:
        import jax

        import tpufft

        self.jax: Any = jax
        self.tpufft: Any = tpufft
        self.mesh = auto_mesh((devices,), ("x",))
        self.compilations = 0
        jax.monitoring.register_event_duration_secs_listener(self._count)

    def version(self) -> dict[str, str | None]:
        """Versions of what is measured."""
        return {name: package_version(name) for name in ("tpufft", *PACKAGES)}

    def prepare(self, shape: Sequence[int], warm_up: int = 20) -> None:
        """Place the array, plan, compile, and call both a few times."""
        case = Case(tuple(shape))
        self.array: Any = place(case.input(), self.mesh, "x")
        arguments: dict[str, Any] = {"spec": self.array.sharding.spec, "norm": "ortho"}
        self.compiled = self.tpufft.plan("fftn", case.shape, "complex64", self.mesh, **arguments).compile()
        expected, got = self._bare(self.array), self._eager(self.array)
        np.testing.assert_allclose(np.asarray(got), np.asarray(expected), rtol=1e-4, atol=1e-4)
        self.pairs(warm_up)
        self.compilations = 0

    def pairs(self, count: int) -> dict[str, Any]:
        """Microseconds of single calls, waited for, the two taking turns; and what was traced or compiled meanwhile."""
        bare: list[float] = []
        eager: list[float] = []
        gc.collect()
        gc.disable()
        for turn in range(count):
            # which of the two comes first alternates: the second finds warmer caches
            for call, times in ((self._bare, bare), (self._eager, eager))[:: 1 if turn % 2 else -1]:
                times.append(self._microseconds(call))
        gc.enable()
        return {"bare_us": bare, "eager_us": eager, "compilations": self.compilations}

    def loops(self, count: int, repeats: int) -> dict[str, Any]:
        """Microseconds per call of loops of dependent calls, of which only the last is waited for."""
        bare: list[float] = []
        eager: list[float] = []
        for call in (self._bare_unawaited, self._eager_unawaited):
            # the first result may compile anew for its own sharding: counted, not timed
            self._loop(call, 2)
        for _ in range(repeats):
            bare.append(self._loop(self._bare_unawaited, count))
            eager.append(self._loop(self._eager_unawaited, count))
        return {"calls": count, "bare_us": bare, "eager_us": eager, "compilations": self.compilations}

    def _count(self, event: str, duration_secs: float, **_: str | int) -> None:
        if event.startswith("/jax/core/compile/"):
            self.compilations += 1

    def _bare_unawaited(self, array: Any) -> Any:
        return self.compiled(array)

    def _eager_unawaited(self, array: Any) -> Any:
        return self.tpufft.fftn(array, self.mesh, norm="ortho")

    def _bare(self, array: Any) -> Any:
        return self.jax.block_until_ready(self._bare_unawaited(array))

    def _eager(self, array: Any) -> Any:
        return self.jax.block_until_ready(self._eager_unawaited(array))

    def _microseconds(self, call: Callable[[Any], Any]) -> float:
        start = time.perf_counter()
        call(self.array)
        return round((time.perf_counter() - start) * 1e6, 2)

    def _loop(self, call: Callable[[Any], Any], count: int) -> float:
        array = self.array
        start = time.perf_counter()
        for _ in range(count):
            array = call(array)
        self.jax.block_until_ready(array)
        return round((time.perf_counter() - start) / count * 1e6, 2)
