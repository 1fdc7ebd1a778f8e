"""Exchanges in the memory that devices of one process share: values, meetings, what they leave out, and errors."""

from __future__ import annotations

import itertools
import os
import sys
import textwrap
import threading
from typing import Any

import jax
import numpy as np
import pytest
from helpers import AUTO, check, communicated, mesh_of, random
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import tpufft
from tpufft.collectives import exchange, shared
from tpufft.kernels import host
from tpufft.planning import machine as machines
from tpufft.planning.hlo import executed_collectives
from tpufft.planning.machine import machine_of

pytestmark = pytest.mark.skipif(not shared.is_there(), reason="exchanges in shared memory need numba")


def exchanged(mesh: Any, spec: P, names: tuple[str, ...], source: int, target: int) -> tuple[Any, P]:
    """The program of one shared exchange, and how its result is chunked."""
    after = [*spec, *(None,) * (4 - len(spec))]
    after[source], after[target] = None, names if len(names) > 1 else names[0]
    others = tuple(name for name in mesh.axis_names if name not in names)

    def run(chunk: jax.Array) -> jax.Array:
        return shared.shared_exchange(chunk, names, source, target, others)

    return jax.jit(jax.shard_map(run, mesh=mesh, in_specs=spec, out_specs=P(*after))), P(*after)


@pytest.mark.each_value
@pytest.mark.parametrize("dtype", ["bool", "int8", "float32", "complex64", "complex128"])
@pytest.mark.parametrize(("source", "target"), list(itertools.permutations(range(3), 2)))
@pytest.mark.parametrize(("mesh", "names"), [("x8", ("x",)), ("x4y2", ("x",)), ("x4y2", ("y",)), ("x4y2", ("x", "y"))])
def test_every_axis_to_every_other(mesh: str, names: tuple[str, ...], source: int, target: int, dtype: str) -> None:
    """The array is the same before and after, whatever its elements; other mesh axes may split a third one."""
    where = mesh_of(mesh)
    others = tuple(name for name in where.axis_names if name not in names)
    before: list[Any] = [None] * 4
    before[source] = names
    before[3] = others or None
    x = random((8, 16, 24, 8), dtype)
    placed = jax.device_put(x, NamedSharding(where, P(*before)))
    with shared.alone():
        program, after = exchanged(where, P(*before), names, source, target)
        found = program(placed)
    np.testing.assert_array_equal(found, x)
    assert found.sharding.is_equivalent_to(NamedSharding(where, after), 4)
    text = program.lower(placed).compile().as_text()
    assert executed_collectives(text) == {"shared-exchange": 1}


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Every exchange in shared memory, however small."""
    monkeypatch.setattr(machines.Machine, "shared_seconds", lambda machine, chunk_bytes: 0.0)
    planning = sys.modules["tpufft.planning.request"]
    planning.forget()
    yield
    planning.forget()


CASES = [
    ("fftn", (16, 8, 24), "x8", P("x"), {}),
    ("ifftn", (16, 8, 24), "x4y2", P("x", "y"), {"norm": "ortho"}),
    ("fft", (512,), "x8", P("x"), {}),
    ("fft", (512,), "x4y2", P(("x", "y")), {"order": "scrambled"}),
    ("fft", (131,), "x8", P("x"), {"method": "exchange"}),
    ("fftn", (13, 7, 5), "x4y2", P("x", "y"), {}),
    ("fft2", (3, 16, 16), "x4y2", P(None, "x", "y"), {}),
]


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize(("name", "shape", "mesh", "spec", "options"), CASES)
def test_transforms(name: str, shape: tuple[int, ...], mesh: str, spec: P, options: dict[str, Any]) -> None:
    """By the steps that large arrays take; two exchanges of Bluestein's line do not depend on each other."""
    where = mesh_of(mesh)
    x = random(shape, np.complex128)
    plan = tpufft.plan(name, shape, x.dtype, where, spec=spec, **options)
    assert "in shared memory" in str(plan)
    assert "all-to-all" not in plan.hlo_collectives()
    found = np.asarray(plan(x))
    right = getattr(np.fft, name)(x, norm=options.get("norm"))
    if options.get("order") == "scrambled":
        right = right.reshape(-1, 8).T.reshape(-1)
    np.testing.assert_allclose(found, right, atol=1e-10 * np.abs(right).max())
    for _ in range(5):
        np.testing.assert_array_equal(np.asarray(plan(x)), found)


@pytest.mark.usefixtures("always")
def test_real_transforms_and_derivatives() -> None:
    mesh = mesh_of("x8")
    x = random((16, 24), np.float64)
    np.testing.assert_allclose(np.asarray(tpufft.rfft2(x, mesh)), np.fft.rfft2(x), atol=1e-10)
    weights = random((16, 24), np.complex128)
    placed = jax.device_put(x + 0j, NamedSharding(mesh, P("x")))
    _, back = jax.vjp(lambda z: tpufft.fft2(z, mesh), placed)
    (found,) = back(jax.device_put(weights, placed.sharding))
    np.testing.assert_allclose(np.asarray(found), np.fft.fft2(weights), atol=1e-10)


@pytest.mark.usefixtures("always")
def test_a_program_around_takes_the_compilers() -> None:
    """Beside others it could wait for threads that they have."""
    mesh = mesh_of("x8")
    placed = jax.device_put(random((16, 8), np.complex128), NamedSharding(mesh, P("x")))
    program = jax.jit(lambda x: tpufft.fft2(x, mesh, spec=P("x"))).lower(placed).compile()
    assert "all-to-all" in program.as_text()
    check(program(placed), np.fft.fft2(np.asarray(placed)), np.complex128, mesh, P("x"))


