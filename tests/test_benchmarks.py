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
    from benchmarks import speed, turns
    from benchmarks.client import NotInstalledError
    from benchmarks.report import markdown

    def refuse(name: str, *_: object) -> None:
        raise NotInstalledError("No module named 'mkl_fft'")

    monkeypatch.setattr(turns, "Worker", refuse)
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
    ("text", "title", "input_shape", "dtype", "size"),
    [
        ("4096", "1-D 2^12", (4096,), "complex64", 32768),
        ("fft:1021", "fft 1-D 1021", (1021,), "complex64", 8168),
        ("rfftn:8x8", "rfftn 2-D 8^2", (8, 8), "float32", 256),
        ("irfftn:8x6", "irfftn 2-D 8x6", (8, 4), "complex64", 256),
        ("dct:16", "dct 1-D 2^4", (16,), "float32", 64),
    ],
)
def test_case_is_a_transform_and_a_shape(
    text: str, title: str, input_shape: tuple[int, ...], dtype: str, size: int
) -> None:
    from benchmarks.cases import Case

    case = Case.parse(text)
    values = case.input()
    assert (case.name, case.title, values.shape, values.dtype) == (text, title, input_shape, dtype)
    assert case.bytes == values.nbytes == size


def test_contestants_take_what_they_have() -> None:
    from benchmarks.cases import Case
    from benchmarks.contestants import CONTESTANTS, contestant_class

    def takers(text: str) -> list[str]:
        return [name for name in CONTESTANTS if contestant_class(name).takes(Case.parse(text), 8)]

    assert takers("16x16x16") == list(CONTESTANTS)
    assert takers("rfft:1024") == ["numpy", "scipy", "mkl", "jnp", "xla-partitioned", "tpufft"]
    assert takers("dct:1021") == ["scipy", "jnp", "tpufft"]
    assert takers("dst:1024") == ["scipy", "tpufft"]


def test_real_transforms_are_timed_beside_the_complex_one(tmp_path: Path) -> None:
    wanted = ["--quick", "--cases", "fft:32,rfft:32,irfft:32,dct:13", "--contestants", "scipy,xla-partitioned,tpufft"]
    done = benchmarks("real", *wanted, "--environment", "default", "--output", str(tmp_path))
    assert done.returncode == 0, done.stderr
    (path,) = tmp_path.glob("*.json")
    raw = json.loads(path.read_text())
    assert path.name == f"{raw['date'][:10]}-real-default.json"
    (group,) = raw["groups"]
    assert [case["case"] for case in group] == ["fft:32", "rfft:32", "irfft:32", "dct:13"]
    assert [len(case["results"]) for case in group] == [3, 3, 2, 2]
    for result in (result for case in group for result in case["results"]):
        assert result["failed"] is None
        assert len(result["seconds"]) == 3
        assert result["error"] < 1e-6
    own = [result for case in group for result in case["results"] if result["name"] == "tpufft"]
    assert all(result["peak_bytes"] and result["notes"]["chunking_kept"] for result in own)
    assert "### Beside fft 1-D 2^5" in done.stdout
    assert done.stdout.strip() == benchmarks("report", str(path)).stdout.strip()


def test_real_report_holds_limits() -> None:
    from benchmarks.report.real import kept_limits

    def case(name: str, milliseconds: list[float], peak: int | None = None) -> dict[str, object]:
        result = {"name": "tpufft", "devices": 8, "failed": None, "seconds": [1e-3 * value for value in milliseconds]}
        return {"case": name, "title": name, "bytes": 800, "results": [{**result, "peak_bytes": peak}]}

    groups = [
        [case("256x256x256", [90, 100, 110]), case("rfftn:256x256x256", [50, 55, 90]), case("dctn:256x256x256", [])],
        [case("fft:1048576", [10]), case("fft:1048573", [70], peak=1210)],
    ]
    assert list(kept_limits({"groups": groups, "settings": {"devices": [8]}})) == [
        "rfftn:256x256x256 on 8 devices: 0.550x the time of 256x256x256, at most 0.6x wanted: pass",
        "dctn:256x256x256 on 8 devices: at most 0.9x the time of 256x256x256 wanted, not measured",
        "fft:1048573 on 8 devices: 7.00x the time of fft:1048576, at most 6x wanted: **FAIL**",
        "fft:1048573 on 8 devices: peak 12.1 chunks, at most 12 wanted: **FAIL**",
    ]
    assert list(kept_limits({"groups": groups, "settings": {"devices": [2]}})) == []


def test_case_of_a_process_that_was_started_again_is_not_timed() -> None:
    from benchmarks.contestants import contestant_class
    from benchmarks.worker import Race

    race = Race(contestant_class("numpy"), 1)
    with pytest.raises(RuntimeError, match="rfft:8 is not prepared"):
        race.run("rfft:8")


def test_compile_times_are_measured_and_reported() -> None:
    from benchmarks import compilation
    from benchmarks.report import markdown

    raw = compilation.measure(compilation.Options((2,), (), ((4, 5),), ()), lambda line: None)
    names = ["fft2", "ifft2", "rfft2", "irfft2", "hfft2", "ihfft2"]
    assert [result["transform"] for result in raw["results"]] == names
    for result in raw["results"]:
        assert result["failed"] is None
        assert result["compile_seconds"] > 0
        assert result["peak_chunks"] > 1
    assert "irfft2, complex64 4x3 to 4x5" in markdown([raw])


def test_every_named_transform_is_compiled() -> None:
    import tpufft
    from benchmarks.compilation import Options, wanted_plans

    names = {wanted["transform"] for wanted in wanted_plans(Options())}
    public = {name for name in tpufft.__all__ if name.rstrip("n2")[-2:] in ("ft", "ct", "st", "ht")}
    assert names == public - {"fftshift", "ifftshift", "restrict"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--cases", "16x"], "case '16x' is no shape"),
        (["--contestants", "fftw3"], "contestant 'fftw3' is unknown"),
        (["--cases", "fht:16"], "case 'fht:16' names no transform that is raced"),
        (["real", "--cases", "rfft:16x16"], "case 'rfft:16x16': rfft transforms one axis; use rfftn for 2"),
        (["real", "--cases", "irfft:15"], "case 'irfft:15': the last size of irfft is even here"),
        (["overhead", "--cases", "rfftn:16x16"], "--cases rfftn:16x16: the overhead is that of fftn"),
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
