"""The one-shuffle product: chunks travel round a ring while every device multiplies what it holds."""

from __future__ import annotations

from collections.abc import Callable

import jax
from jax import lax

from tpufft.collectives.wire import axis_name, permute
from tpufft.layout import AxisNames

UNROLL = 2
"""Products in one pass of the loop: enough to overlap, few enough that no partial products pile up."""


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
    r"""The sum over all chunks of a product that depends on where the chunk came from.

    .. math:: y = \sum_{q=0}^{P-1} \text{product}(q, x_q)

    Parameters
    ----------
    chunk : array
        This device's chunk :math:`x_p`, in one array (a complex matrix as stacked planes).
    names : tuple of str
        The mesh axes of the ring, the first the slowest.
    count : int
        Devices P on the ring.
    product : callable
        ``product(q, x_q)``, linear in ``x_q``; `q` is a traced integer.
    zero : array
        What the sum starts with: zeros of the product's shape, varying over `names`.
    platform : str
        The devices' platform.
    both_ways : bool
        Half of the chunks come round the other way, so that both directions of every link are used.

    Returns
    -------
    array
        The sum, shaped as `zero`.

    Notes
    -----
    Exactly P-1 permutes of a chunk for each device, each issued before the product of the chunk at hand, in a loop: the
    program does not grow with P.
    """
    me = lax.axis_index(axis_name(names))

    def pass_on(part: jax.Array, step: int) -> jax.Array:
        pairs = [(device, (device + step) % count) for device in range(count)]
        return permute(part, names, pairs, platform)

    def one_way(turn: jax.Array, carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        total, here = carry
        coming = pass_on(here, -1)
        return total + product((me + turn) % count, here), coming

    def two_ways(turn: jax.Array, carry: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        total, up, down = carry
        next_up, next_down = pass_on(up, -1), pass_on(down, 1)
        total = total + product((me + turn) % count, up) + product((me - turn) % count, down)
        return total, next_up, next_down

    if not both_ways or count < 3:
        total, last = lax.fori_loop(0, count - 1, one_way, (zero, chunk), unroll=min(UNROLL, max(count - 1, 1)))
        return total + product((me + count - 1) % count, last)

    half = (count - 1) // 2
    up, down = pass_on(chunk, -1), pass_on(chunk, 1)
    total = zero + product(me, chunk)
    total, up, down = lax.fori_loop(1, half, two_ways, (total, up, down))
    coming = pass_on(up, -1) if count % 2 == 0 else None
    total = total + product((me + half) % count, up) + product((me - half) % count, down)
    return total if coming is None else total + product((me + half + 1) % count, coming)
