"""Checks that several processes make together, each named once, and the report that every process writes."""

from __future__ import annotations

import faulthandler
import sys
from collections.abc import Callable
from pathlib import Path

import jax
import numpy as np

from tpufft.comm import mpi

CHECKS: dict[str, Callable[[], None]] = {}


def check(function: Callable[[], None]) -> Callable[[], None]:
    """Make a function one of the checks."""
    CHECKS[function.__name__] = function
    return function


def data(rank: int, *shape: int, seed: int = 0) -> np.ndarray:
    """What a process has: all processes can work out everybody's."""
    return np.random.default_rng([seed, rank]).standard_normal(shape)


def everyone(*shape: int, seed: int = 0) -> np.ndarray:
    """What all processes have, a row each."""
    return np.stack([data(rank, *shape, seed=seed) for rank in range(mpi.size())])


def run(seconds: float = 200.0) -> None:
    """Make all checks in order, those named in ``argv[2:]`` or all; a line in ``argv[1]/RANK`` for each that holds."""
    faulthandler.dump_traceback_later(seconds, exit=True)
    jax.config.update("jax_enable_x64", True)
    with (Path(sys.argv[1]) / str(mpi.rank())).open("w", encoding="utf-8") as report:
        for name in sys.argv[2:] or CHECKS:
            CHECKS[name]()
            print(name, file=report, flush=True)
