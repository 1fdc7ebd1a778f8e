"""One contestant or probe in a process of its own: JSON lines in on stdin, JSON lines out on stdout.

``python -m benchmarks.worker NAME DEVICES ENVIRONMENT``. A request ``{"do": METHOD, ...}`` is answered by
``{"ok": RESULT}`` or ``{"error": TEXT}``; the first line says ``ready`` with versions, or ``missing`` with the reason.
"""

from __future__ import annotations

import gc
import json
import os
import queue
import re
import sys
import threading
import time
from typing import Any, TextIO

import numpy as np

from benchmarks.cases import Case
from benchmarks.contestants import contestant_class
from benchmarks.contestants.base import Contestant
from benchmarks.environment import variables
from benchmarks.probes import PROBES, probe

#: Elements compared at a time when a result is checked.
SLAB = 1 << 21


class Race:
    """A contestant as the race asks it: one instance for each case that is prepared."""

    def __init__(self, kind: type[Contestant], devices: int) -> None:
        self._make = lambda: kind(devices)
        self._fresh = self._make()
        self.prepared: dict[str, Contestant] = {}

    def version(self) -> dict[str, str | None]:
        """Versions of the contestant's packages."""
        return self._fresh.version()

    def prepare(self, case: str, values: str) -> None:
        """Load the input and make everything that is not timed."""
        contestant = self._make()
        contestant.prepare(Case.parse(case), np.load(values))
        self.prepared[case] = contestant

    def forget(self) -> None:
        """Drop all cases, their inputs and outputs."""
        self.prepared.clear()
        gc.collect()

    def run(self, case: str) -> float:
        """Seconds of one transform; freeing the output before and collecting garbage are not timed."""
        contestant = self._contestant(case)
        contestant.forget_output()
        gc.collect()
        gc.disable()
        start = time.perf_counter()
        contestant.run()
        seconds = time.perf_counter() - start
        gc.enable()
        return round(seconds, 9)

    def check(self, case: str, reference: str) -> float:
        """Relative L2 error of the last result."""
        return relative_error(self._contestant(case).result(), np.load(reference, mmap_mode="r"))

    def about(self, case: str) -> dict[str, object]:
        """Peak of a device and notes."""
        contestant = self._contestant(case)
        return {"peak_bytes": contestant.peak_bytes(), "notes": contestant.notes()}

    def _contestant(self, case: str) -> Contestant:
        if case not in self.prepared:
            raise RuntimeError(f"{case} is not prepared: the process was started again after it was killed")
        return self.prepared[case]


def relative_error(result: np.ndarray, reference: np.ndarray) -> float:
    """L2 norm of the difference over that of the reference, in float64, slab by slab."""
    if result.shape != reference.shape:
        raise ValueError(f"the result has shape {result.shape}, the reference {reference.shape}")
    step = max(1, SLAB * len(result) // result.size)
    difference = total = 0.0
    for start in range(0, len(result), step):
        part = np.asarray(reference[start : start + step])
        difference += float(np.linalg.norm(result[start : start + step] - part)) ** 2
        total += float(np.linalg.norm(part)) ** 2
    return (difference / total) ** 0.5


def without_paths(text: str) -> str:
    """A message with folders taken out of it."""
    return re.sub(r"(?<![\w.])/\S*/", "", text)


def main(name: str, devices: int, environment: str) -> None:
    """Serve until stdin ends or a request says stop."""
    unset = [f"{key}={value}" for key, value in variables(devices, environment).items() if os.environ.get(key) != value]
    if unset:
        raise SystemExit(f"worker {name}: start it with {' '.join(unset)}")
    channel = _claim_stdout()
    requests = _requests()
    try:
        service = probe(name, devices) if name in PROBES else Race(contestant_class(name), devices)
    except ImportError as error:
        _send(channel, {"missing": without_paths(str(error))})
        return
    _send(channel, {"ready": service.version()})
    while (request := requests.get()).get("do") != "stop":
        _send(channel, _answer(service, request))


def _answer(service: Any, request: dict[str, Any]) -> dict[str, Any]:
    method = request.pop("do")
    try:
        return {"ok": getattr(service, method)(**request)}
    except Exception as error:  # whatever a library raises belongs into the raw data, and the race goes on
        return {"error": without_paths(f"{type(error).__name__}: {error}")[:2000]}


def _claim_stdout() -> TextIO:
    """The real stdout for the protocol alone; what libraries print goes to stderr."""
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return channel


def _requests() -> queue.Queue[dict[str, Any]]:
    """Requests as a queue filled by a thread, which ends the process when the driver is gone, even out of a hang."""
    requests: queue.Queue[dict[str, Any]] = queue.Queue()

    def read() -> None:
        for line in sys.stdin:
            requests.put(json.loads(line))
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    return requests


def _send(channel: TextIO, message: dict[str, Any]) -> None:
    channel.write(json.dumps(message) + "\n")
    channel.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
