"""Values that go from one process to all, from all to one, from all to all."""

from __future__ import annotations

from typing import Any

import jax

from tpufft.comm.mpi.call import ROWS_IN, Call, call, for_each, operand
from tpufft.comm.mpi.primitive import bind
from tpufft.comm.mpi.world import checked_rank, enter


def bcast(x: Any, root: int = 0, *, comm: Any = None) -> Any:
    r"""One process' value, on all of them.

    .. math:: y_r = x_{\text{root}}

    Parameters
    ----------
    x : pytree of arrays
        The value on `root`; elsewhere anything of the same shapes and dtypes.
    root : int, default 0
        The rank that has the value.
    comm : mpi4py.MPI.Intracomm, optional
        The processes. Default: all, ``MPI.COMM_WORLD``.

    Returns
    -------
    pytree of jax.Array
        The value of `root`.

    Raises
    ------
    ValueError
        For a `root` that is no rank.
    TypeError
        For what is no communicator or no array.
    LayoutError
        Inside a ``shard_map``: there :func:`tpufft.comm.bcast` is right.

    Notes
    -----
    One MPI_Ibcast of each array, behind an all-reduce of 16 bytes that holds the processes' calls against each other.
    Has derivatives in both modes, where all processes differentiate it, with an `x` that depends on what is
    differentiated on all; the transpose is the sum on `root`.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from tpufft.comm import mpi
    >>> mpi.bcast(jnp.full(2, mpi.rank())).tolist()
    [0, 0]
    """
    return _moved("bcast", x, comm, root)


def scatter(x: Any, root: int = 0, *, comm: Any = None) -> Any:
    r"""One row of one process' array for each process.

    .. math:: y_r = (x_{\text{root}})_r

    Parameters
    ----------
    x : pytree of arrays
        Of shape ``(P, ...)``, on `root` the rows, elsewhere anything of that shape.
    root, comm
        As in :func:`bcast`.

    Returns
    -------
    pytree of jax.Array
        This process' row, of shape ``(...)``.

    Raises
    ------
    ValueError
        For a `root` that is no rank, and another first axis than that of P rows.
    TypeError, LayoutError
        As in :func:`bcast`; TypeError too when it is differentiated.

    Notes
    -----
    One MPI_Iscatter of each array.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from tpufft.comm import mpi
    >>> int(mpi.scatter(jnp.arange(mpi.size()))) == mpi.rank()
    True
    """
    return _moved("scatter", x, comm, root)


def gather(x: Any, root: int = 0, *, comm: Any = None) -> Any:
    r"""All processes' values as rows, on one of them.

    .. math:: (y_{\text{root}})_r = x_r

    Parameters
    ----------
    x : pytree of arrays
        What this process contributes.
    root, comm
        As in :func:`bcast`.

    Returns
    -------
    pytree of jax.Array
        Of shape ``(P, ...)``, the rows on `root`, zeros elsewhere.

    Raises
    ------
    ValueError, TypeError, LayoutError
        As in :func:`bcast`; TypeError too when it is differentiated.

    Notes
    -----
    One MPI_Igather of each array.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from tpufft.comm import mpi
    >>> mpi.gather(jnp.ones(2)).shape == (mpi.size(), 2)
    True
    """
    return _moved("gather", x, comm, root)


def allgather(x: Any, *, comm: Any = None) -> Any:
    r"""All processes' values as rows, on all of them.

    .. math:: (y_q)_r = x_r

    Parameters
    ----------
    x : pytree of arrays
        What this process contributes.
    comm : mpi4py.MPI.Intracomm, optional
        As in :func:`bcast`.

    Returns
    -------
    pytree of jax.Array
        Of shape ``(P, ...)``.

    Raises
    ------
    TypeError, LayoutError
        As in :func:`bcast`; TypeError too when it is differentiated.

    Notes
    -----
    One MPI_Iallgather of each array.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from tpufft.comm import mpi
    >>> mpi.allgather(jnp.int32(mpi.rank())).tolist() == list(range(mpi.size()))
    True
    """
    return _moved("allgather", x, comm)


def alltoall(x: Any, *, comm: Any = None) -> Any:
    r"""A row from every process to every process.

    .. math:: (y_r)_q = (x_q)_r

    Parameters
    ----------
    x : pytree of arrays
        Of shape ``(P, ...)``: row q is for rank q.
    comm : mpi4py.MPI.Intracomm, optional
        As in :func:`bcast`.

    Returns
    -------
    pytree of jax.Array
        Of shape ``(P, ...)``: row q comes from rank q.

    Raises
    ------
    ValueError
        For another first axis than that of P rows.
    TypeError, LayoutError
        As in :func:`bcast`; TypeError too when it is differentiated.

    Notes
    -----
    One MPI_Ialltoall of each array.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from tpufft.comm import mpi
    >>> mpi.alltoall(jnp.full(mpi.size(), mpi.rank())).tolist() == list(range(mpi.size()))
    True
    """
    return _moved("alltoall", x, comm)


def _moved(function: str, x: Any, comm: Any, root: int = 0) -> Any:
    handle = enter(function, comm)
    made = call(function, handle, root=checked_rank("root", root, handle))

    def one(made: Call, leaf: Any) -> jax.Array:
        leaf = operand(leaf, function)
        if function in ROWS_IN and (not leaf.ndim or leaf.shape[0] != made.size):
            raise ValueError(f"{function} of shape {leaf.shape}; right is one row for each rank, ({made.size}, ...)")
        return bind(made, leaf)[0]

    return for_each(made, one, x)
