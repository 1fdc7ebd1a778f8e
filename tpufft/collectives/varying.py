"""The type of a value inside a ``shard_map``: whether it may differ between the devices along a mesh axis."""

from __future__ import annotations

import jax
from jax import lax

from tpufft.layout import AxisNames


def varying_axes(x: jax.Array) -> frozenset[str]:
    """The mesh axes over which JAX takes a value to vary."""
    kind = jax.typeof(x)
    axes = getattr(kind, "vma", None)
    # Newer versions of JAX keep what a manual axis means for a type in one record.
    return frozenset(kind.mat.varying if axes is None else axes)


def make_varying(x: jax.Array, names: AxisNames) -> jax.Array:
    """The same value, typed as varying over mesh axes; axes of a ``vmap`` have no such type."""
    manual = jax.sharding.get_abstract_mesh().manual_axes
    missing = tuple(name for name in names if name in manual and name not in varying_axes(x))
    return lax.pcast(x, missing, to="varying") if missing else x
