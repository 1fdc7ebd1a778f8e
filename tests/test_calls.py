"""How calls behave: meshes and chunkings that are not named, what comes back, donation, caches, threads, 32 bits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import oracle
import pytest
from helpers import (
    AUTO,
    AXIS_TYPES,
    CASES,
    EXPLICIT,
    TYPE_IDS,
    Case,
    check,
    check_chunks,
    check_value,
    counted_work,
    mesh_of,
    put,
    random,
)
from jax.sharding import Mesh, SingleDeviceSharding
from jax.sharding import PartitionSpec as P

import tpufft


def all_devices() -> Mesh:
    return Mesh(np.array(jax.devices()), ("x",))


# -- what comes back of arrays that are on no mesh -------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x,
        lambda x: x.tolist(),
        jnp.asarray,
        lambda x: jax.device_put(x, jax.devices()[3]),
        np.asfortranarray,
        lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    ],
    ids=["numpy", "list", "jax", "another device", "fortran", "strided"],
)
def test_an_array_on_no_mesh_comes_back_chunked_over_all_devices(make):
    x = random((16, 6))
    got = tpufft.fft2(make(x))
    check(got, oracle.transform("fft2", x), x.dtype, all_devices(), P("x"))


@pytest.mark.parametrize("make", [np.asarray, jnp.asarray], ids=["numpy", "jax"])
@pytest.mark.parametrize(
    ("shape", "options"), [((7, 5), {}), ((1,), {}), ((16,), {"n": 15}), ((3, 8), {}), ((9,), {"n": 16})]
)
def test_an_array_on_no_mesh_never_fails_for_its_size(shape, options, make):
    """Whole on every device where rows do not divide, before or after."""
    x = random(shape)
    got = tpufft.fft(make(x), **options)
    check(got, oracle.transform("fft", x, **options), x.dtype, all_devices(), P())
    got = tpufft.fft(make(x), mesh_of("x4y2", EXPLICIT), **options)
    check(got, oracle.transform("fft", x, **options), x.dtype, mesh_of("x4y2", EXPLICIT), P())


def test_an_array_on_no_mesh_takes_mesh_and_spec():
    x = random((8, 6))
    for mesh, spec in [("x8", None), ("x4y2", None), ("x4y2", P("x", "y")), ("x4y2", P(None, "y")), ("x1", P("x"))]:
        got = tpufft.fftn(x, mesh_of(mesh), spec=spec)
        filled = P(mesh_of(mesh).axis_names) if spec is None else spec
        check(got, oracle.transform("fftn", x), x.dtype, mesh_of(mesh), filled)


def test_numpy_input_is_not_changed():
    x = random((16,), "complex128")
    kept = x.copy()
    tpufft.fft(x, overwrite_x=True)
    np.testing.assert_array_equal(x, kept)


# -- which mesh ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis_type", AXIS_TYPES, ids=TYPE_IDS)
def test_the_mesh_of_the_array_goes_before_the_one_in_context(axis_type):
    case = CASES["rows"]
    x = random(case.shape)
    sharded = put(x, case, axis_type)
    with jax.set_mesh(mesh_of("x8", axis_type)):
        check(tpufft.fft2(sharded), oracle.transform("fft2", x), x.dtype, mesh_of("x8", axis_type), case.spec)
        check(tpufft.fft2(x), oracle.transform("fft2", x), x.dtype, mesh_of("x8", axis_type), P("x"))


@pytest.mark.parametrize("axis_type", AXIS_TYPES, ids=TYPE_IDS)
def test_the_mesh_in_context_serves_arrays_on_no_mesh_eagerly_and_under_jit(axis_type):
    mesh = mesh_of("x4y2", axis_type)
    x = random((8, 6))
    want = oracle.transform("fft2", x)
    rows = P(("x", "y"))
    with jax.set_mesh(mesh):
        check(tpufft.fft2(x), want, x.dtype, mesh, rows)
        check(tpufft.fft2(x, spec=P("x", "y")), want, x.dtype, mesh, P("x", "y"))
        check(jax.jit(lambda v: tpufft.fft2(v, spec=P("y")))(x), want, x.dtype, mesh, P("y"))
        assert tpufft.plan("fft2", x.shape, x.dtype).in_layout.mesh == mesh
        if axis_type is AUTO:
            check(jax.jit(tpufft.fft2)(x), want, x.dtype, mesh, rows)
    assert tpufft.plan("fft2", x.shape, x.dtype).in_layout.mesh == all_devices()


def test_under_jit_a_mesh_without_a_spec_means_rows_and_the_plan_says_so():
    x = random((8, 16))
    mesh = mesh_of("x8")
    got = jax.jit(lambda v: tpufft.fft2(v, mesh))(put(x, Case("x8", P(None, "x"), x.shape)))
    check(got, oracle.transform("fft2", x), x.dtype, mesh, P("x"))
    assert "chunked P('x', None)" in str(tpufft.plan("fft2", x.shape, x.dtype, mesh))


def test_under_jit_on_an_explicit_mesh_the_type_shows_everything():
    case = CASES["whole 2-D"]
    x = random(case.shape)
    sharded = put(x, case, EXPLICIT)
    got = jax.jit(tpufft.fft2)(sharded)
    check(got, oracle.transform("fft2", x), x.dtype, mesh_of("x4y2", EXPLICIT), case.spec)
    square = random((8, 8))
    sharded = put(square, Case("x4y2", P("x"), (8, 8)), EXPLICIT)
    moved = jax.jit(lambda v: tpufft.fft(v, axis=0, out_spec=P(None, "x")))(sharded)
    check(moved, oracle.along(square, 0), x.dtype, mesh_of("x4y2", EXPLICIT), P(None, "x"))


@pytest.mark.parametrize("make", [np.asarray, jnp.asarray], ids=["numpy", "jax"])
def test_explicit_meshes_take_arrays_from_elsewhere_under_jit(make):
    mesh = mesh_of("x8", EXPLICIT)
    x = random((8, 8))
    want = oracle.transform("fft2", x)
    check(jax.jit(lambda v: tpufft.fft2(v, mesh))(make(x)), want, x.dtype, mesh, P("x"))
    check(jax.jit(lambda v: tpufft.fft2(v, mesh, spec=P(None, "x")))(make(x)), want, x.dtype, mesh, P(None, "x"))
    check(jax.jit(tpufft.plan("fft2", x.shape, x.dtype, mesh))(make(x)), want, x.dtype, mesh, P("x"))


def test_equal_meshes_are_one_mesh():
    case = CASES["rows"]
    same = Mesh(np.array(jax.devices()), ("x",))
    got = tpufft.fft2(put(random(case.shape), case), same)
    check_chunks(got, mesh_of("x8"), case.spec)
    explicit = put(random(case.shape), case, EXPLICIT)
    check_chunks(tpufft.fft2(explicit, same), mesh_of("x8", EXPLICIT), case.spec)


def test_one_device_needs_no_mesh_anywhere():
    x = random((5, 6))
    one = jax.device_put(x, SingleDeviceSharding(jax.devices()[0]))
    check_value(tpufft.fft2(one, mesh_of("x1")), oracle.transform("fft2", x))
    check_value(jax.jit(lambda v: tpufft.fft2(v, mesh_of("x1")))(one), oracle.transform("fft2", x))


# -- donation --------------------------------------------------------------------------------------------------------


def buffers(x: jax.Array) -> list[int]:
    return [shard.data.unsafe_buffer_pointer() for shard in x.addressable_shards]


@pytest.mark.parametrize(
    ("case", "options"), [("line", {}), ("rows", {"axes": (1,)}), ("pencil", {}), ("mesh of one", {})]
)
def test_overwrite_x_takes_the_buffer_and_deletes_the_array(case, options):
    case = CASES[case]
    x = random(case.shape)
    sharded = (put(x, case) * 1).block_until_ready()  # in buffers of XLA's own, not in numpy's
    before = buffers(sharded)
    got = tpufft.fftn(sharded, overwrite_x=True, **options)
    assert sharded.is_deleted()
    assert buffers(got) == before
    check_value(got, oracle.transform("fftn", x, **options))


def test_overwrite_x_leaves_what_cannot_be_aliased():
    case = CASES["rows"]
    longer = put(random(case.shape), case)
    tpufft.fft(longer, n=12, overwrite_x=True)
    real = put(random(case.shape, "float64"), case)
    tpufft.fft2(real, overwrite_x=True)
    for x in (longer, real):
        assert not x.is_deleted()
        assert np.isfinite(np.asarray(x)).all()


def test_overwrite_x_is_ignored_under_tracing():
    case = CASES["rows"]
    x = put(random(case.shape), case)
    mesh = mesh_of("x8")
    jax.jit(lambda v: tpufft.fft2(v, mesh, spec=P("x"), overwrite_x=True))(x)
    jax.grad(lambda v: jnp.sum(jnp.abs(tpufft.fft2(v, overwrite_x=True))))(x)
    jax.jvp(lambda v: tpufft.fft2(v, overwrite_x=True), (x,), (x,))
    assert not x.is_deleted()
    plan = tpufft.plan("fft2", x.shape, x.dtype, mesh, overwrite_x=True)
    jax.jit(plan)(x)
    assert not x.is_deleted()
    plan(x)
    assert x.is_deleted()


# -- caches ----------------------------------------------------------------------------------------------------------


def again_costs_nothing(call, *args) -> None:
    call(*args)
    with counted_work() as work:
        call(*args)
        call(*(jax.tree.map(lambda a: a + 0, arg) if isinstance(arg, np.ndarray) else arg for arg in args))
    assert not work, dict(work)


@pytest.mark.parametrize("axis_type", AXIS_TYPES, ids=TYPE_IDS)
def test_the_second_call_traces_and_compiles_nothing(axis_type):
    case = CASES["slab"]
    x = put(random(case.shape, "float32"), case, axis_type)
    mesh = mesh_of("x8", axis_type)
    options = {"axes": [0, 2], "s": [8, 4], "norm": "ortho"}
    again_costs_nothing(lambda v: tpufft.fftn(v, **options), x)
    again_costs_nothing(lambda v: tpufft.fft(v, mesh, axis=0, precision="highest"), x)
    again_costs_nothing(lambda v: tpufft.ifftn(v, spec=P(None, None, None), out_spec=P()), x)
    again_costs_nothing(tpufft.fftshift, x)
    again_costs_nothing(tpufft.fft2, random((16, 6)))
    again_costs_nothing(lambda v: tpufft.plan("fft", v.shape, v.dtype, mesh)(v), x)
    with jax.set_mesh(mesh):
        again_costs_nothing(lambda v: jax.vjp(tpufft.fft2, v)[1](tpufft.fft2(v)), x)


def test_equivalent_chunkings_share_one_program():
    """P('x'), P('x', None), a mesh axis of size 1 that splits nothing, and one's own result."""
    x = random((16, 4))
    tpufft.fft2(put(x, Case("x8", P("x"), x.shape)))
    again = [put(x, Case("x8", spec, x.shape)) for spec in (P("x", None), P("x", None), P(("x",), None))]
    with counted_work() as work:
        results = [tpufft.fft2(y) for y in again] + [
            tpufft.fft2(again[0], spec=P("x")),
            tpufft.fft2(again[1], mesh_of("x8")),
        ]
        results.append(tpufft.fft2(results[0]))
    assert not work, dict(work)
    assert {str(y.sharding.spec) for y in results} == {"P('x',)"}
    for y in results[:-1]:
        np.testing.assert_array_equal(y, results[0])


