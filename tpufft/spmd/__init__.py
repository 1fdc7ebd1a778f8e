"""The collective form of the transforms, for use inside one's own ``shard_map``.

Every device calls the same function with its own chunk; the functions of ``tpufft`` itself take whole arrays.
"""

from tpufft.spmd.hankel import fht, ifht
from tpufft.spmd.one_axis import fft, ifft
from tpufft.spmd.real_one_axis import hfft, ihfft, irfft, rfft
from tpufft.spmd.real_several_axes import hfftn, ihfftn, irfftn, rfftn
from tpufft.spmd.real_two_axes import hfft2, ihfft2, irfft2, rfft2
from tpufft.spmd.several_axes import fftn, ifftn
from tpufft.spmd.shifts import fftshift, ifftshift
from tpufft.spmd.trigonometric import dct, dst, idct, idst
from tpufft.spmd.trigonometric_several import dctn, dstn, idctn, idstn
from tpufft.spmd.two_axes import fft2, ifft2

__all__ = [
    "dct",
    "dctn",
    "dst",
    "dstn",
    "fft",
    "fft2",
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
    "rfft",
    "rfft2",
    "rfftn",
]
