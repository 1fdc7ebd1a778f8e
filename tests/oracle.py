"""The definition of the transforms, in O(N^2), float64 and nothing of any FFT library: what results are held against.

Every axis is multiplied by a dense matrix, whose phases are reduced in integers before they become floats. Sizes, axes
and norms have numpy's meaning: the last axis first (an inverse to real: last), an axis that stands twice is
transformed twice, ``n`` and ``s`` cut or pad with zeros at the end, -1 in ``s`` is the argument's own length. What
only scipy has (``hfft2``, ``dct``, ``fht`` and their kin) has scipy's meaning.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import loggamma

COMPLEX = ("fft", "ifft", "fft2", "ifft2", "fftn", "ifftn")
REAL_TO_COMPLEX = ("rfft", "ihfft", "rfft2", "ihfft2", "rfftn", "ihfftn")
COMPLEX_TO_REAL = ("irfft", "hfft", "irfft2", "hfft2", "irfftn", "hfftn")
TRIGONOMETRIC = ("dct", "idct", "dst", "idst", "dctn", "idctn", "dstn", "idstn")
HANKEL = ("fht", "ifht")
NAMES = COMPLEX + REAL_TO_COMPLEX + COMPLEX_TO_REAL + TRIGONOMETRIC + HANKEL

ONE_AXIS = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "dct", "idct", "dst", "idst", *HANKEL)
TWO_AXES = ("fft2", "ifft2", "rfft2", "irfft2", "hfft2", "ihfft2")
# Theirs are scipy's rules: an axis that stands twice is an error.
SCIPYS = ("hfft2", "ihfft2", "hfftn", "ihfftn", *TRIGONOMETRIC, *HANKEL)


# -- matrices ---------------------------------------------------------------------------------------------------------


def matrix(n: int, *, inverse: bool = False, norm: str | None = None) -> np.ndarray:
    """The (n, n) matrix of the complex transform."""
    k = np.arange(n)
    angles = 2 * np.pi * (np.outer(k, k) % n) / n
    scale = _scale(n, inverse, norm)
    return scale * (np.cos(angles) + (1j if inverse else -1j) * np.sin(angles))


def real_matrix(n: int, *, inverse: bool = False, norm: str | None = None) -> np.ndarray:
    """The (n // 2 + 1, n) matrix from n real numbers to half their spectrum: ``rfft``, or ``ihfft`` if inverse."""
    return matrix(n, inverse=inverse, norm=norm)[: n // 2 + 1]


def half_matrix(n: int, *, inverse: bool = False, norm: str | None = None) -> np.ndarray:
    """The (n, n // 2 + 1) matrix B whose ``Re(B z)`` is ``irfft``, or ``hfft`` if not inverse."""
    # All but the first and, of even n, the last stand for their mirror images too.
    weights = np.array([1 if 2 * k % n == 0 else 2 for k in range(n // 2 + 1)])
    return matrix(n, inverse=inverse, norm=norm)[:, : n // 2 + 1] * weights


def trigonometric_matrix(
    name: str, n: int, type: int = 2, *, norm: str | None = None, orthogonalize: bool | None = None
) -> np.ndarray:
    """The (n, n) matrix of ``dct``, ``idct``, ``dst`` or ``idst`` along one axis."""
    inverse, sine = name.startswith("i"), "dst" in name
    if inverse:
        type = {1: 1, 2: 3, 3: 2, 4: 4}[type]
    j, k = np.arange(n)[None, :], np.arange(n)[:, None]
    # Twice the phase in units of pi / turns, and where the definition has 1 instead of 2.
    turns, phase = {
        ("c", 1): (n - 1, j * k),
        ("c", 2): (2 * n, (2 * j + 1) * k),
        ("c", 3): (2 * n, j * (2 * k + 1)),
        ("c", 4): (4 * n, (2 * j + 1) * (2 * k + 1)),
        ("s", 1): (n + 1, (j + 1) * (k + 1)),
        ("s", 2): (2 * n, (2 * j + 1) * (k + 1)),
        ("s", 3): (2 * n, (j + 1) * (2 * k + 1)),
        ("s", 4): (4 * n, (2 * j + 1) * (2 * k + 1)),
    }["s" if sine else "c", type]
    angles = np.pi * (phase % (2 * turns)) / turns
    y = 2 * (np.sin(angles) if sine else np.cos(angles))
    ends = {("c", 1): [0, -1], ("c", 3): [0], ("s", 3): [-1]}.get(("s" if sine else "c", type), [])
    y[:, ends] /= 2
    if norm == "ortho" if orthogonalize is None else orthogonalize:
        y[:, ends] *= math.sqrt(2)
        last = {("c", 1): [0, -1], ("c", 2): [0], ("s", 2): [-1]}.get(("s" if sine else "c", type), [])
        y[last] /= math.sqrt(2)
    period = 2 * (n if type > 1 else n + 1 if sine else n - 1)
    return _scale(period, inverse, norm) * y


def hankel_matrix(name: str, n: int, *, dln: float, mu: float, offset: float = 0.0, bias: float = 0.0) -> np.ndarray:
    """The (n, n) matrix of the fast Hankel transform, or of its inverse, on n logarithmic points dln apart."""
    m = np.arange(n // 2 + 1)
    x = bias + 2j * np.pi * m / (n * dln)
    logarithm = x * math.log(2) + loggamma((mu + 1 + x) / 2) - loggamma((mu + 1 - x) / 2)
    u = np.exp(logarithm - offset * (x - bias))
    if n % 2 == 0:
        u[-1] = u[-1].real
    inverse = name == "ifht"
    kernel = 1 / np.conj(u) if inverse else u
    y = np.real(half_matrix(n, inverse=True) @ (kernel[:, None] * real_matrix(n)))[::-1]
    j = np.arange(n) - (n - 1) / 2
    here, there = np.exp(-bias * j * dln), np.exp(-bias * (j * dln + offset))
    return y / (here[:, None] * there) if inverse else there[:, None] * y * here


def hankel_condition(name: str, n: int, *, dln: float, mu: float, offset: float = 0.0, bias: float = 0.0) -> float:
    """By how much rounding of the factors grows: the inverse divides by a real part, which may be next to nothing."""
    if name == "fht" or n % 2 or n < 2:
        return 1.0
    x = bias + 1j * np.pi / dln
    phase = (x * math.log(2) + loggamma((mu + 1 + x) / 2) - loggamma((mu + 1 - x) / 2) - offset * (x - bias)).imag
    # The angle is right to its own last digit, and the cosine is as wrong as that; its reciprocal even more.
    return max(1.0, abs(phase)) / max(abs(math.cos(phase)), 1e-3)


# -- transforms -------------------------------------------------------------------------------------------------------


def along(x: np.ndarray, axis: int, n: int | None = None, *, inverse: bool = False, norm: str | None = None):
    """The complex transform of one axis."""
    x = np.asarray(x, np.complex128)
    return _multiply(matrix(x.shape[axis] if n is None else n, inverse=inverse, norm=norm), x, axis)


def transform(
    name: str,
    x: np.ndarray,
    *,
    n: int | None = None,
    axis: int = -1,
    s: Sequence[int | None] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    **own,
) -> np.ndarray:
    """Any transform by its numpy or scipy arguments; `own` are those of the trigonometric ones and of ``fht``."""
    x = np.asarray(x)
    if name in ONE_AXIS:
        places, sizes = (axis,), (n,)
    else:
        if axes is None:
            axes = (-2, -1) if name in TWO_AXES else range(-(x.ndim if s is None else len(s)), 0)
        places = tuple(axes)
        # Without s the lengths are those that x has, except the last of an inverse to real; None is what comes.
        given = [-1] * len(places) if s is None else s
        sizes = tuple(x.shape[a] if k == -1 else k for a, k in zip(places, given, strict=True))
        if s is None and name in COMPLEX_TO_REAL:
            sizes = (*sizes[:-1], None)
    inverse = name.startswith("i")
    if name in HANKEL:
        return _multiply(hankel_matrix(name, x.shape[-1], **own), _float(x), -1)
    if name in TRIGONOMETRIC:
        y = _float(x)
        for place, size in zip(places, sizes, strict=True):
            points = y.shape[place] if size is None else size
            y = _multiply(trigonometric_matrix(name, points, norm=norm, **own), y, place)
        return y
    if name in COMPLEX_TO_REAL:
        y = np.asarray(x, np.complex128)
        for place, size in zip(places[:-1], sizes[:-1], strict=True):
            y = along(y, place, size, inverse=inverse, norm=norm)
        last = 2 * (x.shape[places[-1]] - 1) if sizes[-1] is None else sizes[-1]
        return np.real(_multiply(half_matrix(last, inverse=inverse, norm=norm), y, places[-1]))
    y = np.asarray(x, np.complex128)
    rest = list(zip(places, sizes, strict=True))
    if name in REAL_TO_COMPLEX:
        if np.iscomplexobj(x):
            raise TypeError(f"{name} takes real numbers")
        place, size = rest.pop()
        y = _multiply(real_matrix(x.shape[place] if size is None else size, inverse=inverse, norm=norm), y, place)
    for place, size in reversed(rest):
        y = along(y, place, size, inverse=inverse, norm=norm)
    return y


def linear_map(name: str, shape: tuple[int, ...], **options) -> np.ndarray:
    """The matrix of a transform of arrays of one shape: ``(*result.shape, *shape)``, the Jacobian of the transform.

    Of one from complex to real it is the B of ``Re(B z)``.
    """
    units = [unit.reshape(shape) for unit in np.eye(math.prod(shape))]
    columns = [transform(name, unit, **options) for unit in units]
    if name in COMPLEX_TO_REAL:
        columns = [y - 1j * transform(name, 1j * unit, **options) for y, unit in zip(columns, units, strict=True)]
    return np.stack(columns, axis=-1).reshape(*columns[0].shape, *shape)


def shift(x: np.ndarray, axes: Sequence[int] | int | None = None, *, inverse: bool = False) -> np.ndarray:
    """``fftshift`` and its inverse, element by element of each axis."""
    x = np.asarray(x)
    axes = range(x.ndim) if axes is None else [axes] if isinstance(axes, int) else axes
    for axis in axes:
        size = x.shape[axis]
        half = size // 2
        x = np.take(x, [(j + half if inverse else j - half) % size for j in range(size)], axis=axis)
    return x


def frequencies(n: int, d: float = 1.0, *, real: bool = False) -> np.ndarray:
    """The frequency of every DFT bin, in numpy's order; of a real transform's bins, none of them negative."""
    if real:
        return np.arange(n // 2 + 1) / (n * d)
    return np.array([k if k < (n + 1) // 2 else k - n for k in range(n)]) / (n * d)


def _multiply(matrix: np.ndarray, x: np.ndarray, axis: int) -> np.ndarray:
    """The matrix times one axis, which is cut or padded with zeros to the matrix's columns."""
    size = matrix.shape[1]
    x = np.moveaxis(x, axis, -1)[..., :size]
    x = np.concatenate([x, np.zeros((*x.shape[:-1], size - x.shape[-1]))], axis=-1)
    # A plain sum of products.
    return np.moveaxis(np.einsum("...j,kj->...k", x, matrix), -1, axis)


def _float(x: np.ndarray) -> np.ndarray:
    return x.astype(np.complex128 if np.iscomplexobj(x) else np.float64)


def _scale(n: int, inverse: bool, norm: str | None) -> float:
    if norm == "ortho":
        return 1 / math.sqrt(n)
    return 1 / n if inverse == (norm in (None, "backward")) else 1.0
