"""Random calls of every transform against the definition, as long as one likes: ``python -m tests.fuzz --help``.

Every failure is printed with the line that repeats it. Finished batches go to a log, one JSON line each; a run that was
killed goes on behind the last of them, and a call that takes the whole process down twice is a failure like any other.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import conftest  # noqa: F401  (eight devices, 64-bit types)
import jax
from hypothesis import HealthCheck, Phase, given, seed, settings
from random_calls import Call, calls, check_call

BATCH = 25
# Compiled programs are dropped after so many batches.
FORGET = 8


class Log:
    """What is done, on disk: a line for every batch, and the call that is running."""

    def __init__(self, folder: Path, seed: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path, self.running = folder / f"seed-{seed}.jsonl", folder / f"seed-{seed}.running"
        self.lines = list(_whole_lines(self.path))
        self.seen = {digest for line in self.lines for digest in line["calls"]}

    @property
    def failures(self) -> list[dict[str, str]]:
        return [failure for line in self.lines for failure in line["failures"]]

    def crashed(self) -> tuple[str, int]:
        """The call during which the last run died, and how often it has run so far."""
        try:
            saved = json.loads(self.running.read_text())
        except (OSError, ValueError):
            return "", 0
        return saved["call"], saved["times"]

    def start(self, text: str, times: int) -> None:
        self.running.write_text(json.dumps({"call": text, "times": times}))

    def finish(self, line: dict[str, Any]) -> None:
        self.lines.append(line)
        self.seen.update(line["calls"])
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self.running.unlink(missing_ok=True)


def _whole_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The batches that were written to their end; a torn line is cut off, so that the next one starts clean."""
    if not path.exists():
        return
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if len(whole) < len(data):
        os.truncate(path, len(whole))
    yield from (json.loads(line) for line in whole.splitlines())


def run_batch(log: Log, number: int, root: int, report: Callable[[str], None]) -> None:
    """Draw and check the calls of one batch; those that an earlier batch had are not counted again."""
    digests: list[str] = []
    failures: list[dict[str, str]] = []
    words: dict[str, int] = {}
    suspect, died = log.crashed()

    def fail(text: str, message: str) -> None:
        failures.append({"call": text, "error": message})
        report(f"FAILED {message}\n  python -m tests.fuzz --replay '{text}'")

    @seed(root * 1_000_003 + number)
    @settings(
        max_examples=BATCH,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(calls())
    def each(call: Call) -> None:
        text = call.text()
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        if digest in log.seen or digest in digests:
            return
        digests.append(digest)
        times = died if text == suspect else 0
        if times >= 2:
            fail(text, "the process died during this call, twice")
            return
        log.start(text, times + 1)
        try:
            word = check_call(call)
        except Exception as error:  # every failure is to be seen, not the first
            where = traceback.extract_tb(error.__traceback__)[-1]
            fail(text, f"{type(error).__name__} at {Path(where.filename).name}:{where.lineno}: {str(error)[:400]}")
            word = "failed"
        words[word] = words.get(word, 0) + 1

    each()
    log.finish({"batch": number, "calls": digests, "words": words, "failures": failures})


def run(cases: int, root: int, folder: Path, report: Callable[[str], None] = print) -> int:
    """Batches until `cases` different calls were checked; the number of failures."""
    log = Log(folder, root)
    before, started = len(log.seen), time.monotonic()
    if before:
        report(f"going on behind {before} cases in {len(log.lines)} batches, {len(log.failures)} failures")
    while len(log.seen) < cases:
        run_batch(log, len(log.lines), root, report)
        if len(log.lines) % FORGET == 0:
            jax.clear_caches()
        done, seconds = len(log.seen), time.monotonic() - started
        rate = 3600 * (done - before) / seconds
        report(f"{done}/{cases} cases, {len(log.failures)} failures, {seconds:.0f} s, {rate:.0f} cases an hour")
    totals: dict[str, int] = {}
    for line in log.lines:
        for word, count in line["words"].items():
            totals[word] = totals.get(word, 0) + count
    report(f"{len(log.seen)} cases with seed {root}: {len(log.failures)} failures; {totals}")
    return len(log.failures)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=3000, help="different calls to check (default 3000)")
    parser.add_argument("--seed", type=int, default=0, help="where the random numbers start (default 0)")
    parser.add_argument("--database", type=Path, default=Path(".fuzz"), help="folder of the log (default .fuzz)")
    parser.add_argument("--replay", metavar="CALL", help="check one call, as a failure prints it")
    given = parser.parse_args()
    if given.replay:
        print(check_call(Call.parse(given.replay)))
        return 0
    return int(run(given.cases, given.seed, given.database, lambda text: print(text, flush=True)) > 0)


if __name__ == "__main__":
    sys.exit(main())
