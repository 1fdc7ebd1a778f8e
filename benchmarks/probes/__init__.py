"""What the measurements beside the race run inside a worker process."""

from __future__ import annotations

from typing import Any

#: Names a worker takes beside the contestants.
PROBES = (
    "accuracy-probe",
    "choice-probe",
    "compilation-probe",
    "dispatch-probe",
    "overhead-probe",
    "products-probe",
    "scipy-accuracy-probe",
)


def probe(name: str, devices: int) -> Any:
    """The object behind a probe's name; its library is imported here."""
    if name == "scipy-accuracy-probe":
        from benchmarks.probes.accuracy import ScipyAccuracy

        return ScipyAccuracy()
    if name == "accuracy-probe":
        from benchmarks.probes.accuracy import TpufftAccuracy

        return TpufftAccuracy(devices)
    if name == "choice-probe":
        from benchmarks.probes.choice import Choice

        return Choice(devices)
    if name == "compilation-probe":
        from benchmarks.probes.compilation import Compilation

        return Compilation(devices)
    if name == "dispatch-probe":
        from benchmarks.probes.dispatch import Dispatch

        return Dispatch(devices)
    if name == "products-probe":
        from benchmarks.probes.products import Products

        return Products(devices)
    from benchmarks.probes.overhead import Overhead

    return Overhead(devices)
