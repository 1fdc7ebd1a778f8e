"""``dft_matrix``: the DFT matrix as an operand, with any frequencies and any sample positions."""

from __future__ import annotations

import operator
from typing import Any, TypeAlias

import numpy as np
from jax.core import Tracer
from jax.sharding import Mesh
from jax.typing import ArrayLike

from tpufft.kernels.turns import farthest
from tpufft.matrix.dft_operand import DFTMatrix
from tpufft.meshes import checked_mesh
from tpufft.planning import asked_dtype
from tpufft.steps import Points

__all__ = ["DFTMatrix", "dft_matrix"]

PointsLike: TypeAlias = ArrayLike | int | None
"""Frequencies or positions as a caller gives them."""


def dft_matrix(
    n: int,
    mesh: Mesh | None = None,
    *,
    rows: PointsLike = None,
    columns: PointsLike = None,
    inverse: bool = False,
    dtype: Any = None,
) -> DFTMatrix:
    r"""The DFT matrix as an operand: ``dft_matrix(N) @ x`` is the transform of `x` along its rows.

    .. math:: W_{kj} = e^{-2\pi i f_k t_j/n}

    Parameters
    ----------
    n : int
        Samples in one period, and what the default of `rows` and `columns` counts to.
    mesh : jax.sharding.Mesh, optional
        The devices. Default: the other operand's, else as in :func:`fft`.
    rows : array_like of float, or int, optional
        Frequencies f in bins (cycles per `n` samples), any real numbers in any order, shape (M,); or M, for 0 ... M-1.
        Default: `n`.
    columns : array_like of float, or int, optional
        Positions t in samples, any real numbers in any order, shape (N,); or N, for 0 ... N-1. Default: `n`.
    inverse : bool, default False
        The conjugate divided by `n`. Of whole rows and columns, the inverse matrix.
    dtype : dtype, optional
        complex64 or, where 64-bit types are on, complex128. Default: complex64.

    Returns
    -------
    DFTMatrix
        Lazy, of shape (M, N).

    Raises
    ------
    ValueError
        For `n` below 1; points that are not finite, not one axis, or too far out (2**31 for complex64, 2**53 for
        complex128); a dtype that is not complex, or that needs 64-bit types where there are none.
    TypeError
        For what is no number: complex points, strings, masks, traced values.

    Notes
    -----
    Nothing is computed until it is multiplied. Points that are listed are constants of the programs that use them, on
    every device.

    Examples
    --------
    >>> import numpy as np, tpufft
    >>> x = np.random.default_rng(0).standard_normal(16).astype(np.complex64)
    >>> W = tpufft.dft_matrix(16)
    >>> bool(np.allclose(W @ x, np.fft.fft(x), atol=1e-4))
    True
    >>> zoom = tpufft.dft_matrix(16, rows=np.linspace(2.0, 3.0, 5))
    >>> zoom.shape, (zoom @ x).shape
    ((5, 16), (5,))
    """
    order = _count("n", n)
    if not 1 <= order < 2**53:
        raise ValueError(f"n={order}: samples in one period, at least 1 and below 2**53")
    if mesh is not None:
        checked_mesh(mesh)
    kind = asked_dtype(np.complex64 if dtype is None else dtype)
    if kind.kind != "c":
        raise ValueError(f"dtype={kind}: one of complex64, complex128")
    f, t = (_points(word, given, order, kind) for word, given in (("rows", rows), ("columns", columns)))
    return DFTMatrix(order, f, t, bool(inverse), 1.0 / order if inverse else 1.0, kind, mesh)


def _count(argument: str, value: Any) -> int:
    if isinstance(value, bool | np.bool_) or not hasattr(value, "__index__"):
        raise TypeError(f"{argument}={value!r} is no integer")
    return operator.index(value)


def _points(argument: str, given: PointsLike, order: int, dtype: np.dtype) -> Points:
    """Points as they are given, checked."""
    if isinstance(given, Tracer):
        raise TypeError(f"{argument} is traced; points are part of the program, so give them outside of jit and grad")
    if given is None:
        points = Points(order)
    elif _is_count(given):
        count = operator.index(given)  # type: ignore[arg-type]
        if count < 0:
            raise ValueError(f"{argument}={count}: how many, at least 0")
        points = Points(count)
    else:
        points = Points.of(_numbers(argument, given))
    limit = farthest(dtype)
    if points.largest >= limit:
        remedy = ", or ask for complex128" if dtype == np.complex64 else ""
        raise ValueError(
            f"{argument} reaches {points.largest:.6g}; phases of {dtype} need points below 2**{limit.bit_length() - 1}"
            f"{remedy}"
        )
    return points


def _is_count(given: Any) -> bool:
    """Whether it is one integer; arrays have the method of one, whatever they hold."""
    if isinstance(given, bool | np.bool_) or not hasattr(given, "__index__"):
        return False
    return getattr(given, "ndim", 0) == 0 and np.dtype(getattr(given, "dtype", np.int64)).kind in "iu"


def _numbers(argument: str, given: Any) -> np.ndarray:
    try:
        values = np.asarray(given)
    except ValueError as error:
        raise TypeError(f"{argument}={given!r} is no array of numbers: {error}") from None
    if values.dtype.kind not in "iuf" and values.size:
        hint = "; for the places of a mask give np.flatnonzero(mask)" if values.dtype.kind == "b" else ""
        raise TypeError(f"{argument} is an array of {values.dtype}; points are real numbers{hint}")
    if values.ndim != 1:
        raise ValueError(f"{argument} has shape {values.shape}; points are one axis of numbers, or a count")
    exact = values.astype(np.float64)
    if not np.isfinite(exact).all():
        wrong = int(np.flatnonzero(~np.isfinite(exact))[0])
        raise ValueError(f"{argument}[{wrong}] is {exact[wrong]}; points are finite")
    return exact
