"""A problem together with what the caller said of mesh and chunking: the operator that the primitive runs."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from jax.sharding import PartitionSpec

from tpufft.execution import Bound, forget_programs
from tpufft.layout import AxisNames, Layout, Spec, normalize_spec, row_chunked
from tpufft.meshes import AnyMesh, check_same_devices, usual_mesh
from tpufft.planning.machine import Machine, machine_of
from tpufft.planning.orders import natural_spec, transposed_spec
from tpufft.planning.problem import Problem
from tpufft.planning.search import Candidate, candidates
from tpufft.planning.wisdom import key, signature, wisdom

OpenSpec: TypeAlias = tuple[AxisNames | None, ...]
"""A spec of which some entries are whatever the array shows."""


@dataclass(frozen=True)
class Request:
    """A transform as it was asked for; implements ``execution.Operator``.

    Parameters
    ----------
    problem : Problem
        What is computed.
    mesh : Mesh, optional
        As the caller gave it.
    spec : tuple, optional
        The natural side's chunking, as the caller gave it; an entry None takes what the array shows.
    out_spec : tuple, optional
        The result's chunking, as the caller gave it.
    context : Mesh, optional
        The mesh that was set around the call; used where neither the caller nor the array names one.
    is_transposed : bool
        Whether this is the transposed matrix.
    """

    problem: Problem
    mesh: AnyMesh | None = None
    spec: OpenSpec | None = None
    out_spec: OpenSpec | None = None
    context: AnyMesh | None = None
    is_transposed: bool = False

    def __hash__(self) -> int:
        return self._hash

    @functools.cached_property
    def _hash(self) -> int:
        return hash((self.problem, self.mesh, self.spec, self.out_spec, self.context, self.is_transposed))

    def result(self) -> tuple[tuple[int, ...], np.dtype]:
        """Stored shape and dtype of the result.

        What is padded is always asked for with its mesh and spec, so that the padding is known.
        """
        problem = self.problem
        shape, dtype = (
            (problem.shape, problem.dtype) if self.is_transposed else (problem.result_shape, problem.result_dtype)
        )
        if self.mesh is None or self.spec is None:
            return shape, dtype
        layouts = layouts_of(self, None, True)
        return layouts[0 if self.is_transposed else 1].stored_shape, dtype

    def transposed(self) -> Request:
        """The transposed map."""
        return replace(self, is_transposed=not self.is_transposed)

    def batched(self, axis: int, size: int, names: AxisNames | None) -> Request:
        """The same map on arrays with one more axis."""

        def widened(spec: OpenSpec | None) -> OpenSpec | None:
            return None if spec is None else (*spec[:axis], names, *spec[axis:])

        return replace(
            self,
            problem=self.problem.batched(axis, size),
            spec=widened(self.spec),
            out_spec=widened(self.out_spec),
        )

    def batch_axis(self, axis: int) -> int:
        """Transforms keep the order of axes."""
        return axis

    def located(self, visible: Layout | None) -> Request:
        """The same map with mesh and chunking of the argument remembered."""
        if visible is None:
            return self
        bound = self.bound(visible, tracing=False)
        return self.pinned(bound.in_layout, bound.out_layout)

    def pinned(self, before: Layout, after: Layout) -> Request:
        """The same map with the mesh and the chunking of its sides remembered."""
        natural = before if self.problem.spec_is_of_input != self.is_transposed else after
        return replace(self, mesh=natural.mesh, spec=natural.spec)

    def bound(self, visible: Layout | None, *, tracing: bool) -> Bound:
        """Layouts and steps, for an argument of which `visible` shows."""
        bound = plan_of(self, visible, tracing).bound
        return bound.transposed() if self.is_transposed else bound


@dataclass(frozen=True)
class Chosen:
    """What planning made of a request: layouts of both sides and the ways between them."""

    in_layout: Layout
    out_layout: Layout
    candidates: tuple[Candidate, ...]
    machine: Machine

    @property
    def bound(self) -> Bound:
        """The best way, as ``execution`` takes it."""
        return Bound(self.in_layout, self.candidates[0].program, self.out_layout)


@functools.lru_cache(maxsize=1024)
def plan_of(request: Request, visible: Layout | None, tracing: bool) -> Chosen:
    """Decide layouts and candidates; `visible` is the layout of the argument (of the cotangent, where transposed)."""
    in_layout, out_layout = layouts_of(request, visible, tracing)
    machine = machine_of(in_layout.mesh)
    start, goal = in_layout.simplified(), out_layout.simplified().spec
    found = candidates(request.problem, start, goal, machine)
    measured = wisdom().entries
    best = measured.get(key(request.problem, in_layout, out_layout)) if measured else None
    if best is not None:
        wide = candidates(request.problem, start, goal, machine, wide=True)
        winners = [one for one in wide if signature(one.program) == best.program][:1]
        # A winner that is no candidate any more is forgotten.
        found = (*winners, *(one for one in found if one not in winners))
    return Chosen(in_layout, out_layout, found, machine)


def all_candidates(request: Request) -> Chosen:
    """Every way that is worth measuring, of a request that names mesh and spec; the model's choice first."""
    in_layout, out_layout = layouts_of(request, None, True)
    machine = machine_of(in_layout.mesh)
    found = candidates(request.problem, in_layout.simplified(), out_layout.simplified().spec, machine, wide=True)
    return Chosen(in_layout, out_layout, found, machine)


