"""One rank's value to all, rows to the ranks, rows from the ranks."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from numpy.exceptions import AxisError

from tpufft import collectives
from tpufft.comm.axes import Axes, AxisName, axes_of
from tpufft.errors import LayoutError
from tpufft.planning import check_axis


def bcast(x: Any, root: int = 0, *, axis_name: AxisName | None = None) -> Any:
    r"""One rank's value on all ranks.

    .. math:: y_r = x_{\text{root}}

    Parameters
    ----------
    x : pytree of arrays
        What this device has; only the root's values count, shapes and dtypes are the same on all.
    root : int, default 0
        The rank whose value it is.
    axis_name : str or tuple of str, optional
        The mesh axes along which ranks are counted, the first the slowest. Default: all that are mapped here.

    Returns
    -------
    pytree of jax.Array
        The root's value, every bit of it, typed as the same on all devices (``out_specs=P()``).

    Raises
    ------
    LayoutError
        Where an axis is not mapped.
    ValueError
        If `root` is no rank.
    TypeError
        If `root` is no integer.

    Notes
    -----
    One all-reduce of each array: 2(P-1)/P of x on the wire for each device. The derivative with respect to the root's
    x is the identity in forward mode, the sum over all ranks in reverse mode; the others' is zero.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from tpufft import comm
    >>> jax.vmap(lambda x: comm.bcast(x, 2, axis_name="x"), axis_name="x")(jnp.arange(4.0)).tolist()
    [2.0, 2.0, 2.0, 2.0]
    """
    axes = axes_of("bcast", axis_name)
    root = axes.position(root)
    return jax.tree.map(lambda leaf: collectives.from_one(axes.message(leaf), axes.names, root, axes.platform), x)


def scatter(x: Any, root: int = 0, *, axis: int = 0, axis_name: AxisName | None = None) -> Any:
    r"""One rank's rows, one to every rank.

    .. math:: y_r = x_{\text{root}}[r]

    Parameters
    ----------
    x : pytree of arrays
        Arrays with a row for each of the P ranks; only the root's values count, shapes are the same on all.
    root : int, default 0
        The rank whose rows are sent.
    axis : int, default 0
        The axis of the rows, of length P.
    axis_name : str or tuple of str, optional
        As in :func:`bcast`.

    Returns
    -------
    pytree of jax.Array
        This rank's row of the root's, without the axis.

    Raises
    ------
    LayoutError
        Where an axis is not mapped, and for another number of rows than ranks.
    numpy.exceptions.AxisError
        For an axis that an array does not have.
    ValueError
        If `root` is no rank.
    TypeError
        If `root` is no integer.

    Notes
    -----
    One all-to-all of each array: (P-1)/P of x on the wire for each device, what the root must send at least.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from tpufft import comm
    >>> x = jnp.arange(9.0).reshape(3, 3)  # each of three ranks has a row of this, with a number for each rank
    >>> jax.vmap(lambda rows: comm.scatter(rows, 1, axis_name="x"), axis_name="x")(x).tolist()
    [3.0, 4.0, 5.0]
    """
    axes = axes_of("scatter", axis_name)
    root = axes.position(root)

    def one(leaf: Any) -> jax.Array:
        place = _row_axis("scatter", leaf, axis, axes)
        return lax.index_in_dim(_swapped(leaf, place, axes), root, place, keepdims=False)

    return jax.tree.map(one, x)


def gather(x: Any, root: int = 0, *, axis: int = 0, axis_name: AxisName | None = None) -> Any:
    r"""Every rank's value, as rows on one rank.

    .. math:: y_{\text{root}}[r] = x_r

    Parameters
    ----------
    x : pytree of arrays
        What this device sends.
    root : int, default 0
        The rank that gets the rows.
    axis : int, default 0
        Where the axis of the rows stands in the result.
    axis_name : str or tuple of str, optional
        As in :func:`bcast`.

    Returns
    -------
    pytree of jax.Array
        Arrays with one more axis, of length P: the rows on the root, zeros on the others.

    Raises
    ------
    LayoutError
        Where an axis is not mapped.
    numpy.exceptions.AxisError
        For an axis that the result does not have.
    ValueError
        If `root` is no rank.
    TypeError
        If `root` is no integer.

    Notes
    -----
    One all-to-all of P times each array, of which all but x is zero: P-1 times x on the wire for each device, what the
    root must receive at least.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from tpufft import comm
    >>> jax.vmap(lambda x: comm.gather(x, axis_name="x"), axis_name="x")(jnp.arange(1.0, 4.0)).tolist()
    [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    axes = axes_of("gather", axis_name)
    root = axes.position(root)

    def one(leaf: Any) -> jax.Array:
        leaf = axes.message(leaf)
        place = check_axis(axis, leaf.ndim + 1)
        shape = (*leaf.shape[:place], axes.count, *leaf.shape[place:])
        rows = axes.varying(jnp.zeros(shape, leaf.dtype))
        return _swapped(lax.dynamic_update_index_in_dim(rows, leaf, root, place), place, axes)

    return jax.tree.map(one, x)


def allgather(x: Any, *, axis: int = 0, axis_name: AxisName | None = None) -> Any:
    r"""Every rank's value, as rows on all ranks.

    .. math:: y[r] = x_r

    Parameters
    ----------
    x : pytree of arrays
        What this device sends.
    axis : int, default 0
        Where the axis of the rows stands in the result.
    axis_name : str or tuple of str, optional
        As in :func:`bcast`.

    Returns
    -------
    pytree of jax.Array
        Arrays with one more axis, of length P, typed as the same on all devices (``out_specs=P()``).

    Raises
    ------
    LayoutError
        Where an axis is not mapped.
    numpy.exceptions.AxisError
        For an axis that the result does not have.

    Notes
    -----
    One all-gather of each array: P-1 times x on the wire for each device.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from tpufft import comm
    >>> jax.vmap(lambda x: comm.allgather(x, axis_name="x"), axis_name="x")(jnp.arange(2.0)).tolist()
    [[0.0, 1.0], [0.0, 1.0]]
    """
    axes = axes_of("allgather", axis_name)

    def one(leaf: Any) -> jax.Array:
        leaf = axes.message(leaf)
        return collectives.all_rows(leaf, axes.names, check_axis(axis, leaf.ndim + 1), axes.platform)

    return jax.tree.map(one, x)


def alltoall(x: Any, *, axis: int = 0, axis_name: AxisName | None = None) -> Any:
    r"""Rows to all ranks and rows from all ranks.

    .. math:: y_r[q] = x_q[r]

    Parameters
    ----------
    x : pytree of arrays
        Arrays with a row for each of the P ranks.
    axis : int, default 0
        The axis of the rows, of length P.
    axis_name : str or tuple of str, optional
        As in :func:`bcast`.

    Returns
    -------
    pytree of jax.Array
        Arrays of the same shapes, in which row q comes from rank q.

    Raises
    ------
    LayoutError
        Where an axis is not mapped, and for another number of rows than ranks.
    numpy.exceptions.AxisError
        For an axis that an array does not have.

    Notes
    -----
    One all-to-all of each array: (P-1)/P of x on the wire for each device.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from tpufft import comm
    >>> x = jnp.arange(4.0).reshape(2, 2)
    >>> jax.vmap(lambda rows: comm.alltoall(rows, axis_name="x"), axis_name="x")(x).tolist()
    [[0.0, 2.0], [1.0, 3.0]]
    """
    axes = axes_of("alltoall", axis_name)
    return jax.tree.map(lambda leaf: _swapped(leaf, _row_axis("alltoall", leaf, axis, axes), axes), x)


def _row_axis(function: str, x: Any, axis: int, axes: Axes) -> int:
    """The axis of the rows, counted from the first."""
    shape = jnp.shape(x)
    if not shape:
        raise AxisError(
            f"tpufft.comm.{function} of a scalar, of which axis {axis} is out of bounds; right is one row for each "
            f"rank along {axes}"
        )
    place = check_axis(axis, len(shape))
    if shape[place] != axes.count:
        raise LayoutError(
            f"tpufft.comm.{function}: axis {axis} of an array of shape {shape} has {shape[place]} rows; right is one "
            f"for each rank along {axes}"
        )
    return place


def _swapped(x: Any, place: int, axes: Axes) -> jax.Array:
    return collectives.swap_rows(axes.message(x), axes.names, place, axes.platform)
