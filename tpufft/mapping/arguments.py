"""The arrays in a call's arguments: checked, and brought onto their devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.core import Tracer
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from tpufft.chunked import ChunkedArray, check_numbers
from tpufft.errors import LayoutError
from tpufft.mapping.shards import unshard
from tpufft.mapping.signature import Argument
from tpufft.mapping.where import (
    check_devices,
    checked_axis,
    device_count,
    is_in_place,
    is_key,
    is_placed,
    length_text,
    own_devices,
    split,
)
from tpufft.meshes import AnyMesh, check_same_devices, visible_sharding

Move = Callable[[Any], Any]


@dataclass(frozen=True)
class Item:
    """One array of an argument.

    Parameters
    ----------
    spec : PartitionSpec
        Which part of it every device gets.
    chunk_shape : tuple of int
        The shape of that part.
    move : callable, optional
        What brings it to its devices; None where it is as it should be.
    """

    spec: PartitionSpec
    chunk_shape: tuple[int, ...]
    move: Move | None


def flat(argument: Argument, value: Any) -> tuple[list[tuple[Any, Any]], Any]:
    """The arrays of an argument with their paths, and its structure; a list that is to be split stands for an array."""
    return jax.tree_util.tree_flatten_with_path(value, is_leaf=_is_whole(argument))


def flat_leaves(argument: Argument, value: Any) -> list[Any]:
    """The same arrays alone."""
    return jax.tree.leaves(value, is_leaf=_is_whole(argument))


def _is_whole(argument: Argument) -> Callable[[Any], bool]:
    kinds = ChunkedArray if argument.shard is None else (ChunkedArray, list)
    return lambda node: isinstance(node, kinds)


def item(leaf: Any, argument: Argument, path: Any, name: str, mesh: AnyMesh) -> Item:
    """What is to be done with one array.

    Raises
    ------
    AxisError
        If it does not have the axis that is to be split, or mapped over.
    LayoutError
        If it does not divide, or lives on other devices.
    TypeError
        If it is no array.
    """
    what = f"argument {argument.key!r}{jax.tree_util.keystr(path)} of {name}"
    if isinstance(leaf, list):
        shape: tuple[int, ...] = _checked_list(leaf, what, mesh)
    elif isinstance(leaf, jax.Array | np.ndarray | np.generic | ChunkedArray):
        shape = tuple(leaf.shape)
    else:
        shape = ()
        _refuse_no_number(leaf, what)
    if isinstance(leaf, np.ndarray | np.generic):
        check_numbers(leaf.dtype, what)
    spec, chunk_shape = _part(leaf, shape, argument, what, mesh)
    if argument.batch is not None:
        checked_axis(argument.batch, len(shape), f"{what}, in batch,")
    return Item(spec, chunk_shape, _move(leaf, argument.shard, spec, what, mesh))


def check_batch(items: Sequence[tuple[Argument, Item]], name: str) -> None:
    """Refuse arrays that are mapped over together, but differ in length.

    Raises
    ------
    LayoutError
        That names two of them; or where there is none.
    """
    lengths = {}
    for argument, each in items:
        if argument.batch is not None:
            lengths.setdefault(each.chunk_shape[argument.batch], argument.key)
    if len(lengths) > 1:
        (one, first), (other, second) = list(lengths.items())[:2]
        raise LayoutError(
            f"arguments of {name} in batch differ in length: {first!r} has {one}, {second!r} has {other} along their "
            "axes in batch on each device; all must have the same"
        )
    if not lengths:
        raise LayoutError(f"all arguments of {name} in batch are None; at least one must be an array")


def _part(
    leaf: Any, shape: tuple[int, ...], argument: Argument, what: str, mesh: AnyMesh
) -> tuple[PartitionSpec, tuple[int, ...]]:
    if argument.shard is None:
        return PartitionSpec(), shape
    if not shape:
        raise LayoutError(f"{what} is a scalar, which has no axis to split; leave it out of shard")
    axis, count = checked_axis(argument.shard, len(shape), what), device_count(mesh)
    spec = split(mesh, axis)
    if isinstance(leaf, list):  # as it arrives: one chunk
        return spec, shape
    if isinstance(leaf, ChunkedArray) and not leaf.layout.is_even:
        padded = next(number for number, amount in enumerate(leaf.padding) if amount)
        raise LayoutError(
            f"{what} is a ChunkedArray whose axis {padded} of length {shape[padded]} is stored with "
            f"{leaf.padding[padded]} elements of padding, which a function of chunks would see; right is a length that "
            f"divides over {leaf.layout.parts[padded]} devices"
        )
    if shape[axis] % count:
        raise LayoutError(length_text(what, axis, shape[axis], count))
    return spec, (*shape[:axis], shape[axis] // count, *shape[axis + 1 :])


def _refuse_no_number(leaf: Any, what: str) -> None:
    if isinstance(leaf, bool) or not isinstance(leaf, int | float | complex):
        truth = "; a truth value that is data is np.bool_" if isinstance(leaf, bool) else ""
        raise TypeError(
            f"{what} is {leaf!r}, no array of NumPy or JAX and no number; give what is not data before: "
            f"functools.partial(fn, ...) or a lambda{truth}"
        )


def _checked_list(parts: list[Any], what: str, mesh: AnyMesh) -> tuple[int, ...]:
    """The shape of the arrays in a list that stands for a sharded array."""
    count = len(own_devices(mesh)) if isinstance(mesh, Mesh) else device_count(mesh)
    right = (
        f"a list in the place of an argument in shard is one array for each of the {count} devices, all of one shape; "
        "for several arguments in one use a tuple or a dict"
    )
    for number, part in enumerate(parts):
        if isinstance(part, Tracer):
            raise TypeError(
                f"{what} is a list of traced arrays, which are on no device; make one array of it with tpufft.unshard "
                "before jit, grad or another transformation"
            )
        if not isinstance(part, jax.Array | np.ndarray) or not part.ndim:
            kind = "a scalar" if isinstance(part, jax.Array | np.ndarray) else f"{type(part).__name__}"
            raise LayoutError(f"{what} is a list whose entry {number} is {kind}; {right}")
    if len(parts) != count:
        raise LayoutError(f"{what} is a list of {len(parts)} arrays; {right}")
    shapes = list(dict.fromkeys(tuple(part.shape) for part in parts))
    if len(shapes) > 1:
        raise LayoutError(f"{what} is a list of arrays of the shapes {', '.join(map(str, shapes))}; {right}")
    dtypes = sorted({str(part.dtype) for part in parts})
    if len(dtypes) > 1:
        raise TypeError(f"{what} is a list of arrays of the dtypes {', '.join(dtypes)}; {right}, and one dtype")
    return shapes[0]


def _move(leaf: Any, axis: int | None, spec: PartitionSpec, what: str, mesh: AnyMesh) -> Move | None:
    if isinstance(leaf, list):
        return _joining(leaf, axis, spec, mesh)
    if isinstance(leaf, ChunkedArray):
        _check_mesh(leaf.data, mesh, what)
        target = NamedSharding(mesh, spec)  # type: ignore[arg-type]
        if axis is None:
            return lambda chunks: _placed(chunks.to_jax(replicated=True), target)
        return lambda chunks: _placed(chunks.data, target)
    if isinstance(leaf, jax.Array):
        _check_mesh(leaf, mesh, what)
    # What is small and whole, JAX brings to all devices itself; an abstract mesh is that of a program around this one.
    is_number = not isinstance(leaf, jax.Array) and not np.ndim(leaf)
    if isinstance(leaf, Tracer) or is_number or not isinstance(mesh, Mesh):
        return None
    target = NamedSharding(mesh, spec)
    if isinstance(leaf, jax.Array) and is_in_place(leaf, target):
        return None
    return lambda array: jax.device_put(array, target)


def _joining(leaf: list[Any], axis: int | None, spec: PartitionSpec, mesh: AnyMesh) -> Move:
    """What makes one array of a list of shards; where all of them are in place, no more than that."""
    joined = unshard(leaf, mesh, axis)  # type: ignore[arg-type]
    target = NamedSharding(mesh, spec)  # type: ignore[arg-type]
    if isinstance(joined, Tracer) or is_key(joined) or not all(map(is_placed, leaf)):
        return lambda parts: unshard(parts, mesh, axis)  # type: ignore[arg-type]
    shape = joined.shape
    return lambda parts: jax.make_array_from_single_device_arrays(shape, target, parts)


def _check_mesh(x: jax.Array, mesh: AnyMesh, what: str) -> None:
    if not isinstance(x, Tracer):
        check_devices(x, mesh, what)
    elif (visible := visible_sharding(x)) is not None:
        check_same_devices(mesh, visible.mesh)


def _placed(x: jax.Array, target: NamedSharding) -> jax.Array:
    return x if isinstance(x, Tracer) or is_in_place(x, target) else jax.device_put(x, target)
