"""``chunk``: an array of any kind and shape onto a mesh."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax.core import Tracer
from jax.typing import ArrayLike

from tpufft.chunked.array import ChunkedArray
from tpufft.chunked.placement import moved, place
from tpufft.errors import LayoutError
from tpufft.layout import Layout, SpecLike
from tpufft.meshes import (
    AnyMesh,
    check_same_devices,
    checked_mesh,
    context_mesh,
    refuse_manual_axes,
    same_devices,
    usual_mesh,
    visible_sharding,
)


def chunk(x: ArrayLike | ChunkedArray, mesh: AnyMesh | None = None, spec: SpecLike | None = None) -> ChunkedArray:
    """Cut an array of any shape into chunks over the devices of a mesh.

    Parameters
    ----------
    x : array_like or ChunkedArray
        A ChunkedArray of this layout comes back as it is; one of another is moved, to other devices too.
    mesh : jax.sharding.Mesh, optional
        The devices. Default: those that `x` is chunked over, else the mesh of ``jax.set_mesh``, else all devices as one
        axis ``"x"``.
    spec : PartitionSpec, optional
        Which array axis is split over which mesh axes. Default: as `x` is chunked, else the first axis over all mesh
        axes.

    Returns
    -------
    ChunkedArray
        An axis of length N that is split over P devices is cut into chunks of ``ceil(N / P)``; trailing ones are short
        or empty.

    Raises
    ------
    LayoutError
        For a `mesh` other than the one that a ``jax.Array`` is chunked over, a `spec` that does not fit, a traced array
        with no mesh in sight, or a call inside ``shard_map``.
    TypeError
        For a `mesh` that is none, or elements that are no numbers.

    Notes
    -----
    From NumPy every device receives its own part only. What differs in chunking is moved by the compiler's collectives.

    Examples
    --------
    >>> import numpy as np
    >>> from tpufft.chunked import chunk
    >>> c = chunk(np.arange(10.0))
    >>> c.shape, c.dtype.kind
    ((10,), 'f')
    >>> c.to_numpy().tolist()[-2:]
    [8.0, 9.0]
    """
    refuse_manual_axes("tpufft.chunk was called", "every device holds its chunk already")
    if mesh is not None:
        checked_mesh(mesh)
    if isinstance(x, ChunkedArray):
        return _rechunked(x, mesh, spec)
    array: Any = x if isinstance(x, jax.Array) else np.asarray(x)
    check_numbers(array.dtype, "x")
    visible = visible_sharding(array)
    where = _mesh(mesh, None if visible is None else visible.mesh, is_traced=isinstance(array, Tracer))
    if spec is None and visible is not None and visible.mesh.axis_names == where.axis_names:
        spec = visible.spec
    layout = Layout.of(array.shape, jax.dtypes.canonicalize_dtype(array.dtype), where, spec)
    return ChunkedArray(place(array, layout), layout)


def check_numbers(dtype: Any, what: str) -> None:
    """Refuse a dtype of anything but numbers and truth values.

    Raises
    ------
    TypeError
        That names it.
    """
    if dtype.kind in "OSUMm" or dtype.names is not None:
        raise TypeError(f"{what} has the dtype {dtype}; chunks hold numbers and booleans")


def check_is_array(x: Any, what: str) -> None:
    """Refuse what JAX makes no array of: texts, dates, objects.

    Raises
    ------
    TypeError
        That shows it.
    """
    if not hasattr(x, "dtype") and np.asarray(x).dtype.kind in "OSUMm":
        raise TypeError(f"{what}: {x!r} is neither a number nor an array of numbers")


def _rechunked(x: ChunkedArray, mesh: AnyMesh | None, spec: SpecLike | None) -> ChunkedArray:
    target = x.mesh if mesh is None else mesh
    if spec is None and target.axis_names == x.mesh.axis_names:
        spec = x.spec
    layout = Layout.of(x.shape, x.dtype, target, spec)
    if layout == x.layout:
        return x
    if isinstance(x.data, Tracer) and not same_devices(x.mesh, target):
        raise LayoutError(
            f"a traced array on {x.layout.describe()} cannot move to another mesh; call tpufft.chunk outside of jit"
        )
    return ChunkedArray(moved(x.data, x.layout, layout), layout)


def _mesh(given: AnyMesh | None, shown: AnyMesh | None, *, is_traced: bool) -> AnyMesh:
    """The caller's mesh, the array's own, the one in context, or all devices; a wrong one is found by ``place``."""
    if given is not None and shown is not None and is_traced:
        check_same_devices(given, shown)
    if given is not None:
        return given
    if shown is not None:
        return shown
    return usual_mesh("tpufft.chunk", context_mesh(), is_traced=is_traced)
