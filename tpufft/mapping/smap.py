"""``smap``: a function of one device's chunks as a function of whole arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from tpufft.mapping.calls import Mapping
from tpufft.mapping.outputs import check_out_axis
from tpufft.mapping.signature import Axes, Key, Parameters
from tpufft.meshes import AnyMesh, checked_mesh


def smap(
    fn: Callable[..., Any],
    mesh: AnyMesh | None = None,
    *,
    shard: Axes = (),
    replicate: Sequence[Key] = (),
    batch: Axes = (),
    out_axis: Any = 0,
) -> Callable[..., Any]:
    """Run a function on every device of a mesh, each with its own chunks of the arguments.

    Parameters
    ----------
    fn : callable
        Of one device's chunks: an argument in `shard` arrives with the split axis kept, of length N/P on P devices; any
        other argument arrives whole. Functions of :mod:`tpufft.comm` and ``jax.lax`` communicate in it, over
        all axes of the mesh.
    mesh : jax.sharding.Mesh, optional
        The devices; several mesh axes split an array axis together, the first the slowest. Default: the mesh over which
        an argument in `shard` (or else any) is spread, else that of ``jax.set_mesh``, else all devices as one axis
        ``"x"``.
    shard : dict or sequence
        Which arguments are split: from position or name to axis, or positions and names alone for axis 0. The axis
        holds for every array of an argument that is a pytree; what is None stays None.
    replicate : sequence
        Positions or names of arguments that every device gets whole, as it gets all that are not named anywhere.
    batch : dict or sequence
        Arguments over whose axis (of the chunk) `fn` is mapped on its device besides, by ``jax.vmap``: it sees them
        without that axis.
    out_axis : int, None, or pytree of these
        The axis along which devices' results are joined; None for a result that is the same on every device, which is
        returned once. May stand for whole parts of what `fn` returns, as ``out_axes`` of ``jax.vmap`` does. A number
        counts as an array of one element: it becomes one entry for each device. What `batch` maps over is axis 0.

    Returns
    -------
    callable
        Of `fn`'s signature, of whole arrays. Results are sharded along `out_axis` over all mesh axes and stay on their
        devices. If an argument in `shard` was given as a list, joined results are lists too.

    Raises
    ------
    TypeError
        For an `fn` that is not callable, a `mesh` that is none, or axes that are no integers; when called, for
        arguments that are missing, or that are neither arrays nor numbers.
    ValueError
        For parameters that `fn` does not have, or that are both split and replicated.
    LayoutError
        When called: for lengths that do not divide, arrays on other devices, wrong lists, a result with `out_axis` None
        that differs between devices, or a call inside ``shard_map`` or another `smap`.
    AxisError
        When called: for an axis that an argument or a result does not have.

    Notes
    -----
    Sends nothing by itself, but what brings arguments to their devices that are not there; call it with what
    :func:`shard` or an earlier call returned. In the place of an array that is split may stand a list with one array
    for each device, as :func:`shards` makes it, or a :class:`tpufft.ChunkedArray` without padding. Numbers become
    arrays; give other things, as flags and functions, before: ``functools.partial(fn, flag=True)``.

    Inside, every argument is typed as varying over the mesh: ``jax.grad`` there is the derivative of this device's own
    result, to be averaged with :func:`tpufft.comm.allreduce`. Seen from outside, the derivative by an argument that is
    not split is the sum over devices. The function that is returned can be jitted, differentiated, mapped and
    scanned over. Keep it: another `smap` of the same function is traced and compiled anew.

    Examples
    --------
    >>> import numpy as np
    >>> from tpufft.mapping import num_shards, smap
    >>> def scaled(rows, factor):
    ...     return factor * rows, rows.sum()
    >>> x = np.ones((2 * num_shards(), 3))
    >>> y, sums = smap(scaled, shard=["rows"])(x, 2.0)
    >>> y.shape == x.shape, sums.shape == (num_shards(),), float(sums[0])
    (True, True, 6.0)
    """
    if not callable(fn):
        raise TypeError(f"fn={fn!r} is not callable; give a function of one device's chunks")
    if mesh is not None:
        checked_mesh(mesh)
    check_out_axis(out_axis)
    mapping = Mapping(fn, mesh, Parameters(fn, shard, replicate, batch), out_axis)

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        return mapping.call(args, kwargs)

    return call
