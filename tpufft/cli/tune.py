"""The command ``tpufft tune``: candidates of a plan timed, or the rates of the cost model measured."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table

import tpufft
from tpufft.cli.devices import DEFAULT_CPU_DEVICES, make_mesh
from tpufft.cli.options import mesh_sizes
from tpufft.cli.progress import Bars
from tpufft.cli.question import Question
from tpufft.planning import Calibration, Plan, Tuning
from tpufft.planning.show import brief, format_seconds
from tpufft.planning.wisdom import path


def tune_plan(question: Question, *, budget: float, keep: bool, output: str, check: Callable[[], None]) -> None:
    """Time the candidates of a plan, keep the fastest, and print what was found.

    `check` is called between two calls, and may raise to end the work; nothing is kept then.
    """
    plan = question.plan()
    with Bars(shown=output != "nothing", check=check) as bars:
        found = tpufft.tune(plan, budget=budget, keep=keep, progress=bars.bar("tune"))
    if output == "json":
        print(json.dumps(as_data(found) | _kept(keep), indent=2))
    elif output == "text":
        _print(plan, found)
        _print_kept(keep)


def calibrate_devices(
    devices: int | None, mesh: dict[str, int] | None, *, keep: bool, output: str, check: Callable[[], None]
) -> None:
    """Measure the rates of the devices, keep them, and print them."""
    automatic = devices is None and mesh is None
    where = make_mesh(mesh_sizes(devices, mesh, DEFAULT_CPU_DEVICES), all_accelerators=automatic)
    with Bars(shown=output != "nothing", check=check) as bars:
        found = tpufft.calibrate(where, keep=keep, progress=bars.bar("calibrate"))
    if output == "json":
        rates = {"before": dict(found.before), "after": dict(found.after), "seconds": found.seconds}
        print(json.dumps(rates | _kept(keep), indent=2))
    elif output == "text":
        _print_rates(found, where.size)
        _print_kept(keep)


def as_data(found: Tuning) -> dict[str, Any]:
    """What was found as plain data, as ``--json`` prints it."""
    return {
        "plan": str(found.plan).splitlines(),
        "gain": found.gain,
        "seconds": found.seconds,
        "skipped": found.skipped,
        "candidates": [
            {
                "steps": brief(one.plan.bound.program),
                "seconds": one.seconds,
                "predicted_seconds": one.plan.predict(),
                "calls": one.calls,
                "is_models_choice": one is found.chosen,
            }
            for one in found.timings
        ],
    }


def _kept(keep: bool) -> dict[str, Any]:
    return {"wisdom": str(path()) if keep else None}


def _print(plan: Plan, found: Tuning) -> None:
    console = Console(highlight=False, soft_wrap=True)
    console.print(str(plan).splitlines()[0], markup=False)
    console.print()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("median", "predicted", "calls"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("steps", overflow="fold")
    for one in found.timings:
        mark = "  [dim](the model's choice)[/]" if one is found.chosen else ""
        steps = ", ".join(brief(one.plan.bound.program))
        table.add_row(format_seconds(one.seconds), format_seconds(one.plan.predict()), str(one.calls), steps + mark)
    Console(highlight=False).print(table)
    console.print()
    left_out = f", {found.skipped} left out for want of time" if found.skipped else ""
    console.print(f"{len(found.timings)} candidates timed in {format_seconds(found.seconds)}{left_out}")
    console.print(f"the model's choice takes {found.gain:.2f} times as long as the fastest")


def _print_rates(found: Calibration, count: int) -> None:
    console = Console(highlight=False)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("rate of one device")
    table.add_column("before", justify="right")
    table.add_column("measured", justify="right")
    for name, rate in found.after.items():
        table.add_row(name.replace("_", " "), f"{found.before[name]:.3g}", f"{rate:.3g}")
    console.print(table)
    console.print(f"{len(found.after)} rates of {count} devices measured in {format_seconds(found.seconds)}")


def _print_kept(keep: bool) -> None:
    print(f"kept in {path()}" if keep else "not kept")
