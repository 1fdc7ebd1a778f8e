"""The command ``tpufft info``: versions, devices, kernels, and which extras are missing."""

from __future__ import annotations

import importlib.metadata
import json
import platform
import sys
from collections.abc import Sequence
from typing import Any

import jax
from packaging.requirements import Requirement
from rich.console import Console
from rich.table import Table

import tpufft
from tpufft.kernels import KERNELS, host
from tpufft.meshes import host_cores

PACKAGES = ("jax", "jaxlib", "numpy", "scipy")
"""Whose versions are told besides our own and Python's."""


def as_data() -> dict[str, Any]:
    """All of it as plain data, as ``--json`` prints it; starts JAX's backend."""
    return {
        "versions": {"tpufft": tpufft.__version__, "python": platform.python_version()}
        | {name: importlib.metadata.version(name) for name in PACKAGES},
        "devices": _devices(),
        "cores": host_cores(),
        "kernels": _kernels(),
        "extras": _extras(),
    }


def print_info(*, as_json: bool) -> None:
    """Print it to standard output."""
    data = as_data()
    if as_json:
        print(json.dumps(data, indent=2))
        return
    console = Console(highlight=False, soft_wrap=True)
    console.print("  ".join(f"{name} {version}" for name, version in data["versions"].items()), markup=False)
    devices = ", ".join(f"{kind['count']} {kind['platform']} ({kind['kind']})" for kind in data["devices"])
    console.print(f"devices  {devices}; {data['cores']} cores", markup=False)
    _print_table(console, "kernel", [(one["name"], one["missing"] or one["library"]) for one in data["kernels"]])
    if data["extras"]:
        _print_table(console, "extra", [(one["name"], _remedy(one)) for one in data["extras"]])


def _print_table(console: Console, head: str, rows: Sequence[tuple[str, str]]) -> None:
    console.print()
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(head, no_wrap=True, min_width=max(map(len, (head, *(name for name, _ in rows)))))
    table.add_column("", overflow="fold")
    for name, text in rows:
        table.add_row(name, text)
    console.print(table, markup=False)


def _remedy(extra: dict[str, Any]) -> str:
    if not extra["missing"]:
        return "installed"
    return f"lacks {', '.join(extra['missing'])}: pip install 'tpufft[{extra['name']}]'"


def _devices() -> list[dict[str, Any]]:
    found: dict[tuple[str, str], int] = {}
    for device in jax.devices():
        key = (device.platform, device.device_kind)
        found[key] = found.get(key, 0) + 1
    return [{"platform": key[0], "kind": key[1], "count": count} for key, count in found.items()]


def _kernels() -> list[dict[str, Any]]:
    found = []
    for name, kernel in KERNELS.items():
        reason = kernel.missing()
        library = "tpufft's own products" if name == "matmul" else "the compiler's FFT"
        if name == "host" and reason is None:
            library = f"{host.library().version}, {host.library().where}"
        found.append({"name": name, "missing": reason, "library": None if reason else library})
    return found


def _extras() -> list[dict[str, Any]]:
    """The extras that are for users, each with those of its requirements that are not installed."""
    try:
        requirements = [Requirement(text) for text in importlib.metadata.requires("tpufft") or ()]
        extras = importlib.metadata.metadata("tpufft").get_all("Provides-Extra") or []
    except importlib.metadata.PackageNotFoundError:  # run from a folder, not installed
        return []
    return [
        {"name": extra, "missing": _lacking(extra, requirements)}
        for extra in extras
        if extra not in ("test", "bench", "docs")
    ]


def _lacking(extra: str, requirements: Sequence[Requirement]) -> list[str]:
    environment = {"extra": extra, "python_version": f"{sys.version_info[0]}.{sys.version_info[1]}"}
    wanted = [
        one
        for one in requirements
        if one.marker and one.marker.evaluate(environment) and not one.marker.evaluate(environment | {"extra": ""})
    ]
    lacking = []
    for one in wanted:
        if one.name == "tpufft":
            lacking += [text for inner in one.extras for text in _lacking(inner, requirements)]
            continue
        try:
            version = importlib.metadata.version(one.name)
        except importlib.metadata.PackageNotFoundError:
            lacking.append(str(one).split(";")[0].strip())
            continue
        if version not in one.specifier:
            lacking.append(f"{one.name}{one.specifier} (has {version})")
    return lacking
