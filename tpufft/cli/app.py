"""The command's parameters and help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import tpufft
from tpufft.cli import options
from tpufft.cli.exits import INTERRUPTED, one_line_errors
from tpufft.cli.transform import Job, transform_file
from tpufft.kernels import KERNELS
from tpufft.planning import METHODS, NORMS

ORDERS = ("natural", "transposed", "scrambled")

app = typer.Typer(
    name="tpufft",
    help="Fourier transforms of arrays that are spread over many devices.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

_EPILOG = """\b
[bold]Examples[/bold]
  A volume over 8 devices; without accelerators these are 8 parts of the CPU:
    tpufft transform volume.npy spectrum.npy --axes 0,1,2 --devices 8
  With a picture of the plane through frequency zero:
    tpufft transform volume.npy spectrum.npy --plot spectrum.png
  And back:
    tpufft transform spectrum.npy volume2.npy --inverse
  Pencils on a 4 x 2 mesh, the result left as the cheapest plan leaves it:
    tpufft transform volume.npy out.npy --order transposed \\
        --mesh x=4,y=2 --spec x,y,None
  A long signal; the summary for a program to read:
    tpufft transform signal.npy out.npy --json

[bold]Exit codes[/bold]
  0 done, 1 bad input or output, 2 wrong usage,
  130 interrupted, 143 terminated.
  OUTPUT is the whole new result, or what it was before."""


def run() -> int:
    """Run the command on the process' arguments; the exit code."""
    try:
        app()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def _version(wanted: bool) -> None:
    if wanted:
        print(f"tpufft {tpufft.__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Fourier transforms of arrays that are spread over many devices."""
    del version


@app.command(epilog=_EPILOG)
def transform(
    source: Annotated[Path, typer.Argument(metavar="INPUT", help="The array, a .npy file: real or complex, any rank.")],
    target: Annotated[
        Path, typer.Argument(metavar="OUTPUT", help="The result, a .npy file; replaced when the new one is whole.")
    ],
    axes: Annotated[str | None, typer.Option(help="Axes to transform, as 0,1,2. Default: all.", metavar="AXES")] = None,
    devices: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="How many devices. Default: 8 parts of the CPU, or all accelerators."),
    ] = None,
    mesh: Annotated[
        str | None, typer.Option(metavar="MESH", help="Names and sizes of the device axes, as x=4,y=2. Default: x=N.")
    ] = None,
    spec: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="The mesh axis that splits each array axis, as x,None,None; several as x+y. Default: the first axis "
            "over the whole mesh.",
        ),
    ] = None,
    inverse: Annotated[bool, typer.Option("--inverse", help="Transform back.")] = False,
    norm: Annotated[
        str, typer.Option(metavar="|".join(NORMS), help="Where the factor 1/N stands, as in numpy.fft.")
    ] = "backward",
    order: Annotated[
        str,
        typer.Option(
            metavar="|".join(ORDERS),
            help="How the spectrum is stored: natural, or on the devices (transposed) or along the one axis "
            "(scrambled) as the cheapest plan leaves it.",
        ),
    ] = "natural",
    method: Annotated[
        str, typer.Option(metavar="|".join(METHODS), help="How an axis that is split is transformed.")
    ] = "auto",
    kernel: Annotated[
        str, typer.Option(metavar="|".join(("auto", *KERNELS)), help="How a device transforms what it holds whole.")
    ] = "auto",
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the spectrum: a line, or the plane through zero of the last two axes."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Transform the array of a file on many devices, each of which reads and writes its own part only.

    Prints the plan, where the time went, and the largest peaks.
    """
    job = Job(
        source=source,
        target=target,
        axes=options.parse_axes(axes),
        devices=devices,
        mesh=options.parse_mesh(mesh),
        spec=options.parse_spec(spec),
        inverse=inverse,
        norm=options.check_choice(norm, "--norm", NORMS),
        order=options.check_choice(order, "--order", ORDERS),
        method=options.check_choice(method, "--method", METHODS),
        kernel=options.check_choice(kernel, "--kernel", ("auto", *KERNELS)),
        plot=plot,
        output="nothing" if quiet else "json" if as_json else "text",
    )
    options.mesh_sizes(job.devices, job.mesh, 1)
    with one_line_errors() as stop:
        transform_file(job, check=stop.check)
