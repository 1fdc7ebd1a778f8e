"""Pictures of a spectrum: a line, or a plane; drawn without a display and without matplotlib's global state."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import jax
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from tpufft.errors import FileFormatError
from tpufft.formats import AtomicFile
from tpufft.jobs import SpectrumAxis, maxima_plane

LINE_POINTS = 4096
PLANE_POINTS = 1024
_DECADES = 8


class PictureFile:
    """A picture that appears when it is whole.

    Parameters
    ----------
    path : Path
        The file; its suffix names the format.

    Raises
    ------
    FileFormatError
        If matplotlib does not know the suffix.
    OSError
        If the file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._format = path.suffix.lower().removeprefix(".")
        known = FigureCanvasAgg(Figure()).get_supported_filetypes()
        if self._format not in known:
            raise FileFormatError(f"{path}: the suffix names no picture format; known are {', '.join(sorted(known))}")
        self._file = AtomicFile(path)

    def save(self, figure: Figure) -> None:
        """Write the picture."""
        figure.savefig(self._file.temporary, format=self._format, dpi=120)
        self._file.commit()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.__exit__(kind, value, trace)


def draw(y: jax.Array | np.ndarray, axes: Sequence[SpectrumAxis], *, title: str) -> Figure:
    """Draw the magnitude of a result.

    Parameters
    ----------
    y : array
        The result; only what is shown is read back.
    axes : sequence of SpectrumAxis
        What its elements are, along every axis.
    title : str
        Above the picture.

    Returns
    -------
    Figure
        For one axis a line, small enough to draw by taking maxima; for more the plane of the last two axes, through
        frequency zero of the others. Frequency zero is in the middle; magnitudes are logarithmic.
    """
    figure = Figure(figsize=(8, 5), layout="constrained")
    FigureCanvasAgg(figure)
    if len(axes) == 1:
        _draw_line(figure, maxima_plane(y, axes, (0,), LINE_POINTS), axes[0])
    else:
        shown = (len(axes) - 2, len(axes) - 1)
        _draw_plane(figure, maxima_plane(y, axes, shown, PLANE_POINTS), axes, shown)
    figure.suptitle(title)
    return figure


def _draw_line(figure: Figure, magnitude: np.ndarray, axis: SpectrumAxis) -> None:
    plot = figure.add_subplot()
    start, stop = _range(axis)
    # A value covers the elements that were merged into it; its place is the first of them.
    places = start + (stop - start) * np.arange(len(magnitude)) / len(magnitude)
    plot.plot(places, _floored(magnitude), linewidth=0.8)
    plot.set_yscale("log")
    plot.set_xlim(start, stop)
    plot.set_xlabel(_label(axis, ""))
    plot.set_ylabel("magnitude")
    plot.grid(alpha=0.3)


def _draw_plane(figure: Figure, magnitude: np.ndarray, axes: Sequence[SpectrumAxis], shown: tuple[int, int]) -> None:
    plot = figure.add_subplot()
    rows, columns = (axes[axis] for axis in shown)
    (top, bottom), (left, right) = _edges(rows), _edges(columns)
    image = plot.imshow(
        np.log10(_floored(magnitude)), extent=(left, right, bottom, top), aspect="auto", interpolation="nearest"
    )
    plot.set_xlabel(_label(columns, f"axis {shown[1]}: "))
    plot.set_ylabel(_label(rows, f"axis {shown[0]}: "))
    figure.colorbar(image, label="log10 of the magnitude")


def _floored(magnitude: np.ndarray) -> np.ndarray:
    """Without zeros, of which a logarithm shows nothing, and within a range that a picture can show."""
    finite = magnitude[np.isfinite(magnitude) & (magnitude > 0)]
    largest = finite.max() if finite.size else 1.0
    return np.clip(np.nan_to_num(magnitude, nan=0.0, posinf=largest), largest * 10.0**-_DECADES, largest)


def _range(axis: SpectrumAxis) -> tuple[float, float]:
    """Where the first element of a picture stands, and where one behind the last would."""
    if not axis.transformed:
        return 0.0, float(axis.length)
    first = -(axis.length // 2) / axis.length
    return first, first + 1.0


def _edges(axis: SpectrumAxis) -> tuple[float, float]:
    """The range as pixels cover it, each with its element in the middle."""
    start, stop = _range(axis)
    half = (stop - start) / axis.length / 2
    return start - half, stop - half


def _label(axis: SpectrumAxis, name: str) -> str:
    return f"{name}{'cycles per sample' if axis.transformed else 'index'}"
