"""The steps of a plan, as data: one thing that every device does, what it costs, and its transpose.

A step knows nothing of how it is carried out (that is ``execution``) and nothing of time (that is
``planning.cost``). Given the layout before it, it tells the layout after it, the bytes that each device puts on the
wire, the collectives it executes, and the step that is its transpose as a linear map. A :class:`Program` is an input
layout and steps.
"""

from tpufft.steps.copies import Copy, Fragment, Resize, Shift, fragments, rounds
from tpufft.steps.core import Precision, Program, Step, dft_flops
from tpufft.steps.dft import Local, Ring, Twiddle
from tpufft.steps.moves import Deinterleave, Exchange, Interleave, Merge, Pad, Split, Trim

__all__ = [
    "Copy",
    "Deinterleave",
    "Exchange",
    "Fragment",
    "Interleave",
    "Local",
    "Merge",
    "Pad",
    "Precision",
    "Program",
    "Resize",
    "Ring",
    "Shift",
    "Split",
    "Step",
    "Trim",
    "Twiddle",
    "dft_flops",
    "fragments",
    "rounds",
]
