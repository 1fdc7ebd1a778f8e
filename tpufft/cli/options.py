"""The command's option values as a person types them: axes, meshes, specs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import typer

SpecEntries: TypeAlias = tuple[tuple[str, ...], ...]


def parse_axes(text: str | None) -> tuple[int, ...] | None:
    """``0,1,2`` as numbers.

    Raises
    ------
    typer.BadParameter
        For anything else.
    """
    if text is None:
        return None
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"--axes {text!r} is no list of axes; write numbers with commas, as 0,1,2") from None


def parse_mesh(text: str | None) -> dict[str, int] | None:
    """``x=4,y=2`` as names and sizes.

    Raises
    ------
    typer.BadParameter
        For anything else.
    """
    if text is None:
        return None
    sizes: dict[str, int] = {}
    for part in text.split(","):
        name, equals, size = (piece.strip() for piece in part.partition("="))
        if not (name.isidentifier() and equals and size.isdecimal() and int(size) > 0) or name in sizes:
            raise typer.BadParameter(f"--mesh {text!r} is no mesh; write each axis once with its size, as x=4,y=2")
        sizes[name] = int(size)
    return sizes


def parse_spec(text: str | None) -> SpecEntries | None:
    """``x,None`` or ``x+y,-`` as mesh axis names for each array axis.

    Raises
    ------
    typer.BadParameter
        For anything else.
    """
    if text is None:
        return None
    entries = []
    for part in text.split(","):
        names = () if part.strip() in ("None", "none", "-") else tuple(name.strip() for name in part.split("+"))
        if not all(name.isidentifier() for name in names):
            raise typer.BadParameter(
                f"--spec {text!r} is no spec; write mesh axes or None for each array axis, as x,None,None"
            )
        entries.append(names)
    return tuple(entries)


def mesh_sizes(devices: int | None, mesh: dict[str, int] | None, default: int) -> dict[str, int]:
    """The mesh that ``--devices`` and ``--mesh`` ask for together.

    Raises
    ------
    typer.BadParameter
        If they contradict each other.
    """
    if mesh is None:
        return {"x": default if devices is None else devices}
    count = math.prod(mesh.values())
    if devices not in (None, count):
        raise typer.BadParameter(f"--mesh has {count} devices and --devices says {devices}; leave one out")
    return mesh


def check_choice(value: str, option: str, choices: Sequence[str]) -> str:
    """A word of a list.

    Raises
    ------
    typer.BadParameter
        For another word; the message lists them.
    """
    if value not in choices:
        raise typer.BadParameter(f"{option} {value!r} is unknown; it is one of {', '.join(choices)}")
    return value
