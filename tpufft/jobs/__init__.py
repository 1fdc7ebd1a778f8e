"""Arrays in files and on meshes: every device reads and writes its own part."""

from tpufft.jobs.blocks import Progress
from tpufft.jobs.load import load, load_from
from tpufft.jobs.save import create, save, write_shards
from tpufft.jobs.spectrum import Peak, SpectrumAxis, largest_peaks, maxima_plane
from tpufft.jobs.stepwise import StepTime, Stepwise

__all__ = [
    "Peak",
    "Progress",
    "SpectrumAxis",
    "StepTime",
    "Stepwise",
    "create",
    "largest_peaks",
    "load",
    "load_from",
    "maxima_plane",
    "save",
    "write_shards",
]
