"""The benchmark of products at tiny sizes: every contestant is right, memory and collectives are read, limits held."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))


def benchmarks(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)


def test_products_are_timed_checked_and_reported(tmp_path: Path) -> None:
    done = benchmarks("products", "--quick", "--dtypes", "complex64", "--sizes", "16", "--output", str(tmp_path))
    assert done.returncode == 0, done.stderr
    (path,) = tmp_path.glob("*.json")
    text = path.read_text()
    raw = json.loads(text)
    assert path.name == f"{raw['date'][:10]}-products-default.json"
    assert str(ROOT) not in text
    assert raw["versions"]["tpufft"]
    found = {
        case["kind"]: {result["name"]: result for result in case["results"]}
        for case in raw["cases"]
        if (case["size"], case["devices"], case["dtype"]) == (16, 4, "complex64")
    }
    assert {kind: list(results) for kind, results in found.items()} == {
        "rows": ["numpy", "xla", "ring", "bidirectional", "gather"],
        "gram": ["numpy", "xla", "ring", "gather"],
        "blocks": ["numpy", "xla", "summa"],
    }
    for result in (result for results in found.values() for result in results.values()):
        assert result["failed"] is None
        assert len(result["seconds"]) == 3
        assert result["error"] < 1e-6
        if result["name"] != "numpy":
            assert result["temp_bytes"] > 0
            assert result["peak_bytes"] > result["temp_bytes"]
            assert result["kept_chunking"]
    counted = {(kind, name): each[name]["collectives"] for kind, each in found.items() for name in each}
    assert counted["rows", "ring"] == counted["gram", "ring"] == {"collective-permute": 3}
    assert counted["rows", "gather"] == {"all-gather": 1}
    assert counted["gram", "gather"] == {"all-to-all": 1}
    assert set(counted["blocks", "summa"]) == {"collective-permute"}
    assert counted["rows", "numpy"] is None
    assert "### a.T @ b, both row-chunked, complex64" in done.stdout
    assert (tmp_path / "README.md").read_text().strip() == done.stdout.strip()


def test_limits_are_held_to_the_ring() -> None:
    from benchmarks.report.products import kept_limits

    chunk = 4096 * 4096 * 4 // 8

    def result(name: str, milliseconds: list[float], temporaries: float | None = None) -> dict[str, Any]:
        seconds = [1e-3 * value for value in milliseconds]
        bytes_ = (
            {} if temporaries is None else {"temp_bytes": temporaries * chunk, "peak_bytes": (temporaries + 3) * chunk}
        )
        return {"name": name, "failed": None, "seconds": seconds, **bytes_}

    case = {"kind": "rows", "size": 4096, "dtype": "float32", "devices": 8, "title": "A"}
    case["results"] = [
        result("numpy", [500]),
        result("xla", [700, 800, 900], 9.0),
        result("ring", [799, 800, 950], 3.6),
    ]
    assert list(kept_limits({"cases": [case]})) == [
        "A: 1.00x the time of xla, at most 1.1x wanted: pass",
        "A: 1.60x the time of numpy, at most 1.5x wanted: **FAIL**",
        "A: 3.60 chunks of temporaries, at most 3.5 wanted: **FAIL**",
        "A: peak 6.60 chunks, less than XLA's 12.00 wanted: pass",
    ]
    missing = {**case, "dtype": "complex64", "results": [result("numpy", [500])]}
    assert list(kept_limits({"cases": [missing]})) == [
        "A: at most 0.5x the time of xla wanted, not measured",
        "A: at most 1.5x the time of numpy wanted, not measured",
        "A: at most 7 chunks of temporaries wanted, not measured",
    ]
    assert list(kept_limits({"cases": [{**case, "size": 2048}]})) == []


def test_contestant_that_fails_is_reported_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks import products
    from benchmarks.client import WorkerError
    from benchmarks.report import markdown

    class Fake:
        def __init__(self, *_: object) -> None:
            self.alive, self.versions = True, {"tpufft": "0"}

        def ask(self, do: str, seconds: float, **arguments: Any) -> Any:
            if arguments.get("name") == "xla":
                self.alive = False
                raise WorkerError("no answer to 'run' within 120 s: killed")
            return {"error": 0.0} if do == "about" else 0.5

        def kill(self) -> None:
            self.alive = False

    monkeypatch.setattr(products, "Worker", Fake)
    options = products.Options(("rows",), (16,), ("float32",), (2,), ("numpy", "xla", "ring"), runs=2, pause=0.0)
    raw = products.measure(options, lambda line: None)
    assert [len(result["seconds"]) for result in raw["cases"][0]["results"]] == [2, 0, 2]
    assert "* rows 16^3 float32 on 2, `jax.jit(jnp.matmul)`, XLA-partitioned: no answer to 'run'" in markdown([raw])


def test_meshes_of_two_axes_are_as_square_as_they_can_be() -> None:
    from benchmarks.products import Case, Options

    grids = {count: Case("blocks", 64, "float32", count).grid for count in (2, 4, 8, 12, 7)}
    assert grids == {2: (2, 1), 4: (2, 2), 8: (4, 2), 12: (4, 3), 7: (7, 1)}
    kinds = [(case.kind, case.devices) for case in Options(sizes=(64,), dtypes=("float32",)).cases()]
    assert ("rows", 2) in kinds
    assert ("blocks", 2) not in kinds


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--cases", "columns"], "kinds: 'columns' is unknown; use some of rows, gram, blocks"),
        (["--contestants", "scipy"], "contestants: 'scipy' is unknown"),
        (["--dtypes", "int8"], "dtypes: 'int8' is unknown"),
        (["--sizes", "big"], "--sizes big: 'big' is no size"),
        (["--sizes", "10", "--devices", "4"], "size 10 does not divide over 4 devices"),
        (["--runs", "0"], "runs=0"),
        (["--environment", "warm"], "--environment warm is unknown"),
    ],
)
def test_bad_options_are_refused_before_anything_runs(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from benchmarks.__main__ import main

    assert main(["products", *arguments]) == 2
    assert message in capsys.readouterr().err
