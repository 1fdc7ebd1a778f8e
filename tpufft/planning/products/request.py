"""A product as it was asked for, with its layouts: the operator that the bilinear primitive runs."""

from __future__ import annotations

import functools
import string
from dataclasses import dataclass, replace

from tpufft.execution import BoundProduct
from tpufft.kernels.product import EMULATED, PAIR
from tpufft.layout import AxisNames, Layout
from tpufft.planning.machine import Machine, machine_of
from tpufft.planning.products.search import SCHEDULES, ProductCandidate, ProductProblem, product_candidates
from tpufft.planning.words import check_word
from tpufft.steps import Precision, Terms


@dataclass(frozen=True)
class ProductRequest:
    """A product of two arrays; implements ``execution.BilinearOperator``.

    Parameters
    ----------
    terms : Terms
        Which axes meet.
    a, b, c : Layout
        Of operands and product.
    schedule : str
        One of :data:`SCHEDULES`.
    panel : int, optional
        Elements of the travelling chunks that go at a time.
    precision
        Of the products.
    """

    terms: Terms
    a: Layout
    b: Layout
    c: Layout
    schedule: str = "auto"
    panel: int | None = None
    precision: Precision = None

    def __hash__(self) -> int:
        return self._hash

    @functools.cached_property
    def _hash(self) -> int:
        return hash((self.terms, self.a, self.b, self.c, self.schedule, self.panel, self.precision))

    @property
    def problem(self) -> ProductProblem:
        """What is searched for."""
        layouts = (self.a.simplified(), self.b.simplified(), self.c.simplified())
        return ProductProblem(self.terms, *layouts, self.schedule, self.panel, self.precision == EMULATED)

    def bound(self) -> BoundProduct:
        """Layouts and the best way between them."""
        return self.bound_to(candidates_of(self)[0])

    def bound_to(self, candidate: ProductCandidate) -> BoundProduct:
        """Layouts and one of the ways between them."""
        return BoundProduct((self.a, self.b), candidate.program, self.c, self.precision)

    def transposed(self, side: str) -> ProductRequest:
        """The product of the cotangent and the other operand; of a ring it is a ring again."""
        if PAIR in self.terms.c:
            raise TypeError(
                "a product of pairs (high, low) has no reverse derivative; differentiate that of float32 arrays"
            )
        program = candidates_of(self)[0].program
        chosen = program.contraction.schedule
        schedule = chosen if chosen in ("ring", "bidirectional") else self.schedule
        schedule = "auto" if schedule == "summa" else schedule
        terms = self.terms
        if side == "a":
            other = replace(self, terms=Terms(terms.c, terms.b, terms.a), a=self.c, c=self.a)
        else:
            other = replace(self, terms=Terms(terms.a, terms.c, terms.b), b=self.c, c=self.b)
        return replace(other, schedule=schedule)

    def batched(self, axes: tuple[int | None, int | None], size: int, names: AxisNames) -> ProductRequest:
        """The same product of operands with one more axis each, or one of them."""
        terms = self.terms
        letter = next(x for x in string.ascii_lowercase if x not in terms.a + terms.b)
        layouts = [layout for layout, axis in zip((self.a, self.b), axes, strict=True) if axis is not None]
        used = {name for layout in (*layouts, self.c) for entry in layout.spec for name in entry}
        if used & set(names) or size % self.c.device_count_along(names):
            names = ()

        def wider(layout: Layout, letters: str, axis: int | None) -> tuple[Layout, str]:
            if axis is None:
                return layout, letters
            return layout.insert_axis(axis, size, names), letters[:axis] + letter + letters[axis:]

        (a, in_a), (b, in_b), (c, in_c) = (
            wider(layout, letters, axis)
            for layout, letters, axis in zip(
                (self.a, self.b, self.c), (terms.a, terms.b, terms.c), (*axes, 0), strict=True
            )
        )
        return replace(self, terms=Terms(in_a, in_b, in_c), a=a, b=b, c=c)


@functools.lru_cache(maxsize=1024)
def candidates_of(request: ProductRequest) -> tuple[ProductCandidate, ...]:
    """The ways to do it, the best first."""
    return product_candidates(request.problem, machine(request))


def machine(request: ProductRequest) -> Machine:
    """What it is planned for."""
    return machine_of(request.c.mesh)


def check_schedule(schedule: object, panel: object) -> tuple[str, int | None]:
    """The words of a product's schedule.

    Raises
    ------
    ValueError
        For another word, or a panel that is not positive.
    TypeError
        For a panel that is no integer.
    """
    word = check_word("schedule", schedule, SCHEDULES)
    if panel is None:
        return word, None
    if isinstance(panel, bool) or not hasattr(panel, "__index__"):
        raise TypeError(f"panel={panel!r} is no integer; give elements of a chunk, or None for all of it")
    number = int(panel.__index__())  # type: ignore[attr-defined]
    if number < 1:
        raise ValueError(f"panel={number}: give at least 1 element, or None for a whole chunk")
    return word, number
