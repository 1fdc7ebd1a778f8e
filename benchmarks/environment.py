"""The environment variables of worker processes: the same for every contestant."""

from __future__ import annotations

import os

#: What the C library does with freed memory: its own default, or keeping it for the next allocation.
ENVIRONMENTS: dict[str, dict[str, str]] = {
    "default": {},
    "kept-memory": {
        "MALLOC_ARENA_MAX": "1",
        "MALLOC_MMAP_THRESHOLD_": str(1 << 32),
        "MALLOC_TRIM_THRESHOLD_": str(1 << 40),
        "MALLOC_TOP_PAD_": str(1 << 26),
    },
}


def cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def variables(devices: int, environment: str) -> dict[str, str]:
    """What is set for a worker with that many forced devices, beside what it inherits."""
    if environment not in ENVIRONMENTS:
        raise ValueError(f"environment {environment!r} is unknown; use one of {', '.join(ENVIRONMENTS)}")
    return {
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}",
        # fewer threads than twice the devices and collective programs can deadlock on forced host devices
        "NPROC": str(max(2 * devices, cores())),
        # the model's own choices, whatever this user has tuned
        "TPUFFT_WISDOM": os.path.join(os.sep, "nonexistent", "tpufft-wisdom.json"),
        **ENVIRONMENTS[environment],
    }


def inherited() -> dict[str, str]:
    """The environment of the calling process without what would change how memory is allocated or how JAX computes."""
    drop = ("MALLOC_", "GLIBC_TUNABLES", "JAX_", "XLA_", "TPUFFT_", "OMP_", "MKL_", "KMP_")
    return {name: value for name, value in os.environ.items() if not name.startswith(drop)}
