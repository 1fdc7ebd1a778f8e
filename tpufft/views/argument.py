"""Arguments of views: which layout an array has, and which axis a number names."""

from __future__ import annotations

from typing import Any, TypeAlias

import jax
import numpy as np
from jax.core import Tracer
from jax.typing import ArrayLike

from tpufft.chunked import ChunkedArray, check_numbers
from tpufft.errors import LayoutError
from tpufft.execution import shown_layout
from tpufft.layout import Layout, SpecLike
from tpufft.meshes import (
    AnyMesh,
    check_same_devices,
    checked_mesh,
    context_mesh,
    refuse_manual_axes,
    usual_mesh,
)
from tpufft.planning import check_axis

Argument: TypeAlias = ArrayLike | ChunkedArray
Result: TypeAlias = jax.Array | ChunkedArray


def as_array(x: Any, name: str = "x") -> jax.Array | np.ndarray | ChunkedArray:
    """What has a shape and a dtype of numbers; `name` is that of the argument, for messages.

    Raises
    ------
    TypeError
        For elements that are no numbers.
    """
    array = x if isinstance(x, jax.Array | ChunkedArray) else np.asarray(x)
    check_numbers(array.dtype, name)
    return array


def layout_of_argument(
    name: str,
    x: Any,
    mesh: AnyMesh | None,
    spec: SpecLike | None,
    *,
    guesses: bool = True,
    result: tuple[int, ...] | None = None,
) -> Layout:
    """Mesh, chunking and padding of an argument: as it shows, as the caller says, or row-chunked.

    Parameters
    ----------
    name : str
        Of the function, for messages.
    x : array
        As :func:`as_array` returns it.
    mesh, spec
        As the caller gave them.
    guesses : bool
        Whether a value of a jitted program whose chunking does not show is taken for row-chunked.
    result : tuple of int, optional
        The result's shape, where that may fail to divide though the argument's does.

    Raises
    ------
    LayoutError
        Where they do not fit together, where nothing says, or inside ``shard_map``.
    """
    refuse_manual_axes(f"tpufft.{name} was called", "every device holds its chunk already")
    if mesh is not None:
        checked_mesh(mesh)
    shown, staged = (x.layout, isinstance(x.data, Tracer)) if isinstance(x, ChunkedArray) else shown_layout(x)
    dtype = jax.dtypes.canonicalize_dtype(x.dtype)
    if shown is not None:
        if mesh is not None:
            check_same_devices(mesh, shown.mesh)
        return shown if spec is None else Layout.of(x.shape, dtype, shown.mesh, spec)
    if staged and spec is None and not guesses:
        raise LayoutError(
            f"x of tpufft.{name} is a value of a jitted program, where its chunking does not show; pass mesh= and "
            "spec=, or use a mesh with Explicit axes"
        )
    where = usual_mesh(f"tpufft.{name}", context_mesh(), is_traced=staged) if mesh is None else mesh
    layout = Layout.of(x.shape, dtype, where, spec)
    # What was whole stays whole where it does not divide.
    divides = layout.is_even and (result is None or Layout.of(result, dtype, where).is_even)
    return layout if spec is not None or staged or divides else Layout.of(x.shape, dtype, where, ())


def checked_axis(axis: Any, rank: int) -> int:
    """An axis as a number from 0 on.

    Raises
    ------
    TypeError
        For what is no integer.
    numpy.exceptions.AxisError
        For an axis that is not there.
    """
    if isinstance(axis, bool):
        raise TypeError(f"axis={axis!r} is no integer")
    return check_axis(axis, rank)
