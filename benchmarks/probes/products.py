"""Products of two matrices by numpy, by XLA on sharded arrays, and by this package's schedules, in one process."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.contestants.jax_common import PACKAGES, auto_mesh, compiled_peak, place
from benchmarks.machine import package_version

#: Rows of the product that are compared with one in double precision.
CHECKED_ROWS = 64
_SPECS = {"rows": ("x", None), "gram": ("x", None), "blocks": ("y", "z")}


class Products:
    """One product at a time, on forced devices: every contestant gets the same numbers, its operands in place.

    Parameters
    ----------
    devices : int
        Of this process.
    """

    def __init__(self, devices: int) -> None:
        import jax

        import tpufft

        self.jax: Any = jax
        self.tpufft: Any = tpufft
        self.devices = devices
        self.forget()

    def version(self) -> dict[str, str | None]:
        """Versions of what is measured."""
        return {name: package_version(name) for name in ("tpufft", *PACKAGES)}

    def forget(self) -> None:
        """Drop operands, programs and results."""
        self.hosts: tuple[np.ndarray, ...] = ()
        self.operands: tuple[Any, ...] = ()
        self.transposed = False
        self.calls: dict[str, Callable[[], Any]] = {}
        self.compiled: dict[str, Any] = {}
        self.plans: dict[str, Any] = {}
        self.output: Any = None
        gc.collect()

    def prepare(self, kind: str, size: int, dtype: str, grid: list[int]) -> None:
        """Two square matrices of normal numbers on the host and in chunks on the devices."""
        self.forget()
        rng = np.random.default_rng(0)
        self.hosts = tuple(_normal(rng, size, np.dtype(dtype)) for _ in range(2))
        names = ("y", "z") if kind == "blocks" else ("x",)
        mesh = auto_mesh(tuple(grid) if kind == "blocks" else (self.devices,), names)
        self.operands = tuple(place(each, mesh, *_SPECS[kind]) for each in self.hosts)
        self.transposed = kind == "gram"

    def make(self, name: str) -> None:
        """Plan and compile what a contestant will run."""
        a, b = self.operands
        if name == "numpy":
            left, right = (self.hosts[0].T if self.transposed else self.hosts[0]), self.hosts[1]
            self.calls[name] = lambda: left @ right
        elif name == "xla":
            jnp, turned = self.jax.numpy, self.transposed
            jitted = self.jax.jit(lambda a, b: jnp.matmul(a.T if turned else a, b), out_shardings=a.sharding)
            self.compiled[name] = jitted.lower(a, b).compile()
            self.calls[name] = lambda: self.jax.block_until_ready(jitted(a, b))
        else:
            letters = "km,kn->mn" if self.transposed else "mk,kn->mn"
            self.plans[name] = self.tpufft.plan_einsum(letters, a, b, schedule=name)
            self.compiled[name] = self.plans[name].compile()
            self.calls[name] = lambda: self.jax.block_until_ready(self.tpufft.einsum(letters, a, b, schedule=name))

    def run(self, name: str) -> float:
        """Seconds of one product; freeing the last one and collecting garbage are not timed."""
        self.output = None
        gc.collect()
        gc.disable()
        start = time.perf_counter()
        self.output = self.calls[name]()
        seconds = time.perf_counter() - start
        gc.enable()
        return round(seconds, 9)

    def about(self, name: str) -> dict[str, Any]:
        """Relative L2 error of rows of the last product; of a compiled program its memory and its collectives."""
        from tpufft.planning.hlo import executed_collectives

        found: dict[str, Any] = {"error": self._error(), "temp_bytes": None, "peak_bytes": None, "collectives": None}
        if name in self.compiled:
            compiled = self.compiled[name]
            memory = compiled.memory_analysis()
            found["temp_bytes"] = None if memory is None else int(memory.temp_size_in_bytes)
            found["peak_bytes"] = compiled_peak(compiled)
            found["collectives"] = dict(executed_collectives(compiled.as_text() or ""))
            found["kept_chunking"] = bool(self.output.sharding.is_equivalent_to(self.operands[0].sharding, 2))
        if name in self.plans:
            found["plan"] = str(self.plans[name]).splitlines()
        return found

    def _error(self) -> float:
        a, b = self.hosts
        rows = np.unique(np.linspace(0, len(a) - 1, CHECKED_ROWS).astype(int))
        left = (a[:, rows].T if self.transposed else a[rows]).astype(np.promote_types(a.dtype, np.float64))
        # in parts: the whole of b in double precision would take twice its memory
        step = max(1, (1 << 22) // len(b))
        parts = range(0, len(b), step)
        want = sum(left[:, start : start + step] @ b[start : start + step].astype(left.dtype) for start in parts)
        return float(np.linalg.norm(np.asarray(self.output)[rows] - want) / np.linalg.norm(want))


def _normal(rng: np.random.Generator, size: int, dtype: np.dtype) -> np.ndarray:
    if dtype.kind != "c":
        return rng.standard_normal((size, size), dtype)  # type: ignore[arg-type]
    values = np.empty((size, size), dtype)
    part: Any = np.float32 if dtype.itemsize == 8 else np.float64
    values.real, values.imag = (rng.standard_normal((size, size), part) for _ in range(2))
    return values
