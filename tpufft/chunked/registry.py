"""Operators of chunked arrays that floors above define: products and indices know of plans and rings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

OPERATORS = ("matmul", "getitem")
_REGISTERED: dict[str, Callable[..., Any]] = {}


def register_operator(name: str, function: Callable[..., Any]) -> None:
    """Say what an operator of chunked arrays does; done once for each, when the module that knows is imported.

    Parameters
    ----------
    name : {"matmul", "getitem"}
        ``function(a, b)`` for ``a @ b``, of which one is chunked (it may return NotImplemented); ``function(a, index)``
        for ``a[index]``.
    function : callable
        What is called.

    Raises
    ------
    ValueError
        For another name, or one that another function has already.

    Examples
    --------
    >>> from tpufft.chunked import register_operator
    >>> register_operator("matmul", lambda a, b: NotImplemented)  # doctest: +SKIP
    """
    if name not in OPERATORS:
        raise ValueError(f"name={name!r} is no operator that can be registered; one of {OPERATORS}")
    if _REGISTERED.setdefault(name, function) is not function:
        raise ValueError(f"name={name!r} is registered already, as {_REGISTERED[name]}")


def registered(name: str) -> Callable[..., Any] | None:
    """What was registered for an operator."""
    return _REGISTERED.get(name)
