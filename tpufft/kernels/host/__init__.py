"""The kernel `host`: FFTs of CPU devices by an installed library with FFTW's interface, called through JAX's FFI.

MKL (``pip install mkl``) or FFTW; any axes in place with their strides. Needs numba, which compiles the handler.
"""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import logging
from collections.abc import Sequence

import jax
import jax.numpy as jnp

from tpufft.kernels import xla
from tpufft.kernels.host.library import UnavailableError, library
from tpufft.kernels.host.primitive import TARGET, call, exported_calls, kept
from tpufft.kernels.host.problem import MAX_AXES, Kind
from tpufft.steps import Precision


@functools.cache
def missing() -> str | None:
    """Why the kernel cannot be had in this process, or None."""
    if importlib.util.find_spec("numba") is None:
        return "numba is not installed"
    try:
        library()
    except UnavailableError as error:
        return str(error)
    return None


def is_usable() -> bool:
    """Whether it can be had; where not, the reason is told, once per process."""
    reason = missing()
    if reason is not None:
        tell(reason, [name for name in ("numba", "mkl") if _is_installed(name)])
    return reason is None


@functools.lru_cache(maxsize=8)
def _log(level: int, text: str) -> None:
    logging.getLogger("tpufft").log(level, text)


def tell(reason: str, there: Sequence[str]) -> None:
    """Log, once, why the kernel is not used: a warning where parts of the extra are `there`, else information."""
    level = logging.WARNING if there else logging.INFO
    _log(level, f"transforms on CPUs take the compiler's FFT, not kernel 'host': {reason} (pip install 'tpufft[host]')")


def _is_installed(name: str) -> bool:
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def register() -> None:
    """Make the library's calls known to JAX in this process; for one that only loads exported programs with them.

    Where a program is traced, this happens by itself.

    Raises
    ------
    UnavailableError
        There is no library.
    """
    # Imports numba, which takes a second.
    from tpufft.kernels.host import handler

    handler.register()


def transform(x: jax.Array, axes: tuple[int, ...], *, inverse: bool, scale: float, precision: Precision) -> jax.Array:
    """The DFT of `x` along `axes` times `scale`; `precision` has no meaning here and must be None."""
    xla.refuse_precision(precision, "host")
    longer = tuple(axis for axis in axes if x.shape[axis] > 1)
    if x.size == 0 or not longer:
        return xla.scaled(x, scale)
    groups = [longer[start : start + MAX_AXES] for start in range(0, len(longer), MAX_AXES)]
    for number, group in enumerate(groups):
        last = number == len(groups) - 1
        x = call(x, Kind.C2C, group, 0, inverse, scale if last else 1.0)
    return x


def r2c(x: jax.Array, axes: tuple[int, ...], scale: float) -> jax.Array:
    """``rfftn`` times `scale`."""
    *others, axis = axes
    n = x.shape[axis]
    if x.size == 0:
        return jnp.fft.rfftn(x, axes=axes)
    y = call(x, Kind.R2C, (axis,), n, False, 1.0 if others else scale)
    return transform(y, tuple(others), inverse=False, scale=scale, precision=None) if others else y


def c2r(z: jax.Array, axes: tuple[int, ...], n: int, scale: float) -> jax.Array:
    """``irfftn`` to `n` points along the last of `axes`, without its division, times `scale`."""
    *others, axis = axes
    if z.size == 0 or n == 0:
        shape = (*z.shape[:axis], n, *z.shape[axis + 1 :])
        return jnp.zeros(shape, z.real.dtype)
    if others:
        z = transform(z, tuple(others), inverse=True, scale=1.0, precision=None)
    return call(z, Kind.C2R, (axis,), n, True, scale)


__all__ = [
    "TARGET",
    "UnavailableError",
    "c2r",
    "call",
    "exported_calls",
    "is_usable",
    "kept",
    "library",
    "missing",
    "r2c",
    "register",
    "tell",
    "transform",
]
