"""The kernel `host`: its plans, threads, errors, and programs that outlive the process."""

from __future__ import annotations

import importlib.util
import logging
import os
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import check_value, communicated, random

import tpufft
from tpufft.kernels import host

pytestmark = pytest.mark.skipif(host.missing() is not None, reason=f"no kernel 'host': {host.missing()}")


def transform(x: Any, axes: tuple[int, ...] = (0,), inverse: bool = False, scale: float = 1.0) -> jax.Array:
    return host.transform(x, axes, inverse=inverse, scale=scale, precision=None)


def run(script: str) -> tuple[str, str]:
    """What a program prints and complains of, in a process of its own."""
    code, out, complaint = communicated([sys.executable, "-c", textwrap.dedent(script)], os.environ, 120)
    assert code == 0, complaint
    return out, complaint


def test_more_problems_than_plans_are_kept() -> None:
    """Old plans make room, and one that made room is made again."""
    x = random((700,), np.complex64)
    sizes = range(2, 700)

    @jax.jit
    def spectra(x: jax.Array) -> list[jax.Array]:
        return [transform(x[:size]) for size in sizes]

    for _ in range(2):
        for size, found in zip(sizes, spectra(x), strict=True):
            check_value(found, np.fft.fft(x[:size].astype(complex)), times=3)