def test_a_plan_and_the_function_share_one_program():
    case = CASES["rows"]
    x = put(random(case.shape), case)
    plan = tpufft.plan("fft2", x.shape, x.dtype, mesh_of("x8"), spec=P("x"))
    want = tpufft.fft2(x)
    with counted_work() as work:
        got = plan(x)
    assert not work, dict(work)
    np.testing.assert_array_equal(got, want)


def test_nothing_runs_before_the_first_call():
    """A plan, its text, its costs and ``eval_shape`` touch no device."""
    with counted_work() as work:
        plan = tpufft.plan("ifftn", (16, 24, 8), "complex64", mesh_of("x4y2"), spec=P("x", "y"))
        assert plan.predict() > 0 < plan.peak_bytes
        assert "exchange" in str(plan)
    assert not {"backend_compile_duration", "jaxpr_to_mlir_module_duration"} & set(work), dict(work)
    shape = jax.eval_shape(lambda v: tpufft.fft(v, mesh_of("x8"), n=24), jax.ShapeDtypeStruct((16,), np.float32))
    assert (shape.shape, shape.dtype) == ((24,), np.complex64)


# -- settings of JAX ---------------------------------------------------------------------------------------------------


def test_jaxs_strict_settings():
    """No mixing of dtypes, no implicit transfers, no leaked tracers, no NaN on the way."""
    case = Case("x8", P("x"), (136,))  # a size of no other test: everything is traced here
    x = random(case.shape, "complex64")
    sharded = put(x, case)
    with (
        jax.numpy_dtype_promotion("strict"),
        jax.transfer_guard("disallow"),
        jax.checking_leaks(),
        jax.debug_nans(True),
    ):
        exchanged = tpufft.fft(sharded, method="exchange", norm="ortho")
        rung = tpufft.fft(sharded, method="ring", kernel="matmul", norm="forward")
        resized = tpufft.ifft(sharded, kernel="matmul", n=48)
        shifted = tpufft.fftshift(sharded)
        pulled = jax.vjp(tpufft.fft, sharded)[1](sharded)[0]
    check_value(exchanged, oracle.along(x, 0, norm="ortho"))
    check_value(rung, oracle.along(x, 0, norm="forward"))
    check_value(resized, oracle.along(x, 0, 48, inverse=True), times=2)
    np.testing.assert_array_equal(shifted, oracle.shift(x))
    check_value(pulled, oracle.along(x, 0))


