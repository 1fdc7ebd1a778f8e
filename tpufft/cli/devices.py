"""Which devices the command uses: what accelerators there are, else parts of the CPU."""

from __future__ import annotations

import math

import jax
import numpy as np
from jax.sharding import AbstractMesh, AxisType, Mesh

from tpufft.cluster import request_cpu_devices
from tpufft.errors import LayoutError

DEFAULT_CPU_DEVICES = 8


def abstract_mesh(sizes: dict[str, int]) -> AbstractMesh:
    """The mesh without devices, for checks before anything is started."""
    return AbstractMesh(tuple(sizes.values()), tuple(sizes), axis_types=(AxisType.Auto,) * len(sizes))


def make_mesh(sizes: dict[str, int], *, all_accelerators: bool) -> Mesh:
    """Start JAX and build the mesh.

    Parameters
    ----------
    sizes : dict
        Names and sizes of the mesh axes.
    all_accelerators : bool
        Where JAX has accelerators, take all of them, as the only mesh axis there is.

    Raises
    ------
    LayoutError
        If there are fewer devices.
    """
    count = math.prod(sizes.values())
    request_cpu_devices(count)
    devices = jax.devices()
    platform = devices[0].platform
    if all_accelerators and platform != "cpu":
        count, sizes = len(devices), dict.fromkeys(sizes, len(devices))
    if count > len(devices):
        raise LayoutError(
            f"--devices {count} (mesh {', '.join(f'{name}={size}' for name, size in sizes.items())}): JAX has "
            f"{len(devices)} {platform} device(s); ask for no more, or set JAX_PLATFORMS=cpu for virtual ones"
        )
    chosen = np.array(devices[:count]).reshape(tuple(sizes.values()))
    return Mesh(chosen, tuple(sizes), axis_types=(AxisType.Auto,) * len(sizes))
