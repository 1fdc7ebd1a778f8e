"""What crosses the wire: exchanges, rings, copies between chunks. Functions of one chunk and mesh axis names."""

from tpufft.collectives.copy import assemble, copy_fragments
from tpufft.collectives.exchange import exchange
from tpufft.collectives.ring import ring_product
from tpufft.collectives.wire import axis_name, permute, send_whole

__all__ = ["assemble", "axis_name", "copy_fragments", "exchange", "permute", "ring_product", "send_whole"]
