"""The house: who may import whom, what an import may do, and that every public name says what it does."""

from __future__ import annotations

import ast
import inspect
import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

import tpufft

PACKAGE = Path(tpufft.__file__).parent

# DESIGN section 2, the highest floor first. A module may import from lower floors only; "errors" is the ground.
FLOORS = (
    ("cli",),
    ("signal", "solvers", "linalg", "nudft"),
    ("namespace",),
    ("transforms", "matrix", "views", "mapping", "comm", "spmd"),
    ("jobs",),
    ("planning",),
    ("execution",),
    ("kernels", "collectives"),
    ("chunked",),
    ("steps",),
    ("layout",),
    ("meshes",),
    ("formats", "cluster", "tpu", "native"),
    ("errors",),
)
FLOOR_OF = {unit: number for number, floor in enumerate(FLOORS) for unit in floor}
ENTRANCES = {"__init__", "__main__"}
LAYOUTLESS = {"formats", "cluster", "tpu", "native", "errors"}


def _files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def _unit(path: Path) -> str:
    """The package or module directly below ``tpufft`` that a file belongs to."""
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def _module(path: Path) -> str:
    parts = ("tpufft", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(path: Path) -> Iterator[tuple[str, int]]:
    """Every module of the package that a file imports, wherever in the file, with the line."""
    package = _module(path) if path.name == "__init__.py" else _module(path).rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, *([node.module] if node.module else [])])
            # `from tpufft import spmd` imports a module, not a name of the package itself.
            names = [f"tpufft.{alias.name}" for alias in node.names] if base == "tpufft" else [base]
        else:
            continue
        yield from ((name, node.lineno) for name in names if name.split(".")[0] == "tpufft")


def _crossings() -> Iterator[tuple[str, str, str]]:
    """(importing unit, imported unit, where) for every import between two units."""
    for path in _files():
        for name, line in _imported(path):
            parts = name.split(".")
            target = parts[1] if len(parts) > 1 else "__init__"
            if target != _unit(path):
                yield _unit(path), target, f"{path.relative_to(PACKAGE.parent)}:{line} imports {name}"


def _fresh(code: str, cwd: Path, **environment: str) -> str:
    """Run code in a process that has imported nothing yet."""
    kept = {key: value for key, value in os.environ.items() if key not in ("NPROC", "XLA_FLAGS")}
    kept |= {"PYTHONPATH": str(PACKAGE.parent), **environment}
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, cwd=cwd, env=kept, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


# -- floors --------------------------------------------------------------------------------------------------------


def test_every_module_has_a_floor() -> None:
    assert {_unit(path) for path in _files()} - set(FLOOR_OF) <= ENTRANCES


def test_imports_only_go_downwards() -> None:
    wrong = [where for unit, target, where in _crossings() if unit not in ENTRANCES and not _may(unit, target)]
    assert not wrong, "\n".join(wrong)


def _may(unit: str, target: str) -> bool:
    # What a person types uses what a person calls: the command alone stands above the public names.
    return unit == "cli" if target in ENTRANCES else FLOOR_OF[target] > FLOOR_OF[unit]


def test_the_lowest_floors_know_no_layout_and_only_errors() -> None:
    wrong = [where for unit, target, where in _crossings() if unit in LAYOUTLESS and target != "errors"]
    assert not wrong, "\n".join(wrong)


def test_errors_import_nothing_of_the_package() -> None:
    assert not [where for unit, _, where in _crossings() if unit == "errors"]


def test_the_floors_that_are_built_are_used() -> None:
    crossed = {(unit, target) for unit, target, _ in _crossings()}
    assert {("transforms", "planning"), ("planning", "execution"), ("execution", "kernels")} <= crossed


def test_nothing_imports_the_package_relatively_upwards() -> None:
    for path in _files():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                assert node.level <= 1, f"{path}:{node.lineno}"


def test_one_shard_map() -> None:
    found = [path for path in _files() if re.search(r"\bshard_map\(", path.read_text(encoding="utf-8"))]
    assert {_unit(path) for path in found} <= {"execution"}


def test_files_are_short() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in _files()}
    assert not {str(path): length for path, length in lengths.items() if length >= 400}


def test_no_mutable_module_state() -> None:
    wrong = []
    for path in _files():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            names = [target.id for target in targets if isinstance(target, ast.Name)]
            mutable = isinstance(value, ast.List | ast.Set | ast.ListComp | ast.SetComp) and names != ["__all__"]
            if mutable or (isinstance(value, ast.Dict | ast.DictComp) and not _is_constant(names)):
                wrong.append(f"{path}:{node.lineno}")
    assert not wrong, "\n".join(wrong)


def _is_constant(names: list[str]) -> bool:
    return all(name.isupper() for name in names)


# -- what an import does -------------------------------------------------------------------------------------------


