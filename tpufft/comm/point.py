"""Messages from rank to rank."""

from __future__ import annotations

import operator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tpufft import collectives
from tpufft.comm import mailbox
from tpufft.comm.axes import Axes, AxisName, axes_of
from tpufft.comm.peers import Peers, Senders, check_match, senders_by_dest, senders_by_source


def send(x: Any, dest: Peers, *, axis_name: AxisName | None = None, tag: int = 0) -> mailbox.Handle:
    """Send a value from every rank to its peer, for a later :func:`recv` in the same function body.

    Parameters
    ----------
    x : pytree of arrays
        What this device sends, of the same shapes and dtypes on all.
    dest : callable, sequence or dict
        To whom each rank sends: a function of the rank, a sequence with one entry for each, or a dict; None (in a dict
        also: no entry) sends nothing. Known when the function is traced, and the same on all devices.
    axis_name : str or tuple of str, optional
        The mesh axes along which ranks are counted, the first the slowest. Default: all that are mapped here.
    tag : int, default 0
        Tells messages of different kinds apart.

    Returns
    -------
    Handle
        What :func:`keep` takes; it need not be used.

    Raises
    ------
    LayoutError
        Where an axis is not mapped.
    ValueError
        For a peer that is no rank (a negative one too), and for two messages to one rank.
    TypeError
        For peers or a tag that are no integers.

    Notes
    -----
    One permute of each array: x on the wire for each device that sends. It stands in the program where `send` is
    called. A message that nobody receives or keeps is removed from the compiled program, on all devices. Its
    derivative is the message itself, in reverse mode from the receiver to the sender.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from tpufft import comm
    >>> def shift(x):
    ...     comm.send(x, lambda r: r + 1 if r < 3 else None, axis_name="x")
    ...     return comm.recv(x, lambda r: r - 1 if r > 0 else None, axis_name="x")
    >>> jax.vmap(shift, axis_name="x")(jnp.arange(4.0)).tolist()
    [0.0, 0.0, 1.0, 2.0]
    """
    axes, tag = axes_of("send", axis_name), _tag(tag)
    senders = senders_by_dest(dest, axes.count)
    message = mailbox.Message(_moved(x, axes, senders), axes.names, tag, senders)
    mailbox.post(message)
    return message


def recv(like: Any, source: Peers, *, axis_name: AxisName | None = None, tag: int = 0) -> Any:
    """Receive the earliest value that was sent along the same axes with the same tag and not received yet.

    Parameters
    ----------
    like : pytree of arrays
        What a rank has that receives nothing; the structure, shapes and dtypes are those of what was sent.
    source : callable, sequence or dict
        From whom each rank receives, as in :func:`send`: the inverse of its `dest`.
    axis_name : str or tuple of str, optional
        As in :func:`send`.
    tag : int, default 0
        As in :func:`send`.

    Returns
    -------
    pytree of jax.Array
        What `source` sent, or `like`.

    Raises
    ------
    LayoutError
        Where an axis is not mapped.
    ValueError
        If no such message was sent in this function body (one inside of a ``scan``, ``cond``, ``jit``, ``grad`` or
        ``vmap`` is another); if `source` is not the inverse of `dest`, or `like` is not what was sent.
    TypeError
        For peers or a tag that are no integers.

    Notes
    -----
    Nothing is sent: the wire is that of :func:`send`.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from tpufft import comm
    >>> def two(x):
    ...     comm.send(x, {0: 3}, axis_name="x", tag=1)
    ...     comm.send(-x, {1: 2}, axis_name="x", tag=2)
    ...     y = comm.recv(x, {2: 1}, axis_name="x", tag=2)
    ...     return comm.recv(y, {3: 0}, axis_name="x", tag=1)
    >>> jax.vmap(two, axis_name="x")(jnp.arange(4.0)).tolist()
    [0.0, 1.0, -1.0, 0.0]
    """
    axes, tag = axes_of("recv", axis_name), _tag(tag)
    wanted = senders_by_source(source, axes.count)
    message = mailbox.take(axes.names, tag)
    check_match(message.senders, wanted, tag)
    _check_like(like, message.value, tag)
    return _received(message.value, like, axes, wanted)


def sendrecv(
    x: Any,
    dest: Peers,
    source: Peers | None = None,
    *,
    axis_name: AxisName | None = None,
    like: Any = None,
    tag: int = 0,
) -> Any:
    """Send a value from every rank to its peer, and receive what comes.

    Parameters
    ----------
    x : pytree of arrays
        What this device sends.
    dest : callable, sequence or dict
        To whom each rank sends, as in :func:`send`.
    source : callable, sequence or dict, optional
        From whom each rank receives: checked to be the inverse of `dest`.
    axis_name : str or tuple of str, optional
        As in :func:`send`.
    like : pytree of arrays, optional
        What a rank has that receives nothing. Default: zeros.
    tag : int, default 0
        Named in errors.

    Returns
    -------
    pytree of jax.Array
        What was received, or `like`.

    Raises
    ------
    LayoutError
        Where an axis is not mapped.
    ValueError
        As in :func:`send` and :func:`recv`.
    TypeError
        For peers or a tag that are no integers.

    Notes
    -----
    One permute of each array: x on the wire for each device that sends.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from tpufft import comm
    >>> ring = jax.vmap(lambda x: comm.sendrecv(x, lambda r: (r + 1) % 4, axis_name="x"), axis_name="x")
    >>> ring(jnp.arange(4.0)).tolist()
    [3.0, 0.0, 1.0, 2.0]
    """
    axes, tag = axes_of("sendrecv", axis_name), _tag(tag)
    senders = senders_by_dest(dest, axes.count)
    if source is not None:
        check_match(senders, senders_by_source(source, axes.count), tag)
    if like is not None:
        _check_like(like, x, tag)
    moved = _moved(x, axes, senders)
    return moved if like is None else _received(moved, like, axes, senders)


def _moved(x: Any, axes: Axes, senders: Senders) -> Any:
    """What arrives; zeros where nothing does."""
    pairs = [(sender, receiver) for receiver, sender in senders.items()]

    def move(leaf: Any) -> jax.Array:
        leaf = axes.message(leaf)
        return collectives.permute(leaf, axes.names, pairs, axes.platform) if pairs else jnp.zeros_like(leaf)

    return jax.tree.map(move, x)


def _received(value: Any, like: Any, axes: Axes, senders: Senders) -> Any:
    if len(senders) == axes.count:
        return value
    receives = jnp.asarray(np.isin(np.arange(axes.count), list(senders)))[axes.rank]
    return jax.tree.map(lambda got, own: jnp.where(receives, got, axes.varying(own)), value, like)


def _check_like(like: Any, sent: Any, tag: int) -> None:
    trees = jax.tree.structure(like), jax.tree.structure(sent)
    if trees[0] != trees[1]:
        raise ValueError(f"tag {tag}: like is {trees[0]}, and what was sent is {trees[1]}; right is the same")
    for own, got in zip(jax.tree.leaves(like), jax.tree.leaves(sent), strict=True):
        mine, theirs = jax.typeof(jnp.asarray(own)), jax.typeof(jnp.asarray(got))
        if (mine.shape, mine.dtype) != (theirs.shape, theirs.dtype):
            raise ValueError(
                f"tag {tag}: like has {mine.dtype}{list(mine.shape)}, and {theirs.dtype}{list(theirs.shape)} was sent; "
                "right is the same shape and dtype"
            )


def _tag(tag: Any) -> int:
    try:
        return operator.index(tag)
    except Exception:  # a traced value raises an error of JAX's own
        raise TypeError(f"tag={tag!r} is no integer known when the function is traced") from None
