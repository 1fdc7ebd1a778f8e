"""Sums, products, extremes and any other associative operation over the ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tpufft import collectives
from tpufft.comm.axes import Axes, AxisName, axes_of
from tpufft.comm.ops import Op, combiner, operand


def allreduce(x: Any, op: Op = "sum", *, axis_name: AxisName | None = None) -> Any:
    r"""All ranks' values combined, on all ranks.

    .. math:: y = x_0 \circ x_1 \circ \dots \circ x_{P-1}

    Parameters
    ----------
    x : pytree of arrays
        What this device contributes; a value that is the same on all devices counts P times.
    op : {"sum", "prod", "max", "min", "logical_and", "logical_or", "logical_xor"} or callable
        A callable ``op(a, b)`` is associative, sees one array of the pytree at a time, that of the lower ranks first,
        and keeps its shape and dtype. Sums and products count bool as int32, logical operations give bool, maximum and
        minimum are NaN where any rank has one.
    axis_name : str or tuple of str, optional
        The mesh axes along which ranks are counted, the first the slowest. Default: all that are mapped here.

    Returns
    -------
    pytree of jax.Array
        The combined values, typed as the same on all devices (``out_specs=P()``).

    Raises
    ------
    LayoutError
        Where an axis is not mapped.
    ValueError
        For an `op` of another name.
    TypeError
        For the maximum of complex numbers, and for a callable that changes shape or dtype.

    Notes
    -----
    Sums, extremes and logical operations are one all-reduce of each array: 2(P-1)/P of x on the wire for each device.
    Products and callables are ceil(log2 P) permutes along a tree, P-1 messages in all, and a :func:`bcast`. The
    derivative of an extreme goes to the ranks that attain it, in equal shares.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from tpufft import comm
    >>> jax.vmap(lambda x: comm.allreduce(x, axis_name="x"), axis_name="x")(jnp.arange(4.0)).tolist()
    [6.0, 6.0, 6.0, 6.0]
    >>> jax.vmap(lambda x: comm.allreduce(x, lambda a, b: 10 * a + b, axis_name="x"), axis_name="x")(
    ...     jnp.arange(1.0, 3.0)
    ... ).tolist()
    [12.0, 12.0]
    """
    axes, combine = axes_of("allreduce", axis_name), combiner(op)

    def one(leaf: Any) -> jax.Array:
        leaf = operand(axes.message(leaf), op)
        if (at_once := _at_once(leaf, op, axes)) is not None:
            return at_once
        return collectives.from_one(_folded(leaf, combine, axes), axes.names, 0, axes.platform)

    return jax.tree.map(one, x)


def reduce(x: Any, op: Op = "sum", root: int = 0, *, axis_name: AxisName | None = None) -> Any:
    r"""All ranks' values combined, on one rank.

    .. math:: y_{\text{root}} = x_0 \circ x_1 \circ \dots \circ x_{P-1}

    Parameters
    ----------
    x : pytree of arrays
        What this device contributes.
    op : str or callable
        As in :func:`allreduce`.
    root : int, default 0
        The rank that gets the result.
    axis_name : str or tuple of str, optional
        As in :func:`allreduce`.

    Returns
    -------
    pytree of jax.Array
        The combined values on the root, zeros on the others.

    Raises
    ------
    LayoutError
        Where an axis is not mapped.
    ValueError
        If `root` is no rank, and for an `op` of another name.
    TypeError
        As in :func:`allreduce`.

    Notes
    -----
    What is one all-reduce in :func:`allreduce` is one here. Products and callables are ceil(log2 P) permutes of each
    array along a tree, P-1 messages in all, and one more if `root` is not 0.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from tpufft import comm
    >>> jax.vmap(lambda x: comm.reduce(x, "max", 1, axis_name="x"), axis_name="x")(jnp.arange(4.0)).tolist()
    [0.0, 3.0, 0.0, 0.0]
    """
    axes, combine = axes_of("reduce", axis_name), combiner(op)
    root = axes.position(root)

    def one(leaf: Any) -> jax.Array:
        leaf = operand(axes.message(leaf), op)
        found = _at_once(leaf, op, axes)
        if found is None:
            found = _folded(leaf, combine, axes)
            if root:
                found = collectives.permute(found, axes.names, [(0, root)], axes.platform)
        return jnp.where(axes.rank == root, found, jnp.zeros_like(found))

    return jax.tree.map(one, x)


def scan(x: Any, op: Op = "sum", *, axis_name: AxisName | None = None) -> Any:
    r"""The values of all ranks up to this one combined, its own included.

    .. math:: y_r = x_0 \circ x_1 \circ \dots \circ x_r

    Parameters
    ----------
    x : pytree of arrays
        What this device contributes.
    op : str or callable
        As in :func:`allreduce`.
    axis_name : str or tuple of str, optional
        As in :func:`allreduce`.

    Returns
    -------
    pytree of jax.Array
        The combined values.

    Raises
    ------
    LayoutError
        Where an axis is not mapped.
    ValueError
        For an `op` of another name.
    TypeError
        As in :func:`allreduce`.

    Notes
    -----
    ceil(log2 P) permutes of each array over doubling distances.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from tpufft import comm
    >>> jax.vmap(lambda x: comm.scan(x, axis_name="x"), axis_name="x")(jnp.arange(4.0)).tolist()
    [0.0, 1.0, 3.0, 6.0]
    """
    axes, combine = axes_of("scan", axis_name), combiner(op)

    def one(leaf: Any) -> jax.Array:
        leaf = operand(axes.message(leaf), op)
        return collectives.prefix_fold(leaf, axes.names, axes.count, combine, axes.platform)

    return jax.tree.map(one, x)


def _at_once(x: jax.Array, op: Op, axes: Axes) -> jax.Array | None:
    """The reduction as one all-reduce, where the hardware has one."""
    if op == "sum":
        return _sum(x, axes)
    if op in ("max", "min"):
        return collectives.extreme(x, axes.names, op == "max")
    if op == "logical_and":
        return _sum((~x).astype(np.int32), axes) == 0
    if op == "logical_or":
        return _sum(x.astype(np.int32), axes) > 0
    if op == "logical_xor":
        return _sum(x.astype(np.int32), axes) % 2 == 1
    return None


def _sum(x: jax.Array, axes: Axes) -> jax.Array:
    name = collectives.axis_name(axes.names)
    return collectives.send_whole(lambda part: lax.psum(part, name), x, axes.platform)


def _folded(x: jax.Array, combine: Callable[[Any, Any], Any], axes: Axes) -> jax.Array:
    return collectives.tree_fold(x, axes.names, axes.count, combine, axes.platform)
