"""Cosine and sine transforms along one axis: dct, idct, dst and idst."""

from __future__ import annotations

from jax.sharding import Mesh

from tpufft.layout import SpecLike
from tpufft.steps import Precision
from tpufft.transforms import call
from tpufft.transforms.docs import documented


@documented
def dct(
    x: call.Argument,
    mesh: Mesh | None = None,
    *,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    orthogonalize: bool | None = None,
    overwrite_x: bool = False,
    spec: SpecLike | None = None,
    out_spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> call.Result:
    r"""The discrete cosine transform along one axis.

    .. math::

       \text{type 1: } & y_k = x_0 + (-1)^k x_{N-1} + 2 \sum_{j=1}^{N-2} x_j \cos\frac{\pi jk}{N-1} \\
       \text{type 2: } & y_k = 2 \sum_{j=0}^{N-1} x_j \cos\frac{\pi (2j+1) k}{2N} \\
       \text{type 3: } & y_k = x_0 + 2 \sum_{j=1}^{N-1} x_j \cos\frac{\pi j (2k+1)}{2N} \\
       \text{type 4: } & y_k = 2 \sum_{j=0}^{N-1} x_j \cos\frac{\pi (2j+1)(2k+1)}{4N}

    Parameters
    ----------
    x : array or ChunkedArray
        Real or complex, of any rank; integers are promoted as JAX does.
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    type : {1, 2, 3, 4}, default 2
        Which of the four; type 1 of cosines needs two points.
    n : int, optional
        Number of points N: `x` is cut or padded with zeros at its end. Default: the axis' length.
    axis : int, default -1
        The axis.
    orthogonalize : bool, optional
        Weight the first and last elements so that with ``norm="ortho"`` the matrix is orthogonal. Default: whether
        `norm` is "ortho".
    {options:natural}

    Returns
    -------
    {returns:alike}

    Notes
    -----
    Types 2 to 4 go through DFTs of the same length, type 1 through a real one of 2 (N - 1) points, its whole period,
    since ways of the same length lose digits. Along a chunked axis it costs what such a DFT costs, see :func:`fft`,
    and permutes that bring elements into order; lengths that do not divide go by Bluestein's convolution, four
    exchanges of twice the length. Derivatives of both modes keep the chunking.


    Examples
    --------
    >>> import numpy as np, scipy.fft, tpufft
    >>> x = np.random.default_rng(0).standard_normal(16)
    >>> bool(np.allclose(tpufft.dct(x, type=3), scipy.fft.dct(x, type=3), atol=1e-4))
    True
    """
    options = call.Options(norm, order, method, kernel, precision, type, orthogonalize)
    return call.transform("dct", x, mesh, (n,), (axis,), options, overwrite_x, spec, out_spec)


@documented
def idct(
    x: call.Argument,
    mesh: Mesh | None = None,
    *,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    orthogonalize: bool | None = None,
    overwrite_x: bool = False,
    spec: SpecLike | None = None,
    out_spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> call.Result:
    r"""The inverse of :func:`dct` of the same type.

    .. math:: x = \frac{1}{M}\, \mathrm{DCT}_{t'}(y), \qquad M = 2N \; (\text{type 1: } 2(N-1)), \quad
              t' = 1, 3, 2, 4 \text{ for type } t = 1, 2, 3, 4

    Parameters
    ----------
    x : array or ChunkedArray
        Real or complex, of any rank; integers are promoted as JAX does.
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    type : {1, 2, 3, 4}, default 2
        Of the transform that is undone.
    n : int, optional
        Number of points N: `x` is cut or padded with zeros at its end. Default: the axis' length.
    axis : int, default -1
        The axis.
    orthogonalize : bool, optional
        As in :func:`dct`.
    {options:natural}

    Returns
    -------
    {returns:alike}

    Notes
    -----
    Costs what :func:`dct` costs.


    Examples
    --------
    >>> import numpy as np, tpufft
    >>> x = np.random.default_rng(0).standard_normal(16)
    >>> bool(np.allclose(tpufft.idct(tpufft.dct(x)), x, atol=1e-5))
    True
    """
    options = call.Options(norm, order, method, kernel, precision, type, orthogonalize)
    return call.transform("idct", x, mesh, (n,), (axis,), options, overwrite_x, spec, out_spec)


@documented
def dst(
    x: call.Argument,
    mesh: Mesh | None = None,
    *,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    orthogonalize: bool | None = None,
    overwrite_x: bool = False,
    spec: SpecLike | None = None,
    out_spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> call.Result:
    r"""The discrete sine transform along one axis.

    .. math::

       \text{type 1: } & y_k = 2 \sum_{j=0}^{N-1} x_j \sin\frac{\pi (j+1)(k+1)}{N+1} \\
       \text{type 2: } & y_k = 2 \sum_{j=0}^{N-1} x_j \sin\frac{\pi (2j+1)(k+1)}{2N} \\
       \text{type 3: } & y_k = (-1)^k x_{N-1} + 2 \sum_{j=0}^{N-2} x_j \sin\frac{\pi (j+1)(2k+1)}{2N} \\
       \text{type 4: } & y_k = 2 \sum_{j=0}^{N-1} x_j \sin\frac{\pi (2j+1)(2k+1)}{4N}

    Parameters
    ----------
    x : array or ChunkedArray
        Real or complex, of any rank; integers are promoted as JAX does.
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    type : {1, 2, 3, 4}, default 2
        Which of the four.
    n : int, optional
        Number of points N: `x` is cut or padded with zeros at its end. Default: the axis' length.
    axis : int, default -1
        The axis.
    orthogonalize : bool, optional
        As in :func:`dct`.
    {options:natural}

    Returns
    -------
    {returns:alike}

    Notes
    -----
    Costs what :func:`dct` costs; type 1 goes through a real transform of 2 (N + 1) points.


    Examples
    --------
    >>> import numpy as np, scipy.fft, tpufft
    >>> x = np.random.default_rng(0).standard_normal(16)
    >>> bool(np.allclose(tpufft.dst(x, type=3), scipy.fft.dst(x, type=3), atol=1e-4))
    True
    """
    options = call.Options(norm, order, method, kernel, precision, type, orthogonalize)
    return call.transform("dst", x, mesh, (n,), (axis,), options, overwrite_x, spec, out_spec)


@documented
def idst(
    x: call.Argument,
    mesh: Mesh | None = None,
    *,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    orthogonalize: bool | None = None,
    overwrite_x: bool = False,
    spec: SpecLike | None = None,
    out_spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> call.Result:
    r"""The inverse of :func:`dst` of the same type.

    .. math:: x = \frac{1}{M}\, \mathrm{DST}_{t'}(y), \qquad M = 2N \; (\text{type 1: } 2(N+1)), \quad
              t' = 1, 3, 2, 4 \text{ for type } t = 1, 2, 3, 4

    Parameters
    ----------
    x : array or ChunkedArray
        Real or complex, of any rank; integers are promoted as JAX does.
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    type : {1, 2, 3, 4}, default 2
        Of the transform that is undone.
    n : int, optional
        Number of points N: `x` is cut or padded with zeros at its end. Default: the axis' length.
    axis : int, default -1
        The axis.
    orthogonalize : bool, optional
        As in :func:`dct`.
    {options:natural}

    Returns
    -------
    {returns:alike}

    Notes
    -----
    Costs what :func:`dct` costs.


    Examples
    --------
    >>> import numpy as np, tpufft
    >>> x = np.random.default_rng(0).standard_normal(16)
    >>> bool(np.allclose(tpufft.idst(tpufft.dst(x)), x, atol=1e-5))
    True
    """
    options = call.Options(norm, order, method, kernel, precision, type, orthogonalize)
    return call.transform("idst", x, mesh, (n,), (axis,), options, overwrite_x, spec, out_spec)
