"""A plan run one step at a time, to say where the time goes."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import jax
from jax.stages import Compiled

from tpufft.execution import Bound, compiled_function
from tpufft.planning import Plan
from tpufft.steps import Program


@dataclass(frozen=True)
class StepTime:
    """How long one step took.

    Parameters
    ----------
    name : str
        The step's class: ``Local``, ``Exchange``, ``Ring``, ...
    text : str
        The step as the plan prints it.
    seconds : float
        From its start until every device has finished.
    """

    name: str
    text: str
    seconds: float


class Stepwise:
    """A plan's steps as compiled programs of their own.

    Every step donates its argument, so that no more memory is held than when the plan runs in one piece; the result
    is the same, and passes over memory that XLA would have merged across steps are made.

    Parameters
    ----------
    plan : Plan
        What to run.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        start = time.perf_counter()
        self._programs = [_compiled(bound) for bound in _pieces(plan)]
        self.compile_seconds = time.perf_counter() - start

    def __len__(self) -> int:
        return len(self._programs)

    def run(
        self, x: jax.Array, *, progress: Callable[[int, int], None] | None = None
    ) -> tuple[jax.Array, list[StepTime]]:
        """Transform `x`, which is used up.

        Parameters
        ----------
        x : jax.Array
            In the plan's input layout.
        progress : callable, optional
            Called as ``progress(done, total)`` in steps.

        Returns
        -------
        y : jax.Array
            In the plan's output layout.
        times : list of StepTime
            One for each step.
        """
        times = []
        before = self._plan.layouts
        for number, (program, step) in enumerate(zip(self._programs, self._plan.steps, strict=True)):
            start = time.perf_counter()
            x = jax.block_until_ready(program(x))
            seconds = time.perf_counter() - start
            times.append(StepTime(type(step).__name__, step.describe(before[number]), seconds))
            if progress is not None:
                progress(number + 1, len(self))
        return x, times


def _pieces(plan: Plan) -> list[Bound]:
    """Every step between the layouts that surround it; the outermost are those of the caller's specs."""
    layouts = [plan.in_layout, *plan.layouts[1:-1], plan.out_layout]
    inner = zip(layouts, layouts[1:], plan.layouts, plan.steps, strict=False)
    return [Bound(before, Program(layout, (step,)), after) for before, after, layout, step in inner]


def _compiled(bound: Bound) -> Compiled:
    layout = bound.in_layout
    argument = jax.ShapeDtypeStruct(layout.stored_shape, layout.dtype, sharding=layout.sharding)
    with warnings.catch_warnings():
        # A step that cannot work in place says so; its argument is dropped a moment later all the same.
        warnings.filterwarnings("ignore", message="Some donated buffers were not usable")
        return compiled_function(bound, donate=True).lower(argument).compile()
