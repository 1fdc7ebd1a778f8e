"""The command ``tpufft verify``: whether the plan of a transform computes it, on the devices that there are."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import tpufft
from tpufft.cli.progress import Bars
from tpufft.cli.question import Question
from tpufft.planning import Plan, Verification

FAILED = 3
"""The exit code for a plan that is wrong."""


def verify_plan(
    question: Question, *, rounds: int, seed: int, limit: float | None, output: str, check: Callable[[], None]
) -> bool:
    """Plan a transform, verify the plan, and print what was found; whether it passed.

    `check` is called between two tests, and may raise to end the work.
    """
    plan = question.plan()
    with Bars(shown=output != "nothing", check=check) as bars:
        found = tpufft.verify(plan, rounds=rounds, seed=seed, limit=limit, progress=bars.bar("verify"))
    if output == "json":
        print(json.dumps(as_data(plan, found), indent=2))
    elif output == "text":
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
