"""What both plugins need: a process with so many devices, and a count of the calls that were served."""

from __future__ import annotations

import os
from collections import Counter

import jax
import numpy as np
import pytest
from jax.sharding import Mesh

import tpufft
from tpufft.namespace import Namespace, on

DEVICES = "TPUFFT_UPSTREAM_DEVICES"


def namespace() -> Namespace:
    """The transforms on as many CPU devices as the environment says, in double where asked, NumPy in and out."""
    count = int(os.environ[DEVICES])
    tpufft.virtual_devices(count)
    jax.config.update("jax_enable_x64", True)
    return on(Mesh(np.array(jax.devices()[:count]), ("x",)), output="numpy")


def report(terminal: pytest.TerminalReporter, calls: Counter[str]) -> None:
    """One line that the runner reads: without calls the suite has tested nothing of this package."""
    terminal.write_line("calls: " + (", ".join(f"{count} {where}" for where, count in calls.items()) or "0"))
