"""The operations of reductions: what they are called, what they take, how two values are combined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

Op: TypeAlias = str | Callable[[Any, Any], Any]

_COMBINE: dict[str, Callable[[jax.Array, jax.Array], jax.Array]] = {
    "sum": jnp.add,
    "prod": jnp.multiply,
    "max": jnp.maximum,
    "min": jnp.minimum,
    "logical_and": jnp.logical_and,
    "logical_or": jnp.logical_or,
    "logical_xor": jnp.logical_xor,
}
OPS = tuple(_COMBINE)


def combiner(op: Op) -> Callable[[Any, Any], Any]:
    """A function of two values.

    Raises
    ------
    ValueError
        For a name that is none of :data:`OPS`.
    TypeError
        For what is neither a name nor callable.
    """
    if isinstance(op, str):
        if op not in _COMBINE:
            raise ValueError(f"op={op!r} is none of {OPS}, nor a function of two values")
        return _COMBINE[op]
    if not callable(op):
        raise TypeError(f"op={op!r} is none of {OPS}, nor a function of two values")
    return op


def operand(x: Any, op: Op) -> jax.Array:
    """An array in the dtype in which it is reduced; bool is counted by sums and products.

    Raises
    ------
    TypeError
        For complex numbers, where their order would matter, and for a function whose result is of another type.
    """
    x = jnp.asarray(x)
    if op in ("max", "min") and jnp.iscomplexobj(x):
        raise TypeError(f"op={op!r} needs an order, and complex numbers ({x.dtype}) have none")
    if op in ("sum", "prod") and x.dtype == bool:
        return x.astype(np.int32)
    if isinstance(op, str):
        return x.astype(bool) if op.startswith("logical") else x
    made = jax.eval_shape(op, x, x)
    if getattr(made, "shape", None) != x.shape or made.dtype != x.dtype:
        got = f"{made.dtype}{list(made.shape)}" if hasattr(made, "shape") else repr(made)
        raise TypeError(
            f"op={op!r} of two values of {x.dtype}{list(x.shape)} gives {got}; right is the same shape and dtype"
        )
    return x
