"""One device's products: complex numbers as real planes, halves summed up as singles, doubles out of singles.

An *arithmetic* takes both operands into a form once, before chunks of one of them travel; multiplies blocks of the
forms and adds them up as often as there are chunks; and makes numbers of the sums at the end. Axes are named by
letters (:class:`tpufft.steps.Terms`); the letters below stand for axes that forms have besides.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tpufft.kernels import emulated
from tpufft.kernels.matmul import FULL, dot_precision
from tpufft.steps import Precision, Terms, real_dtype

EMULATED = "float64_emulated"

PAIR, LEFT, RIGHT = "Z", "P", "Q"
"""Letters of the axes of (high, low) parts, and of the planes of the first and of the second operand."""

TILES = 4
"""On hosts, products are added up in so many tiles of the result: a part of it is held twice, and in a core's cache."""

TILE_ROWS = 64
"""The least rows of a tile; products of fewer are slower."""


class Arithmetic(Protocol):
    """How numbers are multiplied and added up."""

    @property
    def letters(self) -> Terms:
        """The letters of both forms and of the raw product."""
        ...

    def left(self, a: jax.Array) -> jax.Array:
        """The form of the first operand."""
        ...

    def right(self, b: jax.Array) -> jax.Array:
        """The form of the second operand."""
        ...

    def multiply(self, left: jax.Array, right: jax.Array) -> jax.Array:
        """The raw product of two forms."""
        ...

    def add(self, x: jax.Array, y: jax.Array) -> jax.Array:
        """The sum of two raw or two compact products."""
        ...

    def compact(self, raw: jax.Array) -> jax.Array:
        """A raw product with as few planes as can still be added up, its axes as the product's letters."""
        ...

    def finish(self, compact: jax.Array) -> jax.Array:
        """The product itself."""
        ...


def arithmetic(terms: Terms, a: np.dtype, b: np.dtype, c: np.dtype, precision: Precision) -> Arithmetic:
    """The arithmetic for operands of two dtypes and a product of a third."""
    if precision == EMULATED:
        return _Doubled(terms, a.kind == "c", b.kind == "c", c)
    of_complex = _FourProducts if precision in FULL else _ThreeProducts
    planes = of_complex if a.kind == b.kind == "c" else _Planes
    return planes(terms, a.kind == "c", b.kind == "c", c, precision)


def _with_planes(letters: str, own: str, plane: str) -> str:
    """The letter of the planes before an operand's first own axis, where products need no transposition."""
    position = next((number for number, letter in enumerate(letters) if letter in own), len(letters))
    return letters[:position] + plane + letters[position:]


def _stacked(x: jax.Array, letters: str, plane: str) -> jax.Array:
    """The real and imaginary planes of a complex array, the one plane of any other."""
    axis = letters.index(plane)
    if not jnp.iscomplexobj(x):
        return jnp.expand_dims(x, axis)
    return jnp.stack([x.real, x.imag], axis=axis)


@dataclass(frozen=True)
class _Planes:
    """Real planes side by side in one real product, where one operand is complex at most."""

    terms: Terms
    a_complex: bool
    b_complex: bool
    dtype: np.dtype
    precision: Precision

    @property
    def letters(self) -> Terms:
        terms = self.terms
        a = _with_planes(terms.a, terms.left, LEFT)
        b = _with_planes(terms.b, terms.right, RIGHT)
        batch = "".join(letter for letter in a if letter in terms.batch)
        own = [letter for letter in a if letter not in terms.b] + [letter for letter in b if letter not in terms.a]
        return Terms(a, b, batch + "".join(own))

    @property
    def summed_dtype(self) -> np.dtype:
        """What sums are kept in: halves as singles, truth values as integers."""
        if self.dtype.kind == "b":
            return np.dtype(np.int32)
        # Halves of either kind; NumPy itself does not know all of them as floats.
        is_half = jnp.issubdtype(self.dtype, jnp.floating) and self.dtype.itemsize == 2
        return np.dtype(np.float32) if is_half else real_dtype(self.dtype)

    def left(self, a: jax.Array) -> jax.Array:
        return _stacked(self._entering(a), self.letters.a, LEFT)

    def right(self, b: jax.Array) -> jax.Array:
        return _stacked(self._entering(b), self.letters.b, RIGHT)

    def _entering(self, x: jax.Array) -> jax.Array:
        return x.astype(np.int32) if x.dtype.kind == "b" else x

    def multiply(self, left: jax.Array, right: jax.Array) -> jax.Array:
        return self._einsum(self.letters, left, right)

    def _einsum(self, letters: Terms, left: jax.Array, right: jax.Array) -> jax.Array:
        floating = jnp.issubdtype(left.dtype, jnp.floating)
        return jnp.einsum(
            str(letters),
            left,
            right,
            precision=dot_precision(self.precision) if floating else None,
            preferred_element_type=self.summed_dtype,
        )

    def add(self, x: jax.Array, y: jax.Array) -> jax.Array:
        return x + y

    def compact(self, raw: jax.Array) -> jax.Array:
        if not (self.a_complex or self.b_complex):
            return self.ordered(raw)
        letters = self.letters.c
        imaginary = _plane(raw, letters, 1, 0) if self.a_complex else _plane(raw, letters, 0, 1)
        return lax.complex(self.ordered(_plane(raw, letters, 0, 0)), self.ordered(imaginary))

    def ordered(self, plane: jax.Array) -> jax.Array:
        """One plane of a raw product: its axes in the product's order, those of planes gone."""
        letters = self.letters.c
        squeezed = jnp.squeeze(plane, tuple(letters.index(each) for each in (LEFT, RIGHT) if each in letters))
        left = letters.replace(LEFT, "").replace(RIGHT, "")
        return jnp.transpose(squeezed, [left.index(letter) for letter in self.terms.c])

    def finish(self, compact: jax.Array) -> jax.Array:
        return _as_dtype(compact, self.dtype)


