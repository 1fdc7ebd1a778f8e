"""The definition of the transforms, in O(N^2), float64 and nothing of any FFT library: what results are held against.

Every axis is multiplied by the DFT matrix, whose phases are reduced in integers before they become floats. Sizes, axes
and norms have numpy's meaning: the last axis first, an axis that stands twice is transformed twice, ``n`` and ``s``
cut or pad with zeros at the end, -1 in ``s`` is the argument's own length.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

ONE_AXIS = ("fft", "ifft")
TWO_AXES = ("fft2", "ifft2")


def matrix(n: int, *, inverse: bool = False, norm: str | None = None) -> np.ndarray:
    """The (n, n) matrix of the transform."""
    k = np.arange(n)
    angles = 2 * np.pi * (np.outer(k, k) % n) / n
    scale = _scale(n, inverse, norm)
    return scale * (np.cos(angles) + (1j if inverse else -1j) * np.sin(angles))


def along(x: np.ndarray, axis: int, n: int | None = None, *, inverse: bool = False, norm: str | None = None):
    """The transform of one axis."""
    x = np.moveaxis(np.asarray(x, np.complex128), axis, -1)
    size = x.shape[-1] if n is None else n
    x = x[..., :size]
    x = np.concatenate([x, np.zeros((*x.shape[:-1], size - x.shape[-1]))], axis=-1)
    # A plain sum of products: the matrix is symmetric.
    return np.moveaxis(np.einsum("...j,jk->...k", x, matrix(size, inverse=inverse, norm=norm)), -1, axis)


def transform(
    name: str,
    x: np.ndarray,
    *,
    n: int | None = None,
    axis: int = -1,
    s: Sequence[int | None] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> np.ndarray:
    """``fft ifft fft2 ifft2 fftn ifftn`` by their numpy arguments."""
    x = np.asarray(x)
    inverse = name.startswith("i")
    if name in ONE_AXIS:
        return along(x, axis, n, inverse=inverse, norm=norm)
    if axes is None:
        axes = (-2, -1) if name in TWO_AXES else range(-(x.ndim if s is None else len(s)), 0)
    sizes = [None] * len(axes) if s is None else [x.shape[a] if k == -1 else k for a, k in zip(axes, s, strict=True)]
    y = np.asarray(x, np.complex128)
    for place, size in reversed(list(zip(axes, sizes, strict=True))):
        y = along(y, place, size, inverse=inverse, norm=norm)
    return y


def linear_map(name: str, shape: tuple[int, ...], **options) -> np.ndarray:
    """The matrix of a transform of arrays of one shape: ``(*result.shape, *shape)``, the Jacobian of the transform."""
    columns = [transform(name, unit.reshape(shape), **options) for unit in np.eye(math.prod(shape))]
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


def frequencies(n: int, d: float = 1.0) -> np.ndarray:
    """The frequency of every DFT bin, in numpy's order."""
    return np.array([k if k < (n + 1) // 2 else k - n for k in range(n)]) / (n * d)


def _scale(n: int, inverse: bool, norm: str | None) -> float:
    if norm == "ortho":
        return 1 / math.sqrt(n)
    return 1 / n if inverse == (norm in (None, "backward")) else 1.0
