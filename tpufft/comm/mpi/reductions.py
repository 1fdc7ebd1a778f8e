"""Sums, products, extremes and any other associative operation over the processes."""

from __future__ import annotations

from typing import Any

import jax

from tpufft.comm import ops
from tpufft.comm.mpi.arithmetic import can_reduce
from tpufft.comm.mpi.call import Call, Op, call, for_each, operand
from tpufft.comm.mpi.primitive import bind
from tpufft.comm.mpi.world import checked_rank, enter


def allreduce(x: Any, op: Op = "sum", *, comm: Any = None) -> Any:
    r"""All processes' values combined, on all of them.

    .. math:: y = x_0 \circ x_1 \circ \dots \circ x_{P-1}

    Parameters
    ----------
    x : pytree of arrays
        What this process contributes, of the same shapes and dtypes on all.
    op : {"sum", "prod", "max", "min", "logical_and", "logical_or", "logical_xor"} or callable
        A callable is an associative function of two numpy arrays, of the lower ranks' and the higher ranks', and keeps
        their shape. Sums and products count bool as int32, logical operations give bool, extremes are NaN where any
        process has one. float16 and bfloat16 are combined in float32.
    comm : mpi4py.MPI.Intracomm, optional
        The processes. Default: all, ``MPI.COMM_WORLD``.

    Returns
    -------
    pytree of jax.Array
        The combined values.

    Raises
    ------
    ValueError
        For an `op` of another name.
    TypeError
        For dtypes that have no such operation; where another `op` than the sum is differentiated.
    LayoutError
        Inside a ``shard_map``: there :func:`tpufft.comm.allreduce` is right.

    Notes
    -----
    One MPI_Iallreduce of each array, behind one of 16 bytes that holds the processes' calls against each other. The
    sum has derivatives in both modes. It is one value that all processes share: the cotangent of it is taken to be the
    same on all and comes back as it is. Where processes go on in different ways, or sum it up again, use :func:`vary`
    on the result.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from tpufft.comm import mpi
    >>> bool((mpi.allreduce(jnp.ones(2)) == mpi.size()).all())
    True
    """
    return _reduced("allreduce", x, op, comm)


def reduce(x: Any, op: Op = "sum", root: int = 0, *, comm: Any = None) -> Any:
    r"""All processes' values combined, on one of them.

    .. math:: y_{\text{root}} = x_0 \circ x_1 \circ \dots \circ x_{P-1}

    Parameters
    ----------
    x, op, comm
        As in :func:`allreduce`.
    root : int, default 0
        The rank that gets the result.

    Returns
    -------
    pytree of jax.Array
        The combined values on `root`, zeros elsewhere.

    Raises
    ------
    ValueError
        For an `op` of another name, and a `root` that is no rank.
    TypeError, LayoutError
        As in :func:`allreduce`.

    Notes
    -----
    One MPI_Ireduce of each array. The transpose of the sum is :func:`bcast`.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from tpufft.comm import mpi
    >>> total = mpi.reduce(jnp.ones(2))
    >>> bool((total == (mpi.size() if mpi.rank() == 0 else 0)).all())
    True
    """
    return _reduced("reduce", x, op, comm, root)


def scan(x: Any, op: Op = "sum", *, comm: Any = None) -> Any:
    r"""The values of all processes up to this one, combined.

    .. math:: y_r = x_0 \circ x_1 \circ \dots \circ x_r

    Parameters
    ----------
    x, op, comm
        As in :func:`allreduce`.

    Returns
    -------
    pytree of jax.Array
        The combined values.

    Raises
    ------
    ValueError, TypeError, LayoutError
        As in :func:`allreduce`. No `op` has derivatives.

    Notes
    -----
    One MPI_Iscan of each array.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from tpufft.comm import mpi
    >>> bool((mpi.scan(jnp.ones(2)) == mpi.rank() + 1).all())
    True
    """
    return _reduced("scan", x, op, comm)


def _reduced(function: str, x: Any, op: Op, comm: Any, root: int = 0) -> Any:
    handle = enter(function, comm)
    ops.combiner(op)
    made = call(function, handle, op=op, root=checked_rank("root", root, handle))

    def one(made: Call, leaf: Any) -> jax.Array:
        leaf = operand(leaf, function)
        if not can_reduce(leaf.dtype):
            raise TypeError(f"{function} of {leaf.dtype}: MPI has no arithmetic for it; use x.astype('int32')")
        return bind(made, ops.operand(leaf, op) if isinstance(op, str) else leaf)[0]

    return for_each(made, one, x)
