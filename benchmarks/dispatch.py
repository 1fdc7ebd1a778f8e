"""What a call of a function mapped by ``tpufft.smap`` adds to ``jax.shard_map`` itself, in microseconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks import store
from benchmarks.client import Worker, WorkerError
from benchmarks.spread import spread

SECONDS = 300.0
#: Largest overhead allowed of arguments that are on their devices, microseconds.
LIMIT = 50.0


@dataclass(frozen=True)
class Options:
    """On how many devices, what size of argument, how many calls."""

    devices: tuple[int, ...] = (1, 8)
    rows: int = 64
    columns: int = 16
    turns: int = 1000
    warm_up: int = 30


QUICK = Options(devices=(1, 2), turns=20, warm_up=2)


def measure(options: Options, say: Callable[[str], None]) -> dict[str, Any]:
    """Measure functions with and without a collective, and return the raw results."""
    raw = store.header("dispatch")
    raw["settings"] = asdict(options)
    raw["versions"], raw["results"] = {}, []
    size = {"rows": options.rows, "columns": options.columns, "warm_up": options.warm_up}
    for devices in options.devices:
        for is_collective in (False, True):
            result: dict[str, Any] = {"devices": devices, "is_collective": is_collective, "failed": None}
            with Worker("dispatch-probe", devices) as worker:
                raw["versions"].update(worker.versions)
                try:
                    worker.ask("prepare", SECONDS, is_collective=is_collective, **size)
                    result |= worker.ask("turns", SECONDS, count=options.turns)
                except WorkerError as error:
                    result["failed"] = str(error)
            raw["results"].append({**result, **_verdict(result)})
            say(describe(raw["results"][-1]))
    return raw


def describe(result: dict[str, Any]) -> str:
    """One result in a line."""
    head = f"{'with' if result['is_collective'] else 'without'} a collective on {result['devices']}"
    if result["failed"]:
        return f"{head}: FAILED, {result['failed']}"
    verdict = "pass" if result["passed"] else "FAIL"
    return f"{head}: {result['overhead_us']:.0f} us over jax.shard_map, limit {LIMIT:.0f}, {verdict}"


def _verdict(result: dict[str, Any]) -> dict[str, Any]:
    if result["failed"]:
        return {"overhead_us": None, "passed": False}
    overhead = spread(result["us"]["sharded"]).median - spread(result["us"]["shard_map"]).median
    return {"overhead_us": overhead, "passed": overhead <= LIMIT}
