"""How each kind of contraction is carried out on one device's chunks, inside somebody's ``shard_map``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tpufft.collectives import axis_name, ring_fold, ring_sum, send_whole, torus_fold
from tpufft.execution.padding import cleared
from tpufft.execution.rules import run
from tpufft.kernels.product import PAIR, Arithmetic, add_product, arithmetic
from tpufft.layout import AxisNames, Layout
from tpufft.steps import (
    Contraction,
    GatheredProduct,
    LocalProduct,
    Precision,
    ProductProgram,
    RingProduct,
    RingSum,
    ScatteredSum,
    Summa,
)


def run_product(program: ProductProgram, a: jax.Array, b: jax.Array, precision: Precision, platform: str) -> jax.Array:
    """Carry out a product on one device's chunks.

    Parameters
    ----------
    program : ProductProgram
        The steps.
    a, b : array
        This device's parts of the operands.
    precision
        Of the products.
    platform : str
        The devices' platform.
    """
    contraction, meeting = program.contraction, program.meeting
    a = _cleared(run(program.a, a, platform), meeting[0], contraction.terms.a, contraction.terms.contracted)
    b = _cleared(run(program.b, b, platform), meeting[1], contraction.terms.b, contraction.terms.contracted)
    terms = contraction.terms
    how = arithmetic(terms, meeting[0].dtype, meeting[1].dtype, contraction.dtype, precision)
    worker = _Worker(how, contraction, meeting, platform)
    result = _RULES[type(contraction)](worker, contraction, how.left(a), how.right(b))
    return run(program.c, how.finish(worker.summed(result)), platform)


def _cleared(chunk: jax.Array, layout: Layout, letters: str, contracted: str) -> jax.Array:
    """A chunk with zeros in the padding of what is summed over."""
    for axis, letter in enumerate(letters):
        if letter in contracted:
            chunk = cleared(chunk, axis, layout.shape[axis], layout.spec[axis], layout.parts[axis])
    return chunk


class _Worker:
    """What the rules share: the arithmetic, where axes are, and blocks of forms."""

    def __init__(
        self, how: Arithmetic, contraction: Contraction, meeting: tuple[Layout, Layout], platform: str
    ) -> None:
        self.how = how
        self.terms = contraction.terms
        self.contraction = contraction
        self.meeting = meeting
        self.platform = platform

    def count(self, names: AxisNames) -> int:
        return self.meeting[0].device_count_along(names)

    def axis(self, side: str, letter: str) -> int:
        """The number of an axis in a form, or in the raw product (side "c")."""
        letters = self.how.letters
        return {"a": letters.a, "b": letters.b, "c": letters.c}[side].index(letter)

    def zeros(self, left: jax.Array, right: jax.Array, **sizes: int) -> jax.Array:
        """A raw product of zeros, varying over the mesh as the operands do; with other sizes for some letters."""
        letters = self.how.letters
        shape = jax.eval_shape(self.how.multiply, left, right)
        full = [sizes.get(letter, int(size or 0)) for letter, size in zip(letters.c, shape.shape, strict=True)]
        return _zeros_like(left, right, shape.dtype, tuple(full))

    def fold(self, total: jax.Array, left: jax.Array, right: jax.Array) -> jax.Array:
        return add_product(self.how, total, left, right, self.platform)

    def summed(self, compact: jax.Array) -> jax.Array:
        """The sum over the devices that have parts of the same result."""
        names = self.contraction.summed
        if not names:
            return compact
        if PAIR not in self.how.letters.c:
            return lax.psum(compact, axis_name(names))
        # Pairs are added up as pairs: round a ring, in one and the same order for all, which the first one tells.
        count, me = self.count(names), lax.axis_index(axis_name(names))

        def fold(total: jax.Array, number: int, q: jax.Array, part: jax.Array) -> jax.Array:
            return self.how.add(total, part)

        zero = jnp.zeros_like(compact)
        total = ring_fold([(compact, 1)], names, count, fold, zero, self.platform)
        return lax.psum(jnp.where(me == 0, total, jnp.zeros_like(total)), axis_name(names))


def _zeros_like(left: jax.Array, right: jax.Array, dtype: np.dtype, shape: tuple[int, ...]) -> jax.Array:
    """Zeros that vary over the mesh as both operands do."""
    return lax.full_like(left, 0, dtype, shape) + lax.full_like(right, 0, dtype, shape)


def _local(work: _Worker, contraction: LocalProduct, left: jax.Array, right: jax.Array) -> jax.Array:
    return work.how.compact(work.how.multiply(left, right))


def _ring(work: _Worker, contraction: RingProduct, left: jax.Array, right: jax.Array) -> jax.Array:
    layout, axis = contraction.mover(*work.meeting)
    names, count, width = layout.spec[axis], layout.parts[axis], layout.chunk_shape[axis]
    side, letter = contraction.moving, contraction.letter
    other = "b" if side == "a" else "a"
    summing = letter in work.terms.contracted
    moving, staying = (left, right) if side == "a" else (right, left)

    def pair(moved: jax.Array, stayed: jax.Array) -> tuple[jax.Array, jax.Array]:
        return (moved, stayed) if side == "a" else (stayed, moved)

    if summing:
        total = work.zeros(*pair(moving, lax.slice_in_dim(staying, 0, width, axis=work.axis(other, letter))))
    else:
        total = work.zeros(left, right, **{letter: width * count})

    def round_of(first: Any, length: int, total: jax.Array) -> jax.Array:
        halves = [length - length // 2, length // 2] if contraction.both_ways and length > 1 else [length]
        firsts = [first + sum(halves[:number]) for number in range(len(halves))]
        parts = [
            (lax.dynamic_slice_in_dim(moving, start, size, work.axis(side, letter)), way)
            for start, size, way in zip(firsts, halves, (1, -1), strict=False)
        ]

        def fold(total: jax.Array, number: int, q: jax.Array, part: jax.Array) -> jax.Array:
            start = q * width + firsts[number]
            if summing:
                block = lax.dynamic_slice_in_dim(staying, start, halves[number], work.axis(other, letter))
                return work.fold(total, *pair(part, block))
            product = work.how.multiply(*pair(part, staying))
            return lax.dynamic_update_slice_in_dim(total, product, start, work.axis("c", letter))

        return ring_fold(parts, names, count, fold, total, work.platform)

    return work.how.compact(_over_rounds(contraction.rounds(*work.meeting), round_of, total))


def _over_rounds(
    lengths: list[int], round_of: Callable[[Any, int, jax.Array], jax.Array], total: jax.Array
) -> jax.Array:
    """Panels of one length in a loop, a shorter last one behind it."""
    full = [length for length in lengths if length == lengths[0]]
    if len(full) == 1:
        total = round_of(0, lengths[0], total)
    else:
        total = lax.fori_loop(0, len(full), lambda n, total: round_of(n * lengths[0], lengths[0], total), total)
    return total if len(full) == len(lengths) else round_of(lengths[0] * len(full), lengths[-1], total)


def _gathered(work: _Worker, contraction: GatheredProduct, left: jax.Array, right: jax.Array) -> jax.Array:
    names, side = contraction.names(*work.meeting), contraction.moving
    moving, staying = (left, right) if side == "a" else (right, left)
    axis = work.axis(side, contraction.letter)
    whole = lax.all_gather(moving, axis_name(names), axis=axis, tiled=True)
    return work.how.compact(work.how.multiply(*((whole, staying) if side == "a" else (staying, whole))))


def _share(work: _Worker, target: str, left: jax.Array, right: jax.Array) -> Callable[[Any, int], jax.Array]:
    """A device's share of an interval of the result's axis `target`, which one of the operands has."""
    side = "a" if target in work.terms.a else "b"
    source = left if side == "a" else right
    batch = target in work.terms.batch

    def share(start: Any, length: int) -> jax.Array:
        part = lax.dynamic_slice_in_dim(source, start, length, work.axis(side, target))
        other = right if side == "a" else left
        if batch:
            other = lax.dynamic_slice_in_dim(right, start, length, work.axis("b", target))
        return work.how.compact(work.how.multiply(*((part, other) if side == "a" else (other, part))))

    return share


def _target(work: _Worker, contraction: ScatteredSum | RingSum) -> tuple[int, int, int]:
    """Devices, the length of one's part of the target axis, and that axis' number in a compact product."""
    layout = contraction.after(*work.meeting)
    position = work.terms.c.index(contraction.target)
    letters = work.terms.c.replace(PAIR, "")
    compact_axis = letters.index(contraction.target) + (PAIR in work.how.letters.c)
    return work.count(contraction.names), layout.chunk_shape[position], compact_axis


def _scattered(work: _Worker, contraction: ScatteredSum, left: jax.Array, right: jax.Array) -> jax.Array:
    count, width, axis = _target(work, contraction)
    share, name = _share(work, contraction.target, left, right), axis_name(contraction.names)

    def exchanged(shares: jax.Array) -> jax.Array:
        received = send_whole(lambda x: lax.all_to_all(x, name, 0, 0, tiled=True), shares, work.platform)
        if PAIR not in work.how.letters.c:
            return received.sum(0)
        total, rest = received[0], received[1:]
        return lax.fori_loop(0, count - 1, lambda n, total: work.how.add(total, rest[n]), total)

    def panel(start: Any, length: int) -> jax.Array:
        if length == width:
            whole = share(0, count * width)
            parts = whole.reshape(*whole.shape[:axis], count, width, *whole.shape[axis + 1 :])
            return exchanged(lax.optimization_barrier(jnp.moveaxis(parts, axis, 0)))
        return exchanged(lax.map(lambda q: share(q * width + start, length), jnp.arange(count)))

    return _in_panels(work, contraction, share, panel, left, right)


def _ring_sum(work: _Worker, contraction: RingSum, left: jax.Array, right: jax.Array) -> jax.Array:
    count, width, axis = _target(work, contraction)
    share = _share(work, contraction.target, left, right)

    def one_way(first: Any, length: int, way: int) -> jax.Array:
        return ring_sum(
            lambda q: share(q * width + first, length),
            contraction.names,
            count,
            work.platform,
            way=way,
            add=work.how.add,
        )

    def panel(first: Any, length: int) -> jax.Array:
        if not contraction.both_ways or length < 2:
            return one_way(first, length, 1)
        half = length - length // 2
        return jnp.concatenate([one_way(first, half, 1), one_way(first + half, length - half, -1)], axis=axis)

    return _in_panels(work, contraction, share, panel, left, right)


def _in_panels(
    work: _Worker,
    contraction: ScatteredSum | RingSum,
    share: Callable[[Any, int], jax.Array],
    panel: Callable[[Any, int], jax.Array],
    left: jax.Array,
    right: jax.Array,
) -> jax.Array:
    """A device's result, panel by panel of its target axis."""
    _, width, axis = _target(work, contraction)
    lengths = contraction.rounds(*work.meeting)
    if len(lengths) == 1:
        return panel(0, width)
    first = jax.eval_shape(lambda: share(0, width))
    total = _zeros_like(left, right, first.dtype, first.shape)
    return _over_rounds(
        lengths,
        lambda start, length, total: lax.dynamic_update_slice_in_dim(total, panel(start, length), start, axis),
        total,
    )


def _summa(work: _Worker, contraction: Summa, left: jax.Array, right: jax.Array) -> jax.Array:
    blocks = contraction.blocks(*work.meeting)
    rows, columns = contraction.counts(*work.meeting)

    def stacked(form: jax.Array, side: str, held: int) -> jax.Array:
        axis = work.axis(side, contraction.letter)
        shape = form.shape
        parts = form.reshape(*shape[:axis], held, shape[axis] // held, *shape[axis + 1 :])
        return jnp.moveaxis(parts, axis, 0)

    first, second = stacked(left, "a", blocks // columns), stacked(right, "b", blocks // rows)
    total = work.zeros(first[0], second[0])
    sides = contraction.sides(*work.meeting)
    return work.how.compact(torus_fold((first, second), sides, (rows, columns), work.fold, total, work.platform))


_RULES: Mapping[type[Contraction], Callable[[_Worker, Any, jax.Array, jax.Array], jax.Array]] = MappingProxyType(
    {
        LocalProduct: _local,
        RingProduct: _ring,
        GatheredProduct: _gathered,
        ScatteredSum: _scattered,
        RingSum: _ring_sum,
        Summa: _summa,
    }
)
