"""From a request and an array to the primitive: the argument in its dtype, on its devices."""

from __future__ import annotations

import functools
from typing import cast

import jax
import numpy as np
from jax.core import Tracer
from jax.sharding import Sharding

from tpufft import execution
from tpufft.chunked import ChunkedArray
from tpufft.layout import Layout
from tpufft.planning.request import Request, layouts_of


def run_request(
    request: Request, x: jax.Array | np.ndarray | ChunkedArray, *, donate: bool
) -> jax.Array | ChunkedArray:
    """Run a request on an array: chunked, on one device, NumPy's, or a tracer.

    Parameters
    ----------
    request : Request
        What was asked for.
    x : array
        Of the problem's shape.
    donate : bool
        Whether the argument's buffer may be used up.
    """
    before, after = _layouts(request, x)
    if not (before.is_even and after.is_even):
        return execution.run_stored(request.pinned(before, after), x, before, after, donate=donate)
    if isinstance(x, ChunkedArray):
        return _run_even(request.pinned(before, after), x.data, before, donate=donate)
    return _run_even(request, x, before, donate=donate)


def _run_even(request: Request, x: jax.Array | np.ndarray, before: Layout, *, donate: bool) -> jax.Array:
    dtype = request.problem.dtype
    if isinstance(x, Tracer):
        traced = cast(jax.Array, x)
        if request.mesh is not None or (request.spec is not None and request.context is not None):
            bound = request.bound(execution.visible_layout(traced), tracing=True)
            traced = execution.enter(traced, bound.in_layout)
        return execution.apply(request, traced.astype(dtype))
    return execution.call_on(request, x, dtype, before.sharding, donate=donate)


def _layouts(request: Request, x: jax.Array | np.ndarray | ChunkedArray) -> tuple[Layout, Layout]:
    """Both sides' layouts, of a concrete array from a cache that needs no layout of it."""
    if isinstance(x, ChunkedArray):
        return layouts_of(request, x.layout, False)
    if isinstance(x, Tracer):
        return layouts_of(request, *execution.shown_layout(x))
    return _concrete_layouts(request, x.shape, x.dtype, getattr(x, "sharding", None))


@functools.lru_cache(maxsize=1024)
def _concrete_layouts(
    request: Request, shape: tuple[int, ...], dtype: np.dtype, sharding: Sharding | None
) -> tuple[Layout, Layout]:
    return layouts_of(request, execution.layout_of(shape, dtype, sharding), False)
