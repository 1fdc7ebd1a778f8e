"""What every contestant offers to the worker process that holds it."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from benchmarks.cases import Case
from benchmarks.machine import package_version


class Contestant:
    """One way to compute a transform along all axes in single precision.

    The library is imported when an instance is made: an ImportError there leaves the contestant out of the race.

    Parameters
    ----------
    devices : int
        Forced host devices of the process.
    """

    #: What tables call it.
    label: ClassVar[str]
    #: Distributions whose versions are kept with the results.
    packages: ClassVar[tuple[str, ...]]
    #: Whether the array is chunked over the devices; otherwise it runs once, whatever the device count.
    chunked: ClassVar[bool] = False
    #: Whether it takes an array whose chunks are not equal.
    uneven: ClassVar[bool] = False
    #: Transforms it has.
    transforms: ClassVar[tuple[str, ...]] = ("fftn",)
    #: Ranks it can transform; None for any.
    ranks: ClassVar[tuple[int, ...] | None] = None

    def __init__(self, devices: int) -> None:
        self.devices = devices
        self.output: Any = None

    def prepare(self, case: Case, values: np.ndarray) -> None:
        """Make everything that is not timed: input in place, plan, compiled program."""
        raise NotImplementedError

    def run(self) -> None:
        """Transform once into ``self.output`` and return when that is done: the timed body."""
        raise NotImplementedError

    def forget_output(self) -> None:
        """Drop the last output, so that freeing it is not timed."""
        self.output = None

    def result(self) -> np.ndarray:
        """The last output in natural order."""
        return np.asarray(self.output)

    def version(self) -> dict[str, str | None]:
        """Versions of what is measured."""
        return {name: package_version(name) for name in self.packages}

    def peak_bytes(self) -> int | None:
        """Peak of a device by the compiled program's own analysis; None where there is no such program."""
        return None

    def notes(self) -> dict[str, object]:
        """What else belongs to the raw data: threads, meshes tried, shardings, plans."""
        return {}

    @classmethod
    def takes(cls, case: Case, devices: int) -> bool:
        """Whether it can run the case at all."""
        if case.transform not in cls.transforms or (cls.ranks is not None and len(case.shape) not in cls.ranks):
            return False
        return not cls.chunked or cls.uneven or case.divides(devices)