def forget() -> None:
    """Plan anew what is called next: wisdom has changed."""
    plan_of.cache_clear()
    forget_programs()


@functools.lru_cache(maxsize=1024)
def layouts_of(request: Request, visible: Layout | None, tracing: bool) -> tuple[Layout, Layout]:
    """The layouts of both sides; `visible` as in :func:`plan_of`."""
    mesh = _mesh(request, visible, tracing)
    in_spec, out_spec = _specs(request, visible, mesh, tracing)
    problem = request.problem
    in_padding, out_padding = (
        _padding(shape, mesh, spec) for shape, spec in ((problem.shape, in_spec), (problem.result_shape, out_spec))
    )
    return (
        Layout(problem.shape, problem.dtype, mesh, in_spec, in_padding),
        Layout(problem.result_shape, problem.result_dtype, mesh, out_spec, out_padding),
    )


def _mesh(request: Request, visible: Layout | None, tracing: bool) -> AnyMesh:
    if visible is not None:
        if request.mesh is not None:
            check_same_devices(request.mesh, visible.mesh)
        return visible.mesh
    if request.mesh is not None:
        return request.mesh
    return usual_mesh(request.problem.name, request.context, is_traced=tracing)


def _specs(request: Request, visible: Layout | None, mesh: AnyMesh, tracing: bool) -> tuple[Spec, Spec]:
    """The chunking of input and result."""
    problem = request.problem
    natural_is_input = problem.spec_is_of_input
    natural_shows = natural_is_input != request.is_transposed
    natural_shape = problem.shape if natural_is_input else problem.result_shape
    axes = problem.transformed_axes
    if request.spec is not None:
        natural = _closed(request.spec, visible, len(natural_shape), mesh, "spec")
    elif visible is None:
        natural = _default_spec(problem, mesh, tracing)
    elif problem.order == "transposed" and not natural_shows:
        natural = natural_spec(problem.spectrum_shape, mesh, visible.spec, axes)
    else:
        natural = visible.spec
    if problem.order == "transposed":
        other = transposed_spec(problem.spectrum_shape, mesh, natural, axes)
    elif request.out_spec is not None:
        given = _closed(request.out_spec, visible, len(natural_shape), mesh, "out_spec")
        return natural, given
    else:
        other = natural
    return (natural, other) if natural_is_input else (other, natural)


def _closed(spec: OpenSpec, visible: Layout | None, rank: int, mesh: AnyMesh, argument: str) -> Spec:
    shown = visible.spec if visible is not None else ((),) * rank
    filled = [shown[axis] if names is None else names for axis, names in enumerate(spec)]
    return normalize_spec(PartitionSpec(*filled), rank, mesh, argument=argument)


def _default_spec(problem: Problem, mesh: AnyMesh, tracing: bool) -> Spec:
    """Row-chunked; but an array that was whole, on a size that does not divide, stays whole."""
    rank = len(problem.shape)
    spec = normalize_spec(row_chunked(rank, mesh), rank, mesh)
    if problem.order == "transposed":
        sides = (spec, transposed_spec(problem.spectrum_shape, mesh, spec, problem.transformed_axes))
    else:
        sides = (spec, spec)
    shapes = (problem.shape, problem.result_shape)
    if not tracing and any(any(_padding(shape, mesh, side)) for shape, side in zip(shapes, sides, strict=True)):
        return ((),) * rank
    return spec


def _padding(shape: tuple[int, ...], mesh: AnyMesh, spec: Spec) -> tuple[int, ...]:
    return Layout.of(shape, np.complex64, mesh, spec).padding
