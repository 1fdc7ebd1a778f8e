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
    a_ways = list(_variants(problem.a, machine))
    b_ways = list(_variants(problem.b, machine))
    # Ordered by what the moves alone cost, so that the search can end early.
    pairs = sorted(itertools.product(a_ways, b_ways), key=lambda pair: pair[0].seconds + pair[1].seconds)
    found: list[ProductCandidate] = []
    limit = math.inf
    homes: dict[Layout, Program | None] = {}
    for a, b in pairs:
        if a.seconds + b.seconds > limit:
            break
        for way in _contractions(problem, a.build.layout, b.build.layout, machine):
            first, second = StepBuilder(problem.a), StepBuilder(problem.b)
            first.extend(a.build.steps)
            second.extend(b.build.steps)
            contraction = _aligned(way, first, second, problem)
            meeting = first.layout, second.layout
            after = contraction.after(*meeting)
            own = contraction_cost(contraction, *meeting, machine, emulated=emulated).seconds
            if a.seconds + b.seconds + own > limit:
                continue
            if after not in homes:
                homes[after] = _home(after, problem.c, machine)
            home = homes[after]
            if home is None:
                continue
            program = ProductProgram(first.program, second.program, contraction, home)
            seconds = product_seconds(program, machine, emulated=emulated)
            found.append(ProductCandidate(program, seconds))
            found.sort(key=lambda item: (_comparable(item.seconds), product_peak(item.program, emulated=emulated)))
            del found[KEEP:]
            if len(found) == KEEP:
                limit = found[-1].seconds
    return found


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


def _variants(start: Layout, machine: Machine, goal: Spec | None = None) -> Iterator[_Variant]:
    """The chunkings that an array can be brought into, nearest first; of one spec only the cheapest way to it."""
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
        for build in _moved(here.build):
            if build.layout.spec not in seen:
                seconds = program_seconds(build.program, machine)
                heapq.heappush(queue, _Variant(seconds, next(numbers), build, here.moves + 1))


def _moved(build: StepBuilder) -> Iterator[StepBuilder]:
    """One more move: an exchange, or a part kept of what is whole over a mesh axis."""
    layout = build.layout

    def copy() -> StepBuilder:
        other = StepBuilder(build.start)
        other.extend(build.steps)
        return other

    for axis in range(layout.rank):
        for name in layout.unused_names:
            if layout.mesh.shape[name] > 1:
                other = copy()
                other.make_room((name,), axis)
                other.add(Part((name,), axis))
                yield other
        names = layout.spec[axis]
        for first, target in itertools.product(range(len(names)), range(layout.rank)):
            if target != axis:
                other = copy()
                other.exchange(names[first:], axis, target)
                yield other


def _home(start: Layout, goal: Layout, machine: Machine) -> Program | None:
    """What brings a product into its layout; None where its mesh axes are others."""
    trimmed = StepBuilder(start)
    _fit(trimmed)
    for variant in _variants(trimmed.layout, machine, goal.spec):
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
    terms, schedule = problem.terms, problem.schedule
    in_a, in_b = dict(zip(terms.a, a.spec, strict=True)), dict(zip(terms.b, b.spec, strict=True))
    if any(in_a[letter] != in_b[letter] for letter in terms.batch):
        return
    free = {letter: in_a.get(letter) or in_b.get(letter, ()) for letter in terms.c}
    partial = tuple(name for letter in terms.contracted if in_a[letter] == in_b[letter] for name in in_a[letter])
    apart = [letter for letter in terms.contracted if in_a[letter] != in_b[letter]]
    base = (terms, problem.c.dtype)

    def legal(without: str = "", plus: AxisNames = ()) -> bool:
        names = [name for letter, names in free.items() if letter != without for name in names]
        return len({*names, *plus, *partial}) == len(names) + len(plus) + len(partial)

    if not apart:
        if not partial and legal():
            yield LocalProduct(*base)
        elif partial and legal():
            yield from _sums(problem, a, b, partial, free, machine)
        if not partial:
            for side, own in (("a", terms.left), ("b", terms.right)):
                for letter in own:
                    if free[letter] and legal(without=letter):
                        yield from _travelling(problem, side, letter, machine)
        return
    if len(apart) > 1:
        return
    letter = apart[0]
    if not (in_a[letter] and in_b[letter]):
        # A partial sum over other axes is left to be summed up everywhere.
        side = "a" if in_a[letter] else "b"
        if legal():
            for way in _travelling(problem, side, letter, machine):
                yield replace(way, summed=partial)
        return
    rows, columns = in_b[letter], in_a[letter]
    lefts, rights = ({name for own in side for name in free[own]} for side in (terms.left, terms.right))
    fits = set(rows) <= lefts and set(columns) <= rights and legal()
    if schedule in ("auto", "summa") and fits:
        yield Summa(*base, partial, letter, problem.panel)


def _travelling(problem: ProductProblem, side: str, letter: str, machine: Machine) -> Iterator[Contraction]:
    base = (problem.terms, problem.c.dtype, (), side, letter)
    if problem.schedule in ("auto", "ring"):
        yield RingProduct(*base, False, problem.panel)
    if problem.schedule == "bidirectional" or (problem.schedule == "auto" and machine.both_ways):
        yield RingProduct(*base, True, problem.panel)
    if problem.schedule == "gather":
        yield GatheredProduct(*base)


def _sums(
    problem: ProductProblem, a: Layout, b: Layout, partial: AxisNames, free: dict[str, AxisNames], machine: Machine
) -> Iterator[Contraction]:
    """Ways to add up what devices have of the same product: onto chunks along one of its axes, or everywhere."""
    terms, schedule, base = problem.terms, problem.schedule, (problem.terms, problem.c.dtype)
    wanted = {name for names in problem.c.spec for name in names}
    scattered = tuple(name for name in partial if name in wanted)
    summed = tuple(name for name in partial if name not in wanted)
    if not scattered:
        yield LocalProduct(*base, summed)
        return
    for target in terms.c:
        ring = RingSum(*base, summed, scattered, target, False)
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
