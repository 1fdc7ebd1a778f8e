"""Draw the diagrams of the documentation: ``python docs/pictures.py``; needs matplotlib."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

COLOURS = ("#9ecae1", "#fdd0a2", "#a1d99b", "#dadaeb")
ASSETS = Path(__file__).parent / "assets"


def cells(axes: Axes, labels: np.ndarray, devices: np.ndarray, *, title: str, size: int) -> None:
    """Draw an array as cells, each in the colour of the device that stores it."""
    for (row, column), label in np.ndenumerate(labels):
        colour = COLOURS[devices[row, column]]
        axes.add_patch(Rectangle((column, row), 1, 1, facecolor=colour, edgecolor="white", linewidth=1.5))
        axes.text(column + 0.5, row + 0.52, label, ha="center", va="center", fontsize=size)
    axes.set_xlim(0, labels.shape[1])
    axes.set_ylim(labels.shape[0], 0)
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.set_title(title, loc="left", fontsize=10)


def scrambled() -> Figure:
    """Which frequency is stored where along one axis of 16 points in 4 chunks."""
    figure = Figure(figsize=(8.4, 2.3), layout="constrained")
    positions = np.arange(16)
    rows, columns = np.divmod(positions, 4)
    devices = rows[None, :]
    upper, lower = figure.subplots(2, 1)
    cells(upper, positions[None, :], devices, title='order="natural": frequency k at position k', size=10)
    stored = (rows + 4 * columns)[None, :]
    cells(lower, stored, devices, title='order="scrambled": frequency c + 4 d at position 4 c + d', size=10)
    for device in range(4):
        lower.text(4 * device + 2, 1.45, f"device {device}", ha="center", va="center", fontsize=9)
    return figure


def transposed() -> Figure:
    """How a plane of 8 x 8 frequencies is chunked over 4 devices."""
    figure = Figure(figsize=(8.4, 4.7), layout="constrained")
    rows, columns = np.divmod(np.arange(64).reshape(8, 8), 8)
    labels = np.array([[f"{row},{column}" for column in range(8)] for row in range(8)])
    left, right = figure.subplots(1, 2)
    cells(left, labels, rows // 2, title="order=\"natural\": P('x', None)", size=8)
    cells(right, labels, columns // 2, title="order=\"transposed\": P(None, 'x')", size=8)
    return figure


def main() -> None:
    """Write the diagrams."""
    for draw in (scrambled, transposed):
        figure = draw()
        FigureCanvasSVG(figure)
        figure.savefig(ASSETS / f"{draw.__name__}.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