@dataclass(frozen=True)
class _FourProducts(_Planes):
    """Complex operands in one real product of twice the inner length: [[p, -q], [q, p]] times [r, s].

    The raw product has the real and the imaginary part along the first operand's plane axis.
    """

    @property
    def letters(self) -> Terms:
        terms = self.terms
        a = _with_planes(terms.a, terms.left, LEFT)
        b = _with_planes(terms.b, terms.contracted, RIGHT)
        batch = "".join(letter for letter in a if letter in terms.batch)
        own = [letter for letter in a if letter not in terms.b] + [
            letter for letter in terms.b if letter in terms.right
        ]
        return Terms(a, b, batch + "".join(own))

    def multiply(self, left: jax.Array, right: jax.Array) -> jax.Array:
        terms, inner = self.letters, self.terms.contracted
        p, q = (lax.index_in_dim(left, number, terms.a.index(LEFT), keepdims=False) for number in (0, 1))
        bare = terms.a.replace(LEFT, "")
        # Beside what is summed over as well, so that products need no transposition.
        summed = _with_planes(bare, inner, RIGHT)
        both = _with_planes(summed, self.terms.left, LEFT)
        rows = (jnp.stack(planes, summed.index(RIGHT)) for planes in ((p, -q), (q, p)))
        return self._einsum(Terms(both, terms.b, terms.c), jnp.stack(list(rows), both.index(LEFT)), right)

    def compact(self, raw: jax.Array) -> jax.Array:
        axis = self.letters.c.index(LEFT)
        return lax.complex(*(self.ordered(lax.index_in_dim(raw, part, axis)) for part in (0, 1)))


@dataclass(frozen=True)
class _ThreeProducts(_FourProducts):
    """Gauss's three multiplications for complex operands: a quarter less work, half a digit less in the sums.

    With a = p + iq and b = r + is, the products are (p + q) r, p (s - r) and q (r + s).
    """

    def multiply(self, left: jax.Array, right: jax.Array) -> jax.Array:
        terms = self.letters
        first, second = terms.a.index(LEFT), terms.b.index(RIGHT)
        p, q = (lax.index_in_dim(left, number, first) for number in (0, 1))
        r, s = (lax.index_in_dim(right, number, second) for number in (0, 1))
        lefts = jnp.concatenate([p + q, p, q], axis=first)
        rights = jnp.concatenate([r, s - r, r + s], axis=second)
        both = Terms(terms.a, terms.b.replace(RIGHT, LEFT), LEFT + terms.c.replace(LEFT, ""))
        k1, k2, k3 = self._einsum(both, lefts, rights)
        return jnp.stack([k1 - k3, k1 + k2], terms.c.index(LEFT))


