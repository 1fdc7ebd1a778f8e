"""Both halves of the spectrum of real data: unfolding rows, and the last reordering with its few crossing elements."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from tpufft.collectives import copy_fragments
from tpufft.layout import Layout
from tpufft.steps import Collect, Fold, Spread, Unfold


def unfold(step: Unfold, layout: Layout, chunk: jax.Array, platform: str) -> jax.Array:
    """Columns d and, conjugated, columns B-1-d, for d < B/2."""
    first, second = jnp.split(chunk, 2, axis=step.axis)
    return jnp.stack([first, jnp.flip(second, step.axis).conj()], axis=step.axis)


def fold(step: Fold, layout: Layout, chunk: jax.Array, platform: str) -> jax.Array:
    """The two halves as they were."""
    first, second = (jnp.squeeze(lane, step.axis) for lane in jnp.split(chunk, 2, axis=step.axis))
    return jnp.concatenate([first, jnp.flip(second, step.axis).conj()], axis=step.axis)


def collect(step: Collect, layout: Layout, chunk: jax.Array, platform: str) -> jax.Array:
    """A column's rows 0 ... A/2, then rows A/2-1 ... 1 of the other lane; and the one element left over."""
    lanes = jnp.moveaxis(chunk, (step.axis, step.axis + 1, step.axis + 2), (1, 0, 2))  # lane, row, column, rest
    middle = step.rows // 2
    rows = jnp.concatenate([lanes[0], jnp.flip(lanes[1, 1:middle], 0)], axis=0)
    flat = rows.swapaxes(0, 1).reshape(-1, *rows.shape[2:])
    columns = layout.shape[step.axis + 2]
    highest = lanes[1, 0, (columns - 1) % lanes.shape[2]]
    line = jnp.moveaxis(jnp.concatenate([flat, highest[None]], axis=0), 0, step.axis)
    after = step.after(layout)
    names, parts = after.spec[step.axis], after.parts[step.axis]
    length = after.chunk_shape[step.axis]
    return copy_fragments(line, step.axis, names, parts, length, step.parts(layout), platform)


def spread(step: Spread, layout: Layout, chunk: jax.Array, platform: str) -> jax.Array:
    """The transpose: what :func:`collect` does not take is zero."""
    after = step.after(layout)
    columns, width = after.shape[step.axis + 2], after.chunk_shape[step.axis + 2]
    names, parts = layout.spec[step.axis], layout.parts[step.axis]
    length = width * step.rows + 1
    line = copy_fragments(chunk, step.axis, names, parts, length, step.parts(layout), platform)
    line = jnp.moveaxis(line, step.axis, 0)
    rows = line[:-1].reshape(width, step.rows, *line.shape[1:]).swapaxes(0, 1)
    middle = step.rows // 2
    nothing = jnp.zeros_like(rows[:1])
    first = nothing.at[0, (columns - 1) % width].set(line[-1])
    other = jnp.concatenate([first, jnp.flip(rows[middle + 1 :], 0), nothing], axis=0)
    lanes = jnp.stack([rows[: middle + 1], other], axis=1)  # row, lane, column, rest
    return jnp.moveaxis(lanes, (0, 1, 2), (step.axis, step.axis + 1, step.axis + 2))
