"""What the command says at the end: the plan, where the time went, memory, and the largest peaks."""

from __future__ import annotations

import json
import math
import resource
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from tpufft.jobs import Peak, StepTime
from tpufft.planning import Plan
from tpufft.planning.show import format_bytes, format_flops, format_seconds

_WIDTH_WITHOUT_TERMINAL = 120


@dataclass(frozen=True)
class Summary:
    """A finished job."""

    plan: Plan
    source: str
    target: str
    source_dtype: np.dtype
    peaks: list[Peak]
    steps: list[StepTime]
    read_seconds: float
    compile_seconds: float
    write_seconds: float
    total_seconds: float
    plot: str | None

    @property
    def transform_seconds(self) -> float:
        """Time of all steps."""
        return sum(step.seconds for step in self.steps)

    @property
    def points(self) -> int:
        """Elements of the result."""
        return self.plan.out_layout.size

    @property
    def source_bytes(self) -> int:
        """Bytes of the input array."""
        return self.plan.in_layout.size * self.source_dtype.itemsize

    @property
    def target_bytes(self) -> int:
        """Bytes of the result."""
        return self.points * self.plan.out_layout.dtype.itemsize

    def seconds_by_class(self) -> dict[str, tuple[int, float]]:
        """Number of steps and their time for each class of steps, in the plan's order."""
        classes: dict[str, tuple[int, float]] = {}
        for step in self.steps:
            count, seconds = classes.get(step.name, (0, 0.0))
            classes[step.name] = (count + 1, seconds + step.seconds)
        return classes


def print_summary(summary: Summary, *, as_json: bool) -> None:
    """Print a summary to standard output."""
    if as_json:
        print(json.dumps(as_data(summary), indent=2))
        return
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_WIDTH_WITHOUT_TERMINAL)
    console.print(str(summary.plan), markup=False, soft_wrap=True)
    console.print()
    console.print(_times_table(summary))
    console.print()
    for line in _figures(summary):
        console.print(line, markup=False, soft_wrap=True)
    console.print()
    console.print(_peaks_table(summary))
    console.print(
        f"wrote {summary.target}" + (f" and {summary.plot}" if summary.plot else ""), markup=False, soft_wrap=True
    )


def as_data(summary: Summary) -> dict[str, Any]:
    """The summary as plain data, as ``--json`` prints it."""
    plan = summary.plan
    return {
        "input": {
            "path": summary.source,
            "dtype": str(summary.source_dtype),
            "shape": list(plan.in_layout.shape),
            "bytes": summary.source_bytes,
        },
        "output": {
            "path": summary.target,
            "dtype": str(plan.out_layout.dtype),
            "shape": list(plan.out_layout.shape),
            "bytes": summary.target_bytes,
        },
        "plot": summary.plot,
        "plan": {
            "text": str(plan),
            "transform": plan.problem.name,
            "order": plan.problem.order,
            "mesh": dict(plan.in_layout.mesh.shape),
            "spec": [list(names) for names in plan.in_layout.spec],
            "result_spec": [list(names) for names in plan.out_layout.spec],
            "flops": plan.flops,
            "wire_bytes_per_device": plan.wire_bytes,
            "predicted_seconds": plan.predict(),
        },
        "seconds": {
            "read": summary.read_seconds,
            "compile": summary.compile_seconds,
            "transform": summary.transform_seconds,
            "write": summary.write_seconds,
            "total": summary.total_seconds,
        },
        "seconds_by_step_class": {name: seconds for name, (_, seconds) in summary.seconds_by_class().items()},
        "steps": [{"class": step.name, "text": step.text, "seconds": step.seconds} for step in summary.steps],
        "throughput": {
            "points_per_second": _rate(summary.points, summary.transform_seconds),
            "flops_per_second": _rate(plan.flops, summary.transform_seconds),
            "read_bytes_per_second": _rate(summary.source_bytes, summary.read_seconds),
            "write_bytes_per_second": _rate(summary.target_bytes, summary.write_seconds),
        },
        "peak_memory_bytes": {"process": process_peak_bytes(), "plan_per_device": plan.peak_bytes},
        "peaks": [
            {
                "index": list(peak.index),
                "frequency": list(peak.frequency),
                "magnitude": peak.magnitude,
                "mirrored": peak.mirrored,
            }
            for peak in summary.peaks
        ],
    }


def process_peak_bytes() -> int:
    """The most memory this process has had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _times_table(summary: Summary) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("phase")
    table.add_column("steps", justify="right")
    table.add_column("time", justify="right")
    table.add_column("", justify="right")
    table.add_row("read", "", format_seconds(summary.read_seconds), _speed(summary.source_bytes, summary.read_seconds))
    table.add_row("compile", "", format_seconds(summary.compile_seconds), "")
    for name, (count, seconds) in summary.seconds_by_class().items():
        share = _rate(100 * seconds, summary.transform_seconds)
        table.add_row(name, str(count), format_seconds(seconds), f"{share:.0f} % of the transform")
    table.add_row(
        "write", "", format_seconds(summary.write_seconds), _speed(summary.target_bytes, summary.write_seconds)
    )
    table.add_row("all", "", format_seconds(summary.total_seconds), "")
    return table


def _figures(summary: Summary) -> list[str]:
    seconds = summary.transform_seconds
    points = _rate(summary.points, seconds)
    return [
        f"throughput  {points / 1e6:.1f} million points/s, {format_flops(_rate(summary.plan.flops, seconds))}/s "
        f"in {format_seconds(seconds)} of transform",
        f"memory      peak of the process {format_bytes(process_peak_bytes())}; "
        f"of the plan {format_bytes(summary.plan.peak_bytes)} per device",
    ]


def _peaks_table(summary: Summary) -> Table | str:
    if not summary.peaks:
        return "no peaks: every value is zero or not finite"
    with_frequency = any(value is not None for value in summary.peaks[0].frequency)
    table = Table(box=None, pad_edge=False, header_style="bold", title_justify="left", title_style="")
    table.add_column("largest peaks at" if with_frequency else "largest values at")
    if with_frequency:
        table.add_column("cycles per sample")
    table.add_column("magnitude", justify="right")
    for peak in summary.peaks:
        index = ", ".join(map(str, peak.index))
        cells = [_frequency_text(peak)] if with_frequency else []
        table.add_row(index, *cells, f"{peak.magnitude:.6g}")
    return table


def _frequency_text(peak: Peak) -> str:
    values = ", ".join("-" if value is None else f"{value:+.6g}" if value else "0" for value in peak.frequency)
    return f"±({values})" if peak.mirrored else values


def _speed(count: int, seconds: float) -> str:
    return f"{format_bytes(_rate(count, seconds))}/s"


def _rate(amount: float, seconds: float) -> float:
    return amount / seconds if seconds > 0 and math.isfinite(amount) else 0.0
