"""Products of two square matrices: numpy, XLA's own product of the sharded arrays, and this package's schedules."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benchmarks import machine, store
from benchmarks.client import NotInstalledError, Worker, WorkerError
from benchmarks.environment import variables

PREPARE_SECONDS = 600.0
RUN_SECONDS = 120.0

#: Who takes part in which product. ``rows``: a @ b of two row-chunked matrices; ``gram``: a.T @ b of the same;
#: ``blocks``: a @ b, both in blocks over a mesh of two axes.
KINDS = {
    "rows": ("numpy", "xla", "ring", "bidirectional", "gather"),
    "gram": ("numpy", "xla", "ring", "gather"),
    "blocks": ("numpy", "xla", "summa"),
}
CONTESTANTS = tuple(dict.fromkeys(name for names in KINDS.values() for name in names))
DTYPES = ("float32", "complex64")

#: What is promised of the ring, of 4096 x 4096 matrices in rows on 8 devices: the most times another's time.
LIMITED = ("rows", 4096, 8)
TIME_LIMITS = {"float32": {"xla": 1.1, "numpy": 1.5}, "complex64": {"xla": 0.5, "numpy": 1.5}}
#: The most chunks of temporaries.
MEMORY_LIMITS = {"float32": 3.5, "complex64": 7.0}


@dataclass(frozen=True)
class Case:
    """One product on so many devices."""

    kind: str
    size: int
    dtype: str
    devices: int

    @property
    def title(self) -> str:
        """As the log has it."""
        return f"{self.kind} {self.size}^3 {self.dtype} on {self.devices}"

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of devices, as square as they can be."""
        columns = max(n for n in range(1, math.isqrt(self.devices) + 1) if self.devices % n == 0)
        return self.devices // columns, columns

    @property
    def chunk_bytes(self) -> int:
        """Bytes of one device's part of an operand."""
        return self.size * self.size * np.dtype(self.dtype).itemsize // self.devices

    @property
    def flops(self) -> float:
        """Real arithmetic of the product."""
        return 2.0 * self.size**3 * (4 if np.dtype(self.dtype).kind == "c" else 1)


@dataclass(frozen=True)
class Options:
    """What is multiplied, and how often.

    Raises
    ------
    ValueError
        For words that are unknown, and sizes that the devices do not divide.
    """

    kinds: tuple[str, ...] = tuple(KINDS)
    sizes: tuple[int, ...] = (1024, 2048, 4096)
    dtypes: tuple[str, ...] = DTYPES
    devices: tuple[int, ...] = (2, 4, 8)
    contestants: tuple[str, ...] = CONTESTANTS
    runs: int = 7
    warm_up: int = 2
    #: Seconds between two calls: threads of numpy's library spin a while after a product.
    pause: float = 0.25
    environment: str = "default"

    def __post_init__(self) -> None:
        known = (("kinds", KINDS), ("dtypes", DTYPES), ("contestants", CONTESTANTS))
        for field, words in known:
            for word in getattr(self, field):
                if word not in words:
                    raise ValueError(f"{field}: {word!r} is unknown; use some of {', '.join(words)}")
        if self.runs < 1 or self.warm_up < 1:
            raise ValueError(f"runs={self.runs}, warm_up={self.warm_up}: both must be at least 1")
        for size in self.sizes:
            for devices in self.devices:
                if size < 1 or size % devices:
                    raise ValueError(f"size {size} does not divide over {devices} devices; XLA takes equal chunks only")

    def cases(self) -> Iterator[Case]:
        """All products, those of one size together; no mesh of two axes is made of a prime number of devices."""
        for size in self.sizes:
            for dtype in self.dtypes:
                for devices in self.devices:
                    for kind in self.kinds:
                        case = Case(kind, size, dtype, devices)
                        if kind != "blocks" or case.grid[1] > 1:
                            yield case


#: The same at a size that only shows that everything works.
QUICK = Options(sizes=(32,), devices=(4,), runs=3, warm_up=1, pause=0.0)


