"""Distributed Fourier transforms for arrays that no single device holds.

``tpufft.fft(x, mesh)`` transforms a ``jax.Array`` that is chunked over the devices of a mesh and returns one of the
same chunking; nothing is gathered. ``tpufft.plan`` shows what will be done.
"""

from tpufft import spmd
from tpufft.cluster import virtual_devices
from tpufft.errors import FileFormatError, LayoutError, MissingExtraError
from tpufft.jobs import load, save
from tpufft.layout import Layout
from tpufft.planning import Plan
from tpufft.transforms import fft, fft2, fftfreq, fftn, fftshift, ifft, ifft2, ifftn, ifftshift, plan

__version__ = "0.1.0"

__all__ = [
    "FileFormatError",
    "Layout",
    "LayoutError",
    "MissingExtraError",
    "Plan",
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "load",
    "plan",
    "save",
    "spmd",
    "virtual_devices",
]
