"""Runs numpy's and scipy's own suites on 1, 2, 3 and 8 devices, a process for each."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy
import scipy

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PACKAGES = {"numpy": Path(numpy.__file__).parent, "scipy": Path(scipy.__file__).parent}
DEVICES = (1, 2, 3, 8)


def run(suite: str, devices: int, *, tenth: bool, timeout: float, more: tuple[str, ...] = ()) -> tuple[int, str]:
    """Run one suite in a process of its own.

    Returns
    -------
    tuple
        pytest's exit status (-1: out of time; 1 also where nothing was called on the mesh), and what it printed.
    """
    package = PACKAGES[suite]
    # The suites bring their own conftest.py and no settings; ours must not reach them.
    options = ["-c", os.devnull, f"--rootdir={package}", f"--confcutdir={package}", "-p", "no:cacheprovider", "-q"]
    plugins = ["-p", "selection", "-p", f"{suite}_plugin"]
    environment = os.environ | {
        "JAX_PLATFORMS": "cpu",
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "TPUFFT_UPSTREAM_DEVICES": str(devices),
        "TPUFFT_UPSTREAM_LIST": str(HERE / f"{suite}_deselected.txt"),
        "TPUFFT_UPSTREAM_TENTH": "1" if tenth else "",
    }
    command = [sys.executable, "-m", "pytest", *options, *plugins, *more, str(package / "fft" / "tests")]
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, text=True, timeout=timeout, check=False
            )
        except subprocess.TimeoutExpired as late:
            return -1, f"{_text(late.stdout)}\nout of time after {timeout:.0f} s"
    served = re.search(r"^calls: .*\d+ on the mesh", done.stdout, re.MULTILINE)
    return done.returncode or int(served is None), done.stdout + done.stderr


def _text(output: str | bytes | None) -> str:
    return output.decode(errors="replace") if isinstance(output, bytes) else output or ""


def main() -> int:
    """Run what was asked for; 0 if all passed."""
    parser = argparse.ArgumentParser(prog="python -m tests.upstream", description=__doc__)
    parser.add_argument("suite", nargs="?", default="all", choices=("all", *PACKAGES))
    parser.add_argument("--devices", type=int, action="append", help="how many; may be repeated (default 1, 2, 3, 8)")
    parser.add_argument("--tenth", action="store_true", help="a fixed tenth of the tests")
    parser.add_argument("--timeout", type=float, default=5400.0, help="seconds for one process")
    asked, more = parser.parse_known_args()
    worst = 0
    for suite in PACKAGES if asked.suite == "all" else (asked.suite,):
        for devices in asked.devices or DEVICES:
            status, output = run(suite, devices, tenth=asked.tenth, timeout=asked.timeout, more=tuple(more))
            print(f"== {suite} on {devices} device(s)")
            print(output if status else "\n".join(output.splitlines()[-3:]), flush=True)
            worst = worst or status
    return int(worst != 0)
