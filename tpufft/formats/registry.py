"""Which format a file has, by its suffix; a new format is one more line of :data:`FORMATS`."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self, TypeAlias

import numpy as np

from tpufft.errors import FileFormatError
from tpufft.formats.npy import NpyReader, NpyWriter

Path: TypeAlias = str | os.PathLike[str]
Slices: TypeAlias = tuple[slice, ...]


class Reader(Protocol):
    """An array in a file, open for reading by parts."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The array's shape."""
        ...

    @property
    def dtype(self) -> np.dtype:
        """The elements' type as `read` returns them, in this machine's byte order."""
        ...

    @property
    def slow_axes(self) -> tuple[int, ...]:
        """The axes from the slowest in the file to the fastest: parts should be cut along the first ones."""
        ...

    def read(self, slices: Slices) -> np.ndarray:
        """A copy of one part."""
        ...

    def close(self) -> None:
        """Give the file back."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Writer(Protocol):
    """An array in a file that is written by parts and appears when whole."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The array's shape."""
        ...

    @property
    def dtype(self) -> np.dtype:
        """The elements' type in the file."""
        ...

    def write(self, slices: Slices, block: np.ndarray) -> None:
        """Put one part in its place."""
        ...

    def commit(self) -> None:
        """Let the whole file take the target's place."""
        ...

    def abort(self) -> None:
        """Remove what was written; the target is as it was."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None: ...


@dataclass(frozen=True)
class Format:
    """One file format.

    Parameters
    ----------
    name : str
        As a person calls it.
    suffixes : tuple of str
        File name endings, lower case, with the dot.
    reader : callable
        ``reader(path)`` opens a file.
    writer : callable
        ``writer(path, shape, dtype)`` starts one.
    """

    name: str
    suffixes: tuple[str, ...]
    reader: Callable[[Path], Reader]
    writer: Callable[[Path, tuple[int, ...], np.dtype], Writer]


FORMATS: tuple[Format, ...] = (Format("NumPy array", (".npy",), NpyReader, NpyWriter),)


def format_of(path: Path) -> Format:
    """The format of a file, by the end of its name.

    Raises
    ------
    FileFormatError
        If no format has this suffix; the message lists those there are.
    """
    name = os.path.basename(os.fspath(path)).lower()
    for candidate in FORMATS:
        if name.endswith(candidate.suffixes):
            return candidate
    known = ", ".join(f"{suffix} ({candidate.name})" for candidate in FORMATS for suffix in candidate.suffixes)
    raise FileFormatError(f"{os.fspath(path)}: the suffix names no known file format; known are {known}")
