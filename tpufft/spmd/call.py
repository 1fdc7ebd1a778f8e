"""From a call inside a ``shard_map`` to the steps: the mesh, the whole array's shape, the plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import jax
import numpy as np
from jax import lax
from jax.sharding import AbstractMesh, PartitionSpec

from tpufft.errors import LayoutError
from tpufft.execution import mesh_platform, run
from tpufft.layout import Spec, SpecLike, mesh_size, normalize_spec
from tpufft.planning import (
    Problem,
    Request,
    check_axis,
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
    if name.startswith("ifft") and options["order"] == "transposed":
        shape = transposed_shape(chunk.shape, mesh, natural, axes)
    problem = transform_problem(name, shape, chunk.dtype, sizes=sizes, axes=axes, **options)
    return _run(problem, mesh, natural, chunk)


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


def _run(problem: Problem, mesh: AbstractMesh, spec: Spec, chunk: jax.Array) -> jax.Array:
    plan = make_plan(Request(problem, mesh, spec))
    return run(plan.bound.program, chunk.astype(problem.dtype), mesh_platform(jax.sharding.get_abstract_mesh()))
