"""What crosses the wire: exchanges, rings, copies, folds. Functions of one chunk and mesh axis names."""

from tpufft.collectives import shared
from tpufft.collectives.copy import assemble, copy_fragments
from tpufft.collectives.exchange import exchange
from tpufft.collectives.extremes import extreme
from tpufft.collectives.halo import Line, widened
from tpufft.collectives.prefix import prefix_fold, tree_fold
from tpufft.collectives.ring import ring_fold, ring_product, ring_sum
from tpufft.collectives.rooted import from_one
from tpufft.collectives.rows import all_rows, swap_rows
from tpufft.collectives.torus import torus_fold
from tpufft.collectives.varying import make_varying, varying_axes
from tpufft.collectives.wire import axis_name, permute, send_whole

__all__ = [
    "Line",
    "all_rows",
    "assemble",
    "axis_name",
    "copy_fragments",
    "exchange",
    "extreme",
    "from_one",
    "make_varying",
    "permute",
    "prefix_fold",
    "ring_fold",
    "ring_product",
    "ring_sum",
    "send_whole",
    "shared",
    "swap_rows",
    "torus_fold",
    "tree_fold",
    "varying_axes",
    "widened",
]
