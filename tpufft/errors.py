"""The exceptions of the package; every message names the argument, what it was, and what would be right."""

from __future__ import annotations


class LayoutError(ValueError):
    """An array, a mesh and a spec that do not fit together."""


class MissingExtraError(ImportError):
    """A function needs an optional dependency that is not installed.

    Parameters
    ----------
    feature : str
        What was asked for, as the caller would say it.
    extra : str
        The extra of this package that brings the dependency.
    reason : str, optional
        What exactly is missing, where that is not plain.
    """

    def __init__(self, feature: str, extra: str, reason: str = "") -> None:
        text = f"{feature} needs the extra '{extra}': pip install 'tpufft[{extra}]'"
        super().__init__(f"{text} ({reason})" if reason else text)
        self.extra = extra


class FileFormatError(ValueError):
    """A file that cannot be read as what it claims to be."""
