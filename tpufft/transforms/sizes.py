"""Lengths that transform fast."""

from __future__ import annotations

from typing import cast

import scipy.fft


def next_fast_len(target: int, real: bool = False) -> int:
    r"""The least length that transforms fast and is not below `target`, for padding.

    .. math:: \min \{ N \ge t : N = 2^a\, 3^b\, 5^c\, 7^d\, 11^e \}, \qquad d = e = 0 \text{ for real transforms}

    Parameters
    ----------
    target : int
        The length that is needed.
    real : bool, default False
        Whether for transforms of real numbers.

    Returns
    -------
    int
        SciPy's own figure.

    Raises
    ------
    ValueError
        For a negative or an enormous length.
    TypeError
        For what is no integer.

    Notes
    -----
    No device works. Along an axis that is chunked over P devices a multiple of P (for :func:`fft` of one axis alone, of
    its square) saves padding: ``P * next_fast_len(ceil(target / P))``.

    Examples
    --------
    >>> import tpufft
    >>> tpufft.next_fast_len(13), tpufft.next_fast_len(13, real=True)
    (14, 15)
    """
    return cast(int, scipy.fft.next_fast_len(target, real))


def prev_fast_len(target: int, real: bool = False) -> int:
    r"""The greatest length that transforms fast and is not above `target`, for cutting.

    .. math:: \max \{ N \le t : N = 2^a\, 3^b\, 5^c\, 7^d\, 11^e \}, \qquad d = e = 0 \text{ for real transforms}

    Parameters
    ----------
    target : int
        The length that is there.
    real : bool, default False
        Whether for transforms of real numbers.

    Returns
    -------
    int
        SciPy's own figure.

    Raises
    ------
    ValueError
        For a negative length.
    TypeError
        For what is no integer.

    Notes
    -----
    No device works; see :func:`next_fast_len` for chunked axes.

    Examples
    --------
    >>> import tpufft
    >>> tpufft.prev_fast_len(13), tpufft.prev_fast_len(13, real=True)
    (12, 12)
    """
    return cast(int, scipy.fft.prev_fast_len(target, real))
