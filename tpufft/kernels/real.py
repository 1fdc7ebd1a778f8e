"""The transforms of real data along axes that one device holds whole, and their exact transposes.

Transposed means what JAX means by it: the sum of ``Re(ct * r2c(x))`` is the sum of ``x * c2r(ct)``, no conjugation.
By products, a long even length is a complex transform of half as many points, the even samples and the odd ones as its
planes; a short one is a product with the cosines and sines of the entries that are kept.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType, ModuleType

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tpufft.kernels import halves, host, matmul, phases, xla
from tpufft.steps import Precision, dft_flops

LIBRARIES: Mapping[str, ModuleType] = MappingProxyType({"xla": xla, "host": host})
"""The kernels that have transforms of real data of their own."""


def r2c(
    x: jax.Array,
    axes: tuple[int, ...],
    *,
    inverse: bool,
    scale: float,
    weighted: bool,
    kernel: str,
    precision: Precision,
) -> jax.Array:
    """The DFT of real `x` along `axes` times `scale`, of whose last axis the first N // 2 + 1 entries are kept.

    Parameters
    ----------
    x : jax.Array
        Real, in single or double precision.
    axes : tuple of int
        Axes from the front; the last of them is the one that is halved.
    inverse : bool
        The sign of every axis's phase: minus for the forward transform. Never a division.
    scale : float
        A factor on all of it.
    weighted : bool
        Whether the entries 0 < k < N / 2 of the halved axis, which stand for two, count twice.
    kernel : str
        A key of ``KERNELS``.
    precision : Precision
        Of the products of ``"matmul"``; ``None`` with libraries.
    """
    *others, axis = axes
    n = x.shape[axis]
    factors = halves.weights(n, weighted) * scale
    if kernel == "matmul":
        y = _planes_r2c(lines(x, axis), inverse, factors, precision).reshape(_resized(x, axis, n // 2 + 1))
        return matmul.transform(y, tuple(others), inverse=inverse, scale=1.0, precision=precision)
    library = LIBRARIES[kernel]
    xla.refuse_precision(precision, kernel)
    y = library.r2c(x, axes, 1.0 if weighted else scale)
    # Of real data, the other sign is the conjugate.
    y = y.conj() if inverse else y
    return _times(y, axis, factors) if weighted else y


def c2r(
    z: jax.Array,
    axes: tuple[int, ...],
    n: int,
    *,
    inverse: bool,
    scale: float,
    weighted: bool,
    kernel: str,
    precision: Precision,
) -> jax.Array:
    r"""The transpose of :func:`r2c`: of the last of `axes`, `n` real points from n // 2 + 1 entries.

    .. math:: x_j = \text{scale} \cdot \mathrm{Re} \sum_{k=0}^{\lfloor n/2 \rfloor} w_k z_k e^{\mp 2\pi i jk/n}

    after the DFT along the other axes. The weights are 1, or with `weighted` those of :func:`r2c`: then the inverse
    sign is n times ``irfft``. Imaginary parts at k = 0 and k = n / 2 have no effect.

    Parameters
    ----------
    z : jax.Array
        Complex.
    axes : tuple of int
        Axes from the front; the last of them is the one that is halved.
    n : int
        Length of that axis in the result.
    inverse, scale, weighted, kernel, precision
        As :func:`r2c` takes them.
    """
    *others, axis = axes
    if kernel == "matmul":
        z = matmul.transform(z, tuple(others), inverse=inverse, scale=1.0, precision=precision)
        factors = halves.weights(n, weighted) * scale
        return _planes_c2r(lines(z, axis), n, inverse, factors, precision).reshape(_resized(z, axis, n))
    library = LIBRARIES[kernel]
    xla.refuse_precision(precision, kernel)
    z = z if inverse else z.conj()
    # Libraries have the weights in their inverse.
    return library.c2r(z if weighted else _times(z, axis, 1.0 / halves.weights(n, True)), axes, n, scale)


def flops(kernel: str, length: int, batch: int) -> float:
    """FLOPs of `batch` real transforms of one axis, either way, at full precision."""
    half = length // 2
    if kernel != "matmul":
        return dft_flops(length, batch) / 2
    if _is_dense(length):
        return 4.0 * (half + 1) * length * batch
    if length % 2:
        return matmul.flops(length, batch)
    return matmul.flops(half, batch) + 14.0 * (half + 1) * batch


def _planes_r2c(x: jax.Array, inverse: bool, factors: np.ndarray, precision: Precision) -> jax.Array:
    """The half spectrum along axis 1 of (before, n, behind), times `factors`, by products."""
    n, half = x.shape[1], x.shape[1] // 2
    if _is_dense(n):
        matrix = _matrix(n, inverse) * factors[:, None]
        block = jnp.asarray(np.stack([np.real(matrix), np.imag(matrix)]), x.dtype)
        planes = jnp.einsum("rkn,pnm->rpkm", block, x, precision=matmul.dot_precision(precision))
        return lax.complex(planes[0], planes[1])
    if n % 2:
        whole = lax.complex(x, jnp.zeros_like(x))
        y = matmul.transform(whole, (1,), inverse=inverse, scale=1.0, precision=precision)
        return _times(y[:, : half + 1], 1, factors)
    pairs = lax.complex(x[:, ::2], x[:, 1::2])
    y = matmul.transform(pairs, (1,), inverse=inverse, scale=1.0, precision=precision)
    y = jnp.concatenate([y, y[:, :1]], axis=1)
    own, mirrored = _untangling(n, inverse, factors)
    return y * halves.along(own, 1, y) + jnp.flip(y, 1).conj() * halves.along(mirrored, 1, y)


def _planes_c2r(z: jax.Array, n: int, inverse: bool, factors: np.ndarray, precision: Precision) -> jax.Array:
    """The transpose of :func:`_planes_r2c`."""
    before, entries, behind = z.shape
    half = n // 2
    if _is_dense(n):
        matrix = _matrix(n, inverse) * factors[:, None]
        block = jnp.asarray(np.stack([np.real(matrix), -np.imag(matrix)]), z.real.dtype)
        planes = jnp.stack([z.real, z.imag])
        return jnp.einsum("rkn,rpkm->pnm", block, planes, precision=matmul.dot_precision(precision))
    if n % 2:
        whole = jnp.pad(_times(z, 1, factors), ((0, 0), (0, n - entries), (0, 0)))
        return matmul.transform(whole, (1,), inverse=inverse, scale=1.0, precision=precision).real
    own, mirrored = _untangling(n, inverse, factors)
    # Both ends of the half spectrum came from one entry, which takes back the real parts of both.
    own, mirrored = own[:half], mirrored[:0:-1].conj()
    own[0] *= 2
    mirrored[0] *= 2
    inside = np.ones(half + 1)
    inside[[0, half]] = 0.0
    z = lax.complex(z.real, z.imag * halves.along(inside, 1, z.real))
    pairs = z[:, :half] * halves.along(own, 1, z) + jnp.flip(z[:, 1:], 1).conj() * halves.along(mirrored, 1, z)
    y = matmul.transform(pairs, (1,), inverse=inverse, scale=1.0, precision=precision)
    return jnp.stack([y.real, -y.imag], axis=2).reshape(before, n, behind)


def _matrix(n: int, inverse: bool) -> np.ndarray:
    """The rows of the DFT matrix that a half spectrum keeps."""
    matrix = phases.outer_roots(n, np.arange(n // 2 + 1), np.arange(n), inverse)
    if n % 2 == 0:
        matrix[-1].imag = 0.0  # sin(pi) in float64 is not
    return matrix


def _untangling(n: int, inverse: bool, factors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What takes the transform Z of pairs to X[k] = own[k] Z[k] + mirrored[k] conj(Z[n/2 - k])."""
    turns = 1j * phases.roots(n, np.arange(n // 2 + 1), inverse)
    return factors * (1 - turns) / 2, factors * (1 + turns) / 2


def lines(x: jax.Array, axis: int) -> jax.Array:
    """`x` as (before, n, behind), the axis in the middle."""
    return x.reshape(math.prod(x.shape[:axis]), x.shape[axis], math.prod(x.shape[axis + 1 :]))


def _resized(x: jax.Array, axis: int, length: int) -> tuple[int, ...]:
    return (*x.shape[:axis], length, *x.shape[axis + 1 :])


def _times(x: jax.Array, axis: int, factors: np.ndarray) -> jax.Array:
    """A factor for each entry along an axis; no pass over memory where all are one."""
    return x if np.allclose(factors, 1.0, rtol=1e-15, atol=0.0) else x * halves.along(factors, axis, x.real)


def _is_dense(n: int) -> bool:
    return len(matmul.radices(n)) == 1
