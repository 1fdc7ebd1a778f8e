"""The command ``tpufft verify``: whether the plan of a transform computes it, on the devices that there are."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import jax
import numpy as np
import typer
from jax.sharding import PartitionSpec
from rich.console import Console
from rich.table import Table

import tpufft
from tpufft.cli.devices import DEFAULT_CPU_DEVICES, make_mesh
from tpufft.cli.options import SpecEntries, mesh_sizes
from tpufft.cli.progress import Bars
from tpufft.planning import KINDS, Plan, Verification

FAILED = 3
"""The exit code for a plan that is wrong."""


@dataclass(frozen=True)
class Question:
    """What was asked for on the command line."""

    transform: str
    shape: tuple[int, ...]
    dtype: str | None = None
    axes: tuple[int, ...] | None = None
    sizes: tuple[int, ...] | None = None
    devices: int | None = None
    mesh: dict[str, int] | None = None
    spec: SpecEntries | None = None
    options: dict[str, Any] = field(default_factory=dict)
    rounds: int = 3
    seed: int = 0
    limit: float | None = None
    output: str = "text"


def verify_plan(question: Question, *, check: Callable[[], None]) -> bool:
    """Plan a transform, verify the plan, and print what was found; whether it passed.

    `check` is called between two tests, and may raise to end the work.
    """
    plan = _plan(question)
    with Bars(shown=question.output != "nothing", check=check) as bars:
        found = tpufft.verify(
            plan, rounds=question.rounds, seed=question.seed, limit=question.limit, progress=bars.bar("verify")
        )
    if question.output == "json":
        print(json.dumps(as_data(plan, found), indent=2))
    elif question.output == "text":
        _print(plan, found)
    return found.passed


def as_data(plan: Plan, found: Verification) -> dict[str, Any]:
    """What was found as plain data, as ``--json`` prints it."""
    return {
        "plan": str(plan).splitlines(),
        "passed": found.passed,
        "rounds": found.rounds,
        "seed": found.seed,
        # JSON has no infinity and no NaN.
        "checks": [
            asdict(one) | {"error": one.error if np.isfinite(one.error) else None, "passed": one.passed}
            for one in found.checks
        ],
    }


def parse_sizes(text: str, option: str) -> tuple[int, ...]:
    """``256,256`` as numbers.

    Raises
    ------
    typer.BadParameter
        For anything else.
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise typer.BadParameter(f"{option} {text!r} is no list of sizes; write numbers with commas, as 256,256")
    return tuple(map(int, parts))


def _print(plan: Plan, found: Verification) -> None:
    console = Console(highlight=False)
    console.print(str(plan), markup=False, soft_wrap=True)
    console.print()
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("test")
    for name in ("axis", "largest error", "limit"):
        table.add_column(name, justify="right")
    table.add_column("")
    for one in found.checks:
        verdict = "passed" if one.passed else "[bold red]FAILED[/]"
        axis = "all" if one.axis is None else str(one.axis)
        table.add_row(one.test, axis, f"{one.error:.1e}", f"{one.limit:.0e}", verdict)
    console.print(table)
    console.print(f"{'passed' if found else 'FAILED'} in {found.rounds} rounds from seed {found.seed}")


def _plan(question: Question) -> Plan:
    dtype = None if question.dtype is None else _dtype(question.dtype)
    if dtype is not None and dtype in (np.complex128, np.float64):
        jax.config.update("jax_enable_x64", True)
    automatic = question.devices is None and question.mesh is None
    sizes = mesh_sizes(question.devices, question.mesh, DEFAULT_CPU_DEVICES)
    spec = None if question.spec is None else PartitionSpec(*(names or None for names in question.spec))
    mesh = make_mesh(sizes, all_accelerators=automatic)
    try:
        return tpufft.plan(question.transform, question.shape, dtype, mesh, spec=spec, **_options(question))
    except TypeError as error:
        # Options that do not go with the transform: the caller's, not the command's.
        raise ValueError(str(error)) from error


def _options(question: Question) -> dict[str, Any]:
    """The transform's own options: one axis and length where it has one of each."""
    one = question.transform in KINDS and KINDS[question.transform].axes == "one"
    words = {"axes": "axis" if one else "axes", "sizes": "n" if one else "s"}
    found = dict(question.options)
    for option, values in (("axes", question.axes), ("sizes", question.sizes)):
        if values is not None and one and len(values) != 1:
            raise ValueError(f"--{option} has {len(values)} numbers; {question.transform} takes one")
        if values is not None:
            found[words[option]] = values[0] if one else values
    return found


def _dtype(text: str) -> np.dtype:
    try:
        return np.dtype(text)
    except TypeError:
        raise ValueError(f"--dtype {text!r} is no dtype; give one such as complex64 or float32") from None
