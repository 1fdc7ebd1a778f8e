"""The collective form of the transforms, for use inside one's own ``shard_map``.

Every device calls the same function with its own chunk; the functions of ``tpufft`` itself take whole arrays.
"""

from tpufft.spmd.one_axis import fft, ifft
from tpufft.spmd.several_axes import fftn, ifftn
from tpufft.spmd.shifts import fftshift, ifftshift
from tpufft.spmd.two_axes import fft2, ifft2

__all__ = ["fft", "fft2", "fftn", "fftshift", "ifft", "ifft2", "ifftn", "ifftshift"]
