"""Panels of two matrices going round the rows and the columns of a mesh at once."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp
from jax import lax

from tpufft.collectives.wire import axis_name, permute
from tpufft.layout import AxisNames
from tpufft.steps import skew_permutes

Total = TypeVar("Total")


def torus_fold(
    panels: tuple[jax.Array, jax.Array],
    sides: tuple[AxisNames, AxisNames],
    counts: tuple[int, int],
    fold: Callable[[Total, jax.Array, jax.Array], Total],
    total: Total,
    platform: str,
) -> Total:
    """Every device folds all pairs of panels into its own total.

    Parameters
    ----------
    panels : tuple of two arrays
        This device's panels of either operand, stacked along axis 0: of the L panels in all, spread in order over the
        columns of devices for the first, over the rows for the second.
    sides : tuple of two tuples of str
        Mesh axes of the rows and of the columns of devices.
    counts : tuple of int
        Rows R and columns C.
    fold : callable
        ``fold(total, panel of the first, the same panel of the second)``.
    total : pytree
        What to start with, varying over both sides.
    platform : str
        The devices' platform.

    Notes
    -----
    Device (r, c) starts with panel ``r L/R + c L/C`` and goes on by one each time. At each time the devices of a row
    meet panels that are L/C apart: every one passes the panel that it has used to the device before it, which needs it
    L/C turns later. After the permutes that skew the panels, L-1 permutes of one panel of each operand.
    """
    (rows, columns), (row_count, column_count) = sides, counts
    first, second = panels
    blocks = first.shape[0] * column_count
    first = _skewed(first, columns, column_count, rows, row_count, blocks, platform)
    second = _skewed(second, rows, row_count, columns, column_count, blocks, platform)

    def back(panel: jax.Array, names: AxisNames, count: int) -> jax.Array:
        if count == 1:
            return panel
        return permute(panel, names, [(device, (device - 1) % count) for device in range(count)], platform)

    def used(held: jax.Array, turn: jax.Array) -> jax.Array:
        return lax.dynamic_index_in_dim(held, turn % held.shape[0], keepdims=False)

    def step(turn: jax.Array, carry: tuple[Total, jax.Array, jax.Array]) -> tuple[Total, jax.Array, jax.Array]:
        total, first, second = carry
        left, right = used(first, turn), used(second, turn)
        coming = back(left, columns, column_count), back(right, rows, row_count)
        total = fold(total, left, right)
        first = lax.dynamic_update_index_in_dim(first, coming[0], turn % first.shape[0], 0)
        second = lax.dynamic_update_index_in_dim(second, coming[1], turn % second.shape[0], 0)
        return total, first, second

    total, first, second = lax.fori_loop(0, blocks - 1, step, (total, first, second))
    last = jnp.asarray(blocks - 1)
    return fold(total, used(first, last), used(second, last))


def _skewed(
    held: jax.Array,
    across: AxisNames,
    across_count: int,
    along: AxisNames,
    along_count: int,
    blocks: int,
    platform: str,
) -> jax.Array:
    """An operand's panels from the place where its device starts, ``place along * blocks / along_count`` further on."""
    if along_count == 1:
        return held
    step, length = blocks // along_count, held.shape[0]
    mine = lax.axis_index(axis_name(along))
    if across_count == 1:  # all panels are here
        return jnp.roll(held, -mine * step, axis=0)
    grid = list(itertools.product(range(along_count), range(across_count)))

    def fetched(further: int) -> jax.Array:
        pairs = [
            (place * across_count + (own + place * step // length + further) % across_count, place * across_count + own)
            for place, own in grid
        ]
        return permute(held, (*along, *across), pairs, platform)

    if skew_permutes(blocks, across=across_count, along=along_count) == 1:
        return fetched(0)
    return lax.dynamic_slice_in_dim(jnp.concatenate([fetched(0), fetched(1)]), mine * step % length, length)
