"""The steps of a plan, as data: one thing that every device does, what it costs, and its transpose.

A step knows nothing of how it is carried out (that is ``execution``) and nothing of time (that is
``planning.cost``). Given the layout before it, it tells the layout after it, the bytes that each device puts on the
wire, the collectives it executes, and the step that is its transpose as a linear map. A :class:`Program` is an input
layout and steps.
"""

from tpufft.steps.copies import Copy, Fragment, Piece, Rearrange, Resize, Shift, crossing, fragments, rounds
from tpufft.steps.core import Precision, Program, Step, complex_dtype, dft_flops, real_dtype
from tpufft.steps.dft import Local, Ring, Twiddle
from tpufft.steps.diagonal import ChirpSpectrum, Diagonal
from tpufft.steps.moves import Deinterleave, Exchange, Interleave, Merge, Pad, Split, Trim
from tpufft.steps.real import AsComplex, AsReal, LocalReal, LocalTrig, RealPart, Widen, half
from tpufft.steps.spectrum import Collect, Fold, Spread, Unfold
from tpufft.steps.tables import Chirp, Ends, Hankel, Phase, Power, Signs, Table

__all__ = [
    "AsComplex",
    "AsReal",
    "Chirp",
    "ChirpSpectrum",
    "Collect",
    "Copy",
    "Deinterleave",
    "Diagonal",
    "Ends",
    "Exchange",
    "Fold",
    "Fragment",
    "Hankel",
    "Interleave",
    "Local",
    "LocalReal",
    "LocalTrig",
    "Merge",
    "Pad",
    "Phase",
    "Piece",
    "Power",
    "Precision",
    "Program",
    "RealPart",
    "Rearrange",
    "Resize",
    "Ring",
    "Shift",
    "Signs",
    "Split",
    "Spread",
    "Step",
    "Table",
    "Trim",
    "Twiddle",
    "Unfold",
    "Widen",
    "complex_dtype",
    "crossing",
    "dft_flops",
    "fragments",
    "half",
    "real_dtype",
    "rounds",
]
