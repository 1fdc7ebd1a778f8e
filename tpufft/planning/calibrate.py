"""Calibration: the rates of the cost model measured on the devices that there are, and kept as wisdom."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import jax
import numpy as np
from jax.sharding import Mesh

from tpufft.errors import LayoutError
from tpufft.execution import Bound, mesh_platform
from tpufft.kernels import KERNELS
from tpufft.layout import Layout
from tpufft.meshes import AnyMesh, checked_mesh, default_mesh
from tpufft.planning import wisdom
from tpufft.planning.cost import memory_passes, step_flops
from tpufft.planning.machine import RATES, Machine, machine_of
from tpufft.planning.request import forget
from tpufft.planning.show import format_seconds
from tpufft.planning.timing import call_of, seconds_of, signal_in
from tpufft.steps import Exchange, Local, Program, Step, Twiddle

POINTS = 1 << 23
"""Of the array whose transforms are timed, over all devices: 64 MiB, which no cache holds."""

LENGTH = 1024
"""Of the transforms."""

CALLS = 7
"""Of each program, after one that compiles it; the median counts."""

SMALL = 8
"""Rows of a device's chunk where only the start is to be seen."""

LEAST = 2e-7
"""Seconds below which a difference of two times says nothing."""


@dataclass(frozen=True)
class Calibration:
    """What calibration found; made by :func:`tpufft.calibrate`. Prints as a table.

    Parameters
    ----------
    before, after : mapping
        Rates by name, as in the cost model: what it assumed, and what was measured.
    seconds : float
        How long it took.
    """

    before: Mapping[str, float]
    after: Mapping[str, float]
    seconds: float

    def __str__(self) -> str:
        lines = [f"{len(self.after)} rates measured in {format_seconds(self.seconds)}"]
        lines += [f"{name:<18} {self.before[name]:>10.3g} -> {rate:.3g}" for name, rate in self.after.items()]
        return "\n".join(lines)


