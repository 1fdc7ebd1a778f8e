"""What crosses the wire: exchanges, rings, copies between chunks. Functions of one chunk and mesh axis names."""

from tpufft.collectives.copy import assemble, copy_fragments
from tpufft.collectives.exchange import exchange
from tpufft.collectives.ring import ring_fold, ring_product, ring_sum
from tpufft.collectives.torus import torus_fold
from tpufft.collectives.wire import axis_name, permute, send_whole

__all__ = [
    "assemble",
    "axis_name",
    "copy_fragments",
    "exchange",
    "permute",
    "ring_fold",
    "ring_product",
    "ring_sum",
    "send_whole",
    "torus_fold",
]
