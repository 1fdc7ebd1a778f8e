"""A pytest plugin: leaves out what a list names with its reason, and all but a fixed tenth where asked."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

LIST = "TPUFFT_UPSTREAM_LIST"
TENTH = "TPUFFT_UPSTREAM_TENTH"


def entries(path: Path) -> Iterator[tuple[str, str]]:
    """(pattern, reason): lines of the form ``pattern  # reason``; in a pattern ``*`` is any text."""
    for line in path.read_text(encoding="utf-8").splitlines():
        pattern, _, reason = line.partition("  # ")
        if pattern.strip() and not line.startswith("#"):
            yield pattern.strip(), reason.strip()


def matches(pattern: str, node: str) -> bool:
    """Whether a pattern names a test, parameters included; brackets are themselves."""
    return re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), node) is not None


def in_tenth(node: str) -> bool:
    """Whether a test belongs to the tenth: a property of its name alone, the same in every run."""
    # Of the ten parts this one has none of the three tests that compile five hundred sizes each.
    return zlib.crc32(node.encode()) % 10 == 8


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    patterns = [pattern for pattern, _ in entries(Path(os.environ[LIST]))]
    stale = [pattern for pattern in patterns if not any(matches(pattern, item.nodeid) for item in items)]
    out = [item for item in items if any(matches(pattern, item.nodeid) for pattern in patterns)]
    if os.environ.get(TENTH):
        out += [item for item in items if item not in out and not in_tenth(item.nodeid)]
    config.hook.pytest_deselected(items=out)
    left = set(out)
    items[:] = [item for item in items if item not in left]
    config.stash[_STALE] = stale


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for pattern in config.stash.get(_STALE, []):
        terminalreporter.write_line(f"names no test of this version: {pattern}")


_STALE = pytest.StashKey[list[str]]()
