"""The cost of calling a mapped function as Markdown."""

from __future__ import annotations

from typing import Any

from benchmarks.dispatch import LIMIT
from benchmarks.report.common import provenance, table, verdict
from benchmarks.spread import spread

_KINDS = ("shard_map", "sharded", "unsharded", "lists")


def dispatch_section(raw: dict[str, Any]) -> str:
    """The section of one measurement of mapped functions."""
    settings = raw["settings"]
    heads = ["devices, function", "shard_map, us", "smap, us", "of numpy arrays, us", "of lists, us", "overhead, us"]
    return "\n".join(
        [
            "## Calling a mapped function\n",
            provenance(raw, raw["versions"]),
            f"A function of chunks of ({settings['rows']}, {settings['columns']}) float32 numbers, by "
            "`jax.jit(jax.shard_map(...))` and by `tpufft.smap` with arguments that are on their devices, with numpy "
            f"arrays, and with lists of shards; {settings['turns']} calls of each in turn, each waited for; medians "
            "with quartiles. The last columns: what `smap` adds where arguments are on their devices, and tracings and "
            "compilations after the warm-up.\n",
            table([*heads, f"at most {LIMIT:.0f}", "traced or compiled"], [_row(result) for result in raw["results"]]),
        ]
    )


def _row(result: dict[str, Any]) -> list[str]:
    head = f"{result['devices']}, {'one all-reduce' if result['is_collective'] else 'nothing sent'}"
    if result["failed"]:
        return [head, *["-"] * len(_KINDS), f"**failed: {result['failed']}**", "-", "-"]
    spreads = [spread(result["us"][kind]) for kind in _KINDS]
    return [
        head,
        *(f"{each.median:.0f} ({each.lower:.0f} - {each.upper:.0f})" for each in spreads),
        f"{result['overhead_us']:.0f}",
        verdict(result["passed"]),
        str(result["compilations"]),
    ]
