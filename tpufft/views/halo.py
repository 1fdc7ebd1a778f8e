"""Halos: chunks with their neighbours' cells, and functions of such chunks."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import jax
import numpy as np
from jax.core import Tracer
from jax.sharding import Mesh

from tpufft.chunked import ChunkedArray, chunk
from tpufft.errors import LayoutError
from tpufft.execution import map_chunks as map_layout
from tpufft.execution import run_fixed
from tpufft.layout import Layout, SpecLike
from tpufft.steps import MODES, Halo
from tpufft.views.argument import Argument, as_array, checked_axis, layout_of_argument

Width: TypeAlias = int | Sequence[int] | Sequence[Sequence[int]]


def halo_exchange(
    x: Argument,
    width: Width,
    axis: int | Sequence[int],
    mode: str = "wrap",
    mesh: Mesh | None = None,
    *,
    spec: SpecLike | None = None,
) -> jax.Array:
    r"""Widen every chunk by its neighbours' cells.

    With :math:`\bar x` the array continued beyond its ends, chunk `q` of n cells becomes

    .. math:: y^{(q)}_j = \bar x_{q n - l + j}, \qquad j = 0, \dots, l + n + r - 1

    Parameters
    ----------
    x : array or ChunkedArray
        Of any dtype; its axes divide into equal chunks.
    width : int or (int, int) or sequence of these
        Cells on either side; a pair is (left l, right r). For several axes one for all, or a sequence of pairs, one for
        each. May be larger than a chunk.
    axis : int or sequence of int
        Along which axes, in this order; cells of both then fill the corners.
    mode : {"wrap", "constant", "edge", "reflect", "symmetric"}, default "wrap"
        What is beyond the array's ends, in ``numpy.pad``'s words; "constant" is zero.
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    spec : PartitionSpec, optional
        As in :func:`fft`.

    Returns
    -------
    jax.Array
        The widened chunks as one array of the same dtype and chunking: :math:`N + P (l + r)` long along an axis of N in
        P chunks. :func:`local_view` shows the chunks one by one.

    Raises
    ------
    numpy.exceptions.AxisError
        For an axis that `x` does not have.
    ValueError
        For a negative width, an unknown mode, an axis that stands twice, or more cells than the mode can find:
        "reflect" has N - 1, "symmetric" and "wrap" N.
    TypeError
        For a width or axis that is no integer.
    LayoutError
        For an axis that does not divide, and as :func:`fft` does.

    See Also
    --------
    map_chunks : A function of every widened chunk; takes any length.

    Notes
    -----
    Only permutes between neighbours, of the cells asked for: one for each side and chunk's length of width. The
    derivative in reverse mode adds what comes back from the copies to the cells they were made of. Mirrored borders
    wider than a chunk fetch as much from the other side.

    Examples
    --------
    >>> import jax, numpy as np, tpufft
    >>> from jax.sharding import Mesh
    >>> mesh = Mesh(np.array(jax.devices()[:2]), ("x",))
    >>> wide = tpufft.halo_exchange(np.arange(6), 1, 0, "wrap", mesh)
    >>> tpufft.local_view(wide).tolist()
    [[5, 0, 1, 2, 3], [2, 3, 4, 5, 0]]
    """
    array = as_array(x)
    layout = layout_of_argument("halo_exchange", array, mesh, spec)
    halos = _halos("width", width, axis, mode, layout)
    if not layout.is_even:
        uneven = next(axis for axis, amount in enumerate(layout.padding) if amount)
        raise LayoutError(
            f"axis {uneven} of x, of length {layout.shape[uneven]}, does not divide into {layout.parts[uneven]} equal "
            "chunks, and widened chunks of different lengths are no array; tpufft.map_chunks takes any length"
        )
    return run_fixed(halos, array, layout)  # type: ignore[return-value]


def map_chunks(
    fn: Callable[[jax.Array], Any],
    x: Argument,
    mesh: Mesh | None = None,
    *,
    spec: SpecLike | None = None,
    halo: Width = 0,
    axis: int | Sequence[int] | None = None,
    mode: str = "wrap",
    crop: bool = True,
) -> Any:
    r"""Call a function with every device's chunk, widened by its neighbours' cells.

    .. math:: y^{(q)} = f(\bar x_{q n - l}, \dots, \bar x_{q n + n + r - 1})

    Parameters
    ----------
    fn : callable
        Of an array, the chunk with its halo; returns an array of as many axes, or a pytree of such. It is traced, once
        for each shape; a function defined anew for every call is compiled anew.
    x : array or ChunkedArray
        Of any dtype and any length.
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    spec : PartitionSpec, optional
        As in :func:`fft`.
    halo : int or (int, int) or sequence of these, default 0
        The widths, as in :func:`halo_exchange`.
    axis : int or sequence of int, optional
        Along which axes. Default: those that `spec` splits.
    mode : {"wrap", "constant", "edge", "reflect", "symmetric"}, default "wrap"
        As in :func:`halo_exchange`.
    crop : bool, default True
        Cut the halo's cells off what `fn` returns: along every axis it has the length of the widened chunk, or that of
        the chunk already. False: what it returns, of any lengths, is chunk `q` of the result.

    Returns
    -------
    jax.Array or ChunkedArray, or a pytree of these
        Chunked as `x`; of the shape of `x` where it is cropped, and a ChunkedArray then where that does not divide.

    Raises
    ------
    numpy.exceptions.AxisError
        For an axis that `x` does not have.
    ValueError
        As :func:`halo_exchange` does.
    TypeError
        For `fn` that cannot be called or hashed, a width or axis that is no integer.
    LayoutError
        For a result of another shape, ``crop=False`` where `x` does not divide, and as :func:`fft` does.

    Notes
    -----
    As many permutes as :func:`halo_exchange` has, and whatever `fn` does; a mirrored or periodic border of an axis that
    does not divide takes as many, or a sum over devices of its cells. Behind the end of such an axis `fn` sees the
    border's cells; what stands behind those, where its results are cut off, is left open.

    Examples
    --------
    >>> import numpy as np, tpufft
    >>> mean = lambda c: (c[:-2] + c[1:-1] + c[2:]) / 3
    >>> tpufft.map_chunks(mean, np.arange(8.0), halo=1, mode="edge").tolist()[1:-1]
    [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    """
    if not callable(fn):
        raise TypeError(f"fn={fn!r} cannot be called; the array comes second")
    if getattr(fn, "__hash__", None) is None:
        raise TypeError(f"fn={fn!r} has no hash, by which compiled programs are found again; wrap it in a function")
    array = as_array(x)
    layout = layout_of_argument("map_chunks", array, mesh, spec)
    chosen = tuple(n for n, names in enumerate(layout.spec) if names) if axis is None else axis
    halos = tuple(step for step in _halos("halo", halo, chosen, mode, layout) if step.left or step.right)
    if not (crop or layout.is_even):
        raise LayoutError(
            f"crop=False with x of shape {layout.shape}, which does not divide on {layout.describe()}: chunks of "
            "different lengths are no array"
        )
    data: Any = array
    # A tracer of even chunks shows less than was found behind it, and is left alone.
    if not (isinstance(array, Tracer) and layout.is_even):
        data = chunk(array, layout.mesh, layout.partition_spec).data
    parts = map_layout(fn, data.astype(layout.dtype), layout, halos, crop=crop)
    if layout.is_even:
        return parts
    return jax.tree.map(lambda part: ChunkedArray.from_data(part, layout.with_dtype(part.dtype)), parts)


def checked_mode(mode: Any) -> str:
    """A mode, if it is one.

    Raises
    ------
    ValueError
        That names all.
    """
    if mode not in MODES:
        raise ValueError(f"mode={mode!r}; right is one of {', '.join(MODES)}")
    return mode


def check_cells(size: int, left: int, right: int, mode: str, axis: int, argument: str = "width") -> None:
    """Refuse more cells beyond an end than a mode finds in the array.

    Raises
    ------
    ValueError
        That tells how many there are.
    """
    most = {"reflect": size - 1, "symmetric": size, "wrap": size}.get(mode)
    if most is not None and max(left, right) > max(most, 0):
        raise ValueError(
            f"{argument} {(left, right)} along axis {axis} with mode={mode!r}: an axis of {size} has {max(most, 0)} "
            "cells for it; use a smaller width, or mode='edge' or 'constant'"
        )
    if mode == "edge" and not size and max(left, right):
        raise ValueError(
            f"{argument} {(left, right)} along axis {axis} with mode='edge': an axis of length 0 has no edge"
        )


def _halos(argument: str, width: Any, axis: Any, mode: str, layout: Layout) -> tuple[Halo, ...]:
    """The steps, checked."""
    checked_mode(mode)
    axes = [checked_axis(each, layout.rank) for each in (axis if isinstance(axis, Sequence) else (axis,))]
    if len(set(axes)) < len(axes):
        raise ValueError(f"axis={axis!r}: an axis stands twice; widths of one axis are (left, right)")
    halos = []
    for place, (left, right) in zip(axes, _widths(argument, width, len(axes)), strict=True):
        check_cells(layout.shape[place], left, right, mode, place, argument)
        halos.append(Halo(place, left, right, mode))
    return tuple(halos)


def _widths(argument: str, width: Any, count: int) -> list[tuple[int, int]]:
    """(left, right) for every axis."""
    given = f"{argument}={width!r}"
    width = width.tolist() if isinstance(width, np.ndarray) else width
    if not isinstance(width, Sequence):
        return [(_cells(width, given), _cells(width, given))] * count
    if len(width) == 2 and not any(isinstance(each, Sequence) for each in width):
        left, right = (_cells(each, given) for each in width)
        return [(left, right)] * count
    if len(width) != count or any(not isinstance(each, Sequence) or len(each) != 2 for each in width):
        raise ValueError(f"{given} for {count} axes; right is a number, a pair (left, right), or {count} pairs")
    return [(_cells(left, given), _cells(right, given)) for left, right in width]


def _cells(value: Any, given: str) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{given}: {value!r} is no integer")
    cells = operator.index(value)
    if cells < 0:
        raise ValueError(f"{given}: {cells} cells; at least 0")
    return cells
