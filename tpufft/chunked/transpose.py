"""Axes in another order: every device transposes its chunk, and what split an axis goes on splitting it."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace

import jax
import jax.numpy as jnp

from tpufft.chunked.placement import constrained, stored
from tpufft.layout import Layout


def permuted(layout: Layout, axes: Sequence[int]) -> Layout:
    """The layout whose axis ``i`` is axis ``axes[i]`` of another."""
    return replace(
        layout,
        shape=tuple(layout.shape[axis] for axis in axes),
        spec=tuple(layout.spec[axis] for axis in axes),
        padding=tuple(layout.padding[axis] for axis in axes),
    )


def transposed(data: jax.Array, layout: Layout, axes: tuple[int, ...]) -> tuple[jax.Array, Layout]:
    """Stored data with its axes in another order, and its layout.

    Parameters
    ----------
    data : jax.Array
        The stored data of `layout`.
    layout : Layout
        What lives where.
    axes : tuple of int
        Which axis comes where, as ``numpy.transpose`` takes it.
    """
    after = permuted(layout, axes)
    return stored(_program(layout, after, axes, data), after), after


def last_two_swapped(rank: int) -> tuple[int, ...]:
    """The order of axes in which the last two have changed places."""
    return (*range(rank - 2), rank - 1, rank - 2)


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def _program(before: Layout, after: Layout, axes: tuple[int, ...], data: jax.Array) -> jax.Array:
    # Constrained on both sides, so that the cotangent too is chunked.
    return constrained(jnp.transpose(constrained(data, before), axes), after)
