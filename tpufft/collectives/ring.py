"""Rings: chunks travel from neighbour to neighbour while every device works on what has come by.

Programs do not grow with the number of devices: a ring is a loop. Each permute is issued before the work on the chunk
at hand, so that the wire hides behind it where the hardware can.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import jax
from jax import lax

from tpufft.collectives.wire import axis_name, permute
from tpufft.layout import AxisNames

Total = TypeVar("Total")


def ring_fold(
    chunk: jax.Array,
    names: AxisNames,
    count: int,
    fold: Callable[[Total, jax.Array, jax.Array], Total],
    total: Total,
    platform: str,
    *,
    both_ways: bool = False,
    unroll: int = 1,
) -> Total:
    """Every device folds the chunks of all devices into its own total, its own chunk first.

    Parameters
    ----------
    chunk : array
        This device's chunk :math:`x_p`, in one array (a complex matrix as stacked planes).
    names : tuple of str
        The mesh axes of the ring, the first the slowest.
    count : int
        Devices P on the ring.
    fold : callable
        ``fold(total, q, x_q)``: the total with the chunk of device `q` (a traced integer) in it.
    total : pytree
        What to start with, varying over `names`.
    platform : str
        The devices' platform.
    both_ways : bool
        Half of the chunks come round the other way, so that both directions of every link are used.
    unroll : int
        Chunks in one pass of the loop.

    Returns
    -------
    pytree
        The total, shaped as it was.

    Notes
    -----
    Exactly P-1 permutes of a chunk for each device.
    """
    me = lax.axis_index(axis_name(names))

    def pass_on(part: jax.Array, step: int) -> jax.Array:
        pairs = [(device, (device + step) % count) for device in range(count)]
        return permute(part, names, pairs, platform)

    def one_way(turn: jax.Array, carry: tuple[Total, jax.Array]) -> tuple[Total, jax.Array]:
        total, here = carry
        coming = pass_on(here, -1)
        return fold(total, (me + turn) % count, here), coming

    def two_ways(turn: jax.Array, carry: tuple[Total, jax.Array, jax.Array]) -> tuple[Total, jax.Array, jax.Array]:
        total, up, down = carry
        next_up, next_down = pass_on(up, -1), pass_on(down, 1)
        total = fold(fold(total, (me + turn) % count, up), (me - turn) % count, down)
        return total, next_up, next_down

    if not both_ways or count < 3:
        total, last = lax.fori_loop(0, count - 1, one_way, (total, chunk), unroll=min(unroll, max(count - 1, 1)))
        return fold(total, (me + count - 1) % count, last)

    half = (count - 1) // 2
    up, down = pass_on(chunk, -1), pass_on(chunk, 1)
    total = fold(total, me, chunk)
    total, up, down = lax.fori_loop(1, half, two_ways, (total, up, down))
    coming = pass_on(up, -1) if count % 2 == 0 else None
    total = fold(fold(total, (me + half) % count, up), (me - half) % count, down)
    return total if coming is None else fold(total, (me + half + 1) % count, coming)


def ring_product(
    chunk: jax.Array,
    names: AxisNames,
    count: int,
    product: Callable[[jax.Array, jax.Array], jax.Array],
    zero: jax.Array,
    platform: str,
    *,
    both_ways: bool = False,
) -> jax.Array:
    r"""The one-shuffle product: the sum over all chunks of a product that depends on where the chunk came from.

    .. math:: y = \sum_{q=0}^{P-1} \text{product}(q, x_q)

    Parameters
    ----------
    chunk, names, count, platform, both_ways
        As in :func:`ring_fold`.
    product : callable
        ``product(q, x_q)``, linear in ``x_q``; `q` is a traced integer.
    zero : array
        What the sum starts with: zeros of the product's shape, varying over `names`.

    Returns
    -------
    array
        The sum, shaped as `zero`.
    """

    def fold(total: jax.Array, q: jax.Array, part: jax.Array) -> jax.Array:
        return total + product(q, part)

    # Two products in one pass: enough to overlap, few enough that no partial products pile up.
    return ring_fold(chunk, names, count, fold, zero, platform, both_ways=both_ways, unroll=2)


def ring_sum(
    product: Callable[[jax.Array], jax.Array],
    names: AxisNames,
    count: int,
    platform: str,
    *,
    way: int = 1,
    add: Callable[[jax.Array, jax.Array], jax.Array] = jax.numpy.add,
) -> jax.Array:
    r"""The other one-shuffle: the chunks of the result travel, and every device adds its share to those that come by.

    .. math:: y_q = \sum_{p=0}^{P-1} \text{product}_p(q)

    Parameters
    ----------
    product : callable
        ``product(q)``: this device's share of the result's chunk that ends on device `q` (a traced integer).
    names : tuple of str
        The mesh axes of the ring, the first the slowest.
    count : int
        Devices P on the ring.
    platform : str
        The devices' platform.
    way : {1, -1}
        Towards the next device or the one before.
    add : callable
        How two shares are added up.

    Returns
    -------
    array
        This device's chunk of the result.

    Notes
    -----
    Exactly P-1 permutes of a chunk of the result; the share to be added is worked out while it travels.
    """
    me = lax.axis_index(axis_name(names))
    pairs = [(device, (device + way) % count) for device in range(count)]

    def step(turn: jax.Array, total: jax.Array) -> jax.Array:
        coming = permute(total, names, pairs, platform)
        return add(coming, product((me - way * (turn + 1)) % count))

    # What starts here ends one device behind, after P-1 steps.
    return lax.fori_loop(1, count, step, product((me - way) % count))
