"""All ways from one layout to another that do what a problem asks, cheapest first.

One search serves slabs, pencils and any assignment of mesh axes to array axes: a state is a layout and the operations
still to do; whatever is whole on every device is done at once; the moves are exchanges of mesh axes from one array
axis to another, and, where an axis stays chunked, the four-step plan or the ring.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tpufft.errors import LayoutError, MissingExtraError
from tpufft.kernels import KERNELS
from tpufft.layout import Layout, Spec, format_spec
from tpufft.planning.cost import KERNEL_STEPS, program_seconds, step_cost
from tpufft.planning.inplace import StepBuilder, Tools, by_exchange, by_ring, nonuniform, single
from tpufft.planning.machine import Machine
from tpufft.planning.operations import DFT, Flip, Multiply, Operation, Pointwise, Real, Roll, Samples, Transform, Trig
from tpufft.planning.problem import Problem
from tpufft.steps import (
    ChirpSpectrum,
    Diagonal,
    Exchange,
    Local,
    LocalReal,
    LocalTrig,
    Merge,
    Piece,
    Program,
    Rearrange,
    Shift,
    Split,
    Step,
    dft_flops,
)

KEEP = 6
"""How many candidates are kept."""

WIDE = 24
"""How many are kept for measuring."""

MIXED = 4
"""Of programs with no more steps for kernels than this, every mixture of kernels is a candidate for measuring."""

VISITS = 2
"""How often one state is expanded, so that more than the cheapest way is found."""


@dataclass(frozen=True)
class Candidate:
    """One way to do it.

    Parameters
    ----------
    program : Program
        The steps.
    seconds : float
        Predicted on the machine it was searched for.
    """

    program: Program
    seconds: float


@dataclass(order=True)
class _State:
    least: float
    number: int
    seconds: float = field(compare=False)
    layout: Layout = field(compare=False)
    todo: tuple[Operation, ...] = field(compare=False)
    steps: tuple[Step, ...] = field(compare=False)
    moves: int = field(compare=False)


def candidates(
    problem: Problem, start: Layout, goal: Spec, machine: Machine, *, wide: bool = False
) -> tuple[Candidate, ...]:
    """The cheapest programs, first the best.

    Parameters
    ----------
    problem : Problem
        What to do.
    start : Layout
        Where the input lives; mesh axes of size 1 left out.
    goal : Spec
        The chunking of the result.
    machine : Machine
        What costs are taken for.
    wide : bool
        More of them, mixtures of kernels included, for measuring.

    Raises
    ------
    LayoutError
        Where no method that the problem allows leads there.
    """
    kernels = _kernels(problem, machine)
    found: dict[tuple[Step, ...], Candidate] = {}
    keep = WIDE if wide else KEEP

    def searched(*, recut: bool) -> list[Program]:
        return list(itertools.islice(_search(problem, start, goal, machine, kernels, recut=recut), keep))

    # To cut chunks anew before they are split further is the last resort: it doubles the moves.
    for program in searched(recut=False) or searched(recut=True):
        own = _with_shared(program, machine)
        both = (own, program.steps) if wide and own != program.steps else (own,)
        for steps in (each for way in both for each in (way, *_with_kernels(way, kernels, mixed=wide))):
            other = Program(start, steps)
            found.setdefault(steps, Candidate(other, program_seconds(other, machine)))
    if not found:
        raise LayoutError(_no_plan(problem, start, goal))
    # Within the sort the order of discovery breaks ties.
    return tuple(sorted(found.values(), key=lambda candidate: _comparable(candidate.seconds))[:keep])


def _no_plan(problem: Problem, start: Layout, goal: Spec) -> str:
    used, wanted = ({name for names in spec for name in names} for spec in (start.spec, goal))
    if used != wanted:
        return (
            f"out_spec={format_spec(goal)} splits over {sorted(wanted)}, but the array over {sorted(used)}: a "
            "transform keeps the mesh axes in use; move the array first, by spec= or jax.device_put"
        )
    remedy = "another spec" if problem.method == "auto" else "method='auto' or another spec"
    return (
        f"no plan with method={problem.method!r} takes {start} to {format_spec(goal)} for {problem.name} of axes "
        f"{problem.transformed_axes}; use {remedy}"
    )


def _kernels(problem: Problem, machine: Machine) -> tuple[str, ...]:
    if problem.kernel == "auto":
        return tuple(
            name
            for name, kernel in KERNELS.items()
            if (problem.precision is None or kernel.has_precision)
            and kernel.is_for(machine.platform)
            and kernel.is_usable()
        )
    kernel = KERNELS[problem.kernel]
    if not kernel.is_for(machine.platform):
        raise LayoutError(f"kernel={kernel.name!r} is for devices of {kernel.platforms}, not for a {machine.name}")
    reason = kernel.missing()
    if reason is not None:
        raise MissingExtraError(f"kernel={kernel.name!r}", kernel.name, reason)
    return (kernel.name,)


def _with_kernels(steps: tuple[Step, ...], kernels: tuple[str, ...], *, mixed: bool) -> Iterator[tuple[Step, ...]]:
    """The same steps by each kernel; `mixed` also by one kernel here and another there, where that is not too many."""
    places = [number for number, step in enumerate(steps) if isinstance(step, KERNEL_STEPS)]
    every = mixed and len(places) <= MIXED
    uniform = [(name,) * len(places) for name in kernels]
    for names in itertools.product(kernels, repeat=len(places)) if every else uniform:
        by = dict(zip(places, names, strict=True))
        yield tuple(
            replace(step, kernel=by[number]) if isinstance(step, KERNEL_STEPS) else step
            for number, step in enumerate(steps)
        )


def _with_shared(program: Program, machine: Machine) -> tuple[Step, ...]:
    """The same steps, exchanges in shared memory where the devices share it and that is faster."""
    steps = list(program.steps)
    for number, (step, layout) in enumerate(zip(program.steps, program.layouts, strict=False)):
        if isinstance(step, ChirpSpectrum):
            steps[number] = replace(step, line=Program(step.line.in_layout, _with_shared(step.line, machine)))
        elif isinstance(step, Exchange):
            other = replace(step, shared=True)
            if step_cost(other, layout, machine).seconds < step_cost(step, layout, machine).seconds:
                steps[number] = other
    return tuple(steps)


def _comparable(seconds: float) -> float:
    """Rounded, so that sums of the same costs in another order are equal on every host."""
    return float(f"{seconds:.9g}")


def _search(
    problem: Problem, start: Layout, goal: Spec, machine: Machine, kernels: tuple[str, ...], *, recut: bool
) -> Iterator[Program]:
    moves = _Moves(problem, goal, machine, kernels, recut=recut)
    numbers = itertools.count()
    visits: Counter[tuple[Layout, tuple[Operation, ...]]] = Counter()
    queue: list[_State] = []

    def push(state: _State | None, build: StepBuilder, todo: tuple[Operation, ...]) -> None:
        todo = moves.settle(build, todo)
        if visits[build.layout, todo] >= VISITS:
            return
        before = state.layout if state else start
        added = Program(before, tuple(build.steps))
        seconds = (state.seconds if state else 0.0) + program_seconds(added, machine)
        steps = (state.steps if state else ()) + added.steps
        count = state.moves + 1 if state else 0
        least = _comparable(seconds + moves.least_seconds(build.layout, todo))
        heapq.heappush(queue, _State(least, next(numbers), seconds, build.layout, todo, steps, count))

    push(None, StepBuilder(start), problem.operations)
    # Every mesh axis moves away from and back to its array axis at most twice, each transformed axis is done once.
    longest = 4 * sum(map(len, start.spec)) + len(problem.operations)
    while queue:
        state = heapq.heappop(queue)
        if visits[state.layout, state.todo] >= VISITS or state.moves > longest:
            continue
        visits[state.layout, state.todo] += 1
        if not state.todo and state.layout.spec == goal and state.layout.is_least:
            yield Program(start, state.steps)
            continue
        for build, todo in moves.from_state(state.layout, state.todo):
            push(state, build, todo)


class _Moves:
    """What can be done in a state."""

    def __init__(
        self, problem: Problem, goal: Spec, machine: Machine, kernels: tuple[str, ...], *, recut: bool
    ) -> None:
        self.problem = problem
        self.goal = goal
        self.machine = machine
        self.kernels = kernels
        self.recut = recut
        self.tools = Tools(self._kernel, problem.precision)

    def settle(self, build: StepBuilder, todo: tuple[Operation, ...]) -> tuple[Operation, ...]:
        """Do what needs no move: factors and shifts, and the transforms of whole axes; tell what is left."""
        while True:
            group: dict[int, DFT] = {}
            real: Real | None = None
            rest: list[Operation] = []
            blocked: set[int] = set()
            for operation in todo:
                axis = operation.axis
                ready = axis not in blocked | group.keys() and not any(isinstance(other, Real) for other in rest)
                if real is not None and (real.to_real or real.axis == axis):
                    ready = False
                whole = build.layout.parts[axis] == 1
                if ready and isinstance(operation, Real) and whole and not rest:
                    real = operation
                elif ready and isinstance(operation, DFT) and whole and operation.size > 1:
                    group[axis] = operation
                elif ready and real is None and self._at_once(build, operation, whole):
                    pass
                else:
                    rest.append(operation)
                    blocked.add(axis)
            if not group and real is None:
                return tuple(rest)
            self._local(build, group, real)
            todo = tuple(rest)

    def _at_once(self, build: StepBuilder, operation: Operation, whole: bool) -> bool:
        """Do an operation that concerns no other axis and needs no move, if it is one."""
        if isinstance(operation, Pointwise):
            _pointwise(build, operation)
        elif isinstance(operation, DFT | Trig) and operation.size == 1:
            single(build, operation)
        elif isinstance(operation, Samples) and whole:
            nonuniform(build, operation, self.problem.precision, both_ways=False)
        elif isinstance(operation, Trig) and whole:
            axis = operation.axis
            build.fit(axis, operation.size)
            kernel = self._kernel(build.layout, (axis,))
            build.add(LocalTrig(axis, operation.kind, operation.scale, kernel, self.problem.precision))
        else:
            return False
        return True

    def from_state(self, layout: Layout, todo: tuple[Operation, ...]) -> Iterator[tuple[StepBuilder, tuple]]:
        """Every next step and what is left to do after it."""
        waiting = _waiting(todo)
        method = self.problem.method
        # Only the four-step plan stores the scrambled order.
        scrambled = self.problem.order == "scrambled" and any(
            isinstance(operation, DFT) and operation.size % layout.parts[operation.axis] == 0
            for operation in waiting.values()
        )
        if not scrambled and (method != "ring" or not waiting):
            yield from self._exchanges(layout, todo, waiting)
        ways = []
        if method != "ring":
            ways.append(self._by_exchange)
        if not scrambled and (method == "ring" or (method == "auto" and layout.chunk_bytes <= self.machine.ring_bytes)):
            ways.append(self._by_ring)
        for way, operation in itertools.product(ways, waiting.values()):
            if layout.parts[operation.axis] > 1:
                yield way(layout, operation), tuple(other for other in todo if other is not operation)

    def least_seconds(self, layout: Layout, todo: tuple[Operation, ...]) -> float:
        """A lower bound for what is left: its transforms, and an exchange for every chunked axis of them.

        An exchange frees one array axis and fills one, so that the axes to free and the axes to fill each count.
        """
        axes = {operation.axis for operation in todo}
        local = sum(self._local_seconds(layout, axis) for axis in axes)
        to_fill = sum(names != () and names != layout.spec[axis] for axis, names in enumerate(self.goal))
        exchanges = max(len(axes), to_fill) if self.problem.method == "exchange" else to_fill
        return local + exchanges * self.machine.latency

    def _local_seconds(self, layout: Layout, axis: int) -> float:
        """What the axis' transform costs at least, wherever it is done."""
        flops = dft_flops(layout.shape[axis], 1) * layout.chunk_size / max(layout.shape[axis], 1)
        flops *= 1.0 if layout.dtype.kind == "c" else 0.5
        return flops / max(self.machine.fft_flops, self.machine.library_flops, self.machine.matmul_flops)

    def _local(self, build: StepBuilder, group: dict[int, DFT], real: Real | None) -> None:
        """One step for all DFTs of whole axes, a real one among them or not."""
        operations: list[DFT | Real] = [*group.values(), *([real] if real else [])]
        scale = 1.0
        for operation in operations:
            build.fit(operation.axis, operation.points)
            scale *= operation.scale
        # Forward and inverse never meet in one problem.
        inverse, precision = operations[0].inverse, self.problem.precision
        axes = tuple(sorted(group)) + ((real.axis,) if real else ())
        kernel = self._kernel(build.layout, axes)
        if real is None:
            build.add(Local(axes, inverse, scale, kernel, precision))
        else:
            build.add(LocalReal(axes, real.size, inverse, scale, real.to_real, real.weighted, kernel, precision))

    def _kernel(self, layout: Layout, axes: tuple[int, ...]) -> str:
        def seconds(name: str) -> float:
            return step_cost(Local(axes, False, 1.0, name), layout, self.machine).seconds

        return min(self.kernels, key=seconds)

    def _exchanges(
        self, layout: Layout, todo: tuple[Operation, ...], waiting: dict[int, Transform]
    ) -> Iterator[tuple[StepBuilder, tuple]]:
        for source in layout.chunked_axes:
            names = layout.spec[source]
            if source not in waiting and names == self.goal[source]:
                continue
            for first in range(len(names)):
                moved = names[first:]
                count = layout.device_count_along(moved)
                for target in range(layout.rank):
                    fits = layout.parts[target] == 1 or layout.chunk_shape[target] % count == 0
                    if target != source and (fits or self.recut):
                        build = StepBuilder(layout)
                        build.exchange(moved, source, target)
                        yield build, todo

    def _by_exchange(self, layout: Layout, operation: Transform) -> StepBuilder:
        return by_exchange(layout, operation, self.tools, self.problem.order, self._seconds)

    def _by_ring(self, layout: Layout, operation: Transform) -> StepBuilder:
        return by_ring(layout, operation, self.tools, self.machine.both_ways)

    def _seconds(self, program: Program) -> float:
        return program_seconds(program, self.machine)


def _waiting(todo: tuple[Operation, ...]) -> dict[int, Transform]:
    """The next transform of each axis, of those that may be next: a change of dtype parts what is before and after."""
    waiting: dict[int, Transform] = {}
    blocked: set[int] = set()
    for number, operation in enumerate(todo):
        if isinstance(operation, Real) and number:
            break
        if isinstance(operation, Transform) and operation.axis not in blocked:
            waiting.setdefault(operation.axis, operation)
        blocked.add(operation.axis)
        if isinstance(operation, Real):
            break
    return waiting


def _pointwise(build: StepBuilder, operation: Multiply | Flip | Roll) -> None:
    axis, size = operation.axis, operation.size
    build.fit(axis, size)
    if isinstance(operation, Multiply):
        build.add(Diagonal(axis, operation.table))
    elif isinstance(operation, Roll):
        build.add(Shift(axis, operation.amount))
    elif size > 1:
        build.add(Split(axis, size))
        build.add(Rearrange(axis, size, 1, (Piece(0, 0, size, mirrored=True),)))
        build.add(Merge(axis))
