"""Messages from process to process."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import jax

from tpufft.comm.mpi.call import call, operand
from tpufft.comm.mpi.primitive import bind
from tpufft.comm.mpi.world import checked_rank, checked_tag, enter, mpi

ANY_SOURCE: Final = "any source"
ANY_TAG: Final = "any tag"


class Status(NamedTuple):
    """From whom a message came, with which tag, and how many elements it had: int32 arrays, under ``jit`` too."""

    source: jax.Array
    tag: jax.Array
    count: jax.Array  # pyright: ignore[reportIncompatibleMethodOverride] (MPI's word)


def send(x: Any, dest: int | None, *, tag: int = 0, comm: Any = None) -> jax.Array:
    """Send a value to another process.

    Parameters
    ----------
    x : pytree of arrays
        What is sent, one message for each array, in order.
    dest : int or None
        The rank that calls :func:`recv`; None is nobody.
    tag : int, default 0
        Tells messages apart.
    comm : mpi4py.MPI.Intracomm, optional
        The processes. Default: all, ``MPI.COMM_WORLD``.

    Returns
    -------
    jax.Array
        A handle for :func:`keep`; it need not be used.

    Raises
    ------
    ValueError
        For a rank or a tag that does not exist.
    TypeError
        For what is no integer, no communicator, no array; when it is differentiated.
    LayoutError
        Inside a ``shard_map``: there :func:`tpufft.comm.send` is right.

    Notes
    -----
    As MPI's standard send: small messages are on their way when it ends, large ones have been received. Two processes
    that first send each other large messages wait for each other; use :func:`sendrecv`.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from tpufft.comm import mpi
    >>> if mpi.size() == 2 and mpi.rank() == 1:
    ...     sent = mpi.send(jnp.arange(3.0), 0, tag=7)
    """
    handle = enter("send", comm)
    leaves = [operand(leaf, "send") for leaf in jax.tree.leaves(x)]
    return bind(call("send", handle, dest=_peer("dest", dest, handle), sendtag=checked_tag("tag", tag)), *leaves)[0]


def recv(
    like: Any,
    source: int | str | None = ANY_SOURCE,
    *,
    tag: int | str = ANY_TAG,
    comm: Any = None,
    status: bool = False,
) -> Any:
    """Receive a value from another process.

    Parameters
    ----------
    like : pytree of arrays or ``jax.ShapeDtypeStruct``
        Structure, shapes and dtypes of what comes.
    source : int, None or ANY_SOURCE
        The rank that calls :func:`send`; from None comes `like`. Of several arrays from any
        source, all come from the sender of the first.
    tag : int or ANY_TAG
        Only messages with this tag.
    comm : mpi4py.MPI.Intracomm, optional
        As in :func:`send`.
    status : bool, default False
        Whether to tell from whom the message came.

    Returns
    -------
    pytree of jax.Array, or (pytree, Status)
        What was sent.

    Raises
    ------
    ValueError, TypeError, LayoutError
        As in :func:`send`.

    Notes
    -----
    Where nothing comes in time, or something of another shape or dtype, all processes end with one message.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from tpufft.comm import mpi
    >>> if mpi.size() == 2 and mpi.rank() == 0:
    ...     y, status = mpi.recv(jnp.zeros(3), 1, tag=7, status=True)
    """
    handle = enter("recv", comm)
    leaves, tree = jax.tree.flatten(like)
    made = call("recv", handle, source=_source("source", source, handle), recvtag=_any_tag("tag", tag), status=status)
    return _result(tree, bind(made, *(operand(leaf, "recv") for leaf in leaves)), status)


def sendrecv(
    x: Any,
    like: Any,
    dest: int | None,
    source: int | str | None,
    *,
    sendtag: int = 0,
    recvtag: int | str = ANY_TAG,
    comm: Any = None,
    status: bool = False,
) -> Any:
    """Send a value to one process and receive one from another, or the same.

    Parameters
    ----------
    x : pytree of arrays
        What is sent.
    like : pytree of arrays or ``jax.ShapeDtypeStruct``
        Structure, shapes and dtypes of what comes.
    dest, source : int or None
        As in :func:`send` and :func:`recv`.
    sendtag : int, default 0
        The tag of what is sent.
    recvtag : int or ANY_TAG
        Only messages with this tag.
    comm : mpi4py.MPI.Intracomm, optional
        As in :func:`send`.
    status : bool, default False
        As in :func:`recv`.

    Returns
    -------
    pytree of jax.Array, or (pytree, Status)
        What was received.

    Raises
    ------
    ValueError, TypeError, LayoutError
        As in :func:`send`.

    Notes
    -----
    The other process calls :func:`sendrecv`, or :func:`send` and :func:`recv`. Has derivatives in both modes, where
    processes that take part are differentiated alike: in reverse mode the cotangent goes the way back.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from tpufft.comm import mpi
    >>> ahead, behind = ((mpi.rank() + step) % mpi.size() for step in (1, -1))
    >>> mpi.sendrecv(jnp.arange(2.0), jnp.zeros(2), ahead, behind).tolist()
    [0.0, 1.0]
    """
    handle = enter("sendrecv", comm)
    sent = [operand(leaf, "sendrecv") for leaf in jax.tree.leaves(x)]
    leaves, tree = jax.tree.flatten(like)
    made = call(
        "sendrecv",
        handle,
        dest=_peer("dest", dest, handle),
        source=_source("source", source, handle),
        sendtag=checked_tag("sendtag", sendtag),
        recvtag=_any_tag("recvtag", recvtag),
        sent=len(sent),
        status=status,
    )
    return _result(tree, bind(made, *sent, *(operand(leaf, "sendrecv") for leaf in leaves)), status)


def _result(tree: Any, results: list[jax.Array], status: bool) -> Any:
    if not status:
        return jax.tree.unflatten(tree, results)
    return jax.tree.unflatten(tree, results[:-3]), Status(*results[-3:])


def _peer(name: str, value: Any, comm: int) -> int | None:
    if value is None:
        return None
    return checked_rank(name, value, comm)


def _source(name: str, value: Any, comm: int) -> int | None:
    is_any = value == ANY_SOURCE if isinstance(value, str) else isinstance(value, int) and value == mpi().ANY_SOURCE
    return -1 if is_any else _peer(name, value, comm)


def _any_tag(name: str, value: Any) -> int:
    is_any = value == ANY_TAG if isinstance(value, str) else isinstance(value, int) and value == mpi().ANY_TAG
    return -1 if is_any else checked_tag(name, value)
