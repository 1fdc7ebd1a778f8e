"""What an eager call of tpufft adds to the compiled program, in microseconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks import store
from benchmarks.cases import Case
from benchmarks.client import Worker, WorkerError
from benchmarks.spread import spread

SECONDS = 300.0
#: Largest overhead allowed, microseconds.
LIMIT = 100.0


@dataclass(frozen=True)
class Options:
    """Which small arrays, on how many devices, how many calls."""

    cases: tuple[str, ...] = ("64", "16x16", "16x16x16")
    devices: tuple[int, ...] = (1, 8)
    pairs: int = 500
    loop: int = 2000
    repeats: int = 5


def measure(options: Options, say: Callable[[str], None]) -> dict[str, Any]:
    """Measure all arrays and return the raw results."""
    raw = store.header("overhead")
    raw["settings"] = asdict(options)
    raw["versions"], raw["results"] = {}, []
    for devices in options.devices:
        for name in options.cases:
            case = Case.parse(name)
            result: dict[str, Any] = {"case": name, "devices": devices, "failed": None}
            with Worker("overhead-probe", devices) as worker:
                raw["versions"].update(worker.versions)
                try:
                    worker.ask("prepare", SECONDS, shape=list(case.shape))
                    result["pairs"] = worker.ask("pairs", SECONDS, count=options.pairs)
                    result["loops"] = worker.ask("loops", SECONDS, count=options.loop, repeats=options.repeats)
                except WorkerError as error:
                    result["failed"] = str(error)
            raw["results"].append({**result, **_verdict(result)})
            say(describe(raw["results"][-1]))
    return raw


def describe(result: dict[str, Any]) -> str:
    """One result in a line."""
    head = f"{result['case']} on {result['devices']}"
    if result["failed"]:
        return f"{head}: FAILED, {result['failed']}"
    verdict = "pass" if result["passed"] else "FAIL"
    return f"{head}: {result['overhead_us']:.0f} us over the compiled program, limit {LIMIT:.0f}, {verdict}"


def _verdict(result: dict[str, Any]) -> dict[str, Any]:
    if result["failed"]:
        return {"overhead_us": None, "passed": False}
    pairs = result["pairs"]
    overhead = spread(pairs["eager_us"]).median - spread(pairs["bare_us"]).median
    return {"overhead_us": overhead, "passed": overhead <= LIMIT}
