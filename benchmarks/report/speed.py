"""The race as Markdown, with what tpufft wins and what it loses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.cases import TARGETS
from benchmarks.report.common import figures, provenance, table, verdict
from benchmarks.spread import Spread, spread

REFERENCE, OWN = "xla-partitioned", "tpufft"
MEMORY = {
    "default": "the C library's own handling of freed memory",
    "kept-memory": "freed memory kept for the next allocation (`MALLOC_*` set for all contestants alike)",
}
#: A contestant and the devices it ran on.
Key = tuple[str, int]


def speed_section(raw: dict[str, Any]) -> str:
    """The section of one race."""
    environment = raw["settings"]["environment"]
    versions = {key: value for entry in raw["contestants"] for key, value in entry["versions"].items()}
    settings = raw["settings"]
    parts = [
        f"## Speed, {environment} environment\n",
        provenance(raw, versions),
        f"Single precision, {MEMORY[environment]}. Every contestant has a long-lived process of its own; they are "
        f"called in turn, {settings['runs']} timed calls each after {settings['warm_up']} for warm-up, "
        f"{settings['pause']:g} s apart. A contestant on several devices gets its array chunked along the first axis "
        "on forced host devices of this one machine: such devices share its cores, so more of them cost time and bring "
        "none. The error is relative L2 against a float64 transform. The peak is argument + output + temporary - alias "
        "bytes of a device's compiled program, in chunks: its share of the input.\n",
        *left_out(raw),
        _standing(raw),
        *(_case(case, raw) for case in raw["cases"]),
    ]
    return "\n".join(parts)


def medians(case: dict[str, Any]) -> dict[Key, Spread]:
    """Milliseconds of every contestant that finished."""
    return {
        (result["name"], result["devices"]): spread([1e3 * seconds for seconds in result["seconds"]])
        for result in case["results"]
        if result["failed"] is None and result["seconds"]
    }


def losses(raw: dict[str, Any]) -> list[str]:
    """Where tpufft is slower, a line for each case and device count."""
    lines = []
    for case in raw["cases"]:
        times = medians(case)
        for (name, devices), own in times.items():
            if name != OWN:
                continue
            faster = [
                f"{_short(key)} ({figures(own.median / other.median, 2)}x)"
                for key, other in times.items()
                if key[0] != OWN and _comparable(key, devices, raw) and other.median < own.median
            ]
            if faster:
                lines.append(f"{case['title']} on {_devices(devices)}: {', '.join(faster)}")
    return lines


def targets(raw: dict[str, Any]) -> Iterator[str]:
    """What was promised against XLA's partitioned transform, and whether it is kept."""
    for case in raw["cases"]:
        times = medians(case)
        for (name, devices), least in TARGETS.items():
            if name != case["case"] or devices not in raw["settings"]["devices"]:
                continue
            if (OWN, devices) not in times or (REFERENCE, devices) not in times:
                yield f"{case['title']} on {_devices(devices)}: at least {least:g}x wanted, not measured"
                continue
            ratio = times[REFERENCE, devices].median / times[OWN, devices].median
            found = f"{figures(ratio)}x, at least {least:g}x wanted: {verdict(ratio >= least)}"
            yield f"{case['title']} on {_devices(devices)}: {found}"


def _standing(raw: dict[str, Any]) -> str:
    names = list(dict.fromkeys(entry["name"] for entry in raw["contestants"] if entry["name"] != OWN))
    rows = []
    for case in raw["cases"]:
        times = medians(case)
        for (name, devices), own in times.items():
            if name == OWN:
                cells = [_ratio(_find(times, other, devices, raw), own) for other in names]
                rows.append([case["title"], str(devices), figures(own.median), *cells])
    if not rows:
        return "### Where tpufft stands\n\nNo measurement of tpufft is among these results.\n"
    lost, promised = losses(raw), list(targets(raw))
    return "\n".join(
        [
            "### Where tpufft stands\n",
            "How many times as long the others take as tpufft does, medians (XLA's and jaxDecomp's on the same device "
            "count, the others on the whole machine). Below 1, in bold, tpufft is the slower one.\n",
            table(["case", "devices", "tpufft, ms", *names], rows),
            *(["Against XLA's partitioned transform:\n", *(f"* {line}" for line in promised), ""] if promised else []),
            "tpufft is slower than:\n" if lost else "tpufft is slower than none of them.\n",
            *(f"* {line}" for line in lost),
            "",
        ]
    )


def _case(case: dict[str, Any], raw: dict[str, Any]) -> str:
    times = medians(case)
    labels = {entry["name"]: entry["label"] for entry in raw["contestants"]}
    rows, failures = [], []
    for result in case["results"]:
        key = (result["name"], result["devices"])
        if key not in times:
            failures.append(f"* {_short(key)} failed: {result['failed']}")
            continue
        own, reference = times[key], times.get((REFERENCE, result["devices"]))
        chunk = case["bytes"] / result["devices"]
        devices = str(result["devices"]) if _chunked(result["name"], raw) else "-"
        rows.append(
            [
                labels[result["name"]] + _remark(result),
                devices,
                figures(own.median),
                f"{figures(own.lower)} - {figures(own.upper)}",
                f"{figures(own.least)} - {figures(own.greatest)}",
                f"{figures(reference.median / own.median)}x" if reference else "-",
                f"{result['error']:.1e}",
                f"{result['peak_bytes'] / chunk:.1f}" if result.get("peak_bytes") else "-",
            ]
        )
    heads = [
        "contestant",
        "devices",
        "median, ms",
        "quartiles",
        "least - greatest",
        "against XLA-partitioned",
        "error",
        "peak, chunks",
    ]
    return "\n".join([f"### {case['title']}\n", table(heads, rows), *failures, *([""] if failures else [])])


def left_out(raw: dict[str, Any]) -> list[str]:
    """Lines that name the contestants that did not take part, and why."""
    reasons = {entry["name"]: entry["left_out"] for entry in raw["contestants"] if entry["left_out"]}
    return ["Left out:\n", *(f"* {name}: {reason}" for name, reason in reasons.items()), ""] if reasons else []


def _find(times: dict[Key, Spread], name: str, devices: int, raw: dict[str, Any]) -> Spread | None:
    return times.get((name, devices if _chunked(name, raw) else 1))


def _comparable(key: Key, devices: int, raw: dict[str, Any]) -> bool:
    return key[1] == devices or not _chunked(key[0], raw)


def _chunked(name: str, raw: dict[str, Any]) -> bool:
    return any(entry["chunked"] for entry in raw["contestants"] if entry["name"] == name)


def _ratio(other: Spread | None, own: Spread) -> str:
    if other is None:
        return "-"
    ratio = other.median / own.median
    return figures(ratio) if ratio >= 1 else f"**{figures(ratio)}**"


def _remark(result: dict[str, Any]) -> str:
    notes, several = result.get("notes", {}), result["devices"] > 1
    if several and "mesh" in notes:
        return f" ({' x '.join(map(str, notes['mesh']))})"
    if several and notes.get("output_replicated"):
        return " (output whole on every device)"
    return " (chunking lost)" if several and notes.get("chunking_kept") is False else ""


def _short(key: Key) -> str:
    return key[0] if key[1] == 1 else f"{key[0]} on {key[1]}"


def _devices(count: int) -> str:
    return "1 device" if count == 1 else f"{count} devices"
