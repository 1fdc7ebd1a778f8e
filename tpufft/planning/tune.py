"""Tuning: the candidates of a plan timed on their devices, and the winner kept as wisdom."""

from __future__ import annotations

import datetime
import itertools
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
from jax.sharding import Mesh

from tpufft.planning import wisdom
from tpufft.planning.plan import Plan
from tpufft.planning.request import all_candidates, forget
from tpufft.planning.show import brief, format_seconds
from tpufft.planning.timing import call_of, seconds_of, signal_in

ROUNDS = 9
"""Times that the last candidates are timed, if the budget lasts."""

HOPELESS = 1.5
"""A candidate whose best time is so many times the best one's is timed no more."""


@dataclass(frozen=True)
class Timing:
    """A candidate that was timed.

    Parameters
    ----------
    plan : Plan
        What was timed.
    seconds : float
        The median of its calls.
    calls : int
        How many.
    """

    plan: Plan
    seconds: float
    calls: int


@dataclass(frozen=True)
class Tuning:
    """What tuning found; made by :func:`tpufft.tune`. Prints as a table.

    Parameters
    ----------
    timings : tuple of Timing
        The candidates that were timed, the fastest first.
    chosen : Timing
        The model's own choice.
    skipped : int
        Candidates for which there was no time.
    seconds : float
        How long it took.
    """

    timings: tuple[Timing, ...]
    chosen: Timing
    skipped: int
    seconds: float

    @property
    def plan(self) -> Plan:
        """The fastest."""
        return self.timings[0].plan

    @property
    def gain(self) -> float:
        """How many times as long the model's own choice took as the fastest."""
        return self.chosen.seconds / self.timings[0].seconds

    def __str__(self) -> str:
        head = f"{self.plan.problem.name}: {len(self.timings)} candidates timed in {format_seconds(self.seconds)}"
        lines = [head + (f", {self.skipped} left out for want of time" if self.skipped else "")]
        for one in self.timings:
            mark = "  the model's choice" if one is self.chosen else ""
            names = ", ".join(brief(one.plan.bound.program))
            predicted = f"predicted {format_seconds(one.plan.predict())}"
            lines.append(f"{format_seconds(one.seconds):>10}  {predicted:>20}  {names}{mark}")
        return "\n".join(lines)


def tune(
    plan: Plan,
    *,
    budget: float = 30.0,
    keep: bool = True,
    progress: Callable[[float, float], None] | None = None,
) -> Tuning:
    """Time the candidates of a plan on its devices, and keep the fastest as wisdom.

    From then on every plan of the same class of shapes on this machine is the fastest one, without being asked, in
    this process and in later ones.

    Parameters
    ----------
    plan : Plan
        On a mesh of devices; its transform, layouts and options say what is tuned.
    budget : float, default 30.0
        Seconds after which nothing more is compiled or timed. The model's choice and one more are timed in any case.
    keep : bool, default True
        Whether the winner is written into the wisdom file.
    progress : callable, optional
        Called as ``progress(seconds, budget)`` between two calls.

    Returns
    -------
    Tuning
        Every candidate that was timed, the fastest first.

    Raises
    ------
    TypeError
        If `plan` is no plan.
    ValueError
        For a mesh without devices, a budget that is not positive, or a job of several processes, each of which would
        measure something else: tune in one process, and run the job by that wisdom.
    FileFormatError
        If the wisdom file is damaged and `keep` is on: it is not overwritten. Found before anything is timed.

    Notes
    -----
    Wisdom is kept by machine, devices, versions of JAX, tpufft and the local FFT library, mesh, chunking, options, the
    lengths of transformed axes, and those of batch axes up to the next power of two. Where any of these is another,
    it does not count. The candidates are called in turn, so that what else the machine does meets all of them; one
    that is 1.5 times as slow as the best is called no more.

    Examples
    --------
    >>> import numpy as np, tpufft
    >>> plan = tpufft.plan("fftn", (32, 32, 32), np.complex64)
    >>> found = tpufft.tune(plan, budget=1.0, keep=False)
    >>> found.gain >= 1.0
    True
    """
    if not isinstance(plan, Plan):
        raise TypeError(f"plan={plan!r} is no plan; tpufft.plan makes one")
    _check(plan, budget)
    if keep:
        wisdom.check_writable()
    began = time.monotonic()

    def left() -> float:
        return budget - (time.monotonic() - began)

    chosen = all_candidates(plan.pinned_request)
    plans = [plan.with_candidates(chosen, number) for number in range(len(chosen.candidates))]
    x = signal_in(plan.in_layout)
    calls: list[Callable[[jax.Array], Any]] = []
    times: list[list[float]] = []
    for number, candidate in enumerate(plans):
        if number >= 2 and left() < budget / 2:
            break
        calls.append(call_of(candidate.bound))
        # The first call compiles, and counts for nothing.
        seconds_of(calls[-1], x)
        times.append([seconds_of(calls[-1], x)])
        if progress is not None:
            progress(min(budget - left(), budget), budget)
    for turn in itertools.count(1):
        best = min(map(min, times))
        alive = [number for number, seconds in enumerate(times) if min(seconds) <= HOPELESS * best]
        for number in alive[turn % len(alive) :] + alive[: turn % len(alive)]:
            times[number].append(seconds_of(calls[number], x))
            if progress is not None:
                progress(min(budget - left(), budget), budget)
        if turn >= ROUNDS - 1 or left() <= 0:
            break
    timings = [
        Timing(candidate, statistics.median(seconds), len(seconds))
        for candidate, seconds in zip(plans, times, strict=False)
    ]
    own = timings[0]
    # Where several are as fast as timing can tell, the model's order decides.
    ordered = tuple(sorted(timings, key=lambda one: one.seconds))
    found = Tuning(ordered, own, len(plans) - len(timings), time.monotonic() - began)
    if keep:
        _keep(found)
    return found


def _check(plan: Plan, budget: object) -> None:
    if isinstance(budget, bool) or not isinstance(budget, int | float) or not budget > 0:
        raise ValueError(f"budget={budget!r}: seconds, more than 0")
    is_real = isinstance(plan.in_layout.mesh, Mesh)
    if not is_real:
        raise ValueError("plan is for a mesh that is only described; tuning times plans on devices that there are")
    if jax.process_count() > 1:
        raise ValueError(
            f"tuning in a job of {jax.process_count()} processes: each would measure something else; tune in one "
            "process on a mesh like the job's, and start the job with that wisdom"
        )
    if 0 in plan.in_layout.shape:
        raise ValueError(f"plan transforms an array of shape {plan.in_layout.shape}: there is nothing to time")


def _keep(found: Tuning) -> None:
    plan = found.plan
    entry = wisdom.Entry(
        request=str(plan).splitlines()[0],
        program=wisdom.signature(plan.bound.program),
        seconds=found.timings[0].seconds,
        gain=found.gain,
        date=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        versions=wisdom.versions(),
    )
    wisdom.add(wisdom.Wisdom({wisdom.key(plan.problem, plan.in_layout, plan.out_layout): entry}))
    forget()
