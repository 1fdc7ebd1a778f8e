"""The kernel `matmul`: a DFT as products with small DFT matrices, on the real and imaginary planes.

A length with factors is a Cooley-Tukey nest: dense products of radix at most :data:`MAX_RADIX`, twiddle factors in
between. Differs from the textbook in that every product is real: four multiplications of planes, or, at less than full
precision, three by Gauss's identity. A length with a large prime factor is Bluestein's
convolution of a length that has none.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tpufft.kernels import phases, twiddle
from tpufft.steps import Precision

MAX_RADIX = 64
"""Longest dense product in a nest: longer ones lose digits in their sums, and cost more than a stage more."""

MAX_DENSE = 512
"""Longest prime factor that is done by one dense product."""

GAUSS_FROM = 64
"""Radix from which three multiplications beat four: below it, the additions cost as much as the product saved."""

FULL = (None, "highest", "float32", lax.Precision.HIGHEST)
"""Precisions at which four multiplications are made: three lose half a digit to cancellation."""


def transform(x: jax.Array, axes: tuple[int, ...], *, inverse: bool, scale: float, precision: Precision) -> jax.Array:
    """The DFT of complex `x` along `axes` times `scale`, by real products of the given `precision`."""
    planes = jnp.stack([x.real, x.imag])
    for position, axis in enumerate(axes):
        n = x.shape[axis]
        before, behind = math.prod(x.shape[:axis]), math.prod(x.shape[axis + 1 :])
        planes = _nest(planes.reshape(2, before, n, behind), inverse, 1.0 if position else scale, precision)
    planes = planes.reshape(2, *x.shape)
    return lax.complex(planes[0], planes[1])


def flops(length: int, batch: int) -> float:
    """FLOPs at full precision of the products for `batch` transforms of `length`."""
    stages = radices(length)
    if not stages:
        padded = convolution_length(length)
        return 2 * flops(padded, batch) + 20.0 * padded * batch
    return (8.0 * sum(stages) + 6.0 * (len(stages) - 1)) * length * batch


@functools.lru_cache(maxsize=512)
def radices(n: int) -> tuple[int, ...]:
    """The radices of a nest for `n`: fewest stages, then least work. Empty where a prime factor is too long."""
    if n <= MAX_RADIX:
        return (n,)
    best: tuple[int, ...] = (n,) if _is_dense_prime(n) else ()
    for radix in range(MAX_RADIX, 1, -1):
        if n % radix:
            continue
        rest = radices(n // radix)
        if rest and (not best or (len(rest) + 1, radix + sum(rest)) < (len(best), sum(best))):
            best = (radix, *rest)
    return best


def convolution_length(n: int) -> int:
    """The length of the cyclic convolution that does a transform of `n` points by Bluestein's identity."""
    return 1 << (2 * n - 2).bit_length()


def _is_dense_prime(n: int) -> bool:
    return n <= MAX_DENSE and all(n % factor for factor in range(2, math.isqrt(n) + 1))


def _nest(x: jax.Array, inverse: bool, scale: float, precision: Precision) -> jax.Array:
    """The DFT along axis 2 of planes shaped (2, before, n, behind), times `scale`."""
    _, before, n, behind = x.shape
    if n == 1 or x.size == 0:
        return x if scale == 1.0 else x * scale
    stages = radices(n)
    if not stages:
        return _bluestein(x, inverse, scale, precision)
    radix = stages[0]
    matrix = phases.dft_matrix(radix, inverse) * scale
    if radix == n:
        return _product(x, matrix, precision)
    rest = n // radix
    rows = _product(x.reshape(2, before, radix, rest * behind), matrix, precision)
    factors = twiddle.block(radix, rest, n, inverse, _complex_dtype(x.dtype))
    rows = _multiply(rows.reshape(2, before, radix, rest, behind), factors[None, :, :, None])
    rows = _nest(rows.reshape(2, before * radix, rest, behind), inverse, 1.0, precision)
    return rows.reshape(2, before, radix, rest, behind).swapaxes(2, 3).reshape(2, before, n, behind)


def _product(x: jax.Array, matrix: np.ndarray, precision: Precision) -> jax.Array:
    """A symmetric complex matrix times planes (2, before, n, behind), contracting n."""
    real, imag = jnp.asarray(np.real(matrix), x.dtype), jnp.asarray(np.imag(matrix), x.dtype)
    if matrix.shape[0] >= GAUSS_FROM and precision not in FULL:
        both = _contract(real, x[0] + x[1], precision)
        return jnp.stack(
            [both - _contract(real + imag, x[1], precision), both + _contract(imag - real, x[0], precision)]
        )
    block = jnp.stack([jnp.stack([real, -imag]), jnp.stack([imag, real])])  # (out plane, in plane, n, n)
    return jnp.einsum("rqcn,qpnm->rpcm", block, x, precision=dot_precision(precision))


def _contract(matrix: jax.Array, x: jax.Array, precision: Precision) -> jax.Array:
    return jnp.einsum("cn,pnm->pcm", matrix, x, precision=dot_precision(precision))


def _multiply(x: jax.Array, factors: jax.Array) -> jax.Array:
    real, imag = factors.real, factors.imag
    return jnp.stack([x[0] * real - x[1] * imag, x[0] * imag + x[1] * real])


def _bluestein(x: jax.Array, inverse: bool, scale: float, precision: Precision) -> jax.Array:
    n = x.shape[2]
    padded = convolution_length(n)
    index = np.arange(n, dtype=np.int64)
    chirp = phases.roots(2 * n, phases.product_mod(index, index, 2 * n), inverse)
    wrapped = np.zeros(padded, np.complex128)
    wrapped[:n] = chirp.conj()
    wrapped[padded - n + 1 :] = chirp[1:][::-1].conj()
    spectrum = np.fft.fft(wrapped) * (scale / padded)
    dtype = _complex_dtype(x.dtype)
    inner = _multiply(x, jnp.asarray(chirp.astype(dtype))[None, :, None])
    inner = jnp.pad(inner, ((0, 0), (0, 0), (0, padded - n), (0, 0)))
    inner = _nest(inner, False, 1.0, precision)
    inner = _multiply(inner, jnp.asarray(spectrum.astype(dtype))[None, :, None])
    inner = _nest(inner, True, 1.0, precision)[:, :, :n]
    return _multiply(inner, jnp.asarray(chirp.astype(dtype))[None, :, None])


def _complex_dtype(real: np.dtype) -> np.dtype:
    return np.dtype(np.complex128 if real == np.float64 else np.complex64)


def dot_precision(precision: Precision) -> Any:
    """What JAX's products are given; the highest where the caller said nothing."""
    return lax.Precision.HIGHEST if precision is None else precision
