"""The rounds of a verification: which identities are tried on which plan."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import jax
import numpy as np

from tpufft.kernels import tables
from tpufft.planning.operations import DFT, Roll
from tpufft.planning.plan import Plan, make_plan
from tpufft.planning.problem import Problem
from tpufft.planning.request import Request
from tpufft.planning.verify.lines import Line, lines_of
from tpufft.planning.verify.programs import Programs
from tpufft.planning.verify.report import Check, Verification
from tpufft.planning.verify.rolls import moved_wrongly
from tpufft.planning.verify.sides import Side, sides_of
from tpufft.steps import Hankel

Found = Iterator[tuple[str, int | None, float]]
"""Names of tests, axes, and errors."""


def verify(
    plan: Plan,
    *,
    rounds: int = 3,
    seed: int = 0,
    limit: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Verification:
    r"""Whether a plan computes its transform, by the tests of Ergün: no reference, and nothing is gathered.

    A matrix :math:`F` is the DFT of n points if and only if it is linear, takes the impulse to a constant, and turns a
    shift into phases, :math:`(F S x)_k = e^{-2\pi i k/n} (F x)_k`. Tried are linearity, impulses, shifts in time, and
    shifts in frequency, each on random numbers. Real transforms, cosines and sines have their own impulses, and sums of
    both neighbours for the shift where that would not be real.

    Parameters
    ----------
    plan : Plan
        On a mesh of devices.
    rounds : int, default 3
        How often each test is tried with other numbers.
    seed : int, default 0
        Of the random numbers.
    limit : float, optional
        The error that rounding may explain, relative to the largest value. Default: 1e-3 in single precision, 1e-10 in
        double.
    progress : callable, optional
        Called as ``progress(done, total)`` in tests.

    Returns
    -------
    Verification
        The largest error of each test along each axis. True if all passed; prints as a table.

    Raises
    ------
    TypeError
        If `plan` is no plan.
    ValueError
        For a mesh without devices, fewer rounds than 1, or a plan that transforms one axis twice.

    Notes
    -----
    Every device makes its part of each signal, from a hash of the places of its elements, and the largest error is all
    that is sent; so whatever fits the plan's devices can be verified, at sizes where no reference fits. Elements that
    a plan must not read, padding among them, are random as well. Each round calls the plan four times, and four times
    more for every axis.

    One wrong element of N in the signal shows as about 1 / sqrt(N) of the largest value, so that the limits find it up
    to a million points in single precision; a smaller `limit` finds it further out. Rounding itself stays below 1e-6.

    A fast Hankel transform is a cyclic convolution: its eigenvalues are tried on one tone in each round, that it
    commutes with shifts on random numbers, and its inverse takes it back where it has one. ``fftshift`` is tried
    exactly.

    Examples
    --------
    >>> import numpy as np, tpufft
    >>> plan = tpufft.plan("fft", (1000,), np.complex64)
    >>> bool(tpufft.verify(plan))
    True
    """
    if not isinstance(plan, Plan):
        raise TypeError(f"plan={plan!r} is no plan; tpufft.plan makes one")
    if isinstance(rounds, bool) or not isinstance(rounds, int | np.integer) or rounds < 1:
        raise ValueError(f"rounds={rounds!r}: a whole number of at least 1")
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"seed={seed!r}: a whole number of at least 0")
    problem, dtype = plan.problem, plan.out_layout.dtype
    only_rolls = all(isinstance(operation, Roll) for operation in problem.operations) and problem.name.endswith("shift")
    if limit is None:
        limit = 0.0 if only_rolls else 1e-3 if np.finfo(dtype).bits == 32 else 1e-10
    tests = _Moves(plan) if only_rolls else _Tests(plan)
    largest: dict[tuple[str, int | None], float] = {}
    done = itertools.count(1)
    for number in range(rounds if math.prod(problem.shape) and math.prod(problem.result_shape) else 0):
        for test, axis, error in tests.round(number, np.random.default_rng((seed, number))):
            if progress is not None:
                progress(next(done), rounds * tests.count)
            # Unlike Python's max, a NaN stays.
            largest[test, axis] = float(np.maximum(largest.get((test, axis), 0.0), error))
    checks = tuple(Check(test, axis, error, limit) for (test, axis), error in largest.items())
    what = f"{problem.name} {plan.in_layout}"
    return Verification(what, checks, int(rounds), int(seed))


class _Moves:
    """The one test of ``fftshift``: every element is where it should be."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._sides = sides_of("natural", False, (), plan.in_layout, plan.out_layout)

    @property
    def count(self) -> int:
        """Tests in a round."""
        return 1

    def round(self, number: int, rng: np.random.Generator) -> Found:
        """Run them."""
        del number
        rolls = [roll for roll in self._plan.problem.operations if isinstance(roll, Roll)]
        yield "order", None, moved_wrongly(self._plan, rolls, *self._sides, _seeds(rng, 1)[0])


