"""Real, trigonometric and rough-size transforms as Markdown, each against the complex one beside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.real import LIMITED_DEVICES, PEAK_LIMITS, RATIO_LIMITS
from benchmarks.report.common import figures, provenance, table, verdict
from benchmarks.report.speed import MEMORY, OWN, left_out, medians
from benchmarks.spread import spread


def real_section(raw: dict[str, Any]) -> str:
    """The section of one measurement."""
    settings = raw["settings"]
    versions = {key: value for entry in raw["contestants"] for key, value in entry["versions"].items()}
    limits = list(kept_limits(raw))
    parts = [
        f"## Real, trigonometric and rough-size transforms, {settings['environment']} environment\n",
        provenance(raw, versions),
        f"Single precision, {MEMORY[settings['environment']]}. Every contestant has a long-lived process of its own, "
        f"in which the transforms of a table are called in turn, {settings['runs']} timed calls each after "
        f"{settings['warm_up']} for warm-up, {settings['pause']:g} s apart. `against` is the contestant's own median "
        "in parts of its median for the first transform of the table; the quartiles are those of the single turns. "
        "A size that the devices do not divide is chunked by `tpufft.chunk`; XLA refuses it. The peak is argument + "
        "output + temporary - alias bytes of a device's compiled program, in chunks: its share of the input. Errors "
        "are relative L2 against scipy.fft in float64.\n",
        *left_out(raw),
        *(["Wanted of tpufft:\n", *(f"* {line}" for line in limits), ""] if limits else []),
        *(_group(group, raw) for group in raw["groups"]),
    ]
    return "\n".join(parts)


def kept_limits(raw: dict[str, Any]) -> Iterator[str]:
    """What was promised, and whether it is kept."""
    key = (OWN, LIMITED_DEVICES)
    if LIMITED_DEVICES not in raw["settings"]["devices"]:
        return
    for group in raw["groups"]:
        yardstick = medians(group[0]).get(key)
        for case in group[1:]:
            found, head = medians(case).get(key), f"{case['title']} on {LIMITED_DEVICES} devices"
            if case["case"] in RATIO_LIMITS:
                limit = RATIO_LIMITS[case["case"]]
                if found is None or yardstick is None:
                    yield f"{head}: at most {limit:g}x the time of {group[0]['title']} wanted, not measured"
                else:
                    ratio = found.median / yardstick.median
                    outcome = f"{figures(ratio)}x the time of {group[0]['title']}, at most {limit:g}x wanted"
                    yield f"{head}: {outcome}: {verdict(ratio <= limit)}"
            if case["case"] in PEAK_LIMITS:
                limit = PEAK_LIMITS[case["case"]]
                peak = next((_peak(result, case) for result in case["results"] if _key(result) == key), None)
                if peak is None:
                    yield f"{head}: a peak of at most {limit:g} chunks wanted, not measured"
                else:
                    yield f"{head}: peak {peak:.1f} chunks, at most {limit:g} wanted: {verdict(peak <= limit)}"


def _group(group: list[dict[str, Any]], raw: dict[str, Any]) -> str:
    labels = {entry["name"]: entry["label"] for entry in raw["contestants"]}
    chunked = {entry["name"]: entry["chunked"] for entry in raw["contestants"]}
    yardsticks = {_key(result): result for result in group[0]["results"] if result["failed"] is None}
    rows, failures = [], []
    for case in group:
        for result in case["results"]:
            found = medians(case).get(_key(result))
            if found is None:
                failures.append(f"* {case['title']}, {labels[result['name']]}: {result['failed']}")
                continue
            peak = _peak(result, case)
            rows.append(
                [
                    case["title"],
                    labels[result["name"]],
                    str(result["devices"]) if chunked[result["name"]] else "-",
                    figures(found.median),
                    f"{figures(found.lower)} - {figures(found.upper)}",
                    *_against(result, yardsticks.get(_key(result))),
                    f"{result['error']:.1e}",
                    "-" if peak is None else f"{peak:.1f}",
                ]
            )
    heads = [
        "transform",
        "contestant",
        "devices",
        "median, ms",
        "quartiles",
        "against",
        "quartiles of it",
        "error",
        "peak, chunks",
    ]
    title = f"### Beside {group[0]['title']}\n"
    return "\n".join([title, table(heads, rows), *failures, *([""] if failures else [])])


def _against(result: dict[str, Any], yardstick: dict[str, Any] | None) -> tuple[str, str]:
    """Ratio of medians, and the quartiles of the ratios of single turns."""
    if yardstick is None or not yardstick["seconds"]:
        return "-", "-"
    ratio = spread(result["seconds"]).median / spread(yardstick["seconds"]).median
    turns = spread([own / other for own, other in zip(result["seconds"], yardstick["seconds"], strict=False)])
    return figures(ratio), f"{figures(turns.lower)} - {figures(turns.upper)}"


def _peak(result: dict[str, Any], case: dict[str, Any]) -> float | None:
    return result["peak_bytes"] * result["devices"] / case["bytes"] if result.get("peak_bytes") else None


def _key(result: dict[str, Any]) -> tuple[str, int]:
    return result["name"], result["devices"]
