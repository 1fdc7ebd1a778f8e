"""The command ``tpufft wisdom``: what tuning has kept, listed, copied to and from files, cleared."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tpufft.planning.show import format_seconds
from tpufft.planning.wisdom import Wisdom, add, clear, is_current, path, read, write


def print_list(*, as_json: bool) -> None:
    """Print what there is.

    Raises
    ------
    FileFormatError
        If the file is no wisdom.
    """
    source = path()
    found = read(source) if source.exists() else Wisdom()
    if as_json:
        entries = [
            asdict(entry) | {"key": key, "is_used_here": is_current(key)} for key, entry in found.entries.items()
        ]
        machines = [
            {"key": key, "rates": dict(rates), "is_used_here": is_current(key)} for key, rates in found.machines.items()
        ]
        print(json.dumps({"file": str(source), "plans": entries, "machines": machines}, indent=2))
        return
    console = Console(highlight=False)
    print(f"{source}: {len(found.entries)} plans, {len(found.machines)} calibrations")
    if found.entries:
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("plan", overflow="fold")
        table.add_column("median", justify="right", no_wrap=True)
        table.add_column("gain", justify="right")
        table.add_column("measured", no_wrap=True)
        table.add_column("used here")
        for key, entry in sorted(found.entries.items()):
            used = "yes" if is_current(key) else "no"
            table.add_row(entry.request, format_seconds(entry.seconds), f"{entry.gain:.2f}", entry.date[:10], used)
        console.print()
        console.print(table)
    if found.machines:
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("calibration of", overflow="fold")
        table.add_column("used here")
        for key in sorted(found.machines):
            table.add_row(key, "yes" if is_current(key) else "no")
        console.print()
        console.print(table)


def export_to(target: Path) -> None:
    """Write the user's wisdom into another file, whole or not at all.

    Raises
    ------
    FileFormatError
        If it is none.
    OSError
        If there is none, or `target` cannot be written.
    """
    found = read(path())
    write(target, found)
    print(f"{_counted(found)} written to {target}")


def import_from(source: Path) -> None:
    """Merge a file into the user's wisdom.

    Raises
    ------
    FileFormatError
        If either is no wisdom.
    OSError
        If one cannot be read or written.
    """
    found = read(source)
    add(found)
    foreign = sum(not is_current(key) for key in (*found.entries, *found.machines))
    note = f"; {foreign} of them are of other machines or versions, and have no effect here" if foreign else ""
    print(f"{_counted(found)} merged into {path()}{note}")


def remove() -> None:
    """Remove the user's wisdom."""
    print(f"{path()} removed" if clear() else f"there is no wisdom in {path()}")


def _counted(found: Wisdom) -> str:
    return f"{len(found.entries)} plans and {len(found.machines)} calibrations"
