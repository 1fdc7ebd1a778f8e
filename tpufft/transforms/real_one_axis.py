"""Transforms along one axis from or to real numbers: rfft, irfft, hfft and ihfft."""

from __future__ import annotations

from jax.sharding import Mesh

from tpufft.layout import SpecLike
from tpufft.steps import Precision
from tpufft.transforms import call
from tpufft.transforms.docs import documented


@documented
def rfft(
    x: call.Argument,
    mesh: Mesh | None = None,
    *,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    overwrite_x: bool = False,
    spec: SpecLike | None = None,
    out_spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> call.Result:
    r"""The discrete Fourier transform of real numbers along one axis: the frequencies that are not negative.

    .. math:: X_k = \sum_{j=0}^{N-1} x_j\, e^{-2\pi i jk/N}, \qquad k = 0, \dots, \lfloor N/2 \rfloor

    Parameters
    ----------
    x : array or ChunkedArray
        Real, of any rank; integers are promoted as JAX does.
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    n : int, optional
        Number of points N: `x` is cut or padded with zeros at its end. Default: the axis' length.
    axis : int, default -1
        The axis.
    {options:natural}

    Returns
    -------
    {returns:half}

    Notes
    -----
    Along a chunked axis it costs half of :func:`fft`'s wire and arithmetic: three exchanges of half the bytes
    and a permute of fewer elements than there are devices, where N has two even factors that fit; other lengths go by
    the complex plan, those that do not divide by Bluestein's convolution, four exchanges of twice the length. The
    N // 2 + 1 frequencies seldom divide over the devices: then the result is a ``ChunkedArray``, which every function
    of this package takes. Derivatives of both modes keep the chunking.


    Examples
    --------
    >>> import numpy as np, tpufft
    >>> x = np.random.default_rng(0).standard_normal(64)
    >>> bool(np.allclose(tpufft.rfft(x), np.fft.rfft(x), atol=1e-4))
    True
    """
    options = call.Options(norm, order, method, kernel, precision)
    return call.transform("rfft", x, mesh, (n,), (axis,), options, overwrite_x, spec, out_spec)


@documented
def irfft(
    x: call.Argument,
    mesh: Mesh | None = None,
    *,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    overwrite_x: bool = False,
    spec: SpecLike | None = None,
    out_spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> call.Result:
    r"""The inverse of :func:`rfft`: real numbers from the frequencies that are not negative.

    .. math:: x_j = \frac{1}{N} \sum_{k=0}^{N-1} X_k\, e^{2\pi i jk/N}, \qquad X_{N-k} = \overline{X_k}

    Parameters
    ----------
    x : array or ChunkedArray
        N // 2 + 1 frequencies; imaginary parts of the first, and of the last where N is even, are ignored.
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    n : int, optional
        Number of points N of the result. Default: ``2 * (m - 1)`` for m frequencies; pass an odd one.
    axis : int, default -1
        The axis.
    {options:natural}

    Returns
    -------
    {returns:real}

    Notes
    -----
    Costs what :func:`rfft` costs.


    Examples
    --------
    >>> import numpy as np, tpufft
    >>> x = np.arange(15.0)
    >>> bool(np.allclose(tpufft.irfft(tpufft.rfft(x), n=15), x, atol=1e-5))
    True
    """
    options = call.Options(norm, order, method, kernel, precision)
    return call.transform("irfft", x, mesh, (n,), (axis,), options, overwrite_x, spec, out_spec)


@documented
def hfft(
    x: call.Argument,
    mesh: Mesh | None = None,
    *,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    overwrite_x: bool = False,
    spec: SpecLike | None = None,
    out_spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> call.Result:
    r"""The discrete Fourier transform, real, of a signal that is conjugated by reversal, of which half is given.

    .. math:: X_k = \sum_{j=0}^{N-1} x_j\, e^{-2\pi i jk/N}, \qquad x_{N-j} = \overline{x_j}

    Parameters
    ----------
    x : array or ChunkedArray
        The first N // 2 + 1 elements of the signal.
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    n : int, optional
        Number of points N of the result. Default: ``2 * (m - 1)`` for m elements; pass an odd one.
    axis : int, default -1
        The axis.
    {options:natural}

    Returns
    -------
    {returns:real}

    Notes
    -----
    Costs what :func:`rfft` costs.


    Examples
    --------
    >>> import numpy as np, tpufft
    >>> x = np.random.default_rng(0).standard_normal(16)
    >>> bool(np.allclose(tpufft.hfft(x, n=30), np.fft.hfft(x, n=30), atol=1e-4))
    True
    """
    options = call.Options(norm, order, method, kernel, precision)
    return call.transform("hfft", x, mesh, (n,), (axis,), options, overwrite_x, spec, out_spec)


@documented
def ihfft(
    x: call.Argument,
    mesh: Mesh | None = None,
    *,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    overwrite_x: bool = False,
    spec: SpecLike | None = None,
    out_spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> call.Result:
    r"""The inverse of :func:`hfft`: half of the signal whose transform is real.

    .. math:: x_j = \frac{1}{N} \sum_{k=0}^{N-1} X_k\, e^{2\pi i jk/N}, \qquad j = 0, \dots, \lfloor N/2 \rfloor

    Parameters
    ----------
    x : array or ChunkedArray
        Real; integers are promoted as JAX does.
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    n : int, optional
        Number of points N: `x` is cut or padded with zeros at its end. Default: the axis' length.
    axis : int, default -1
        The axis.
    {options:natural}

    Returns
    -------
    {returns:half}

    Notes
    -----
    Costs what :func:`rfft` costs.


    Examples
    --------
    >>> import numpy as np, tpufft
    >>> x = np.arange(15.0)
    >>> bool(np.allclose(tpufft.hfft(tpufft.ihfft(x), n=15), x, atol=1e-5))
    True
    """
    options = call.Options(norm, order, method, kernel, precision)
    return call.transform("ihfft", x, mesh, (n,), (axis,), options, overwrite_x, spec, out_spec)
