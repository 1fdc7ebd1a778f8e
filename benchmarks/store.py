"""Raw results: one JSON file for each measurement, with every single number in it."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.environment import ENVIRONMENTS

RESULTS = Path(__file__).parent / "results"
FORMAT = 1


def header(kind: str) -> dict[str, Any]:
    """What every raw file starts with."""
    return {
        "format": FORMAT,
        "kind": kind,
        "date": machine.now(),
        "revision": machine.revision(),
        "machine": machine.describe(),
        "load_before": machine.load(),
    }


def write(raw: dict[str, Any], folder: Path) -> Path:
    """Keep raw results as ``<date>-<kind>.json``, beside earlier ones of the same day."""
    raw["finished"], raw["load_after"] = machine.now(), machine.load()
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{raw['date'][:10]}-{raw['kind']}"
    path, count = folder / f"{stem}.json", 1
    while path.exists():
        count += 1
        path = folder / f"{stem}.{count}.json"
    partial = path.with_suffix(".partial")
    partial.write_text(_text(raw))
    os.replace(partial, path)
    return path


def read(path: Path) -> dict[str, Any]:
    """Raw results of a file.

    Raises
    ------
    ValueError
        For a file that holds none, or another format.
    """
    try:
        raw = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ValueError(f"raw file {path.name} cannot be read ({error}); name one that a benchmark wrote") from error
    if not isinstance(raw, dict) or raw.get("format") != FORMAT or "kind" not in raw:
        raise ValueError(f"raw file {path.name} is not of format {FORMAT}; name one that a benchmark wrote")
    return raw


def newest(folder: Path) -> list[dict[str, Any]]:
    """The latest raw results of every kind in a folder."""
    latest: dict[str, dict[str, Any]] = {}
    for raw in sorted((read(path) for path in folder.glob("*.json")), key=lambda raw: raw["date"]):
        latest[raw["kind"]] = raw
    return [latest[kind] for kind in sorted(latest, key=_place)]


def _text(raw: dict[str, Any]) -> str:
    """JSON that a person can read: indented, but with lists of numbers in a line."""
    number_list = re.compile(r"\[[\s\d.,e+-]*\]")
    return number_list.sub(lambda found: re.sub(r"\s+", " ", found[0]), json.dumps(raw, indent=1)) + "\n"


def _place(kind: str) -> tuple[int, str]:
    races = [f"{kind}-{environment}" for kind in ("speed", "real", "products") for environment in ENVIRONMENTS]
    order = (*races, "compilation", "accuracy", "overhead", "dispatch", "choice")
    return (order.index(kind) if kind in order else len(order), kind)
