"""Options that several commands share: what is transformed, on which devices, and how."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from tpufft.kernels import KERNELS
from tpufft.planning import METHODS, NORMS

ORDERS = ("natural", "transposed", "scrambled")
KERNEL_WORDS = ("auto", *KERNELS)

Devices: TypeAlias = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="How many devices. Default: 8 parts of the CPU, or all accelerators."),
]
Mesh: TypeAlias = Annotated[
    str | None, typer.Option(metavar="MESH", help="Names and sizes of the device axes, as x=4,y=2. Default: x=N.")
]
Spec: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="SPEC", help="The mesh axis that splits each array axis, as x,None,None; several as x+y."),
]
SHAPE = typer.Option(metavar="SHAPE", help="Of the input, as 256,256,256.")
TRANSFORM = typer.Option(metavar="NAME", help="A transform, as fftn, irfft, dct or fht.")
Shape: TypeAlias = Annotated[str, SHAPE]
Transform: TypeAlias = Annotated[str, TRANSFORM]
Dtype: TypeAlias = Annotated[
    str | None, typer.Option(metavar="DTYPE", help="Of the input. Default: float32 where it is real, or complex64.")
]
Axes: TypeAlias = Annotated[str | None, typer.Option(metavar="AXES", help="Axes to transform, as 0,1,2.")]
Sizes: TypeAlias = Annotated[
    str | None, typer.Option(metavar="SIZES", help="Lengths to cut or zero-pad these axes to, as 64,50.")
]
Norm: TypeAlias = Annotated[
    str | None, typer.Option(metavar="|".join(NORMS), help="Where the factor 1/N stands, as in numpy.fft.")
]
Order: TypeAlias = Annotated[str | None, typer.Option(metavar="|".join(ORDERS), help="How the spectrum is stored.")]
Method: TypeAlias = Annotated[
    str | None, typer.Option(metavar="|".join(METHODS), help="How an axis that is split is transformed.")
]
Kernel: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="|".join(KERNEL_WORDS), help="How a device transforms what it holds whole."),
]
Type: TypeAlias = Annotated[
    int | None, typer.Option("--type", min=1, max=4, metavar="1|2|3|4", help="Of cosine and sine transforms.")
]
Dln: TypeAlias = Annotated[float | None, typer.Option(metavar="X", help="Of fht and ifht, as mu, offset and bias.")]
Number: TypeAlias = Annotated[float | None, typer.Option(metavar="X")]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]


def output(*, as_json: bool, quiet: bool) -> str:
    """What is printed: ``nothing``, ``json`` or ``text``."""
    return "nothing" if quiet else "json" if as_json else "text"
