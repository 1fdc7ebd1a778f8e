"""Views of chunks, halos, functions of chunks, and resampling that keeps the chunking."""

from tpufft.views.halo import halo_exchange, map_chunks
from tpufft.views.local import global_view, local_view
from tpufft.views.resample import prolong, repeat, restrict

__all__ = ["global_view", "halo_exchange", "local_view", "map_chunks", "prolong", "repeat", "restrict"]
