"""Waiting for other processes, no longer than agreed; and the end of all processes, with one message."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from tpufft.comm.mpi.world import mpi

DEFAULT_SECONDS = 60.0

EAGER_SECONDS = 2e-2
"""How long a wait asks without pause, whatever is moved."""

LEAST_RATE = 1e8
"""Bytes per second that a message between processes makes at least."""


@dataclass
class _Patience:
    """How long this process waits; None: as the environment says."""

    seconds: float | None = None


_PATIENCE = _Patience()


class Disagreement(Exception):  # noqa: N818 (never reaches a caller: it is what ends the job)
    """What processes did does not fit together."""


def timeout(seconds: float) -> None:
    """Set how long a call of this process waits for other processes before all are ended.

    Parameters
    ----------
    seconds : float
        Above 0; ``math.inf`` waits for ever. Without a call: the environment variable ``TPUFFT_MPI_TIMEOUT``, else 60.

    Raises
    ------
    ValueError
        For what is not above 0.

    Notes
    -----
    Holds for calls that are executed from now on, in programs that are compiled already too. It must exceed what
    processes compute, and compile, between two messages.

    Examples
    --------
    >>> from tpufft.comm import mpi
    >>> mpi.timeout(60)
    """
    _PATIENCE.seconds = _checked(seconds, "seconds")


def _checked(value: Any, name: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not number > 0:
        raise ValueError(f"{name}={value!r}; right is a number of seconds above 0")
    return number


def patience() -> float:
    """Seconds that a call waits."""
    if _PATIENCE.seconds is not None:
        return _PATIENCE.seconds
    return _checked(os.environ.get("TPUFFT_MPI_TIMEOUT", DEFAULT_SECONDS), "TPUFFT_MPI_TIMEOUT")


class Deadline:
    """The end of one call's time.

    Parameters
    ----------
    moved : int
        Bytes that the call sends and receives. MPI moves a piece of a long message each time that it is asked, so
        that one is asked without pause for as long as the bytes may take.
    """

    def __init__(self, moved: int = 0) -> None:
        self.seconds = patience()
        self.start = time.monotonic()
        self.eager = EAGER_SECONDS + moved / LEAST_RATE

    def wait(self, is_done: Callable[[], Any], late: Callable[[], str]) -> Any:
        """Ask until the answer is true.

        Raises
        ------
        Disagreement
            When time is up, with what `late` says.
        """
        while not (answer := is_done()):
            waited = time.monotonic() - self.start
            if waited > self.seconds:
                raise Disagreement(
                    f"{late()} within {self.seconds:g} s (tpufft.comm.mpi.timeout or TPUFFT_MPI_TIMEOUT sets the time)"
                )
            if waited < self.eager:
                os.sched_yield()  # processes that share a core let each other go on
            else:
                time.sleep(5e-5 if waited < 2 else 1e-3)
        return answer

    def complete(self, requests: Sequence[Any], late: Callable[[], str]) -> None:
        """Wait for non-blocking calls."""
        self.wait(lambda: mpi().Request.Testall(list(requests)), late)


def end_all(text: str) -> NoReturn:
    """Print one message and end the processes of the whole job."""
    # Of several processes that find the same fault, the first to speak ends the others before they do.
    time.sleep(min(0.5 * mpi().COMM_WORLD.Get_rank(), 3.0))
    sys.stderr.write(f"\n{text}\n")
    sys.stderr.flush()
    time.sleep(0.1)  # for the launcher to pass it on
    mpi().COMM_WORLD.Abort(1)
    os._exit(1)
