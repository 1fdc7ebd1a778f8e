"""Wisdom and tuning: what is timed is kept, used without asking, and never where it does not belong."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import oracle
import pytest
from helpers import free_port, mesh_of, random
from jax.sharding import AbstractMesh, Mesh
from jax.sharding import PartitionSpec as P

import tpufft
from tpufft.errors import FileFormatError, LayoutError
from tpufft.planning import wisdom
from tpufft.planning.machine import RATES, machine_of
from tpufft.planning.request import forget
from tpufft.planning.wisdom import keys, store

SHAPE = (16, 16, 8)
TWO = Mesh(np.array(jax.devices()[:2]), ("x",))


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An empty place for wisdom, forgotten afterwards."""
    target = tmp_path / "wisdom.json"
    monkeypatch.setenv(store.VARIABLE, str(target))
    store._read_once.cache_clear()
    forget()
    yield target
    forget()


def plan(shape: tuple[int, ...] = SHAPE, **options: Any) -> tpufft.Plan:
    return tpufft.plan("fftn", shape, np.complex64, mesh_of("x8"), **options)


def entry_for(asked: tpufft.Plan, winner: tpufft.Plan) -> wisdom.Wisdom:
    """Wisdom that says that `winner` is the fastest of what `asked` is a plan of."""
    key = wisdom.key(asked.problem, asked.in_layout, asked.out_layout)
    steps = wisdom.signature(winner.bound.program)
    return wisdom.Wisdom({key: wisdom.Entry("a plan", steps, 1e-3, 1.5, "2026-01-01", {"jax": "1"})})


def another(asked: tpufft.Plan) -> tpufft.Plan:
    """The model's second choice."""
    return asked.candidates[1]


# -- kept and used -----------------------------------------------------------------------------------------------


def test_the_fastest_is_kept_and_used_without_asking(file: Path) -> None:
    seen = []
    found = tpufft.tune(plan(), budget=3.0, progress=lambda done, budget: seen.append((done, budget)))
    assert found.plan.steps == min(found.timings, key=lambda one: one.seconds).plan.steps
    assert found.chosen in found.timings
    assert found.gain == found.chosen.seconds / found.timings[0].seconds >= 1
    assert all(0 <= done <= budget == 3.0 for done, budget in seen)
    assert plan().steps == found.plan.steps
    kept = wisdom.read(file)
    assert len(kept.entries) == 1
    (entry,) = kept.entries.values()
    assert entry.versions["jax"] == jax.__version__
    assert "the model's choice" in str(found)


def test_every_candidate_computes_the_transform() -> None:
    x = random(SHAPE, "complex64")
    expected = oracle.transform("fftn", x)
    found = tpufft.tune(plan(), budget=8.0, keep=False)
    ways = {one.plan.bound.program.steps for one in found.timings}
    assert len(ways) == len(found.timings) > 6
    for one in found.timings:
        error = np.linalg.norm(np.asarray(one.plan(x)) - expected) / np.linalg.norm(expected)
        assert error < 1e-6, one.plan


def test_nothing_is_kept_unless_wanted(file: Path) -> None:
    tpufft.tune(plan(), budget=0.1, keep=False)
    assert not file.exists()


def test_a_small_budget_times_the_models_choice_and_one_more() -> None:
    found = tpufft.tune(plan(), budget=1e-6, keep=False)
    assert len(found.timings) == 2
    assert found.skipped > 0
    assert "left out" in str(found)


def test_wisdom_decides(file: Path) -> None:
    model = plan()
    wisdom.add(entry_for(model, another(model)))
    forget()
    chosen = plan()
    assert chosen.steps == another(model).steps != model.steps
    assert chosen.candidates[0].steps == chosen.steps
    x = random(SHAPE, "complex64")
    np.testing.assert_allclose(tpufft.fftn(x, mesh_of("x8")), np.fft.fftn(x), atol=1e-4)
    assert file.exists()


def test_wisdom_of_a_shape_is_good_for_batches_up_to_the_next_power_of_two() -> None:

    def signature(batch: int) -> tuple[str, ...]:
        asked = plan((batch, 16, 8), axes=(1, 2), spec=P(None, "x"))
        return wisdom.signature(asked.bound.program)

    before = {batch: signature(batch) for batch in (8, 9, 13, 16, 17)}
    asked = plan((13, 16, 8), axes=(1, 2), spec=P(None, "x"))
    wanted = wisdom.signature(another(asked).bound.program)
    wisdom.add(entry_for(asked, another(asked)))
    forget()
    assert {batch: signature(batch) for batch in before} == before | dict.fromkeys((9, 13, 16), wanted)
    assert wanted not in (before[9], before[13])