@pytest.mark.usefixtures("always")
def test_threads_and_plain_loops() -> None:
    mesh = mesh_of("x8")
    x = random((16, 24), np.complex128)
    right, wrong = np.fft.fft2(x), []

    def work() -> None:
        placed = jax.device_put(x, NamedSharding(mesh, P("x")))
        for _ in range(50):
            if not np.allclose(np.asarray(tpufft.fft2(placed, mesh)), right):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_plan_takes_it_where_it_is_faster() -> None:
    mesh = mesh_of("x8")
    large = tpufft.plan("fftn", (256, 256, 256), np.complex64, mesh)
    assert str(large).count("in shared memory") == 2
    assert (
        sum(
            step.collectives(layout).get("all-to-all", 0)
            for step, layout in zip(large.steps, large.layouts, strict=False)
        )
        == 0
    )
    assert "in shared memory" not in str(tpufft.plan("fftn", (16, 16), np.complex64, mesh))
    fake = jax.sharding.AbstractMesh((8,), ("x",), axis_types=(AUTO,))
    assert machine_of(fake).shared_bandwidth == 0.0
    assert "in shared memory" not in str(tpufft.plan("fftn", (256, 256, 256), np.complex64, fake))


@pytest.mark.skipif(host.missing() is not None, reason="needs a kernel that works in place")
@pytest.mark.parametrize(("donated", "chunks"), [(False, 3.0), (True, 2.0)])
def test_it_holds_a_chunk_less_than_an_all_to_all(donated: bool, chunks: float) -> None:
    mesh = mesh_of("x8")
    plan = tpufft.plan("fftn", (64, 128, 128), np.complex64, mesh, kernel="host", overwrite_x=donated)
    assert "in shared memory" in str(plan)
    assert plan.report()["compiled"]["peak_chunks"] == pytest.approx(chunks, rel=1e-3)
    assert plan.peak_bytes == pytest.approx(plan.report()["compiled"]["peak_bytes"], rel=1e-3)


@pytest.mark.parametrize("donated", [False, True])
@pytest.mark.parametrize("kernel", ["xla", *(["host"] if host.missing() is None else [])])
@pytest.mark.parametrize(
    ("name", "shape", "mesh", "spec", "options"),
    [
        ("fftn", (64, 128, 128), "x8", P("x"), {"order": "transposed"}),
        ("ifftn", (64, 128, 128), "x4y2", P("x", "y"), {}),
        ("fft", (1 << 20,), "x8", P("x"), {}),
        ("fft", (1 << 20,), "x8", P("x"), {"order": "scrambled"}),
        ("fft2", (1024, 1024), "x8", P(None, "x"), {}),
        ("fft", (64, 16384), "x8", P("x"), {"axis": 1}),
    ],
)
def test_the_peak_is_predicted(
    name: str, shape: tuple[int, ...], mesh: str, spec: P, options: dict[str, Any], kernel: str, donated: bool
) -> None:
    plan = tpufft.plan(
        name, shape, np.complex64, mesh_of(mesh), spec=spec, kernel=kernel, overwrite_x=donated, **options
    )
    assert plan.peak_bytes == pytest.approx(plan.report()["compiled"]["peak_bytes"], rel=0.1)


def test_a_device_that_does_not_come_ends_the_call() -> None:
    """The others are told after the time limit, here of two seconds, and later calls go on."""
    script = """
        import sys, tpufft
        tpufft.virtual_devices(4)
        from tpufft.native import meeting
        meeting.LIMIT_SECONDS = 2
        import jax, numpy as np
        from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
        from tpufft.collectives import shared
        mesh = jax.make_mesh((4,), ("x",), axis_types=(AxisType.Auto,))
        x = jax.device_put(np.ones((8, 8)), NamedSharding(mesh, P("x")))

        def program(count):
            def run(chunk):
                return jax.lax.cond(jax.lax.axis_index("x") < count, exchanged, lambda c: c.reshape(8, 2), chunk)
            def exchanged(chunk):
                return shared.shared_exchange(chunk, ("x",), 0, 1, ())
            return jax.jit(jax.shard_map(run, mesh=mesh, in_specs=P("x"), out_specs=P(None, "x")))

        with shared.alone():
            try:
                jax.block_until_ready(program(3)(x))
            except jax.errors.JaxRuntimeError as error:
                print("waited for a device" in str(error))
            print(np.array_equal(program(4)(x), x))
    """
    environment = os.environ | {"NUMBA_DISABLE_CACHING": "1", "NUMBA_CACHE_DIR": os.path.join(os.sep, "nonexistent")}
    code, out, complaint = communicated([sys.executable, "-c", textwrap.dedent(script)], environment, 120)
    assert code == 0, complaint
    assert out.split() == ["True", "True"]


def test_the_copy_is_the_all_to_all() -> None:
    """Both ways of one exchange, on a chunk with axes of length 1 and 3 among them."""
    mesh = mesh_of("x8")
    x = jax.device_put(random((8, 1, 3, 16), np.float32), NamedSharding(mesh, P("x")))
    specs = {"in_specs": P("x"), "out_specs": P(None, None, None, "x")}
    theirs = jax.jit(jax.shard_map(lambda c: exchange(c, ("x",), 0, 3, "cpu"), mesh=mesh, **specs))(x)
    with shared.alone():
        ours = jax.jit(jax.shard_map(lambda c: shared.shared_exchange(c, ("x",), 0, 3, ()), mesh=mesh, **specs))(x)
    np.testing.assert_array_equal(ours, theirs)
