"""From a matrix times an array to the primitive: the request, and the argument on its devices."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from tpufft.chunked import ChunkedArray
from tpufft.meshes import refuse_manual_axes
from tpufft.planning import Request, layouts_of, run_request


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
    remedy = "multiply outside of it, or use W.block(rows, columns)"
    refuse_manual_axes("a DFTMatrix was multiplied", f"every device sees its own chunk; {remedy}")
    result = run_request(request, x, donate=False)
    if not isinstance(x, ChunkedArray) or isinstance(result, type(x)):
        return result
    data = result.data if isinstance(result, ChunkedArray) else result
    return type(x)(data, layouts_of(request, x.layout, False)[1])
