"""The command ``tpufft transform``: a file, through a plan, into a file."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import numpy as np
from jax.sharding import PartitionSpec
from numpy.exceptions import AxisError

import tpufft
from tpufft.cli.devices import DEFAULT_CPU_DEVICES, abstract_mesh, make_mesh
from tpufft.cli.options import SpecEntries, mesh_sizes
from tpufft.cli.progress import Bars
from tpufft.cli.summary import Summary, print_summary
from tpufft.errors import LayoutError, MissingExtraError
from tpufft.formats import Reader, format_of
from tpufft.jobs import SpectrumAxis, Stepwise, create, largest_peaks, load_from, write_shards
from tpufft.jobs.load import check_even
from tpufft.layout import Layout
from tpufft.planning import Plan
from tpufft.planning.orders import frequency_index

PEAKS = 5


@dataclass(frozen=True)
class Job:
    """What was asked for on the command line."""

    source: Path
    target: Path
    axes: tuple[int, ...] | None = None
    devices: int | None = None
    mesh: dict[str, int] | None = None
    spec: SpecEntries | None = None
    inverse: bool = False
    norm: str = "backward"
    order: str = "natural"
    method: str = "auto"
    kernel: str = "auto"
    plot: Path | None = None
    output: str = "text"


def transform_file(job: Job, *, check: Callable[[], None]) -> None:
    """Transform the array of one file into another file and print a summary.

    All that can be wrong with files, options and devices is an error before the first element is read. The output
    takes its place when it is whole and on the disk; then the picture follows. `check` is called between two parts of
    the work, and may raise to end it.
    """
    start = time.perf_counter()
    with ExitStack() as files:
        drawing = _drawing() if job.plot else None
        picture = drawing and files.enter_context(drawing.PictureFile(job.plot))
        reader = files.enter_context(format_of(job.source).reader(job.source))
        format_of(job.target)
        plan = _plan(job, reader)
        writer = files.enter_context(create(job.target, plan.out_layout.shape, plan.out_layout.dtype))
        bars = files.enter_context(Bars(shown=job.output != "nothing", check=check))
        steps = Stepwise(plan)
        check()
        read_start = time.perf_counter()
        x = load_from(reader, plan.in_layout, progress=bars.bar("read"))
        read_end = time.perf_counter()
        y, times = steps.run(x, progress=bars.bar("transform"))
        write_start = time.perf_counter()
        write_shards(writer, y, progress=bars.bar("write"))
        writer.commit()
        write_end = time.perf_counter()
        check()
        axes = spectrum_axes(plan)
        real_signal = reader.dtype.kind != "c" and not job.inverse
        peaks = largest_peaks(y, axes, PEAKS, real_signal=real_signal)
        if drawing and picture:
            picture.save(
                drawing.draw(y, axes, title=f"{plan.problem.name} of {job.source.name}, {plan.out_layout.shape}")
            )
    if job.output == "nothing":
        return
    summary = Summary(
        plan=plan,
        source=str(job.source),
        target=str(job.target),
        source_dtype=reader.dtype,
        peaks=peaks,
        steps=times,
        read_seconds=read_end - read_start,
        write_seconds=write_end - write_start,
        compile_seconds=steps.compile_seconds,
        total_seconds=time.perf_counter() - start,
        plot=str(job.plot) if job.plot else None,
    )
    print_summary(summary, as_json=job.output == "json")


def spectrum_axes(plan: Plan) -> list[SpectrumAxis]:
    """What the elements of a plan's result are, along every axis."""
    layout, problem = plan.out_layout, plan.problem
    if problem.is_inverse:
        return [SpectrumAxis(size, transformed=False) for size in layout.shape]
    return [
        SpectrumAxis(size, True, partial(frequency_index, layout, axis, problem.order))
        if axis in problem.transformed_axes
        else SpectrumAxis(size, transformed=False)
        for axis, size in enumerate(layout.shape)
    ]


def _plan(job: Job, reader: Reader) -> Plan:
    """The plan, after checks that need no device."""
    shape = reader.shape
    axes = _checked_axes(job.axes, len(shape))
    if not axes:
        raise LayoutError(f"{job.source}: shape {shape} has no axis to transform")
    if 0 in shape:
        raise LayoutError(f"{job.source}: shape {shape} has no elements to transform")
    dtype = promoted_dtype(reader.dtype)
    if dtype == np.complex128:
        jax.config.update("jax_enable_x64", True)
    spec = None if job.spec is None else PartitionSpec(*(names or None for names in job.spec))
    automatic = job.devices is None and job.mesh is None
    sizes = mesh_sizes(job.devices, job.mesh, DEFAULT_CPU_DEVICES)
    if not automatic:
        check_even(Layout.of(shape, dtype, abstract_mesh(sizes), spec))
    mesh = make_mesh(sizes, all_accelerators=automatic)
    check_even(Layout.of(shape, dtype, mesh, spec))
    options: dict[str, Any] = {
        "norm": job.norm,
        "order": job.order,
        "method": job.method,
        "kernel": job.kernel,
        "overwrite_x": True,
        "spec": spec,
    }
    direction = "ifft" if job.inverse else "fft"
    if job.order != "scrambled":
        return tpufft.plan(f"{direction}n", shape, dtype, mesh, axes=axes, **options)
    if len(axes) != 1:
        raise ValueError(f"--order scrambled is for one axis, and --axes has {len(axes)}; use --order transposed")
    return tpufft.plan(direction, shape, dtype, mesh, axis=axes[-1], **options)


def _checked_axes(axes: tuple[int, ...] | None, rank: int) -> tuple[int, ...]:
    if axes is None:
        return tuple(range(rank))
    for axis in axes:
        if not -rank <= axis < rank:
            raise AxisError(f"--axes {axis}: the file's array has {rank} axes; they are 0 to {rank - 1}")
    return tuple(axis % rank for axis in axes)


def promoted_dtype(stored: np.dtype) -> np.dtype:
    """The complex type that holds what a file holds: complex64, or complex128 for double, and for wide integers."""
    return np.result_type(stored, np.complex64)


def _drawing() -> ModuleType:
    """The module that draws, which needs matplotlib."""
    try:
        from tpufft.cli import plot
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        raise MissingExtraError("--plot", "jobs") from error
    return plot