def test_threads_share_the_plans() -> None:
    shapes = [(8, 30), (30, 8), (5, 48), (16, 16), (240,), (2, 120), (6, 8, 5), (4, 3, 20)]
    wrong: list[str] = []

    def work(number: int) -> None:
        function = jax.jit(lambda x: transform(x, tuple(range(x.ndim)), inverse=True, scale=0.5))
        for turn in range(40):
            shape = shapes[(number + turn) % len(shapes)]
            x = random(shape, np.complex64, turn)
            try:
                check_value(function(x), np.fft.ifftn(x.astype(complex)) * (x.size / 2))
            except AssertionError as error:
                wrong.append(f"thread {number}, turn {turn}, {shape}: {error}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_whole_machine_and_single_threads_agree() -> None:
    """Long enough that a program of one device uses all cores; a scale among it."""
    x = random((64, 64, 40), np.complex64, 3)
    found = jax.jit(lambda x: transform(x, (0, 1, 2), inverse=True, scale=1 / x.size))(x)
    check_value(found, np.fft.ifftn(x.astype(complex)))


def test_what_the_library_refuses_is_an_error_of_xla(monkeypatch: pytest.MonkeyPatch) -> None:
    from tpufft.kernels.host import primitive
    from tpufft.kernels.host.problem import Word

    real = primitive.problem

    class Wrong:
        def __init__(self, given: Any) -> None:
            self.given = given

        def words(self, threads: int) -> np.ndarray:
            row = self.given.words(threads)
            row[Word.AXIS] = -5
            return row

    monkeypatch.setattr(primitive, "problem", lambda *args, **options: Wrong(real(*args, **options)))
    with pytest.raises(jax.errors.JaxRuntimeError, match="the FFT library refused to plan"):
        jax.block_until_ready(jax.jit(transform)(random((16,), np.complex64)))


def test_the_most_batch_axes_that_cannot_merge() -> None:
    """Every second axis is transformed, so that no two batch axes merge."""
    shape = (2,) * 21
    axes = tuple(range(1, 21, 2))
    x = random(shape, np.complex64)
    check_value(jax.jit(lambda x: transform(x, axes))(x), np.fft.fftn(x.astype(complex), axes=axes))


def test_vmap_and_derivatives_of_a_batch() -> None:
    x = random((3, 8, 6))

    def energy(x: jax.Array) -> jax.Array:
        return jnp.sum(jnp.abs(transform(x, (0,))) ** 2)

    found = jax.vmap(jax.grad(energy))(x)
    # Of sum |F x|^2 JAX's gradient is the conjugate of 2 F^H F x = 2 N x.
    check_value(found, 2 * 8 * x.conj())


def test_an_export_has_the_compilers_transform_unless_told() -> None:
    x = random((16, 8), np.complex64)
    function = jax.jit(lambda x: transform(x, (0, 1), scale=0.5))
    exported = jax.export.export(function)(x)
    assert f"@{host.TARGET}" not in exported.mlir_module()
    check_value(exported.call(x), np.fft.fftn(x.astype(complex)) * 0.5)


def test_an_exported_call_runs_in_another_process(tmp_path: Path) -> None:
    x = random((16, 8), np.complex64)
    known = [jax.export.DisabledSafetyCheck.custom_call(host.TARGET)]
    with host.exported_calls():
        exported = jax.export.export(jax.jit(lambda x: transform(x, (0, 1), scale=0.5)), disabled_checks=known)(x)
    assert f"@{host.TARGET}" in exported.mlir_module()
    (tmp_path / "program").write_bytes(exported.serialize())
    np.save(tmp_path / "x.npy", x)
    script = f"""
        import jax, numpy as np, tpufft
        tpufft.kernels.host.register()
        with open({str(tmp_path / "program")!r}, "rb") as file:
            program = jax.export.deserialize(file.read())
        x = np.load({str(tmp_path / "x.npy")!r})
        right = np.fft.fftn(x.astype(complex)) * 0.5
        print(np.linalg.norm(program.call(x) - right) / np.linalg.norm(right) < 1e-6)
    """
    out, _ = run(script)
    assert out.split() == ["True"]


def test_a_cached_program_runs_in_another_process(tmp_path: Path) -> None:
    script = f"""
        import tpufft
        tpufft.virtual_devices(2)
        import jax, numpy as np
        jax.config.update("jax_compilation_cache_dir", {str(tmp_path)!r})
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
        import jax.monitoring
        hits = []
        jax.monitoring.register_event_listener(lambda event, **_: hits.append(event) if "cache_hits" in event else None)
        x = np.random.default_rng(0).standard_normal((64, 64)).astype(np.complex64)
        y = tpufft.fft2(x, jax.make_mesh((2,), ("x",)), kernel="host")
        print(np.allclose(y, np.fft.fft2(x), atol=1e-2), len(hits) > 0)
    """
    (first, _), (second, _) = run(script), run(script)
    assert first.split() == ["True", "False"]
    assert second.split() == ["True", "True"]


def test_auto_takes_it_for_what_is_worth_a_call() -> None:
    mesh = jax.make_mesh((2,), ("x",), devices=jax.devices()[:2])
    assert "kernel host" in str(tpufft.plan("fftn", (256, 256, 64), np.complex64, mesh))
    assert "kernel host" not in str(tpufft.plan("fftn", (8, 8), np.complex64, mesh))


@pytest.mark.parametrize("there", [(), ("numba",)], ids=["nothing", "a part"])
def test_the_reason_is_told_once(there: tuple[str, ...], caplog: pytest.LogCaptureFixture) -> None:
    """A warning where a part of the extra is there; where nothing is, for those who ask."""
    reason = f"no library for the test of {there}"
    with caplog.at_level(logging.INFO, logger="tpufft"):
        for _ in range(2):
            host.tell(reason, there)
    (record,) = caplog.records
    assert reason in record.getMessage()
    assert "tpufft[host]" in record.getMessage()
    assert record.levelno == (logging.WARNING if there else logging.INFO)


def test_without_a_library_the_compiler_serves() -> None:
    script = """
        import sys
        sys.modules["numba"] = None
        import tpufft
        tpufft.virtual_devices(2)
        import jax, numpy as np
        mesh = jax.make_mesh((2,), ("x",))
        for _ in range(2):
            print("kernel xla" in str(tpufft.plan("fftn", (256, 256, 64), np.complex64, mesh)))
        try:
            tpufft.plan("fftn", (256, 256), np.complex64, mesh, kernel="host")
        except ImportError as error:
            print("numba is not installed" in str(error))
    """
    out, complaint = run(script)
    assert out.split() == ["True"] * 3
    assert complaint.count("numba is not installed") == 1


@pytest.mark.skipif(importlib.util.find_spec("pyfftw") is None, reason="no FFTW: pyfftw, which brings it, is missing")
def test_fftw_serves_where_there_is_no_mkl() -> None:
    script = """
        import sys
        import tpufft
        sys.modules["tpufft.kernels.host.library"]._mkl = lambda: iter(())
        import jax, numpy as np
        jax.config.update("jax_enable_x64", True)
        host = tpufft.kernels.host
        print(host.library().name)
        for double in (False, True):
            x = np.random.default_rng(0).standard_normal((5, 400, 60)).astype("f8" if double else "f4")
            near = lambda y, z: np.linalg.norm(y - z) < (1e-14 if double else 1e-5) * np.linalg.norm(z)
            for axes in ((0,), (1,), (2,), (0, 1, 2)):
                y = jax.jit(lambda x: host.transform(x, axes, inverse=True, scale=0.5, precision=None))(x + 1j * x)
                print(near(y, np.fft.ifftn((x + 1j * x).astype(complex), axes=axes, norm="forward") / 2))
                y = jax.jit(lambda x: host.r2c(x, axes, 0.5))(x)
                print(near(y, np.fft.rfftn(x.astype(float), axes=axes) / 2))
                y = jax.jit(lambda y: host.c2r(y, axes, x.shape[axes[-1]], 0.5))(y)
                print(near(y, x * 0.25 * np.prod([x.shape[axis] for axis in axes])))
    """
    out, _ = run(script)
    assert out.split() == ["FFTW"] + 24 * ["True"]


def test_a_donated_argument_is_transformed_where_it_lies() -> None:
    mesh = jax.make_mesh((8,), ("x",))
    x = random((64, 4096), np.complex64)
    options = {"axis": 1, "kernel": "host"}
    plan = tpufft.plan("fft", x.shape, x.dtype, mesh, overwrite_x=True, **options)
    assert plan.report()["compiled"]["peak_chunks"] == 1.0
    placed = jax.device_put(x, plan.in_layout.sharding)
    before = [shard.data.unsafe_buffer_pointer() for shard in placed.addressable_shards]
    found = plan(placed)
    assert [shard.data.unsafe_buffer_pointer() for shard in found.addressable_shards] == before
    check_value(found, np.fft.fft(x.astype(complex)))


def test_an_argument_that_is_kept_costs_no_copy() -> None:
    mesh = jax.make_mesh((8,), ("x",))
    plan = tpufft.plan("fft", (64, 4096), np.complex64, mesh, axis=1, kernel="host")
    text = plan.compile().as_text() or ""
    assert plan.report()["compiled"]["peak_chunks"] == 2.0
    assert " copy(" not in text
    x = jax.device_put(random((64, 4096), np.complex64), plan.in_layout.sharding)
    kept = np.asarray(x).copy()
    check_value(plan(x), np.fft.fft(kept.astype(complex)))
    np.testing.assert_array_equal(x, kept)


def test_what_a_program_needs_later_is_not_overwritten() -> None:
    x = random((64, 64), np.complex64)
    y, z = jax.jit(lambda x: (transform(x + 1, (0,)), x + 1))(x)
    check_value(y, np.fft.fft(x.astype(complex) + 1, axis=0))
    check_value(z, (x + 1).astype(complex))


def test_precision_is_refused() -> None:
    with pytest.raises(ValueError, match="has no choice of precision"):
        tpufft.plan("fft", (64,), np.complex64, kernel="host", precision="high")
