"""What a value depends on: messages tied to a result, and the type of a value that differs between devices."""

from __future__ import annotations

import functools
import operator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tpufft import collectives
from tpufft.comm.axes import AxisName, axes_of
from tpufft.comm.mailbox import Handle


def barrier(*, axis_name: AxisName | None = None) -> Handle:
    """A message from every rank to every rank, to be tied to a result.

    Parameters
    ----------
    axis_name : str or tuple of str, optional
        The mesh axes whose devices take part. Default: all that are mapped here.

    Returns
    -------
    Handle
        For :func:`keep`: what is tied to it exists on no device before all devices run the program. Without `keep` the
        compiler removes the barrier.

    Raises
    ------
    LayoutError
        Where an axis is not mapped.

    Notes
    -----
    One all-reduce of four bytes.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from tpufft import comm
    >>> jax.vmap(lambda x: comm.keep(x, comm.barrier(axis_name="x")), axis_name="x")(jnp.arange(3.0)).tolist()
    [0.0, 1.0, 2.0]
    """
    axes = axes_of("barrier", axis_name)
    # Of ranks, not of ones: the compiler knows the sum of what is the same everywhere.
    return Handle(lax.psum(axes.rank, collectives.axis_name(axes.names)))


def keep(x: Any, *messages: Any) -> Any:
    """A value, tied to messages that nothing else depends on: whoever computes it waits for them.

    Parameters
    ----------
    x : pytree of arrays
        A result of the program.
    *messages : handle, array or pytree of these
        Handles of :func:`send` and :func:`barrier`, or any values.

    Returns
    -------
    pytree of jax.Array
        `x`, bit by bit, whatever the messages contain.

    Raises
    ------
    TypeError
        For a message that is neither a handle nor an array.

    Notes
    -----
    The compiler removes what no result depends on, and cannot see that the result is `x`. Its derivative is the
    identity in `x`, tied to the messages as well, and zero in the messages. Costs a pass over `x`; where `x` is typed
    as the same on all devices and a message is not, also an all-reduce of four bytes, so that `x` keeps its type.
    Of messages of one value to the same peers the compiler makes one.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from tpufft import comm
    >>> def probe(x):
    ...     sent = comm.send(x, lambda r: (r + 1) % 4, axis_name="x")
    ...     return comm.keep(2 * x, sent)
    >>> jax.vmap(probe, axis_name="x")(jnp.arange(4.0)).tolist()
    [0.0, 2.0, 4.0, 6.0]
    """
    leaves = []
    for message in jax.tree.leaves(messages, is_leaf=lambda item: isinstance(item, Handle)):
        if isinstance(message, Handle):
            message.is_kept = True
            leaves += jax.tree.leaves(message.value)
        else:
            leaves.append(message)
    flags = [_never(jnp.asarray(leaf)) for leaf in leaves if np.size(leaf)]
    if not flags:
        return x
    flag = functools.reduce(operator.or_, flags)
    return jax.tree.map(lambda leaf: _tied(jnp.asarray(leaf), flag), x)


def vary(x: Any, axis_name: AxisName | None = None) -> Any:
    """The same value, typed as one that may differ between devices.

    Parameters
    ----------
    x : pytree of arrays
        Of any type; where it varies already, nothing changes.
    axis_name : str or tuple of str, optional
        The mesh axes over which it varies. Default: all that are mapped here.

    Returns
    -------
    pytree of jax.Array
        `x`.

    Raises
    ------
    LayoutError
        Where an axis is not mapped.

    Notes
    -----
    The remedy where JAX finds that the type of a loop's carry changes: a constant such as ``jnp.zeros(n)`` is the same
    on all devices, and what the loop makes of it and of a chunk is not. Start with ``comm.vary(jnp.zeros(n))`` instead.
    Nothing is sent forward; the derivative of a value that is the same on all devices is the sum over them, one
    all-reduce. A ``vmap`` has no such types: nothing changes there.

    Examples
    --------
    >>> import functools, jax, numpy as np
    >>> from jax.sharding import Mesh, PartitionSpec as P
    >>> from tpufft import comm
    >>> mesh = Mesh(np.array(jax.devices()[:2]), ("x",))
    >>> @functools.partial(jax.shard_map, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    ... def total(chunk):
    ...     return jax.lax.fori_loop(0, 2, lambda i, sum: sum + chunk[i], comm.vary(0.0))[None]
    >>> jax.jit(total)(np.arange(4.0, dtype=np.float32)).tolist()
    [1.0, 5.0]
    """
    axes = axes_of("vary", axis_name)
    return jax.tree.map(axes.varying, x)


def _is_key(x: jax.Array) -> bool:
    return jnp.issubdtype(x.dtype, jax.dtypes.prng_key)


def _numbers(x: jax.Array) -> jax.Array:
    """What a typed random key is made of; any other array itself."""
    return jax.random.key_data(x) if _is_key(x) else x


def _never(message: jax.Array) -> jax.Array:
    """False, by way of one element of a message and of what the compiler does not know: n(n+1) is even."""
    first = lax.stop_gradient(_numbers(message)).ravel()[0]
    if jnp.iscomplexobj(first):
        first = first.real
    if jnp.issubdtype(first.dtype, jnp.floating):
        first = lax.bitcast_convert_type(first, np.dtype(f"uint{8 * first.dtype.itemsize}"))
    number = first.astype(np.uint32)
    return (number * (number + np.uint32(1))) & np.uint32(1) != 0


def _tied(x: jax.Array, flag: jax.Array) -> jax.Array:
    if _is_key(x):
        return jax.random.wrap_key_data(_tied(_numbers(x), flag), impl=jax.random.key_impl(x))
    manual = jax.sharding.get_abstract_mesh().manual_axes
    foreign = collectives.varying_axes(flag) - collectives.varying_axes(x)
    if names := tuple(name for name in manual if name in foreign):
        flag = lax.psum(flag.astype(np.int32), names) != 0
    return jnp.where(flag, jnp.zeros_like(x), x)
