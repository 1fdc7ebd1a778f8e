"""The one linear primitive that runs every plan.

Forward derivatives bind it again on the tangent, reverse ones bind the transposed operator, ``vmap`` gives the operator
one more axis. Where the argument is a concrete array, its own sharding is read when the primitive is evaluated, which
is the only place where eager derivatives show it.
"""

from __future__ import annotations

from typing import Any

import jax
from jax.core import ShapedArray, Tracer
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from jax.sharding import AxisType, Mesh, NamedSharding

from tpufft.execution import dispatch
from tpufft.execution.operator import Operator, visible_layout
from tpufft.layout import AxisNames, Layout

transform_p = Primitive("tpufft")


def apply(operator: Operator, x: jax.Array) -> jax.Array:
    """Apply an operator to an array or a tracer."""
    return transform_p.bind(x, operator=operator)


def enter(x: jax.Array, layout: Layout) -> jax.Array:
    """A value of a jitted program that shows no mesh, brought onto the devices of `layout`; any other as it is.

    The program around it would not know of the mesh otherwise. Only ``device_put`` tells it; ``reshard`` does not.
    """
    explicit = AxisType.Explicit in layout.mesh.axis_types
    visible = visible_layout(x)
    if visible is not None and explicit and visible.spec != layout.spec:
        # As a step of its own, so that the cotangent comes back in the type that the argument has.
        return jax.sharding.reshard(x, NamedSharding(visible.mesh, layout.partition_spec))  # type: ignore[arg-type]
    if visible is not None or not isinstance(layout.mesh, Mesh):
        return x
    return jax.device_put(x, layout.sharding) if _is_staged(x) else x


def _is_staged(x: Any) -> bool:
    """Whether a tracer stands for a value that a jitted program will compute, and for the whole of it (no vmap)."""
    while hasattr(x, "primal"):
        x = x.primal
    return isinstance(x, Tracer) and not hasattr(x, "batch_dim")


def _impl(x: jax.Array, *, operator: Operator) -> jax.Array:
    return dispatch.call(operator, x)


def _abstract(x: ShapedArray, *, operator: Operator) -> ShapedArray:
    visible = visible_layout(x)
    if visible is None:
        return ShapedArray(*operator.result())
    out = operator.bound(visible, tracing=True).out_layout
    return ShapedArray(out.stored_shape, out.dtype, sharding=NamedSharding(x.sharding.mesh, out.partition_spec))


def _lowered(x: jax.Array, *, operator: Operator) -> jax.Array:
    return dispatch.traced(operator.bound(visible_layout(x), tracing=True), x)


def _jvp(primals: tuple[Any], tangents: tuple[Any], *, operator: Operator) -> tuple[Any, Any]:
    (x,), (dx,) = primals, tangents
    y = apply(operator, x)
    if type(dx) is ad.Zero:
        return y, ad.Zero.from_primal_value(y)  # pyright: ignore[reportAttributeAccessIssue] (a method JAX adds at run time)
    # The primal shows where its tangent lives; a cotangent may later come without any sharding.
    located = operator.located(visible_layout(x)) if isinstance(x, jax.Array) else operator
    return y, apply(located, dx)


def _transpose(cotangent: Any, x: Any, *, operator: Operator) -> list[Any]:
    del x
    if type(cotangent) is ad.Zero:
        return [None]
    return [apply(operator.transposed(), cotangent)]


def _batch(axis_data: Any, args: Any, dims: Any, *, operator: Operator) -> tuple[Any, int | None]:
    (x,), (dim,) = args, dims
    if dim is None:
        return apply(operator, x), None
    return apply(operator.batched(dim, x.shape[dim], spmd_names(axis_data)), x), operator.batch_axis(dim)


def spmd_names(axis_data: Any) -> AxisNames | None:
    """The mesh axes that ``vmap`` was told of by ``spmd_axis_name``."""
    names = axis_data.spmd_name
    return names if names is None or isinstance(names, tuple) else (names,)


transform_p.def_impl(_impl)
transform_p.def_abstract_eval(_abstract)
mlir.register_lowering(transform_p, mlir.lower_fun(_lowered, multiple_results=False))
ad.primitive_jvps[transform_p] = _jvp
ad.primitive_transposes[transform_p] = _transpose
batching.fancy_primitive_batchers[transform_p] = _batch
