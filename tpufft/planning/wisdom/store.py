"""The file in which wisdom lives: where it is, what it holds, and that it is never left half-written.

A file is JSON: what was measured of plans, by key, and the rates of machines, by fingerprint. What cannot be read is
reported once, ignored, and kept until somebody says that it may go.
"""

from __future__ import annotations

import contextlib
import functools
import json
import logging
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tpufft.errors import FileFormatError
from tpufft.formats import AtomicFile

FORMAT, VERSION = "tpufft wisdom", 1
VARIABLE = "TPUFFT_WISDOM"
"""The environment variable that says where the file is."""


@dataclass(frozen=True)
class Entry:
    """A choice that was measured.

    Parameters
    ----------
    request : str
        What was planned, for people.
    program : tuple of str
        The winner's steps, as :func:`tpufft.planning.wisdom.keys.signature` writes them.
    seconds : float
        The winner's median.
    gain : float
        The model's own choice took so many times as long.
    date : str
        When it was measured.
    versions : mapping
        Of what libraries; for people, since the key has them too.
    """

    request: str
    program: tuple[str, ...]
    seconds: float
    gain: float
    date: str
    versions: Mapping[str, str]


@dataclass(frozen=True)
class Wisdom:
    """What a file holds.

    Parameters
    ----------
    entries : mapping
        From key to :class:`Entry`.
    machines : mapping
        From a machine's fingerprint to its measured rates.
    """

    entries: Mapping[str, Entry] = field(default_factory=dict)
    machines: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def merged(self, other: Wisdom) -> Wisdom:
        """Both; where they contradict each other, `other`."""
        return Wisdom({**self.entries, **other.entries}, {**self.machines, **other.machines})

    def dumps(self) -> str:
        """As the text of a file."""
        entries = {key: asdict(entry) | {"versions": dict(entry.versions)} for key, entry in self.entries.items()}
        machines = {name: dict(rates) for name, rates in self.machines.items()}
        data = {"format": FORMAT, "version": VERSION, "entries": entries, "machines": machines}
        return json.dumps(data, indent=1, sort_keys=True) + "\n"

    @classmethod
    def loads(cls, text: str, source: str) -> Wisdom:
        """From the text of a file.

        Raises
        ------
        FileFormatError
            If it is no wisdom, of another version, or damaged.
        """
        try:
            data = json.loads(text)
        except ValueError as error:
            raise FileFormatError(f"{source} is no wisdom: not JSON ({error})") from None
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise FileFormatError(f"{source} is no wisdom: it does not say 'format': {FORMAT!r}")
        if data.get("version") != VERSION:
            raise FileFormatError(
                f"{source} is wisdom of version {data.get('version')!r}; this tpufft reads version {VERSION}"
            )
        try:
            return cls(
                {str(key): _entry(value) for key, value in data["entries"].items()},
                {str(key): _rates(value) for key, value in data["machines"].items()},
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FileFormatError(f"{source} is damaged wisdom: {type(error).__name__} {error}") from None


def _entry(data: Mapping[str, Any]) -> Entry:
    program = data["program"]
    if not isinstance(program, list) or not all(isinstance(step, str) for step in program):
        raise ValueError("a program that is no list of texts")
    return Entry(
        request=str(data["request"]),
        program=tuple(program),
        seconds=_positive(data["seconds"]),
        gain=_positive(data["gain"]),
        date=str(data["date"]),
        versions={str(name): str(version) for name, version in data["versions"].items()},
    )


def _rates(data: Mapping[str, Any]) -> Mapping[str, float]:
    return {str(name): _positive(value) for name, value in data.items()}


def _positive(value: Any) -> float:
    number = float(value)
    if not 0 < number < float("inf"):
        raise ValueError(f"{value!r} is not positive")
    return number


def path() -> Path:
    """Where the user's wisdom is: ``TPUFFT_WISDOM``, else in the user's cache folder."""
    given = os.environ.get(VARIABLE)
    if given:
        return Path(given)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "tpufft" / "wisdom.json"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "tpufft" / "wisdom.json"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tpufft" / "wisdom.json"


def read(source: Path) -> Wisdom:
    """What a file holds.

    Raises
    ------
    OSError, FileFormatError
        If it cannot be read, or is no wisdom.
    """
    try:
        return Wisdom.loads(source.read_text(encoding="utf-8"), str(source))
    except UnicodeDecodeError:
        raise FileFormatError(f"{source} is no wisdom: not text") from None


def current() -> Wisdom:
    """The user's wisdom; nothing where there is no file, or none that can be read, which is reported once."""
    source = path()
    try:
        state = source.stat()
    except OSError:
        return Wisdom()
    return _read_once(source, state.st_mtime_ns, state.st_size)


@functools.lru_cache(maxsize=4)
def _read_once(source: Path, changed: int, size: int) -> Wisdom:
    del changed, size  # parts of the key: another file has others
    try:
        return read(source)
    except (OSError, FileFormatError) as error:
        logging.getLogger("tpufft").warning("%s; it is ignored, and kept: plans are the model's", error)
        return Wisdom()


def add(more: Wisdom) -> None:
    """Merge wisdom into the user's file.

    Raises
    ------
    FileFormatError
        If what stands there cannot be read; it is not overwritten.
    OSError
        If it cannot be written.
    """
    target = path()
    target.parent.mkdir(parents=True, exist_ok=True)
    with _locked(target):
        write(target, (read(target) if target.exists() else Wisdom()).merged(more))


def check_writable() -> None:
    """Raise what :func:`add` would raise, before work whose result it is to keep."""
    target = path()
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists():
        read(target)
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(f"cannot write wisdom into {target.parent}; say where in {VARIABLE}")


def clear() -> bool:
    """Remove the user's file, whatever stands in it; whether there was one."""
    target = path()
    existed = target.exists()
    target.unlink(missing_ok=True)
    return existed


def write(target: Path, wisdom: Wisdom) -> None:
    """Write a file whole, or not at all."""
    with AtomicFile(target) as file:
        file.write(wisdom.dumps().encode())
        file.commit()


@contextlib.contextmanager
def _locked(target: Path) -> Iterator[None]:
    """One writer at a time, where the system can: two that tune at once both keep what they found."""
    try:
        import fcntl
    except ImportError:  # not a POSIX system
        yield
        return
    lock = target.with_name(f".{target.name}.lock")
    with open(lock, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
