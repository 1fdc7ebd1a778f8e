"""Setting up the process before JAX starts: CPU devices that stand in for a mesh of accelerators."""

from __future__ import annotations

import operator
import os

import jax
import jaxlib

_FIRST_SAFE_JAXLIB = (0, 12)


def virtual_devices(n: int) -> None:
    """Make JAX start with `n` CPU devices that cannot deadlock.

    Call it before anything that starts JAX's backend (``jax.devices()``, making an array, running a function); it
    starts nothing itself. It selects the CPU platform, sets ``jax_num_cpu_devices``, and raises the environment
    variable ``NPROC`` to at least ``2 n``: XLA sizes its thread pool by it, and with fewer threads than that, programs
    with collectives that wait for each other can stall for ever, a plain loop over a jitted function included.

    Parameters
    ----------
    n : int
        How many devices, at least 1.

    Raises
    ------
    TypeError
        If `n` is no integer.
    ValueError
        If `n` is below 1.
    RuntimeError
        If JAX's backend has started already, unless it has exactly `n` CPU devices.

    Examples
    --------
    >>> import tpufft
    >>> tpufft.virtual_devices(8)  # doctest: +SKIP
    """
    try:
        count = operator.index(n)
    except TypeError:
        raise TypeError(f"n={n!r} virtual devices: {n!r} is no integer") from None
    if count < 1:
        raise ValueError(f"n={n} virtual devices; n must be at least 1")
    if not request_cpu_devices(count):
        _check_started_with(count)
        return
    jax.config.update("jax_platforms", "cpu")


def request_cpu_devices(n: int) -> bool:
    """Ask for `n` CPU devices, and threads enough, without choosing the platform.

    Where an accelerator is found it still becomes JAX's default; where none is, the CPU comes with `n` devices.

    Returns
    -------
    bool
        False if JAX's backend has started already; nothing is changed then.
    """
    try:
        # A started backend accepts the number it has and refuses all others: of two numbers it refuses one, unchanged.
        jax.config.update("jax_num_cpu_devices", n + 1)
        jax.config.update("jax_num_cpu_devices", n)
    except RuntimeError:
        return False
    os.environ["NPROC"] = str(max(2 * n, _nproc() or 0))
    return True


def deadlock_risk(device_count: int) -> bool:
    """Whether a loop of collective programs on this many CPU devices of one process can stall.

    It can where jaxlib is older than 0.12 and XLA's thread pool has fewer than two threads for every device. The
    pool's size is ``NPROC``, or the number of processors this process may use where that is not set.

    Parameters
    ----------
    device_count : int
        Devices that take part in one program.
    """
    if device_count < 2 or jaxlib.version.__version_info__[:2] >= _FIRST_SAFE_JAXLIB:
        return False
    nproc = _nproc()
    return (_usable_processors() if nproc is None else nproc) < 2 * device_count


def _check_started_with(count: int) -> None:
    devices = jax.local_devices()
    platform = devices[0].platform
    if platform == "cpu" and len(devices) == count:
        return
    raise RuntimeError(
        f"virtual_devices({count}) came too late: JAX's backend has started with {len(devices)} {platform} device(s); "
        f"call it first, before jax.devices() and before the first array or jitted function"
    )


def _nproc() -> int | None:
    """The environment's NPROC as XLA reads it: an integer, or not there."""
    try:
        return int(os.environ["NPROC"])
    except (KeyError, ValueError):
        return None


def _usable_processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
