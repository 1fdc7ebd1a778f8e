"""The steps of a plan, as data: one thing that every device does, what it costs, and its transpose.

A step knows nothing of how it is carried out (that is ``execution``) and nothing of time (that is
``planning.cost``). Given the layout before it, it tells the layout after it, the bytes that each device puts on the
wire, the collectives it executes, and the step that is its transpose as a linear map. A :class:`Program` is an input
layout and steps.
"""

from tpufft.steps.contraction import Contraction, LocalProduct, ProductProgram, Terms, panels
from tpufft.steps.copies import Copy, Fragment, Piece, Rearrange, Resize, Shift, crossing, fragments, rounds
from tpufft.steps.core import Precision, Program, Step, complex_dtype, dft_flops, real_dtype
from tpufft.steps.dft import Local, Ring, Twiddle
from tpufft.steps.diagonal import ChirpSpectrum, Diagonal
from tpufft.steps.moves import Deinterleave, Exchange, Interleave, Merge, Pad, Part, Split, Trim
from tpufft.steps.neighbours import MODES, Adjoint, Halo, Neighbourly, Prolong, Repeat
from tpufft.steps.real import AsComplex, AsReal, LocalReal, LocalTrig, RealPart, Widen, half
from tpufft.steps.samples import Nonuniform, Points
from tpufft.steps.spectrum import Collect, Fold, Spread, Unfold
from tpufft.steps.summa import Summa, skew_permutes, summa_blocks
from tpufft.steps.tables import Chirp, Ends, Hankel, Phase, Power, Signs, Table
from tpufft.steps.travelling import GatheredProduct, RingProduct, RingSum, ScatteredSum
from tpufft.steps.views import CloseChunks, OpenChunks, beside

__all__ = [
    "MODES",
    "Adjoint",
    "AsComplex",
    "AsReal",
    "Chirp",
    "ChirpSpectrum",
    "CloseChunks",
    "Collect",
    "Contraction",
    "Copy",
    "Deinterleave",
    "Diagonal",
    "Ends",
    "Exchange",
    "Fold",
    "Fragment",
    "GatheredProduct",
    "Halo",
    "Hankel",
    "Interleave",
    "Local",
    "LocalProduct",
    "LocalReal",
    "LocalTrig",
    "Merge",
    "Neighbourly",
    "Nonuniform",
    "OpenChunks",
    "Pad",
    "Part",
    "Phase",
    "Piece",
    "Points",
    "Power",
    "Precision",
    "ProductProgram",
    "Program",
    "Prolong",
    "RealPart",
    "Rearrange",
    "Repeat",
    "Resize",
    "Ring",
    "RingProduct",
    "RingSum",
    "ScatteredSum",
    "Shift",
    "Signs",
    "Split",
    "Spread",
    "Step",
    "Summa",
    "Table",
    "Terms",
    "Trim",
    "Twiddle",
    "Unfold",
    "Widen",
    "beside",
    "complex_dtype",
    "crossing",
    "dft_flops",
    "fragments",
    "half",
    "panels",
    "real_dtype",
    "rounds",
    "skew_permutes",
    "summa_blocks",
]