def test_import_starts_no_backend_and_changes_no_setting(tmp_path: Path) -> None:
    out = _fresh(
        """
        import os, warnings
        import jax
        before, environment = dict(jax.config.values), dict(os.environ)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            import tpufft
        assert dict(jax.config.values) == before
        assert dict(os.environ) == environment
        # JAX refuses this once a backend has started.
        jax.config.update("jax_num_cpu_devices", 3)
        jax.config.update("jax_platforms", "cpu")
        print(jax.device_count())
        """,
        tmp_path,
    )
    assert out.split() == ["3"]


def test_import_reads_no_file_of_the_user(tmp_path: Path) -> None:
    out = _fresh(
        """
        import json, sys
        import jax, jax.numpy, scipy.fft
        opened = []
        sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
        import tpufft
        print(json.dumps(opened))
        """,
        tmp_path,
        HOME=str(tmp_path),
        XDG_CACHE_HOME=str(tmp_path / "cache"),
        XDG_CONFIG_HOME=str(tmp_path / "config"),
        TPUFFT_WISDOM=str(tmp_path / "wisdom.json"),
    )
    opened = json.loads(out)
    assert opened, "the hook saw the package's own files"
    assert not [name for name in opened if name.startswith(str(tmp_path))]
    assert not [name for name in opened if not name.endswith((".py", ".pyc", ".so", ".pth"))]


def test_import_brings_no_extra(tmp_path: Path) -> None:
    out = _fresh("import sys, tpufft; print(*sorted(sys.modules))", tmp_path)
    loaded = {name.split(".")[0] for name in out.split()}
    assert "tpufft" in loaded
    extras = {"typer", "rich", "click", "matplotlib", "nibabel", "h5py", "zarr", "numba", "mpi4py", "libtpu", "pyfftw"}
    assert not loaded & (extras | {"mkl_fft", "pytest", "hypothesis"})


# -- what the public names say -------------------------------------------------------------------------------------


def _public() -> dict[str, object]:
    names = {f"tpufft.{name}": getattr(tpufft, name) for name in tpufft.__all__}
    spmd = {f"tpufft.spmd.{name}": getattr(tpufft.spmd, name) for name in tpufft.spmd.__all__}
    comm = {f"tpufft.comm.{name}": getattr(tpufft.comm, name) for name in tpufft.comm.__all__}
    return names | spmd | comm


FUNCTIONS = {name: item for name, item in _public().items() if inspect.isfunction(item)}
CLASSES = {name: item for name, item in _public().items() if inspect.isclass(item)}


def _sections(item: object) -> dict[str, str]:
    lines = (inspect.getdoc(item) or "").splitlines()
    starts = [
        number
        for number in range(len(lines) - 1)
        if lines[number].strip() and set(lines[number + 1].strip()) == {"-"} and len(lines[number + 1].strip()) > 3
    ]
    ends = [*starts[1:], len(lines)]
    return {
        lines[start].strip(): "\n".join(lines[start + 2 : end]) for start, end in zip(starts, ends, strict=bool(starts))
    }


def _documented(text: str) -> set[str]:
    heads = [line for line in text.splitlines() if line and not line.startswith(" ")]
    return {name.strip().lstrip("*") for head in heads for name in head.split(" : ")[0].split(",")}


def test_the_public_names_are_there() -> None:
    assert all(hasattr(tpufft, name) for name in tpufft.__all__)
    wanted = {"fft", "ifft", "fft2", "ifft2", "fftn", "ifftn", "fftfreq", "fftshift", "ifftshift", "plan"}
    assert {f"tpufft.{name}" for name in wanted} <= set(FUNCTIONS)
    wanted = {"fft", "ifft", "fft2", "ifft2", "fftn", "ifftn", "fftshift", "ifftshift"}
    assert {f"tpufft.spmd.{name}" for name in wanted} <= set(FUNCTIONS)
    assert {"tpufft.Layout", "tpufft.Plan", "tpufft.LayoutError"} <= set(CLASSES)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_docstring_has_its_sections(name: str) -> None:
    function = FUNCTIONS[name]
    sections = _sections(function)
    assert {"Parameters", "Raises", "Examples"} <= set(sections)
    if inspect.signature(function).return_annotation not in (None, "None"):
        assert "Returns" in sections
    assert ">>> " in sections["Examples"]
    assert _documented(sections["Parameters"]) == set(inspect.signature(function).parameters)
    assert (inspect.getdoc(function) or "").split("\n")[0].endswith(".")


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_class_says_what_it_is(name: str) -> None:
    text = inspect.getdoc(CLASSES[name]) or ""
    assert text.split("\n")[0].endswith(".")
    methods = inspect.getmembers(CLASSES[name], inspect.isfunction)
    silent = [item for item, method in methods if item[0] != "_" and not inspect.getdoc(method)]
    assert not silent


def test_no_section_is_left_unfilled() -> None:
    for name, function in FUNCTIONS.items():
        assert not re.search(r"\{(options|returns|orders)[:}]", function.__doc__ or ""), name
