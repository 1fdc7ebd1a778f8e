"""``einsum`` of two chunked arrays, for the cases that products cover."""

from __future__ import annotations

import string
from typing import Any

from tpufft.matrix.operands import Matrix, as_operand_array
from tpufft.matrix.product import product, requested
from tpufft.planning import ProductPlan
from tpufft.steps import Precision, Terms


def einsum(
    subscripts: str,
    a: Matrix,
    b: Matrix,
    *,
    schedule: str = "auto",
    panel: int | None = None,
    precision: Precision = None,
) -> Any:
    r"""A product of two chunked arrays by Einstein's convention; nothing is gathered.

    Parameters
    ----------
    subscripts : str
        As ``numpy.einsum`` has it for two operands: a letter for each axis, ``...`` for batch axes, ``->`` and the
        result's letters. Every letter stands in two of the three: in both operands (summed over), in an operand and
        the result, or in all (a batch axis).
    a, b : array or ChunkedArray
        As :func:`matmul` takes them, of any number of axes.
    schedule, panel, precision
        As in :func:`matmul`.

    Returns
    -------
    jax.Array or ChunkedArray
        Of the shape that the subscripts say. Axes of an operand that the result keeps stay chunked as they are; mesh
        axes that split only what is summed over split the last axis that `a` alone has, as a product's rows.

    Raises
    ------
    ValueError
        For subscripts that do not fit, or that no product covers: one operand or three, a letter twice in an operand
        (a diagonal), a letter of one operand alone that the result lacks (a sum; use ``.sum(axis)`` first).
    LayoutError, TypeError, OverflowError
        As :func:`matmul` does.

    Notes
    -----
    Costs what the product costs; ``einsum("mk,kn->mn")`` is :func:`matmul`, and ``einsum("km,kn->mn")`` the Gram
    product ``a.T @ b``.

    Examples
    --------
    >>> import numpy as np, tpufft
    >>> a = tpufft.RowChunked.from_array(np.ones((4, 3)))
    >>> tpufft.einsum("km,kn->mn", a, a).to_numpy().tolist()
    [[4.0, 4.0, 4.0], [4.0, 4.0, 4.0], [4.0, 4.0, 4.0]]
    """
    arrays = (as_operand_array(a, "a"), as_operand_array(b, "b"))
    return product(arrays, einsum_terms(subscripts, arrays[0].shape, arrays[1].shape), schedule, panel, precision)


def plan_einsum(
    subscripts: str,
    a: Matrix,
    b: Matrix,
    *,
    schedule: str = "auto",
    panel: int | None = None,
    precision: Precision = None,
) -> ProductPlan:
    """The plan of a product by Einstein's convention; nothing is computed.

    Parameters
    ----------
    subscripts, a, b, schedule, panel, precision
        As in :func:`einsum`; of the arrays only shapes, dtypes and chunking matter.

    Returns
    -------
    ProductPlan
        As :func:`plan_matmul` gives it.

    Raises
    ------
    ValueError, TypeError, LayoutError
        As :func:`einsum` does.

    Examples
    --------
    >>> import numpy as np, tpufft
    >>> a = tpufft.RowChunked.from_array(np.ones((16, 2)))
    >>> tpufft.plan_einsum("km,kn->mn", a, a).out_layout.shape
    (2, 2)
    """
    arrays = (as_operand_array(a, "a"), as_operand_array(b, "b"))
    terms = einsum_terms(subscripts, arrays[0].shape, arrays[1].shape)
    return ProductPlan(requested(arrays, terms, schedule, panel, precision)[0])


def einsum_terms(subscripts: str, a: tuple[int, ...], b: tuple[int, ...]) -> Terms:
    """Letters of subscripts, checked against the operands' shapes.

    Raises
    ------
    ValueError
        As :func:`einsum` does.
    """
    if not isinstance(subscripts, str):
        raise TypeError(f"subscripts={subscripts!r} is no text such as 'mk,kn->mn'")
    left, arrow, right = subscripts.replace(" ", "").partition("->")
    inputs = left.split(",")
    if len(inputs) != 2:
        raise ValueError(f"subscripts={subscripts!r} has operands {inputs}; a product has two")
    batch = max(_dotted(text, shape, subscripts) for text, shape in zip(inputs, (a, b), strict=True))
    dots = [f"<{number}>" for number in range(batch)]
    own_a, own_b = (_spelled(text, shape, dots, subscripts) for text, shape in zip(inputs, (a, b), strict=True))
    if arrow:
        out = _spelled(right, None, dots, subscripts)
    else:
        both = own_a + own_b
        out = [*dots, *sorted(name for name in both if both.count(name) == 1 and name not in dots)]
    for names, what in ((own_a, "a"), (own_b, "b"), (out, "the result")):
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"subscripts={subscripts!r}: {', '.join(twice)} stands twice in {what}; no product has it")
    for name in out:
        if name not in own_a and name not in own_b:
            raise ValueError(f"subscripts={subscripts!r}: {name} of the result is in no operand")
    for name in dict.fromkeys([*own_a, *own_b]):
        if sum(name in names for names in (own_a, own_b, out)) < 2:
            raise ValueError(
                f"subscripts={subscripts!r}: {name} is in one operand alone, and not in the result; sum over it first"
            )
    shapes = dict(zip(own_a, a, strict=True)), dict(zip(own_b, b, strict=True))
    for name in own_a:
        sizes = shapes[0][name], shapes[1].get(name, shapes[0][name])
        if sizes[0] != sizes[1] and not (name in dots and 1 in sizes):
            raise ValueError(f"subscripts={subscripts!r}: {name} has length {sizes[0]} in a and {sizes[1]} in b")
    letters = dict(zip(dict.fromkeys([*own_a, *own_b]), string.ascii_lowercase, strict=False))
    return Terms(*("".join(map(letters.__getitem__, names)) for names in (own_a, own_b, out)))


def _dotted(text: str, shape: tuple[int, ...], subscripts: str) -> int:
    """How many axes the dots of an operand stand for."""
    letters = text.replace("...", "", 1)
    if not all(letter.isalpha() for letter in letters):
        raise ValueError(f"subscripts={subscripts!r}: {text!r} has other signs than letters and '...'")
    missing = len(shape) - len(letters)
    if missing < 0 or (missing and "..." not in text):
        raise ValueError(
            f"subscripts={subscripts!r}: {text!r} names {len(letters)} axes of an operand with {len(shape)}"
        )
    return missing


def _spelled(text: str, shape: tuple[int, ...] | None, dots: list[str], subscripts: str) -> list[str]:
    """A name for every axis, those of the dots counted from the last."""
    before, found, behind = text.partition("...")
    if "." in behind or not all(letter.isalpha() for letter in before + behind):
        raise ValueError(f"subscripts={subscripts!r}: {text!r} has other signs than letters and '...'")
    count = 0 if not found else len(dots) if shape is None else len(shape) - len(before + behind)
    return [*before, *dots[len(dots) - count :], *behind]
