"""What a person wants to see of a spectrum on a mesh: its largest peaks, and a picture. Neither gathers it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import jax
import numpy as np

from tpufft.jobs.blocks import Slices, blocks, relative
from tpufft.jobs.save import host_shards

_MOST_CANDIDATES = 1 << 16


@dataclass(frozen=True)
class SpectrumAxis:
    """What the stored elements along one axis are.

    Parameters
    ----------
    length : int
        Number of elements.
    transformed : bool
        Whether they are frequencies.
    bins : callable, optional
        From stored positions to the numbers of their frequencies, 0 to ``length - 1``. By default the same. Frequency
        zero is stored first.
    """

    length: int
    transformed: bool = True
    bins: Callable[[np.ndarray], np.ndarray] | None = None

    def bins_of(self, index: np.ndarray) -> np.ndarray:
        """The numbers of the frequencies at stored positions (the positions themselves, if not transformed)."""
        return index if self.bins is None else self.bins(index)

    def frequency(self, number: int) -> float:
        """Cycles per sample, in [-0.5, 0.5), of a frequency's number."""
        return (number if 2 * number < self.length else number - self.length) / self.length

    def drawn_at(self, index: np.ndarray) -> np.ndarray:
        """Where stored elements stand in a picture: frequencies with zero in the middle, other axes as they are."""
        numbers = self.bins_of(index)
        return (numbers + self.length // 2) % self.length if self.transformed else numbers

    @property
    def zero(self) -> int:
        """The stored position of frequency zero; the middle, if not transformed."""
        return 0 if self.transformed else self.length // 2


@dataclass(frozen=True)
class Peak:
    """A local maximum of the magnitude.

    Parameters
    ----------
    index : tuple of int
        Where it is stored.
    frequency : tuple of float or None
        Cycles per sample along every axis; None along axes that were not transformed.
    magnitude : float
        Its absolute value.
    mirrored : bool
        Whether it stands for a pair of frequencies of opposite sign, as the spectrum of a real signal has them.
    """

    index: tuple[int, ...]
    frequency: tuple[float | None, ...]
    magnitude: float
    mirrored: bool = False


def largest_peaks(
    y: jax.Array | np.ndarray, axes: Sequence[SpectrumAxis], count: int = 5, *, real_signal: bool = False
) -> list[Peak]:
    """The largest local maxima of ``abs(y)``, found shard by shard.

    A local maximum is larger than its neighbours along all transformed axes, diagonals included; frequencies wrap
    around. Only its largest elements leave a shard. Values that are not finite are passed over.

    Parameters
    ----------
    y : array
        The spectrum.
    axes : sequence of SpectrumAxis
        One for every axis of `y`.
    count : int
        How many at most; fewer where there are no more among the 65,536 largest elements.
    real_signal : bool
        The spectrum is that of a real signal: of two frequencies of opposite sign only one is listed.
    """
    kept = 64 * count
    while True:
        magnitudes, places = _largest_elements(y, kept)
        peaks = _local_maxima(magnitudes, places, axes, count, real_signal)
        if len(peaks) == count or len(magnitudes) < kept or kept >= _MOST_CANDIDATES:
            return peaks
        kept = min(8 * kept, _MOST_CANDIDATES)


def maxima_plane(
    y: jax.Array | np.ndarray, axes: Sequence[SpectrumAxis], shown: Sequence[int], limit: int
) -> np.ndarray:
    """``abs(y)`` over some axes, at frequency zero of the others, made small enough to draw.

    Every element of the picture is the *maximum* over what falls into it, so that a line of one element stays visible.
    Only the shards that meet the plane are read.

    Parameters
    ----------
    y : array
        The spectrum.
    axes : sequence of SpectrumAxis
        One for every axis of `y`.
    shown : sequence of int
        The axes of the picture, in its order.
    limit : int
        Elements of the picture along each axis at most.

    Returns
    -------
    numpy.ndarray
        Frequency zero in the middle, at ``size // 2`` where nothing was merged.
    """
    sizes = tuple(min(axes[axis].length, limit) for axis in shown)
    picture = np.zeros(sizes, np.float64)
    fixed = {axis: axes[axis].zero for axis in range(len(axes)) if axis not in shown}
    for index, values in host_shards(y):
        plane = _through(index, fixed)
        if plane is None:
            continue
        for block in blocks(plane, y.dtype.itemsize, tuple(range(len(axes)))):
            magnitude = np.abs(values[relative(block, index)])
            magnitude = magnitude.transpose(*shown, *fixed).reshape(
                [block[axis].stop - block[axis].start for axis in shown]
            )
            targets = []
            for position, axis in enumerate(shown):
                drawn = axes[axis].drawn_at(np.arange(block[axis].start, block[axis].stop))
                cells = drawn * sizes[position] // axes[axis].length
                magnitude, cells = _merge(magnitude, cells, position)
                targets.append(cells)
            cut = np.ix_(*targets)
            picture[cut] = np.fmax(picture[cut], magnitude)
    return picture


def _merge(values: np.ndarray, cells: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Maxima over elements along `axis` that fall into the same cell, and those cells."""
    order = np.argsort(cells, kind="stable")
    ordered = cells[order]
    first = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    return np.fmax.reduceat(values.take(order, axis), first, axis=axis), ordered[first]


def _through(index: Slices, fixed: Mapping[int, int]) -> Slices | None:
    """The part of a shard where some axes have a fixed position, None if there is none."""
    cut = list(index)
    for axis, position in fixed.items():
        if not index[axis].start <= position < index[axis].stop:
            return None
        cut[axis] = slice(position, position + 1)
    return None if any(part.start >= part.stop for part in cut) else tuple(cut)


def _largest_elements(y: jax.Array | np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The `count` largest finite magnitudes, largest first, and their places (one row each)."""
    magnitudes, places = np.empty(0), np.empty((0, y.ndim), np.int64)
    for block, values in _blocks_of(y):
        flat = np.abs(values).ravel()
        floor = magnitudes[-1] if len(magnitudes) == count else 0.0
        chosen = np.flatnonzero(np.isfinite(flat) & (flat > floor))
        if len(chosen) > count:
            chosen = chosen[np.argpartition(flat[chosen], -count)[-count:]]
        found = np.stack(np.unravel_index(chosen, values.shape), axis=-1) if y.ndim else np.empty((len(chosen), 0), int)
        offset = np.array([part.start for part in block], np.int64)
        magnitudes = np.concatenate([magnitudes, flat[chosen]])
        places = np.concatenate([places, found + offset])
        order = np.lexsort((*places.T[::-1], -magnitudes))[:count]
        magnitudes, places = magnitudes[order], places[order]
    return magnitudes, places


def _blocks_of(y: jax.Array | np.ndarray) -> Iterator[tuple[Slices, np.ndarray]]:
    for index, values in host_shards(y):
        for block in blocks(index, y.dtype.itemsize, tuple(range(y.ndim))):
            yield block, values[relative(block, index)]


def _local_maxima(
    magnitudes: np.ndarray, places: np.ndarray, axes: Sequence[SpectrumAxis], count: int, real_signal: bool
) -> list[Peak]:
    # The elements are all those above the last one, so a larger neighbour is among them or does not exist.
    numbers = np.stack([axis.bins_of(column) for axis, column in zip(axes, places.T, strict=True)], axis=-1)
    rank = {tuple(row): position for position, row in enumerate(numbers.tolist())}
    steps = [step for step in product(*((-1, 0, 1) if axis.transformed else (0,) for axis in axes)) if any(step)]
    peaks: list[Peak] = []
    for at, position in rank.items():
        neighbours = (_shifted(at, step, axes) for step in steps)
        if any(rank.get(other, position) < position for other in neighbours):
            continue
        mirror = tuple(-k % axis.length if axis.transformed else k for k, axis in zip(at, axes, strict=True))
        if real_signal and mirror < at:
            continue
        frequency = tuple(axis.frequency(k) if axis.transformed else None for k, axis in zip(at, axes, strict=True))
        index = tuple(int(i) for i in places[position])
        peaks.append(Peak(index, frequency, float(magnitudes[position]), real_signal and mirror != at))
        if len(peaks) == count:
            break
    return peaks


def _shifted(at: tuple[int, ...], step: tuple[int, ...], axes: Sequence[SpectrumAxis]) -> tuple[int, ...]:
    return tuple((k + s) % axis.length for k, s, axis in zip(at, step, axes, strict=True))
