"""Transforms of an axis that stays chunked: the four-step plan and its kin, Bluestein's convolution, the ring."""

from tpufft.planning.inplace.builder import StepBuilder, Tools, Way
from tpufft.planning.inplace.ways import by_exchange, by_ring, nonuniform, single

__all__ = ["StepBuilder", "Tools", "Way", "by_exchange", "by_ring", "nonuniform", "single"]
