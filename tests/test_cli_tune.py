"""The commands ``tpufft tune`` and ``tpufft wisdom``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tpufft
from tpufft.cli import main
from tpufft.planning import wisdom
from tpufft.planning.request import forget
from tpufft.planning.wisdom import store

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Call the command in this process, in a folder with wisdom of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(store.VARIABLE, str(tmp_path / "wisdom.json"))

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["tpufft", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        captured = capsys.readouterr()
        assert isinstance(end.value.code, int)
        return end.value.code, captured.out, captured.err

    forget()
    yield call
    forget()


VOLUME = ("tune", "--transform", "fftn", "--shape", "16,16,8", "--budget", "0.5")


def test_a_transform_is_tuned_listed_moved_and_forgotten(here: Command, tmp_path: Path) -> None:
    code, out, err = here(*VOLUME)
    assert (code, err) == (0, "")
    assert "fftn complex64 (16, 16, 8) on mesh x=8" in out
    assert "the model's choice" in out
    assert f"kept in {tmp_path / 'wisdom.json'}" in "".join(out.splitlines())
    code, out, _ = here("wisdom", "list")
    assert code == 0
    assert "1 plans, 0 calibrations" in out
    assert "yes" in out
    assert here("wisdom", "export", "copy.json")[0] == 0
    assert wisdom.read(tmp_path / "copy.json") == wisdom.read(tmp_path / "wisdom.json")
    assert here("wisdom", "clear", "--yes")[0] == 0
    assert not (tmp_path / "wisdom.json").exists()
    assert here("wisdom", "clear", "--yes")[0] == 0
    code, out, _ = here("wisdom", "import", "copy.json")
    assert (code, "1 plans and 0 calibrations merged" in out, "no effect" in out) == (0, True, False)
    code, out, _ = here("wisdom", "list", "--json")
    data = json.loads(out)
    assert [one["is_used_here"] for one in data["plans"]] == [True]


def test_json_tells_every_candidate(here: Command, tmp_path: Path) -> None:
    code, out, _ = here(*VOLUME, "--json", "--no-keep", "--mesh", "x=4,y=2", "--spec", "x,y,None")
    data = json.loads(out)
    assert code == 0
    assert data["wisdom"] is None
    assert len(data["candidates"]) >= 2
    assert sum(one["is_models_choice"] for one in data["candidates"]) == 1
    assert data["gain"] >= 1
    assert not (tmp_path / "wisdom.json").exists()


def test_calibration(here: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[tpufft.calibrate.__module__], "POINTS", 1 << 16)
    code, out, _ = here("tune", "--calibrate", "--devices", "2")
    assert (code, "fft flops" in out, "of 2 devices" in out) == (0, True, True)
    code, out, _ = here("tune", "--calibrate", "--devices", "2", "--json", "--no-keep")
    assert json.loads(out)["after"]["latency"] > 0
    code, out, _ = here("wisdom", "list")
    assert "0 plans, 1 calibrations" in out
    assert here("tune", "--calibrate", "--quiet", "--no-keep") == (0, "", "")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("tune", 2, "say what to tune"),
        ("tune --transform fftn", 2, "say what to tune"),
        ("tune --calibrate --transform fftn", 2, "measures devices"),
        ("tune --transform fftm --shape 8", 2, "--transform 'fftm' is unknown"),
        ("tune --transform fft --shape 8 --budget 0", 1, "budget=0.0"),
        ("tune --transform fft --shape 8 --type 2", 1, "type"),
        ("wisdom export copy.json", 1, "wisdom.json"),
        ("wisdom import none.json", 1, "none.json"),
    ],
)
def test_what_is_wrong_is_said(words: str, code: int, message: str, here: Command) -> None:
    found, out, err = here(*words.split())
    assert (found, out) == (code, "")
    assert message in " ".join(err.replace("\u2502", " ").split())


def test_a_damaged_file_is_reported_and_kept(here: Command, tmp_path: Path) -> None:
    target = tmp_path / "wisdom.json"
    target.write_text("{")
    for words in (VOLUME, ("wisdom", "list"), ("wisdom", "export", "copy.json"), ("tune", "--calibrate")):
        code, out, err = here(*words)
        assert (code, out) == (1, ""), words
        assert "wisdom.json is no wisdom: not JSON" in err
    (tmp_path / "other.json").write_text("[]")
    assert here("wisdom", "import", "other.json")[0] == 1
    assert target.read_text() == "{"
    assert here("wisdom", "clear", "--yes")[0] == 0
    assert here(*VOLUME, "--quiet") == (0, "", "")
