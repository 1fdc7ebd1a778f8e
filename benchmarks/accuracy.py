"""How exact tpufft is, beside scipy.fft in complex64, over sizes, kernels and chunks."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks import store
from benchmarks.client import Worker, WorkerError

SECONDS = 300.0
KERNELS = ("xla", "matmul")
#: Largest error allowed: factor times scipy's own, plus this.
FACTORS = {"xla": 1.5, "matmul": 2.5}
FLOOR = 3e-8
#: The DFT matrix of this size by the one-shuffle ring in 8 chunks, and its limit.
RING_SIZE = 32768
RING_LIMIT = 1e-6


@dataclass(frozen=True)
class Options:
    """Which sizes, chunk counts and random inputs."""

    largest: int = 1 << 20
    chunks: tuple[int, ...] = (1, 8)
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    ring: bool = True

    @property
    def sizes(self) -> tuple[int, ...]:
        """Powers of two from 2 to the largest."""
        return tuple(1 << exponent for exponent in range(1, self.largest.bit_length()))


def limit(kernel: str, scipy_error: float) -> float:
    """The largest error allowed to a kernel."""
    return FACTORS[kernel] * scipy_error + FLOOR


def measure(options: Options, say: Callable[[str], None]) -> dict[str, Any]:
    """Measure all sizes and return the raw results."""
    raw = store.header("accuracy")
    raw["settings"] = asdict(options)
    seeds = list(options.seeds)
    with Worker("scipy-accuracy-probe") as worker:
        raw["versions"] = dict(worker.versions)
        raw["scipy"] = {str(n): worker.ask("errors", SECONDS, n=n, seeds=seeds) for n in options.sizes}
    raw["tpufft"] = []
    for chunks in options.chunks:
        worker = _start(chunks)
        raw["versions"].update(worker.versions)
        try:
            for n, arguments in _wanted(options, chunks):
                if not worker.alive:
                    worker = _start(chunks)
                result = {"n": n, "chunks": chunks, **arguments, "errors": [], "failed": None}
                try:
                    result["errors"] = worker.ask("errors", SECONDS, n=n, seeds=seeds, options=arguments)
                except WorkerError as error:
                    result["failed"] = str(error)
                raw["tpufft"].append({**result, **_verdict(result, raw["scipy"])})
                say(describe(raw["tpufft"][-1]))
        finally:
            worker.kill()
    return raw


def describe(result: dict[str, Any]) -> str:
    """One result in a line."""
    how = ", ".join(f"{key} {result[key]}" for key in ("kernel", "method") if key in result)
    head = f"N={result['n']} in {result['chunks']} chunk{'s' * (result['chunks'] > 1)}, {how}"
    if result["failed"]:
        return f"{head}: FAILED, {result['failed']}"
    return f"{head}: {result['median']:.2e}, limit {result['limit']:.2e}, {'pass' if result['passed'] else 'FAIL'}"


def _start(chunks: int) -> Worker:
    return Worker("accuracy-probe", chunks)


def _wanted(options: Options, chunks: int) -> list[tuple[int, dict[str, str]]]:
    wanted = [(n, {"kernel": kernel}) for kernel in KERNELS for n in options.sizes if n % chunks == 0]
    if options.ring and chunks > 1:
        wanted.append((RING_SIZE, {"method": "ring"}))
    return wanted


def _verdict(result: dict[str, Any], scipy: dict[str, list[float]]) -> dict[str, Any]:
    by_ring = "method" in result
    allowed = RING_LIMIT if by_ring else limit(result["kernel"], statistics.median(scipy[str(result["n"])]))
    median = statistics.median(result["errors"]) if result["errors"] else None
    return {"median": median, "limit": allowed, "passed": median is not None and median <= allowed}
