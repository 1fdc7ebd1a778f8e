"""The plan: the input layout, a sequence of steps, the output layout. It prints, compares, costs itself, and runs."""

from __future__ import annotations

import functools
from typing import Any, cast

import jax
import numpy as np
from jax.core import Tracer
from jax.stages import Compiled, Lowered

from tpufft.chunked import ChunkedArray
from tpufft.execution import Bound, apply, call, compiled_function, enter, presented, run_stored
from tpufft.layout import Layout
from tpufft.planning import cost, hlo
from tpufft.planning.frequencies import bins_of, frequencies
from tpufft.planning.machine import Machine, machine_of
from tpufft.planning.problem import Problem
from tpufft.planning.request import Chosen, Request, plan_of
from tpufft.planning.search import Candidate
from tpufft.planning.show import describe
from tpufft.planning.words import check_axis, widest_float
from tpufft.steps import Step


class Plan:
    """A planned transform; made by :func:`tpufft.plan`.

    A plan is data: two plans are equal when they do the same steps between the same layouts. Calling it transforms an
    array that lives in :attr:`in_layout` (others are moved there first) and returns one that lives in
    :attr:`out_layout`. It is linear, and can be used under every JAX transformation.

    Parameters
    ----------
    request : Request
        What was asked for.
    chosen : Chosen
        What planning made of it.
    overwrite_x : bool
        Whether a call donates its argument.
    number : int
        Which of the candidates this is.
    """

    def __init__(self, request: Request, chosen: Chosen, *, overwrite_x: bool = False, number: int = 0) -> None:
        self._request = request
        self._chosen = chosen
        self._number = number
        self.overwrite_x = overwrite_x

    # -- what it is ------------------------------------------------------------------------------------------------

    @property
    def problem(self) -> Problem:
        """What is computed."""
        return self._request.problem

    @property
    def in_layout(self) -> Layout:
        """Where the argument lives."""
        return self._chosen.in_layout

    @property
    def out_layout(self) -> Layout:
        """Where the result lives."""
        return self._chosen.out_layout

    @property
    def steps(self) -> tuple[Step, ...]:
        """What every device does, in order."""
        return self._candidate.program.steps

    @property
    def layouts(self) -> tuple[Layout, ...]:
        """The layout before each step, and the last one's result; mesh axes of size 1 left out."""
        return self._candidate.program.layouts

    @property
    def bound(self) -> Bound:
        """Layouts and steps as ``execution`` takes them."""
        return Bound(self.in_layout, self._candidate.program, self.out_layout)

    @property
    def candidates(self) -> tuple[Plan, ...]:
        """All plans that were considered, by predicted time; what tuning found to be the fastest comes first."""
        return tuple(
            Plan(self._request, self._chosen, overwrite_x=self.overwrite_x, number=number)
            for number in range(len(self._chosen.candidates))
        )

    @property
    def inverse(self) -> Plan:
        """The plan of the inverse transform, from the output layout back to the input's chunking.

        It keeps the transformed lengths: after ``n=`` or ``s=`` it gives the padded or cut array, as in numpy.
        """
        problem = self.problem.inverted()
        given = self.in_layout.spec if problem.order == "natural" else None
        side = self.out_layout if problem.spec_is_of_input else self.in_layout
        request = Request(problem, side.mesh, side.spec, given)
        return make_plan(request)

    @property
    def pinned_request(self) -> Request:
        """What was asked for, with mesh and chunking of both sides as they were decided."""
        problem = self.problem
        given = self.out_layout.spec if problem.order == "natural" else None
        side = self.in_layout if problem.spec_is_of_input else self.out_layout
        return Request(problem, side.mesh, side.spec, given)

    def with_candidates(self, chosen: Chosen, number: int) -> Plan:
        """The same request done in another way."""
        return Plan(self._request, chosen, overwrite_x=self.overwrite_x, number=number)

    # -- what it costs ----------------------------------------------------------------------------------------------

    @property
    def flops(self) -> float:
        """Arithmetic of all devices together."""
        return sum(item.flops for item in self.costs()) * self.in_layout.device_count

    @property
    def wire_bytes(self) -> int:
        """Bytes that each device sends."""
        return self._candidate.program.wire_bytes

    @property
    def peak_bytes(self) -> int:
        """Predicted peak of one device: argument, result and temporaries, less what is aliased."""
        return cost.peak_bytes(self._candidate.program, donated=self.overwrite_x)

    @property
    def machine(self) -> Machine:
        """What the plan was chosen for: rates of one device."""
        return self._chosen.machine

    def costs(self, kind: str | None = None) -> list[cost.StepCost]:
        """What each step costs one device: FLOPs, bytes in memory and on the wire, predicted seconds."""
        machine = self.machine if kind is None else machine_of(self.in_layout.mesh, kind)
        return cost.program_costs(self._candidate.program, machine)

    def predict(self, kind: str | None = None) -> float:
        """Predicted seconds of one call.

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

    # -- running it -------------------------------------------------------------------------------------------------

    def __call__(self, x: jax.Array | np.ndarray | ChunkedArray) -> jax.Array | ChunkedArray:
        """Transform `x`.

        Parameters
        ----------
        x : array
            Of the planned shape; any dtype that JAX promotes to the planned one.

        Returns
        -------
        jax.Array or ChunkedArray
            In :attr:`out_layout`; a ChunkedArray where that has padding.

        Raises
        ------
        ValueError
            For another shape.
        TypeError
            For complex numbers where the plan takes real ones.
        """
        if tuple(x.shape) != self.in_layout.shape:
            raise ValueError(f"x has shape {tuple(x.shape)}; this plan transforms {self.in_layout.shape}")
        if np.dtype(x.dtype).kind == "c" and self.in_layout.dtype.kind != "c":
            raise TypeError(
                f"x is {x.dtype}; this plan transforms {self.in_layout.dtype}: give x.real and x.imag apart"
            )
        operator = _Fixed(self)
        if isinstance(x, ChunkedArray) or not (self.in_layout.is_even and self.out_layout.is_even):
            return run_stored(operator, x, self.in_layout, self.out_layout, donate=self.overwrite_x)
        if isinstance(x, Tracer):
            return apply(operator, enter(cast(jax.Array, x), self.in_layout).astype(self.in_layout.dtype))
        placed = jax.device_put(x, self.in_layout.sharding) if not isinstance(x, jax.Array) else x
        same = placed.dtype == self.in_layout.dtype
        placed = placed if same else placed.astype(self.in_layout.dtype)
        return call(operator, placed, donate=self.overwrite_x or not same)

    def lower(self) -> Lowered:
        """The plan's program, lowered by JAX for the mesh."""
        layout = self.in_layout
        argument = jax.ShapeDtypeStruct(layout.stored_shape, layout.dtype, sharding=layout.sharding)
        return compiled_function(self.bound, donate=self.overwrite_x).lower(argument)

    def compile(self) -> Compiled:
        """The plan's program, compiled by JAX for the mesh; compiled once."""
        return self._compiled

    def hlo_collectives(self) -> dict[str, int]:
        """How often each HLO collective is executed, from the compiled program's text and its loops' trip counts.

        A dict from opcode to number; an exchange by copies in shared memory, which is none, counts as
        ``shared-exchange``.
        """
        return hlo.executed_collectives(self.compile().as_text() or "")

    def report(self) -> dict[str, Any]:
        """What the plan says of itself and what the compiled program says, as plain data.

        Returns
        -------
        dict
            ``transform``, ``layouts``, ``steps`` (name, text, FLOPs, bytes, predicted seconds), ``predicted_seconds``,
            ``peak_bytes`` (predicted), ``compiled`` (peak in bytes and in chunks, collectives).
        """
        memory = hlo.peak_bytes(self.compile())
        steps = [
            {
                "name": type(step).__name__,
                "text": step.describe(layout),
                "flops": item.flops,
                "memory_bytes": item.memory_bytes,
                "wire_bytes": item.wire_bytes,
                "predicted_seconds": item.seconds,
            }
            for step, layout, item in zip(self.steps, self.layouts, self.costs(), strict=False)
        ]
        return {
            "transform": self.problem.name,
            "in_layout": str(self.in_layout),
            "out_layout": str(self.out_layout),
            "steps": steps,
            "predicted_seconds": self.predict(),
            "peak_bytes": self.peak_bytes,
            "compiled": {
                "peak_bytes": memory,
                "peak_chunks": memory / max(self.in_layout.chunk_bytes, 1),
                "collectives": self.hlo_collectives(),
            },
        }

    def frequencies(self, axis: int = -1, d: float = 1.0) -> jax.Array | ChunkedArray:
        """The frequency of every element stored along an axis of the spectrum.

        Parameters
        ----------
        axis : int
            A transformed axis.
        d : float
            Sample spacing.

        Returns
        -------
        jax.Array or ChunkedArray
            1-D, in cycles per unit of `d`, chunked as that axis of the spectrum is, in its order. Of cosine and sine
            transforms those of the cosines and sines, by type.
        """
        spectrum = self.in_layout if self.problem.is_inverse else self.out_layout
        axis = check_axis(axis, spectrum.rank)
        if axis not in self.problem.transformed_axes:
            raise ValueError(f"axis={axis} is not transformed; the plan transforms {self.problem.transformed_axes}")
        line = Layout.of((spectrum.shape[axis],), widest_float(), spectrum.mesh, (spectrum.spec[axis],))
        return presented(frequencies(line, d, self.problem.order, bins_of(self.problem, axis)), line)

    # -- comparing and printing ---------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and self._identity == other._identity

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        program = self._candidate.program
        peaks = (cost.peak_bytes(program, donated=False), cost.peak_bytes(program, donated=True))
        return describe(self.problem, self.bound, self.costs(), self.machine, peaks, self.overwrite_x)

    def __repr__(self) -> str:
        return f"<Plan {self.problem.name} {self.in_layout.dtype} {self.in_layout.shape} in {len(self.steps)} steps>"

    @property
    def _candidate(self) -> Candidate:
        return self._chosen.candidates[self._number]

    @property
    def _identity(self) -> tuple[object, ...]:
        return self.in_layout, self.steps, self.out_layout, self.overwrite_x

    @functools.cached_property
    def _hash(self) -> int:
        # Every call looks its program up by the plan; layouts and steps are long to hash.
        return hash(self._identity)

    @functools.cached_property
    def _compiled(self) -> Compiled:
        return self.lower().compile()


