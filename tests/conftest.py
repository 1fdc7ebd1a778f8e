"""Eight CPU devices that cannot deadlock, 64-bit types on, and meshes of every kind."""

from __future__ import annotations

import gc
import itertools
import os
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

import jax
import pytest

import tpufft

# Nobody's own wisdom has a say in tests, nor in the processes that they start.
os.environ["TPUFFT_WISDOM"] = str(Path(tempfile.gettempdir()) / f"tpufft-tests-{os.getpid()}" / "wisdom.json")
tpufft.virtual_devices(8)
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_rank_promotion", "raise")


def values_of(item: pytest.Item) -> list[tuple[str, str]]:
    """The parameters of a test and the value of each; those in a row of a sample count one by one."""
    values: list[tuple[str, str]] = []
    for mark in item.iter_markers("parametrize"):
        names = mark.args[0].split(",") if isinstance(mark.args[0], str) else mark.args[0]
        given = [item.callspec.params[name.strip()] for name in names]
        if len(given) == 1 and isinstance(given[0], dict):
            values += [(name, repr(value)) for name, value in given[0].items()]
        else:
            values.append((str(mark.args[0]), repr(given)))
    return values


def left_out(items: list[pytest.Item]) -> list[pytest.Item]:
    """What is not needed for every value of every parameter to occur ``times`` times (once) among the rest."""
    (times,) = items[0].get_closest_marker("each_value").args or (1,)
    wanted = Counter({value: times for item in items for value in values_of(item)})
    wanted &= Counter(value for item in items for value in values_of(item))
    remaining = list(items)
    while +wanted:
        best = max(remaining, key=lambda item: sum(wanted[value] > 0 for value in values_of(item)))
        remaining.remove(best)
        wanted.subtract(values_of(best))
    return remaining


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave to ``make test-long`` what tests marked ``each_value`` do not need in order to see every value."""
    matrices = defaultdict(list)
    for item in items:
        if item.get_closest_marker("each_value") and not item.get_closest_marker("long"):
            matrices[item.nodeid.partition("[")[0]].append(item)
    for matrix in matrices.values():
        for item in left_out(matrix):
            item.add_marker("long")


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
