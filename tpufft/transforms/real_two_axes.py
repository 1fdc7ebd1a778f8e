"""Transforms along two axes from or to real numbers: rfft2, irfft2, hfft2 and ihfft2."""

from __future__ import annotations

from collections.abc import Sequence

from jax.sharding import Mesh

from tpufft.layout import SpecLike
from tpufft.steps import Precision
from tpufft.transforms import call
from tpufft.transforms.docs import documented


@documented
def rfft2(
    x: call.Argument,
    mesh: Mesh | None = None,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: str | None = None,
    overwrite_x: bool = False,
    spec: SpecLike | None = None,
    out_spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> call.Result:
    r"""The discrete Fourier transform of real numbers along two axes: :func:`rfftn` with other defaults.

    .. math:: X_{kl} = \sum_{i,j} x_{ij}\, e^{-2\pi i (ik/N_1 + jl/N_2)}, \qquad l = 0, \dots, \lfloor N_2/2 \rfloor

    Parameters
    ----------
    x : array or ChunkedArray
        Real; integers are promoted as JAX does.
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    s : sequence of int, optional
        As in :func:`fftn`.
    axes : sequence of int, default (-2, -1)
        The axes; the last of them is the real one.
    {options:transposed}

    Returns
    -------
    {returns:half}

    Notes
    -----
    Costs what :func:`rfftn` costs.


    Examples
    --------
    >>> import numpy as np, tpufft
    >>> x = np.random.default_rng(0).standard_normal((8, 6))
    >>> bool(np.allclose(tpufft.rfft2(x), np.fft.rfft2(x), atol=1e-4))
    True
    """
    options = call.Options(norm, order, method, kernel, precision)
    return call.transform("rfft2", x, mesh, s, axes, options, overwrite_x, spec, out_spec)


@documented
def irfft2(
    x: call.Argument,
    mesh: Mesh | None = None,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: str | None = None,
    overwrite_x: bool = False,
    spec: SpecLike | None = None,
    out_spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> call.Result:
    r"""The inverse of :func:`rfft2`: :func:`irfftn` with other defaults.

    .. math:: x_{ij} = \frac{1}{N_1 N_2} \sum_{k,l} X_{kl}\, e^{2\pi i (ik/N_1 + jl/N_2)},
              \qquad X_{N_1-k,\, N_2-l} = \overline{X_{kl}}

    Parameters
    ----------
    x : array or ChunkedArray
        Frequencies, half of them along the last of the axes.
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    s : sequence of int, optional
        Points of the result along each axis. Default: the axes' lengths, of the last axis ``2 * (m - 1)``.
    axes : sequence of int, default (-2, -1)
        The axes; the last of them is the real one.
    {options:transposed}

    Returns
    -------
    {returns:real}

    Notes
    -----
    Costs what :func:`rfft2` costs.


    Examples
    --------
    >>> import numpy as np, tpufft
    >>> x = np.random.default_rng(0).standard_normal((8, 6))
    >>> bool(np.allclose(tpufft.irfft2(tpufft.rfft2(x)), x, atol=1e-5))
    True
    """
    options = call.Options(norm, order, method, kernel, precision)
    return call.transform("irfft2", x, mesh, s, axes, options, overwrite_x, spec, out_spec)


@documented
def hfft2(
    x: call.Argument,
    mesh: Mesh | None = None,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: str | None = None,
    overwrite_x: bool = False,
    spec: SpecLike | None = None,
    out_spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> call.Result:
    r"""The real discrete Fourier transform along two axes of half a signal: :func:`hfftn` with other defaults.

    .. math:: X_{kl} = \sum_{i,j} x_{ij}\, e^{-2\pi i (ik/N_1 + jl/N_2)},
              \qquad x_{N_1-i,\, N_2-j} = \overline{x_{ij}}

    Parameters
    ----------
    x : array or ChunkedArray
        The signal, half of it along the last of the axes.
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    s : sequence of int, optional
        Points of the result along each axis. Default: the axes' lengths, of the last axis ``2 * (m - 1)``.
    axes : sequence of int, default (-2, -1)
        The axes; the last of them is the real one.
    {options:transposed}

    Returns
    -------
    {returns:real}

    Notes
    -----
    Costs what :func:`rfft2` costs. SciPy has it, NumPy does not; an axis may stand once.


    Examples
    --------
    >>> import numpy as np, scipy.fft, tpufft
    >>> x = np.random.default_rng(0).standard_normal((8, 6))
    >>> bool(np.allclose(tpufft.hfft2(x), scipy.fft.hfft2(x), atol=1e-3))
    True
    """
    options = call.Options(norm, order, method, kernel, precision)
    return call.transform("hfft2", x, mesh, s, axes, options, overwrite_x, spec, out_spec)


@documented
def ihfft2(
    x: call.Argument,
    mesh: Mesh | None = None,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: str | None = None,
    overwrite_x: bool = False,
    spec: SpecLike | None = None,
    out_spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> call.Result:
    r"""The inverse of :func:`hfft2`: :func:`ihfftn` with other defaults.

    .. math:: x_{ij} = \frac{1}{N_1 N_2} \sum_{k,l} X_{kl}\, e^{2\pi i (ik/N_1 + jl/N_2)},
              \qquad j = 0, \dots, \lfloor N_2/2 \rfloor

    Parameters
    ----------
    x : array or ChunkedArray
        Real; integers are promoted as JAX does.
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    s : sequence of int, optional
        As in :func:`fftn`.
    axes : sequence of int, default (-2, -1)
        The axes; the last of them is the real one.
    {options:transposed}

    Returns
    -------
    {returns:half}

    Notes
    -----
    Costs what :func:`rfft2` costs. SciPy has it, NumPy does not; an axis may stand once.


    Examples
    --------
    >>> import numpy as np, tpufft
    >>> x = np.random.default_rng(0).standard_normal((8, 6))
    >>> bool(np.allclose(tpufft.hfft2(tpufft.ihfft2(x)), x, atol=1e-5))
    True
    """
    options = call.Options(norm, order, method, kernel, precision)
    return call.transform("ihfft2", x, mesh, s, axes, options, overwrite_x, spec, out_spec)
