"""What the contestants on JAX share: meshes, placing the input, the compiled program's peak."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.cases import NUMPY_NAMES, TRIGONOMETRIC

if TYPE_CHECKING:
    from collections.abc import Callable

    import jax

PACKAGES = ("jax", "jaxlib", "numpy")
#: What jax has of its own: jax.scipy.fft has no sine transforms.
JAX_NAMES = (*NUMPY_NAMES, "dct", "idct", "dctn", "idctn")


def jax_transform(name: str) -> Callable[[jax.Array], jax.Array]:
    """The function of jax's own by that name."""
    import jax

    return getattr(jax.scipy.fft if name in TRIGONOMETRIC else jax.numpy.fft, name)


def auto_mesh(shape: tuple[int, ...], names: tuple[str, ...]) -> jax.sharding.Mesh:
    """All devices in a mesh of Auto axes."""
    import jax

    return jax.make_mesh(shape, names, axis_types=(jax.sharding.AxisType.Auto,) * len(names))


def place(values: np.ndarray, mesh: jax.sharding.Mesh, *spec: str | None) -> jax.Array:
    """The array on the devices, chunked as `spec` says."""
    import jax

    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*spec))
    return jax.block_until_ready(jax.device_put(values, sharding))


def compiled_peak(compiled: Any) -> int | None:
    """Argument + output + temporary - alias bytes of one device."""
    memory = compiled.memory_analysis()
    if memory is None:
        return None
    used = memory.argument_size_in_bytes + memory.output_size_in_bytes + memory.temp_size_in_bytes
    return int(used - memory.alias_size_in_bytes)
