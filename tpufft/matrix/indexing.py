"""``c[...]``: numpy's indices of a chunked array, without gathering any axis that is chunked."""

from __future__ import annotations

import functools
import operator
from dataclasses import replace
from types import EllipsisType
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer
from jax.sharding import NamedSharding

from tpufft.chunked import ChunkedArray
from tpufft.chunked.placement import constrained, settled, stored
from tpufft.errors import LayoutError
from tpufft.layout import AxisNames, Layout
from tpufft.matrix.cuts import Cut, cut, sliced_layout
from tpufft.meshes import visible_sharding


class New(NamedTuple):
    """A new axis of length 1."""


class Slice(NamedTuple):
    """A slice of an axis; a cut of None keeps all of it."""

    axis: int
    cut: Cut | None


class Item(NamedTuple):
    """One position of an axis, a number or a traced one."""

    axis: int
    position: Any


class Table(NamedTuple):
    """An array of positions of an axis, which is whole on every device."""

    axis: int
    positions: Any


Entry: TypeAlias = New | Slice | Item | Table


def getitem(array: ChunkedArray, index: Any) -> ChunkedArray:
    """Elements of a chunked array by numpy's indices.

    Parameters
    ----------
    array : ChunkedArray
        Of any shape (a_1, ..., a_r) and dtype, which is kept.
    index : index expression
        Integers, slices of any step, ``...``, ``None``, and integer or boolean arrays or lists, as numpy takes them.
        Integers and integer arrays may be traced; those beyond the end are then taken for the last one.

    Returns
    -------
    ChunkedArray
        What is sliced stays chunked, in chunks of ``ceil(N' / P)`` of the new length; the same array for ``c[:]``. An
        axis that an integer takes away is whole over the mesh axes that split it, and so is what arrays of indices
        make. A RowChunked or ColumnChunked where the result still is one.

    Raises
    ------
    LayoutError
        For an array of indices or a mask on an axis that is split, or a slice of one that takes more than 16 elements
        with gaps longer than a chunk.
    IndexError
        For an integer out of range, too many indices, or what is no index.

    Notes
    -----
    Axes that are not split: nothing crosses the wire. A slice of a split axis: permutes of the pieces that change
    devices, at most two chunks of wire. A slice so short that one chunk is spread to many devices goes in stages, so
    that the number of permutes grows with the logarithm of the devices only. A slice with gaps first moves all that it
    spans. An integer on a split axis: one all-reduce of what remains, to which all but
    one device contribute zeros.

    Examples
    --------
    >>> import numpy as np
    >>> from tpufft.chunked import chunk
    >>> from tpufft.matrix.indexing import getitem
    >>> c = chunk(np.arange(12.0).reshape(6, 2))
    >>> getitem(c, slice(None, None, -2)).to_numpy().tolist()
    [[10.0, 11.0], [6.0, 7.0], [2.0, 3.0]]
    >>> getitem(c, (4, [1, 0])).to_numpy().tolist()
    [9.0, 8.0]
    """
    entries = parsed(index, array.shape)
    if all(isinstance(entry, Slice) and entry.cut is None for entry in entries):
        return array
    if array.turned_source is not None and all(isinstance(entry, Slice) for entry in entries):
        kept = index if isinstance(index, tuple) else (index,)
        full = _filled(kept, array.ndim)
        return getitem(array.turned_source, (*full[:-2], full[-1], full[-2])).mT
    layout = array.layout
    _refuse_tables(entries, layout)
    # First what each device does alone, so that only what is left of a row is moved.
    waiting = {entry.axis: entry.cut for entry in entries if isinstance(entry, Slice) and layout.parts[entry.axis] > 1}
    entries = [
        Slice(entry.axis, None) if isinstance(entry, Slice) and entry.axis in waiting else entry for entry in entries
    ]
    between, origins = _result_layout(entries, layout)
    moving = tuple(None if origin is None else waiting.get(origin) for origin in origins)
    after = sliced_layout(between, moving)
    data = array.data
    if not after.size:
        return array.fitting(stored(_nothing(layout, after, data), after), after)
    if not all(isinstance(entry, Slice) and entry.cut is None for entry in entries):
        words, positions = _words(entries, layout)
        data = stored(settled(_program(words, layout, between, data, positions)), between)
    if any(moving):
        data = cut(data, between, moving)
    return array.fitting(data, after)


# -- what an index says --------------------------------------------------------------------------------------------


