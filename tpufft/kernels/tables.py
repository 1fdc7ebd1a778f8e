"""The entries of diagonal matrices: on the host in float64, or on the device from small factors.

A table as long as a chunk is never stored in the program, unless it is short: an index is the start of a chunk plus a
multiple of about the root of its length plus a rest, and linear and quadratic phases are products over these parts.
"""

from __future__ import annotations

import math
from functools import singledispatch

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import loggamma, poch

from tpufft.kernels import phases, twiddle
from tpufft.steps import Chirp, Ends, Hankel, Phase, Power, Signs, Table

STORED = 1 << 13
"""Entries up to which a table is stored as it is."""


def values(table: Table, size: int, chunk: int, count: int, position: jax.Array, dtype: np.dtype) -> jax.Array:
    """One device's entries of a table.

    Parameters
    ----------
    table : Table
        The formula.
    size : int
        Elements of the axis; entries behind them mean nothing.
    chunk, count : int
        Elements of a chunk, and chunks.
    position : integer array
        Which chunk this device holds.
    dtype : dtype
        Real; complex tables come in the complex type of its width.
    """
    wanted = np.result_type(dtype, np.complex64) if table.is_complex else np.dtype(dtype)
    if chunk * count <= STORED:
        entries = entry(table, np.arange(chunk * count, dtype=np.int64), size)
        return jnp.asarray(entries.astype(wanted).reshape(count, chunk))[position]
    return _factored(table, size, chunk, count, position, wanted)


@singledispatch
def entry(table: Table, index: np.ndarray, size: int) -> np.ndarray:
    """Entries of a table in float64 or complex128, on the host."""
    raise NotImplementedError(f"no entries are known of {table!r}")


@entry.register
def _(table: Ends, index: np.ndarray, size: int) -> np.ndarray:
    found = np.full(index.shape, table.inner)
    if size == 1:
        return np.full(index.shape, table.first * table.last)
    found[index == 0] = table.first
    found[index == size - 1] = table.last
    return found


@entry.register
def _(table: Signs, index: np.ndarray, size: int) -> np.ndarray:
    return 1.0 - 2.0 * (index % 2)


@entry.register
def _(table: Phase, index: np.ndarray, size: int) -> np.ndarray:
    exponents = phases.product_mod(index, np.asarray(table.rate), table.order) + table.offset
    return phases.roots(table.order, exponents, table.inverse) * table.scale


@entry.register
def _(table: Chirp, index: np.ndarray, size: int) -> np.ndarray:
    return phases.roots(2 * table.order, phases.product_mod(index, index, 2 * table.order), table.inverse) * table.scale


@entry.register
def _(table: Power, index: np.ndarray, size: int) -> np.ndarray:
    return table.scale * np.exp(table.rate * (index - table.centre))