def calibrate(
    mesh: AnyMesh | None = None,
    *,
    keep: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> Calibration:
    """Measure the rates by which the cost model chooses, on all devices at once, and keep them as wisdom.

    From then on every plan on as many devices of this machine is chosen by them, in this process and in later ones.

    Parameters
    ----------
    mesh : Mesh, optional
        Whose devices are measured. Default: all devices.
    keep : bool, default True
        Whether the rates are written into the wisdom file.
    progress : callable, optional
        Called as ``progress(done, all)`` between two programs.

    Returns
    -------
    Calibration
        The rates, before and after.

    Raises
    ------
    LayoutError
        For a mesh without devices, or a job of several processes.
    FileFormatError
        If the wisdom file is damaged and `keep` is on: it is not overwritten. Found before anything is timed.

    Notes
    -----
    Transforms, passes over memory and exchanges of 64 MiB in all are timed, seven times each, and small ones for the
    time that they take to start: some ten seconds on two cores. Rates are kept by machine, number of devices, and
    versions of JAX, tpufft and the local FFT library.

    Examples
    --------
    >>> import tpufft
    >>> found = tpufft.calibrate(keep=False)
    >>> found.after["fft_flops"] > 0
    True
    """
    asked = default_mesh() if mesh is None else checked_mesh(mesh)
    if not isinstance(asked, Mesh):
        raise LayoutError("the mesh is only described; calibration times devices that there are")
    if jax.process_count() > 1:
        raise LayoutError(
            f"calibration in a job of {jax.process_count()} processes: each would measure something else; calibrate in "
            "one process on as many devices, and start the job with that wisdom"
        )
    if keep:
        wisdom.check_writable()
    began = time.monotonic()
    flat = Mesh(asked.devices.reshape(-1), ("x",))
    machine = machine_of(flat)
    rates = _Rates(flat, machine, progress).measured()
    found = Calibration({name: float(getattr(machine, name)) for name in rates}, rates, time.monotonic() - began)
    if keep:
        wisdom.add(wisdom.Wisdom(machines={wisdom.machine_key(flat): rates}))
        forget()
    return found


class _Rates:
    """One calibration."""

    def __init__(self, mesh: Mesh, machine: Machine, progress: Callable[[int, int], None] | None) -> None:
        self._mesh, self._machine, self._progress = mesh, machine, progress
        self._has_host = KERNELS["host"].is_for(mesh_platform(mesh)) and KERNELS["host"].is_usable()
        measured = 3 + 2 * self._has_host + 2 * (mesh.size > 1) + bool(machine.shared_bandwidth)
        self._done, self._count = 0, 2 + 2 * measured

    def measured(self) -> dict[str, float]:
        """Every rate that these devices have, by its name in ``Machine``."""
        size = self._mesh.size
        rows = max(POINTS // LENGTH // size, size) * size
        large, tall = self._layout((rows, LENGTH), 0), self._layout((LENGTH, rows), 1)
        small = self._layout((SMALL * size, SMALL * size), 0)
        found: dict[str, float] = {}

        along = Local((1,), False, 1.0, "xla")
        seconds = self._of_one(along, large)
        found["fft_flops"] = step_flops(along, large) / seconds
        found["strided_penalty"] = max(1.0, self._of_one(Local((0,), False, 1.0, "xla"), tall) / seconds)
        product = Local((1,), False, 1.0, "matmul")
        # The model takes half the rate for radices that fill the width.
        found["matmul_flops"] = 2.0 * step_flops(product, large) / self._of_one(product, large)
        twiddle = Twiddle(0, 1, rows * LENGTH, False)
        seconds = self._time((twiddle,), large) - self._time((twiddle,), small)
        found["memory_bandwidth"] = memory_passes(twiddle, large) * large.chunk_bytes / max(seconds, LEAST)
        if self._has_host:
            library = Local((1,), False, 1.0, "host")
            found["library_flops"] = step_flops(library, large) / self._of_one(library, large)
            found["call_latency"] = self._of_one(library, small)
        else:
            found["library_flops"] = found["fft_flops"]
        if size > 1:
            found |= self._wire(small, large, found["memory_bandwidth"])
        return {name: found[name] for name in RATES if name in found}

    def _wire(self, small: Layout, large: Layout, memory: float) -> dict[str, float]:
        """Rates of exchanges: what is left of their time besides the passes over memory that the model counts."""
        size = self._mesh.size
        exchange = Exchange(("x",), 0, 1)
        latency = self._of_one(exchange, small)
        packing = memory_passes(exchange, large) * large.chunk_bytes / memory
        # Where packing takes all the time, the wire takes next to none.
        least = large.chunk_bytes / memory / 10
        seconds = max(self._of_one(exchange, large) - latency - packing, least)
        found = {"latency": latency, "wire_bandwidth": large.chunk_bytes * (size - 1) / size / seconds}
        if self._machine.shared_bandwidth:
            seconds = self._of_one(Exchange(("x",), 0, 1, shared=True), large) - 2 * latency
            found["shared_bandwidth"] = large.chunk_bytes / max(seconds, least)
        return found

    def _layout(self, shape: tuple[int, int], split: int) -> Layout:
        spec = tuple(("x",) if axis == split and self._mesh.size > 1 else () for axis in range(2))
        return Layout(shape, np.dtype(np.complex64), self._mesh, spec)

    def _of_one(self, step: Step, layout: Layout) -> float:
        """Seconds of one step within a program: what two more take, there and back."""
        back = step.transposed(layout)
        return max(self._time((step, back, step), layout) - self._time((step,), layout), LEAST) / 2

    def _time(self, steps: tuple[Step, ...], layout: Layout) -> float:
        program = Program(layout, steps)
        call, x = call_of(Bound(layout, program, program.out_layout)), signal_in(layout)
        seconds_of(call, x)
        found = statistics.median(seconds_of(call, x) for _ in range(CALLS))
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._count)
        return found
