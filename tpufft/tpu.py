"""TPU chips: what a model needs to know of them.

Figures are per chip and come from the JAX scaling book (https://jax-ml.github.io/scaling-book/tpus/): bfloat16
FLOP/s, HBM bandwidth, HBM size, and one-way bandwidth of one inter-chip link: vendors' peaks, never measured here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Chip:
    """One generation of TPU chips.

    Parameters
    ----------
    name : str
        As in topology names.
    flops : float
        bfloat16 FLOP/s of a chip.
    hbm_bandwidth : float
        Bytes per second between a chip and its memory.
    hbm_bytes : float
        Memory of a chip.
    link_bandwidth : float
        Bytes per second that one link carries one way.
    devices : int
        JAX devices (cores) that a described topology has for one chip.
    """

    name: str
    flops: float
    hbm_bandwidth: float
    hbm_bytes: float
    link_bandwidth: float
    devices: int


CHIPS: Mapping[str, Chip] = MappingProxyType(
    {
        chip.name: chip
        for chip in (
            Chip("v3", 1.4e14, 9.0e11, 32e9, 1.0e11, 2),
            Chip("v4", 2.75e14, 1.2e12, 32e9, 4.5e10, 2),
            Chip("v5e", 1.97e14, 8.1e11, 16e9, 4.5e10, 1),
            Chip("v5p", 4.59e14, 2.8e12, 96e9, 9.0e10, 1),
            Chip("v6e", 9.2e14, 1.6e12, 32e9, 9.0e10, 1),
        )
    }
)
