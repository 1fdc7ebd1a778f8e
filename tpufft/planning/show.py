"""A plan in words: a line for each step, with the figure that matters for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jax.sharding import Mesh

from tpufft.layout import format_spec
from tpufft.planning.cost import StepCost, peak_bytes
from tpufft.planning.machine import host_cores
from tpufft.steps import Step

if TYPE_CHECKING:
    from tpufft.planning.plan import Plan

_WIDTH = 62


def describe(plan: Plan) -> str:
    """The text of ``print(plan)``."""
    problem, layout = plan.problem, plan.in_layout
    devices = layout.device_count
    head = f"{problem.name} {layout.dtype} {layout.shape} on {layout.describe()}, order {problem.order}"
    if plan.out_layout.shape != layout.shape:
        head += f", result {plan.out_layout.shape}"
    if plan.out_layout.spec != layout.spec:
        head += f", result chunked {format_spec(plan.out_layout.spec)}"
    lines = [head]
    for number, (step, before, cost) in enumerate(zip(plan.steps, plan.layouts, plan.costs(), strict=False), 1):
        text = f"{number:3d}  {step.describe(before)}"
        lines.append(f"{text:<{_WIDTH}} {_figure(step, cost, devices)}".rstrip())
    if not plan.steps:
        lines.append("  nothing to do")
    chunk = max(layout.chunk_bytes, 1)
    donated = peak_bytes(plan.bound.program, donated=True) / chunk
    peak = f"peak {format_bytes(plan.peak_bytes)} per device ({plan.peak_bytes / chunk:.1f} x its chunk"
    peak += ")" if plan.overwrite_x else f"; {donated:.1f} with overwrite_x)"
    lines.append(f"{peak} ; predicted {format_seconds(plan.predict())} on {_where(plan)}")
    return "\n".join(lines)


def format_bytes(count: float) -> str:
    """Bytes in the binary unit that keeps the number short."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def format_seconds(seconds: float) -> str:
    """Seconds with a unit that keeps the number short."""
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.2f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f} us"


def format_flops(flops: float) -> str:
    """FLOPs with a unit that keeps the number short."""
    for unit in ("FLOP", "kFLOP", "MFLOP", "GFLOP"):
        if flops < 1000:
            return f"{flops:.1f} {unit}"
        flops /= 1000
    return f"{flops:.1f} TFLOP"


def _figure(step: Step, cost: StepCost, devices: int) -> str:
    parts = []
    if cost.flops:
        parts.append(format_flops(cost.flops * devices))
    if cost.wire_bytes:
        parts.append(f"{format_bytes(cost.wire_bytes)} per device on the wire")
    return ", ".join(parts)


def _where(plan: Plan) -> str:
    name = plan.machine.name
    if name != "host":
        return f"this mesh of {name}"
    return "this host" if isinstance(plan.in_layout.mesh, Mesh) else f"a host of {host_cores()} cores"
