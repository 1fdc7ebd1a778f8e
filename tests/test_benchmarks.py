"""The benchmark's own machinery at tiny sizes: one contestant, raw data, the table, and workers that fail."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))


def benchmarks(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    wanted = ["--quick", "--cases", "256,8x16", "--contestants", "numpy", "--environment", "kept-memory"]
    done = benchmarks(*wanted, "--output", str(folder))
    assert done.returncode == 0, done.stderr
    assert "2-D 8x16" in done.stdout
    return folder


def test_raw_file_holds_every_timing_and_where_it_comes_from(kept: Path) -> None:
    (path,) = kept.glob("*.json")
    raw = json.loads(path.read_text())
    assert path.name == f"{raw['date'][:10]}-speed-kept-memory.json"
    assert raw["environment"]["1"]["MALLOC_ARENA_MAX"] == "1"
    assert raw["machine"]["cores"] >= 1
    assert raw["contestants"][0]["versions"]["numpy"]
    for case in raw["cases"]:
        (result,) = case["results"]
        assert len(result["seconds"]) == 3
        assert result["error"] < 1e-6


def test_raw_file_names_no_path_of_the_machine(kept: Path) -> None:
    (path,) = kept.glob("*.json")
    text = path.read_text()
    assert str(ROOT) not in text
    assert sys.prefix not in text


def test_page_is_made_again_from_the_raw_file(kept: Path) -> None:
    page = (kept / "README.md").read_text()
    (path,) = kept.glob("*.json")
    assert page.strip() == benchmarks("report", str(path)).stdout.strip()
    assert "| numpy.fft | - |" in page


def test_missing_contestant_is_left_out_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks import speed
    from benchmarks.client import NotInstalledError
    from benchmarks.report import markdown

    def refuse(name: str, *_: object) -> None:
        raise NotInstalledError("No module named 'mkl_fft'")

    monkeypatch.setattr(speed, "Worker", refuse)
    raw = speed.race(speed.Options(cases=("16",), contestants=("mkl",), runs=1, pause=0.0), lambda line: None)
    assert raw["contestants"][0]["left_out"] == "not installed: No module named 'mkl_fft'"
    assert "* mkl: not installed: No module named 'mkl_fft'" in markdown([raw])


def test_worker_that_hangs_is_killed() -> None:
    from benchmarks.client import Worker, WorkerError

    hello = "import time; print('{\"ready\": {}}', flush=True); time.sleep(600)"
    worker = Worker("sleeper", command=[sys.executable, "-c", hello])
    start = time.monotonic()
    with pytest.raises(WorkerError, match=r"no answer to 'run' within 0\.3 s: killed"):
        worker.ask("run", 0.3)
    assert time.monotonic() - start < 10
    assert not worker.alive


def test_worker_that_dies_says_why() -> None:
    from benchmarks.client import Worker, WorkerError

    with pytest.raises(WorkerError, match=r"died at 'start' with exit code 3: out of luck"):
        Worker("mortal", command=[sys.executable, "-c", "import sys; print('out of luck', file=sys.stderr); exit(3)"])


def test_report_counts_losses_and_targets() -> None:
    from benchmarks.report.speed import losses, targets

    def result(name: str, devices: int, seconds: float) -> dict[str, object]:
        return {"name": name, "devices": devices, "failed": None, "seconds": [seconds]}

    case = {"case": "256x256x256", "title": "3-D 256^3", "bytes": 2**27}
    case["results"] = [result("mkl", 1, 0.1), result("xla-partitioned", 8, 1.0), result("tpufft", 8, 0.2)]
    contestants = [{"name": name, "chunked": name != "mkl"} for name in ("mkl", "xla-partitioned", "tpufft")]
    raw = {"cases": [case], "contestants": contestants, "settings": {"devices": [8]}}
    assert losses(raw) == ["3-D 256^3 on 8 devices: mkl (2.0x)"]
    assert list(targets(raw)) == ["3-D 256^3 on 8 devices: 5.00x, at least 4x wanted: pass"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--cases", "16x"], "case '16x' is no shape"),
        (["--contestants", "fftw3"], "contestant 'fftw3' is unknown"),
        (["--devices", "0"], "'0' is no device count"),
        (["--environment", "warm"], "--environment warm is unknown"),
        (["--runs", "0"], "--runs 0"),
        (["report", "absent.json"], "raw file absent.json cannot be read"),
    ],
)
def test_bad_options_are_refused_before_anything_runs(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from benchmarks.__main__ import main

    assert main(arguments) == 2
    assert message in capsys.readouterr().err