class _Tests:
    """The tests of everything that has a matrix for each axis."""

    def __init__(self, plan: Plan) -> None:
        problem = plan.problem
        axes = tuple(operation.axis for operation in problem.operations if isinstance(operation, DFT))
        self._plan, self._lines = plan, lines_of(problem)
        before, after = sides_of(problem.order, problem.is_inverse, axes, plan.in_layout, plan.out_layout)
        self._made = _programs(problem, self._lines, before, after)
        # Neighbours of one side are phases on the other, unless that other one is real.
        self._summed_there = problem.result_dtype.kind != "c"
        self._summed_back = problem.dtype.kind != "c"
        self._rolls: dict[tuple[int, int], Plan] = {}

    @property
    def count(self) -> int:
        """Tests in a round."""
        tones = self._tones
        return 2 + 2 * len(self._lines) if tones is None else 3 + _is_invertible(tones)

    def round(self, number: int, rng: np.random.Generator) -> Found:
        """Run them."""
        yield "linearity", None, self._linearity(rng)
        if self._tones is not None:
            yield from self._hankel(self._lines[0], self._tones, number, rng)
            return
        yield "impulse", None, self._impulse(number, rng)
        names = ("shift in time", "shift in frequency")
        there, back = reversed(names) if self._plan.problem.is_inverse else names
        for line in sorted(self._lines, key=lambda line: line.axis):
            yield there, line.axis, self._neighbours(line, rng)
            yield back, line.axis, self._modulated(line, rng)

    @property
    def _tones(self) -> Hankel | None:
        return next((line.tones for line in self._lines if line.tones is not None), None)

    def _linearity(self, rng: np.random.Generator) -> float:
        seeds, factors = _seeds(rng, 2), rng.uniform(0.5, 1.5, 2)
        if not (self._summed_there or self._summed_back):
            factors = factors * np.exp(2j * np.pi * rng.uniform(size=2))
        kind = self._plan.out_layout.dtype if factors.dtype.kind == "c" else self._made.real
        factors = factors.astype(kind)
        first, second = (self._applied(self._made.random(one)) for one in seeds)
        both = self._applied(self._made.combined(seeds, factors))
        return self._made.compare_combined(factors, first, second, both)

    def _impulse(self, number: int, rng: np.random.Generator) -> float:
        (seed,) = _seeds(rng, 1)
        places = np.array([self._place(line, number, rng) for line in self._lines], np.int64)
        y = self._applied(self._made.impulse(seed, places))
        return self._made.compare_impulse(seed, places, y)

    def _place(self, line: Line, number: int, rng: np.random.Generator) -> int:
        """The first element, the second, then any; near enough for phases to be reduced in 64 bits."""
        last = min(line.filled, 2**60 // line.matrix.order) - 1
        return min(number, last) if number < 2 else int(rng.integers(last + 1))

    def _neighbours(self, line: Line, rng: np.random.Generator) -> float:
        (seed,), summed = _seeds(rng, 1), self._summed_there
        plain = self._applied(self._made.random(seed, line))
        moved = self._applied(self._made.neighbours(seed, line, summed))
        return self._made.compare_neighbours(line, summed, plain, moved)

    def _modulated(self, line: Line, rng: np.random.Generator) -> float:
        (seed,), summed = _seeds(rng, 1), self._summed_back or line.matrix.is_real
        modulated = self._applied(self._made.modulated(seed, line, summed))
        return self._made.compare_modulated(line, modulated, self._rolled(line, seed, both=summed))

    def _hankel(self, line: Line, tones: Hankel, number: int, rng: np.random.Generator) -> Found:
        seeds, n = _seeds(rng, 3), line.matrix.size
        singular = tables.is_singular(tones)
        order = [*range(int(singular), min(2, n // 2 + 1)), n // 2]
        tone = np.int64(order[number] if number < len(order) else rng.integers(int(singular), n // 2 + 1))
        value = complex(tables.entry(tones, np.array([tone]), n // 2 + 1)[0]) * line.matrix.scale
        phase = np.exp(2j * np.pi * rng.uniform())
        # A tone of no or of half as many periods as points is real, and so is its eigenvalue.
        phase = phase.real if tone in (0, n / 2) else phase
        turn, eigenvalue = (np.array([z.real, z.imag]) for z in (phase, value))
        y = self._applied(self._made.tone(seeds[0], tone, turn))
        yield "tone", line.axis, self._made.compare_tone(seeds[0], tone, turn, eigenvalue, y)
        moved = self._applied(self._made.neighbours(seeds[1], line, False))
        rolled = self._rolled(line, seeds[1], both=False)
        yield "shift", line.axis, self._made.compare_modulated(line, moved, rolled)
        if _is_invertible(tones):
            back = self._plan.inverse(self._plan(self._made.before.entered(self._made.random(seeds[2]))))
            error = self._made.compare_inputs(self._made.random(seeds[2]), self._made.before.left(back))
            yield "round trip", line.axis, error

    def _applied(self, data: jax.Array) -> jax.Array:
        return self._made.after.left(self._plan(self._made.before.entered(data)))

    def _rolled(self, line: Line, seed: np.uint32, *, both: bool) -> dict[int, jax.Array]:
        """The result of a random input, with the row before in the place of each, or that before and that behind."""
        side, axis = self._made.after, line.axis
        y = self._plan(self._made.before.entered(self._made.random(seed)))
        steps = (1, -1) if both else (-1,) if line.turned else (1,)
        return {step: side.left(self._roll(axis, step * side.stride(axis))(y)) for step in steps}

    def _roll(self, axis: int, amount: int) -> Plan:
        layout = self._plan.out_layout
        if (axis, amount) not in self._rolls:
            size = layout.shape[axis]
            problem = Problem("fftshift", layout.shape, layout.dtype, (Roll(axis, size, amount % size),))
            self._rolls[axis, amount] = make_plan(Request(problem, layout.mesh, layout.spec))
        return self._rolls[axis, amount]


@functools.lru_cache(maxsize=16)
def _programs(problem: Problem, lines: tuple[Line, ...], before: Side, after: Side) -> Programs:
    """Compiled once for all plans between the same layouts, as the candidates of one plan are."""
    return Programs(problem, lines, before, after)


def _is_invertible(tones: Hankel) -> bool:
    return not (tables.is_singular(tones) or tables.is_singular(replace(tones, inverse=not tones.inverse)))


def _seeds(rng: np.random.Generator, count: int) -> np.ndarray:
    return rng.integers(2**32, size=count, dtype=np.uint32)
