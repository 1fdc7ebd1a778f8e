"""What the cost model chooses, and how long that and the other candidates take."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.cases import Case
from benchmarks.contestants.jax_common import PACKAGES, auto_mesh
from benchmarks.machine import package_version


class Choice:
    """Plans of cases on one mesh, chunked along the first axis, by wisdom that is this process' own."""

    def __init__(self, devices: int) -> None:
        import tpufft

        self._folder = tempfile.TemporaryDirectory()
        os.environ["TPUFFT_WISDOM"] = str(Path(self._folder.name) / "wisdom.json")
        self.tpufft: Any = tpufft
        self.mesh = auto_mesh((devices,), ("x",))

    def version(self) -> dict[str, str | None]:
        """Versions of what is measured."""
        return {name: package_version(name) for name in ("tpufft", *PACKAGES, "mkl")}

    def tune(self, case: str, budget: float) -> dict[str, Any]:
        """Every candidate that there was time for, and which of them is the model's choice."""
        found = self.tpufft.tune(self._plan(case), budget=budget, keep=False)
        candidates = [
            {"key": _key(one.plan), "seconds": one.seconds, "predicted": one.plan.predict(), "calls": one.calls}
            for one in found.timings
        ]
        return {"default": _key(found.chosen.plan), "candidates": candidates, "skipped": found.skipped}

    def calibrate(self) -> dict[str, float]:
        """Measure the rates and plan by them from now on."""
        return dict(self.tpufft.calibrate(self.mesh).after)

    def choice(self, case: str) -> str:
        """What the model chooses now."""
        return _key(self._plan(case))

    def _plan(self, name: str) -> Any:
        case = Case.parse(name)
        return self.tpufft.plan(case.transform, case.input_shape, case.dtype, self.mesh)


def _key(plan: Any) -> str:
    from tpufft.planning.show import brief

    return ", ".join(brief(plan.bound.program))
