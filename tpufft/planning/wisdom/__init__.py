"""Wisdom: plans that were chosen by measuring, kept in a file and used without asking."""

from tpufft.planning.wisdom.agreed import wisdom
from tpufft.planning.wisdom.keys import fingerprint, is_current, key, machine_key, signature, versions
from tpufft.planning.wisdom.store import Entry, Wisdom, add, check_writable, clear, path, read, write

__all__ = [
    "Entry",
    "Wisdom",
    "add",
    "check_writable",
    "clear",
    "fingerprint",
    "is_current",
    "key",
    "machine_key",
    "path",
    "read",
    "signature",
    "versions",
    "wisdom",
    "write",
]
