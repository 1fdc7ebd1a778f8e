"""Which devices: the mesh that an array shows, the one set around a call, all devices; and whether two are the same."""

from __future__ import annotations

import os
from typing import Any, TypeAlias

import jax
import numpy as np
from jax.core import ShapedArray, Tracer
from jax.sharding import AbstractMesh, AxisType, Mesh, NamedSharding

from tpufft.errors import LayoutError

AnyMesh: TypeAlias = Mesh | AbstractMesh


def default_mesh() -> Mesh:
    """All devices as one axis ``x``."""
    return Mesh(np.array(jax.devices()), ("x",))


def context_mesh() -> AnyMesh | None:
    """The mesh that ``jax.set_mesh`` set around the call."""
    abstract = jax.sharding.get_abstract_mesh()
    if abstract.empty:
        return None
    try:
        return jax.sharding.get_mesh()
    except ValueError:  # under jit, where only the abstract mesh shows
        return abstract


def usual_mesh(what: str, context: AnyMesh | None, *, is_traced: bool) -> AnyMesh:
    """The mesh where neither a caller nor an array names one: that around the call, else all devices.

    Raises
    ------
    LayoutError
        Under tracing with several devices: where the array is, does not show.
    """
    if context is not None:
        return context
    if is_traced and jax.device_count() > 1:
        raise LayoutError(
            f"{what} was called under jit, where the array's own sharding does not show: pass mesh= (and spec=), or "
            "use jax.set_mesh"
        )
    return default_mesh()


def visible_sharding(x: Any) -> NamedSharding | None:
    """Mesh and spec that an array shows: a concrete one by its sharding, a tracer by its type on an Explicit mesh."""
    if isinstance(x, Tracer | ShapedArray):
        sharding = getattr(x if isinstance(x, ShapedArray) else jax.typeof(x), "sharding", None)
        explicit = isinstance(sharding, NamedSharding) and AxisType.Explicit in sharding.mesh.axis_types
        return sharding if explicit else None
    sharding = getattr(x, "sharding", None)
    return sharding if isinstance(sharding, NamedSharding) and not sharding.mesh.empty else None


def checked_mesh(mesh: Any) -> AnyMesh:
    """A caller's argument `mesh`, if it is one.

    Raises
    ------
    TypeError
        For anything else.
    LayoutError
        For one without devices.
    """
    if not isinstance(mesh, Mesh | AbstractMesh):
        raise TypeError(f"mesh={mesh!r} is no jax.sharding.Mesh; make one with jax.make_mesh((8,), ('x',))")
    if not mesh.size:
        raise LayoutError(f"mesh={mesh!r} has no devices; make one with jax.make_mesh((8,), ('x',))")
    return mesh


def refuse_manual_axes(what: str, where: str) -> None:
    """Refuse a call for global arrays inside somebody's ``shard_map``.

    Raises
    ------
    LayoutError
        That says what was done, and what is so and to be done there instead.
    """
    manual = jax.sharding.get_abstract_mesh().manual_axes
    if manual:
        raise LayoutError(f"{what} in a shard_map over {tuple(manual)}, where {where}")


def same_devices(a: AnyMesh, b: AnyMesh) -> bool:
    """Whether two meshes have the same axes over the same devices, whatever the axes' types."""
    if a.axis_names != b.axis_names or dict(a.shape) != dict(b.shape):
        return False
    return not (isinstance(a, Mesh) and isinstance(b, Mesh)) or bool(np.array_equal(a.device_ids, b.device_ids))


def check_same_devices(given: AnyMesh, shown: AnyMesh) -> None:
    """Refuse a mesh that is not the one on which an array lives.

    Raises
    ------
    LayoutError
        That names both.
    """
    if not same_devices(given, shown):
        devices = dict(given.shape) == dict(shown.shape)
        raise LayoutError(
            f"mesh={_text(given, devices)} contradicts the array, which lives on {_text(shown, devices)}; pass that "
            "mesh, none, or move the array with jax.device_put"
        )


def _text(mesh: AnyMesh, devices: bool) -> str:
    """A mesh as messages name it, with its devices where two meshes differ only in them."""
    axes = ", ".join(f"{name}={size}" for name, size in mesh.shape.items())
    if not (devices and isinstance(mesh, Mesh)):
        return f"Mesh({axes})"
    ids = mesh.device_ids.ravel().tolist()
    return f"Mesh({axes}; devices {ids if len(ids) <= 8 else f'{ids[0]}...{ids[-1]}'})"


def host_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
