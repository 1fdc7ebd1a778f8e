"""Arrays as lists of what each device has, and back; nothing passes through the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.core import Tracer
from jax.sharding import AxisType, Mesh, NamedSharding

from tpufft.chunked import ChunkedArray, check_numbers, chunk
from tpufft.chunked.shards import joined, joined_layout, per_device
from tpufft.errors import LayoutError
from tpufft.mapping.where import (
    checked_axis,
    declared,
    device_count,
    device_text,
    found_mesh,
    is_key,
    is_placed,
    length_text,
    own_devices,
    own_mesh,
    split,
)
from tpufft.meshes import AnyMesh, checked_mesh, context_mesh, refuse_manual_axes


def num_shards(mesh: AnyMesh | None = None) -> int:
    """The number of devices of a mesh: into how many parts :func:`shard` splits an array.

    Parameters
    ----------
    mesh : jax.sharding.Mesh, optional
        Default: the mesh of ``jax.set_mesh``, else all devices.

    Returns
    -------
    int
        The product of the mesh's axes.

    Raises
    ------
    TypeError
        For a `mesh` that is none.

    Examples
    --------
    >>> import jax
    >>> from tpufft.mapping import num_shards
    >>> num_shards() == jax.device_count()
    True
    """
    if mesh is not None:
        return device_count(checked_mesh(mesh))
    context = context_mesh()
    return jax.device_count() if context is None else device_count(context)


def shard(x: Any, mesh: AnyMesh | None = None, axis: int = 0) -> Any:
    """Split arrays along one axis over all devices of a mesh.

    Parameters
    ----------
    x : pytree of arrays
        Of NumPy or JAX, or ChunkedArrays; None stays None.
    mesh : jax.sharding.Mesh, optional
        The devices; several mesh axes split `axis` together, the first the slowest. Default: those that an array is
        spread over already, else the mesh of ``jax.set_mesh``, else all devices as one axis ``"x"``.
    axis : int, default 0
        The axis of every array that is split. Negative: from its end.

    Returns
    -------
    pytree of jax.Array or ChunkedArray
        A ``jax.Array`` where the length divides over the devices, else a :class:`tpufft.ChunkedArray`, whose last
        chunks are short or empty.

    Raises
    ------
    AxisError
        If an array has no such axis.
    LayoutError
        For an array on another mesh, a traced one with no mesh in sight, or a call inside ``shard_map``.
    TypeError
        For a `mesh` that is none, and for what is no array of numbers.

    Notes
    -----
    From NumPy every device receives its own part only. What is chunked otherwise is moved by the compiler's
    collectives.

    Examples
    --------
    >>> import numpy as np
    >>> from tpufft.mapping import num_shards, shard
    >>> x = shard(np.zeros((4 * num_shards(), 3)))
    >>> x.addressable_shards[0].data.shape
    (4, 3)
    """
    refuse_manual_axes("tpufft.shard was called", "every device has its own chunk already")
    if mesh is not None:
        checked_mesh(mesh)
    return jax.tree_util.tree_map_with_path(
        lambda path, leaf: _sharded(leaf, mesh, axis, f"x{jax.tree_util.keystr(path)}"), x, is_leaf=_is_chunked
    )


def shards(x: Any) -> list[Any]:
    """What every device has of an array, as a list with one array for each.

    Parameters
    ----------
    x : pytree of jax.Array or ChunkedArray
        Split along one or several axes, or the same on every device.

    Returns
    -------
    list
        In the order of ``mesh.devices.flat``, so that a list of an array split along one axis over all devices is in
        the order of the array. Each array is the device's own buffer and stays there; of a ChunkedArray without
        padding, which copies the chunks that have some. Of a pytree, pytrees. In a job of several processes, of this
        process's devices.

    Raises
    ------
    TypeError
        For a traced array, or one that is on no device.
    LayoutError
        For arrays of a pytree that are on different devices.

    Notes
    -----
    Nothing is sent or copied.

    Examples
    --------
    >>> import numpy as np
    >>> from tpufft.mapping import num_shards, shard, shards
    >>> parts = shards(shard(np.arange(3.0 * num_shards())))
    >>> len(parts) == num_shards(), parts[0].tolist()
    (True, [0.0, 1.0, 2.0])
    """
    leaves, tree = jax.tree_util.tree_flatten_with_path(x, is_leaf=_is_chunked)
    lists = [_parts(leaf, f"x{jax.tree_util.keystr(path)}") for path, leaf in leaves]
    if not lists:
        raise TypeError(f"x={x!r} has no array; give an array that is spread over devices")
    places = [[part.devices() for part in parts] for parts in lists]
    for (path, _), place in zip(leaves, places, strict=True):
        if place != places[0]:
            raise LayoutError(
                f"x{jax.tree_util.keystr(path)} lives on {device_text(set().union(*place))}, "
                f"x{jax.tree_util.keystr(leaves[0][0])} on {device_text(set().union(*places[0]))}, or in another "
                "order; all arrays of a pytree must be spread over the same devices"
            )
    return [jax.tree.unflatten(tree, parts) for parts in zip(*lists, strict=True)]


def unshard(shards: Sequence[Any], mesh: Mesh | None = None, axis: int = 0) -> Any:
    """Make one array of a list with one array for each device, which stays where it is.

    Parameters
    ----------
    shards : list or tuple
        One array for each device, in the order of ``mesh.devices.flat``; or pytrees of arrays, all of one structure.
        What is on a device must be on that device; arrays of NumPy, and those that JAX has put nowhere in particular,
        are moved there. In a job of several processes, one array for each of this process's devices.
    mesh : jax.sharding.Mesh, optional
        The devices. Default: those that the arrays are on, as one axis ``"x"`` (or as the mesh of ``jax.set_mesh`` has
        them, if it has them in that order); for arrays on none, the mesh of ``jax.set_mesh``, else all devices.
    axis : int, default 0
        The axis along which they are joined. Negative: from the end.

    Returns
    -------
    pytree of jax.Array or ChunkedArray
        Sharded along `axis` over all mesh axes; a ChunkedArray where the last arrays are shorter, as :func:`shards`
        gives them of one.

    Raises
    ------
    AxisError
        If the arrays have no such axis.
    LayoutError
        For a wrong number of arrays, different shapes, or arrays on other devices.
    TypeError
        For different dtypes or structures, traced arrays, or what is no list of arrays.

    Notes
    -----
    Nothing is sent or copied of arrays that are on their devices.

    Examples
    --------
    >>> import numpy as np
    >>> from tpufft.mapping import num_shards, shards, unshard
    >>> x = unshard([np.full(2, number) for number in range(num_shards())])
    >>> x.shape == (2 * num_shards(),), shards(x)[0].tolist()
    (True, [0, 0])
    """
    refuse_manual_axes("tpufft.unshard was called", "every device has its own chunk; use tpufft.comm.allgather")
    if mesh is not None and not isinstance(checked_mesh(mesh), Mesh):
        raise LayoutError(f"mesh={mesh} names no devices; use a jax.sharding.Mesh")
    if not isinstance(shards, list | tuple) or not shards:
        shape = getattr(shards, "shape", None)
        given = f"shards={shards!r}" if shape is None else f"shards is one array of shape {shape}"
        raise TypeError(f"{given}: give a list with one array for each device")
    entries = [jax.tree_util.tree_flatten_with_path(entry) for entry in shards]
    tree = entries[0][1]
    for number, (_, other) in enumerate(entries):
        if other != tree:
            raise TypeError(f"shards[{number}] has the structure {other}, shards[0] has {tree}; all must have the same")
    columns = list(zip(*([leaf for _, leaf in leaves] for leaves, _ in entries), strict=True))
    paths = [jax.tree_util.keystr(path) for path, _ in entries[0][0]]
    where = mesh if mesh is not None else own_mesh(columns[0] if columns else ())
    return jax.tree.unflatten(
        tree, [_joined(column, where, axis, path) for column, path in zip(columns, paths, strict=True)]
    )


def _is_chunked(x: Any) -> bool:
    return isinstance(x, ChunkedArray)


def _sharded(leaf: Any, mesh: AnyMesh | None, axis: int, what: str) -> Any:
    if not isinstance(leaf, jax.Array | np.ndarray | np.generic | ChunkedArray):
        raise TypeError(f"{what}={leaf!r} is no array of NumPy or JAX; make one with np.asarray")
    if isinstance(leaf, np.ndarray | np.generic):
        check_numbers(leaf.dtype, what)
    if not leaf.ndim:
        raise LayoutError(f"{what} is a scalar, which has no axis to split; leave it whole")
    axis = checked_axis(axis, leaf.ndim, what)
    where = mesh if mesh is not None else found_mesh("tpufft.shard", [leaf])
    spec, count = split(where, axis), device_count(where)
    if not is_key(leaf):
        result = chunk(leaf, where, spec)  # type: ignore[arg-type]
        return result.to_jax() if result.layout.is_even else result
    if leaf.shape[axis] % count:
        raise LayoutError(length_text(f"{what}, of random keys,", axis, leaf.shape[axis], count))
    target = NamedSharding(where, spec)  # type: ignore[arg-type]
    if not isinstance(leaf, Tracer):
        return jax.device_put(leaf, target)
    is_typed = AxisType.Explicit in where.axis_types
    return declared(leaf, target) if is_typed else jax.lax.with_sharding_constraint(leaf, target)


def _parts(leaf: Any, what: str) -> list[jax.Array]:
    if isinstance(leaf, Tracer) or (isinstance(leaf, ChunkedArray) and isinstance(leaf.data, Tracer)):
        raise TypeError(f"{what} is traced, so that it is on no device; call tpufft.shards outside of jit")
    if isinstance(leaf, ChunkedArray):
        if not isinstance(leaf.mesh, Mesh):
            raise LayoutError(f"{what} is on {leaf.layout.describe()}, which names no devices; use a jax.sharding.Mesh")
        return per_device(leaf.data, leaf.mesh, leaf.layout)
    if not isinstance(leaf, jax.Array):
        raise TypeError(f"{what} is {type(leaf).__name__}, which is on no device; use tpufft.shard first")
    if isinstance(leaf.sharding, NamedSharding):
        return per_device(leaf, leaf.sharding.mesh)  # type: ignore[arg-type]
    return [part.data for part in leaf.addressable_shards]


def _joined(parts: Sequence[Any], mesh: Mesh, axis: int, path: str) -> Any:
    for number, part in enumerate(parts):
        what = f"shards[{number}]{path}"
        if isinstance(part, Tracer):
            raise TypeError(
                f"{what} is traced, so that it is on no device; call tpufft.unshard outside of jit and other "
                "transformations, and give them the whole array"
            )
        if not isinstance(part, jax.Array | np.ndarray | np.generic):
            raise TypeError(f"{what}={part!r} is no array of NumPy or JAX")
        if isinstance(part, np.ndarray | np.generic):
            check_numbers(part.dtype, what)
        if not part.ndim:
            raise LayoutError(f"{what} is a scalar, which has no axis to join along; give it one: x[None]")
    places, count = own_devices(mesh), device_count(mesh)
    if len(parts) != len(places):
        where = f"the mesh has {count} devices" + (f", {len(places)} of this process" if len(places) < count else "")
        raise LayoutError(f"shards{path} has {len(parts)} arrays; {where}: right is one array for each")
    for number, (part, place) in enumerate(zip(parts, places, strict=True)):
        if is_placed(part) and part.devices() != {place}:
            raise LayoutError(
                f"shards[{number}]{path} is on {device_text(part.devices())}; right is {device_text([place])}, number "
                f"{number} of the mesh: put the list in the order of mesh.devices.flat, or move what is elsewhere with "
                "jax.device_put"
            )
    axis = checked_axis(axis, parts[0].ndim, f"shards[0]{path}")
    if all(map(is_key, parts)):
        data = _joined([jax.random.key_data(part) for part in parts], mesh, axis, path)
        return jax.random.wrap_key_data(data, impl=jax.random.key_impl(parts[0]))
    # Other processes' arrays are not to be had here; they have the same shape.
    everywhere = dict(zip(places, parts, strict=True))
    all_parts = [everywhere.get(device, parts[0]) for device in mesh.devices.flat]
    layout = joined_layout(all_parts, mesh, tuple(mesh.axis_names), axis - parts[0].ndim)
    data = joined(all_parts, layout, axis)
    return data if layout.is_even else ChunkedArray(data, layout)
