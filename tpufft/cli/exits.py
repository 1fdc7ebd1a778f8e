"""What the command says when something is wrong, and with which code it exits."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, NoReturn, Self

import typer
from jax.errors import JaxRuntimeError

BAD_INPUT = 1
USAGE = 2
INTERRUPTED = 130
TERMINATED = 143


class StopSignals:
    """Remembers SIGINT and SIGTERM, so that a job stops between two parts of its work and leaves nothing behind.

    An exception out of a signal handler can come anywhere, and Python drops it inside of finalizers and callbacks of
    the garbage collector. The second signal raises at once all the same.
    """

    def __init__(self) -> None:
        self._received = 0
        self._previous: list[tuple[int, Any]] = []

    def check(self) -> None:
        """End the job, if a signal has come."""
        if self._received == signal.SIGTERM:
            raise SystemExit(TERMINATED)
        if self._received:
            raise KeyboardInterrupt

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            numbers = (signal.SIGINT, signal.SIGTERM)
            self._previous = [(number, signal.signal(number, self._receive)) for number in numbers]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._previous:
            signal.signal(number, handler)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        del frame
        again, self._received = bool(self._received), number
        if again:
            self.check()


@contextmanager
def one_line_errors() -> Iterator[StopSignals]:
    """Turn expected errors into one line on standard error and an exit code; let bugs through with their traceback."""
    try:
        with StopSignals() as stop:
            yield stop
    except KeyboardInterrupt:
        _leave("interrupted", INTERRUPTED)
    except BrokenPipeError:
        # Whoever read the summary has gone; Python would complain once more when it closes standard output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(BAD_INPUT) from None
    except OSError as error:
        name = error.filename if error.filename is not None else ""
        _leave(f"error: {name}{': ' if name else ''}{error.strerror or error}", BAD_INPUT)
    except MemoryError as error:
        _leave(f"error: out of memory {error}".rstrip(), BAD_INPUT)
    except JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        _leave(f"error: out of device memory: {error}; use more devices", BAD_INPUT)
    except (ValueError, ImportError) as error:
        if isinstance(error, ImportError) and not hasattr(error, "extra"):
            raise
        _leave(f"error: {error}", BAD_INPUT)


def _leave(message: str, code: int) -> NoReturn:
    print(" ".join(message.split()), file=sys.stderr)
    raise typer.Exit(code) from None
