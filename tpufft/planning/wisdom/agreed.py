"""The wisdom that this process plans by: the user's, or in a job of several processes that of process 0."""

from __future__ import annotations

import functools
import threading
from typing import Any

import jax

from tpufft.errors import LayoutError
from tpufft.planning.wisdom.store import Wisdom, current

LIMIT_MS = 60_000
"""How long to wait for process 0, which tells its wisdom at its own first plan."""

_NAME = "tpufft/wisdom"
_asking = threading.Lock()


def wisdom() -> Wisdom:
    """What to plan by.

    Raises
    ------
    LayoutError
        In a job of several processes, if process 0 does not tell its wisdom in time.
    """
    if not _is_job():
        return current()
    with _asking:
        return _told()


def _is_job() -> bool:
    # Asking JAX for its process count would start its backend.
    return jax.distributed.is_initialized() and jax.process_count() > 1


@functools.cache
def _told() -> Wisdom:
    """Process 0's, through the job's coordinator; once, so that all plan alike to the end."""
    # Nothing public passes a text to the other processes without a program on all devices.
    from jax._src.distributed import global_state

    client: Any = global_state.client
    if jax.process_index() == 0:
        found = current()
        client.key_value_set(_NAME, found.dumps())
        return found
    try:
        text = client.blocking_key_value_get(_NAME, LIMIT_MS)
    except Exception as error:
        raise LayoutError(
            f"process {jax.process_index()} plans by the wisdom of process 0, which did not tell it within "
            f"{LIMIT_MS // 1000} s: every process of a job has to make the same plans ({error})"
        ) from error
    return Wisdom.loads(text, "the wisdom of process 0")
