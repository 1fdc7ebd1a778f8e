"""The chunkings and orders that are a contract: functions of shape, axes, mesh and spec alone.

``transposed`` leaves every transformed axis where it was freed; ``scrambled`` stores along a chunked axis of N = P n
points, at position ``c n + d``, the frequency ``c + P d``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from tpufft.errors import LayoutError
from tpufft.layout import Layout, Spec, format_spec, mesh_size
from tpufft.meshes import AnyMesh


def transposed_spec(shape: tuple[int, ...], mesh: AnyMesh, spec: Spec, axes: tuple[int, ...]) -> Spec:
    """The chunking that a transform of `axes` leaves when the last exchanges are left out.

    From the last transformed axis to the first, an axis that is still chunked hands all its mesh axes to another one:
    the next whole transformed axis behind it, cyclically; else a whole axis that is not transformed; else the next
    transformed one. Axes that divide come before axes that do not.

    Raises
    ------
    LayoutError
        Where there is no other axis.
    """
    entries = list(spec)
    waiting = {axis for axis in axes if mesh_size(mesh, entries[axis]) > 1}
    while waiting:
        axis = max(waiting)
        target = _next_home(shape, mesh, entries, axis, axes)
        entries[target], entries[axis] = entries[target] + entries[axis], ()
        waiting = {other for other in waiting if mesh_size(mesh, entries[other]) > 1}
    return tuple(entries)


def _next_home(shape: tuple[int, ...], mesh: AnyMesh, entries: list, axis: int, axes: tuple[int, ...]) -> int:
    if len(shape) == 1:
        raise LayoutError(
            "order='transposed' needs an array of two axes or more; for one axis use fft(order='scrambled')"
        )

    def rank(other: int) -> tuple:
        whole = mesh_size(mesh, entries[other]) == 1
        divides = shape[other] % mesh_size(mesh, entries[other] + entries[axis]) == 0
        kind = (0 if other in axes else 1) if whole else 2 + (other not in axes)
        return (not divides, kind, (other - axis) % len(shape))

    return min((other for other in range(len(shape)) if other != axis), key=rank)


def natural_spec(shape: tuple[int, ...], mesh: AnyMesh, spec: Spec, axes: tuple[int, ...]) -> Spec:
    """The one chunking whose transposed one is `spec`.

    Raises
    ------
    LayoutError
        Where there is none, or more than one.
    """
    leaving = [other for other in _all_specs(len(shape), spec) if transposed_spec(shape, mesh, other, axes) == spec]
    # Chunkings without padding are meant, where there are any.
    found = [other for other in leaving if _divides(shape, mesh, other)] or leaving
    if len(found) == 1:
        return found[0]
    what = "no chunking leaves" if not found else f"{len(found)} chunkings leave"
    raise LayoutError(
        f"order='transposed': {what} {format_spec(spec)} for axes {axes}; pass spec=, the natural side's chunking"
    )


def transposed_shape(
    chunk: tuple[int, ...], mesh: AnyMesh, natural: Spec, axes: Sequence[int] | None
) -> tuple[int, ...]:
    """The shape of the array of which `chunk` is a part in the transposed chunking of `natural`.

    Raises
    ------
    LayoutError
        Where no shape fits.
    """
    chosen = range(len(chunk)) if axes is None else axes
    sorted_axes = tuple(sorted({axis % len(chunk) for axis in chosen}))
    for spec in _all_specs(len(chunk), natural):
        shape = tuple(size * mesh_size(mesh, names) for size, names in zip(chunk, spec, strict=True))
        if transposed_spec(shape, mesh, natural, sorted_axes) == spec:
            return shape
    raise LayoutError(f"a chunk of shape {chunk} is no part of a transposed chunking of {format_spec(natural)}")


def _divides(shape: tuple[int, ...], mesh: AnyMesh, spec: Spec) -> bool:
    return all(size % mesh_size(mesh, names) == 0 for size, names in zip(shape, spec, strict=True))


def _all_specs(rank: int, spec: Spec) -> Iterator[Spec]:
    names = [name for entry in spec for name in entry]
    for order in itertools.permutations(names):
        for places in itertools.product(range(rank), repeat=len(names)):
            entries: list[tuple[str, ...]] = [()] * rank
            for name, place in zip(order, places, strict=True):
                entries[place] += (name,)
            candidate = tuple(entries)
            # Names that share no axis commute: each assignment is met once, in the order of its axes.
            if tuple(name for entry in candidate for name in entry) == order:
                yield candidate


def frequency_index(layout: Layout, axis: int, order: str, positions: np.ndarray) -> np.ndarray:
    """Which DFT bin is stored at the given positions along `axis`."""
    size, parts = layout.shape[axis], layout.parts[axis]
    if order != "scrambled" or parts == 1 or size % parts:
        return positions
    rows, columns = np.divmod(positions, size // parts)
    return rows + parts * columns
