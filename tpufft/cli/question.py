"""The plan that is asked for on the command line, of an array that need not be there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import jax
import numpy as np
import typer
from jax.sharding import PartitionSpec

import tpufft
from tpufft.cli import options, parameters
from tpufft.cli.devices import DEFAULT_CPU_DEVICES, make_mesh
from tpufft.planning import KINDS, METHODS, NORMS, TRANSFORMS, Plan


@dataclass(frozen=True)
class Question:
    """What was asked for on the command line."""

    transform: str
    shape: tuple[int, ...]
    dtype: str | None = None
    axes: tuple[int, ...] | None = None
    sizes: tuple[int, ...] | None = None
    devices: int | None = None
    mesh: dict[str, int] | None = None
    spec: options.SpecEntries | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(
        cls,
        transform: str,
        shape: str,
        *,
        dtype: str | None,
        axes: str | None,
        sizes: str | None,
        devices: int | None,
        mesh: str | None,
        spec: str | None,
        **named: object,
    ) -> Self:
        """From option values as they were typed.

        Raises
        ------
        typer.BadParameter
            For one that cannot be read, and for words that do not exist.
        """
        choices = {
            "norm": NORMS,
            "order": parameters.ORDERS,
            "method": METHODS,
            "kernel": parameters.KERNEL_WORDS,
        }
        for word, words in choices.items():
            if named.get(word) is not None:
                options.check_choice(str(named[word]), f"--{word}", words)
        found = cls(
            transform=options.check_choice(transform, "--transform", TRANSFORMS),
            shape=parse_sizes(shape, "--shape"),
            dtype=dtype,
            axes=options.parse_axes(axes),
            sizes=None if sizes is None else parse_sizes(sizes, "--sizes"),
            devices=devices,
            mesh=options.parse_mesh(mesh),
            spec=options.parse_spec(spec),
            options={word: value for word, value in named.items() if value is not None},
        )
        options.mesh_sizes(found.devices, found.mesh, 1)
        return found

    def plan(self) -> Plan:
        """The plan on the devices that there are; starts JAX's backend.

        Raises
        ------
        ValueError
            For options that do not go with the transform, and what :func:`tpufft.plan` refuses.
        """
        dtype = None if self.dtype is None else _dtype(self.dtype)
        if dtype is not None and dtype in (np.complex128, np.float64):
            jax.config.update("jax_enable_x64", True)
        automatic = self.devices is None and self.mesh is None
        sizes = options.mesh_sizes(self.devices, self.mesh, DEFAULT_CPU_DEVICES)
        spec = None if self.spec is None else PartitionSpec(*(names or None for names in self.spec))
        mesh = make_mesh(sizes, all_accelerators=automatic)
        try:
            return tpufft.plan(self.transform, self.shape, dtype, mesh, spec=spec, **self._own_options())
        except TypeError as error:
            # Options that do not go with the transform: the caller's, not the command's.
            raise ValueError(str(error)) from error

    def _own_options(self) -> dict[str, Any]:
        """The transform's own options: one axis and length where it has one of each."""
        one = self.transform in KINDS and KINDS[self.transform].axes == "one"
        words = {"axes": "axis" if one else "axes", "sizes": "n" if one else "s"}
        found = dict(self.options)
        for option, values in (("axes", self.axes), ("sizes", self.sizes)):
            if values is not None and one and len(values) != 1:
                raise ValueError(f"--{option} has {len(values)} numbers; {self.transform} takes one")
            if values is not None:
                found[words[option]] = values[0] if one else values
        return found


def parse_sizes(text: str, option: str) -> tuple[int, ...]:
    """``256,256`` as numbers.

    Raises
    ------
    typer.BadParameter
        For anything else.
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise typer.BadParameter(f"{option} {text!r} is no list of sizes; write numbers with commas, as 256,256")
    return tuple(map(int, parts))


def _dtype(text: str) -> np.dtype:
    try:
        return np.dtype(text)
    except TypeError:
        raise ValueError(f"--dtype {text!r} is no dtype; give one such as complex64 or float32") from None
