"""How one device computes a DFT along axes that it holds whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import jax

from tpufft.kernels import host, matmul, phases, real, samples, tables, trig, twiddle, xla
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
    platforms : tuple of str, optional
        Whose devices it is for; empty for all.
    missing : callable, optional
        Why this process cannot have it, or None.
    is_usable : callable, optional
        Whether ``missing`` is None; where not, tells why, once.
    """

    name: str
    transform: Callable[..., jax.Array]
    flops: Callable[[int, int], float]
    has_precision: bool
    platforms: tuple[str, ...] = ()
    missing: Callable[[], str | None] = lambda: None
    is_usable: Callable[[], bool] = lambda: True

    def is_for(self, platform: str) -> bool:
        """Whether devices of a platform, as JAX names it, can have it."""
        return not self.platforms or platform in self.platforms


KERNELS: Mapping[str, Kernel] = MappingProxyType(
    {
        "xla": Kernel("xla", xla.transform, dft_flops, has_precision=False),
        "matmul": Kernel("matmul", matmul.transform, matmul.flops, has_precision=True),
        "host": Kernel("host", host.transform, dft_flops, False, ("cpu",), host.missing, host.is_usable),
    }
)

__all__ = ["KERNELS", "Kernel", "host", "matmul", "phases", "real", "samples", "tables", "trig", "twiddle", "xla"]
