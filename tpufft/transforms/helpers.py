"""Shifts and frequencies."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import numpy as np
from jax.sharding import Mesh

from tpufft.execution import presented
from tpufft.layout import Layout, SpecLike
from tpufft.planning import Bins, check_word, frequencies, widest_float
from tpufft.steps import half
from tpufft.transforms import call

LARGEST = 1 << 40
"""Bytes on a device beyond which a size is taken for a mistake."""


def fftshift(
    x: call.Argument, mesh: Mesh | None = None, *, axes: int | Sequence[int] | None = None, spec: SpecLike | None = None
) -> call.Result:
    r"""Move the zero frequency to the middle.

    .. math:: y_j = x_{(j - \lfloor N/2 \rfloor) \bmod N}

    Parameters
    ----------
    x : array or ChunkedArray
        Of any dtype.
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    axes : int or sequence of int, optional
        The axes. Default: all.
    spec : PartitionSpec, optional
        As in :func:`fft`.

    Returns
    -------
    jax.Array or ChunkedArray
        Of the same dtype and chunking; which of the two, as :func:`fft` has it.

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
    x: call.Argument, mesh: Mesh | None = None, *, axes: int | Sequence[int] | None = None, spec: SpecLike | None = None
) -> call.Result:
    r"""The inverse of :func:`fftshift`; another shift where a length is odd.

    .. math:: y_j = x_{(j + \lfloor N/2 \rfloor) \bmod N}

    Parameters
    ----------
    x : array or ChunkedArray
        Of any dtype.
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    axes : int or sequence of int, optional
        The axes. Default: all.
    spec : PartitionSpec, optional
        As in :func:`fft`.

    Returns
    -------
    jax.Array or ChunkedArray
        Of the same dtype and chunking; which of the two, as :func:`fft` has it.

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
) -> call.Result:
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
    jax.Array or ChunkedArray
        Real, shape ``(n,)``, in cycles per unit of `d`; a ChunkedArray where `n` does not divide into equal chunks.
        Every device makes its own part.

    Raises
    ------
    ValueError
        For n < 1, a chunk of more than 2**40 bytes, an unknown order, d = 0, or `spec` without `mesh`.
    TypeError
        For `n` that is no integer, or `d` that is no real number.
    LayoutError
        For a spec that does not fit.

    Notes
    -----
    No communication.

    Examples
    --------
    >>> import tpufft
    >>> tpufft.fftfreq(4, d=0.5).tolist()
    [0.0, 0.5, -1.0, -0.5]
    """
    return _frequencies(n, d, mesh, spec, order, real=False)


def rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    mesh: Mesh | None = None,
    spec: SpecLike | None = None,
    order: str = "natural",
) -> call.Result:
    r"""The frequency of every element that :func:`rfft` of `n` points returns.

    .. math:: f_k = \frac{k}{n d}, \qquad k = 0, \dots, \lfloor n/2 \rfloor

    Parameters
    ----------
    n, d, mesh, spec
        As in :func:`fftfreq`.
    order : {"natural", "scrambled"}, default "natural"
        Of :func:`rfft`, which has the same for both.

    Returns
    -------
    jax.Array or ChunkedArray
        Real, shape ``(n // 2 + 1,)``, in cycles per unit of `d`; a ChunkedArray where that does not divide into equal
        chunks. Every device makes its own part.

    Raises
    ------
    ValueError, TypeError, LayoutError
        As in :func:`fftfreq`.

    Notes
    -----
    No communication.

    Examples
    --------
    >>> import tpufft
    >>> tpufft.rfftfreq(4, d=0.5).tolist()
    [0.0, 0.5, 1.0]
    """
    return _frequencies(n, d, mesh, spec, order, real=True)


def _frequencies(n: int, d: float, mesh: Mesh | None, spec: SpecLike | None, order: str, *, real: bool) -> call.Result:
    if not hasattr(n, "__index__"):
        raise TypeError(f"n={n!r} is no integer")
    if n < 1:
        raise ValueError(f"n={n}: at least one point")
    check_word("order", order, ("natural", "scrambled"))
    if mesh is None and spec is not None:
        raise ValueError(f"spec={spec} needs mesh=, the devices that it speaks of")
    where = Mesh(np.array(jax.devices()[:1]), ("x",)) if mesh is None else mesh
    line = Layout.of((half(n) if real else n,), widest_float(), where, spec)
    if line.chunk_bytes > LARGEST:
        raise ValueError(f"n={n}: a device would hold {line.chunk_bytes} bytes of frequencies, more than {LARGEST}")
    data = frequencies(line, d, order, Bins(int(n), negative=not real))
    return presented(data, line)