def measure(options: Options, say: Callable[[str], None]) -> dict[str, Any]:
    """Time all products, one after the other, and return the raw results.

    Parameters
    ----------
    options : Options
        What is multiplied.
    say : callable
        Takes lines that tell how far it is.
    """
    raw = store.header(f"products-{options.environment}")
    raw["settings"] = asdict(options)
    raw["environment"] = {str(count): variables(count, options.environment) for count in options.devices}
    raw["versions"] = {}
    raw["cases"] = []
    for case in options.cases():
        say(case.title)
        outcome = _case(case, options)
        raw["versions"].update(outcome.pop("versions"))
        raw["cases"].append(outcome)
        for result in outcome["results"]:
            say(f"  {result['name']}: {_said(result)}")
    return raw


def _case(case: Case, options: Options) -> dict[str, Any]:
    """One product by all contestants, called in turn in one fresh process."""
    outcome: dict[str, Any] = {**asdict(case), "title": case.title, "grid": list(case.grid), "load": machine.load()}
    names = [name for name in KINDS[case.kind] if name in options.contestants]
    results = {name: {"name": name, "failed": None, "seconds": []} for name in names}
    process = _Process(case, options.environment)
    try:
        for name, result in results.items():
            _guarded(result, lambda name=name: process.ready(name, options.warm_up))
        for turn in range(options.runs):
            # which comes first alternates: the first finds colder caches
            for name in names[:: -1 if turn % 2 else 1]:
                if results[name]["failed"] is None:
                    time.sleep(options.pause)
                    _guarded(results[name], lambda name=name: {"seconds": [process.timed(name)]})
    finally:
        process.stop()
    return {**outcome, "versions": process.versions, "results": list(results.values()), "load_after": machine.load()}


class _Process:
    """A worker with a case's operands, started again, and prepared again, after it was killed."""

    def __init__(self, case: Case, environment: str) -> None:
        self._case, self._environment = case, environment
        self._worker: Worker | None = None
        self._made: set[str] = set()
        self.versions: dict[str, str | None] = {}

    def ready(self, name: str, warm_up: int) -> dict[str, Any]:
        """Have a contestant compile, run, and be checked."""
        worker = self._prepared(name)
        seconds = [worker.ask("run", PREPARE_SECONDS, name=name) for _ in range(warm_up)]
        return {"warm_up_seconds": seconds, **worker.ask("about", PREPARE_SECONDS, name=name)}

    def timed(self, name: str) -> float:
        """Seconds of one product."""
        return self._prepared(name).ask("run", RUN_SECONDS, name=name)

    def stop(self) -> None:
        """End the process."""
        if self._worker is not None:
            self._worker.kill()

    def _prepared(self, name: str) -> Worker:
        if self._worker is None or not self._worker.alive:
            self.stop()
            self._made.clear()
            case = self._case
            self._worker = Worker("products-probe", case.devices, self._environment)
            self.versions = self._worker.versions
            wanted = {"kind": case.kind, "size": case.size, "dtype": case.dtype, "grid": list(case.grid)}
            self._worker.ask("prepare", PREPARE_SECONDS, **wanted)
        if name not in self._made:
            self._worker.ask("make", PREPARE_SECONDS, name=name)
            self._made.add(name)
        return self._worker


def _guarded(result: dict[str, Any], action: Callable[[], dict[str, Any]]) -> None:
    """Merge what the action found into the result, or why it failed."""
    try:
        found = action()
    except NotInstalledError as error:
        result["failed"] = f"not installed: {error}"
        return
    except WorkerError as error:
        result["failed"] = str(error)
        return
    result["seconds"] = result["seconds"] + found.pop("seconds", [])
    result.update(found)


def _said(result: dict[str, Any]) -> str:
    return result["failed"] or f"{1e3 * sorted(result['seconds'])[len(result['seconds']) // 2]:.1f} ms"
