"""Products of matrices as Markdown: every schedule beside numpy's product and XLA's."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from benchmarks.products import LIMITED, MEMORY_LIMITS, TIME_LIMITS, Case
from benchmarks.report.common import figures, provenance, table, verdict
from benchmarks.report.speed import MEMORY
from benchmarks.spread import Spread, spread

#: The contestant to which the limits belong.
OWN = "ring"
LABELS = {
    "numpy": "numpy, one array",
    "xla": "`jax.jit(jnp.matmul)`, XLA-partitioned",
    "ring": "tpufft, ring",
    "bidirectional": "tpufft, bidirectional",
    "gather": "tpufft, gather",
    "summa": "tpufft, summa",
}
TITLES = {
    "rows": "a @ b, both row-chunked",
    "gram": "a.T @ b, both row-chunked",
    "blocks": "a @ b, both in blocks over two mesh axes",
}
_SHORT = {"collective-permute": "permute"}


def products_section(raw: dict[str, Any]) -> str:
    """The section of one measurement."""
    settings = raw["settings"]
    limits = list(kept_limits(raw))
    groups = itertools.groupby(
        sorted(raw["cases"], key=lambda case: (list(TITLES).index(case["kind"]), case["dtype"] != "float32")),
        key=lambda case: (case["kind"], case["dtype"]),
    )
    parts = [
        f"## Products of matrices, {settings['environment']} environment\n",
        provenance(raw, raw["versions"]),
        f"Square matrices of normal numbers, {MEMORY[settings['environment']]}. Every product has a fresh process with "
        "so many forced host devices, in which all contestants of a table's lines are called in turn, on the same "
        f"cores and the same numbers: {settings['runs']} timed calls each after {settings['warm_up']} for warm-up, "
        f"{settings['pause']:g} s apart. Forced devices share the cores of this one machine. `against` is the "
        "contestant's median in parts of the other's, with the quartiles of single turns. Temporaries and "
        "peak (argument + output + temporary - alias bytes) are those of a device's compiled program, in chunks: its "
        "share of one operand. Collectives are those executed, counted in the compiled program. GFLOP/s count four "
        "real products for a complex one, whoever takes fewer. Errors are relative L2 of some rows against double "
        "precision. `gather` of a.T @ b is a local product and one exchange of the parts.\n",
        *(["Wanted of the ring:\n", *(f"* {line}" for line in limits), ""] if limits else []),
        *(_table(kind, dtype, list(cases)) for (kind, dtype), cases in groups),
    ]
    return "\n".join(parts)


def kept_limits(raw: dict[str, Any]) -> Iterator[str]:
    """What was promised, and whether it is kept."""
    for case in raw["cases"]:
        if (case["kind"], case["size"], case["devices"]) != LIMITED:
            continue
        times, results = _times(case), {result["name"]: result for result in case["results"]}
        for name, limit in TIME_LIMITS[case["dtype"]].items():
            if OWN not in times or name not in times:
                yield f"{case['title']}: at most {limit:g}x the time of {name} wanted, not measured"
                continue
            ratio = times[OWN].median / times[name].median
            outcome = f"{figures(ratio)}x the time of {name}, at most {limit:g}x wanted"
            yield f"{case['title']}: {outcome}: {verdict(ratio <= limit)}"
        own = _chunks(results.get(OWN), "temp_bytes", case)
        limit = MEMORY_LIMITS[case["dtype"]]
        if own is None:
            yield f"{case['title']}: at most {limit:g} chunks of temporaries wanted, not measured"
            continue
        yield f"{case['title']}: {own:.2f} chunks of temporaries, at most {limit:g} wanted: {verdict(own <= limit)}"
        peak, other = (_chunks(results.get(name), "peak_bytes", case) for name in (OWN, "xla"))
        if peak is not None and other is not None:
            outcome = f"peak {peak:.2f} chunks, less than XLA's {other:.2f} wanted"
            yield f"{case['title']}: {outcome}: {verdict(peak < other)}"


def _table(kind: str, dtype: str, cases: list[dict[str, Any]]) -> str:
    rows, failures = [], []
    for case in cases:
        times = _times(case)
        flops = Case(case["kind"], case["size"], case["dtype"], case["devices"]).flops
        for result in case["results"]:
            if result["name"] not in times:
                failures.append(f"* {case['title']}, {LABELS[result['name']]}: {result['failed']}")
                continue
            own = times[result["name"]]
            rows.append(
                [
                    str(case["size"]),
                    _mesh(case),
                    LABELS[result["name"]],
                    figures(own.median),
                    f"{figures(own.lower)} - {figures(own.upper)}",
                    figures(flops / own.median * 1e-6),
                    *(_against(result, case, name) for name in ("xla", "numpy")),
                    *(_cell(_chunks(result, field, case)) for field in ("temp_bytes", "peak_bytes")),
                    _collectives(result),
                    f"{result['error']:.1e}",
                ]
            )
    heads = [
        "size",
        "devices",
        "contestant",
        "median, ms",
        "quartiles",
        "GFLOP/s",
        "against XLA",
        "against numpy",
        "temporaries, chunks",
        "peak, chunks",
        "collectives",
        "error",
    ]
    return "\n".join([f"### {TITLES[kind]}, {dtype}\n", table(heads, rows), *failures, *([""] if failures else [])])


def _times(case: dict[str, Any]) -> dict[str, Spread]:
    """Milliseconds of every contestant that finished."""
    return {
        result["name"]: spread([1e3 * seconds for seconds in result["seconds"]])
        for result in case["results"]
        if result["failed"] is None and result["seconds"]
    }


def _against(result: dict[str, Any], case: dict[str, Any], name: str) -> str:
    """The ratio of medians, and the quartiles of the ratios of single turns."""
    other = next((each for each in case["results"] if each["name"] == name and each["failed"] is None), None)
    if other is None or not other["seconds"] or result["name"] == name:
        return "-"
    ratio = spread(result["seconds"]).median / spread(other["seconds"]).median
    turns = spread([own / its for own, its in zip(result["seconds"], other["seconds"], strict=False)])
    return f"{figures(ratio)} ({figures(turns.lower)} - {figures(turns.upper)})"


def _chunks(result: dict[str, Any] | None, field: str, case: dict[str, Any]) -> float | None:
    if result is None or result.get(field) is None:
        return None
    return result[field] / Case(case["kind"], case["size"], case["dtype"], case["devices"]).chunk_bytes


def _cell(chunks: float | None) -> str:
    return "-" if chunks is None else f"{chunks:.2f}"


def _collectives(result: dict[str, Any]) -> str:
    counts = result.get("collectives")
    if counts is None:
        return "-"
    return ", ".join(f"{count} {_SHORT.get(name, name)}" for name, count in counts.items()) or "none"


def _mesh(case: dict[str, Any]) -> str:
    return " x ".join(map(str, case["grid"])) if case["kind"] == "blocks" else str(case["devices"])
