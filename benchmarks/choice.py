"""How good the cost model's choices are: the time of the plan that it takes over that of the fastest candidate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks import store
from benchmarks.client import Worker, WorkerError

SECONDS = 300.0
#: How many times as long as the fastest the model's choice may take, and in what part of the cases.
LIMIT, PART = 1.3, 0.9


@dataclass(frozen=True)
class Options:
    """Which transforms, on how many devices, and seconds of tuning for each."""

    cases: tuple[str, ...] = (
        "fft:65536",
        "fft:1048576",
        "fft:4194304",
        "fft:1000003",
        "rfft:1048576",
        "512x512",
        "2048x2048",
        "4096x4096",
        "64x64x64",
        "128x128x128",
        "256x256x256",
        "rfftn:128x128x128",
        "dctn:128x128x128",
    )
    devices: tuple[int, ...] = (1, 2, 8)
    budget: float = 16.0
    environment: str = "default"


QUICK = Options(cases=("fft:4096", "16x16x16"), devices=(1, 2), budget=0.2)


def measure(options: Options, say: Callable[[str], None]) -> dict[str, Any]:
    """Tune every case by the default rates, calibrate, and ask for the choice by the measured rates."""
    raw = store.header("choice")
    raw["settings"] = asdict(options)
    raw["versions"], raw["results"], raw["rates"] = {}, [], {}
    for devices in options.devices:
        with Worker("choice-probe", devices, options.environment) as worker:
            raw["versions"].update(worker.versions)
            found = [_tuned(worker, case, devices, options.budget) for case in options.cases]
            try:
                raw["rates"][str(devices)] = worker.ask("calibrate", SECONDS)
                for result in found:
                    if not result["failed"]:
                        result["calibrated"] = worker.ask("choice", SECONDS, case=result["case"])
            except WorkerError as error:
                say(f"calibration on {devices}: FAILED, {error}")
        for result in found:
            raw["results"].append(result | verdicts(result))
            say(describe(raw["results"][-1]))
    for which in ("default", "calibrated"):
        say(f"{which} rates: {_share(raw['results'], which)}")
    return raw


def share(results: list[dict[str, Any]], which: str) -> tuple[int, int]:
    """In how many cases the choice by these rates is within the limit, and of how many."""
    known = [result[f"{which}_ratio"] for result in results if result[f"{which}_ratio"] is not None]
    return sum(ratio <= LIMIT for ratio in known), len(known)


def verdicts(result: dict[str, Any]) -> dict[str, Any]:
    """How many times as long as the fastest each choice takes; None where it was not timed."""
    if result["failed"]:
        return {"default_ratio": None, "calibrated_ratio": None}
    times = {one["key"]: one["seconds"] for one in result["candidates"]}
    best = min(times.values())
    chosen = {"default": result["default"], "calibrated": result.get("calibrated")}
    return {f"{which}_ratio": times[key] / best if key in times else None for which, key in chosen.items()}


def describe(result: dict[str, Any]) -> str:
    """One result in a line."""
    head = f"{result['case']} on {result['devices']}"
    if result["failed"]:
        return f"{head}: FAILED, {result['failed']}"
    told = [
        f"{which} {'not timed' if result[f'{which}_ratio'] is None else format(result[f'{which}_ratio'], '.2f')}"
        for which in ("default", "calibrated")
    ]
    return f"{head}: of {len(result['candidates'])} candidates the choice takes, over the fastest, {', '.join(told)}"


def _tuned(worker: Worker, case: str, devices: int, budget: float) -> dict[str, Any]:
    result: dict[str, Any] = {"case": case, "devices": devices, "failed": None, "candidates": []}
    try:
        return result | worker.ask("tune", SECONDS, case=case, budget=budget)
    except WorkerError as error:
        return result | {"failed": str(error)}


def _share(results: list[dict[str, Any]], which: str) -> str:
    good, count = share(results, which)
    verdict = "pass" if count and good >= PART * count else "FAIL"
    return f"{good} of {count} choices within {LIMIT} times the fastest, wanted {PART:.0%}, {verdict}"
