"""Compiled programs, and the one place where they are started.

Every program is traced and compiled once for its operator, argument layout and donation. On a mesh of several CPU
devices a call waits until its program has ended: with many collective programs in flight, the host's thread pool can
run out of threads while each program waits for its other devices, which ends the process.
"""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, Sharding
from jax.stages import Wrapped

from tpufft.cluster import deadlock_risk
from tpufft.collectives import shared
from tpufft.execution.operator import Bound, BoundProduct, Operator, layout_of, visible_layout
from tpufft.kernels import host
from tpufft.layout import Layout, mesh_size
from tpufft.meshes import AnyMesh

_ONE_AT_A_TIME = threading.Lock()


def call(operator: Operator, x: jax.Array, *, donate: bool = False) -> jax.Array:
    """Apply an operator to a concrete array."""
    # What JAX hands on of a NumPy argument under vmap is an Array without a sharding.
    return _entry(operator, x.shape, x.dtype, getattr(x, "sharding", None), donate)(x)


def call_product(bound: BoundProduct, a: jax.Array, b: jax.Array) -> jax.Array:
    """Multiply two concrete arrays."""
    return _product_entry(bound, getattr(a, "sharding", None), getattr(b, "sharding", None))(a, b)


def traced(bound: Bound | BoundProduct, *arrays: jax.Array, ours: bool = False, donated: bool = False) -> jax.Array:
    """The operator as JAX operations on global arrays: one ``shard_map``, then the declared chunking.

    Parameters
    ----------
    bound : Bound or BoundProduct
        What is done.
    *arrays : array
        The operands.
    ours : bool
        Whether this is the whole program, so that it runs alone and its arguments may be known not to be overwritten.
    donated : bool
        Whether they may be.
    """
    mesh = bound.out_layout.mesh
    before, after = bound.inner_layouts
    if isinstance(bound, BoundProduct) and bound.is_empty:
        return _declared(jnp.zeros(after.stored_shape, after.dtype), bound.out_layout)
    mapped = jax.shard_map(
        functools.partial(_carried_out, bound, mesh_platform(mesh), ours, donated),
        mesh=mesh,
        in_specs=tuple(layout.partition_spec for layout in before),
        out_specs=after.partition_spec,
    )
    return _declared(mapped(*map(_declared, arrays, before)), bound.out_layout)


def _carried_out(
    bound: Bound | BoundProduct, platform: str, ours: bool, donated: bool, *chunks: jax.Array
) -> jax.Array:
    if not ours:
        return bound.carry_out(platform, *chunks)
    with shared.alone(), host.kept(() if donated else chunks):
        return bound.carry_out(platform, *chunks)


@functools.lru_cache(maxsize=1024)
def compiled_function(bound: Bound | BoundProduct, *, donate: bool = False) -> Wrapped:
    """The operator as a jitted function of global arrays in its input layouts.

    With `donate` the result takes the first argument's buffer, where both are of one size and dtype.
    """
    donate = donate and bound.in_layouts[0].fits_in(bound.out_layout)
    return jax.jit(
        functools.partial(traced, bound, ours=True, donated=donate),
        in_shardings=tuple(layout.sharding for layout in bound.in_layouts),
        out_shardings=bound.out_layout.sharding,
        donate_argnums=(0,) if donate else (),
    )


def mesh_platform(mesh: AnyMesh) -> str:
    """The platform of a mesh's devices; of the default backend where the mesh does not tell."""
    if isinstance(mesh, Mesh):
        return mesh.devices.flat[0].platform
    described = mesh.abstract_device
    return (described.platform if described is not None else None) or jax.default_backend()


@functools.lru_cache(maxsize=1024)
def _entry(
    operator: Operator, shape: tuple[int, ...], dtype: np.dtype, sharding: Sharding | None, donate: bool
) -> Callable[[jax.Array], jax.Array]:
    visible = layout_of(shape, dtype, sharding)
    bound = operator.bound(visible, tracing=False)
    if 0 in bound.out_layout.shape:
        return functools.partial(_nothing, bound.out_layout)
    return _starter(bound, (sharding,), donate)


@functools.lru_cache(maxsize=1024)
def _product_entry(
    bound: BoundProduct, a: Sharding | None, b: Sharding | None
) -> Callable[[jax.Array, jax.Array], jax.Array]:
    if bound.is_empty:
        return functools.partial(_nothing, bound.out_layout)
    return _starter(bound, (a, b), False)


def forget_programs() -> None:
    """Ask operators anew which steps they are, at their next call; what was compiled for the same steps is kept."""
    _entry.cache_clear()
    _product_entry.cache_clear()


def _starter(
    bound: Bound | BoundProduct, shardings: tuple[Sharding | None, ...], donate: bool
) -> Callable[..., jax.Array]:
    """What brings arguments onto their devices and starts the program."""
    function = compiled_function(bound, donate=donate)
    targets = [layout.sharding for layout in bound.in_layouts]
    moved = [
        number
        for number, (sharding, layout) in enumerate(zip(shardings, bound.in_layouts, strict=True))
        if sharding is None or not sharding.is_equivalent_to(targets[number], layout.rank)
    ]
    run = awaited(function, bound.out_layout.mesh)
    if not moved:
        return run

    def start(*arrays: jax.Array) -> jax.Array:
        ready = list(arrays)
        for number in moved:
            ready[number] = jax.device_put(arrays[number], targets[number])
        return run(*ready)

    return start


def awaited(function: Callable[..., Any], mesh: AnyMesh) -> Callable[..., Any]:
    """A compiled program as it is started: on several CPU devices one at a time, and waited for."""
    count = mesh_size(mesh, mesh.axis_names)
    if count == 1 or mesh_platform(mesh) != "cpu":
        return function
    _warn_of_deadlock(count)

    def start(*arrays: Any) -> Any:
        with _ONE_AT_A_TIME:
            return jax.tree.map(_readable, jax.block_until_ready(function(*arrays)))

    return start


def _readable(x: jax.Array) -> jax.Array:
    """A result; one without elements made anew, since its parts have other shapes than its chunking says."""
    return x if x.size else jax.device_put(np.zeros(x.shape, x.dtype), x.sharding)


def _nothing(layout: Layout, *arrays: jax.Array) -> jax.Array:
    """The result without elements; compiled programs return those in a wrong chunking."""
    del arrays
    return jax.device_put(np.zeros(layout.stored_shape, layout.dtype), layout.sharding)


@functools.lru_cache(maxsize=1)
def _warn_of_deadlock(device_count: int) -> None:
    if deadlock_risk(device_count):
        warnings.warn(
            f"{device_count} CPU devices share too few threads: calls of tpufft are safe, but a loop over your own "
            "jitted functions with collectives can abort this process. Start with tpufft.virtual_devices(n), or set "
            f"NPROC={2 * device_count} in the environment, before the first use of JAX.",
            RuntimeWarning,
            stacklevel=2,
        )


def _declared(x: jax.Array, layout: Layout) -> jax.Array:
    """`x` with the chunking of `layout` in its type, where types carry it; no data moves."""
    if AxisType.Explicit not in layout.mesh.axis_types:
        return x
    visible = visible_layout(x)
    if visible is not None and visible.spec == layout.spec:
        return x
    mesh = layout.mesh if visible is None else visible.mesh
    return jax.sharding.reshard(x, NamedSharding(mesh, layout.partition_spec))  # type: ignore[arg-type]
