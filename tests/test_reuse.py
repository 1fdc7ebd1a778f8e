"""Second calls trace and compile nothing; programs survive export and the persistent cache."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import tpufft


def mesh_of(**axes: int) -> Mesh:
    return Mesh(np.array(jax.devices()).reshape(tuple(axes.values())), tuple(axes))


def sharded(shape: tuple[int, ...], mesh: Mesh, spec: P) -> jax.Array:
    x = np.random.default_rng(0).standard_normal(shape).astype(np.complex64)
    return jax.device_put(x, NamedSharding(mesh, spec))


@contextmanager
def compilations() -> Iterator[Counter[str]]:
    """What JAX traces, lowers and compiles meanwhile, by event name."""
    seen: Counter[str] = Counter()

    def listen(event: str, duration: float, **details: Any) -> None:
        del duration, details
        if event.startswith("/jax/core/compile"):
            seen[event] += 1

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        yield seen
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)


X8 = mesh_of(x=8)
SLAB = sharded((24, 16), X8, P("x"))
LINE = sharded((1032,), X8, P("x"))
PLAN = tpufft.plan("fftn", (24, 16), np.complex64, X8)

CALLS: dict[str, Callable[[], Any]] = {
    "fftn": lambda: tpufft.fftn(SLAB),
    "fftn with everything said": lambda: tpufft.fftn(SLAB, X8, s=(24, 16), axes=[0, 1], norm="ortho", spec=P("x")),
    "fft": lambda: tpufft.fft(LINE),
    "scrambled and back": lambda: tpufft.ifft(tpufft.fft(LINE, order="scrambled"), order="scrambled"),
    "ring": lambda: tpufft.fft(LINE, method="ring"),
    "overwritten": lambda: tpufft.ifftn(jax.device_put(np.asarray(SLAB), SLAB.sharding), overwrite_x=True),
    "real input": lambda: tpufft.fft2(np.ones((24, 16), np.float32), X8),
    "shift": lambda: tpufft.fftshift(SLAB),
    "frequencies": lambda: tpufft.fftfreq(24, mesh=X8),
    "plan": lambda: PLAN(SLAB),
    "new plan": lambda: tpufft.plan("fftn", (24, 16), np.complex64, X8)(SLAB),
    "inverse plan": lambda: PLAN.inverse(SLAB),
    "jvp": lambda: jax.jvp(tpufft.fftn, (SLAB,), (SLAB,)),
    "vjp": lambda: jax.vjp(tpufft.fftn, SLAB)[1](SLAB),
    "vmap": lambda: jax.vmap(tpufft.fft)(SLAB),
}


@pytest.mark.parametrize("name", sorted(CALLS))
def test_the_second_call_traces_and_compiles_nothing(name: str) -> None:
    first = jax.block_until_ready(CALLS[name]())
    for _ in range(2):
        with compilations() as seen:
            again = jax.block_until_ready(CALLS[name]())
        assert not seen
    for one, other in zip(jax.tree.leaves(first), jax.tree.leaves(again), strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_listener_hears_a_compilation() -> None:
    with compilations() as seen:
        tpufft.fft(sharded((8 * 37,), X8, P("x")))
    assert seen["/jax/core/compile/backend_compile_duration"] >= 1


def test_equivalent_calls_share_one_program() -> None:
    x = sharded((40, 16), X8, P("x"))
    same = jax.device_put(np.asarray(x), NamedSharding(X8, P("x", None)))
    tpufft.fftn(x)
    with compilations() as seen:
        tpufft.fftn(same)
        tpufft.fftn(x, mesh_of(x=8))
        tpufft.fftn(x, spec=P("x", None))
        tpufft.fftn(x, axes=(0, 1))
        tpufft.fftn(x, axes=(-2, -1), s=(40, 16))
    assert not seen["/jax/core/compile/backend_compile_duration"]


def test_a_jitted_caller_compiles_once() -> None:
    function = jax.jit(lambda x: tpufft.fftn(x, X8, spec=P("x")) * 2)
    function(SLAB)
    with compilations() as seen:
        function(SLAB)
    assert not seen


@pytest.mark.parametrize("axis_type", [AxisType.Auto, AxisType.Explicit])
def test_an_exported_function_is_the_function(axis_type: AxisType) -> None:
    mesh = jax.make_mesh((8,), ("x",), axis_types=(axis_type,))
    function = jax.jit(lambda x: tpufft.ifftn(tpufft.fftn(x, mesh, spec=P("x")) * 2, mesh, spec=P("x")))
    x = sharded((24, 16), mesh, P("x"))
    exported = jax.export.export(function)(jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=x.sharding))
    assert exported.nr_devices == 8
    assert "all_gather" not in exported.mlir_module()
    y = jax.jit(exported.call)(x)
    np.testing.assert_allclose(y, 2 * np.asarray(x), atol=1e-5)
    assert y.sharding.is_equivalent_to(x.sharding, 2)


def test_a_persistent_cache_serves_the_next_process(tmp_path: Path) -> None:
    code = """
        import jax, tpufft
        tpufft.virtual_devices(8)
        hits = []
        jax.monitoring.register_event_listener(lambda event, **details: hits.append(event))
        import numpy as np
        x = np.random.default_rng(0).standard_normal((16, 16))
        y = tpufft.fftn(x)
        assert np.allclose(y, np.fft.fftn(x), atol=1e-4)
        missed = hits.count("/jax/compilation_cache/cache_misses")
        print(hits.count("/jax/compilation_cache/cache_hits"), missed)
        """
    environment = {key: value for key, value in os.environ.items() if key not in ("NPROC", "XLA_FLAGS")} | {
        "PYTHONPATH": str(Path(tpufft.__file__).parent.parent),
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path / "cache"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    found = []
    for _ in range(2):
        command = [sys.executable, "-c", textwrap.dedent(code)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        found.append([int(count) for count in done.stdout.split()])
    (_, first_misses), (second_hits, second_misses) = found
    assert first_misses >= 1
    assert second_hits >= first_misses
    assert second_misses == 0
