"""The Fourier transforms, by numpy's names, on chunked arrays."""

from tpufft.transforms.helpers import fftfreq, fftshift, ifftshift
from tpufft.transforms.one_axis import fft, ifft
from tpufft.transforms.planned import plan
from tpufft.transforms.several_axes import fftn, ifftn
from tpufft.transforms.two_axes import fft2, ifft2

__all__ = ["fft", "fft2", "fftfreq", "fftn", "fftshift", "ifft", "ifft2", "ifftn", "ifftshift", "plan"]
