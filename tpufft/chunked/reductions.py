"""Sums, extremes and norms over axes of a chunked array; padding counts as the neutral element."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from tpufft.chunked.chunks import Chunks
from tpufft.chunked.elementwise import chunked_like, elementwise, template_of
from tpufft.chunked.masking import masked
from tpufft.chunked.placement import constrained, settled, stored
from tpufft.layout import Layout

Axes = int | tuple[int, ...] | None


class Reduction(NamedTuple):
    """What is done along the axes, and what padding must hold so that it does not count."""

    function: Callable[..., jax.Array]
    neutral: Callable[[np.dtype], Any]


def reduced(
    name: str, array: Chunks, axis: Axes = None, *, keepdims: bool = False, dtype: Any = None
) -> tuple[jax.Array, Layout]:
    """Reduce a chunked array along axes.

    Parameters
    ----------
    name : {"sum", "prod", "max", "min", "mean", "any", "all", "norm"}
        What is computed; ``norm`` is the Euclidean one of all elements along the axes.
    array : ChunkedArray
        What is reduced.
    axis : int or tuple of int, optional
        Along which axes. Default: all.
    keepdims : bool
        Leave the axes in with length 1.
    dtype : dtype, optional
        Converted to before. Default: as jax.numpy does.

    Returns
    -------
    data : jax.Array
        Stored, in which the other axes are chunked as they were.
    layout : Layout
        Its layout.
    """
    axes = normalize_axis_tuple(range(array.ndim) if axis is None else axis, array.ndim)
    source, last = array.turned_source, (array.ndim - 1, array.ndim - 2)
    if source is not None and not keepdims and set(axes) & set(last):
        # A transposed view is reduced as it is stored; what is left has the same order.
        other = dict(zip(last, reversed(last), strict=True))
        return reduced(name, source, tuple(other.get(each, each) for each in axes), dtype=dtype)
    layout = array.layout
    for each in sorted(axes, reverse=True):
        layout = layout.with_axis(each, size=1, names=(), padding=0) if keepdims else layout.remove_axis(each)
    data = settled(_program(name, array.layout, layout, axes, keepdims, dtype and np.dtype(dtype), array.data))
    layout = replace(layout, dtype=data.dtype)
    return stored(data, layout), layout


def vdot(a: Any, b: Any) -> jax.Array:
    r"""The inner product of two arrays of one shape, the first conjugated.

    .. math:: \sum_k \overline{a_k} b_k

    Parameters
    ----------
    a, b : ChunkedArray or array
        At least one is chunked; the other is chunked in the same way. Of any number of axes.

    Returns
    -------
    jax.Array
        A number: an array without axes, on every device.

    Raises
    ------
    LayoutError
        For two chunked arrays of different layouts.
    ValueError
        For different shapes.

    Examples
    --------
    >>> import numpy as np
    >>> from tpufft.chunked import chunk, vdot
    >>> vdot(chunk(np.array([1.0, 2.0, 3.0])), np.array([1.0, 1.0, 2.0])).item()
    9.0
    """
    template = template_of((a, b))
    return settled(_vdot(chunked_like(a, template, 0), chunked_like(b, template, 1)))


@jax.jit
def _vdot(a: Chunks, b: Chunks) -> jax.Array:
    return reduced("sum", elementwise(_conjugate_product, a, b))[0]


def _conjugate_product(a: jax.Array, b: jax.Array) -> jax.Array:
    return jnp.conj(a) * b


@functools.partial(jax.jit, static_argnums=(0, 1, 2, 3, 4, 5))
def _program(
    name: str,
    layout: Layout,
    result_layout: Layout,
    axes: tuple[int, ...],
    keepdims: bool,
    dtype: np.dtype | None,
    data: jax.Array,
) -> jax.Array:
    # Constrained on both sides, so that the cotangent too is chunked: JAX transposes the constraint.
    data = constrained(data, layout)
    reduction = REDUCTIONS[name]
    filled = masked(data, layout, reduction.neutral(np.dtype(data.dtype)))
    filled = filled if dtype is None else filled.astype(dtype)
    count = math.prod(layout.shape[axis] for axis in axes)
    return constrained(reduction.function(filled, count, axis=axes, keepdims=keepdims), result_layout)


def _wide(x: jax.Array) -> jax.Array:
    """Numbers as they are summed up: halves as singles, integers as floats."""
    if not jnp.issubdtype(x.dtype, jnp.inexact):
        return x.astype(jnp.result_type(float))
    return x.astype(jnp.float32) if x.dtype.itemsize == 2 else x


def _narrow(x: jax.Array, dtype: Any) -> jax.Array:
    """The result for an argument of `dtype`: halves come back as halves."""
    return x.astype(dtype) if jnp.issubdtype(dtype, jnp.floating) else x


def _mean(x: jax.Array, count: int, **how: Any) -> jax.Array:
    return _narrow(jnp.sum(_wide(x), **how) / count, x.dtype)


def _norm(x: jax.Array, count: int, **how: Any) -> jax.Array:
    wide = _wide(x)
    return _narrow(jnp.sqrt(jnp.sum(jnp.real(wide * jnp.conj(wide)), **how)), x.dtype)


def _extreme(function: Callable[..., jax.Array], sign: int) -> Reduction:
    """The largest or smallest element; of complex ones by real parts, then imaginary ones, as numpy has it."""
    worst = -sign * math.inf

    def extreme(x: jax.Array, count: int, *, axis: tuple[int, ...], keepdims: bool) -> jax.Array:
        if not jnp.issubdtype(x.dtype, jnp.inexact):
            return function(x, axis=axis, keepdims=keepdims)
        best = function(x.real, axis=axis, keepdims=True)
        if jnp.issubdtype(x.dtype, jnp.complexfloating):
            # Two real reductions: between devices there is none of complex numbers on every platform.
            best = jax.lax.complex(best, function(jnp.where(x.real == best, x.imag, worst), axis=axis, keepdims=True))
        # Between CPU devices the larger of NaN and a number may be the number.
        invalid = jnp.any(jnp.isnan(x), axis=axis, keepdims=True)
        result = jnp.where(invalid, jnp.asarray(math.nan, x.dtype), best)
        return result if keepdims else jnp.squeeze(result, axis)

    def neutral(dtype: np.dtype) -> Any:
        if dtype.kind == "b":
            return sign < 0
        if jnp.issubdtype(dtype, jnp.integer):
            limits = jnp.iinfo(dtype)
            return limits.min if sign > 0 else limits.max
        return complex(worst, worst) if jnp.issubdtype(dtype, jnp.complexfloating) else worst

    return Reduction(extreme, neutral)


def _plain(function: Callable[..., jax.Array], neutral: Any) -> Reduction:
    return Reduction(lambda x, count, **how: function(x, **how), lambda dtype: neutral)


REDUCTIONS: Mapping[str, Reduction] = MappingProxyType(
    {
        "sum": _plain(jnp.sum, 0),
        "prod": _plain(jnp.prod, 1),
        "max": _extreme(jnp.max, 1),
        "min": _extreme(jnp.min, -1),
        "mean": Reduction(_mean, lambda dtype: 0),
        "any": _plain(jnp.any, False),
        "all": _plain(jnp.all, True),
        "norm": Reduction(_norm, lambda dtype: 0),
    }
)
