"""Planning: the search over layouts, the choice among candidates, the four-step plan."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import jax
import numpy as np
import oracle
import pytest
from helpers import counted_calls
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.sharding import AbstractMesh, Mesh
from jax.sharding import PartitionSpec as P

import tpufft
from tpufft.layout import Layout, Spec
from tpufft.planning.catalogue import transform_problem
from tpufft.planning.cost import program_seconds
from tpufft.planning.inplace import StepBuilder, Tools
from tpufft.planning.inplace.fourstep import four_step
from tpufft.planning.machine import Machine, machine_of
from tpufft.planning.operations import DFT
from tpufft.planning.search import candidates
from tpufft.steps import Exchange, Local, Program, Ring


def mesh_of(**axes: int) -> Mesh:
    count = int(np.prod(list(axes.values())))
    return Mesh(np.array(jax.devices()[:count]).reshape(tuple(axes.values())), tuple(axes))


def fake_mesh(**axes: int) -> AbstractMesh:
    return AbstractMesh(tuple(axes.values()), tuple(axes))


def random(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return generator.standard_normal(shape) + 1j * generator.standard_normal(shape)


def placed(plan: tpufft.Plan, x: np.ndarray) -> jax.Array:
    return jax.device_put(x, plan.in_layout.sharding)


def names(plan: tpufft.Plan) -> list[str]:
    return [type(step).__name__ for step in plan.steps]


def exchange_plan(transform: str, shape: tuple[int, ...], mesh: Any, **options: Any) -> tpufft.Plan:
    return tpufft.plan(transform, shape, np.complex128, mesh, method="exchange", kernel="xla", **options)


# -- the search --------------------------------------------------------------------------------------------------


def test_a_slab() -> None:
    mesh = fake_mesh(x=8)
    assert names(exchange_plan("fftn", (64, 64, 64), mesh)) == ["Local", "Exchange", "Local", "Exchange"]
    assert names(exchange_plan("fftn", (64, 64, 64), mesh, order="transposed")) == ["Local", "Exchange", "Local"]
    assert names(exchange_plan("fftn", (64, 64, 64), mesh, axes=(1, 2))) == ["Local"]


def test_a_pencil() -> None:
    mesh = fake_mesh(a=2, b=4)
    natural = exchange_plan("fftn", (64, 64, 64), mesh, spec=P("a", "b"))
    assert natural.bound.program.collectives == {"all-to-all": 4}
    assert natural.out_layout.spec == natural.in_layout.spec
    transposed = exchange_plan("fftn", (64, 64, 64), mesh, spec=P("a", "b"), order="transposed")
    assert names(transposed) == ["Local", "Exchange", "Local", "Exchange", "Local"]
    assert transposed.out_layout.spec == ((), ("a",), ("b",))


def test_a_spare_axis_takes_the_mesh_axis_for_one_transform() -> None:
    plan = exchange_plan("fft", (64, 64), fake_mesh(x=8), axis=0)
    assert names(plan) == ["Exchange", "Local", "Exchange"]
    assert plan.steps[0] == Exchange(("x",), 0, 1)


def test_one_axis_alone_takes_the_four_step_plan_or_the_ring() -> None:
    mesh = fake_mesh(x=8)
    assert exchange_plan("fft", (2**16,), mesh).bound.program.collectives == {"all-to-all": 3}
    assert exchange_plan("fft", (2**16,), mesh, order="scrambled").bound.program.collectives == {"all-to-all": 2}
    assert names(tpufft.plan("fft", (2**16,), np.complex64, mesh, method="ring")) == ["Ring"]


def test_what_does_not_divide_is_padded_on_the_way() -> None:
    plan = exchange_plan("fftn", (16, 30), fake_mesh(x=8))
    assert names(plan) == ["Local", "Pad", "Exchange", "Local", "Exchange", "Trim"]


def test_a_new_spec_costs_one_exchange() -> None:
    plan = exchange_plan("fftn", (64, 64), fake_mesh(x=8), spec=P("x"), out_spec=P(None, "x"))
    assert names(plan) == ["Local", "Exchange", "Local"]


def assignments() -> st.SearchStrategy[tuple[Any, Spec]]:
    @st.composite
    def draw_one(draw: st.DrawFn) -> tuple[Any, Spec]:
        sizes = draw(st.sampled_from([{"x": 8}, {"a": 2, "b": 4}, {"a": 2, "b": 2, "c": 2}]))
        rank = draw(st.integers(1, 3))
        entries: list[tuple[str, ...]] = [()] * rank
        for name in draw(st.permutations(sorted(sizes))):
            place = draw(st.integers(-1, rank - 1))
            if place >= 0:
                entries[place] += (name,)
        return sizes, tuple(entries)

    return draw_one()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(assignments(), st.data())
def test_any_assignment_of_mesh_axes_has_a_plan(assignment: tuple[dict[str, int], Spec], data: st.DataObject) -> None:
    sizes, spec = assignment
    shape = tuple(8 * data.draw(st.integers(1, 4)) for _ in spec)
    axes = data.draw(st.lists(st.sampled_from(range(len(shape))), min_size=1, unique=True))
    plan = tpufft.plan("fftn", shape, np.complex64, fake_mesh(**sizes), spec=spec, axes=axes)
    for candidate in plan.candidates:
        assert candidate.layouts[-1].spec == candidate.in_layout.simplified().spec
        assert candidate.layouts[-1].shape == shape
        assert candidate.layouts[-1].is_even
        assert set(candidate.bound.program.collectives) <= {"all-to-all", "collective-permute"}
        if not set(axes) & set(plan.in_layout.chunked_axes):
            assert not plan.wire_bytes


@settings(max_examples=8, deadline=None, derandomize=True)
@given(assignments(), st.data())
def test_plans_for_any_assignment_are_right(assignment: tuple[dict[str, int], Spec], data: st.DataObject) -> None:
    sizes, spec = assignment
    shape = tuple(8 * data.draw(st.integers(1, 3)) for _ in spec)
    axes = data.draw(st.lists(st.sampled_from(range(len(shape))), min_size=1, unique=True))
    plan = tpufft.plan("fftn", shape, np.complex128, mesh_of(**sizes), spec=spec, axes=axes)
    x = random(shape)
    np.testing.assert_allclose(plan(placed(plan, x)), np.fft.fftn(x, axes=axes), atol=1e-9)


@pytest.mark.parametrize(
    ("transform", "shape", "spec", "options"),
    [
        ("fftn", (8, 24), P("x"), {}),
        ("ifftn", (8, 8, 2), P("a", "b"), {"norm": "ortho"}),
        ("fft", (120,), P("x"), {}),
        ("fft", (16, 3), P("x"), {"axis": 0, "n": 24}),
    ],
)
def test_all_candidates_are_sorted_distinct_and_agree(
    transform: str, shape: tuple[int, ...], spec: P, options: dict[str, Any]
) -> None:
    mesh = mesh_of(a=4, b=2) if "a" in spec else mesh_of(x=8)
    plan = tpufft.plan(transform, shape, np.complex128, mesh, spec=spec, **options)
    found = plan.candidates
    assert found[0] == plan
    assert len(found) > 1
    assert len(set(found)) == len(found)
    seconds = [candidate.predict() for candidate in found]
    assert seconds == sorted(seconds)
    assert len({(candidate.in_layout, candidate.out_layout) for candidate in found}) == 1
    x = random(shape)
    wanted = getattr(np.fft, transform)(x, **options)
    for candidate in found:
        np.testing.assert_allclose(candidate(placed(candidate, x)), wanted, atol=1e-10, err_msg=str(candidate))


# -- the choice --------------------------------------------------------------------------------------------------


def choose(machine: Machine, shape: tuple[int, ...] = (64, 64), **options: Any) -> Program:
    problem = transform_problem("fftn", shape, np.dtype(np.complex64), sizes=None, axes=None, **options)
    layout = Layout.of(shape, np.complex64, fake_mesh(x=8), P("x"))
    return candidates(problem, layout, layout.spec, machine)[0].program


def test_the_choice_follows_the_model() -> None:
    machine = machine_of(fake_mesh(x=8), "v5p")
    slow_exchange = dataclasses.replace(machine, exchange_share=1e6)
    assert any(isinstance(step, Ring) for step in choose(slow_exchange).steps)
    slow_products = dataclasses.replace(machine, matmul_flops=1.0)
    kernels = [step.kernel for step in choose(slow_products).steps if isinstance(step, Local)]
    assert set(kernels) == {"xla"}
    assert not any(isinstance(step, Ring) for step in choose(slow_products).steps)
    slow_fft = dataclasses.replace(machine, fft_flops=1.0)
    kernels = [step.kernel for step in choose(slow_fft, method="exchange").steps if isinstance(step, Local)]
    assert set(kernels) == {"matmul"}


def test_a_ring_wins_on_matrix_units_where_the_axis_is_short() -> None:
    machine = machine_of(fake_mesh(x=8), "v6e")
    layout = Layout.of((2**4, 2**12), np.complex64, fake_mesh(x=2), P("x"))
    problem = transform_problem("fftn", layout.shape, layout.dtype, sizes=None, axes=(0,))
    found = candidates(problem, layout, layout.spec, machine)
    assert any(isinstance(step, Ring) and step.both_ways for step in found[0].program.steps)


def test_methods_and_kernels_are_obeyed() -> None:
    mesh = fake_mesh(x=8)
    for method, kernel in itertools.product(("ring", "exchange"), ("xla", "matmul")):
        plan = tpufft.plan("fftn", (64, 64), np.complex64, mesh, method=method, kernel=kernel)
        for candidate in plan.candidates:
            assert ("Ring" in names(candidate)) == (method == "ring")
            assert ("Exchange" in names(candidate)) == (method == "exchange")
            assert {step.kernel for step in candidate.steps if isinstance(step, Local)} <= {kernel}


def test_the_best_of_the_candidates_is_the_least_predicted() -> None:
    machine = machine_of(fake_mesh(x=8), "v4")
    problem = transform_problem("fftn", (64, 64, 64), np.dtype(np.complex64), sizes=None, axes=None)
    layout = Layout.of(problem.shape, problem.dtype, fake_mesh(a=2, b=4), P("a", "b"))
    found = candidates(problem, layout, layout.spec, machine)
    assert [item.seconds for item in found] == [program_seconds(item.program, machine) for item in found]
    assert found[0].seconds == min(item.seconds for item in found)


def test_planning_is_quick() -> None:
    with counted_calls() as calls:
        plan = tpufft.plan("fftn", (16, 24, 16, 8, 8), np.complex64, fake_mesh(a=2, b=2, c=2), spec=P("a", "b", "c"))
    assert calls[0] < 10_000_000
    assert len(plan.candidates) > 1


# -- the four-step plan --------------------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 16), st.integers(1, 40), st.booleans(), st.sampled_from(["natural", "scrambled"]))
def test_four_steps_end_where_they_began(parts: int, n: int, inverse: bool, order: str) -> None:
    layout = Layout.of((3, parts * n), np.complex64, fake_mesh(x=parts), P(None, "x"))
    operation = DFT(1, parts * n, inverse, 1.0)
    build = StepBuilder(layout)
    four_step(build, operation, Tools(lambda *_: "xla"), order)
    program = build.program
    assert program.out_layout == layout
    assert program.collectives["all-to-all"] == (3 if order == "natural" else 2)
    assert set(program.collectives) <= {"all-to-all", "collective-permute"}
    assert ("collective-permute" in program.collectives) <= bool(n % parts and order == "natural")
    assert program.transposed().out_layout == layout


@pytest.mark.parametrize("n", [1, 3, 12])
def test_four_steps_where_the_columns_do_not_divide(n: int) -> None:
    mesh = mesh_of(x=8)
    options: dict[str, Any] = {"method": "exchange", "mesh": mesh, "spec": P("x")}

    @jax.jit
    def function(x: jax.Array) -> tuple[jax.Array, ...]:
        stored = tpufft.fft(x, order="scrambled", **options)
        return tpufft.fft(x, **options), stored, tpufft.ifft(stored, order="scrambled", **options)

    x = random((8 * n,), n)
    natural, stored, back = function(jax.device_put(x, jax.NamedSharding(mesh, P("x"))))
    np.testing.assert_allclose(natural, np.fft.fft(x), atol=1e-11)
    bins = np.arange(8 * n).reshape(n, 8).T.ravel()
    np.testing.assert_allclose(stored, np.fft.fft(x)[bins], atol=1e-11)
    np.testing.assert_allclose(back, x, atol=1e-13)


@pytest.mark.parametrize("order", ["natural", "transposed"])
@pytest.mark.parametrize("name", ["fftn", "rfftn", "irfftn", "dctn"])
def test_chunks_that_must_be_cut_anew_before_they_are_split_further(name: str, order: str) -> None:
    """No exchange fits chunks as they are: an axis of one point, or of few, is split already and must take more."""
    mesh = mesh_of(x=2, y=2, z=2)
    for shape, spec in (((11, 2), P("z", ("y", "x"))), ((3, 3), P(("x", "y"), "z")), ((5, 9), P(None, ("z", "x")))):
        plan = tpufft.plan(
            name, shape, np.complex128 if name in ("fftn", "irfftn") else np.float64, mesh, spec=spec, order=order
        )
        layouts = plan.in_layout, plan.out_layout
        assert all(layout.is_least for layout in layouts)
        assert set(plan.bound.program.collectives) <= {"all-to-all", "collective-permute"}


def test_a_value_where_chunks_are_cut_anew() -> None:
    x = np.random.default_rng(0).standard_normal((11, 1))
    c = tpufft.chunk(x, mesh_of(x=2, y=2, z=2), P("z", ("y", "x")))
    y = tpufft.rfftn(c, order="transposed", method="exchange")
    np.testing.assert_allclose(np.asarray(y), oracle.transform("rfftn", x), atol=1e-12)
