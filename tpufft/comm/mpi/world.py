"""The processes: MPI itself, communicators as plain numbers, ranks, and peers that are checked."""

from __future__ import annotations

import functools
import operator
from typing import Any

from tpufft.meshes import refuse_manual_axes


@functools.cache
def mpi() -> Any:
    """The module ``mpi4py.MPI``; the first call starts MPI.

    Raises
    ------
    ImportError
        If mpi4py finds no MPI library.
    """
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as failure:
        raise ImportError(
            f"tpufft.comm.mpi: mpi4py cannot load an MPI library ({failure}); load your cluster's MPI, or "
            "pip install mpich"
        ) from failure
    return MPI


def handle_of(comm: Any) -> int:
    """A communicator as a number that programs can be cached by.

    Raises
    ------
    TypeError
        For what is no communicator of processes that all take part.
    """
    if comm is None:
        comm = mpi().COMM_WORLD
    if not isinstance(comm, mpi().Intracomm):
        raise TypeError(f"comm={comm!r} is no mpi4py.MPI.Intracomm; None is MPI.COMM_WORLD")
    return int(comm.handle)


def communicator(handle: int) -> Any:
    """The communicator of a number."""
    return mpi().Comm.fromhandle(handle)


def enter(function: str, comm: Any) -> int:
    """The communicator's number, where processes may send messages to each other.

    Raises
    ------
    LayoutError
        Inside a ``shard_map``, where devices of one program do.
    """
    refuse_manual_axes(
        f"tpufft.comm.mpi.{function}",
        f"devices of one program send to each other with tpufft.comm.{function}; tpufft.comm.mpi is for processes",
    )
    return handle_of(comm)


def rank(comm: Any = None) -> int:
    """The number of this process.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm, optional
        The processes. Default: all, ``MPI.COMM_WORLD``.

    Returns
    -------
    int
        From 0.

    Raises
    ------
    TypeError
        For what is no communicator.

    Notes
    -----
    Nothing is sent.

    Examples
    --------
    >>> from tpufft.comm import mpi
    >>> mpi.rank() < mpi.size()
    True
    """
    return communicator(handle_of(comm)).Get_rank()


def size(comm: Any = None) -> int:
    """How many processes there are.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm, optional
        As in :func:`rank`.

    Returns
    -------
    int
        At least 1.

    Raises
    ------
    TypeError
        For what is no communicator.

    Notes
    -----
    Nothing is sent.

    Examples
    --------
    >>> from tpufft.comm import mpi
    >>> mpi.size() >= 1
    True
    """
    return communicator(handle_of(comm)).Get_size()


def checked_rank(name: str, value: Any, comm: int) -> int:
    """A rank that a caller gave.

    Raises
    ------
    ValueError
        Where there is no such process.
    TypeError
        For what is no integer.
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}={value!r} is no integer; a rank is known when the function is traced") from None
    count = communicator(comm).Get_size()
    if not 0 <= number < count:
        nobody = "; None, not MPI.PROC_NULL, is nobody" if name in ("dest", "source") else ""
        raise ValueError(f"{name}={number} is no rank of {count} processes; right is 0 to {count - 1}{nobody}")
    return number


def checked_tag(name: str, value: Any) -> int:
    """A tag that a caller gave.

    Raises
    ------
    ValueError
        Below 0, and above what the MPI library takes.
    TypeError
        For what is no integer.
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}={value!r} is no integer") from None
    most = mpi().COMM_WORLD.Get_attr(mpi().TAG_UB)
    if not 0 <= number <= most:
        raise ValueError(f"{name}={number}; right is 0 to {most}")
    return number
