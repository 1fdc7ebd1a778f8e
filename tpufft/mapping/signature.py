"""Which argument is split along which axis: positions and names of a function's parameters, resolved."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

# A parameter's name; the position of what goes into ``*args``.
Key: TypeAlias = str | int
Axes: TypeAlias = Mapping[Key, int] | Sequence[Key]

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_ANY = inspect.Signature(
    [
        inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
        inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
    ]
)


@dataclass(frozen=True)
class Argument:
    """One argument of a call.

    Parameters
    ----------
    key : str or int
        How messages name it.
    shard : int, optional
        The axis that is split over the devices; None: the whole is on every device.
    batch : int, optional
        The axis over which the function is mapped on its device besides.
    """

    key: Key
    shard: int | None
    batch: int | None

    def __str__(self) -> str:
        return f"argument {self.key!r}"


@dataclass(frozen=True)
class Form:
    """How a call names its arguments, and what becomes of each.

    Parameters
    ----------
    positional : int
        How many are given by position.
    keywords : tuple of str
        Those given by name, in the call's order, and the defaults that are to be split.
    defaults : tuple
        The values of those defaults.
    arguments : tuple of Argument
        One for each, by position first.
    """

    positional: int
    keywords: tuple[str, ...]
    defaults: tuple[Any, ...]
    arguments: tuple[Argument, ...]


class Parameters:
    """What a caller's `shard`, `replicate` and `batch` say of a function's parameters.

    Parameters
    ----------
    fn : callable
        Whose parameters they are.
    shard, batch : mapping or sequence
        Axes by position or name; of a sequence, axis 0.
    replicate : sequence
        Positions or names.

    Raises
    ------
    TypeError
        For what is neither position nor name, nor axis.
    ValueError
        For parameters that the function does not have, that are named twice, or both split and replicated.
    """

    def __init__(self, fn: Callable[..., Any], shard: Axes, replicate: Sequence[Key], batch: Axes) -> None:
        self.name = getattr(fn, "__name__", type(fn).__name__)
        try:
            self._signature = inspect.signature(fn)
        except (TypeError, ValueError):  # of some functions written in C
            self._signature = _ANY
        parameters = self._signature.parameters.values()
        self._positional = [each.name for each in parameters if each.kind in _POSITIONAL]
        self._named = [each.name for each in parameters if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
        self._kinds = {each.kind for each in parameters}
        self._shard = self._axes("shard", shard)
        self._batch = self._axes("batch", batch)
        if isinstance(replicate, Mapping):
            raise TypeError(f"replicate={replicate!r} names axes; what is replicated has none: give a sequence")
        for key in self._axes("replicate", replicate):
            if key in self._shard:
                raise ValueError(f"argument {key!r} of {self.name} is in shard and in replicate; name it in one")

    def form(self, positional: int, keywords: tuple[str, ...]) -> Form:
        """What becomes of the arguments of a call.

        Raises
        ------
        TypeError
            For arguments that are missing, too many, or unknown.
        """
        try:
            bound = self._signature.bind(*[None] * positional, **dict.fromkeys(keywords))
        except TypeError as error:
            raise TypeError(f"{self.name}() {error}") from None
        for key in (*self._shard, *self._batch):
            if isinstance(key, int) and key >= positional:
                raise TypeError(f"{self.name}() is called with {positional} arguments by position; smap names {key}")
        absent = {}
        for name, parameter in self._signature.parameters.items():
            is_split = name in self._shard or name in self._batch
            # What is not given is the function's own matter, but for what it would not be given in parts.
            if not is_split or name in bound.arguments or parameter.default is parameter.empty:
                continue
            if parameter.kind is parameter.POSITIONAL_ONLY:
                raise TypeError(f"{self.name}() has to split the default of {name!r}, which no call can name; give it")
            absent[name] = parameter.default
        keys = [*map(self._key_at, range(positional)), *keywords, *absent]
        arguments = tuple(Argument(key, self._shard.get(key), self._batch.get(key)) for key in keys)
        return Form(positional, (*keywords, *absent), tuple(absent.values()), arguments)

    def _axes(self, option: str, given: Any) -> dict[Key, int]:
        if isinstance(given, str) or not isinstance(given, Mapping | Sequence | set | frozenset):
            raise TypeError(f"{option}={given!r} is no sequence of positions or names; write {option}=({given!r},)")
        items = given.items() if isinstance(given, Mapping) else ((key, 0) for key in given)
        axes: dict[Key, int] = {}
        for key, axis in items:
            found = self._checked(option, key)
            if found in axes:
                raise ValueError(f"{option}={given!r} names argument {found!r} of {self.name} twice")
            if isinstance(axis, bool) or not hasattr(axis, "__index__"):
                raise TypeError(
                    f"{option}={given!r} has the axis {axis!r} of argument {found!r}; an axis is an integer"
                )
            axes[found] = operator.index(axis)
        return axes

    def _checked(self, option: str, key: Any) -> Key:
        if isinstance(key, str):
            if key in self._named or inspect.Parameter.VAR_KEYWORD in self._kinds:
                return key
            raise ValueError(f"{option} names {key!r}, which {self.name} does not take; {self._text()}")
        if isinstance(key, bool) or not hasattr(key, "__index__"):
            raise TypeError(f"{option} names {key!r}, which is no position or name of an argument; {self._text()}")
        position = operator.index(key)
        many = inspect.Parameter.VAR_POSITIONAL in self._kinds
        if position < 0 or (position >= len(self._positional) and not many):
            raise ValueError(f"{option} names position {position}, which {self.name} does not take; {self._text()}")
        return self._key_at(position)

    def _key_at(self, position: int) -> Key:
        return self._positional[position] if position < len(self._positional) else position

    def _text(self) -> str:
        return f"its signature is {self.name}{self._signature}"
