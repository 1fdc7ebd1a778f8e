"""Progress bars on standard error, on a terminal only."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn


class Bars:
    """A bar for every phase of a job.

    Parameters
    ----------
    shown : bool
        Whether to draw at all; nothing is drawn where standard error is no terminal.
    check : callable
        Called between two parts of the work; may raise to end it.
    """

    def __init__(self, *, shown: bool, check: Callable[[], None]) -> None:
        self._check = check
        console = Console(stderr=True)
        columns = (TextColumn("{task.description:<10}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
        self._progress = Progress(
            *columns, console=console, transient=True, disable=not (shown and console.is_terminal)
        )

    def bar(self, name: str) -> Callable[[float, float], None]:
        """A new bar; what is returned takes what is done and what there is in all."""
        task = self._progress.add_task(name, total=None)

        def update(done: float, total: float) -> None:
            self._progress.update(task, completed=done, total=total)
            self._check()

        return update

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()
