r"""Turns in whole numbers: the fraction of a turn :math:`f t / n` for any floats f and t, exact but for its last digit.

A float has no room for the whole turns of :math:`f t / n` and for their last digits too. One side is cut as
:math:`f/n = R + r`, the other as :math:`t = T + \theta`, with whole R and T and the rest within half a turn each way,
exactly; then

.. math:: f t/n \equiv r T + R \theta + r \theta \pmod 1

A rest is a fraction of two words, a whole number is one word, and a product that wraps around drops whole turns by
itself. A word has 32 bits for single precision, 64 for double: turns are right to :math:`2^{-30}` (:math:`2^{-60}`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

DIGIT = 32
"""Bits of a digit on the host, where a number is four of them behind the point."""


class Fraction(NamedTuple):
    """Turns within half a turn each way, in two words of two's complement; and the whole turns, where there are any."""

    high: Any
    low: Any
    turns: Any = None


class Whole(NamedTuple):
    """Whole numbers, in one word of two's complement; and what is beside them, where there is anything."""

    number: Any
    rest: Fraction | None = None


# -- exact digits, on the host -----------------------------------------------------------------------------------------


def word_of(dtype: Any) -> np.dtype:
    """The word for phases of a dtype."""
    return np.dtype(np.uint64 if np.dtype(dtype) in (np.complex128, np.float64) else np.uint32)


def farthest(dtype: Any) -> int:
    """The magnitude below which points must be for the phases of a dtype."""
    return 1 << (53 if word_of(dtype) == np.uint64 else 31)


def fraction(values: np.ndarray, order: int, word: np.dtype) -> Fraction:
    """``values / order``, exact but for the last digit."""
    nearest = np.rint(values)
    rest = values - nearest
    turns, first = np.divmod(nearest.astype(np.int64), order)
    nothing = np.zeros_like(first)
    quotient = _words(_divided(first, np.zeros((4, len(values)), np.uint64), order), word)
    beside = _words(_divided(nothing, _digits(np.abs(rest)), order), word)
    less = (rest < 0) & ((quotient.high < beside.high) | ((quotient.high == beside.high) & (quotient.low < beside.low)))
    total = added(quotient, _negated(beside, rest < 0))
    # Above half a turn the fraction is negative, and one turn more is whole.
    turns = turns - less + (total.high >> _top(word)).astype(np.int64)
    return total._replace(turns=turns.astype(word) if turns.any() else None)


def whole(values: np.ndarray, word: np.dtype) -> Whole:
    """Values as whole numbers, and what is beside them."""
    nearest = np.rint(values)
    nearest += values - nearest == 0.5  # a half is the next one's minus a half
    rest = values - nearest
    beside = _negated(_words(_digits(np.abs(rest)), word), rest < 0)
    return Whole(nearest.astype(np.int64).astype(word), beside if rest.any() else None)


def _digits(values: np.ndarray) -> np.ndarray:
    """Numbers in [0, 1) as four digits each."""
    digits = np.zeros((4, len(values)), np.uint64)
    for digit in digits:
        values = np.ldexp(values, DIGIT)
        digit[:] = np.floor(values)
        values = values - np.floor(values)
    return digits


def _divided(first: np.ndarray, digits: np.ndarray, order: int) -> np.ndarray:
    """The four digits behind the point of ``(first + digits) / order``, for `first` below `order`: long division."""
    kind = np.uint64 if order <= 1 << DIGIT else object
    remainder, divisor = first.astype(kind), np.array(order, kind)
    found = np.zeros_like(digits)
    for digit, result in zip(digits.astype(kind), found, strict=True):
        value = remainder * (1 << DIGIT) + digit
        remainder = value % divisor
        result[:] = value // divisor
    return found


def _words(digits: np.ndarray, word: np.dtype) -> Fraction:
    """As many digits as two words hold."""
    if word == np.uint32:
        return Fraction(digits[0].astype(word), digits[1].astype(word))
    return Fraction(digits[0] << DIGIT | digits[1], digits[2] << DIGIT | digits[3])


def _negated(x: Fraction, where: np.ndarray) -> Fraction:
    return Fraction(np.where(where, ~x.high + (x.low == 0), x.high), np.where(where, ~x.low + 1, x.low))


# -- turns in words, on the host and on devices ------------------------------------------------------------------------


def turn(f: Fraction, t: Whole) -> Any:
    """The fraction of a turn ``f t``, in one word of two's complement, for arrays that broadcast."""
    total = _product(f, t.number)
    if t.rest is not None:
        total = total + _signed_high(f.high, t.rest.high)
        if f.turns is not None:
            total = total + _product(t.rest, f.turns)
    return total


def _product(f: Fraction, number: Any) -> Any:
    """The upper word of what is left of a fraction times a whole number without its whole turns."""
    return f.high * number + _high(f.low, number) - f.low * (number >> _top(number.dtype))


def _high(a: Any, b: Any) -> Any:
    """The upper word of a product without signs."""
    bits = a.dtype.itemsize * 4
    mask = (1 << bits) - 1
    upper_a, lower_a, upper_b, lower_b = a >> bits, a & mask, b >> bits, b & mask
    middle = upper_a * lower_b + (lower_a * lower_b >> bits)
    other = (middle & mask) + lower_a * upper_b
    return upper_a * upper_b + (middle >> bits) + (other >> bits)


def _signed_high(a: Any, b: Any) -> Any:
    return _high(a, b) - b * (a >> _top(a.dtype)) - a * (b >> _top(b.dtype))


def added(a: Fraction, b: Fraction) -> Fraction:
    """The sum of two fractions without whole turns."""
    low = a.low + b.low
    return Fraction(a.high + b.high + (low < a.low).astype(low.dtype), low)


def _top(word: Any) -> int:
    """The place of the sign."""
    return np.dtype(word).itemsize * 8 - 1
