"""A chunked DFT by the ring: one shared block of the DFT matrix and diagonal phases instead of a stored block row.

Device p holds rows i of its block row, N = P n. For the chunk of device q the block is
``W_N^((pn+i)(qn+j)) = W_N^(ij) W_P^(pj) W_P^(iq) W_P^(pqn)``: one n x n matrix, made once, with its columns turned by
the device's own phases; and for each chunk that comes by, a phase for each row of the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tpufft.collectives import axis_name, ring_product
from tpufft.errors import LayoutError
from tpufft.execution.padding import cleared
from tpufft.kernels import matmul, phases, twiddle
from tpufft.layout import AxisNames, ceil_div
from tpufft.steps import Precision

BLOCK_BYTES = 1 << 28
"""The most that a device keeps of the shared block; larger ones are made anew, panel by panel, for each product."""


def ring_dft(
    chunk: jax.Array,
    axis: int,
    names: AxisNames,
    count: int,
    *,
    size: int,
    inverse: bool,
    scale: float,
    both_ways: bool,
    precision: Precision,
    platform: str,
) -> jax.Array:
    """The unnormalised DFT times `scale` along the chunked `axis` of a complex chunk, in natural order.

    Cost for each device: 8 N n FLOPs for each transform of length N = P n, P-1 permutes of a chunk.
    """
    n = chunk.shape[axis]
    moved = jnp.moveaxis(cleared(chunk, axis, size, names, count), axis, 0)
    columns = moved.reshape(n, -1)
    me = lax.axis_index(axis_name(names))
    planes = jnp.stack([columns.real, columns.imag], axis=1)  # (n, plane, batch): the planes share one product
    dtype = np.dtype(chunk.dtype)
    phases_of = _even_phases if size == n * count else _uneven_phases
    own, turned = phases_of(n, count, size, me, inverse, dtype)
    width = _panel_width(n, dtype.itemsize)
    shared = None
    if width == n:
        shared = twiddle.block(n, n, size, inverse, dtype, scale=scale) * own[None, :]

    def by_panels(part: jax.Array) -> jax.Array:
        def one(matrix: jax.Array) -> jax.Array:
            return _multiply(matrix * own[None, :], part, precision)

        return _over_panels(one, n, size, width, inverse, scale, dtype)

    def product(q: jax.Array, part: jax.Array) -> jax.Array:
        raw = by_panels(part) if shared is None else _multiply(shared, part, precision)
        phase = turned(q)[:, None]
        real, imag = raw[:, 0], raw[:, 1]
        return jnp.stack([real * phase.real - imag * phase.imag, real * phase.imag + imag * phase.real], axis=1)

    total = ring_product(planes, names, count, product, jnp.zeros_like(planes), platform, both_ways=both_ways)
    return jnp.moveaxis(lax.complex(total[:, 0], total[:, 1]).reshape(moved.shape), 0, axis)


RowPhases = tuple[jax.Array, Callable[[jax.Array], jax.Array]]
"""What turns the columns of the shared block on this device, and its rows for the chunk that came from device q."""


def _even_phases(n: int, count: int, size: int, me: jax.Array, inverse: bool, dtype: np.dtype) -> RowPhases:
    """Roots of the order of the ring alone, since the chunk divides the length."""
    turns = jnp.asarray(phases.roots(count, np.arange(count, dtype=np.int64), inverse).astype(dtype))
    row = jnp.arange(n, dtype=jnp.int32) % count

    def turned(q: jax.Array) -> jax.Array:
        return turns[(row * q + (me * q) % count * (n % count)) % count]

    return turns[(row * me) % count], turned


def _uneven_phases(n: int, count: int, size: int, me: jax.Array, inverse: bool, dtype: np.dtype) -> RowPhases:
    """``W_N^(pnj)`` and ``W_N^(qni) W_N^(qpnn)``: roots of the order of the whole length."""
    row, device = np.arange(n, dtype=np.int64), np.arange(count, dtype=np.int64) * n

    def turned(q: jax.Array) -> jax.Array:
        starts = twiddle.chunk_starts(count, q, n, device, size, inverse, dtype)[me]
        return twiddle.chunk_starts(count, q, n, row, size, inverse, dtype) * starts

    return twiddle.chunk_starts(count, me, n, row, size, inverse, dtype), turned


def _panel_width(n: int, itemsize: int) -> int:
    """Rows of the shared block that are held at once."""
    return n if n * n * itemsize <= BLOCK_BYTES else max(1, BLOCK_BYTES // (4 * n * itemsize))


def _over_panels(
    use: Callable[[jax.Array], jax.Array],
    n: int,
    order: int,
    width: int,
    inverse: bool,
    scale: float,
    dtype: np.dtype,
) -> jax.Array:
    """``use`` of every `width` rows of the n x n block of roots, the results one below the other.

    Exponents i j mod N are carried from panel to panel by additions of integers, so that they are exact and need no
    table larger than a row; the roots are products of two small tables' entries.
    """
    if order >= 2**30:
        raise LayoutError(f"a ring over {order} points is out of reach of 32-bit exponents; use method='exchange'")
    column = np.arange(n, dtype=np.int64)
    advance = jnp.asarray((width * column % order).astype(np.int32))
    inner = jnp.asarray((np.arange(width)[:, None] * column[None, :] % order).astype(np.int32))
    fine = math.isqrt(order - 1) + 1
    near = phases.roots(order, np.arange(fine, dtype=np.int64), inverse) * scale
    far = phases.roots(order, np.arange(0, order, fine, dtype=np.int64), inverse)
    near_table, far_table = jnp.asarray(near.astype(dtype)), jnp.asarray(far.astype(dtype))

    def step(first: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
        exponent = (first[None, :] + inner) % order
        panel = far_table[exponent // fine] * near_table[exponent % fine]
        return (first + advance) % order, use(panel)

    _, panels = lax.scan(step, jnp.zeros(n, jnp.int32), None, length=ceil_div(n, width))
    return panels.reshape(-1, *panels.shape[2:])[:n]


def _multiply(matrix: jax.Array, part: jax.Array, precision: Precision) -> jax.Array:
    """A complex matrix (rows, n) times planes (n, plane, batch), as two real products."""
    batch = part.shape[2]
    flat = part.reshape(part.shape[0], 2 * batch)
    wanted = matmul.dot_precision(precision)
    by_real = jnp.matmul(matrix.real, flat, precision=wanted).reshape(-1, 2, batch)
    by_imag = jnp.matmul(matrix.imag, flat, precision=wanted).reshape(-1, 2, batch)
    return jnp.stack([by_real[:, 0] - by_imag[:, 1], by_real[:, 1] + by_imag[:, 0]], axis=1)
