"""How long every transform takes to plan and compile, and how much memory its program takes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks import store
from benchmarks.client import Worker, WorkerError

SECONDS = 300.0
#: Longest compilation allowed, seconds.
LIMIT = 5.0

COMPLEX_NAMES = ("fft", "ifft")
HALF_NAMES = ("rfft", "irfft", "hfft", "ihfft")
TRIGONOMETRIC_NAMES = ("dct", "idct", "dst", "idst")
HANKEL_NAMES = ("fht", "ifht")
TYPES = (1, 2, 3, 4)


@dataclass(frozen=True)
class Options:
    """Which sizes of how many axes, on how many devices."""

    devices: tuple[int, ...] = (8,)
    #: A power of two, a prime, one that is neither and small.
    one_axis: tuple[tuple[int, ...], ...] = ((1 << 20,), (1048573,), (1000,))
    two_axes: tuple[tuple[int, ...], ...] = ((4096, 4096), (1000, 999))
    all_axes: tuple[tuple[int, ...], ...] = ((256, 256, 256), (251, 241, 239))


#: Sizes that only show that everything works.
QUICK = Options((2,), one_axis=((13,),), two_axes=((4, 4),), all_axes=((4, 4, 4),))


def measure(options: Options, say: Callable[[str], None]) -> dict[str, Any]:
    """Compile everything once and return the raw results.

    Parameters
    ----------
    options : Options
        What is compiled.
    say : callable
        Takes lines that tell how far it is.
    """
    raw = store.header("compilation")
    raw["settings"] = asdict(options)
    raw["results"] = []
    raw["versions"] = {}
    for devices in options.devices:
        worker = Worker("compilation-probe", devices)
        raw["versions"].update(worker.versions)
        try:
            for wanted in wanted_plans(options):
                if not worker.alive:
                    worker = Worker("compilation-probe", devices)
                result = {"title": _title(**wanted), "devices": devices, **wanted, "failed": None}
                try:
                    result.update(worker.ask("measure", SECONDS, **wanted))
                except WorkerError as error:
                    result["failed"] = str(error)
                result["passed"] = result["failed"] is None and seconds(result) <= LIMIT
                raw["results"].append(result)
                say(describe(result))
        finally:
            worker.kill()
    return raw


def seconds(result: dict[str, Any]) -> float:
    """Planning, tracing and compiling together."""
    return result["plan_seconds"] + result["lower_seconds"] + result["compile_seconds"]


def describe(result: dict[str, Any]) -> str:
    """One result in a line."""
    head = f"{result['title']} on {result['devices']}"
    if result["failed"]:
        return f"{head}: FAILED, {result['failed']}"
    found = f"{seconds(result):.2f} s, limit {LIMIT:g}, peak {result['peak_chunks']} chunks"
    return f"{head}: {found}, {'pass' if result['passed'] else 'FAIL'}"


def wanted_plans(options: Options) -> list[dict[str, Any]]:
    """Name, input shape, dtype and options of every plan."""
    wanted = []
    for suffix, shapes in (("", options.one_axis), ("2", options.two_axes), ("n", options.all_axes)):
        for shape in shapes:
            wanted += [_plan(name + suffix, shape, "complex64") for name in COMPLEX_NAMES]
            wanted += [_half(name, suffix, shape) for name in HALF_NAMES]
            if suffix != "2":
                wanted += [
                    _plan(name + suffix, shape, "float32", type=kind) for name in TRIGONOMETRIC_NAMES for kind in TYPES
                ]
            if suffix == "":
                wanted += [_plan(name, shape, "float32", dln=8 / math.prod(shape), mu=0.5) for name in HANKEL_NAMES]
    return wanted


def _plan(transform: str, shape: tuple[int, ...], dtype: str, **options: Any) -> dict[str, Any]:
    return {"transform": transform, "shape": list(shape), "dtype": dtype, "options": options}


def _half(name: str, suffix: str, shape: tuple[int, ...]) -> dict[str, Any]:
    """To a half spectrum, or back from one to the shape."""
    if name in ("rfft", "ihfft"):
        return _plan(name + suffix, shape, "float32")
    size = {"n": shape[-1]} if suffix == "" else {"s": list(shape)}
    return _plan(name + suffix, (*shape[:-1], shape[-1] // 2 + 1), "complex64", **size)


def _title(transform: str, shape: list[int], dtype: str, options: dict[str, Any]) -> str:
    kind = f" type {options['type']}" if "type" in options else ""
    size = options.get("s", [options["n"]] if "n" in options else [])
    to = f" to {'x'.join(map(str, size))}" if size else ""
    return f"{transform}{kind}, {dtype} {'x'.join(map(str, shape))}{to}"
