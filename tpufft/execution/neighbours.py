"""Halos, repeated and interpolated cells, and the transposes of these, on one device's chunk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tpufft.collectives import Line, make_varying, varying_axes, widened
from tpufft.execution.padding import cleared
from tpufft.layout import Layout
from tpufft.steps import Adjoint, Halo, Neighbourly, Prolong, Repeat, real_dtype


def halo(step: Halo, layout: Layout, chunk: jax.Array, platform: str) -> jax.Array:
    """The chunk and its neighbours' cells."""
    line = Line(step.axis, layout.spec[step.axis], layout.parts[step.axis], layout.shape[step.axis], platform)
    chunk = cleared(chunk, line.axis, line.size, line.names, line.count)
    by_sum = step.wraps_by_sum(layout)
    return widened(chunk, line, step.left, step.right, step.mode, step.reaches(layout), wraps_by_sum=by_sum)


def repeat(step: Repeat, layout: Layout, chunk: jax.Array, platform: str) -> jax.Array:
    """Every element so many times."""
    return jnp.repeat(chunk, step.times, axis=step.axis)


def prolong(step: Prolong, layout: Layout, chunk: jax.Array, platform: str) -> jax.Array:
    """Every element, and the mean of it and the next."""
    length = chunk.shape[step.axis]
    wide = halo(step.halo, layout, chunk, platform)
    here, following = (jax.lax.slice_in_dim(wide, start, start + length, axis=step.axis) for start in (0, 1))
    half, whole = (np.asarray(factor * step.factor, real_dtype(chunk.dtype)) for factor in (0.5, 1.0))
    both = jnp.stack([here * whole, (here + following) * half], axis=step.axis + 1)
    return both.reshape(*chunk.shape[: step.axis], 2 * length, *chunk.shape[step.axis + 1 :])


def adjoint(step: Adjoint, layout: Layout, chunk: jax.Array, platform: str) -> jax.Array:
    """The transpose, as JAX derives it from how the step is carried out."""
    forward, before = step.step, step.after(layout)
    carry_out = FORWARD[type(forward)]
    # Several of its elements may be added into one: those of the padding must not be among them.
    axis = step.axis
    chunk = cleared(chunk, axis, layout.shape[axis], layout.spec[axis], layout.parts[axis])
    like = jnp.zeros(before.chunk_shape, chunk.dtype)
    like = make_varying(like, tuple(varying_axes(chunk)))
    (result,) = jax.linear_transpose(lambda x: carry_out(forward, before, x, platform), like)(chunk)
    return result


FORWARD: Mapping[type[Neighbourly], Callable[[Any, Layout, jax.Array, str], jax.Array]] = MappingProxyType(
    {Halo: halo, Repeat: repeat, Prolong: prolong}
)