def parsed(index: Any, shape: tuple[int, ...]) -> list[Entry]:
    """The entries of an index, one for every axis and every new one, checked against the shape.

    Parameters
    ----------
    index : index expression
        As it stands between the brackets.
    shape : tuple of int
        Of the array.

    Raises
    ------
    IndexError
        As numpy raises it.
    """
    entries: list[Entry] = []
    axis = 0
    for item in _filled(index if isinstance(index, tuple) else (index,), len(shape)):
        if item is None:
            entries.append(New())
        elif isinstance(item, slice):
            entries.append(Slice(axis, _cut(item, shape[axis])))
            axis += 1
        elif _is_mask(item):
            if item.shape != shape[axis : axis + item.ndim]:
                raise IndexError(
                    f"boolean index of shape {item.shape} does not match the axes from {axis} on, of shape "
                    f"{shape[axis : axis + item.ndim]}"
                )
            entries.extend(Table(axis + number, positions) for number, positions in enumerate(np.nonzero(item)))
            axis += item.ndim
        else:
            positions = _inside(item, axis, shape[axis])
            entries.append(Table(axis, positions) if np.ndim(positions) else Item(axis, positions))
            axis += 1
    _check_broadcast(entries)
    return entries


def _filled(items: tuple[Any, ...], rank: int) -> list[Any]:
    """The items as arrays and numbers, with full slices for the ellipsis and for what is not named."""
    converted = [_converted(item) for item in items]
    taken = sum(0 if item is None else item.ndim if _is_mask(item) else 1 for item in converted if item is not ...)
    if taken > rank:
        raise IndexError(f"too many indices for array: array is {rank}-dimensional, but {taken} were indexed")
    dots = [number for number, item in enumerate(converted) if item is ...]
    if len(dots) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    place = dots[0] if dots else len(converted)
    return [*converted[:place], *[slice(None)] * (rank - taken), *converted[place + 1 :]]


def _converted(item: Any) -> Any:
    """An item as None, an ellipsis, a slice, an int, a traced number, or an array of integers or booleans."""
    if item is None or isinstance(item, slice | EllipsisType):
        return item
    if isinstance(item, ChunkedArray):
        raise LayoutError(
            f"an index is {item!r}; indices and masks must be whole on every device: use .to_numpy() of it, on an axis "
            "that is not split"
        )
    if isinstance(item, bool | np.bool_):
        raise IndexError(f"the index {item} is a single boolean, which is not supported; use None for a new axis")
    if isinstance(item, Tracer):
        if item.dtype == np.bool_:
            raise IndexError(
                "a traced mask has a result of unknown shape; use jnp.where, or a mask that is known when it is traced"
            )
        _check_integer(item, item.dtype)
        return item
    if not isinstance(item, list | np.ndarray | jax.Array | tuple):
        try:
            return operator.index(item)
        except TypeError:
            raise _no_index(item) from None
    array = np.asarray(item)
    if not array.size and isinstance(item, list | tuple):
        array = array.astype(np.intp)
    if array.dtype == np.bool_ and not array.ndim:
        return _converted(bool(array))
    if array.dtype != np.bool_:
        _check_integer(item, array.dtype)
    return array if array.ndim else int(array)


def _check_integer(item: Any, dtype: np.dtype) -> None:
    if not jnp.issubdtype(dtype, jnp.integer):
        raise _no_index(item, f"an array of {dtype}")


def _no_index(item: Any, what: str | None = None) -> IndexError:
    return IndexError(
        "only integers, slices (`:`), ellipsis (`...`), None and integer or boolean arrays are valid indices; "
        f"got {what or repr(item)}"
    )


def _is_mask(item: Any) -> bool:
    return isinstance(item, np.ndarray) and item.dtype == np.bool_


def _cut(item: slice, size: int) -> Cut | None:
    start, stop, step = item.indices(size)
    count = len(range(start, stop, step))
    if count == size and step == 1:
        return None
    return Cut(start, count, step if count > 1 else 1) if count else Cut(0, 0)


def _inside(item: Any, axis: int, size: int) -> Any:
    """Positions counted from the front; those that are known are checked."""
    if isinstance(item, Tracer):
        # Unsigned ones cannot be negative, nor hold the differences.
        wide = item.astype(jnp.result_type(item.dtype, np.int32))
        return jnp.clip(jnp.where(wide < 0, wide + size, wide), 0, max(size - 1, 0))
    positions = np.asarray(item)
    wrong = (positions < -size) | (positions >= size)
    if wrong.any():
        first = positions[wrong].flat[0] if positions.ndim else positions
        raise IndexError(f"index {first} is out of bounds for axis {axis} with size {size}")
    positions = positions.astype(np.int64)
    return np.where(positions < 0, positions + size, positions)


def _check_broadcast(entries: list[Entry]) -> None:
    shapes = [np.shape(entry.positions) for entry in entries if isinstance(entry, Table)]
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        text = " ".join(map(str, shapes))
        raise IndexError(
            f"shape mismatch: indexing arrays could not be broadcast together with shapes {text}"
        ) from None


def _refuse_tables(entries: list[Entry], layout: Layout) -> None:
    for entry in entries:
        if isinstance(entry, Table) and layout.parts[entry.axis] > 1:
            raise LayoutError(
                f"axis {entry.axis} of {layout} is split, and an array of indices or a mask takes elements from all "
                "devices; use .to_numpy() or .to_jax(replicated=True), a slice, or tpufft.chunk(c, mesh, spec) with a "
                "spec that leaves this axis whole"
            )


# -- what comes back -----------------------------------------------------------------------------------------------