class _Fixed:
    """A plan as the primitive's operator: its layouts are decided, whatever the argument shows."""

    def __init__(self, plan: Plan, is_transposed: bool = False) -> None:
        self.plan = plan
        self.is_transposed = is_transposed

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Fixed) and (self.plan, self.is_transposed) == (other.plan, other.is_transposed)

    def __hash__(self) -> int:
        return hash((self.plan, self.is_transposed))

    def result(self) -> tuple[tuple[int, ...], np.dtype]:
        layout = self.plan.in_layout if self.is_transposed else self.plan.out_layout
        return layout.stored_shape, layout.dtype

    def bound(self, visible: Layout | None, *, tracing: bool) -> Bound:
        del visible, tracing
        return self.plan.bound.transposed() if self.is_transposed else self.plan.bound

    def located(self, visible: Layout | None) -> _Fixed:
        del visible
        return self

    def transposed(self) -> _Fixed:
        return _Fixed(self.plan, not self.is_transposed)

    def batch_axis(self, axis: int) -> int:
        return axis

    def batched(self, axis: int, size: int, names: tuple[str, ...] | None) -> Request:
        plan = self.plan
        side = plan.in_layout if plan.problem.spec_is_of_input else plan.out_layout
        given = plan.out_layout.spec if plan.problem.order == "natural" else None
        request = Request(plan.problem, side.mesh, side.spec, given, None, self.is_transposed)
        return request.batched(axis, size, names)


def make_plan(request: Request, *, overwrite_x: bool = False) -> Plan:
    """The plan of a request."""
    return Plan(request, plan_of(request, None, True), overwrite_x=overwrite_x)
