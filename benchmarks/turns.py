"""Contestants in processes of their own, called in turn on the same cases."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import machine
from benchmarks.cases import DEVICES, Case
from benchmarks.client import NotInstalledError, Worker, WorkerError
from benchmarks.contestants import CONTESTANTS, contestant_class
from benchmarks.environment import cores

PREPARE_SECONDS = 600.0
RUN_SECONDS = 120.0


@dataclass(frozen=True)
class Turns:
    """Who is called, and how often."""

    contestants: tuple[str, ...] = tuple(CONTESTANTS)
    devices: tuple[int, ...] = DEVICES
    runs: int = 9
    warm_up: int = 2
    #: Seconds between two calls: OpenMP threads of the last contestant spin for 0.2 s.
    pause: float = 0.25
    environment: str = "default"

    def __post_init__(self) -> None:
        if self.runs < 1 or self.warm_up < 1:
            raise ValueError(f"runs={self.runs}, warm_up={self.warm_up}: both must be at least 1")


class Runner:
    """One contestant at one device count: its process, started again after it was killed."""

    def __init__(self, name: str, devices: int, environment: str) -> None:
        self.kind = contestant_class(name)
        self.name, self.devices, self.environment = name, devices, environment
        self.versions: dict[str, str | None] = {}
        self.left_out: str | None = None
        self.worker: Worker | None = None

    @property
    def title(self) -> str:
        """Name and device count."""
        return f"{self.name} on {self.devices}" if self.kind.chunked else self.name

    def start(self) -> None:
        """Start the process where there is none; a library that is missing leaves the contestant out."""
        if self.left_out or (self.worker and self.worker.alive):
            return
        try:
            self.worker = Worker(self.name, self.devices, self.environment)
            self.versions = self.worker.versions
        except NotInstalledError as error:
            self.left_out = f"not installed: {error}"
        except WorkerError as error:
            self.left_out = f"did not start: {error}"

    def ask(self, do: str, seconds: float, **arguments: Any) -> Any:
        """Ask the process."""
        assert self.worker is not None, "start() comes first"
        return self.worker.ask(do, seconds, **arguments)

    def forget(self) -> None:
        """Drop the cases that the process holds; one that does not answer is killed and started when next needed."""
        if self.worker and self.worker.alive:
            try:
                self.ask("forget", RUN_SECONDS)
            except WorkerError:
                self.stop()

    def stop(self) -> None:
        """End the process."""
        if self.worker:
            self.worker.kill()

    def describe(self) -> dict[str, Any]:
        """What the raw data says of the contestant itself."""
        return {
            "name": self.name,
            "label": self.kind.label,
            "devices": self.devices,
            "chunked": self.kind.chunked,
            "versions": self.versions,
            "left_out": self.left_out,
        }


@contextmanager
def running(turns: Turns, say: Callable[[str], None]) -> Iterator[list[Runner]]:
    """All contestants, started; their processes end with the block."""
    runners: list[Runner] = []
    try:
        for name in turns.contestants:
            for count in turns.devices if contestant_class(name).chunked else (1,):
                runners.append(Runner(name, count, turns.environment))
                runners[-1].start()
                say(f"{runners[-1].title}: {runners[-1].left_out or 'ready'}")
        yield runners
    finally:
        for runner in runners:
            runner.stop()


def take_turns(
    cases: Sequence[Case], runners: Sequence[Runner], turns: Turns, say: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Time several cases together, so that what a contestant needs for them compares within one run of its process.

    Parameters
    ----------
    cases : sequence of Case
        Prepared at the same time by every contestant that takes them.
    runners : sequence of Runner
        As :func:`running` gives them.
    turns : Turns
        How often.
    say : callable
        Takes lines that tell how far it is.

    Returns
    -------
    list of dict
        The raw data of each case.
    """
    outcomes: dict[Case, dict[str, Any]] = {}
    results: dict[tuple[Runner, Case], dict[str, Any]] = {}
    for case in cases:
        say(f"{case.title}: reference in float64")
        outcomes[case] = {"case": case.name, "title": case.title, "bytes": case.bytes, "load": machine.load()}
        with tempfile.TemporaryDirectory(prefix="tpufft-bench-") as folder:
            files = _write_input(case, Path(folder))
            for runner in runners:
                if not runner.kind.takes(case, runner.devices):
                    continue
                runner.start()
                if runner.left_out is None:
                    result = {"name": runner.name, "devices": runner.devices, "failed": None, "seconds": []}
                    _guarded(result, partial(_make_ready, runner, case, *files, turns))
                    results[runner, case] = result
                    say(f"{case.title}: {runner.title}: {result['failed'] or 'prepared and checked'}")
    titles = ", ".join(case.title for case in cases)
    for turn in range(turns.runs):
        say(f"{titles}: turn {turn + 1} of {turns.runs}")
        # the cases of one contestant follow each other: what they are compared by is measured within a second
        for runner in runners:
            # and which comes first alternates: the first finds colder caches
            for case in cases[:: -1 if turn % 2 else 1]:
                if (result := results.get((runner, case))) is not None and result["failed"] is None:
                    time.sleep(turns.pause)
                    _guarded(result, partial(_timed, runner, case))
    for runner in runners:
        runner.forget()
    for case, outcome in outcomes.items():
        outcome["results"] = [result for (_, taken), result in results.items() if taken == case]
        outcome["load_after"] = machine.load()
    return list(outcomes.values())


def _write_input(case: Case, folder: Path) -> tuple[str, str]:
    import scipy.fft

    values, reference = folder / "values.npy", folder / "reference.npy"
    array = case.input()
    np.save(values, array)
    double = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
    np.save(reference, getattr(scipy.fft, case.transform)(double, workers=cores()))
    return str(values), str(reference)


def _make_ready(runner: Runner, case: Case, values: str, reference: str, turns: Turns) -> dict[str, Any]:
    runner.ask("prepare", PREPARE_SECONDS, case=case.name, values=values)
    warm_up = [runner.ask("run", PREPARE_SECONDS, case=case.name) for _ in range(turns.warm_up)]
    error = runner.ask("check", RUN_SECONDS, case=case.name, reference=reference)
    return {"warm_up_seconds": warm_up, "error": error, **runner.ask("about", PREPARE_SECONDS, case=case.name)}


def _timed(runner: Runner, case: Case) -> dict[str, Any]:
    return {"seconds": [runner.ask("run", RUN_SECONDS, case=case.name)]}


def _guarded(result: dict[str, Any], action: Callable[[], dict[str, Any]]) -> None:
    """Merge what the action found into the result, or why it failed."""
    try:
        found = action()
    except WorkerError as error:
        result["failed"] = str(error)
        return
    result["seconds"] = result["seconds"] + found.pop("seconds", [])
    result.update(found)
