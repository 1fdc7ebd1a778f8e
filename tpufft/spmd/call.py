"""From a call inside a ``shard_map`` to the steps: the mesh, the whole array's shape, the plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import jax
import numpy as np
from jax import lax
from jax.sharding import AbstractMesh, PartitionSpec

from tpufft.errors import LayoutError
from tpufft.execution import mesh_platform, run
from tpufft.layout import Spec, SpecLike, ceil_div, mesh_size, normalize_spec
from tpufft.planning import (
    KINDS,
    Problem,
    Request,
    check_axis,
    hankel_problem,
    make_plan,
    shift_problem,
    transform_problem,
    transposed_shape,
)

AxisName: TypeAlias = str | tuple[str, ...]


def transform(
    name: str,
    chunk: jax.Array,
    axis_name: AxisName,
    place: int,
    sizes: Sequence[int | None] | None,
    axes: Sequence[int] | None,
    spec: SpecLike | None,
    options: dict[str, Any],
) -> jax.Array:
    """Run a transform on a chunk of an array whose axis `place` is split, unless `spec` says otherwise."""
    mesh, natural = _split(name, chunk, axis_name, place, spec)
    shape = _shape(chunk.shape, mesh, natural)
    if KINDS[name].inverse and options["order"] == "transposed":
        shape = transposed_shape(chunk.shape, mesh, natural, axes)
    problem = transform_problem(name, shape, chunk.dtype, sizes=sizes, axes=axes, **options)
    return _run(_without_padding(problem, chunk.shape), mesh, natural, chunk)


def hankel(
    name: str, chunk: jax.Array, axis_name: AxisName, spec: SpecLike | None, options: dict[str, Any]
) -> jax.Array:
    """Run a Hankel transform of the last axis on a chunk."""
    mesh, split = _split(name, chunk, axis_name, check_axis(-1, chunk.ndim), spec)
    problem = hankel_problem(name, _shape(chunk.shape, mesh, split), np.dtype(chunk.dtype), **options)
    return _run(problem, mesh, split, chunk)


def shift(name: str, chunk: jax.Array, axis_name: AxisName, axis: int, spec: SpecLike | None) -> jax.Array:
    """Run a cyclic shift on a chunk."""
    place = check_axis(axis, chunk.ndim)
    mesh, split = _split(name, chunk, axis_name, place, spec)
    problem = shift_problem(name, _shape(chunk.shape, mesh, split), np.dtype(chunk.dtype), place)
    return _run(problem, mesh, split, chunk)


def _split(
    name: str, chunk: jax.Array, axis_name: AxisName, place: int, spec: SpecLike | None
) -> tuple[AbstractMesh, Spec]:
    """The mesh that `axis_name` means here, and the chunking of the array of which `chunk` is a part."""
    names = (axis_name,) if isinstance(axis_name, str) else tuple(axis_name)
    try:
        sizes = tuple(int(lax.axis_size(one)) for one in names)
    except NameError:
        raise LayoutError(
            f"axis_name={axis_name!r} is not bound here: tpufft.spmd.{name} is for use inside a shard_map over it; "
            f"for whole arrays call tpufft.{name}"
        ) from None
    mesh = AbstractMesh(sizes, names)
    entries: SpecLike = PartitionSpec(*(None,) * place, names) if spec is None else spec
    return mesh, normalize_spec(entries, chunk.ndim, mesh)


def _shape(chunk: tuple[int, ...], mesh: AbstractMesh, spec: Spec) -> tuple[int, ...]:
    """The shape of the whole array."""
    return tuple(size * mesh_size(mesh, names) for size, names in zip(chunk, spec, strict=True))


def _without_padding(problem: Problem, chunk: tuple[int, ...]) -> Problem:
    """The same problem of an array that ends where its transforms say, if its chunks are as they would be then."""
    shape = list(problem.shape)
    for operation in reversed(problem.operations):  # the first one of an axis has the last word
        axis, points = operation.axis, operation.points
        parts = problem.shape[axis] // max(chunk[axis], 1)
        if parts and ceil_div(points, parts) == chunk[axis]:
            shape[axis] = points
    return replace(problem, shape=tuple(shape))


def _run(problem: Problem, mesh: AbstractMesh, spec: Spec, chunk: jax.Array) -> jax.Array:
    plan = make_plan(Request(problem, mesh, spec))
    if plan.in_layout.chunk_shape != chunk.shape:
        raise LayoutError(
            f"a chunk of shape {chunk.shape} is no part of {plan.in_layout}, whose chunks are "
            f"{plan.in_layout.chunk_shape}; give spec= and the sizes of the whole array"
        )
    return run(plan.bound.program, chunk.astype(problem.dtype), mesh_platform(jax.sharding.get_abstract_mesh()))
