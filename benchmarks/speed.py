"""The race: every contestant in its own process, called in turn."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import machine, store
from benchmarks.cases import CASES, DEVICES, Case
from benchmarks.client import NotInstalledError, Worker, WorkerError
from benchmarks.contestants import CONTESTANTS, contestant_class
from benchmarks.environment import cores, variables

PREPARE_SECONDS = 600.0
RUN_SECONDS = 120.0


@dataclass(frozen=True)
class Options:
    """What is raced, and how often."""

    cases: tuple[str, ...] = CASES
    contestants: tuple[str, ...] = tuple(CONTESTANTS)
    devices: tuple[int, ...] = DEVICES
    runs: int = 9
    warm_up: int = 2
    #: Seconds between two calls: OpenMP threads of the last contestant spin for 0.2 s.
    pause: float = 0.25
    environment: str = "default"


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


def race(options: Options, say: Callable[[str], None]) -> dict[str, Any]:
    """Race all cases and return the raw results.

    Parameters
    ----------
    options : Options
        What is raced.
    say : callable
        Takes lines that tell how far it is.
    """
    if options.runs < 1 or options.warm_up < 1:
        raise ValueError(f"runs={options.runs}, warm_up={options.warm_up}: both must be at least 1")
    raw = store.header(f"speed-{options.environment}")
    raw["settings"] = asdict(options)
    raw["environment"] = {str(count): variables(count, options.environment) for count in options.devices}
    runners = list(_runners(options))
    raw["cases"] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tpufft-bench-")))
        for runner in runners:
            stack.callback(runner.stop)
            runner.start()
            say(f"{runner.title}: {runner.left_out or 'ready'}")
        for name in options.cases:
            raw["cases"].append(_race_case(Case.parse(name), runners, options, folder, say))
    raw["contestants"] = [runner.describe() for runner in runners]
    return raw


def _runners(options: Options) -> Iterator[Runner]:
    for name in options.contestants:
        counts = options.devices if contestant_class(name).chunked else (1,)
        for count in counts:
            yield Runner(name, count, options.environment)


def _race_case(
    case: Case, runners: list[Runner], options: Options, folder: Path, say: Callable[[str], None]
) -> dict[str, Any]:
    say(f"{case.title}: reference in float64")
    values, reference = _write_input(case, folder)
    outcome: dict[str, Any] = {"case": case.name, "title": case.title, "bytes": case.bytes, "load": machine.load()}
    results: dict[Runner, dict[str, Any]] = {}
    for runner in runners:
        if not runner.kind.takes(case, runner.devices):
            continue
        runner.start()
        if runner.left_out is None:
            results[runner] = {"name": runner.name, "devices": runner.devices, "failed": None, "seconds": []}
            _guarded(results[runner], lambda runner=runner: _make_ready(runner, case, values, reference, options))
            say(f"{case.title}: {runner.title}: {results[runner]['failed'] or 'prepared and checked'}")
    for turn in range(options.runs):
        say(f"{case.title}: turn {turn + 1} of {options.runs}")
        for runner, result in results.items():
            if result["failed"] is None:
                time.sleep(options.pause)
                _guarded(result, lambda runner=runner: {"seconds": [runner.ask("run", RUN_SECONDS)]})
    outcome["results"] = list(results.values())
    outcome["load_after"] = machine.load()
    return outcome


def _write_input(case: Case, folder: Path) -> tuple[str, str]:
    import scipy.fft

    values, reference = folder / "values.npy", folder / "reference.npy"
    array = case.input()
    np.save(values, array)
    transformed: Any = scipy.fft.fftn(array.astype(np.complex128), workers=cores())
    np.save(reference, transformed)
    return str(values), str(reference)


def _make_ready(runner: Runner, case: Case, values: str, reference: str, options: Options) -> dict[str, Any]:
    runner.ask("prepare", PREPARE_SECONDS, shape=list(case.shape), values=values)
    warm_up = [runner.ask("run", PREPARE_SECONDS) for _ in range(options.warm_up)]
    error = runner.ask("check", RUN_SECONDS, reference=reference)
    return {"warm_up_seconds": warm_up, "error": error, **runner.ask("about", PREPARE_SECONDS)}


def _guarded(result: dict[str, Any], action: Callable[[], dict[str, Any]]) -> None:
    """Merge what the action found into the result, or why it failed."""
    try:
        found = action()
    except WorkerError as error:
        result["failed"] = str(error)
        return
    result["seconds"] = result["seconds"] + found.pop("seconds", [])
    result.update(found)
