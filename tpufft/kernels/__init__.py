"""How one device computes a DFT along axes that it holds whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import jax

from tpufft.kernels import matmul, phases, real, samples, tables, trig, twiddle, xla
from tpufft.steps import dft_flops


@dataclass(frozen=True)
class Kernel:
    """A way to transform one device's chunk.

    Parameters
    ----------
    name : str
        As the argument ``kernel`` names it.
    transform : callable
        ``transform(x, axes, *, inverse, scale, precision)``: the unnormalised DFT along `axes` times `scale`.
    flops : callable
        ``flops(length, batch)``: arithmetic of `batch` transforms of one axis.
    has_precision : bool
        Whether ``precision`` means something to it.
    """

    name: str
    transform: Callable[..., jax.Array]
    flops: Callable[[int, int], float]
    has_precision: bool


KERNELS: Mapping[str, Kernel] = MappingProxyType(
    {
        "xla": Kernel("xla", xla.transform, dft_flops, has_precision=False),
        "matmul": Kernel("matmul", matmul.transform, matmul.flops, has_precision=True),
    }
)

__all__ = ["KERNELS", "Kernel", "matmul", "phases", "real", "samples", "tables", "trig", "twiddle", "xla"]
