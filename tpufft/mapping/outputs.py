"""Results of a mapped function: each array joined along its axis, or the same on every device."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec

from tpufft.collectives import make_varying, varying_axes
from tpufft.errors import LayoutError
from tpufft.mapping.where import checked_axis, split
from tpufft.meshes import AnyMesh

#: NumPy's arrays have no more.
MOST_AXES = 64

Groups = tuple[list[jax.Array], ...]


def check_out_axis(out_axis: Any) -> None:
    """Refuse an `out_axis` with anything but integers and None in it.

    Raises
    ------
    TypeError
        For anything else.
    """
    for axis in jax.tree.leaves(out_axis, is_leaf=_is_none):
        if axis is not None and (isinstance(axis, bool) or not hasattr(axis, "__index__")):
            raise TypeError(
                f"out_axis={out_axis!r} has {axis!r} in it; an axis is an integer, or None for what is the same on "
                "every device"
            )


def leaf_axes(out_axis: Any, result: Any, name: str) -> list[int | None]:
    """For every array of a result its entry of `out_axis`, which may stand for a whole part of the result.

    Raises
    ------
    ValueError
        If `out_axis` is no prefix of the result's structure.
    """
    axes: list[int | None] = []

    def spread(axis: int | None, part: Any) -> None:
        axes.extend([axis] * len(jax.tree.leaves(part)))

    try:
        jax.tree.map(spread, out_axis, result, is_leaf=_is_none)
    except ValueError:
        raise ValueError(
            f"out_axis={out_axis!r} does not fit what {name} returns, {jax.tree.structure(result)}"
        ) from None
    return axes


def group_specs(mesh: AnyMesh) -> tuple[PartitionSpec, ...]:
    """How each group of :func:`grouped` is split: not at all, along axis 0, along axis 1 ..."""
    return tuple(split(mesh, axis) for axis in (None, *range(MOST_AXES)))


def grouped(result: Any, out_axis: Any, name: str, mesh: AnyMesh) -> tuple[Groups, Any]:
    """The arrays of one device's result by the axis along which they are joined, and what puts them together again.

    Its structure is known only when the function is traced, the number of groups before.

    Raises
    ------
    AxisError
        If an array does not have its axis.
    LayoutError
        If an array without one differs between devices.
    TypeError
        For a result that is no array.
    """
    paths, tree = jax.tree_util.tree_flatten_with_path(result)
    groups: Groups = tuple([] for _ in range(MOST_AXES + 1))
    places = []
    for (path, leaf), axis in zip(paths, leaf_axes(out_axis, result, name), strict=True):
        what = f"the output{jax.tree_util.keystr(path)} of {name}"
        if not isinstance(leaf, jax.Array | np.ndarray | np.generic | bool | int | float | complex):
            raise TypeError(f"{what} is {leaf!r}; outputs are arrays")
        array = jnp.asarray(leaf)
        number = 0
        if axis is None:
            _check_same(array, what)
        else:
            array = make_varying(array if array.ndim else array[None], mesh.axis_names)
            number = 1 + checked_axis(axis, array.ndim, what)
        places.append((number, len(groups[number])))
        groups[number].append(array)
    return groups, (tree, places)


def put_together(groups: Groups, recipe: Any) -> Any:
    """The result whose arrays :func:`grouped` sorted."""
    tree, places = recipe
    return jax.tree.unflatten(tree, [groups[number][place] for number, place in places])


def _check_same(array: jax.Array, what: str) -> None:
    varying = varying_axes(array)
    if varying:
        names = ", ".join(sorted(map(repr, varying)))
        raise LayoutError(
            f"{what} has out_axis=None, but may differ between devices along {names}: make it the same with "
            "tpufft.comm.allreduce or tpufft.comm.bcast, or give the axis along which devices' values are joined"
        )


def _is_none(node: Any) -> bool:
    return node is None
