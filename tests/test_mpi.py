"""Messages between processes: programs under ``mpirun``, each a few processes with one device of their own."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from helpers import communicated

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "tests" / "mpi_programs"
# A wheel of MPI puts mpirun beside the interpreter.
MPIRUN = shutil.which("mpirun", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
CHECK = re.compile(r"^@check\ndef (\w+)", re.MULTILINE)
CHECKS = [
    name
    for module in ("messages", "collectives", "derivatives")
    for name in CHECK.findall((PROGRAMS / f"{module}.py").read_text(encoding="utf-8"))
]
CLEARED = ("XLA_FLAGS", "JAX_NUM_CPU_DEVICES", "JAX_ENABLE_X64", "TPUFFT_MPI_TIMEOUT")

needs_mpi = pytest.mark.skipif(
    MPIRUN is None or importlib.util.find_spec("mpi4py") is None, reason="needs mpi4py and mpirun: tpufft[test]"
)


@dataclass(frozen=True)
class Ended:
    """How a program ended."""

    code: int
    out: str
    error: str
    seconds: float


def mpirun(processes: int, program: str, *words: str, limit: float, **variables: str) -> Ended:
    """Run one of the programs; past the limit, all its processes are killed."""
    kept = {key: value for key, value in os.environ.items() if key not in CLEARED}
    environment = kept | {
        "JAX_PLATFORMS": "cpu",
        "NPROC": "4",
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)]),
        # More processes than cores, as root, in a container: Open MPI wants to be asked.
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        **variables,
    }
    command = [str(MPIRUN), "-n", str(processes), sys.executable, "-m", "mpi4py", str(PROGRAMS / program), *words]
    start = time.monotonic()
    code, out, error = communicated(command, environment, limit)
    return Ended(code, out, error, time.monotonic() - start)


@pytest.fixture(scope="module", params=(2, 4), ids="{} processes".format)
def reports(request, tmp_path_factory):
    """What held, by process, of all checks that as many processes made in one program; and how it ended."""
    folder = tmp_path_factory.mktemp("mpi")
    ended = mpirun(request.param, "all_checks.py", str(folder), limit=250)
    files = [folder / str(rank) for rank in range(request.param)]
    return [file.read_text().split() if file.exists() else [] for file in files], ended


@needs_mpi
@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKS)
def test_all_processes_find_that_it_holds(reports, name):
    held, ended = reports
    assert all(name in each for each in held), ended.error


@needs_mpi
@pytest.mark.slow
def test_a_program_ends_well(reports):
    assert reports[1].code == 0, reports[1].error


SHOWN = {"pair.py": "[0. 1. 4. 9.]\n", "shared.py": "19.0 38.0\n", "plain.py": "[0. 1. 4. 9.]\n"}


@needs_mpi
@pytest.mark.slow
@pytest.mark.parametrize(
    "program", ["pair.py", *(pytest.param(name, marks=pytest.mark.long) for name in SHOWN if name != "pair.py")]
)
def test_what_the_page_shows_prints_what_it_says(program):
    ended = mpirun(2, program, limit=60)
    assert (ended.code, ended.out) == (0, SHOWN[program]), ended.error


def test_the_page_shows_these_very_programs():
    page = (ROOT / "docs" / "mpi.md").read_text(encoding="utf-8")
    shown = re.findall(r"^```py\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert sorted(shown) == sorted((PROGRAMS / name).read_text(encoding="utf-8") for name in SHOWN)


WAITED, START = 3.0, 20.0
LONG = pytest.mark.long
FAULTS = [
    ("never sent", r"recv on rank 0 of 2: no message came from rank 1 with tag 5 \(float32\[3\].* within 3 s"),
    ("shape", r"recv on rank 0 of 2: the message from rank 1 with tag 5 is float32\[4\]; awaited is float32\[3\]"),
    (
        "collective shape",
        r"allreduce on rank [01] of 2: .*allreduce float32\[3\].* on rank 0; .*float32\[4\].* on rank 1",
    ),
    pytest.param(
        "collective without a peer",
        r"allreduce on rank 0 of 2: allreduce float32\[3\].*not all ranks .* within 3 s",
        marks=LONG,
    ),
    pytest.param(
        "never received", r"send on rank 1 of 2: rank 0 .*float32\[1000000\] with tag 5.* within 3 s", marks=LONG
    ),
    pytest.param(
        "dtype", r"recv on rank 0 of 2: .* rank 1 with tag 5 is int32\[3\]; awaited is float32\[3\]", marks=LONG
    ),
    pytest.param("peer ends", r"recv on rank 0 of 2: no message came from rank 1 with tag 5", marks=LONG),
    pytest.param("collective dtype", r"allgather float32\[3\] on rank 0; allgather int32\[3\] on rank 1", marks=LONG),
    pytest.param("two collectives", r"allreduce float32\[3\].* on rank 0; bcast float32\[3\].* on rank 1", marks=LONG),
    pytest.param("more arrays", r"allreduce float32\[3\] op=sum on rank 0; .*\(array 1 of 2\).* on rank 1", marks=LONG),
    pytest.param("wrong operation", r"allreduce.*wrong_operation", marks=LONG),
]


@needs_mpi
@pytest.mark.slow
@pytest.mark.parametrize(("fault", "message"), FAULTS, ids=str)
def test_processes_that_disagree_all_end_with_one_message(fault, message):
    ended = mpirun(2, "faults.py", fault, limit=60, TPUFFT_MPI_TIMEOUT=f"{WAITED:g}")
    assert ended.code != 0
    assert re.search(message, ended.error), ended.error
    assert ended.error.count("tpufft.comm.mpi:") == 1, ended.error
    assert ended.seconds < START + WAITED


@needs_mpi
@pytest.mark.long
def test_a_process_that_is_killed_takes_the_others_with_it():
    ended = mpirun(2, "faults.py", "peer dies", limit=60, TPUFFT_MPI_TIMEOUT=f"{WAITED:g}")
    assert ended.code != 0
    assert ended.seconds < START + WAITED


def test_without_mpi4py_the_import_says_what_to_install():
    code = (
        "import importlib.util, sys, tpufft\n"
        "assert 'mpi4py' not in sys.modules and 'tpufft.comm.mpi' not in sys.modules\n"
        "found = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *rest: None if name == 'mpi4py' else found(name, *rest)\n"
        "try:\n"
        "    import tpufft.comm.mpi\n"
        "except tpufft.errors.MissingExtraError as error:\n"
        "    print(error)\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=environment, check=False
    )
    assert done.stdout == "tpufft.comm.mpi needs the extra 'mpi': pip install 'tpufft[mpi]'\n", done.stderr


EXAMPLES = """
import doctest, importlib, pkgutil
import tpufft.comm.mpi as package
runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
for found in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
    for test in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(found.name)):
        runner.run(test)
raise SystemExit(runner.failures or not runner.tries)
"""


@needs_mpi
def test_examples_of_the_docstrings_in_a_process_of_its_own() -> None:
    done = subprocess.run(
        [sys.executable, "-c", EXAMPLES],
        env=os.environ | {"JAX_PLATFORMS": "cpu", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
