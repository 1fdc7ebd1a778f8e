"""All ways to multiply two chunked arrays that lead to a wanted chunking, cheapest first.

Each operand may first be brought into other chunkings, by exchanges, or by keeping a part of what is whole; then both
meet in one contraction; then the product may be brought into the wanted chunking. All of it is enumerated: a mesh has
few axes.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tpufft.errors import LayoutError
from tpufft.kernels.product import PAIR
from tpufft.layout import AxisNames, Layout, Spec, ceil_div, format_spec
from tpufft.planning.cost import program_seconds
from tpufft.planning.inplace import StepBuilder
from tpufft.planning.machine import Machine
from tpufft.planning.products.cost import contraction_cost, product_peak, product_seconds
from tpufft.steps import (
    Contraction,
    GatheredProduct,
    LocalProduct,
    Pad,
    Part,
    ProductProgram,
    Program,
    Resize,
    RingProduct,
    RingSum,
    ScatteredSum,
    Summa,
    Terms,
    Trim,
    summa_blocks,
)

KEEP = 6
"""How many candidates are kept."""

VARIANTS = 60
"""How many chunkings of an operand are looked at, nearest first."""

MOVES = 3
"""How many moves an operand or a product makes at most."""

SCHEDULES = ("auto", "ring", "bidirectional", "summa", "gather")


@dataclass(frozen=True)
class ProductProblem:
    """What is to be multiplied, and how.

    Parameters
    ----------
    terms : Terms
        Which axes meet.
    a, b, c : Layout
        Of operands and product; mesh axes of size 1 left out.
    schedule : str
        One of :data:`SCHEDULES`.
    panel : int, optional
        Elements of the travelling chunks that go at a time.
    emulated : bool
        Whether doubles are made of singles.
    """

    terms: Terms
    a: Layout
    b: Layout
    c: Layout
    schedule: str = "auto"
    panel: int | None = None
    emulated: bool = False


@dataclass(frozen=True)
class ProductCandidate:
    """One way to do it, and the seconds predicted for it."""

    program: ProductProgram
    seconds: float


def product_candidates(problem: ProductProblem, machine: Machine) -> tuple[ProductCandidate, ...]:
    """The cheapest programs, first the best.

    Raises
    ------
    LayoutError
        Where the schedule asked for covers no way; it says which do.
    """
    found = _candidates(problem, machine)
    if not found:
        raise LayoutError(_no_way(problem, machine))
    return tuple(found)


def _candidates(problem: ProductProblem, machine: Machine) -> list[ProductCandidate]:
    emulated = problem.emulated

    def rank(seconds: float, wire: int) -> tuple[float, float]:
        """What comes first: time; or, where the caller names the schedule, to leave the operands where they are."""
        return (_comparable(seconds), wire) if problem.schedule == "auto" else (wire, _comparable(seconds))

    ways = (_variants(problem.a, problem.terms.a, machine), _variants(problem.b, problem.terms.b, machine))
    # Ordered by what the moves alone cost, so that the search can end early.
    pairs = sorted(
        ((rank(a.seconds + b.seconds, a.wire_bytes + b.wire_bytes), a, b) for a, b in itertools.product(*ways)),
        key=lambda item: item[0],
    )
    found: list[tuple[tuple, ProductCandidate]] = []
    homes: dict[Layout, Program | None] = {}
    for least, a, b in pairs:
        if len(found) == KEEP and least > found[-1][0][:2]:
            break
        for way in _contractions(problem, a.build.layout, b.build.layout, machine):
            first, second = a.build.copy(), b.build.copy()
            contraction = _aligned(way, first, second, problem)
            meeting = first.layout, second.layout
            if not _is_split_over(problem.c, meeting, contraction):
                continue
            own = contraction_cost(contraction, *meeting, machine, emulated=emulated)
            together = rank(a.seconds + b.seconds + own.seconds, a.wire_bytes + b.wire_bytes + own.wire_bytes)
            after = contraction.after(*meeting)
            if len(found) == KEEP and together > found[-1][0][:2]:
                continue
            if after not in homes:
                homes[after] = _home(after, problem.terms.c, problem.c, machine)
            home = homes[after]
            if home is None:
                continue
            program = ProductProgram(first.program, second.program, contraction, home)
            seconds = product_seconds(program, machine, emulated=emulated)
            order = (*rank(seconds, program.wire_bytes), product_peak(program, emulated=emulated))
            found.append((order, ProductCandidate(program, seconds)))
            found.sort(key=lambda item: item[0])
            del found[KEEP:]
    return [candidate for _, candidate in found]


def _is_split_over(goal: Layout, meeting: tuple[Layout, Layout], contraction: Contraction) -> bool:
    """Whether the result is split, or summed up, over all mesh axes that split an operand.

    Otherwise devices along the others would all work out the same.
    """
    used = {name for layout in meeting for names in layout.spec for name in names}
    return used <= {name for names in goal.spec for name in names} | set(contraction.summed)


def _no_way(problem: ProductProblem, machine: Machine) -> str:
    others = [
        schedule
        for schedule in SCHEDULES
        if schedule != problem.schedule and _candidates(replace(problem, schedule=schedule, panel=None), machine)
    ]
    chunked = ", ".join(
        f"{letters} as {format_spec(layout.spec)}"
        for letters, layout in zip((problem.terms.a, problem.terms.b), (problem.a, problem.b), strict=True)
    )
    remedy = f"use {' or '.join(f'schedule={word!r}' for word in others)}" if others else "chunk them otherwise"
    return (
        f"schedule={problem.schedule!r} does not cover {problem.terms} of operands chunked {chunked} with a result "
        f"chunked {format_spec(problem.c.spec)}; {remedy}"
    )


def _comparable(seconds: float) -> float:
    """Rounded, so that sums of the same costs in another order are equal on every host."""
    return float(f"{seconds:.9g}")


# -- moves of one array -----------------------------------------------------------------------------------------------


@dataclass(order=True)
class _Variant:
    seconds: float
    number: int
    build: StepBuilder
    moves: int

    def __post_init__(self) -> None:
        self.seconds = _comparable(self.seconds)

    @property
    def wire_bytes(self) -> int:
        return self.build.program.wire_bytes


def _variants(start: Layout, letters: str, machine: Machine, goal: Spec | None = None) -> Iterator[_Variant]:
    """The chunkings that an array can be brought into, nearest first; of one spec only the cheapest way to it."""
    # Both parts of a pair stay together.
    axes = [axis for axis, letter in enumerate(letters) if letter != PAIR]
    numbers = itertools.count()
    queue = [_Variant(0.0, next(numbers), StepBuilder(start), 0)]
    seen: set[Spec] = set()
    while queue and len(seen) < VARIANTS:
        here = heapq.heappop(queue)
        if here.build.layout.spec in seen:
            continue
        seen.add(here.build.layout.spec)
        yield here
        if here.build.layout.spec == goal or here.moves == MOVES:
            continue
        for build in _moved(here.build, axes):
            if build.layout.spec not in seen:
                seconds = program_seconds(build.program, machine)
                heapq.heappush(queue, _Variant(seconds, next(numbers), build, here.moves + 1))


def _moved(build: StepBuilder, axes: list[int]) -> Iterator[StepBuilder]:
    """One more move: an exchange, or a part kept of what is whole over a mesh axis."""
    layout = build.layout
    for axis in axes:
        for name in layout.unused_names:
            if layout.mesh.shape[name] > 1:
                other = build.copy()
                other.make_room((name,), axis)
                other.add(Part((name,), axis))
                yield other
        names = layout.spec[axis]
        for first, target in itertools.product(range(len(names)), axes):
            if target != axis:
                other = build.copy()
                other.exchange(names[first:], axis, target)
                yield other


def _home(start: Layout, letters: str, goal: Layout, machine: Machine) -> Program | None:
    """What brings a product into its layout; None where its mesh axes are others."""
    trimmed = StepBuilder(start)
    _fit(trimmed)
    for variant in _variants(trimmed.layout, letters, machine, goal.spec):
        if variant.build.layout.spec == goal.spec:
            trimmed.extend(variant.build.steps)
            _fit(trimmed)
            return trimmed.program
    return None


def _fit(build: StepBuilder) -> None:
    """Down to the least padding."""
    for axis in range(build.layout.rank):
        surplus = build.layout.padding[axis] - build.layout.least_padding(axis)
        if surplus and build.layout.parts[axis] == 1:
            build.add(Trim(axis, surplus))
        elif surplus:
            build.fit(axis, build.layout.shape[axis])


# -- where both meet --------------------------------------------------------------------------------------------------


def _contractions(problem: ProductProblem, a: Layout, b: Layout, machine: Machine) -> Iterator[Contraction]:
    """What two layouts allow, before paddings are made to agree."""
    terms = problem.terms
    in_a, in_b = dict(zip(terms.a, a.spec, strict=True)), dict(zip(terms.b, b.spec, strict=True))
    if any(in_a[letter] != in_b[letter] for letter in terms.batch):
        return
    free = {letter: in_a.get(letter) or in_b.get(letter, ()) for letter in terms.c}
    partial = tuple(name for letter in terms.contracted if in_a[letter] == in_b[letter] for name in in_a[letter])
    apart = [letter for letter in terms.contracted if in_a[letter] != in_b[letter]]
    legal = _disjoint(free, partial)
    if len(apart) > 1:
        return
    if apart:
        if legal:
            yield from _apart(problem, apart[0], in_a, in_b, partial, machine)
        return
    if partial:
        if legal:
            yield from _sums(problem, a, b, partial, machine)
        return
    # Blocks are asked for where there are devices to share the work.
    alone = not any(name for layout in (problem.a, problem.b, problem.c) for name in layout.spec)
    if legal and (problem.schedule != "summa" or alone):
        yield LocalProduct(terms, problem.c.dtype)
    for side, own in (("a", terms.left), ("b", terms.right)):
        for letter in own:
            if free[letter] and _disjoint({**free, letter: ()}, ()):
                yield from _travelling(problem, side, letter, (), machine)


def _disjoint(free: dict[str, AxisNames], partial: AxisNames) -> bool:
    """Whether no mesh axis is wanted twice."""
    names = [*(name for entry in free.values() for name in entry), *partial]
    return len(set(names)) == len(names)


def _apart(
    problem: ProductProblem,
    letter: str,
    in_a: dict[str, AxisNames],
    in_b: dict[str, AxisNames],
    partial: AxisNames,
    machine: Machine,
) -> Iterator[Contraction]:
    """An axis that is summed over, and split in one operand alone, or over other mesh axes in each."""
    terms = problem.terms
    rows, columns = in_b[letter], in_a[letter]
    if not (rows and columns):
        # A partial sum over other axes is left to be summed up everywhere.
        yield from _travelling(problem, "a" if columns else "b", letter, partial, machine)
        return
    lefts = {name for own in terms.left for name in in_a[own]}
    rights = {name for own in terms.right for name in in_b[own]}
    if problem.schedule in ("auto", "summa") and set(rows) <= lefts and set(columns) <= rights:
        yield Summa(terms, problem.c.dtype, partial, letter, problem.panel)


def _travelling(
    problem: ProductProblem, side: str, letter: str, summed: AxisNames, machine: Machine
) -> Iterator[Contraction]:
    base = (problem.terms, problem.c.dtype, summed, side, letter)
    if problem.schedule in ("auto", "ring"):
        yield RingProduct(*base, False, problem.panel)
    if problem.schedule == "bidirectional" or (problem.schedule == "auto" and machine.both_ways):
        yield RingProduct(*base, True, problem.panel)
    if problem.schedule == "gather":
        yield GatheredProduct(*base)


def _sums(problem: ProductProblem, a: Layout, b: Layout, partial: AxisNames, machine: Machine) -> Iterator[Contraction]:
    """Ways to add up what devices have of the same product: onto chunks along one of its axes, or everywhere."""
    terms, schedule, base = problem.terms, problem.schedule, (problem.terms, problem.c.dtype)
    wanted = {name for names in problem.c.spec for name in names}
    scattered = tuple(name for name in partial if name in wanted)
    summed = tuple(name for name in partial if name not in wanted)
    if not scattered:
        if schedule != "summa":
            yield LocalProduct(*base, summed)
        return
    for target in terms.c.replace(PAIR, ""):
        ring = RingSum(*base, summed, scattered, target, problem.panel)
        if schedule in ("auto", "ring"):
            yield ring
        if schedule == "bidirectional" or (schedule == "auto" and machine.both_ways):
            yield replace(ring, both_ways=True)
        # All of the product's rows at once on every device, where they are no more than the operands.
        whole = a.device_count_along(scattered) * problem.c.chunk_bytes
        if schedule == "gather" or (schedule == "auto" and whole <= 2 * max(a.chunk_bytes, b.chunk_bytes)):
            yield ScatteredSum(*base, summed, scattered, target, problem.panel)


def _aligned(way: Contraction, a: StepBuilder, b: StepBuilder, problem: ProductProblem) -> Contraction:
    """Append the padding with which both operands' chunks meet."""
    terms = way.terms
    if isinstance(way, Summa):
        first, second = terms.a.index(way.letter), terms.b.index(way.letter)
        rows, columns = b.layout.parts[second], a.layout.parts[first]
        least = math.lcm(rows, columns)
        size = a.layout.shape[first]
        if way.panel is not None:
            least = summa_blocks(rows, columns, ceil_div(size, least) * least, way.panel)
        stored = ceil_div(size, least) * least
        for build, axis in ((a, first), (b, second)):
            if build.layout.stored_shape[axis] != stored:
                build.add(Resize(axis, size, stored - size))
        return way
    for letter in terms.contracted + terms.batch:
        first, second = terms.a.index(letter), terms.b.index(letter)
        wanted = max(a.layout.stored_shape[first], b.layout.stored_shape[second])
        for build, axis in ((a, first), (b, second)):
            if build.layout.stored_shape[axis] != wanted:
                build.add(Pad(axis, wanted - build.layout.stored_shape[axis]))
    if isinstance(way, RingSum | ScatteredSum):
        for build, letters in ((a, terms.a), (b, terms.b)):
            if way.target in letters:
                build.make_room(way.names, letters.index(way.target))
    return way