def _result_layout(entries: list[Entry], layout: Layout) -> tuple[Layout, tuple[int | None, ...]]:
    """The layout of the result, and of each of its axes the one that it is a slice of.

    Sliced axes keep their order; what arrays make comes in their place, or first where they do not stand together.
    """
    tables = [entry for entry in entries if isinstance(entry, Table)]
    advanced = [number for number, entry in enumerate(entries) if tables and isinstance(entry, Table | Item)]
    apart = bool(advanced) and advanced != list(range(advanced[0], advanced[-1] + 1))
    shape = np.broadcast_shapes(*(np.shape(entry.positions) for entry in tables))
    made: list[tuple[int, AxisNames, int, int | None]] = [(size, (), 0, None) for size in shape]
    axes = made if apart else []
    for number, entry in enumerate(entries):
        if advanced and number == advanced[0] and not apart:
            axes = [*axes, *made]
        if isinstance(entry, New):
            axes = [*axes, (1, (), 0, None)]
        elif isinstance(entry, Slice):
            axis = entry.axis
            size = layout.shape[axis] if entry.cut is None else entry.cut.count
            axes = [*axes, (size, layout.spec[axis], layout.padding[axis], axis)]
    sizes, spec, padding, origins = zip(*axes, strict=True) if axes else ((), (), (), ())
    return replace(layout, shape=sizes, spec=spec, padding=padding), origins


@functools.partial(jax.jit, static_argnums=(0, 1))
def _nothing(before: Layout, after: Layout, data: jax.Array) -> jax.Array:
    """A result without elements, which yet depends on the argument: so its derivative is in chunks too."""
    total = jnp.sum(constrained(data, before)).astype(after.dtype)
    return constrained(jnp.zeros(after.stored_shape, after.dtype) + total, after)


# -- what is done on every device ----------------------------------------------------------------------------------


class Taken(NamedTuple):
    """In the place of positions: the argument that holds them, or a position of a split axis (its number)."""

    number: int
    axis: int | None = None


Word: TypeAlias = tuple[int | None, int | None, int | None] | Taken | None
"""An entry without its positions, which a compiled program takes as arguments; a slice as its three numbers."""


def _words(entries: list[Entry], layout: Layout) -> tuple[tuple[Word, ...], tuple[Any, ...]]:
    words: list[Word] = []
    positions: list[Any] = []
    for entry in entries:
        if isinstance(entry, New):
            words.append(None)
        elif isinstance(entry, Slice):
            words.append(_numbers(entry.cut))
        else:
            is_split = layout.parts[entry.axis] > 1
            words.append(Taken(len(positions), entry.axis if is_split else None))
            given = entry.position if isinstance(entry, Item) else entry.positions
            small = max(layout.stored_shape) < 2**31 and not isinstance(given, Tracer)
            positions.append(np.asarray(given, np.int32) if small else given)
    return tuple(words), tuple(positions)


def _numbers(kept: Cut | None) -> tuple[int | None, int | None, int | None]:
    if kept is None:
        return None, None, None
    stop = kept.start + kept.count * kept.step
    return kept.start, stop if stop >= 0 else None, kept.step


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def _program(
    words: tuple[Word, ...], layout: Layout, after: Layout, data: jax.Array, positions: tuple[Any, ...]
) -> jax.Array:
    # Constrained on both sides, so that the cotangent too is chunked.
    data = constrained(data, layout)
    visible = visible_sharding(data)
    if visible is None:
        return constrained(_taken(data, positions, words, layout), after)
    work = functools.partial(_taken, words=words, layout=layout)
    out = NamedSharding(visible.mesh, after.partition_spec)
    inside: Any = jax.sharding.auto_axes(work, axes=visible.mesh.axis_names, out_sharding=out)
    return inside(data, positions)


def _taken(data: jax.Array, positions: tuple[Any, ...], words: tuple[Word, ...], layout: Layout) -> jax.Array:
    index: list[Any] = []
    for word in words:
        if word is None:
            index.append(None)
        elif not isinstance(word, Taken):
            index.append(slice(*word))
        elif word.axis is None:
            index.append(positions[word.number])
        else:
            data = _row(data, layout.parts[word.axis], word.axis, positions[word.number])
            index.append(0)
    return data.at[tuple(index)].get(mode="promise_in_bounds")


def _row(data: jax.Array, parts: int, axis: int, position: Any) -> jax.Array:
    """One position of a split axis, which is left with length 1: all but one device add zeros."""
    length = data.shape[axis] // parts
    chunks = data.reshape(*data.shape[:axis], parts, length, *data.shape[axis + 1 :])
    own = lax.dynamic_index_in_dim(chunks, position % length, axis + 1, keepdims=False)
    here = lax.broadcasted_iota(np.int32, own.shape, axis) == position // length
    masked = jnp.where(here, own, jnp.zeros((), data.dtype))
    if data.dtype == np.bool_:
        return jnp.any(masked, axis=axis, keepdims=True)
    return jnp.sum(masked, axis=axis, keepdims=True, dtype=data.dtype)
