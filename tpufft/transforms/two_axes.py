"""Transforms along two axes: fft2 and ifft2."""

from __future__ import annotations

from collections.abc import Sequence

from jax.sharding import Mesh

from tpufft.layout import SpecLike
from tpufft.steps import Precision
from tpufft.transforms import call
from tpufft.transforms.docs import documented


@documented
def fft2(
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
    r"""The discrete Fourier transform along two axes: :func:`fftn` with other defaults.

    .. math:: X_{kl} = \sum_{i,j} x_{ij}\, e^{-2\pi i (ik/N_1 + jl/N_2)}

    Parameters
    ----------
    x : array or ChunkedArray
        Of two axes or more.
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    s : sequence of int, optional
        As in :func:`fftn`.
    axes : sequence of int, default (-2, -1)
        The axes.
    {options:transposed}

    Returns
    -------
    {returns:complex}

    Notes
    -----
    Costs what :func:`fftn` costs.

    Examples
    --------
    >>> import numpy as np, tpufft
    >>> tpufft.fft2(np.ones((8, 8)))[0, 0].item()
    (64+0j)
    """
    options = call.Options(norm, order, method, kernel, precision)
    return call.transform("fft2", x, mesh, s, axes, options, overwrite_x, spec, out_spec)


@documented
def ifft2(
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
    r"""The inverse discrete Fourier transform along two axes: :func:`ifftn` with other defaults.

    .. math:: x_{ij} = \frac{1}{N_1 N_2} \sum_{k,l} X_{kl}\, e^{2\pi i (ik/N_1 + jl/N_2)}

    Parameters
    ----------
    x : array or ChunkedArray
        Of two axes or more.
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    s : sequence of int, optional
        As in :func:`fftn`.
    axes : sequence of int, default (-2, -1)
        The axes.
    {options:transposed}

    Returns
    -------
    {returns:complex}

    Notes
    -----
    Costs what :func:`fftn` costs.

    Examples
    --------
    >>> import numpy as np, tpufft
    >>> tpufft.ifft2(np.ones((8, 8)))[0, 0].item()
    (1+0j)
    """
    options = call.Options(norm, order, method, kernel, precision)
    return call.transform("ifft2", x, mesh, s, axes, options, overwrite_x, spec, out_spec)
