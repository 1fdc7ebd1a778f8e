"""Rings: chunks travel from neighbour to neighbour while every device works on what has come by.

Programs do not grow with the number of devices: a ring is a loop. Each permute is issued before the work on the chunk
at hand, so that the wire hides behind it where the hardware can.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import jax
from jax import lax

from tpufft.collectives.wire import axis_name, permute
from tpufft.layout import AxisNames

Total = TypeVar("Total")


def ring_fold(
    parts: Sequence[tuple[jax.Array, int]],
    names: AxisNames,
    count: int,
    fold: Callable[[Total, int, jax.Array, jax.Array], Total],
    total: Total,
    platform: str,
    *,
    unroll: int = 1,
) -> Total:
    """Every device folds what all devices have into its own total, its own first.

    Parameters
    ----------
    parts : sequence of (array, int)
        Of this device's chunk: all of it (a complex matrix as stacked planes) or two halves; and whether a part comes
        round from the devices behind (1) or from those before (-1).
    names : tuple of str
        The mesh axes of the ring, the first the slowest.
    count : int
        Devices P on the ring.
    fold : callable
        ``fold(total, number, q, part)``: the total with that part of the chunk of device `q` (a traced integer) in it.
    total : pytree
        What to start with, varying over `names`.
    platform : str
        The devices' platform.
    unroll : int
        Chunks in one pass of the loop.

    Returns
    -------
    pytree
        The total, shaped as it was.

    Notes
    -----
    P-1 permutes of each part for each device.
    """
    me = lax.axis_index(axis_name(names))
    ways = [way for _, way in parts]

    def folded(turn: jax.Array | int, total: Total, here: Sequence[jax.Array]) -> Total:
        for number, (part, way) in enumerate(zip(here, ways, strict=True)):
            total = fold(total, number, (me + way * turn) % count, part)
        return total

    def step(turn: jax.Array, carry: tuple[Total, tuple[jax.Array, ...]]) -> tuple[Total, tuple[jax.Array, ...]]:
        total, here = carry
        coming = tuple(_pass_on(part, names, count, -way, platform) for part, way in zip(here, ways, strict=True))
        return folded(turn, total, here), coming

    start = (total, tuple(part for part, _ in parts))
    total, last = lax.fori_loop(0, count - 1, step, start, unroll=min(unroll, max(count - 1, 1)))
    return folded(count - 1, total, last)


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
    chunk : array
        This device's chunk :math:`x_p`, in one array.
    names, count, platform
        As in :func:`ring_fold`.
    product : callable
        ``product(q, x_q)``, linear in ``x_q``; `q` is a traced integer.
    zero : array
        What the sum starts with: zeros of the product's shape, varying over `names`.
    both_ways : bool
        Half of the chunks come round the other way, so that both directions of every link are used.

    Returns
    -------
    array
        The sum, shaped as `zero`.

    Notes
    -----
    P-1 permutes of a chunk for each device, one way or both.
    """

    def fold(total: jax.Array, _: int, q: jax.Array, part: jax.Array) -> jax.Array:
        return total + product(q, part)

    if not both_ways or count < 3:
        # Two products in one pass: enough to overlap, few enough that no partial products pile up.
        return ring_fold([(chunk, 1)], names, count, fold, zero, platform, unroll=2)
    me = lax.axis_index(axis_name(names))

    def step(turn: jax.Array, carry: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array, jax.Array]:
        total, up, down = carry
        coming = _pass_on(up, names, count, -1, platform), _pass_on(down, names, count, 1, platform)
        return total + product((me + turn) % count, up) + product((me - turn) % count, down), *coming

    half = (count - 1) // 2
    up, down = (_pass_on(chunk, names, count, way, platform) for way in (-1, 1))
    total, up, down = lax.fori_loop(1, half, step, (zero + product(me, chunk), up, down))
    coming = _pass_on(up, names, count, -1, platform) if count % 2 == 0 else None
    total = total + product((me + half) % count, up) + product((me - half) % count, down)
    return total if coming is None else total + product((me + half + 1) % count, coming)


def _pass_on(part: jax.Array, names: AxisNames, count: int, step: int, platform: str) -> jax.Array:
    return permute(part, names, [(device, (device + step) % count) for device in range(count)], platform)


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

    def step(turn: jax.Array, total: jax.Array) -> jax.Array:
        coming = _pass_on(total, names, count, way, platform)
        return add(coming, product((me - way * (turn + 1)) % count))

    # What starts here ends one device behind, after P-1 steps.
    return lax.fori_loop(1, count, step, product((me - way) % count))
