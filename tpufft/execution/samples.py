"""A matrix of phases between any points times an axis: by a ring in which the smaller operand travels."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tpufft.collectives import axis_name, ring_product, ring_sum
from tpufft.execution.padding import cleared
from tpufft.kernels import samples
from tpufft.kernels.samples import Place
from tpufft.layout import Layout
from tpufft.steps import Nonuniform


def nonuniform(step: Nonuniform, layout: Layout, chunk: jax.Array, platform: str) -> jax.Array:
    """The step on one device's chunk: no device ever holds its rows of the matrix, only a panel of a block of them.

    Cost for each device: 8 M N / P FLOPs for each transform from N to M points, P-1 permutes of the smaller chunk.
    """
    after, axis = step.after(layout), step.axis
    names, count = layout.spec[axis], layout.parts[axis]
    n, m = layout.chunk_shape[axis], after.chunk_shape[axis]
    moved = jnp.moveaxis(cleared(chunk, axis, layout.shape[axis], names, count), axis, 0)
    columns = moved.reshape(n, -1)
    me = lax.axis_index(axis_name(names)) if count > 1 else jnp.zeros((), np.int32)
    planes = jnp.stack([columns.real, columns.imag], axis=1)  # (n, plane, batch): the planes share one product
    zero = jnp.broadcast_to(jnp.zeros_like(planes[:1]), (m, *planes.shape[1:]))

    def product(row: jax.Array, column: jax.Array, part: jax.Array) -> jax.Array:
        return samples.product(
            part,
            step.rows,
            step.columns,
            step.order,
            step.inverse,
            row_place=Place(m, count, row),
            column_place=Place(n, count, column),
            precision=step.precision,
        )

    if 0 in (m, planes.shape[2]):
        total = zero
    elif count == 1:
        total = product(me, me, planes)
    elif step.sums_travel(layout):
        total = ring_sum(lambda q: product(q, me, planes), names, count, platform)
    else:
        total = ring_product(
            planes, names, count, lambda q, part: product(me, q, part), zero, platform, both_ways=step.both_ways
        )
    result = lax.complex(total[:, 0], total[:, 1])
    result = result if step.scale == 1.0 else result * np.asarray(step.scale, planes.dtype)
    return jnp.moveaxis(result.reshape(m, *moved.shape[1:]), 0, axis)
