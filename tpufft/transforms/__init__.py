"""The Fourier transforms and their kin, by the names of numpy and scipy, on chunked arrays."""

from tpufft.transforms.hankel import fht, ifht
from tpufft.transforms.helpers import fftfreq, fftshift, ifftshift, rfftfreq
from tpufft.transforms.one_axis import fft, ifft
from tpufft.transforms.planned import plan
from tpufft.transforms.real_one_axis import hfft, ihfft, irfft, rfft
from tpufft.transforms.real_several_axes import hfftn, ihfftn, irfftn, rfftn
from tpufft.transforms.real_two_axes import hfft2, ihfft2, irfft2, rfft2
from tpufft.transforms.several_axes import fftn, ifftn
from tpufft.transforms.sizes import next_fast_len, prev_fast_len
from tpufft.transforms.trigonometric import dct, dst, idct, idst
from tpufft.transforms.trigonometric_several import dctn, dstn, idctn, idstn
from tpufft.transforms.two_axes import fft2, ifft2

__all__ = [
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
    "next_fast_len",
    "plan",
    "prev_fast_len",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]
