"""The race: every contestant in its own process, called in turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks import store
from benchmarks.cases import CASES, Case
from benchmarks.environment import variables
from benchmarks.turns import Turns, running, take_turns


@dataclass(frozen=True)
class Options(Turns):
    """What is raced, and how often."""

    cases: tuple[str, ...] = CASES


def race(options: Options, say: Callable[[str], None]) -> dict[str, Any]:
    """Race all cases, one after the other, and return the raw results.

    Parameters
    ----------
    options : Options
        What is raced.
    say : callable
        Takes lines that tell how far it is.
    """
    raw = store.header(f"speed-{options.environment}")
    raw["settings"] = asdict(options)
    raw["environment"] = {str(count): variables(count, options.environment) for count in options.devices}
    raw["cases"] = []
    with running(options, say) as runners:
        for name in options.cases:
            raw["cases"] += take_turns([Case.parse(name)], runners, options, say)
        raw["contestants"] = [runner.describe() for runner in runners]
    return raw