def test_orders_do_not_depend_on_wisdom() -> None:
    before = plan(order="transposed")
    wisdom.add(entry_for(before, another(before)))
    forget()
    after = plan(order="transposed")
    assert after.out_layout == before.out_layout
    assert after.steps == another(before).steps


@pytest.mark.parametrize("what", ["jax", "jaxlib", "tpufft", "host"])
def test_wisdom_of_another_version_does_not_count(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = plan()
    wisdom.add(entry_for(model, another(model)))
    other = {**keys.versions(), what: "0.0.0"}
    monkeypatch.setattr(keys, "versions", lambda: other)
    forget()
    assert plan().steps == model.steps
    (key,) = wisdom.read(wisdom.path()).entries
    assert not keys.is_current(key)


@pytest.mark.parametrize(("name", "value"), [("processor", "another processor"), ("host_cores", 3)])
def test_wisdom_of_another_machine_does_not_count(name: str, value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = plan()
    wisdom.add(entry_for(model, another(model)))
    (key,) = wisdom.read(wisdom.path()).entries
    assert keys.is_current(key)
    monkeypatch.setattr(keys, name, lambda: value)
    forget()
    assert plan().steps == model.steps
    assert not keys.is_current(key)


def test_wisdom_of_a_way_that_is_none_any_more_does_not_count() -> None:
    model = plan()
    found = entry_for(model, model)
    wisdom.add(wisdom.Wisdom({key: replace(one, program=("Teleport",)) for key, one in found.entries.items()}))
    forget()
    assert plan().steps == model.steps


# -- the file ----------------------------------------------------------------------------------------------------

DAMAGED = {
    "not JSON": "{",
    "another format": '{"format": "other"}',
    "a list": "[]",
    "of a later version": '{"format": "tpufft wisdom", "version": 2}',
    "without entries": '{"format": "tpufft wisdom", "version": 1}',
    "a negative time": json.dumps(
        {
            "format": "tpufft wisdom",
            "version": 1,
            "machines": {},
            "entries": {
                "k": {"request": "", "program": [], "seconds": -1, "gain": 1, "date": "", "versions": {}},
            },
        }
    ),
    "rates that are words": json.dumps(
        {"format": "tpufft wisdom", "version": 1, "entries": {}, "machines": {"m": {"latency": "x"}}}
    ),
}


@pytest.mark.parametrize("text", DAMAGED.values(), ids=DAMAGED.keys())
def test_a_damaged_file_is_told_once_ignored_and_kept(text: str, file: Path, caplog: pytest.LogCaptureFixture) -> None:
    model = plan()
    file.write_text(text)
    forget()
    with caplog.at_level(logging.WARNING, "tpufft"):
        assert plan().steps == model.steps
        forget()
        plan()
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert str(file) in caplog.text
    began = []
    with pytest.raises(FileFormatError, match="wisdom"):
        tpufft.tune(plan(), budget=1.0, progress=lambda *_: began.append(1))
    with pytest.raises(FileFormatError, match="wisdom"):
        tpufft.calibrate(mesh_of("x8"), progress=lambda *_: began.append(1))
    with pytest.raises(FileFormatError, match="wisdom"):
        wisdom.add(wisdom.Wisdom())
    assert not began
    assert file.read_text() == text


def test_a_file_of_bytes(file: Path) -> None:
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileFormatError, match="not text"):
        wisdom.read(file)


def test_what_is_written_is_read() -> None:
    model = plan()
    found = entry_for(model, model).merged(wisdom.Wisdom(machines={"m": {"latency": 1e-3}}))
    assert wisdom.Wisdom.loads(found.dumps(), "a text") == found


def test_writers_at_the_same_time_lose_nothing(file: Path) -> None:
    program = textwrap.dedent(
        """
        import sys
        from tpufft.planning import wisdom
        for number in range(20):
            wisdom.add(wisdom.Wisdom(machines={f"{sys.argv[1]} {number}": {"latency": 1.0}}))
        """
    )
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(writer)], env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        )
        for writer in range(3)
    ]
    assert [writer.wait(120) for writer in writers] == [0, 0, 0]
    assert len(wisdom.read(file).machines) == 60


# -- jobs of several processes -----------------------------------------------------------------------------------

