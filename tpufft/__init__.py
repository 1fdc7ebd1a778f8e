"""Distributed Fourier transforms for arrays that no single device holds.

``tpufft.fft(x, mesh)`` transforms a ``jax.Array`` that is chunked over the devices of a mesh and returns one of the
same chunking; nothing is gathered. ``tpufft.plan`` shows what will be done.
"""

from tpufft import spmd
from tpufft.chunked import ChunkedArray, chunk
from tpufft.cluster import virtual_devices
from tpufft.errors import FileFormatError, LayoutError, MissingExtraError
from tpufft.jobs import load, save
from tpufft.layout import Layout
from tpufft.namespace import on
from tpufft.planning import Plan, Verification, verify
from tpufft.transforms import (
    dct,
    dctn,
    dst,
    dstn,
    fft,
    fft2,
    fftfreq,
    fftn,
    fftshift,
    fht,
    hfft,
    hfft2,
    hfftn,
    idct,
    idctn,
    idst,
    idstn,
    ifft,
    ifft2,
    ifftn,
    ifftshift,
    ifht,
    ihfft,
    ihfft2,
    ihfftn,
    irfft,
    irfft2,
    irfftn,
    next_fast_len,
    plan,
    prev_fast_len,
    rfft,
    rfft2,
    rfftfreq,
    rfftn,
)

__version__ = "0.1.0"

__all__ = [
    "ChunkedArray",
    "FileFormatError",
    "Layout",
    "LayoutError",
    "MissingExtraError",
    "Plan",
    "Verification",
    "chunk",
    "dct",
    "dctn",
    "dst",
    "dstn",
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "fht",
    "hfft",
    "hfft2",
    "hfftn",
    "idct",
    "idctn",
    "idst",
    "idstn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ifht",
    "ihfft",
    "ihfft2",
    "ihfftn",
    "irfft",
    "irfft2",
    "irfftn",
    "load",
    "next_fast_len",
    "on",
    "plan",
    "prev_fast_len",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
    "save",
    "spmd",
    "verify",
    "virtual_devices",
]
