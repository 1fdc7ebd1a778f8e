"""What steps cost: FLOPs, passes over memory, bytes on the wire, latency; and from them seconds on a machine."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tpufft.kernels import KERNELS, matmul, real, samples, trig
from tpufft.layout import Layout
from tpufft.planning.machine import Machine
from tpufft.steps import (
    AsComplex,
    AsReal,
    ChirpSpectrum,
    Collect,
    Copy,
    Deinterleave,
    Diagonal,
    Exchange,
    Fold,
    Interleave,
    Local,
    LocalReal,
    LocalTrig,
    Merge,
    Nonuniform,
    Pad,
    Part,
    Program,
    RealPart,
    Rearrange,
    Ring,
    Split,
    Spread,
    Step,
    Trim,
    Twiddle,
    Unfold,
    Widen,
    half,
)

PASSES = (
    Twiddle,
    Pad,
    Trim,
    Copy,
    Interleave,
    Deinterleave,
    Diagonal,
    Fold,
    Unfold,
    Widen,
    RealPart,
    AsReal,
    AsComplex,
)
"""Steps that read a chunk and write one."""

KERNEL_STEPS = (Local, LocalReal, LocalTrig)
"""Steps that a kernel does."""

PERMUTING = (Copy, Rearrange, Collect, Spread)
"""Steps that send parts of a chunk to other devices."""


_CHAINED = (Split, Merge, Local, Exchange, Twiddle, Interleave, Deinterleave)
"""Steps of complex transforms that hold no more than their input and output."""


@dataclass(frozen=True)
class StepCost:
    """One step on one device.

    Parameters
    ----------
    flops : float
        Arithmetic.
    memory_bytes : float
        Bytes read and written.
    wire_bytes : int
        Bytes sent.
    seconds : float
        Time on the machine.
    """

    flops: float
    memory_bytes: float
    wire_bytes: int
    seconds: float


def step_cost(step: Step, layout: Layout, machine: Machine) -> StepCost:
    """Cost of a step that starts in `layout`, for one device."""
    flops = step_flops(step, layout)
    traffic = memory_passes(step, layout) * layout.chunk_bytes
    wire = step.wire_bytes(layout)
    memory = traffic / machine.memory_bandwidth
    if isinstance(step, KERNEL_STEPS) and step.kernel == "host":
        # In place, no new page is touched: the rate was measured with its passes over memory.
        seconds = machine.call_latency + _arithmetic_seconds(step, layout, flops, machine)
    else:
        seconds = max(_arithmetic_seconds(step, layout, flops, machine), memory)
    if isinstance(step, Exchange) and step.shared:
        seconds = machine.shared_seconds(layout.chunk_bytes)
    elif isinstance(step, Exchange):
        seconds += machine.exchange_seconds(layout.chunk_bytes, layout.device_count_along(step.names))
    elif isinstance(step, Ring | Nonuniform):
        # The wire hides behind the products, or the products behind the wire.
        permutes = layout.parts[step.axis] - 1
        seconds = max(seconds, machine.permute_seconds(wire, permutes, step.both_ways))
    elif isinstance(step, PERMUTING):
        seconds += machine.permute_seconds(wire, sum(step.collectives(layout).values()), both_ways=False)
    elif isinstance(step, ChirpSpectrum):
        seconds += program_seconds(step.line, machine)
    return StepCost(flops, traffic, wire, seconds)


def program_seconds(program: Program, machine: Machine) -> float:
    """Predicted time of a whole program."""
    return sum(cost.seconds for cost in program_costs(program, machine))


def program_costs(program: Program, machine: Machine) -> list[StepCost]:
    """The cost of each step."""
    return [step_cost(step, layout, machine) for step, layout in zip(program.steps, program.layouts, strict=False)]


def step_flops(step: Step, layout: Layout) -> float:
    """Arithmetic of one device."""
    size = layout.chunk_size
    if isinstance(step, Local):
        lengths = [layout.shape[axis] for axis in step.axes]
        return sum(KERNELS[step.kernel].flops(n, size // n) for n in lengths) if size else 0.0
    if isinstance(step, LocalReal):
        return _real_flops(step, layout)
    if isinstance(step, LocalTrig):
        n = layout.shape[step.axis]
        planes = 2 if layout.dtype.kind == "c" else 1
        return planes * trig.flops(step.kernel, n, step.kind, size // n) if size else 0.0
    if isinstance(step, Ring):
        return 8.0 * layout.shape[step.axis] * size
    if isinstance(step, Nonuniform):
        work = _samples(step, layout)
        return work.products + work.phases
    if isinstance(step, ChirpSpectrum):
        return 6.0 * size + sum(step_flops(*pair) for pair in zip(step.line.steps, step.line.layouts, strict=False))
    return 6.0 * size if isinstance(step, Twiddle | Diagonal) else 0.0


def _samples(step: Nonuniform, layout: Layout) -> samples.Work:
    """Of all blocks of one device, each its rows by the columns that come by, or the other way round."""
    n, m, parts = layout.chunk_shape[step.axis], step.after(layout).chunk_shape[step.axis], layout.parts[step.axis]
    one = samples.work(step.rows, step.columns, m, n, layout.chunk_size / max(n, 1))
    return one._replace(products=parts * one.products, phases=parts * one.phases)


def _sample_panel(step: Nonuniform, layout: Layout) -> float:
    n, m = layout.chunk_shape[step.axis], step.after(layout).chunk_shape[step.axis]
    batch, itemsize = layout.chunk_size / max(n, 1), layout.dtype.itemsize // 2
    return samples.panel_bytes(step.rows, step.columns, m, n, batch, itemsize)


def _real_flops(step: LocalReal, layout: Layout) -> float:
    after = step.after(layout)
    spectrum = layout.chunk_size if step.to_real else after.chunk_size
    if not spectrum:
        return 0.0
    lengths = [layout.shape[axis] for axis in step.axes[:-1]]
    others = sum(KERNELS[step.kernel].flops(n, spectrum // n) for n in lengths)
    return others + real.flops(step.kernel, step.size, spectrum // half(step.size))


def memory_passes(step: Step, layout: Layout) -> float:
    """How often a step reads or writes a chunk."""
    if isinstance(step, Local | LocalReal):
        if step.kernel == "matmul":
            return sum(4.0 + 4.0 * len(matmul.radices(layout.shape[axis])) for axis in step.axes)
        if step.kernel == "host":
            return 2.0 * len(step.axes)
        return sum(2.0 if axis == layout.rank - 1 else 4.0 for axis in step.axes)
    if isinstance(step, LocalTrig):
        return 8.0
    if isinstance(step, Exchange) and step.shared:
        return 2.0
    if isinstance(step, Exchange | Collect | Spread | Rearrange):
        return 4.0
    if isinstance(step, Ring | Nonuniform):
        return 3.0 * layout.parts[step.axis]
    if isinstance(step, ChirpSpectrum):
        return 4.0
    if isinstance(step, Part):
        return 2.0 / layout.device_count_along(step.names)
    return 2.0 if isinstance(step, PASSES) else 0.0


def peak_bytes(program: Program, *, donated: bool) -> int:
    """Predicted peak of one device: argument, result and temporaries that live at once.

    The argument lives throughout unless it is donated, and then serves as the result where both have one size; every
    step holds its input and its output, and what :func:`scratch_chunks` says.
    """
    chunks = [layout.chunk_bytes for layout in program.layouts]
    if len(set(chunks)) == 1 and all(isinstance(step, _CHAINED) and _is_chained(step) for step in program.steps):
        return chunks[0] * _chain_chunks(program, donated)
    argument, result = chunks[0], chunks[-1]
    temporary = 0.0
    last = len(program.steps) - 1
    for number, (step, layout) in enumerate(zip(program.steps, program.layouts, strict=False)):
        live = scratch_chunks(step, layout) * max(chunks[number], chunks[number + 1])
        live += chunks[number] if number > 0 else 0
        live += chunks[number + 1] if number < last else 0
        temporary = max(temporary, live)
    alias = result if donated and program.in_layout.fits_in(program.out_layout) else 0
    return int(argument + result + temporary - alias)


def _is_chained(step: Step) -> bool:
    """Whether a step takes one buffer and leaves one, with nothing besides."""
    return step.shared if isinstance(step, Exchange) else getattr(step, "kernel", None) != "matmul"


def _chain_chunks(program: Program, donated: bool) -> int:
    """Buffers of a program in which each step makes one of the one before or works in it, as the compiler assigns them.

    It gives the first temporary the result's buffer, and goes on in turn with one more, so that it takes a second one
    where the last but one comes to be the result's own.
    """
    hops, owned = 0, donated
    hosts = any(isinstance(step, Local) and step.kernel == "host" for step in program.steps)
    for step in program.steps:
        in_place = isinstance(step, Local) and step.kernel == "host" and owned
        hops += isinstance(step, Exchange | Interleave | Deinterleave | Local) and not in_place
        owned = owned or not isinstance(step, Split | Merge)
    if donated:
        # A factor's product is written beside an operand that a library's call has worked in.
        beside = any(isinstance(step, Twiddle) for step in program.steps) and hosts
        return 1 + (0 if not hops else 2 if beside or (hops % 2 and hops > 1) else 1)
    return 2 + (0 if hops < 2 else 1 if hops == 2 or hops % 2 else 2)


def scratch_chunks(step: Step, layout: Layout) -> float:
    """Chunks that a step needs besides its input and output."""
    if isinstance(step, Ring):
        # Planes on the way in and out, the chunk that comes next, two partial products; and the shared block.
        n = layout.chunk_shape[step.axis]
        return 6.0 + n * n * layout.dtype.itemsize / max(layout.chunk_bytes, 1)
    if isinstance(step, Nonuniform):
        # The like, of argument and result each; and a panel.
        return 6.0 + _sample_panel(step, layout) / max(layout.chunk_bytes, 1)
    if isinstance(step, Local | LocalReal | LocalTrig) and step.kernel == "matmul":
        return 0.5
    if isinstance(step, PERMUTING) and step.collectives(layout):
        return 2.0
    if isinstance(step, ChirpSpectrum):
        return 2.0 * step.line.in_layout.chunk_bytes / max(layout.chunk_bytes, 1)
    return 0.0


def _trailing(axes: tuple[int, ...], rank: int) -> bool:
    return sorted(axes) == list(range(rank - len(axes), rank))


def _arithmetic_seconds(step: Step, layout: Layout, flops: float, machine: Machine) -> float:
    if isinstance(step, Nonuniform):
        work = _samples(step, layout)
        products = 2.0 * work.products / (machine.matmul_flops * min(1.0, (1 + work.batch) / machine.matmul_width))
        return products + work.phases / machine.fft_flops
    if isinstance(step, Ring):
        batch = layout.chunk_size / layout.chunk_shape[step.axis]
        return 2.0 * flops / (machine.matmul_flops * min(1.0, (1 + batch) / machine.matmul_width))
    if isinstance(step, LocalTrig):
        rates = {"xla": machine.fft_flops, "host": machine.library_flops, "matmul": machine.matmul_flops / 2}
        return flops / rates[step.kernel]
    if isinstance(step, Local | LocalReal) and step.kernel == "matmul":
        radices = [radix for axis in step.axes for radix in matmul.radices(layout.shape[axis]) or (1,)]
        mean = math.prod(radices) ** (1 / max(len(radices), 1))
        return flops / (machine.matmul_flops * min(1.0, 2 * mean / machine.matmul_width) / 2)
    if isinstance(step, Local | LocalReal) and step.kernel == "host":
        return flops / machine.library_flops
    if isinstance(step, Local | LocalReal):
        strided = not _trailing(step.axes, layout.rank)
        return flops / machine.fft_flops * (machine.strided_penalty if strided else 1.0)
    return 0.0