def test_without_jit():
    case = CASES["rows"]
    x = random(case.shape)
    with jax.disable_jit():
        got = tpufft.fft2(put(x, case))
    check(got, oracle.transform("fft2", x), x.dtype, mesh_of("x8"), case.spec)


# -- threads ----------------------------------------------------------------------------------------------------------


def test_four_threads_at_once():
    """Each plans, compiles and runs its own and a shared transform; all start together."""
    case = CASES["slab"]
    shared = put(random((8, 6, 4)), Case("x8", P("x"), (8, 6, 4)))
    gate = threading.Barrier(4)
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            mine = random(case.shape, seed=number)
            sharded = put(mine, case)
            gate.wait(timeout=60)
            for turn in range(5):
                check_value(
                    tpufft.fftn(shared, norm="ortho"), oracle.transform("fftn", np.asarray(shared), norm="ortho")
                )
                got = tpufft.fftn(sharded, axes=(turn % 2, 2), norm="forward")
                check(
                    got, oracle.transform("fftn", mine, axes=(turn % 2, 2), norm="forward"), mine.dtype, *_place(case)
                )
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert not any(thread.is_alive() for thread in threads)
    assert not failures, failures


def _place(case: Case) -> tuple[Mesh, P]:
    return mesh_of(case.mesh), case.spec


