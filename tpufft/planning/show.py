"""A plan in words: a line for each step, with the figure that matters for it."""

from __future__ import annotations

from collections.abc import Sequence

from jax.sharding import Mesh

from tpufft.execution import Bound
from tpufft.layout import format_spec
from tpufft.meshes import host_cores
from tpufft.planning.cost import StepCost
from tpufft.planning.machine import Machine
from tpufft.planning.problem import Problem
from tpufft.steps import Exchange, Program, Step

_WIDTH = 62


def brief(program: Program) -> tuple[str, ...]:
    """A few words for each step, by which ways to do the same can be told apart."""
    return tuple(map(_brief, program.steps))


def _brief(step: Step) -> str:
    name = type(step).__name__.lower()
    if isinstance(step, Exchange):
        how = " in shared memory" if step.shared else ""
        return f"{name} {step.source} -> {step.target}{how}"
    axes = getattr(step, "axes", None)
    kernel = getattr(step, "kernel", None)
    words = [name, ",".join(map(str, axes)) if axes is not None else "", f"by {kernel}" if kernel else ""]
    return " ".join(filter(None, words))


def describe(
    problem: Problem, bound: Bound, costs: Sequence[StepCost], machine: Machine, peaks: tuple[int, int], donates: bool
) -> str:
    """The text of ``print(plan)``.

    Parameters
    ----------
    problem : Problem
        What is computed.
    bound : Bound
        Layouts and steps.
    costs : sequence of StepCost
        One for each step.
    machine : Machine
        What the costs are of.
    peaks : tuple of int
        Bytes of one device without and with donation.
    donates : bool
        Which of them holds.
    """
    layout, result = bound.in_layout, bound.out_layout
    head = f"{problem.name} {layout.dtype} {layout.shape} on {layout.describe()}, order {problem.order}"
    if result.shape != layout.shape:
        head += f", result {result.shape}"
    if result.spec != layout.spec:
        head += f", result chunked {format_spec(result.spec)}"
    lines = [head]
    program = bound.program
    for number, (step, before, cost) in enumerate(zip(program.steps, program.layouts, costs, strict=False), 1):
        text = f"{number:3d}  {step.describe(before)}"
        lines.append(f"{text:<{_WIDTH}} {figure(cost, layout.device_count)}".rstrip())
    if not program.steps:
        lines.append("  nothing to do")
    chunk = max(layout.chunk_bytes, 1)
    peak = peaks[1] if donates else peaks[0]
    text = f"peak {format_bytes(peak)} per device ({peak / chunk:.1f} x its chunk"
    text += ")" if donates else f"; {peaks[1] / chunk:.1f} with overwrite_x)"
    seconds = sum(cost.seconds for cost in costs)
    lines.append(f"{text} ; predicted {format_seconds(seconds)} on {where(machine, isinstance(layout.mesh, Mesh))}")
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


def figure(cost: StepCost, devices: int) -> str:
    """The figure that matters for a step: arithmetic of all devices, bytes that each sends."""
    parts = []
    if cost.flops:
        parts.append(format_flops(cost.flops * devices))
    if cost.wire_bytes:
        parts.append(f"{format_bytes(cost.wire_bytes)} per device on the wire")
    return ", ".join(parts)


def where(machine: Machine, exists: bool) -> str:
    """What a prediction is for, as plans print it."""
    if machine.name != "host":
        return f"this mesh of {machine.name}"
    return "this host" if exists else f"a host of {host_cores()} cores"
