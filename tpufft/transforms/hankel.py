"""Hankel transforms on logarithmic grids: fht and ifht."""

from __future__ import annotations

import warnings

from jax.sharding import Mesh

from tpufft.kernels.tables import is_singular
from tpufft.layout import SpecLike
from tpufft.steps import Hankel, Precision
from tpufft.transforms import call
from tpufft.transforms.docs import documented


@documented
def fht(
    x: call.Argument,
    mesh: Mesh | None = None,
    *,
    dln: float,
    mu: float,
    offset: float = 0.0,
    bias: float = 0.0,
    overwrite_x: bool = False,
    spec: SpecLike | None = None,
    out_spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> call.Result:
    r"""The fast Hankel transform of the last axis, sampled at logarithmic steps.

    .. math:: A(k) = \int_0^\infty a(r)\, J_\mu(kr)\, k\, \mathrm{d}r

    Parameters
    ----------
    x : array or ChunkedArray
        Real samples of a(r), of any rank; integers are promoted as JAX does.
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    dln : float
        Logarithmic step of the samples, of the argument and of the result.
    mu : float
        Order of the Bessel function.
    offset : float, default 0.0
        Logarithm of the product of the central points, k r; ``scipy.fft.fhtoffset`` gives one that rings less.
    bias : float, default 0.0
        Exponent of the power law that is taken out of both sides.
    {options:no norm}

    Returns
    -------
    {returns:hankel}

    Warns
    -----
    UserWarning
        For a transform that is singular with this `bias`; zero frequency is left out then.

    Notes
    -----
    Costs what :func:`rfft` and :func:`irfft` cost, and permutes of a chunk that bring the axis backwards.

    References
    ----------
    .. [1] A. J. S. Hamilton, "Uncorrelated modes of the non-linear power spectrum", MNRAS 312 (2000).

    Examples
    --------
    >>> import numpy as np, scipy.fft, tpufft
    >>> r = np.exp(0.25 * (np.arange(32) - 15.5))
    >>> a = r * np.exp(-r * r / 2)
    >>> A = scipy.fft.fht(a, dln=0.25, mu=1.0)
    >>> bool(np.allclose(tpufft.fht(a, dln=0.25, mu=1.0), A, atol=1e-4))
    True
    """
    options = call.Options(None, order, method, kernel, precision)
    parameters = {"dln": dln, "mu": mu, "offset": offset, "bias": bias}
    result = call.hankel("fht", x, mesh, parameters, options, overwrite_x, spec, out_spec)
    _warn_if_singular("fht", dln, mu, offset, bias)
    return result


@documented
def ifht(
    x: call.Argument,
    mesh: Mesh | None = None,
    *,
    dln: float,
    mu: float,
    offset: float = 0.0,
    bias: float = 0.0,
    overwrite_x: bool = False,
    spec: SpecLike | None = None,
    out_spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> call.Result:
    r"""The inverse of :func:`fht`.

    .. math:: a(r) = \int_0^\infty A(k)\, J_\mu(kr)\, r\, \mathrm{d}k

    Parameters
    ----------
    x : array or ChunkedArray
        Real samples of A(k).
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    dln, mu, offset, bias : float
        As in :func:`fht`.
    {options:no norm}

    Returns
    -------
    {returns:hankel}

    Warns
    -----
    UserWarning
        For an inverse that is singular with this `bias`; zero frequency is left out then.

    Notes
    -----
    Costs what :func:`fht` costs. It undoes that exactly for an odd number of samples, or a suitable `offset`.

    Examples
    --------
    >>> import numpy as np, tpufft
    >>> x = np.random.default_rng(0).standard_normal(15)
    >>> y = tpufft.fht(x, dln=0.1, mu=0.5)
    >>> bool(np.allclose(tpufft.ifht(y, dln=0.1, mu=0.5), x, atol=1e-4))
    True
    """
    options = call.Options(None, order, method, kernel, precision)
    parameters = {"dln": dln, "mu": mu, "offset": offset, "bias": bias}
    result = call.hankel("ifht", x, mesh, parameters, options, overwrite_x, spec, out_spec)
    _warn_if_singular("ifht", dln, mu, offset, bias)
    return result


def _warn_if_singular(name: str, dln: float, mu: float, offset: float, bias: float) -> None:
    if is_singular(Hankel(1, dln, mu, offset, bias, inverse=name == "ifht")):
        warnings.warn(f"bias={bias} makes {name} a singular transform; consider changing it", stacklevel=3)
