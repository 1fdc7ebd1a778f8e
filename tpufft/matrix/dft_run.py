"""From a matrix times an array to the primitive: the request, and the argument on its devices."""

from __future__ import annotations

from typing import Any, cast

import jax
import numpy as np
from jax.core import Tracer

from tpufft import execution
from tpufft.chunked import ChunkedArray
from tpufft.errors import LayoutError
from tpufft.layout import Layout
from tpufft.planning import Request, layouts_of


def operand(x: Any, call: str) -> jax.Array | np.ndarray | ChunkedArray:
    """What a matrix is multiplied by, as an array."""
    if isinstance(x, jax.Array | np.ndarray | ChunkedArray):
        return x
    if hasattr(x, "row_points"):
        raise TypeError(f"{call}: both are matrices that are not stored; make one of them an array with .to_numpy()")
    try:
        array = np.asarray(x)
    except ValueError as error:
        raise TypeError(f"{call}: x={x!r} is no array: {error}") from None
    if array.dtype.kind not in "biufc":
        raise TypeError(f"{call}: x={x!r} is no array of numbers")
    return array


def run(request: Request, x: jax.Array | np.ndarray | ChunkedArray) -> Any:
    """The product: of a ChunkedArray one of its type, of another array what its transform would be."""
    _refuse_manual_axes()
    if isinstance(x, ChunkedArray):
        before, after = layouts_of(request, x.layout, False)
        result = _run(request.pinned(before, after), x, before, after)
        return result if isinstance(result, type(x)) else type(x)(_data(result), after)
    before, after = layouts_of(request, *execution.shown_layout(x))
    return _run(request, x, before, after)


def _data(result: jax.Array | ChunkedArray) -> jax.Array:
    return result.data if isinstance(result, ChunkedArray) else result


def _run(
    request: Request, x: jax.Array | np.ndarray | ChunkedArray, before: Layout, after: Layout
) -> jax.Array | ChunkedArray:
    if not (before.is_even and after.is_even):
        return execution.run_stored(request.pinned(before, after), x, before, after, donate=False)
    array = x.data if isinstance(x, ChunkedArray) else x
    dtype = request.problem.dtype
    if isinstance(array, Tracer):
        traced = cast(jax.Array, array)
        if request.mesh is not None or (request.spec is not None and request.context is not None):
            bound = request.bound(execution.visible_layout(traced), tracing=True)
            traced = execution.enter(traced, bound.in_layout)
        return execution.apply(request, traced.astype(dtype))
    if isinstance(array, np.ndarray) or array.dtype != dtype:
        # The copy is ours to overwrite.
        moved = np.asarray(array, dtype) if isinstance(array, np.ndarray) else array
        return execution.call(request, jax.device_put(moved, before.sharding).astype(dtype), donate=True)
    return execution.call(request, array)


def _refuse_manual_axes() -> None:
    manual = jax.sharding.get_abstract_mesh().manual_axes
    if manual:
        raise LayoutError(
            f"a DFTMatrix was multiplied in a shard_map over {tuple(manual)}, where every device sees its own chunk; "
            "multiply outside of it, or use W.block(rows, columns)"
        )
