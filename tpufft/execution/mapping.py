"""A caller's own function on every device's chunk: the other user of the one ``shard_map``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from tpufft.meshes import AnyMesh


def mapped(fn: Callable[..., Any], mesh: AnyMesh, in_specs: Any, out_specs: Any) -> Callable[..., Any]:
    """`fn` of the chunks as a function of global arrays, whose varying types JAX checks.

    Parameters
    ----------
    fn : callable
        Of one device's chunks.
    mesh : Mesh
        The devices; all its axes are mapped.
    in_specs, out_specs : pytree of PartitionSpec
        As ``jax.shard_map`` takes them.
    """
    return jax.shard_map(fn, mesh=mesh, in_specs=in_specs, out_specs=out_specs)