@entry.register
def _(table: Hankel, index: np.ndarray, size: int) -> np.ndarray:
    """U(q + i y) with U(x) = 2^x Gamma((mu+1+x)/2) / Gamma((mu+1-x)/2) [Hamilton 2000], and the phase of the offset."""
    step = math.pi / (table.size * table.dln)
    y = np.minimum(index, table.size // 2) * step
    upper, lower = (table.mu + 1 + table.bias) / 2, (table.mu + 1 - table.bias) / 2
    above, below = loggamma(upper + 1j * y), loggamma(lower + 1j * y)
    magnitude = above.real - below.real + math.log(2) * table.bias
    u = np.exp(magnitude + 1j * (above.imag + below.imag + 2 * y * (math.log(2) - table.offset)))
    if table.size % 2 == 0:
        u[index >= table.size // 2] = u[index >= table.size // 2].real
    start = 1.0 if is_singular(table) else _hankel_start(table)
    u[index == 0] = start
    u = 1 / u.conj() if table.inverse else u
    if is_singular(table):
        u[index == 0] = 0.0
    return u.conj() if table.conjugate else u


def is_singular(table: Hankel) -> bool:
    """Whether zero frequency has no finite factor; it is left out then, as SciPy does."""
    return _hankel_start(table) == 0 if table.inverse else math.isinf(_hankel_start(table))


def _hankel_start(table: Hankel) -> float:
    lower = (table.mu + 1 - table.bias) / 2
    return 2.0**table.bias * float(poch(lower, table.bias))


@singledispatch
def _factored(table: Table, size: int, chunk: int, count: int, position: jax.Array, dtype: np.dtype) -> jax.Array:
    """Entries of any table, stored whole: for those that have no formula that a device could work out."""
    entries = entry(table, np.arange(chunk * count, dtype=np.int64), size)
    return jnp.asarray(entries.astype(dtype).reshape(count, chunk))[position]


@_factored.register
def _(table: Ends, size: int, chunk: int, count: int, position: jax.Array, dtype: np.dtype) -> jax.Array:
    place = jnp.arange(chunk, dtype=np.int32)
    device, start = divmod(size - 1, chunk)
    found = jnp.full(chunk, table.inner, dtype)
    found = jnp.where((place == 0) & (position == 0), table.first, found)
    last = table.last if size > 1 else table.first * table.last
    return jnp.where((place == start) & (position == device), last, found).astype(dtype)


@_factored.register
def _(table: Signs, size: int, chunk: int, count: int, position: jax.Array, dtype: np.dtype) -> jax.Array:
    parity = (jnp.arange(chunk, dtype=np.int32) + position % 2 * (chunk % 2)) % 2
    return 1 - 2 * parity.astype(dtype)


@_factored.register
def _(table: Phase, size: int, chunk: int, count: int, position: jax.Array, dtype: np.dtype) -> jax.Array:
    fine, coarse = _parts(chunk)
    start = entry(Phase(table.order, table.rate, 0, table.inverse), np.arange(count, dtype=np.int64) * chunk, size)
    head = entry(Phase(table.order, table.rate, 0, table.inverse), np.arange(coarse, dtype=np.int64) * fine, size)
    tail = entry(table, np.arange(fine, dtype=np.int64), size)
    heads = jnp.asarray(head.astype(dtype)) * jnp.asarray(start.astype(dtype))[position]
    return _outer(heads, jnp.asarray(tail.astype(dtype)), chunk)


@_factored.register
def _(table: Power, size: int, chunk: int, count: int, position: jax.Array, dtype: np.dtype) -> jax.Array:
    fine, coarse = _parts(chunk)
    # From the middle of each chunk, so that no factor is larger than it must be.
    middle = chunk / 2
    start = table.scale * np.exp(table.rate * (np.arange(count) * chunk + middle - table.centre))
    heads = jnp.asarray(np.exp(table.rate * (np.arange(coarse) * fine - middle)).astype(dtype))
    tail = jnp.asarray(np.exp(table.rate * np.arange(fine)).astype(dtype))
    return _outer(heads * jnp.asarray(start.astype(dtype))[position], tail, chunk)


@_factored.register
def _(table: Chirp, size: int, chunk: int, count: int, position: jax.Array, dtype: np.dtype) -> jax.Array:
    """With j = s + g + f: j^2 = s^2 + 2 s g + g^2 + 2 (s + g) f + f^2, every part reduced on the host."""
    order, inverse = table.order, table.inverse
    fine, coarse = _parts(chunk)
    head, tail = np.arange(coarse, dtype=np.int64) * fine, np.arange(fine, dtype=np.int64)
    start = entry(Chirp(order, inverse), np.arange(count, dtype=np.int64) * chunk, size)
    heads = jnp.asarray(entry(Chirp(order, inverse), head, size).astype(dtype))
    heads = heads * jnp.asarray(start.astype(dtype))[position]
    heads = heads * twiddle.chunk_starts(count, position, chunk, head, order, inverse, dtype)
    tails = jnp.asarray(entry(table, tail, size).astype(dtype))
    tails = tails * twiddle.chunk_starts(count, position, chunk, tail, order, inverse, dtype)
    cross = twiddle.block(head, fine, order, inverse, dtype)
    return (heads[:, None] * cross * tails[None, :]).reshape(-1)[:chunk]


def _parts(chunk: int) -> tuple[int, int]:
    """About the root of a chunk's length, and how often it goes into it."""
    fine = math.isqrt(max(chunk - 1, 0)) + 1
    return fine, -(-chunk // fine)


def _outer(heads: jax.Array, tail: jax.Array, chunk: int) -> jax.Array:
    return (heads[:, None] * tail[None, :]).reshape(-1)[:chunk]
