"""The long run of random calls: it counts, it reports every failure, and it goes on after it was killed."""

from __future__ import annotations

import json

import fuzz
import pytest
from random_calls import Call


@pytest.fixture
def checked(monkeypatch) -> list[Call]:
    """Calls are only listed, and those of one transform fail."""
    done: list[Call] = []

    def check(call: Call) -> str:
        done.append(call)
        if call.name == "dct":
            raise ValueError("as it should")
        return "listed"

    monkeypatch.setattr(fuzz, "check_call", check)
    return done


def test_a_run_counts_different_calls_and_prints_what_fails(checked, tmp_path):
    lines: list[str] = []
    failures = fuzz.run(120, 3, tmp_path, lines.append)
    assert len({call.text() for call in checked}) == len(checked) >= 120
    wrong = [call for call in checked if call.name == "dct"]
    assert failures == len(wrong) > 0
    printed = [line.split("--replay ")[1].strip("'") for line in lines if "--replay" in line]
    assert [Call.parse(text) for text in printed] == wrong


def test_a_run_goes_on_behind_the_last_whole_batch(checked, tmp_path):
    whole = tmp_path / "whole"
    fuzz.run(100, 0, whole, [].append)
    expected = [call.text() for call in checked]
    checked.clear()
    fuzz.run(50, 0, tmp_path, [].append)
    log = tmp_path / "seed-0.jsonl"
    log.write_bytes(log.read_bytes() + b'{"batch": 99, "ca')
    lines: list[str] = []
    fuzz.run(100, 0, tmp_path, lines.append)
    assert "going on" in lines[0]
    assert [call.text() for call in checked] == expected
    assert log.read_bytes() == (whole / "seed-0.jsonl").read_bytes()


def test_a_call_that_kills_the_process_twice_is_a_failure(checked, tmp_path):
    fuzz.run(5, 0, tmp_path, [].append)
    victim = checked[3].text()
    checked.clear()
    (tmp_path / "seed-0.jsonl").unlink()
    (tmp_path / "seed-0.running").write_text(json.dumps({"call": victim, "times": 2}))
    lines: list[str] = []
    assert fuzz.run(5, 0, tmp_path, lines.append) > 0
    assert victim not in [call.text() for call in checked]
    assert any("twice" in line and victim in line for line in lines)
    assert not (tmp_path / "seed-0.running").exists()
