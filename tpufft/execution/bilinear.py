"""The one bilinear primitive that runs every product.

A derivative binds it again with the tangent in one operand's place, or as the product of the cotangent with the other
operand: products all, planned like any other. ``vmap`` gives an operand, or both, one more axis.
"""

from __future__ import annotations

from typing import Any, Protocol

import jax
import numpy as np
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from jax.sharding import NamedSharding

from tpufft.execution import dispatch
from tpufft.execution.operator import BoundProduct, shown_layout
from tpufft.execution.primitive import spmd_names
from tpufft.layout import AxisNames
from tpufft.meshes import visible_sharding

product_p = Primitive("tpufft_product")


class BilinearOperator(Protocol):
    """A product of two arrays whose layouts are decided: hashable, comparable, independent of data."""

    def bound(self) -> BoundProduct:
        """Layouts and all that is done between them."""
        ...

    def transposed(self, side: str) -> BilinearOperator:
        """The map from the product's cotangent and the other operand, in their order, to the cotangent of `side`."""
        ...

    def batched(self, axes: tuple[int | None, int | None], size: int, names: AxisNames) -> BilinearOperator:
        """The same map on operands of which one or both have one more axis; the product's comes first."""
        ...


def multiply(operator: BilinearOperator, a: jax.Array, b: jax.Array) -> jax.Array:
    """Apply a product to two arrays or tracers, as they are stored."""
    return product_p.bind(a, b, operator=operator)


def _impl(a: jax.Array, b: jax.Array, *, operator: BilinearOperator) -> jax.Array:
    return dispatch.call_product(operator.bound(), a, b)


def _abstract(a: ShapedArray, b: ShapedArray, *, operator: BilinearOperator) -> ShapedArray:
    out = operator.bound().out_layout
    for x in (a, b):
        visible = visible_sharding(x)
        if visible is not None:
            shown = NamedSharding(visible.mesh, out.partition_spec)
            return ShapedArray(out.stored_shape, out.dtype, sharding=shown)
    return ShapedArray(out.stored_shape, out.dtype)


def _lowered(a: jax.Array, b: jax.Array, *, operator: BilinearOperator) -> jax.Array:
    return dispatch.traced(operator.bound(), a, b)


def _jvp(primals: tuple[Any, Any], tangents: tuple[Any, Any], *, operator: BilinearOperator) -> tuple[Any, Any]:
    (a, b), (da, db) = primals, tangents
    y = multiply(operator, a, b)
    parts = []
    if type(da) is not ad.Zero:
        parts.append(multiply(operator, da, b))
    if type(db) is not ad.Zero:
        parts.append(multiply(operator, a, db))
    if not parts:
        return y, ad.Zero.from_primal_value(y)  # pyright: ignore[reportAttributeAccessIssue] (a method JAX adds at run time)
    return y, parts[0] if len(parts) == 1 else ad.add_jaxvals(*parts)


def _transpose(cotangent: Any, a: Any, b: Any, *, operator: BilinearOperator) -> list[Any]:
    side = "a" if ad.is_undefined_primal(a) else "b"
    if type(cotangent) is ad.Zero:
        return [None, None]
    if side == "a":
        return [multiply(operator.transposed("a"), cotangent, b), None]
    return [None, multiply(operator.transposed("b"), a, cotangent)]


def _batch(axis_data: Any, args: Any, dims: Any, *, operator: BilinearOperator) -> tuple[Any, int | None]:
    if all(dim is None for dim in dims):
        return multiply(operator, *args), None
    names = spmd_names(axis_data)
    if names is None:
        # Where the arrays show it, the axis stays split as it is.
        shown = [_names_at(x, dim) for x, dim in zip(args, dims, strict=True) if dim is not None]
        names = max(shown, key=len)
    size = next(np.shape(x)[dim] for x, dim in zip(args, dims, strict=True) if dim is not None)
    return multiply(operator.batched(tuple(dims), size, names), *args), 0


def _names_at(x: Any, dim: int) -> AxisNames:
    layout, _ = shown_layout(x)
    return layout.spec[dim] if layout is not None and layout.rank == np.ndim(x) else ()


product_p.def_impl(_impl)
product_p.def_abstract_eval(_abstract)
mlir.register_lowering(product_p, mlir.lower_fun(_lowered, multiple_results=False))
ad.primitive_jvps[product_p] = _jvp
ad.primitive_transposes[product_p] = _transpose
batching.fancy_primitive_batchers[product_p] = _batch
