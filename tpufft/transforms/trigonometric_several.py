"""Cosine and sine transforms along several axes: dctn, idctn, dstn and idstn."""

from __future__ import annotations

from collections.abc import Sequence

from jax.sharding import Mesh

from tpufft.layout import SpecLike
from tpufft.steps import Precision
from tpufft.transforms import call
from tpufft.transforms.docs import documented


@documented
def dctn(
    x: call.Argument,
    mesh: Mesh | None = None,
    *,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
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
    r"""The discrete cosine transform along several axes.

    .. math:: y_{k_1 \dots k_d} = \sum_{j_1} \cdots \sum_{j_d} C^{(1)}_{k_1 j_1} \cdots C^{(d)}_{k_d j_d}\,
              x_{j_1 \dots j_d}

    with :math:`C^{(i)}` the matrix of :func:`dct` for N_i points.

    Parameters
    ----------
    x : array or ChunkedArray
        Real or complex, of any rank; integers are promoted as JAX does.
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    type : {1, 2, 3, 4}, default 2
        Which of the four; type 1 of cosines needs two points.
    s : sequence of int, optional
        As in :func:`fftn`.
    axes : sequence of int, optional
        The axes, each once. Default: the last ``len(s)``, or all.
    orthogonalize : bool, optional
        As in :func:`dct`.
    {options:transposed}

    Returns
    -------
    {returns:alike}

    Notes
    -----
    Exchanges as of :func:`fftn`, of real numbers half the bytes; along each axis what :func:`dct` does. With
    ``order="transposed"`` the last exchanges are left out.


    Examples
    --------
    >>> import numpy as np, scipy.fft, tpufft
    >>> x = np.random.default_rng(0).standard_normal((8, 6))
    >>> bool(np.allclose(tpufft.dctn(x, type=3), scipy.fft.dctn(x, type=3), atol=1e-4))
    True
    """
    options = call.Options(norm, order, method, kernel, precision, type, orthogonalize)
    return call.transform("dctn", x, mesh, s, axes, options, overwrite_x, spec, out_spec)


@documented
def idctn(
    x: call.Argument,
    mesh: Mesh | None = None,
    *,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
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
    r"""The inverse of :func:`dctn` of the same type.

    .. math:: x_{j_1 \dots j_d} = \sum_{k_1} \cdots \sum_{k_d} (C^{(1)})^{-1}_{j_1 k_1} \cdots
              (C^{(d)})^{-1}_{j_d k_d}\, y_{k_1 \dots k_d}

    with :math:`C^{(i)}` the matrix of :func:`dct` for N_i points.

    Parameters
    ----------
    x : array or ChunkedArray
        Real or complex, of any rank; integers are promoted as JAX does.
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    type : {1, 2, 3, 4}, default 2
        Of the transform that is undone.
    s : sequence of int, optional
        As in :func:`fftn`.
    axes : sequence of int, optional
        The axes, each once. Default: the last ``len(s)``, or all.
    orthogonalize : bool, optional
        As in :func:`dct`.
    {options:transposed}

    Returns
    -------
    {returns:alike}

    Notes
    -----
    Costs what :func:`dctn` costs.


    Examples
    --------
    >>> import numpy as np, tpufft
    >>> x = np.random.default_rng(0).standard_normal((8, 6))
    >>> bool(np.allclose(tpufft.idctn(tpufft.dctn(x)), x, atol=1e-5))
    True
    """
    options = call.Options(norm, order, method, kernel, precision, type, orthogonalize)
    return call.transform("idctn", x, mesh, s, axes, options, overwrite_x, spec, out_spec)


@documented
def dstn(
    x: call.Argument,
    mesh: Mesh | None = None,
    *,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
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
    r"""The discrete sine transform along several axes.

    .. math:: y_{k_1 \dots k_d} = \sum_{j_1} \cdots \sum_{j_d} S^{(1)}_{k_1 j_1} \cdots S^{(d)}_{k_d j_d}\,
              x_{j_1 \dots j_d}

    with :math:`S^{(i)}` the matrix of :func:`dst` for N_i points.

    Parameters
    ----------
    x : array or ChunkedArray
        Real or complex, of any rank; integers are promoted as JAX does.
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    type : {1, 2, 3, 4}, default 2
        Which of the four.
    s : sequence of int, optional
        As in :func:`fftn`.
    axes : sequence of int, optional
        The axes, each once. Default: the last ``len(s)``, or all.
    orthogonalize : bool, optional
        As in :func:`dct`.
    {options:transposed}

    Returns
    -------
    {returns:alike}

    Notes
    -----
    Exchanges as of :func:`fftn`, of real numbers half the bytes; along each axis what :func:`dst` does. With
    ``order="transposed"`` the last exchanges are left out.


    Examples
    --------
    >>> import numpy as np, scipy.fft, tpufft
    >>> x = np.random.default_rng(0).standard_normal((8, 6))
    >>> bool(np.allclose(tpufft.dstn(x, type=3), scipy.fft.dstn(x, type=3), atol=1e-4))
    True
    """
    options = call.Options(norm, order, method, kernel, precision, type, orthogonalize)
    return call.transform("dstn", x, mesh, s, axes, options, overwrite_x, spec, out_spec)


@documented
def idstn(
    x: call.Argument,
    mesh: Mesh | None = None,
    *,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
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
    r"""The inverse of :func:`dstn` of the same type.

    .. math:: x_{j_1 \dots j_d} = \sum_{k_1} \cdots \sum_{k_d} (S^{(1)})^{-1}_{j_1 k_1} \cdots
              (S^{(d)})^{-1}_{j_d k_d}\, y_{k_1 \dots k_d}

    with :math:`S^{(i)}` the matrix of :func:`dst` for N_i points.

    Parameters
    ----------
    x : array or ChunkedArray
        Real or complex, of any rank; integers are promoted as JAX does.
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    type : {1, 2, 3, 4}, default 2
        Of the transform that is undone.
    s : sequence of int, optional
        As in :func:`fftn`.
    axes : sequence of int, optional
        The axes, each once. Default: the last ``len(s)``, or all.
    orthogonalize : bool, optional
        As in :func:`dct`.
    {options:transposed}

    Returns
    -------
    {returns:alike}

    Notes
    -----
    Costs what :func:`dstn` costs.


    Examples
    --------
    >>> import numpy as np, tpufft
    >>> x = np.random.default_rng(0).standard_normal((8, 6))
    >>> bool(np.allclose(tpufft.idstn(tpufft.dstn(x)), x, atol=1e-5))
    True
    """
    options = call.Options(norm, order, method, kernel, precision, type, orthogonalize)
    return call.transform("idstn", x, mesh, s, axes, options, overwrite_x, spec, out_spec)
