"""A tenth of numpy's and scipy's own tests of their Fourier transforms, on eight devices, and the lists of the rest."""

from __future__ import annotations

from pathlib import Path

import pytest
from upstream import runner, selection

SUITES = tuple(runner.PACKAGES)
SECONDS = 600.0  # against a hang; a quiet machine takes a quarter of it


@pytest.mark.slow
@pytest.mark.parametrize("suite", SUITES)
def test_a_tenth_passes_on_eight_devices(suite: str) -> None:
    status, output = runner.run(suite, 8, tenth=True, timeout=SECONDS)
    assert status == 0, output


@pytest.mark.parametrize("suite", SUITES)
def test_what_is_left_out_says_why(suite: str) -> None:
    listed = list(selection.entries(Path(runner.HERE, f"{suite}_deselected.txt")))
    assert listed
    for pattern, reason in listed:
        assert pattern.startswith("fft/tests/"), pattern
        assert len(reason.split()) >= 4, f"{pattern}: {reason!r} is no reason"
        assert "fail" not in reason.lower(), f"{pattern}: why?"


def test_a_pattern_means_its_brackets() -> None:
    assert selection.matches("a.py::test*[long]", "a.py::test_x[long]")
    assert not selection.matches("a.py::test*[long]", "a.py::test_xl")
    assert not selection.matches("a.py::test", "a.py::test_x")


def test_the_tenth_is_about_one() -> None:
    names = [f"fft/tests/test_a.py::test_b[{number}]" for number in range(5000)]
    assert 400 < sum(map(selection.in_tenth, names)) < 600
