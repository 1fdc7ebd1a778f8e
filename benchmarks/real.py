"""Real, trigonometric and rough-size transforms, timed beside the complex one that they are compared with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks import store
from benchmarks.cases import Case
from benchmarks.environment import variables
from benchmarks.turns import Turns, running, take_turns

#: Cases that are timed together; the others of a group are compared with its first.
GROUPS = (
    ("256x256x256", "rfftn:256x256x256", "irfftn:256x256x256", "dctn:256x256x256", "251x251x251"),
    ("fft:1048576", "fft:1048573", "dct:1048576"),
    ("fft:4194304", "rfft:4194304", "irfft:4194304"),
)
#: The same at sizes that only show that everything works.
QUICK_GROUPS = (("16x16x16", "rfftn:16x16x16", "dctn:16x16x16"), ("fft:1024", "fft:1021", "irfft:1024"))

#: Largest ratio of tpufft's medians, case to first of its group, on 8 devices.
RATIO_LIMITS = {"rfftn:256x256x256": 0.6, "dctn:256x256x256": 0.9, "fft:1048573": 6.0}
#: Largest peak of a device, in chunks of the input, on 8 devices.
PEAK_LIMITS = {"fft:1048573": 12.0}
#: The device count for which limits are promised.
LIMITED_DEVICES = 8


@dataclass(frozen=True)
class Options(Turns):
    """What is timed, and how often."""

    contestants: tuple[str, ...] = ("scipy", "mkl", "xla-partitioned", "tpufft")
    devices: tuple[int, ...] = (LIMITED_DEVICES,)
    groups: tuple[tuple[str, ...], ...] = GROUPS


def measure(options: Options, say: Callable[[str], None]) -> dict[str, Any]:
    """Time all groups, one after the other, and return the raw results.

    Parameters
    ----------
    options : Options
        What is timed.
    say : callable
        Takes lines that tell how far it is.
    """
    raw = store.header(f"real-{options.environment}")
    raw["settings"] = asdict(options)
    raw["environment"] = {str(count): variables(count, options.environment) for count in options.devices}
    raw["groups"] = []
    with running(options, say) as runners:
        for group in options.groups:
            raw["groups"].append(take_turns([Case.parse(name) for name in group], runners, options, say))
        raw["contestants"] = [runner.describe() for runner in runners]
    return raw
