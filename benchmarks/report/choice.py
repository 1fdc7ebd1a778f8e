"""How good the model's choices are as Markdown."""

from __future__ import annotations

from typing import Any

from benchmarks.cases import Case
from benchmarks.choice import LIMIT, PART, share
from benchmarks.report.common import provenance, table, verdict


def choice_section(raw: dict[str, Any]) -> str:
    """The section of one measurement of choices."""
    results, settings = raw["results"], raw["settings"]
    lines = [
        "## The model's choice\n",
        provenance(raw, raw["versions"]),
        f"Candidates of each plan, chunked along the first axis, timed in turn ({settings['budget']:.0f} s each); how "
        "many times as long as the fastest the model's own choice takes, by its default rates and by those that "
        "`tpufft.calibrate` measures.\n",
        table(
            ["case", "devices", "candidates", "fastest, ms", "the fastest is", "by default rates", "by measured rates"],
            [_row(result) for result in results],
        ),
    ]
    for which in ("default", "calibrated"):
        good, count = share(results, which)
        lines.append(
            f"By {which} rates {good} of {count} choices are within {LIMIT} times the fastest; wanted {PART:.0%}: "
            f"{verdict(bool(count) and good >= PART * count)}.\n"
        )
    return "\n".join(lines)


def _row(result: dict[str, Any]) -> list[str]:
    head = [Case.parse(result["case"]).title, str(result["devices"])]
    if result["failed"]:
        return [*head, f"**failed: {result['failed']}**", "-", "-", "-", "-"]
    best = min(result["candidates"], key=lambda one: one["seconds"])
    ratios = [result[f"{which}_ratio"] for which in ("default", "calibrated")]
    told = ["not timed" if ratio is None else f"{ratio:.2f}" for ratio in ratios]
    return [*head, str(len(result["candidates"])), f"{best['seconds'] * 1e3:.2f}", best["key"], *told]
