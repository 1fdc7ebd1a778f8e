"""The command's parameters and help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import tpufft
from tpufft.cli import options, parameters
from tpufft.cli.exits import INTERRUPTED, one_line_errors
from tpufft.cli.info import print_info
from tpufft.cli.question import Question
from tpufft.cli.transform import Job, transform_file
from tpufft.cli.tune import calibrate_devices, tune_plan
from tpufft.cli.verify import FAILED, verify_plan
from tpufft.cli.wisdom import export_to, import_from, print_list, remove
from tpufft.planning import METHODS, NORMS
from tpufft.planning.wisdom import path

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

_VERIFY_EPILOG = """\b
[bold]Examples[/bold]
  A volume over 8 devices; without accelerators these are 8 parts of the CPU:
    tpufft verify --transform fftn --shape 256,256,256 --mesh x=8
  A long signal by the ring, in double precision, for a program to read:
    tpufft verify --transform fft --shape 4096 --dtype complex128 \\
        --method ring --json
  Cosines along one axis of pencils, any length:
    tpufft verify --transform dct --shape 30,20,17 --axes 1 \\
        --mesh x=4,y=2 --spec x,y,None

[bold]Exit codes[/bold]
  0 the plan passed, 1 bad input, 2 wrong usage,
  3 the plan failed, 130 interrupted, 143 terminated."""


_TUNE_EPILOG = """\b
[bold]Examples[/bold]
  A volume over 8 devices; without accelerators these are 8 parts of the CPU:
    tpufft tune --transform fftn --shape 256,256,256
  For a minute, on pencils, for a program to read:
    tpufft tune --transform rfftn --shape 512,512,512 --mesh x=4,y=2 \\
        --spec x,y,None --budget 60 --json
  The rates by which plans are chosen that nobody tuned:
    tpufft tune --calibrate

[bold]Exit codes[/bold]
  0 done, 1 bad input, 2 wrong usage, 130 interrupted, 143 terminated.
  Interrupted, it keeps nothing."""

_WISDOM_EPILOG = """\b
[bold]Examples[/bold]
  What is known of this machine:
    tpufft wisdom list
  To a cluster's nodes and back:
    tpufft wisdom export wisdom.json
    tpufft wisdom import wisdom.json

The file is where TPUFFT_WISDOM says, or in the user's cache folder."""

_INFO_EPILOG = """\b
[bold]Examples[/bold]
  What this machine has, and what is missing:
    tpufft info
  For a program to read:
    tpufft info --json

[bold]Exit codes[/bold]
  0 done, 2 wrong usage."""


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
    devices: parameters.Devices = None,
    mesh: parameters.Mesh = None,
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
            metavar="|".join(parameters.ORDERS),
            help="How the spectrum is stored: natural, or on the devices (transposed) or along the one axis "
            "(scrambled) as the cheapest plan leaves it.",
        ),
    ] = "natural",
    method: Annotated[
        str, typer.Option(metavar="|".join(METHODS), help="How an axis that is split is transformed.")
    ] = "auto",
    kernel: Annotated[
        str,
        typer.Option(metavar="|".join(parameters.KERNEL_WORDS), help="How a device transforms what it holds whole."),
    ] = "auto",
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the spectrum: a line, or the plane through zero of the last two axes."),
    ] = None,
    as_json: parameters.Json = False,
    quiet: parameters.Quiet = False,
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
        order=options.check_choice(order, "--order", parameters.ORDERS),
        method=options.check_choice(method, "--method", METHODS),
        kernel=options.check_choice(kernel, "--kernel", parameters.KERNEL_WORDS),
        plot=plot,
        output=parameters.output(as_json=as_json, quiet=quiet),
    )
    options.mesh_sizes(job.devices, job.mesh, 1)
    with one_line_errors() as stop:
        transform_file(job, check=stop.check)


