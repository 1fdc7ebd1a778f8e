"""Eight CPU devices that cannot deadlock, 64-bit types on, and meshes of every kind."""

from __future__ import annotations

import gc
import itertools
from pathlib import Path

import jax
import pytest

import tpufft

tpufft.virtual_devices(8)
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_rank_promotion", "raise")


@pytest.fixture(scope="session", autouse=True)
def eight_devices() -> None:
    assert jax.device_count() == 8


MAPS = Path("/proc/self/maps")
MOST_MAPS = 25_000
NUMBERS = itertools.count(1)


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Drop compiled programs before they use up a process' memory maps: Linux allows 65,530, and XLA dies of it."""
    if next(NUMBERS) % 50 == 0 and MAPS.exists() and MAPS.read_bytes().count(b"\n") > MOST_MAPS:
        jax.clear_caches()
        gc.collect()
