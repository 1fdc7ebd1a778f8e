"""What a product costs: arithmetic, wire and memory of the contraction and of the steps around it."""

from __future__ import annotations

from tpufft.layout import Layout
from tpufft.planning.cost import StepCost, program_costs, program_seconds
from tpufft.planning.cost import peak_bytes as program_peak
from tpufft.planning.machine import Machine
from tpufft.steps import Contraction, ProductProgram, RingProduct, RingSum, Summa

ROUND_TRIP = (RingProduct, RingSum, Summa)
"""Contractions whose wire hides behind their products, where a device can do both at once."""

EMULATED_FLOPS = 28.0
"""Products of exact parts that make one product of doubles."""


def contraction_cost(
    contraction: Contraction, a: Layout, b: Layout, machine: Machine, *, emulated: bool = False
) -> StepCost:
    """Cost of the contraction itself, for one device."""
    flops = contraction.flops(a, b) * (EMULATED_FLOPS if emulated else 1.0)
    after = contraction.after(a, b)
    traffic = float(a.chunk_bytes + b.chunk_bytes + 2 * after.chunk_bytes + contraction.scratch_bytes(a, b))
    wire = contraction.wire_bytes(a, b)
    seconds = max(flops / machine.matmul_flops, traffic / machine.memory_bandwidth)
    count = sum(contraction.collectives(a, b).values())
    both_ways = getattr(contraction, "both_ways", False)
    moving = machine.permute_seconds(wire, count, both_ways) if count else 0.0
    # On hosts the same cores multiply and copy.
    hides = machine.name != "host" and isinstance(contraction, ROUND_TRIP)
    return StepCost(flops, traffic, wire, max(seconds, moving) if hides else seconds + moving)


def product_costs(program: ProductProgram, machine: Machine, *, emulated: bool) -> list[StepCost]:
    """The cost of every step on the operands, of the contraction, and of every step on the product."""
    return [
        *program_costs(program.a, machine),
        *program_costs(program.b, machine),
        contraction_cost(program.contraction, *program.meeting, machine, emulated=emulated),
        *program_costs(program.c, machine),
    ]


def product_seconds(program: ProductProgram, machine: Machine, *, emulated: bool) -> float:
    """Predicted time of all of it."""
    own = contraction_cost(program.contraction, *program.meeting, machine, emulated=emulated).seconds
    return own + sum(program_seconds(part, machine) for part in (program.a, program.b, program.c))


def product_peak(program: ProductProgram, *, emulated: bool) -> int:
    """Predicted peak of one device: operands, product, and temporaries that live at once."""
    operands = program.a.in_layout.chunk_bytes + program.b.in_layout.chunk_bytes
    a, b = program.meeting
    raw = program.contraction.after(a, b).chunk_bytes
    forms = 0
    if emulated or "c" in (a.dtype.kind, b.dtype.kind):
        forms = a.chunk_bytes + b.chunk_bytes + raw
    moved = sum(part.out_layout.chunk_bytes for part in (program.a, program.b) if part.steps)
    behind = program_peak(program.c, donated=False) - program.out_layout.chunk_bytes if program.c.steps else 0
    scratch = program.contraction.scratch_bytes(a, b)
    return operands + program.out_layout.chunk_bytes + moved + forms + max(scratch, behind)
