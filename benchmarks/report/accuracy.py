"""The errors as Markdown, each against its limit."""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks.accuracy import FACTORS, FLOOR, RING_LIMIT, RING_SIZE
from benchmarks.report.common import provenance, table, verdict


def accuracy_section(raw: dict[str, Any]) -> str:
    """The section of one accuracy measurement."""
    kernels = [result for result in raw["tpufft"] if "kernel" in result]
    columns = list(dict.fromkeys((result["kernel"], result["chunks"]) for result in kernels))
    found = {(result["kernel"], result["chunks"], result["n"]): result for result in kernels}
    rows = [
        [size, f"{statistics.median(errors):.2e}"] + [_cell(found.get((*column, int(size)))) for column in columns]
        for size, errors in raw["scipy"].items()
    ]
    limits = ", ".join(f"{factor:g} times scipy's for {kernel}" for kernel, factor in FACTORS.items())
    failed = [result for result in raw["tpufft"] if not result["passed"]]
    parts = [
        "## Accuracy\n",
        provenance(raw, raw["versions"]),
        f"Relative L2 error of `tpufft.fft` in complex64 against numpy in complex128, normal random input, median of "
        f"{len(raw['settings']['seeds'])} seeds, beside `scipy.fft` in complex64. Allowed: {limits}, plus {FLOOR:.0e}. "
        f"{len(raw['tpufft']) - len(failed)} of {len(raw['tpufft'])} pass; the others are bold.\n",
        table(["N", "scipy.fft", *(f"{kernel}, {_chunks(count)}" for kernel, count in columns)], rows),
    ]
    for result in raw["tpufft"]:
        if result.get("method") == "ring":
            outcome = result["failed"] or f"{result['median']:.2e}"
            parts.append(
                f"N = {RING_SIZE} by the DFT matrix through the ring, {_chunks(result['chunks'])}: {outcome}, "
                f"limit {RING_LIMIT:.0e}: {verdict(result['passed'])}\n"
            )
    return "\n".join(parts)


def _cell(result: dict[str, Any] | None) -> str:
    if result is None:
        return "-"
    text = f"{result['median']:.2e}" if result["failed"] is None else "failed"
    return text if result["passed"] else f"**{text}**"


def _chunks(count: int) -> str:
    return "1 device" if count == 1 else f"{count} chunks"
