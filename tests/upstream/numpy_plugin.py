"""A pytest plugin: before numpy's tests are collected, ``numpy.fft`` becomes the transforms on a mesh."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import on_devices
import pytest

CALLS: Counter[str] = Counter()


def pytest_configure() -> None:
    namespace = on_devices.namespace()
    for name in np.fft.__all__:
        setattr(np.fft, name, _counted(getattr(np.fft, name), getattr(namespace, name)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    on_devices.report(terminalreporter, CALLS)


def _counted(original: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        CALLS["on the mesh"] += 1
        return function(*args, **kwargs)

    return call
