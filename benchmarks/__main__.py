"""The benchmark's command line: ``python -m benchmarks [speed|real|products|...|all|report]``."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from benchmarks import accuracy, choice, compilation, dispatch, overhead, products, real, speed, store
from benchmarks.cases import CASES, DEVICES, QUICK_CASES, Case
from benchmarks.contestants import CONTESTANTS, contestant_class
from benchmarks.environment import ENVIRONMENTS
from benchmarks.report import markdown
from benchmarks.turns import Turns

MEASURES = ("speed", "real", "products", "compilation", "accuracy", "overhead", "dispatch", "choice")

Kind = TypeVar("Kind", bound=Turns)

_BOTH = ",".join(ENVIRONMENTS)


def main(arguments: list[str] | None = None) -> int:
    """Measure or report; returns the exit status."""
    options = _parser().parse_args(arguments)
    try:
        return _report(options) if options.command == "report" else _measure(options)
    except ValueError as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("benchmarks: interrupted, nothing kept of the measurement under way", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "command",
        nargs="?",
        default="speed",
        choices=(*MEASURES, "all", "report"),
        help="what to measure (default: speed, the race), or report: Markdown from raw files",
    )
    parser.add_argument("files", nargs="*", type=Path, help="report: raw files (default: the newest of each kind)")
    parser.add_argument("--quick", action="store_true", help="tiny sizes and few runs; keeps nothing without --output")
    parser.add_argument(
        "--cases",
        help=f"shapes, comma between them (default: {','.join(CASES)}), or transforms, "
        "as rfftn:64x64; real: one group, compared with its first; "
        f"products: some of {','.join(products.KINDS)}",
    )
    parser.add_argument("--sizes", help="products: rows of the matrices (default: 1024,2048,4096)")
    parser.add_argument("--dtypes", help=f"products: some of {','.join(products.DTYPES)}")
    parser.add_argument(
        "--contestants",
        help=f"some of {','.join(CONTESTANTS)}; products: some of {','.join(products.CONTESTANTS)}",
    )
    parser.add_argument(
        "--devices",
        help=f"device counts (default: {','.join(map(str, DEVICES))}; real and compilation: {real.LIMITED_DEVICES}; "
        "products: 2,4,8)",
    )
    parser.add_argument("--runs", type=int, help="timed calls of each contestant (default: 9, products: 7)")
    parser.add_argument("--pause", type=float, help="seconds between two calls of the race (default: 0.25)")
    parser.add_argument(
        "--environment",
        help=f"one or several of {','.join(ENVIRONMENTS)} (default: one after the other, products: default)",
    )
    parser.add_argument("--largest", type=int, help="accuracy: the largest size (default: 2^20)")
    parser.add_argument("--output", type=Path, help="folder for raw files and README.md (default: benchmarks/results)")
    return parser


def _measure(options: argparse.Namespace) -> int:
    if options.files:
        raise ValueError(f"{options.command} takes no files, got {options.files[0]}; raw files are for report")
    jobs = _jobs(options)
    folder = options.output or (None if options.quick else store.RESULTS)
    start = time.monotonic()

    def say(line: str) -> None:
        print(f"[{time.monotonic() - start:5.0f} s] {line}", file=sys.stderr, flush=True)

    raws = []
    for job in jobs:
        raw = job(say)
        raws.append(raw)
        if folder is not None:
            say(f"raw results: {store.write(raw, folder).name}")
    print(markdown(raws))
    if folder is not None:
        (folder / "README.md").write_text(markdown(store.newest(folder)))
    return 0


def _jobs(options: argparse.Namespace) -> list[Callable[[Callable[[str], None]], dict[str, Any]]]:
    """One function for each raw file; bad options fail here, before anything runs."""
    wanted = MEASURES if options.command == "all" else (options.command,)
    jobs: list[Callable[[Callable[[str], None]], dict[str, Any]]] = []
    if "speed" in wanted:
        for environment in _list(options.environment or _BOTH):
            race = _race_options(options, environment)
            jobs.append(lambda say, race=race: speed.race(race, say))
    if "real" in wanted:
        for environment in _list(options.environment or _BOTH):
            timed = _real_options(options, environment)
            jobs.append(lambda say, timed=timed: real.measure(timed, say))
    if "products" in wanted:
        for environment in _list(options.environment or "default"):
            multiplied = _product_options(options, environment)
            jobs.append(lambda say, multiplied=multiplied: products.measure(multiplied, say))
    if "compilation" in wanted:
        compiled = _compilation_options(options)
        jobs.append(lambda say: compilation.measure(compiled, say))
    if "accuracy" in wanted:
        exact = _accuracy_options(options)
        jobs.append(lambda say: accuracy.measure(exact, say))
    if "overhead" in wanted:
        calls = _overhead_options(options)
        jobs.append(lambda say: overhead.measure(calls, say))
    if "dispatch" in wanted:
        mapped = dispatch.QUICK if options.quick else dispatch.Options()
        mapped = replace(mapped, devices=_devices(options) or mapped.devices)
        jobs.append(lambda say: dispatch.measure(mapped, say))
    if "choice" in wanted:
        chosen = _choice_options(options)
        jobs.append(lambda say: choice.measure(chosen, say))
    return jobs


def _choice_options(options: argparse.Namespace) -> choice.Options:
    default = choice.QUICK if options.quick else choice.Options()
    # of all measurements, --cases names those of the race
    cases = _cases(options) if options.command == "choice" else ()
    environment = _known(options.environment or default.environment)
    return replace(
        default, cases=cases or default.cases, devices=_devices(options) or default.devices, environment=environment
    )


def _race_options(options: argparse.Namespace, environment: str) -> speed.Options:
    cases = _cases(options) or (QUICK_CASES if options.quick else speed.Options().cases)
    return replace(_turns(options, environment, speed.Options(), quick_devices=(1, 2)), cases=cases)


def _real_options(options: argparse.Namespace, environment: str) -> real.Options:
    # of all measurements, --cases names those of the race
    asked = _cases(options) if options.command == "real" else ()
    groups = (asked,) if asked else real.QUICK_GROUPS if options.quick else real.GROUPS
    return replace(_turns(options, environment, real.Options(), quick_devices=(2,)), groups=groups)


def _product_options(options: argparse.Namespace, environment: str) -> products.Options:
    default = products.QUICK if options.quick else products.Options()
    # of all measurements, --cases and --contestants name those of the race
    own = options.command == "products"
    return replace(
        default,
        kinds=(tuple(_list(options.cases)) if own else ()) or default.kinds,
        sizes=_counts("--sizes", options.sizes) or default.sizes,
        dtypes=tuple(_list(options.dtypes)) or default.dtypes,
        devices=_devices(options) or default.devices,
        contestants=(tuple(_list(options.contestants)) if own else ()) or default.contestants,
        runs=options.runs if options.runs is not None else default.runs,
        pause=options.pause if options.pause is not None else default.pause,
        environment=_known(environment),
    )


def _turns(options: argparse.Namespace, environment: str, default: Kind, quick_devices: tuple[int, ...]) -> Kind:
    """The default with what was asked for of everything that is called in turn."""
    contestants = tuple(_list(options.contestants)) or default.contestants
    for name in contestants:
        contestant_class(name)
    runs = options.runs if options.runs is not None else 3 if options.quick else default.runs
    if runs < 1:
        raise ValueError(f"--runs {runs}: at least 1 timed call is needed")
    return replace(
        default,
        contestants=contestants,
        devices=_devices(options) or (quick_devices if options.quick else default.devices),
        runs=runs,
        warm_up=1 if options.quick else default.warm_up,
        pause=options.pause if options.pause is not None else 0.0 if options.quick else default.pause,
        environment=_known(environment),
    )


def _known(environment: str) -> str:
    if environment not in ENVIRONMENTS:
        raise ValueError(f"--environment {environment} is unknown; use {' or '.join(ENVIRONMENTS)}")
    return environment


def _compilation_options(options: argparse.Namespace) -> compilation.Options:
    default = compilation.QUICK if options.quick else compilation.Options()
    return replace(default, devices=_devices(options) or default.devices)


def _accuracy_options(options: argparse.Namespace) -> accuracy.Options:
    default = accuracy.Options()
    largest = options.largest if options.largest is not None else 256 if options.quick else default.largest
    if largest < 2:
        raise ValueError(f"--largest {largest}: the smallest size is 2")
    seeds = default.seeds[:2] if options.quick else default.seeds
    return accuracy.Options(largest, _devices(options) or default.chunks, seeds, ring=largest >= accuracy.RING_SIZE)


def _overhead_options(options: argparse.Namespace) -> overhead.Options:
    default = overhead.Options()
    counts = (20, 50, 1) if options.quick else (default.pairs, default.loop, default.repeats)
    for name in _cases(options):
        if Case.parse(name).transform != "fftn":
            raise ValueError(f"--cases {name}: the overhead is that of fftn; name shapes alone, as 16x16")
    return overhead.Options(_cases(options) or default.cases, _devices(options) or default.devices, *counts)


def _report(options: argparse.Namespace) -> int:
    raws = [store.read(path) for path in options.files]
    if raws:
        print(markdown(raws))
        return 0
    folder = options.output or store.RESULTS
    (folder / "README.md").write_text(markdown(store.newest(folder)))
    return 0


def _cases(options: argparse.Namespace) -> tuple[str, ...]:
    return tuple(Case.parse(name).name for name in _list(options.cases))


def _devices(options: argparse.Namespace) -> tuple[int, ...]:
    return _counts("--devices", options.devices)


def _counts(option: str, text: str | None) -> tuple[int, ...]:
    for count in _list(text):
        if not count.isdigit() or int(count) < 1:
            what, example = ("device count", "1,2,8") if option == "--devices" else ("size", "1024,4096")
            raise ValueError(f"{option} {text}: {count!r} is no {what}; use some as {example}")
    return tuple(int(count) for count in _list(text))


def _list(text: str | None) -> list[str]:
    return [item.strip() for item in (text or "").split(",") if item.strip()]


if __name__ == "__main__":
    sys.exit(main())
