"""Run the examples of the documentation: the pages' python blocks and sessions, and the docstrings' doctests.

``python docs/examples.py`` runs them all, on eight virtual CPU devices, each page in a namespace and a folder of its
own, and tells what failed. A ``text`` block right behind a ``python`` block is what that block prints. In a ``console``
block, what stands below a command is what the command prints; a command with nothing below is not run. Times, rates,
rounding errors and whether the extra ``host`` serves differ between machines, and may differ. ``--update`` writes what
was printed into the pages instead.
"""

from __future__ import annotations

import argparse
import contextlib
import doctest
import importlib
import io
import itertools
import math
import os
import pkgutil
import re
import shlex
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("README.md", "CONTRIBUTING.md", *sorted(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")))
DOCSTRINGS = "docstrings"

_FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ (?P<command>(?:.*\\\n)*.*)\n(?P<said>(?:(?!\$ ).*\n)*)", re.MULTILINE)
_MEASURED = re.compile(
    r"\d[\d.]* (?:us|ms|s|[KMGT]?i?B/s|[kMGT]?FLOP/s|% of|million|[KMG]iB; of the plan)(?=[\s;,]|$)"
    r"|\b\d\.\de-(?:0[6-9]|1\d)\b"
    r"|(?<=kernel )(?:host|xla)\b"
)


@dataclass(frozen=True)
class Example:
    """One example of a page: what is run, what the page says it prints, and where that stands."""

    source: str
    line: int
    printed: str | None
    span: tuple[int, int]
    is_command: bool = False


def examples(text: str) -> Iterator[Example]:
    """The examples of a page, in order."""
    fences = list(_FENCE.finditer(text))
    for fence, behind in itertools.zip_longest(fences, fences[1:]):
        line = text.count("\n", 0, fence.start("body")) + 1
        if fence["language"] == "python":
            is_output = behind and behind["language"] == "text" and not text[fence.end() : behind.start()].strip()
            printed, span = (behind["body"], behind.span("body")) if behind and is_output else (None, (0, 0))
            yield Example(fence["body"], line, printed, span)
        elif fence["language"] == "console":
            for session in _COMMAND.finditer(text, *fence.span("body")):
                if session["said"]:
                    yield Example(session["command"], line, session["said"], session.span("said"), is_command=True)


def run_page(page: str, *, update: bool) -> list[str]:
    """Run a page's examples one after the other; what went wrong."""
    path = ROOT / page
    text = path.read_text(encoding="utf-8")
    namespace: dict[str, object] = {"__name__": "__main__"}
    failures: list[str] = []
    replacements: list[tuple[tuple[int, int], str]] = []
    for example in examples(text):
        try:
            found = _run_command(example) if example.is_command else _run_python(example, path, namespace)
        except Exception:  # whatever an example raises is what there is to report
            failures.append(f"{page}:{example.line}: the example fails\n{traceback.format_exc()}")
            break
        if example.printed is None:
            if found:
                failures.append(f"{page}:{example.line}: prints what the page does not show\n{found}")
        elif not _same(found, example.printed):
            replacements.append((example.span, found))
            if not update:
                failures.append(f"{page}:{example.line}: prints\n{found}and the page says\n{example.printed}")
    if update:
        for (start, stop), found in reversed(replacements):
            text = text[:start] + found + text[stop:]
        path.write_text(text, encoding="utf-8")
    return failures


def run_docstrings() -> list[str]:
    """Run the doctests of every module of the package; what went wrong."""
    import tpufft

    names = ["tpufft", *(found.name for found in pkgutil.walk_packages(tpufft.__path__, "tpufft."))]
    said = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    finder = doctest.DocTestFinder(exclude_empty=True)
    for name in names:
        # Importing the first runs the command; messages between processes are for processes of one device; what the
        # compiler calls has no examples, and needs an extra.
        if name != "tpufft.__main__" and not name.startswith(("tpufft.comm.mpi", "tpufft.kernels.host.")):
            for test in finder.find(importlib.import_module(name)):
                runner.run(test, out=said.write)
    if not runner.summarize(verbose=False).attempted:
        return ["the docstrings have no examples"]
    return [said.getvalue()] if said.getvalue() else []


def main(arguments: list[str] | None = None) -> int:
    """Run the examples; the number of pages that failed."""
    parser = argparse.ArgumentParser(description="Run the examples of the documentation.")
    parser.add_argument("pages", nargs="*", help=f"pages, relative to the repository, or {DOCSTRINGS!r} (default: all)")
    parser.add_argument("--update", action="store_true", help="write what the examples print into the pages")
    options = parser.parse_args(arguments)

    import tpufft

    tpufft.virtual_devices(8)
    failed = 0
    for page in options.pages or (*PAGES, DOCSTRINGS):
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            failures = run_docstrings() if page == DOCSTRINGS else run_page(page, update=options.update)
        for failure in failures:
            print(failure, file=sys.stderr)
        failed += bool(failures)
    return failed


def _run_python(example: Example, path: Path, namespace: dict[str, object]) -> str:
    printed = io.StringIO()
    # Line numbers of a traceback are the page's own.
    code = compile("\n" * (example.line - 1) + example.source, str(path), "exec")
    with contextlib.redirect_stdout(printed):
        exec(code, namespace)
    return printed.getvalue()


def _run_command(example: Example) -> str:
    program, *words = shlex.split(example.source, comments=True)
    if program == "tpufft":
        words = ["-m", "tpufft", *words]
    elif program == "python":
        words = [str(ROOT / word) if word.endswith(".py") else word for word in words]
    else:
        raise ValueError(f"a session shows what {program!r} prints; only tpufft and python are run")
    environment = {key: value for key, value in os.environ.items() if key not in ("NPROC", "COLUMNS")}
    done = subprocess.run(
        [sys.executable, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
        env=environment | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
    )
    # A table's trailing blanks would not survive an editor.
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


def _same(found: str, expected: str) -> bool:
    """Whether two texts agree word for word, but for measurements, blanks, and the last digits of numbers."""
    pairs = [[_MEASURED.sub("*", line).split() for line in text.rstrip().splitlines()] for text in (found, expected)]
    return [len(line) for line in pairs[0]] == [len(line) for line in pairs[1]] and all(
        a == b or _close(a, b) for lines in zip(*pairs, strict=True) for a, b in zip(*lines, strict=True)
    )


def _close(a: str, b: str) -> bool:
    try:
        return math.isclose(float(a), float(b), rel_tol=1e-3)
    except ValueError:
        return False


if __name__ == "__main__":
    sys.exit(main())