@dataclass(frozen=True)
class _Doubled:
    """Doubles as pairs of singles, whose products and sums are made of singles alone; see :mod:`kernels.emulated`.

    Where the terms have the letter of pairs, operands and product are stacked pairs themselves.
    """

    terms: Terms
    a_complex: bool
    b_complex: bool
    dtype: np.dtype

    @functools.cached_property
    def _plain(self) -> _Planes:
        bare = (letters.replace(PAIR, "") for letters in (self.terms.a, self.terms.b, self.terms.c))
        return _Planes(Terms(*bare), self.a_complex, self.b_complex, self.dtype, None)

    @property
    def letters(self) -> Terms:
        plain = self._plain.letters
        return Terms(PAIR + plain.a, PAIR + plain.b, PAIR + plain.c)

    def left(self, a: jax.Array) -> jax.Array:
        return self._form(a, self.terms.a, self._plain.left)

    def right(self, b: jax.Array) -> jax.Array:
        return self._form(b, self.terms.b, self._plain.right)

    def _form(self, x: jax.Array, letters: str, planes: Callable[[jax.Array], jax.Array]) -> jax.Array:
        if PAIR not in letters:
            return jnp.stack(emulated.split(planes(x)))
        return jnp.stack([planes(lax.index_in_dim(x, part, letters.index(PAIR), keepdims=False)) for part in (0, 1)])

    def multiply(self, left: jax.Array, right: jax.Array) -> jax.Array:
        terms = self._plain.letters
        batch = [letter for letter in terms.c if letter in terms.a and letter in terms.b]
        inner = [letter for letter in terms.a if letter in terms.b and letter not in terms.c]
        rows = [letter for letter in terms.c if letter not in terms.b]
        columns = [letter for letter in terms.c if letter not in terms.a]
        sizes = dict(zip(terms.a, left.shape[1:], strict=True)) | dict(zip(terms.b, right.shape[1:], strict=True))

        def flat(x: jax.Array, letters: str, *groups: list[str]) -> jax.Array:
            order = [1 + letters.index(letter) for group in groups for letter in group]
            return jnp.transpose(x, (0, *order)).reshape(2, *(math.prod(map(sizes.__getitem__, g)) for g in groups))

        lefts, rights = flat(left, terms.a, batch, rows, inner), flat(right, terms.b, batch, inner, columns)
        pair = jax.vmap(emulated.product)((lefts[0], lefts[1]), (rights[0], rights[1]))
        # The raw letters are batch, rows, columns in this very order.
        return jnp.stack(pair).reshape(2, *(sizes[letter] for letter in terms.c))

    def add(self, x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.stack(emulated.add((x[0], x[1]), (y[0], y[1])))

    def compact(self, raw: jax.Array) -> jax.Array:
        if not (self.a_complex and self.b_complex):
            return jnp.stack([self._plain.compact(part) for part in raw])
        pr, ps, qr, qs = (_plane(raw, self.letters.c, *which) for which in ((0, 0), (0, 1), (1, 0), (1, 1)))
        parts = self.add(pr, -qs), self.add(ps, qr)
        return lax.complex(*(jnp.stack([self._plain.ordered(each) for each in part]) for part in parts))

    def finish(self, compact: jax.Array) -> jax.Array:
        if PAIR in self.terms.c:
            return jnp.moveaxis(_as_dtype(compact, self.dtype), 0, self.terms.c.index(PAIR))
        real = real_dtype(self.dtype)
        if not jnp.iscomplexobj(compact):
            return emulated.join((compact[0], compact[1]), real)
        parts = (emulated.join((part[0], part[1]), real) for part in (compact.real, compact.imag))
        return _as_dtype(lax.complex(*parts), self.dtype)


def _plane(raw: jax.Array, letters: str, left: int, right: int) -> jax.Array:
    """One plane of each operand in a raw product, whose axes stay."""
    return lax.index_in_dim(lax.index_in_dim(raw, left, letters.index(LEFT)), right, letters.index(RIGHT))


def _as_dtype(x: jax.Array, dtype: np.dtype) -> jax.Array:
    """A sum as a number of `dtype`: of a complex one the real part where a real one is wanted."""
    if dtype.kind == "b":
        return x != 0
    return (x.real if jnp.iscomplexobj(x) and dtype.kind != "c" else x).astype(dtype)


def add_product(how: Arithmetic, total: jax.Array, left: jax.Array, right: jax.Array, platform: str) -> jax.Array:
    """``total + left @ right``, on hosts tile by tile of the result."""
    letters = how.letters
    tiles = _tiles(letters, total, left, platform)
    if tiles is None:
        return how.add(total, how.multiply(left, right))
    axis, result_axis, length, count = tiles

    def one(start: Any, total: jax.Array, size: int) -> jax.Array:
        part = lax.dynamic_slice_in_dim(left, start, size, axis)
        old = lax.dynamic_slice_in_dim(total, start, size, result_axis)
        return lax.dynamic_update_slice_in_dim(total, how.add(old, how.multiply(part, right)), start, result_axis)

    total = lax.fori_loop(0, count, lambda number, total: one(number * length, total, length), total)
    rest = left.shape[axis] - count * length
    return one(count * length, total, rest) if rest else total


def _tiles(letters: Terms, total: jax.Array, left: jax.Array, platform: str) -> tuple[int, int, int, int] | None:
    """The axis that tiles cut, in the first form and in the total; a tile's length, and how many are whole."""
    if platform != "cpu" or total.size * total.dtype.itemsize < 1 << 18:
        return None
    own = [letter for letter in letters.c if letter in letters.a and letter not in letters.b and letter != LEFT]
    if not own:
        return None
    longest = max(own, key=lambda letter: left.shape[letters.a.index(letter)])
    axis = letters.a.index(longest)
    size = left.shape[axis]
    count = min(TILES, size // TILE_ROWS)
    if count < 2:
        return None
    length = -(-size // count)
    return axis, letters.c.index(longest), length, size // length
