"""What goes into the primitive and what comes out of it: data as stored, and arrays as callers see them."""

from __future__ import annotations

import jax
import numpy as np
from jax.core import Tracer
from jax.sharding import Sharding

from tpufft.chunked import ChunkedArray, chunk
from tpufft.execution.dispatch import call
from tpufft.execution.operator import Operator
from tpufft.execution.primitive import apply, enter
from tpufft.layout import Layout


def run_stored(
    operator: Operator, x: jax.Array | np.ndarray | ChunkedArray, before: Layout, after: Layout, *, donate: bool
) -> jax.Array | ChunkedArray:
    """Apply an operator to an array whose chunks, or whose result's, are padded.

    Parameters
    ----------
    operator : Operator
        With mesh and chunking decided.
    x : array
        Of the shape of `before`; moved and padded where it is not stored so yet.
    before, after : Layout
        Of the operator's sides.
    donate : bool
        Whether the argument's buffer may be used up.
    """
    same = isinstance(x, ChunkedArray) and x.layout.spec == before.spec
    data: jax.Array = chunk(x, before.mesh, before.partition_spec).data
    # A jax.Array that is stored as it should be is the caller's own buffer still.
    copied = not same and (isinstance(x, np.ndarray) or not before.is_even)
    ours = copied or data.dtype != before.dtype
    data = data.astype(before.dtype)
    if isinstance(data, Tracer):
        return presented(apply(operator, enter(data, before)), after)
    return presented(call(operator, data, donate=donate or ours), after)


def call_on(
    operator: Operator, x: jax.Array | np.ndarray, dtype: np.dtype, sharding: Sharding, *, donate: bool
) -> jax.Array:
    """Apply an operator to a concrete array whose chunks are even, in the dtype in which it is computed.

    Parameters
    ----------
    operator : Operator
        What is applied.
    x : array
        NumPy's, or on any devices.
    dtype : numpy.dtype
        Of the computation.
    sharding : Sharding
        Where the argument belongs.
    donate : bool
        Whether the argument's buffer may be used up.
    """
    if isinstance(x, np.ndarray):
        # Each part is copied only to where it lives; the copy is ours to overwrite.
        return call(operator, jax.device_put(np.asarray(x, dtype), sharding), donate=True)
    if x.dtype != dtype:
        # Where it will be used: a context of another mesh would not let it be promoted where it is.
        return call(operator, jax.device_put(x, sharding).astype(dtype), donate=True)
    return call(operator, x, donate=donate)


def presented(data: jax.Array, layout: Layout) -> jax.Array | ChunkedArray:
    """A result as its caller gets it: an array where chunks are even, else a chunked one."""
    return data if layout.is_even else ChunkedArray.from_data(data, layout)
