"""The kernel `xla`: the compiler's own FFT of one device's chunk."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp

from tpufft.steps import Precision


def transform(x: jax.Array, axes: tuple[int, ...], *, inverse: bool, scale: float, precision: Precision) -> jax.Array:
    """The DFT of `x` along `axes` times `scale`; `precision` has no meaning here and must be None."""
    refuse_precision(precision)
    if not inverse:
        return scaled(jnp.fft.fftn(x, axes=axes), scale)
    # The compiler divides by the length anyway, so that the usual inverse costs no pass of its own.
    length = math.prod(x.shape[axis] for axis in axes)
    return scaled(jnp.fft.ifftn(x, axes=axes), scale * length)


def r2c(x: jax.Array, axes: tuple[int, ...], scale: float) -> jax.Array:
    """``rfftn`` times `scale`."""
    return scaled(jnp.fft.rfftn(x, axes=axes), scale)


def c2r(z: jax.Array, axes: tuple[int, ...], n: int, scale: float) -> jax.Array:
    """``irfftn`` to `n` points along the last of `axes`, without its division, times `scale`."""
    sizes = (*(z.shape[axis] for axis in axes[:-1]), n)
    return scaled(jnp.fft.irfftn(z, s=sizes, axes=axes), scale * math.prod(sizes))


def refuse_precision(precision: Precision, kernel: str = "xla") -> None:
    """The compiler's FFT has one precision, as other libraries have."""
    if precision is not None:
        raise ValueError(f"precision={precision!r}: kernel={kernel!r} has no choice of precision; use kernel='matmul'")


def scaled(x: jax.Array, factor: float) -> jax.Array:
    """`x` times a factor; no pass over memory where it is one."""
    return x if math.isclose(factor, 1.0, rel_tol=1e-15) else x * jnp.asarray(factor, jnp.finfo(x.dtype).dtype)
