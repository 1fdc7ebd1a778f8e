"""What wisdom is kept by: machine, libraries, and the class of shapes that a choice is good for."""

from __future__ import annotations

import dataclasses
import functools
import importlib.metadata
import platform
import sys
from collections.abc import Mapping
from pathlib import Path

import jax
from jax.sharding import Mesh

from tpufft.kernels import host
from tpufft.layout import Layout, format_spec
from tpufft.meshes import AnyMesh, host_cores
from tpufft.planning.problem import Problem
from tpufft.steps import Pad, Program, Step, Trim

_TELLING = (
    "axis",
    "axes",
    "source",
    "target",
    "names",
    "kernel",
    "rows",
    "columns",
    "both_ways",
    "kind",
    "to_real",
    "shared",
)
"""The fields of steps that tell two ways apart; the others follow from sizes."""


def fingerprint(mesh: AnyMesh) -> str:
    """The machine and the number of its devices."""
    if isinstance(mesh, Mesh):
        device = mesh.devices.flat[0]
        named = _named(device.platform, device.device_kind)
    else:
        named = f"described {getattr(mesh.abstract_device, 'device_kind', None)}"
    return f"{named} x {mesh.size}"


@functools.cache
def processor() -> str:
    """The processor's name, as the system tells it."""
    if sys.platform.startswith("linux"):
        try:
            for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
                if line.lower().startswith(("model name", "hardware")):
                    return line.split(":", 1)[1].strip()
        except OSError:
            pass
    return platform.processor() or platform.machine()


@functools.cache
def versions() -> Mapping[str, str]:
    """Of everything that the speed of a plan depends on."""
    found = {name: importlib.metadata.version(name) for name in ("jax", "jaxlib")}
    try:
        found["tpufft"] = importlib.metadata.version("tpufft")
    except importlib.metadata.PackageNotFoundError:  # run from a folder, not installed
        found["tpufft"] = "not installed"
    if host.missing() is None:
        found["host"] = host.library().version
    return found


def machine_key(mesh: AnyMesh) -> str:
    """What the rates of a machine are kept by."""
    return " | ".join([fingerprint(mesh), *_versions()])


def is_current(kept_by: str) -> bool:
    """Whether what is kept by such a key is of this machine and of the versions installed, and so may be used."""
    parts = kept_by.split(" | ")
    count = len(_versions())
    own = {_named(device.platform, device.device_kind) for device in jax.devices()}
    return parts[-count:] == _versions() and parts[-count - 1].rpartition(" x ")[0] in own


def _named(platform: str, kind: str) -> str:
    return f"{platform} {kind}" + (f" ({processor()}, {host_cores()} cores)" if platform == "cpu" else "")


def _versions() -> list[str]:
    return [f"{name} {version}" for name, version in sorted(versions().items())]


def key(problem: Problem, before: Layout, after: Layout) -> str:
    """What a choice is kept by: everything that decides it, batch axes to the next power of two."""
    transformed = set(problem.transformed_axes)
    lengths = [
        str(size) if axis in transformed else f"~{1 << max(size - 1, 0).bit_length()}"
        for axis, size in enumerate(before.shape)
    ]
    operations = ",".join(f"{type(one).__name__}:{one.axis}:{one.result}" for one in problem.operations)
    parts = [
        problem.name,
        str(problem.dtype),
        "x".join(lengths),
        operations,
        format_spec(before.spec),
        format_spec(after.spec),
        problem.order,
        problem.method,
        problem.kernel,
        str(problem.precision),
        ",".join(f"{name}={size}" for name, size in before.mesh.shape.items()),
        fingerprint(before.mesh),
        *_versions(),
    ]
    return " | ".join(parts)


def signature(program: Program) -> tuple[str, ...]:
    """Steps without sizes and what follows from them, so that one way has one signature for all shapes of a class."""
    return tuple(_sign(step) for step in program.steps if not isinstance(step, Pad | Trim))


def _sign(step: Step) -> str:
    told = [
        f"{field.name}={_plain(getattr(step, field.name))}"
        for field in dataclasses.fields(step)  # type: ignore[arg-type]
        if field.name in _TELLING
    ]
    return " ".join([type(step).__name__, *told])


def _plain(value: object) -> str:
    return "+".join(map(str, value)) if isinstance(value, tuple) else str(value)
