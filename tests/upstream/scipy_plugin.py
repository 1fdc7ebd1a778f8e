"""A pytest plugin: the transforms on a mesh become the backend of ``scipy.fft``; scipy's own stands behind it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import on_devices
import pytest
import scipy.fft

from tpufft.namespace import Namespace

CALLS: Counter[str] = Counter()
ONLY_SCIPY = (np.longdouble, np.clongdouble)


class Backend:
    """A namespace that counts, and hands nothing to scipy but what JAX has no dtype for."""

    __ua_domain__ = "numpy.scipy.fft"

    def __init__(self, namespace: Namespace) -> None:
        self.namespace = namespace

    def __ua_function__(self, method: Callable[..., Any], args: tuple, kwargs: Mapping[str, Any]) -> Any:
        result = self.namespace.__ua_function__(method, args, kwargs)
        if result is NotImplemented and np.asarray(args[0]).dtype not in ONLY_SCIPY:
            raise AssertionError(f"scipy.fft.{method.__name__} was not served")
        CALLS["left to scipy" if result is NotImplemented else "on the mesh"] += 1
        return result


def pytest_configure() -> None:
    scipy.fft.set_global_backend(Backend(on_devices.namespace()))
    # Being global, the mesh has taken the place of scipy's own backend; behind it, it serves the rest.
    scipy.fft.register_backend("scipy")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    on_devices.report(terminalreporter, CALLS)
