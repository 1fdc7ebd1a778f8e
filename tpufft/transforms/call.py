"""From a public call to the primitive: the problem, the request, the argument on its devices."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import jax
import numpy as np
from jax.sharding import Mesh
from jax.typing import ArrayLike

from tpufft.chunked import ChunkedArray
from tpufft.errors import LayoutError
from tpufft.layout import SpecLike, normalize_spec
from tpufft.meshes import AnyMesh, checked_mesh, context_mesh, refuse_manual_axes
from tpufft.planning import (
    Problem,
    Request,
    hankel_problem,
    run_request,
    shift_problem,
    transform_problem,
    widest_float,
)
from tpufft.steps import Precision

Argument: TypeAlias = ArrayLike | ChunkedArray
Result: TypeAlias = jax.Array | ChunkedArray


class Options(NamedTuple):
    """The words that all transforms take."""

    norm: str | None
    order: str
    method: str
    kernel: str
    precision: Precision
    type: int | None = None
    orthogonalize: bool | None = None


def transform(
    name: str,
    x: Argument,
    mesh: Mesh | None,
    sizes: Sequence[int | None] | None,
    axes: Sequence[int] | None,
    options: Options,
    overwrite_x: bool,
    spec: SpecLike | None,
    out_spec: SpecLike | None,
) -> Result:
    """Plan and run a transform of `x` by one of the names in ``planning.KINDS``."""
    array = _as_array(x)
    arguments = (name, array.shape, np.dtype(array.dtype), _frozen(sizes), _frozen(axes), options)
    try:
        problem = _problem(*arguments, widest_float())
    except TypeError:
        # What cannot be hashed is either wrong, which the validation says better, or merely unusual.
        problem = _problem.__wrapped__(*arguments, widest_float())
    return run_request(request(problem, mesh, spec, out_spec), array, donate=overwrite_x)


def hankel(
    name: str,
    x: Argument,
    mesh: Mesh | None,
    parameters: dict[str, float],
    options: Options,
    overwrite_x: bool,
    spec: SpecLike | None,
    out_spec: SpecLike | None,
) -> Result:
    """Plan and run a Hankel transform of the last axis of `x`."""
    array = _as_array(x)
    words = {word: getattr(options, word) for word in ("order", "method", "kernel", "precision")}
    problem = hankel_problem(name, array.shape, np.dtype(array.dtype), **parameters, **words)
    return run_request(request(problem, mesh, spec, out_spec), array, donate=overwrite_x)


def shift(name: str, x: Argument, mesh: Mesh | None, axes: int | Sequence[int] | None, spec: SpecLike | None) -> Result:
    """Plan and run a cyclic shift of `x`."""
    array = _as_array(x)
    problem = shift_problem(name, array.shape, jax.dtypes.canonicalize_dtype(array.dtype), axes)
    return run_request(request(problem, mesh, spec, None), array, donate=False)


def request(problem: Problem, mesh: AnyMesh | None, spec: SpecLike | None, out_spec: SpecLike | None) -> Request:
    """What the caller said of mesh and chunking, checked as far as no array is needed for it."""
    if mesh is not None:
        checked_mesh(mesh)
    context = context_mesh()
    remedy = f"use tpufft.spmd.{problem.name}(chunk, axis_name, ...)"
    refuse_manual_axes(f"tpufft.{problem.name} was called", f"every device sees its own chunk; {remedy}")
    if spec is None and out_spec is None:
        return _plain_request(problem, mesh, context)
    if out_spec is not None and problem.order != "natural":
        raise LayoutError(
            f"out_spec={out_spec} and order={problem.order!r} together: both say how the result is chunked; give one"
        )
    known = mesh or context
    rank = len(problem.shape)

    def entries(given: SpecLike | None, argument: str) -> Any:
        # Without a mesh the names are checked when the array shows its own.
        return None if given is None else normalize_spec(given, rank, known, argument=argument)

    return Request(problem, mesh, entries(spec, "spec"), entries(out_spec, "out_spec"), context)


@functools.lru_cache(maxsize=1024)
def _problem(
    name: str, shape: tuple[int, ...], dtype: np.dtype, sizes: Any, axes: Any, options: Options, widest: np.dtype
) -> Problem:
    del widest  # part of the key: the computing dtype depends on it
    return transform_problem(name, shape, dtype, sizes=sizes, axes=axes, **options._asdict())


@functools.lru_cache(maxsize=1024)
def _plain_request(problem: Problem, mesh: AnyMesh | None, context: AnyMesh | None) -> Request:
    return Request(problem, mesh, None, None, context)


def _as_array(x: Argument) -> jax.Array | np.ndarray | ChunkedArray:
    return x if isinstance(x, jax.Array | np.ndarray | ChunkedArray) else np.asarray(x)


def _frozen(values: Any) -> Any:
    return tuple(values) if isinstance(values, list | range | np.ndarray) else values