JOB = """
import sys
import jax
import numpy as np
import tpufft

jax.config.update("jax_num_cpu_devices", 1)
jax.distributed.initialize(f"127.0.0.1:{sys.argv[1]}", 2, int(sys.argv[2]))
mesh = jax.make_mesh((2,), ("x",))
print([str(step) for step in tpufft.plan("fftn", (16, 16, 8), np.complex64, mesh).steps])
try:
    tpufft.tune(tpufft.plan("fftn", (16, 16, 8), np.complex64, mesh))
except ValueError as error:
    print(error)
jax.distributed.shutdown()
"""


def test_a_job_plans_by_the_wisdom_of_process_0(tmp_path: Path) -> None:
    """Each process has another file; all make the plans of process 0's, and tuning is refused."""
    port = free_port()
    asked = tpufft.plan("fftn", SHAPE, np.complex64, TWO)
    sent = [way for way in asked.candidates if not any(getattr(step, "shared", False) for step in way.steps)]
    wanted = sent[-1]
    assert len(sent) > 1
    texts = [entry_for(asked, way).dumps() for way in (wanted, sent[0])]
    jobs = []
    for number, text in enumerate(texts):
        path = tmp_path / f"{number}.json"
        path.write_text(text)
        environment = os.environ | {
            store.VARIABLE: str(path),
            "PYTHONPATH": os.pathsep.join(sys.path),
            "JAX_PLATFORMS": "cpu",
        }
        environment.pop("XLA_FLAGS", None)
        jobs.append(
            subprocess.Popen(
                [sys.executable, "-c", JOB, str(port), str(number)], env=environment, stdout=subprocess.PIPE, text=True
            )
        )
    try:
        said = [job.communicate(timeout=120)[0].splitlines() for job in jobs]
    finally:
        for job in jobs:
            job.kill()
    assert [job.returncode for job in jobs] == [0, 0]
    assert said[0][0] == said[1][0] == str([str(step) for step in wanted.steps])
    assert all("2 processes" in lines[1] for lines in said)


# -- calibration -------------------------------------------------------------------------------------------------


def test_calibration_is_kept_and_used(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[tpufft.calibrate.__module__], "POINTS", 1 << 18)
    mesh = mesh_of("x8")
    before, seen = machine_of(mesh), []
    found = tpufft.calibrate(mesh, progress=lambda done, count: seen.append((done, count)))
    assert set(found.after) == {name for name in RATES if getattr(before, name)}
    assert all(0 < rate < np.inf for rate in found.after.values())
    assert found.before == {name: getattr(before, name) for name in found.after}
    assert seen == [(number + 1, len(seen)) for number in range(len(seen))]
    after = machine_of(mesh_of("x4y2"))
    assert {name: getattr(after, name) for name in found.after} == found.after
    assert machine_of(TWO) != after
    assert all(name in str(found) for name in found.after)


def test_rates_that_are_unknown_or_of_another_kind_of_machine_do_not_count() -> None:
    mesh = mesh_of("x8")
    lacking = replace(machine_of(mesh), shared_bandwidth=0.0)
    wisdom.add(wisdom.Wisdom(machines={wisdom.machine_key(mesh): {"unheard_of": 1.0, "shared_bandwidth": 1.0}}))
    assert machine_of(mesh).name == "host"
    described = AbstractMesh((8,), ("x",))
    assert machine_of(described) == replace(lacking, shared_bandwidth=0.0)


# -- bad input ---------------------------------------------------------------------------------------------------


def test_what_cannot_be_tuned() -> None:
    with pytest.raises(TypeError, match="no plan"):
        tpufft.tune("fftn")  # type: ignore[arg-type]
    for budget in (0, -1.0, float("nan"), True, "long"):
        with pytest.raises(ValueError, match="budget"):
            tpufft.tune(plan(), budget=budget)  # type: ignore[arg-type]
    described = AbstractMesh((8,), ("x",))
    with pytest.raises(ValueError, match="only described"):
        tpufft.tune(tpufft.plan("fftn", SHAPE, np.complex64, described))
    with pytest.raises(LayoutError, match="only described"):
        tpufft.calibrate(described)
    with pytest.raises(ValueError, match="nothing to time"):
        tpufft.tune(plan((0, 16, 8), axes=(1, 2)))


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(store.VARIABLE, str(tmp_path / "file" / "wisdom.json"))
    with pytest.raises(OSError, match="file"):
        tpufft.tune(plan(), budget=1.0)
