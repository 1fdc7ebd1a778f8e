"""Markdown from raw results; nothing here measures."""

from __future__ import annotations

from typing import Any

from benchmarks.report.accuracy import accuracy_section
from benchmarks.report.choice import choice_section
from benchmarks.report.compilation import compilation_section
from benchmarks.report.dispatch import dispatch_section
from benchmarks.report.overhead import overhead_section
from benchmarks.report.products import products_section
from benchmarks.report.real import real_section
from benchmarks.report.speed import speed_section

HEAD = """# Benchmarks

Written by `python -m benchmarks report` from the raw files of this folder, which hold every single timing.
Run `make bench` to measure again.
"""


def markdown(raws: list[dict[str, Any]]) -> str:
    """A page with a section for each set of raw results.

    Parameters
    ----------
    raws : list of dict
        As ``benchmarks.store.read`` gives them.

    Raises
    ------
    ValueError
        For none, or a kind that has no section.
    """
    if not raws:
        raise ValueError("there are no raw results to report; run python -m benchmarks first, or name a raw file")
    return "\n".join([HEAD, *(_section(raw) for raw in raws)])


def _section(raw: dict[str, Any]) -> str:
    if raw["kind"].startswith("speed-"):
        return speed_section(raw)
    if raw["kind"].startswith("real-"):
        return real_section(raw)
    if raw["kind"].startswith("products-"):
        return products_section(raw)
    sections = {
        "accuracy": accuracy_section,
        "compilation": compilation_section,
        "overhead": overhead_section,
        "dispatch": dispatch_section,
        "choice": choice_section,
    }
    if raw["kind"] not in sections:
        known = ", ".join(("speed-*", "real-*", "products-*", *sections))
        raise ValueError(f"raw results of kind {raw['kind']!r} have no report; kinds are {known}")
    return sections[raw["kind"]](raw)
