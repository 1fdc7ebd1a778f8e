"""The driver's end of a worker process: every question has a time limit, and a worker that hangs is killed."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from types import TracebackType
from typing import IO, Any

from benchmarks.environment import inherited, variables
from benchmarks.machine import ROOT

START_SECONDS = 120.0


class WorkerError(RuntimeError):
    """The worker answered with an error, died, or was killed because it did not answer."""


class NotInstalledError(WorkerError):
    """What the worker should hold cannot be imported."""


class Worker:
    """A process that holds one contestant or probe.

    Parameters
    ----------
    name : str
        Contestant or probe.
    devices : int
        Forced host devices.
    environment : str
        Which variables are set for memory allocation.
    command : list of str, optional
        What to start instead of the worker module.
    start_seconds : float
        How long it may take to say that it is ready.

    Raises
    ------
    NotInstalledError
        Where the contestant's library cannot be imported.
    WorkerError
        Where the process does not come up.
    """

    def __init__(
        self,
        name: str,
        devices: int = 1,
        environment: str = "default",
        *,
        command: list[str] | None = None,
        start_seconds: float = START_SECONDS,
    ) -> None:
        self.name = name
        self._received = b""
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        command = command or [sys.executable, "-m", "benchmarks.worker", name, str(devices), environment]
        self._process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**inherited(), **variables(devices, environment)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        os.set_blocking(self._stdout.fileno(), False)
        hello = self._receive("start", start_seconds)
        if "missing" in hello:
            self.kill()
            raise NotInstalledError(hello["missing"])
        self.versions: dict[str, str | None] = hello["ready"]

    def ask(self, do: str, seconds: float, **arguments: Any) -> Any:
        """Have the worker call the method `do`, and wait for its result at most so many seconds."""
        try:
            self._stdin.write(json.dumps({"do": do, **arguments}).encode() + b"\n")
            self._stdin.flush()
        except OSError as error:
            raise self._died(do) from error
        answer = self._receive(do, seconds)
        if "error" in answer:
            raise WorkerError(answer["error"])
        return answer["ok"]

    @property
    def alive(self) -> bool:
        """Whether it can still be asked."""
        return self._process.poll() is None

    def kill(self) -> None:
        """End the process and what it started, at once: hung collectives do not heed SIGTERM."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._stdin, self._stdout, self._log):
            try:
                stream.close()
            except BrokenPipeError:
                continue  # a request that the process never read

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None):
        self.kill()

    def _receive(self, do: str, seconds: float) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self._stdout, selectors.EVENT_READ)
            while b"\n" not in self._received:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    self.kill()
                    raise WorkerError(f"no answer to {do!r} within {seconds:g} s: killed")
                data = os.read(self._stdout.fileno(), 1 << 16)
                if not data:
                    raise self._died(do)
                self._received += data
        line, self._received = self._received.split(b"\n", 1)
        return json.loads(line)

    def _died(self, do: str) -> WorkerError:
        try:
            code = self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            code = None
        self._log.seek(max(0, self._log.seek(0, os.SEEK_END) - 4000))
        lines = [line for line in self._log.read().decode(errors="replace").splitlines() if line.strip()]
        self.kill()
        last = f": {lines[-1][:500]}" if lines else ""
        return WorkerError(f"died at {do!r} with exit code {code}{last}")
