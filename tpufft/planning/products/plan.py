"""The plan of a product: operands' layouts, how they meet, the product's layout. It prints, costs itself, and runs."""

from __future__ import annotations

import functools
from typing import Any

import jax
from jax.sharding import Mesh
from jax.stages import Compiled, Lowered

from tpufft.execution import compiled_function
from tpufft.kernels.product import EMULATED
from tpufft.layout import Layout, format_spec
from tpufft.planning import hlo
from tpufft.planning.cost import StepCost
from tpufft.planning.machine import Machine, machine_of
from tpufft.planning.products.cost import product_costs, product_peak
from tpufft.planning.products.request import ProductRequest, candidates_of, machine
from tpufft.planning.products.search import ProductCandidate
from tpufft.planning.show import figure, format_bytes, format_seconds, where
from tpufft.steps import Contraction, ProductProgram, Program

_WIDTH = 78


class ProductPlan:
    """A planned product of two arrays; made by :func:`tpufft.plan_matmul` and :func:`tpufft.plan_einsum`.

    A plan is data: two plans are equal when they do the same between the same layouts.

    Parameters
    ----------
    request : ProductRequest
        What was asked for.
    number : int
        Which of the candidates this is.
    """

    def __init__(self, request: ProductRequest, number: int = 0) -> None:
        self._request = request
        self._number = number

    # -- what it is ------------------------------------------------------------------------------------------------

    @property
    def in_layouts(self) -> tuple[Layout, Layout]:
        """Where the operands live."""
        return self._request.a, self._request.b

    @property
    def out_layout(self) -> Layout:
        """Where the product lives."""
        return self._request.c

    @property
    def program(self) -> ProductProgram:
        """What every device does."""
        return self._candidate.program

    @property
    def contraction(self) -> Contraction:
        """How the operands meet."""
        return self.program.contraction

    @property
    def schedule(self) -> str:
        """In a word: ``local ring bidirectional reduce summa gather``."""
        return self.contraction.schedule

    @property
    def candidates(self) -> tuple[ProductPlan, ...]:
        """All plans that were considered, the one with the least predicted time first."""
        return tuple(ProductPlan(self._request, number) for number in range(len(candidates_of(self._request))))

    # -- what it costs ----------------------------------------------------------------------------------------------

    @property
    def flops(self) -> float:
        """Arithmetic of all devices together."""
        return sum(item.flops for item in self.costs()) * self.out_layout.device_count

    @property
    def wire_bytes(self) -> int:
        """Bytes that each device sends."""
        return self.program.wire_bytes

    @property
    def peak_bytes(self) -> int:
        """Predicted peak of one device: operands, product and temporaries."""
        return product_peak(self.program, emulated=self._emulated)

    @property
    def machine(self) -> Machine:
        """What the plan was chosen for: rates of one device."""
        return machine(self._request)

    def costs(self, kind: str | None = None) -> list[StepCost]:
        """What each line of the plan costs one device."""
        chosen = self.machine if kind is None else machine_of(self.out_layout.mesh, kind)
        return product_costs(self.program, chosen, emulated=self._emulated)

    def predict(self, kind: str | None = None) -> float:
        """Predicted seconds of one product.

        Parameters
        ----------
        kind : str, optional
            A TPU generation: ``"v3"``, ``"v4"``, ``"v5e"``, ``"v5p"``, ``"v6e"``. None: the mesh's own devices.

        Returns
        -------
        float
            Seconds, from a model of arithmetic, memory and wire; a prediction, never a measurement.
        """
        return sum(item.seconds for item in self.costs(kind))

    # -- compiling it -----------------------------------------------------------------------------------------------

    def lower(self) -> Lowered:
        """The plan's program, lowered by JAX for the mesh."""
        arguments = (
            jax.ShapeDtypeStruct(layout.stored_shape, layout.dtype, sharding=layout.sharding)
            for layout in self.in_layouts
        )
        return compiled_function(self._request.bound_to(self._candidate)).lower(*arguments)

    def compile(self) -> Compiled:
        """The plan's program, compiled by JAX for the mesh; compiled once."""
        return self._compiled

    def hlo_collectives(self) -> dict[str, int]:
        """How often each HLO collective is executed, from the compiled program's text and its loops' trip counts."""
        return hlo.executed_collectives(self.compile().as_text() or "")

    def report(self) -> dict[str, Any]:
        """What the plan says of itself and what the compiled program says, as plain data.

        Returns
        -------
        dict
            ``terms``, ``schedule``, ``layouts``, ``steps`` (text, FLOPs, bytes, predicted seconds),
            ``predicted_seconds``, ``peak_bytes`` (predicted), ``compiled`` (peak in bytes, collectives).
        """
        steps = [
            {
                "text": text,
                "flops": cost.flops,
                "memory_bytes": cost.memory_bytes,
                "wire_bytes": cost.wire_bytes,
                "predicted_seconds": cost.seconds,
            }
            for text, cost in zip(self._lines(), self.costs(), strict=True)
        ]
        return {
            "terms": str(self._request.terms),
            "schedule": self.schedule,
            "layouts": [str(layout) for layout in (*self.in_layouts, self.out_layout)],
            "steps": steps,
            "predicted_seconds": self.predict(),
            "peak_bytes": self.peak_bytes,
            "compiled": {"peak_bytes": hlo.peak_bytes(self.compile()), "collectives": self.hlo_collectives()},
        }

    # -- comparing and printing ---------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ProductPlan) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    def __str__(self) -> str:
        a, b = self.in_layouts
        out, terms = self.out_layout, self._request.terms
        mesh = ", ".join(f"{name}={size}" for name, size in out.mesh.shape.items())
        lines = [
            f"product {terms} on mesh {mesh}",
            f"  a {a.dtype} {a.shape} chunked {format_spec(a.spec)}",
            f"  b {b.dtype} {b.shape} chunked {format_spec(b.spec)}",
        ]
        for number, (text, cost) in enumerate(zip(self._lines(), self.costs(), strict=True), 1):
            line = f"{number:3d}  {text}"
            lines.append(f"{line:<{_WIDTH}} {figure(cost, out.device_count)}".rstrip())
        lines.append(f"  c {out.dtype} {out.shape} chunked {format_spec(out.spec)}")
        seconds = format_seconds(self.predict())
        on = where(self.machine, isinstance(out.mesh, Mesh))
        lines.append(f"peak {format_bytes(self.peak_bytes)} per device ; predicted {seconds} on {on}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<ProductPlan {self._request.terms} by {self.schedule}>"

    def _lines(self) -> list[str]:
        """A text for every step and the contraction, in the order of the costs."""
        program = self.program

        def texts(part: Program, whose: str) -> list[str]:
            pairs = zip(part.steps, part.layouts, strict=False)
            return [f"{step.describe(layout)} of {whose}" for step, layout in pairs]

        return [
            *texts(program.a, "a"),
            *texts(program.b, "b"),
            program.contraction.describe(*program.meeting),
            *texts(program.c, "c"),
        ]

    @property
    def _candidate(self) -> ProductCandidate:
        return candidates_of(self._request)[self._number]

    @property
    def _emulated(self) -> bool:
        return self._request.precision == EMULATED

    @property
    def _identity(self) -> tuple[object, ...]:
        return self.in_layouts, self.program, self.out_layout, self._request.precision

    @functools.cached_property
    def _compiled(self) -> Compiled:
        return self.lower().compile()
