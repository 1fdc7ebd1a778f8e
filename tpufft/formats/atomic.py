"""A file that appears whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from types import TracebackType
from typing import Self

_BLANKS = bytes(1 << 20)


class AtomicFile:
    """A temporary file beside `target` that takes its place on :meth:`commit`.

    Until then an existing target keeps its content; when anything goes wrong, :meth:`abort` (or leaving the ``with``
    block by an exception, `KeyboardInterrupt` included) removes the temporary. A symbolic link stays, and what it
    points to is replaced. The permissions are those of the file that is replaced, or of any new file.

    Parameters
    ----------
    target : str or path
        The file to write.

    Raises
    ------
    OSError
        At once, if `target` is a directory or another special file, or cannot be created or replaced.
    """

    def __init__(self, target: str | os.PathLike[str]) -> None:
        self.target = os.fspath(target)
        self._final = os.path.realpath(self.target)
        mode = _replaceable_mode(self._final, self.target)
        directory = os.path.dirname(self._final)
        if not os.path.isdir(directory):
            raise FileNotFoundError(
                errno.ENOENT, f"the output's directory {directory} does not exist; create it", self.target
            )
        self.temporary = os.path.join(directory, f".tpufft-{secrets.token_hex(8)}.tmp")
        try:
            self._descriptor = os.open(self.temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
        except OSError as error:
            raise OSError(error.errno, f"cannot write into {directory} ({error.strerror})", self.target) from error
        self._open = True
        if mode is not None:
            os.chmod(self.temporary, mode)

    def reserve(self, size: int) -> None:
        """Take `size` bytes of the disk now, so that a full one is an error here and not in the middle of the work."""
        try:
            if size and not self._allocate(size):
                self._fill(size)
        except OSError as error:
            message = f"cannot reserve {size} bytes for the output ({error.strerror})"
            raise OSError(error.errno, message, self.target) from error

    def write(self, data: bytes) -> None:
        """Write `data` at the start of the file."""
        os.pwrite(self._descriptor, data, 0)

    def commit(self) -> None:
        """Put the file on the disk and let it take the target's place."""
        try:
            os.fsync(self._descriptor)
            self._close()
            os.replace(self.temporary, self._final)
            _sync_directory(os.path.dirname(self._final))
        except OSError as error:
            raise OSError(error.errno, error.strerror, self.target) from error

    def abort(self) -> None:
        """Remove the temporary file, if it is still there."""
        self._close()
        if os.path.exists(self.temporary):
            os.remove(self.temporary)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._open or kind is not None:
            self.abort()

    def _close(self) -> None:
        if self._open:
            self._open = False
            os.close(self._descriptor)

    def _allocate(self, size: int) -> bool:
        if not hasattr(os, "posix_fallocate"):
            return False
        try:
            os.posix_fallocate(self._descriptor, 0, size)
        except OSError as error:
            if error.errno in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
                return False
            raise
        return True

    def _fill(self, size: int) -> None:
        offset = 0
        while offset < size:
            offset += os.pwrite(self._descriptor, _BLANKS[: size - offset], offset)


def _replaceable_mode(path: str, shown: str) -> int | None:
    """Permission bits of the file that is to be replaced, None if there is none."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, "the output is a directory; name a file", shown)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "the output is not a regular file; name one", shown)
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "the output exists and is write-protected; choose another name", shown)
    return stat.S_IMODE(status.st_mode)


def _sync_directory(directory: str) -> None:
    """Make the new name itself durable, where the system can do that."""
    try:
        descriptor = os.open(directory, os.O_RDONLY)
    except PermissionError:
        return  # A directory may be writable and not readable; the file's content is on the disk all the same.
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):  # Some file systems cannot sync a directory.
            raise
    finally:
        os.close(descriptor)
