"""Plain loops must not kill the process: each test runs one in a process of its own, and kills it when it hangs."""

from __future__ import annotations

import os
import sys
import textwrap
from pathlib import Path

import jaxlib.version
import pytest
from helpers import communicated

import tpufft

LIMIT = 60.0
"""Seconds within which a loop must have ended; JAX itself aborts a hung process after 40."""

RISKY = jaxlib.version.__version_info__[:2] < (0, 12) and len(os.sched_getaffinity(0)) < 16

PRELUDE = """
    import threading, time, warnings
    import numpy as np
    caught = []
    warnings.showwarning = lambda message, category, *where: caught.append((category.__name__, str(message)))
    warnings.simplefilter("always")
    import tpufft
"""

FORCED = """
    import jax, jax.numpy as jnp
    from jax.sharding import NamedSharding, PartitionSpec as P
    assert jax.device_count() == 8
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("x",))
    rows = NamedSharding(mesh, P("x"))
    x = jax.device_put(np.random.default_rng(0).standard_normal((16, 16)).astype(np.complex64), rows)
"""

VIRTUAL = (
    """
    tpufft.virtual_devices(8)
"""
    + FORCED
)

REPORT = """
    print("warnings", len(caught), *{name for name, _ in caught})
    print("done")
"""


def run(*parts: str, forced: bool) -> list[str]:
    """The lines a program prints, in an environment that says nothing of threads."""
    unsaid = ("NPROC", "XLA_FLAGS", "JAX_NUM_CPU_DEVICES")
    environment = {key: value for key, value in os.environ.items() if key not in unsaid and not key.startswith("XLA_")}
    environment |= {"PYTHONPATH": str(Path(tpufft.__file__).parent.parent), "JAX_PLATFORMS": "cpu"}
    if forced:
        environment["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
    program = "\n".join(textwrap.dedent(part) for part in (PRELUDE, *parts))
    code, out, error = communicated([sys.executable, "-c", program], environment, LIMIT)
    assert code == 0, error[-2000:]
    return out.splitlines()


EXPECTED_WARNING = "warnings 1 RuntimeWarning" if RISKY else "warnings 0"

DEPENDENT = """
    started = time.perf_counter()
    y = x
    for _ in range(1000):
        y = tpufft.fftn(y)
        y = tpufft.ifftn(y)
    error = float(abs(np.asarray(y) - np.asarray(x)).max())
    assert error < 1e-2, error
    print("seconds", time.perf_counter() - started)
"""

INDEPENDENT = """
    started = time.perf_counter()
    results = [tpufft.fftn(x) for _ in range(2000)]
    wanted = np.fft.fftn(np.asarray(x))
    assert all(np.allclose(y, wanted, atol=1e-4) for y in results[::100])
    print("seconds", time.perf_counter() - started)
"""

ONE_AXIS = """
    line = jax.device_put(np.ones(512, np.complex64), NamedSharding(mesh, P("x")))
    for turn in range(300):
        ring = tpufft.fft(line, method="ring")
        four = tpufft.fftshift(tpufft.fft(line, order="natural"))
    assert np.allclose(np.fft.ifftshift(four), ring, atol=1e-3)
"""


@pytest.mark.parametrize("loop", [DEPENDENT, INDEPENDENT], ids=["dependent", "independent"])
def test_two_thousand_eager_calls_and_one_warning(loop: str) -> None:
    lines = run(FORCED, loop, REPORT, forced=True)
    assert lines[-1] == "done"
    assert lines[-2] == EXPECTED_WARNING
    seconds = float(lines[0].removeprefix("seconds "))
    assert seconds < LIMIT / 2


def test_the_warning_says_what_to_do() -> None:
    lines = run(FORCED, "for _ in range(3): tpufft.fftn(x)", "print(*(text for _, text in caught))", forced=True)
    if RISKY:
        assert "8 CPU devices share too few threads" in lines[0]
        assert "tpufft.virtual_devices(n)" in lines[0]
        assert "NPROC=16" in lines[0]
    else:
        assert lines[0] == ""


def test_rings_four_steps_and_shifts_in_a_loop() -> None:
    assert run(FORCED, ONE_AXIS, REPORT, forced=True)[-2:] == [EXPECTED_WARNING, "done"]


def test_plans_and_derivatives_in_a_loop() -> None:
    loop = """
        plan = tpufft.plan("fftn", (16, 16), np.complex64, mesh)
        for _ in range(200):
            y = plan(x)
            y, pull = jax.vjp(tpufft.fftn, x)
            z = pull(y)
            w = jax.vmap(tpufft.fft)(x)
        assert np.allclose(y, np.fft.fftn(np.asarray(x)), atol=1e-4)
        assert np.allclose(w, np.fft.fft(np.asarray(x)), atol=1e-4)
    """
    assert run(FORCED, loop, REPORT, forced=True)[-1] == "done"


def test_threads_that_call_at_once() -> None:
    loop = """
        wanted = np.fft.fftn(np.asarray(x))
        wrong = []

        def work(number):
            for turn in range(100):
                y = tpufft.fftn(x) if number % 2 else tpufft.fftn(x, method="ring")
                if not np.allclose(y, wanted, atol=1e-4):
                    wrong.append((number, turn))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert not wrong
    """
    assert run(FORCED, loop, REPORT, forced=True)[-2:] == [EXPECTED_WARNING, "done"]


def test_virtual_devices_need_no_warning() -> None:
    assert run(VIRTUAL, DEPENDENT, REPORT, forced=False)[-2:] == ["warnings 0", "done"]


def test_virtual_devices_protect_loops_over_the_users_own_functions() -> None:
    loop = """
        function = jax.jit(jax.shard_map(lambda c: jax.lax.psum(c, "x") / 8 + c * 0, mesh=mesh,
                                         in_specs=P("x"), out_specs=P("x")))
        y = x
        for _ in range(300):
            y = function(y)
        results = [function(x) for _ in range(300)]
        jax.block_until_ready((y, results))
        own = jax.jit(lambda x: tpufft.fftn(x, mesh, spec=P("x")) / 16)
        for _ in range(300):
            y = own(y)
        assert np.isfinite(np.asarray(y)).all()
    """
    assert run(VIRTUAL, loop, REPORT, forced=False)[-2:] == ["warnings 0", "done"]


def test_one_device_needs_no_warning() -> None:
    loop = """
        import jax
        assert jax.device_count() == 1
        for _ in range(200):
            y = tpufft.fftn(np.ones((16, 16), np.complex64))
        assert abs(complex(y[0, 0]) - 256) < 1e-3
    """
    assert run(loop, REPORT, forced=False)[-2:] == ["warnings 0", "done"]


def test_an_interrupt_ends_a_loop() -> None:
    # A user presses Ctrl-C until it works: Python drops an interrupt within a callback of its collector.
    loop = """
        import os, signal
        tpufft.fftn(x)  # compiled: an interrupt within the compiler may be lost there
        heard = threading.Event()
        def press():
            while not heard.wait(1.5):
                os.kill(os.getpid(), signal.SIGINT)
        try:
            threading.Thread(target=press, daemon=True).start()
            while True:
                tpufft.fftn(x)
        except KeyboardInterrupt:
            heard.set()
        y = tpufft.fftn(x)
        assert np.allclose(y, np.fft.fftn(np.asarray(x)), atol=1e-4)
    """
    assert run(FORCED, loop, REPORT, forced=True)[-1] == "done"