# -- 32 bits ----------------------------------------------------------------------------------------------------------


def test_without_64_bit_types_everything_is_single_and_asking_for_more_is_an_error():
    """In a fresh process, since conftest switches 64-bit types on; any warning there is an error."""
    script = """
        import json, warnings
        warnings.simplefilter("error")
        import tpufft
        tpufft.virtual_devices(4)
        import jax, numpy as np

        mesh = jax.make_mesh((4,), ("x",))
        x = np.abs(9 * np.random.default_rng(0).standard_normal((8, 6)))
        out = {}
        for dtype in ("complex128", "float64", "int64", "uint64", "bool", "float16"):
            y = tpufft.fft2(x.astype(dtype), mesh)
            ok = bool(np.allclose(y, np.fft.fft2(x.astype(dtype)), rtol=1e-4, atol=1e-3))
            out[dtype] = [str(y.dtype), ok, str(y.sharding.spec)]
        out["list"] = str(tpufft.ifft([1, 2, 3, 4]).dtype)
        out["shift"] = str(tpufft.fftshift(x).dtype)
        out["fftfreq"] = str(tpufft.fftfreq(8).dtype)
        plan = tpufft.plan("fft2", (8, 6), np.complex64, mesh)
        out["plan"] = str(plan(x).dtype)
        out["frequencies"] = str(plan.frequencies(0).dtype)
        with jax.set_mesh(mesh):
            out["grad"] = str(jax.grad(lambda v: abs(tpufft.fft2(v)).sum())(x.astype(np.float32)).dtype)
        for dtype in ("complex128", "float64", "int64"):
            try:
                tpufft.plan("fft", (8,), dtype, mesh)
            except ValueError as error:
                out["asked " + dtype] = str(error)
        print(json.dumps(out))
    """
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(Path(tpufft.__file__).parents[1])}
    environment.pop("JAX_ENABLE_X64", None)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    out = json.loads(done.stdout.splitlines()[-1])
    for dtype in ("complex128", "float64", "int64", "uint64", "bool", "float16"):
        assert out[dtype] == ["complex64", True, "P('x',)"], (dtype, out[dtype])
    assert out["list"] == out["plan"] == "complex64"
    assert out["shift"] == out["fftfreq"] == out["frequencies"] == out["grad"] == "float32"
    for dtype in ("complex128", "float64", "int64"):
        assert f"dtype={dtype}" in out["asked " + dtype]
        assert "jax_enable_x64" in out["asked " + dtype]
