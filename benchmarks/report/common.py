"""What every section says: tables, and what was measured on what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; the first column to the left, the others to the right."""
    lines = [heads, ["---"] + ["---:"] * (len(heads) - 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def provenance(raw: dict[str, Any], versions: dict[str, str | None]) -> str:
    """Date, revision, machine and versions in a paragraph."""
    machine, revision = raw["machine"], raw["revision"]
    commit = (revision["commit"] or "not in git")[:12] + (" with changes" if revision["modified"] else "")
    governor = machine["governor"] or "not readable"
    named = ", ".join(f"{name} {number}" for name, number in sorted(versions.items()) if number)
    busy = " **The machine was busy.**" if raw["load_before"][0] > 0.5 * machine["cores"] else ""
    return (
        f"{raw['date'][:16].replace('T', ' ')} UTC, revision {commit}. {machine['cpu']}, {machine['cores']} cores, "
        f"{machine['memory_mib'] / 1024:.0f} GiB, {machine['kernel']}, {machine['os']}, governor {governor}, "
        f"load before {raw['load_before'][0]}.{busy} Python {machine['python']}, {named}.\n"
    )


def verdict(passed: bool) -> str:
    """A word that stands out where it is bad news."""
    return "pass" if passed else "**FAIL**"


def figures(value: float, digits: int = 3) -> str:
    """A number to so many figures, never with an exponent."""
    if value == 0:
        return "0"
    magnitude = f"{value:.{digits - 1}e}".split("e")[1]
    return f"{value:.{max(0, digits - 1 - int(magnitude))}f}"
