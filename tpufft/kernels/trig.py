"""The cosine and sine transforms of one axis that a device holds whole, as bare matrices of the axis's own length.

Differs from the textbook in that types 1 are not done at their own length, where a division by sines near zero loses
half of the digits: they are the spectrum of twice as many points.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import MappingProxyType

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tpufft.kernels import matmul, phases, real
from tpufft.steps import Precision, dft_flops


def transform(x: jax.Array, axis: int, *, kind: str, scale: float, kernel: str, precision: Precision) -> jax.Array:
    r"""The matrix `kind` along an axis of `x`, times `scale`.

    With j the column, k the row and N the length:

    ======== ==============================================
    ``"C1"`` :math:`\cos(\pi jk / (N-1))`, of N >= 2
    ``"C2"`` :math:`\cos(\pi (2j+1)k / 2N)`
    ``"C3"`` :math:`\cos(\pi j(2k+1) / 2N)`
    ``"C4"`` :math:`\cos(\pi (2j+1)(2k+1) / 4N)`
    ``"S1"`` :math:`\sin(\pi (j+1)(k+1) / (N+1))`
    ======== ==============================================

    Parameters
    ----------
    x : jax.Array
        Real or complex, in single or double precision; of complex data the planes are transformed.
    axis : int
        An axis from the front.
    kind : str
        A row of the table.
    scale : float
        A factor on all of it.
    kernel : str
        A key of ``KERNELS``.
    precision : Precision
        Of the products of ``"matmul"``; ``None`` with libraries.
    """
    if jnp.iscomplexobj(x):
        planes = jnp.stack([x.real, x.imag])
        planes = transform(planes, axis + 1, kind=kind, scale=scale, kernel=kernel, precision=precision)
        return lax.complex(planes[0], planes[1])
    n = x.shape[axis]
    lines = real.lines(x, axis)
    if kernel == "matmul" and n <= matmul.MAX_RADIX:
        matrix = jnp.asarray(scale * _matrix(kind, n), x.dtype)
        y = jnp.einsum("kn,pnm->pkm", matrix, lines, precision=matmul.dot_precision(precision))
    else:
        y = _FAST[kind](lines, scale, kernel, precision)
    return y.reshape(x.shape)


def flops(kernel: str, length: int, kind: str, batch: int) -> float:
    """FLOPs of `batch` real transforms of one axis, at full precision."""
    if kernel == "matmul" and length <= matmul.MAX_RADIX:
        return 2.0 * length * length * batch
    if kind in ("C1", "S1"):
        return real.flops(kernel, 2 * (length - 1 if kind == "C1" else length + 1), batch)
    if kind == "C4" and length % 2 == 0:
        count = matmul.flops if kernel == "matmul" else dft_flops
        return count(length // 2, batch) + 6.0 * length * batch
    return real.flops(kernel, length, batch) + 3.0 * length * batch


def _c1(x: jax.Array, scale: float, kernel: str, precision: Precision) -> jax.Array:
    """The first half of the even sequence whose half spectrum is `x`."""
    n = x.shape[1]
    return _sequence(lax.complex(x, jnp.zeros_like(x)), 2 * (n - 1), scale, kernel, precision)[:, :n]


def _s1(x: jax.Array, scale: float, kernel: str, precision: Precision) -> jax.Array:
    """Of the odd sequence whose half spectrum is i x between two zeros, what lies between its zeros."""
    n = x.shape[1]
    x = jnp.pad(x, ((0, 0), (1, 1), (0, 0)))
    return _sequence(lax.complex(jnp.zeros_like(x), x), 2 * (n + 1), scale, kernel, precision)[:, 1 : n + 1]


def _c2(x: jax.Array, scale: float, kernel: str, precision: Precision) -> jax.Array:
    """Makhoul's: even samples up, odd samples down, a real transform, a quarter wave."""
    n = x.shape[1]
    x = _joined(x[:, ::2], jnp.flip(x[:, 1::2], 1))
    y = real.r2c(x, (1,), inverse=False, scale=1.0, weighted=False, kernel=kernel, precision=precision)
    y = y * _wave(4 * n, np.arange(n // 2 + 1), scale, y)
    return _joined(y.real, -jnp.flip(y.imag[:, 1 : (n + 1) // 2], 1))


def _c3(x: jax.Array, scale: float, kernel: str, precision: Precision) -> jax.Array:
    """The transpose of :func:`_c2`, part by part from its end."""
    n, half = x.shape[1], x.shape[1] // 2
    mirrored = jnp.pad(jnp.flip(x[:, half + 1 :], 1), ((0, 0), (1, 1 - n % 2), (0, 0)))
    z = lax.complex(x[:, : half + 1], mirrored)
    y = _sequence(z * _wave(4 * n, np.arange(half + 1), scale, z), n, 1.0, kernel, precision)
    return _interleaved(y[:, : n - half], jnp.flip(y[:, n - half :], 1))


def _c4(x: jax.Array, scale: float, kernel: str, precision: Precision) -> jax.Array:
    n = x.shape[1]
    if n % 2:
        return _c4_odd(x, scale, kernel, precision)
    index = np.arange(n // 2)
    z = lax.complex(x[:, ::2], jnp.flip(x[:, 1::2], 1))
    z = z * _wave(8 * n, 4 * index + 1, 1.0, z)
    whole = matmul if kernel == "matmul" else real.LIBRARIES[kernel]
    z = whole.transform(z, (1,), inverse=False, scale=1.0, precision=precision)
    z = z * _wave(2 * n, index, scale, z)
    return _interleaved(z.real, -jnp.flip(z.imag, 1))


def _c4_odd(x: jax.Array, scale: float, kernel: str, precision: Precision) -> jax.Array:
    """Of odd length: a signed permutation, a real transform, eighths of a turn.

    The samples go on beyond both ends as the cosines do, mirrored with alternating signs. In steps of four from the
    middle one they all come by once, and there 2j + 1 = N + 8i: the phase (2j + 1) v / 8N, with v = 2k + 1, is
    v / 8 + iv / N turns.
    """
    n = x.shape[1]
    start, steps = n // 2, []
    for turn, sign in enumerate((1, -1, -1, 1, 1)):
        side = jnp.flip(x, 1) if turn % 2 else x
        steps.append(sign * side[:, start : n // 2 if turn == 4 else n : 4])
        start += 4 * steps[-1].shape[1] - n
    y = _joined(*steps)
    y = real.r2c(y, (1,), inverse=False, scale=1.0, weighted=False, kernel=kernel, precision=precision)
    # The entries v mod N: 1, 3, ..., N - 2, 0, 2, ..., N - 1, the upper half as conjugates of the lower.
    y = jnp.concatenate([y[:, 1::2], jnp.flip(y[:, 2::2], 1).conj(), y[:, ::2], jnp.flip(y[:, 1::2], 1).conj()], axis=1)
    return (y * _wave(8, 2 * np.arange(n) + 1, scale, y)).real


_FAST: Mapping[str, Callable[[jax.Array, float, str, Precision], jax.Array]] = MappingProxyType(
    {"C1": _c1, "C2": _c2, "C3": _c3, "C4": _c4, "S1": _s1}
)


def _matrix(kind: str, n: int) -> np.ndarray:
    """The bare matrix in float64."""
    every = np.arange(n)
    odd = 2 * every + 1
    if kind == "S1":
        return np.imag(phases.outer_roots(2 * (n + 1), every + 1, every + 1, True))
    order, rows, columns = {
        "C1": (2 * (n - 1), every, every),
        "C2": (4 * n, every, odd),
        "C3": (4 * n, odd, every),
        "C4": (8 * n, odd, odd),
    }[kind]
    return np.real(phases.outer_roots(order, rows, columns, False))


def _sequence(z: jax.Array, n: int, scale: float, kernel: str, precision: Precision) -> jax.Array:
    """The real sequence of length `n` that a half spectrum sums to."""
    return real.c2r(z, (1,), n, inverse=False, scale=scale, weighted=False, kernel=kernel, precision=precision)


def _wave(order: int, exponents: np.ndarray, scale: float, like: jax.Array) -> jax.Array:
    """Scaled roots of unity, of the dtype of `like`, along its middle axis."""
    return jnp.asarray(scale * phases.roots(order, exponents, False), like.dtype)[None, :, None]


def _joined(*parts: jax.Array) -> jax.Array:
    """The parts end to end along the middle axis, as a sum: fused, a concatenation branches at every element."""
    n = sum(part.shape[1] for part in parts)
    start, padded = 0, []
    for part in parts:
        padded.append(jnp.pad(part, ((0, 0), (start, n - start - part.shape[1]), (0, 0))))
        start += part.shape[1]
    return functools.reduce(jnp.add, padded)


def _interleaved(even: jax.Array, odd: jax.Array) -> jax.Array:
    """One sequence along the middle axis; of an odd length, `odd` is the shorter by one."""
    n = even.shape[1] + odd.shape[1]
    odd = jnp.pad(odd, ((0, 0), (0, n % 2), (0, 0)))
    return jnp.stack([even, odd], axis=2).reshape(even.shape[0], n + n % 2, even.shape[2])[:, :n]
