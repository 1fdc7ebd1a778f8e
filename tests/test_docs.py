"""The documentation tells the truth: every example runs and prints what is shown, and nothing is left out."""

import os
import re
import subprocess
import sys
from pathlib import Path

import nbclient
import nbformat
import pytest
import typer

import tpufft
from tpufft.cli.app import app
from tpufft.cli.exits import BAD_INPUT, INTERRUPTED, TERMINATED, USAGE
from tpufft.planning import METHODS, NORMS

ROOT = Path(__file__).resolve().parent.parent
PAGES = ["README.md", "CONTRIBUTING.md", *sorted(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md"))]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
CLEARED = ("NPROC", "XLA_FLAGS", "JAX_NUM_CPU_DEVICES", "JAX_ENABLE_X64")


def environment():
    kept = {key: value for key, value in os.environ.items() if key not in CLEARED}
    return kept | {"JAX_PLATFORMS": "cpu", "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}


@pytest.mark.slow
@pytest.mark.parametrize("page", [*PAGES, "docstrings"])
def test_examples_run_and_print_what_is_shown(page):
    done = subprocess.run(
        [sys.executable, ROOT / "docs" / "examples.py", page],
        capture_output=True,
        text=True,
        timeout=600,
        env=environment(),
        check=False,
    )
    assert not done.returncode, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs_and_is_kept_without_outputs(path, tmp_path, monkeypatch):
    notebook = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in notebook.cells)
    monkeypatch.setattr(os, "environ", environment())
    client = nbclient.NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    assert any(cell.get("outputs") for cell in notebook.cells)


def test_every_public_name_is_in_the_reference():
    text = (ROOT / "docs" / "api.md").read_text()
    documented = set(re.findall(r"^::: tpufft\.([\w.]+)$", text, re.MULTILINE))
    public = set(tpufft.__all__) - {"comm", "spmd"}
    collective = {f"spmd.{name}" for name in tpufft.spmd.__all__} | {f"comm.{name}" for name in tpufft.comm.__all__}
    assert documented == public | collective


def test_every_option_and_exit_code_of_the_command_is_on_its_page():
    text = (ROOT / "docs" / "command-line.md").read_text()
    command = typer.main.get_command(app).commands["transform"]
    options = {name for parameter in command.params for name in parameter.opts if name.startswith("-")}
    assert options <= set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", text))
    codes = set(re.findall(r"^\| (\d+) \|", text, re.MULTILINE))
    assert codes == {str(code) for code in (0, BAD_INPUT, USAGE, INTERRUPTED, TERMINATED)}


def test_words_that_arguments_take_are_explained():
    transforms = (ROOT / "docs" / "transforms.md").read_text()
    assert all(f'"{word}"' in transforms for word in (*METHODS, *NORMS, "xla", "matmul"))
    kernels = (ROOT / "docs" / "kernels-and-accuracy.md").read_text()
    assert all(f"| `{name}` |" in kernels for name in tpufft.kernels.KERNELS)


def test_every_module_that_the_architecture_page_names_exists():
    text = (ROOT / "docs" / "architecture.md").read_text()
    named = set(re.findall(r"`((?:[a-z_]+/)+[a-z_]*(?:\.py)?|[a-z_]+\.py)`", text))
    missing = {
        name
        for name in named
        if not any((base / name).exists() for base in (ROOT, ROOT / "tpufft", ROOT / "tpufft" / "planning"))
    }
    assert missing <= {"steps.py", "transforms.py"}, missing  # what the drawing had


def test_links_between_pages_and_to_files_lead_somewhere():
    for page in PAGES:
        text = (ROOT / page).read_text()
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if not re.match(r"[a-z]+:", target) and not target.startswith("#"):
                assert ((ROOT / page).parent / target.partition("#")[0]).exists(), f"{page}: {target}"


def test_pictures_are_small():
    pictures = [*(ROOT / "docs" / "assets").iterdir()]
    assert {"demo-spectrum.png", "scrambled.svg", "transposed.svg"} <= {picture.name for picture in pictures}
    assert all(picture.stat().st_size < 300_000 for picture in pictures)
