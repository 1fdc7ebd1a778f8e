"""What holds calls together: all processes have come, a result that waits for messages, a value that differs."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from tpufft.comm import ties
from tpufft.comm.mpi import primitive
from tpufft.comm.mpi.call import call
from tpufft.comm.mpi.world import enter


def barrier(comm: Any = None) -> jax.Array:
    """Wait until all processes have come.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm, optional
        The processes. Default: all, ``MPI.COMM_WORLD``.

    Returns
    -------
    jax.Array
        A handle for :func:`keep`; it need not be used.

    Raises
    ------
    TypeError
        For what is no communicator.
    LayoutError
        Inside a ``shard_map``.

    Notes
    -----
    MPI_Ibarrier, behind the check that all calls take part in.

    Examples
    --------
    >>> from tpufft.comm import mpi
    >>> handle = mpi.barrier()
    """
    return primitive.bind(call("barrier", enter("barrier", comm)))[0]


def keep(x: Any, *messages: Any) -> Any:
    """A value, tied to messages: whoever computes with it waits for them.

    Parameters
    ----------
    x : pytree of arrays
        A result of the program.
    *messages : array or pytree of arrays
        Handles of :func:`send` and :func:`barrier`, or any values.

    Returns
    -------
    pytree of jax.Array
        `x`, bit by bit.

    Raises
    ------
    TypeError
        For a message that is no array.

    Notes
    -----
    Messages between processes happen without it: it is here so that a program reads as with :func:`tpufft.comm.keep`.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from tpufft.comm import mpi
    >>> mpi.keep(jnp.arange(2.0), mpi.barrier()).tolist()
    [0.0, 1.0]
    """
    return ties.keep(x, *messages)


def vary(x: Any, comm: Any = None) -> Any:
    """The same value, from here on one that each process uses in its own way.

    Parameters
    ----------
    x : pytree of arrays
        A value that all processes share: of :func:`allreduce`, or a parameter that is the same on all.
    comm : mpi4py.MPI.Intracomm, optional
        As in :func:`barrier`.

    Returns
    -------
    pytree of jax.Array
        `x`.

    Raises
    ------
    TypeError
        For what is no communicator.
    LayoutError
        Inside a ``shard_map``.

    Notes
    -----
    Nothing is sent forward. In reverse mode the cotangents of all processes are added up, an :func:`allreduce`: right
    where processes do different things with the value, and the loss is the sum of theirs.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from tpufft.comm import mpi
    >>> float(jax.grad(lambda w: mpi.vary(w) ** 2 / mpi.size())(jnp.float32(3.0)))
    6.0
    """
    handle = enter("vary", comm)
    return jax.tree.map(lambda leaf: primitive.vary(jnp.asarray(leaf), handle), x)
