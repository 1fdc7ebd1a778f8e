"""The cost of eager calls as Markdown."""

from __future__ import annotations

from typing import Any

from benchmarks.overhead import LIMIT
from benchmarks.report.common import provenance, table, verdict
from benchmarks.spread import spread


def overhead_section(raw: dict[str, Any]) -> str:
    """The section of one overhead measurement."""
    rows = [_row(result) for result in raw["results"]]
    heads = [
        "case",
        "devices",
        "compiled, us",
        "eager, us",
        "quartiles of eager",
        "overhead, us",
        f"at most {LIMIT:.0f}",
        "loop: compiled, us",
        "loop: eager, us",
        "traced or compiled",
    ]
    settings = raw["settings"]
    return "\n".join(
        [
            "## Overhead of an eager call\n",
            provenance(raw, raw["versions"]),
            f"`tpufft.fftn(x, mesh)` beside the program of `plan.compile()` on the same array, {settings['pairs']} "
            "calls of each in turn, each waited for; medians. The loops are of "
            f"{settings['loop']} dependent calls, of which only the last is waited for, per call (median of "
            f"{settings['repeats']} loops). The last column counts tracings and compilations after the warm-up.\n",
            table(heads, rows),
        ]
    )


def _row(result: dict[str, Any]) -> list[str]:
    head = [result["case"], str(result["devices"])]
    if result["failed"]:
        return [*head, "-", "-", "-", "-", f"**failed: {result['failed']}**", "-", "-", "-"]
    pairs, loops = result["pairs"], result["loops"]
    eager = spread(pairs["eager_us"])
    return [
        *head,
        f"{spread(pairs['bare_us']).median:.0f}",
        f"{eager.median:.0f}",
        f"{eager.lower:.0f} - {eager.upper:.0f}",
        str(round(result["overhead_us"])),
        verdict(result["passed"]),
        f"{spread(loops['bare_us']).median:.0f}",
        f"{spread(loops['eager_us']).median:.0f}",
        str(loops["compilations"]),
    ]
