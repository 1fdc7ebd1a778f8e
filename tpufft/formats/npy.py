"""NumPy's ``.npy`` files, read and written by parts through a memory map."""

from __future__ import annotations

import io
import math
import os
import stat
import tokenize
from types import TracebackType
from typing import BinaryIO, Self

import numpy as np
from numpy.lib import format as npy_format

from tpufft.errors import FileFormatError
from tpufft.formats.atomic import AtomicFile

_KINDS = "biufc"
_LARGEST_ITEM = {"b": 1, "i": 8, "u": 8, "f": 8, "c": 16}
_PLATFORM = "float16/32/64, complex64/128, integers and bool"


class NpyReader:
    """An array in a ``.npy`` file.

    Every :meth:`read` maps the file anew, so that only the part in hand counts as memory of the process. Bytes behind
    the array are ignored, as NumPy does.

    Parameters
    ----------
    path : str or path
        The file.

    Attributes
    ----------
    shape : tuple of int
        The array's shape.
    dtype : numpy.dtype
        The elements' type in this machine's byte order.

    Raises
    ------
    FileFormatError
        If the file is no ``.npy`` file, is shorter than its header promises, or holds elements that are no numbers.
    OSError
        If it cannot be opened.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        # Opening a pipe would wait for its writer for ever.
        if stat.S_ISFIFO(os.stat(self.path).st_mode):
            raise FileFormatError(f"{self.path}: a pipe cannot be read by parts; write it to a file first")
        self._file: BinaryIO = open(self.path, "rb")  # noqa: SIM115
        try:
            self.shape, self._fortran, self._stored = _read_header(self._file, self.path)
            self._offset = self._file.tell()
            self._check_length()
        except BaseException:
            self._file.close()
            raise
        self.dtype = self._stored.newbyteorder("=")

    @property
    def slow_axes(self) -> tuple[int, ...]:
        """The axes from the slowest in the file to the fastest."""
        axes = tuple(range(len(self.shape)))
        return axes[::-1] if self._fortran else axes

    def read(self, slices: tuple[slice, ...]) -> np.ndarray:
        """A copy of one part, in C order and this machine's byte order."""
        if not math.prod(self.shape):
            return np.empty(self.shape, self.dtype)[slices]
        order = "F" if self._fortran else "C"
        mapped = np.memmap(self._file, self._stored, "r", self._offset, self.shape, order)
        return np.array(mapped[slices], dtype=self.dtype, order="C", subok=False)

    def close(self) -> None:
        """Give the file back."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _check_length(self) -> None:
        expected = self._offset + math.prod(self.shape) * self._stored.itemsize
        actual = os.fstat(self._file.fileno()).st_size
        if actual < expected:
            raise FileFormatError(
                f"{self.path}: truncated: the header promises {expected} bytes for {self._stored} {self.shape}, "
                f"the file has {actual}; copy or write it again"
            )


class NpyWriter:
    """A ``.npy`` file that is written by parts, in any order, and takes the target's place when whole.

    The space is reserved at once, so a disk that is too full is an error before any work.

    Parameters
    ----------
    path : str or path
        The target.
    shape : tuple of int
        The array's shape.
    dtype : numpy.dtype
        The elements' type.

    Raises
    ------
    FileFormatError
        If the type is none that other programs would read back as numbers.
    OSError
        If the target cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str], shape: tuple[int, ...], dtype: np.dtype) -> None:
        self.path = os.fspath(path)
        self.shape = tuple(int(size) for size in shape)
        self.dtype = np.dtype(dtype).newbyteorder("=")
        _check_dtype(self.dtype, self.path, "write it as one of these")
        header = _header(self.shape, self.dtype)
        self._offset = len(header)
        self._file = AtomicFile(self.path)
        try:
            self._file.reserve(self._offset + math.prod(self.shape) * self.dtype.itemsize)
            self._file.write(header)
        except BaseException:
            self._file.abort()
            raise

    def write(self, slices: tuple[slice, ...], block: np.ndarray) -> None:
        """Put one part in its place."""
        if not math.prod(self.shape):
            return
        mapped = np.memmap(self._file.temporary, self.dtype, "r+", self._offset, self.shape)
        mapped[slices] = block

    def commit(self) -> None:
        """Let the whole file take the target's place."""
        self._file.commit()

    def abort(self) -> None:
        """Remove what was written; the target is as it was."""
        self._file.abort()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.__exit__(kind, value, trace)


def _read_header(file: BinaryIO, path: str) -> tuple[tuple[int, ...], bool, np.dtype]:
    start = file.read(npy_format.MAGIC_LEN)
    file.seek(0)
    if not start.startswith(npy_format.MAGIC_PREFIX):
        raise FileFormatError(f"{path}: no .npy file: {_what_it_is(start)}; write it with numpy.save")
    try:
        version = npy_format.read_magic(file)
        read = {(1, 0): npy_format.read_array_header_1_0, (2, 0): npy_format.read_array_header_2_0}.get(version)
        header = read and read(file)
    except (ValueError, SyntaxError, tokenize.TokenError, RecursionError, MemoryError) as error:
        raise FileFormatError(f"{path}: damaged .npy header ({error}); write the file again") from error
    if header is None:
        raise FileFormatError(f"{path}: .npy format version {version}; plain numbers are in versions (1, 0) and (2, 0)")
    shape, fortran, dtype = header
    if any(size < 0 for size in shape):
        raise FileFormatError(f"{path}: damaged .npy header (shape {shape}); write the file again")
    _check_dtype(dtype, path, "save it with array.astype(...) to one of these")
    return shape, fortran, dtype


def _check_dtype(dtype: np.dtype, path: str, remedy: str) -> None:
    if dtype.hasobject:
        raise FileFormatError(f"{path}: holds Python objects (dtype object), which are not read; save plain numbers")
    if dtype.kind not in _KINDS or dtype.itemsize > _LARGEST_ITEM[dtype.kind]:
        raise FileFormatError(f"{path}: dtype {dtype} is not supported, only {_PLATFORM}; {remedy}")


def _header(shape: tuple[int, ...], dtype: np.dtype) -> bytes:
    buffer = io.BytesIO()
    fields = {"descr": npy_format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    npy_format.write_array_header_1_0(buffer, fields)
    return buffer.getvalue()


def _what_it_is(start: bytes) -> str:
    if not start:
        return "the file is empty"
    if start.startswith(b"PK\x03\x04"):
        return "it looks like a .npz archive"
    return f"it starts with {start!r}"
