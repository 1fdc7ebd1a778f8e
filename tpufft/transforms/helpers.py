"""Shifts and frequencies."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import numpy as np
from jax.sharding import Mesh
from jax.typing import ArrayLike

from tpufft.errors import LayoutError
from tpufft.layout import Layout, SpecLike
from tpufft.planning import check_word, frequencies
from tpufft.transforms import call


def fftshift(
    x: ArrayLike, mesh: Mesh | None = None, *, axes: int | Sequence[int] | None = None, spec: SpecLike | None = None
) -> jax.Array:
    r"""Move the zero frequency to the middle.

    .. math:: y_j = x_{(j - \lfloor N/2 \rfloor) \bmod N}

    Parameters
    ----------
    x : array
        Of any dtype.
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    axes : int or sequence of int, optional
        The axes. Default: all.
    spec : PartitionSpec, optional
        As in :func:`fft`.

    Returns
    -------
    jax.Array
        Of the same dtype and chunking.

    Raises
    ------
    numpy.exceptions.AxisError
        For an axis that `x` does not have.
    LayoutError
        As :func:`fft` does.

    Notes
    -----
    A chunked axis takes one permute of a chunk where half its length is a whole number of chunks, else two permutes
    that carry one chunk together.

    Examples
    --------
    >>> import numpy as np, tpufft
    >>> tpufft.fftshift(np.arange(4)).tolist()
    [2, 3, 0, 1]
    """
    return call.shift("fftshift", x, mesh, axes, spec)


def ifftshift(
    x: ArrayLike, mesh: Mesh | None = None, *, axes: int | Sequence[int] | None = None, spec: SpecLike | None = None
) -> jax.Array:
    r"""The inverse of :func:`fftshift`; another shift where a length is odd.

    .. math:: y_j = x_{(j + \lfloor N/2 \rfloor) \bmod N}

    Parameters
    ----------
    x : array
        Of any dtype.
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    axes : int or sequence of int, optional
        The axes. Default: all.
    spec : PartitionSpec, optional
        As in :func:`fft`.

    Returns
    -------
    jax.Array
        Of the same dtype and chunking.

    Raises
    ------
    numpy.exceptions.AxisError
        For an axis that `x` does not have.
    LayoutError
        As :func:`fft` does.

    Notes
    -----
    Costs what :func:`fftshift` costs.

    Examples
    --------
    >>> import numpy as np, tpufft
    >>> tpufft.ifftshift(tpufft.fftshift(np.arange(5))).tolist()
    [0, 1, 2, 3, 4]
    """
    return call.shift("ifftshift", x, mesh, axes, spec)


def fftfreq(
    n: int,
    d: float = 1.0,
    *,
    mesh: Mesh | None = None,
    spec: SpecLike | None = None,
    order: str = "natural",
) -> jax.Array:
    r"""The frequency of every element that :func:`fft` of `n` points returns.

    .. math:: f_k = \frac{k}{n d} \text{ for } k < n/2, \quad \frac{k - n}{n d} \text{ for the others}

    Parameters
    ----------
    n : int
        Number of points.
    d : float, default 1.0
        Sample spacing.
    mesh : jax.sharding.Mesh, optional
        Chunk the result over it. Default: one device.
    spec : PartitionSpec, optional
        The chunking; needs `mesh`. Default: over all its axes.
    order : {"natural", "scrambled"}, default "natural"
        The order in which :func:`fft` stored them.

    Returns
    -------
    jax.Array
        Real, shape ``(n,)``, in cycles per unit of `d`; every device makes its own part.

    Raises
    ------
    ValueError
        For n < 1, an unknown order, or `spec` without `mesh`.
    LayoutError
        Where `n` does not divide into equal chunks.

    Notes
    -----
    No communication.

    Examples
    --------
    >>> import tpufft
    >>> tpufft.fftfreq(4, d=0.5).tolist()
    [0.0, 0.5, -1.0, -0.5]
    """
    if not hasattr(n, "__index__"):
        raise TypeError(f"n={n!r} is no integer")
    if n < 1:
        raise ValueError(f"n={n}: at least one point")
    check_word("order", order, ("natural", "scrambled"))
    if mesh is None and spec is not None:
        raise ValueError(f"spec={spec} needs mesh=, the devices that it speaks of")
    where = Mesh(np.array(jax.devices()[:1]), ("x",)) if mesh is None else mesh
    line = Layout.of((int(n),), np.float64, where, spec)
    if not line.is_even:
        raise LayoutError(
            f"n={n} does not divide into {line.parts[0]} equal chunks; use a multiple of it, or another spec"
        )
    return frequencies(line, d, order)
