"""Compile times as Markdown, the slowest first."""

from __future__ import annotations

from typing import Any

from benchmarks.compilation import LIMIT, seconds
from benchmarks.report.common import figures, provenance, table, verdict
from benchmarks.spread import spread

#: Rows of the table; the others are in the raw file.
SLOWEST = 20


def compilation_section(raw: dict[str, Any]) -> str:
    """The section of one measurement of compile times."""
    done = [result for result in raw["results"] if result["failed"] is None]
    slowest = sorted(done, key=seconds, reverse=True)[:SLOWEST]
    failed = [result for result in raw["results"] if result["failed"] is not None]
    passed = sum(result["passed"] for result in raw["results"])
    parts = [
        "## Compile time\n",
        provenance(raw, raw["versions"]),
        f"Planning, tracing and compiling of single transforms on forced host devices, the first "
        f"axis chunked, nothing cached, each once. At most {LIMIT:g} s is wanted: {passed} of {len(raw['results'])} "
        "pass. The peak is argument + output + temporary - alias bytes of a device, in chunks of the input.\n",
    ]
    if done:
        times = spread([seconds(result) for result in done])
        parts += [
            f"Median {figures(times.median)} s, quartiles {figures(times.lower)} - {figures(times.upper)} s. "
            f"The slowest {len(slowest)}:\n",
            table(
                [
                    "transform",
                    "devices",
                    "plan, s",
                    "trace, s",
                    "compile, s",
                    "together, s",
                    f"at most {LIMIT:g}",
                    "peak, chunks",
                ],
                [_row(result) for result in slowest],
            ),
        ]
    if failed:
        parts += [
            "Failed:\n",
            *(f"* {result['title']} on {result['devices']}: {result['failed']}" for result in failed),
            "",
        ]
    return "\n".join(parts)


def _row(result: dict[str, Any]) -> list[str]:
    stages = [result[f"{stage}_seconds"] for stage in ("plan", "lower", "compile")]
    peak = "-" if result["peak_chunks"] is None else f"{result['peak_chunks']:.1f}"
    return [
        result["title"],
        str(result["devices"]),
        *(f"{stage:.2f}" for stage in stages),
        f"{seconds(result):.2f}",
        verdict(result["passed"]),
        peak,
    ]
