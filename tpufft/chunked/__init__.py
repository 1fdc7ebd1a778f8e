"""Arrays of any shape in chunks over a mesh: uneven, tiny and empty chunks included.

``chunk`` makes a ``ChunkedArray``, which computes like a numpy array and never shows its padding.
"""

from tpufft.chunked.array import ChunkedArray
from tpufft.chunked.chunking import check_is_array, check_numbers, chunk
from tpufft.chunked.elementwise import elementwise
from tpufft.chunked.reductions import vdot
from tpufft.chunked.registry import register_operator

__all__ = ["ChunkedArray", "check_is_array", "check_numbers", "chunk", "elementwise", "register_operator", "vdot"]
