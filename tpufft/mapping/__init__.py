"""A function of one device's chunk on all devices, and arrays as lists of chunks: what comes before ``shard_map``."""

from tpufft.mapping.shards import num_shards, shard, shards, unshard
from tpufft.mapping.smap import smap

__all__ = ["num_shards", "shard", "shards", "smap", "unshard"]
