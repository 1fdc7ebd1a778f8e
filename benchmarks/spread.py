"""Middle and spread of repeated measurements."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import NamedTuple


class Spread(NamedTuple):
    """Least value, quartiles and greatest value."""

    least: float
    lower: float
    median: float
    upper: float
    greatest: float


def spread(values: Sequence[float]) -> Spread:
    """Five numbers that summarise the measurements."""
    if len(values) == 1:
        return Spread(*(values[0],) * 5)
    lower, median, upper = statistics.quantiles(values, n=4, method="inclusive")
    return Spread(min(values), lower, median, upper, max(values))
