"""Process set-up: `virtual_devices` needs fresh processes, since JAX's backend starts once."""

import os
import subprocess
import sys
import textwrap

import jaxlib
import pytest

from tpufft.cluster import deadlock_risk, virtual_devices

OLD_JAXLIB = jaxlib.version.__version_info__[:2] < (0, 12)


def run(code, **environment):
    """Run code in a fresh process without this one's device settings; its standard output."""
    cleared = ("NPROC", "XLA_FLAGS", "JAX_NUM_CPU_DEVICES", "JAX_PLATFORMS")
    env = {key: value for key, value in os.environ.items() if key not in cleared}
    env |= {"PYTHONPATH": os.pathsep.join(sys.path)} | environment
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120, env=env, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_gives_devices_and_threads_without_starting_the_backend():
    out = run("""
        import os, jax
        from tpufft.cluster import deadlock_risk, virtual_devices
        assert virtual_devices(5) is None
        jax.config.update("jax_num_cpu_devices", 3)   # refused by a backend that has started
        virtual_devices(5)
        print(os.environ["NPROC"], len(jax.devices()), jax.default_backend(), deadlock_risk(5))
    """)
    assert out == "10 5 cpu False"


def test_last_call_before_the_start_wins_over_flags_and_larger_nproc_is_kept():
    out = run(
        """
        import os, jax
        from tpufft.cluster import virtual_devices
        virtual_devices(4)
        virtual_devices(3)
        print(os.environ["NPROC"], len(jax.devices()))
        """,
        NPROC="64",
        XLA_FLAGS="--xla_force_host_platform_device_count=2",
    )
    assert out == "64 3"


def test_after_the_start_only_the_same_number_is_accepted_and_nothing_changes():
    out = run("""
        import os, jax
        from tpufft.cluster import virtual_devices
        virtual_devices(4)
        jax.devices()
        virtual_devices(4)
        before = os.environ.pop("NPROC")
        for n in (3, 5, 8):
            try:
                virtual_devices(n)
            except RuntimeError as error:
                assert f"virtual_devices({n}) came too late" in str(error), error
                assert "4 cpu device(s)" in str(error), error
            else:
                raise AssertionError(n)
        print("NPROC" in os.environ, len(jax.devices()))
    """)
    assert out == "False 4"


def test_forced_devices_of_a_started_backend_count():
    out = run(
        """
        import jax
        from tpufft.cluster import virtual_devices
        jax.devices()
        virtual_devices(2)
        print(len(jax.devices()))
        """,
        XLA_FLAGS="--xla_force_host_platform_device_count=2",
    )
    assert out == "2"


@pytest.mark.parametrize("n", [0, -3])
def test_needs_at_least_one_device(n):
    with pytest.raises(ValueError, match=f"n={n} virtual devices; n must be at least 1"):
        virtual_devices(n)


def test_needs_an_integer():
    with pytest.raises(TypeError):
        virtual_devices(2.5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("nproc", "processors", "devices", "risk"),
    [
        ("16", 2, 8, False),
        ("15", 64, 8, True),
        (None, 2, 8, True),
        (None, 16, 8, False),
        ("many", 2, 8, True),
        ("many", 16, 8, False),
        ("1", 1, 1, False),
    ],
)
def test_deadlock_risk_is_a_matter_of_threads(monkeypatch, nproc, processors, devices, risk):
    if nproc is None:
        monkeypatch.delenv("NPROC", raising=False)
    else:
        monkeypatch.setenv("NPROC", nproc)
    monkeypatch.setattr("tpufft.cluster._usable_processors", lambda: processors)
    assert deadlock_risk(devices) == (risk and OLD_JAXLIB)


@pytest.mark.slow
def test_a_plain_loop_of_independent_collectives_survives():
    out = run("""
        from tpufft.cluster import virtual_devices
        virtual_devices(8)
        import jax, jax.numpy as jnp
        from jax.sharding import AxisType, PartitionSpec as P
        mesh = jax.make_mesh((8,), ("x",), axis_types=(AxisType.Auto,))
        x = jax.device_put(jnp.ones((64, 64)), jax.NamedSharding(mesh, P("x")))
        def exchange(c):
            return jnp.fft.fft(jax.lax.all_to_all(c @ c.T, "x", 1, 0, tiled=True)).real
        f = jax.jit(jax.shard_map(exchange, mesh=mesh, in_specs=P("x"), out_specs=P("x")))
        results = [f(x) for _ in range(500)]
        jax.block_until_ready(results)
        print("done")
    """)
    assert out == "done"


@pytest.mark.parametrize("n", [2.5, "8", None])
def test_needs_a_whole_number_of_devices(n):
    with pytest.raises(TypeError, match=f"n={n!r} virtual devices: {n!r} is no integer"):
        virtual_devices(n)