@app.command(epilog=_VERIFY_EPILOG)
def verify(
    transform: parameters.Transform,
    shape: parameters.Shape,
    dtype: parameters.Dtype = None,
    axes: parameters.Axes = None,
    sizes: parameters.Sizes = None,
    devices: parameters.Devices = None,
    mesh: parameters.Mesh = None,
    spec: parameters.Spec = None,
    norm: parameters.Norm = None,
    order: parameters.Order = None,
    method: parameters.Method = None,
    kernel: parameters.Kernel = None,
    type_: parameters.Type = None,
    dln: parameters.Dln = None,
    mu: parameters.Number = None,
    offset: parameters.Number = None,
    bias: parameters.Number = None,
    rounds: Annotated[int, typer.Option(min=1, metavar="N", help="How often each test is tried.")] = 3,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Of the random numbers.")] = 0,
    limit: Annotated[
        float | None,
        typer.Option(min=0.0, metavar="X", help="The largest relative error. Default: 1e-3 single, 1e-10 double."),
    ] = None,
    as_json: parameters.Json = False,
    quiet: parameters.Quiet = False,
) -> None:
    """Verify a plan: whether it computes its transform, at any size, without a reference.

    Random signals are made on the devices; linearity, impulses and shifts tell whether the results are right.
    """
    question = Question.parse(
        transform,
        shape,
        dtype=dtype,
        axes=axes,
        sizes=sizes,
        devices=devices,
        mesh=mesh,
        spec=spec,
        norm=norm,
        order=order,
        method=method,
        kernel=kernel,
        type=type_,
        dln=dln,
        mu=mu,
        offset=offset,
        bias=bias,
    )
    printed = parameters.output(as_json=as_json, quiet=quiet)
    with one_line_errors() as stop:
        passed = verify_plan(question, rounds=rounds, seed=seed, limit=limit, output=printed, check=stop.check)
    if not passed:
        raise typer.Exit(FAILED)


@app.command(epilog=_TUNE_EPILOG)
def tune(
    transform: Annotated[str | None, parameters.TRANSFORM] = None,
    shape: Annotated[str | None, parameters.SHAPE] = None,
    dtype: parameters.Dtype = None,
    axes: parameters.Axes = None,
    sizes: parameters.Sizes = None,
    devices: parameters.Devices = None,
    mesh: parameters.Mesh = None,
    spec: parameters.Spec = None,
    order: parameters.Order = None,
    method: parameters.Method = None,
    kernel: parameters.Kernel = None,
    type_: parameters.Type = None,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Measure the rates of the cost model, in place of a transform.")
    ] = False,
    budget: Annotated[float, typer.Option(metavar="SECONDS", help="After which nothing more is tried.")] = 30.0,
    keep: Annotated[bool, typer.Option("--keep/--no-keep", help="Write what is found into the wisdom file.")] = True,
    as_json: parameters.Json = False,
    quiet: parameters.Quiet = False,
) -> None:
    """Time the ways to do a transform on this machine, and keep the fastest as wisdom.

    From then on tpufft takes it without being asked.
    """
    printed = parameters.output(as_json=as_json, quiet=quiet)
    if calibrate:
        given = [transform, shape, dtype, axes, sizes, spec, order, method, kernel, type_]
        if any(value is not None for value in given):
            raise typer.BadParameter(
                "--calibrate measures devices, not a transform; of the others it takes --devices, --mesh"
            )
        asked = options.parse_mesh(mesh)
        options.mesh_sizes(devices, asked, 1)
        with one_line_errors() as stop:
            calibrate_devices(devices, asked, keep=keep, output=printed, check=stop.check)
        return
    if transform is None or shape is None:
        raise typer.BadParameter("say what to tune by --transform and --shape, or --calibrate")
    question = Question.parse(
        transform,
        shape,
        dtype=dtype,
        axes=axes,
        sizes=sizes,
        devices=devices,
        mesh=mesh,
        spec=spec,
        order=order,
        method=method,
        kernel=kernel,
        type=type_,
    )
    with one_line_errors() as stop:
        tune_plan(question, budget=budget, keep=keep, output=printed, check=stop.check)


wisdom = typer.Typer(no_args_is_help=True, help="What tuning has kept: listed, copied to and from files, cleared.")
app.add_typer(wisdom, name="wisdom", epilog=_WISDOM_EPILOG)


@wisdom.command("list")
def list_wisdom(as_json: parameters.Json = False) -> None:
    """List plans and calibrations, and whether they are of this machine."""
    with one_line_errors():
        print_list(as_json=as_json)


@wisdom.command("export")
def export_wisdom(target: Annotated[Path, typer.Argument(metavar="FILE", help="Replaced when whole.")]) -> None:
    """Copy the wisdom to a file."""
    with one_line_errors():
        export_to(target)


@wisdom.command("import")
def import_wisdom(source: Annotated[Path, typer.Argument(metavar="FILE", help="As export writes it.")]) -> None:
    """Add a file to the wisdom; where both know the same plan, the file's counts."""
    with one_line_errors():
        import_from(source)


@wisdom.command("clear")
def clear_wisdom(
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove the wisdom, whatever stands in the file."""
    if not yes:
        typer.confirm(f"Remove {path()}?", abort=True)
    with one_line_errors():
        remove()


@app.command(epilog=_INFO_EPILOG)
def info(as_json: parameters.Json = False) -> None:
    """Tell versions, devices, the kernels found, and which extras are missing and how to get them."""
    with one_line_errors():
        print_info(as_json=as_json)
