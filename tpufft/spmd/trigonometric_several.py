"""Cosine and sine transforms along several axes of an array of which this device holds a chunk."""

from __future__ import annotations

from collections.abc import Sequence

import jax

from tpufft.layout import SpecLike
from tpufft.spmd import call
from tpufft.spmd.call import AxisName
from tpufft.steps import Precision


def dctn(
    chunk: jax.Array,
    axis_name: AxisName,
    *,
    type: int = 2,
    axes: Sequence[int] | None = None,
    s: Sequence[int] | None = None,
    norm: str | None = None,
    orthogonalize: bool | None = None,
    spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> jax.Array:
    r"""The discrete cosine transform along several axes.

    .. math:: y_{k_1 \dots k_d} = \sum_{j_1} \cdots \sum_{j_d} C^{(1)}_{k_1 j_1} \cdots C^{(d)}_{k_d j_d}\,
              x_{j_1 \dots j_d}

    with :math:`C^{(i)}` the matrix of :func:`dct` for N_i points.

    Parameters
    ----------
    chunk : array
        This device's chunk.
    axis_name : str or tuple of str
        The mesh axes that split the array.
    axes, s
        As in :func:`tpufft.dctn`; `s` are sizes of the global array.
    spec : PartitionSpec, optional
        Which array axis is split over which mesh axes. Default: the first axis over `axis_name`.
    type, norm, orthogonalize, order, method, kernel, precision
        As in :func:`tpufft.dctn`.

    Returns
    -------
    jax.Array
        This device's chunk of the result, of ``ceil(length / devices)`` elements along each split axis; what
        stands behind the result's end is unspecified.

    Raises
    ------
    LayoutError
        As in :func:`fft`.
    ValueError
        For an unknown type, or too few points.

    Notes
    -----
    Costs what :func:`tpufft.dctn` costs.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, tpufft
    >>> y = jax.jit(jax.vmap(lambda c: tpufft.spmd.dctn(c, "x"), axis_name="x"))(jnp.ones((2, 2, 4)))
    >>> abs(round(y[0, 0, 0].item(), 3))
    64.0
    """
    options = {"norm": norm, "order": order, "method": method, "kernel": kernel, "precision": precision}
    options |= {"type": type, "orthogonalize": orthogonalize}
    return call.transform("dctn", chunk, axis_name, 0, s, axes, spec, options)


def idctn(
    chunk: jax.Array,
    axis_name: AxisName,
    *,
    type: int = 2,
    axes: Sequence[int] | None = None,
    s: Sequence[int] | None = None,
    norm: str | None = None,
    orthogonalize: bool | None = None,
    spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> jax.Array:
    r"""The inverse of :func:`dctn` of the same type.

    .. math:: x_{j_1 \dots j_d} = \sum_{k_1} \cdots \sum_{k_d} (C^{(1)})^{-1}_{j_1 k_1} \cdots
              (C^{(d)})^{-1}_{j_d k_d}\, y_{k_1 \dots k_d}

    with :math:`C^{(i)}` the matrix of :func:`dct` for N_i points.

    Parameters
    ----------
    chunk : array
        This device's chunk.
    axis_name : str or tuple of str
        The mesh axes that split the array.
    axes, s
        As in :func:`tpufft.idctn`; `s` are sizes of the global array.
    spec : PartitionSpec, optional
        Which array axis is split over which mesh axes. Default: the first axis over `axis_name`.
    type, norm, orthogonalize, order, method, kernel, precision
        As in :func:`tpufft.idctn`.

    Returns
    -------
    jax.Array
        This device's chunk of the result, of ``ceil(length / devices)`` elements along each split axis; what
        stands behind the result's end is unspecified.

    Raises
    ------
    LayoutError
        As in :func:`fft`.
    ValueError
        For an unknown type, or too few points.

    Notes
    -----
    Costs what :func:`tpufft.dctn` costs.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, tpufft
    >>> def there_and_back(c):
    ...     return tpufft.spmd.idctn(tpufft.spmd.dctn(c, "x"), "x")
    >>> bool(jnp.allclose(jax.jit(jax.vmap(there_and_back, axis_name="x"))(jnp.ones((2, 2, 4))), 1, atol=1e-5))
    True
    """
    options = {"norm": norm, "order": order, "method": method, "kernel": kernel, "precision": precision}
    options |= {"type": type, "orthogonalize": orthogonalize}
    return call.transform("idctn", chunk, axis_name, 0, s, axes, spec, options)


def dstn(
    chunk: jax.Array,
    axis_name: AxisName,
    *,
    type: int = 2,
    axes: Sequence[int] | None = None,
    s: Sequence[int] | None = None,
    norm: str | None = None,
    orthogonalize: bool | None = None,
    spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> jax.Array:
    r"""The discrete sine transform along several axes.

    .. math:: y_{k_1 \dots k_d} = \sum_{j_1} \cdots \sum_{j_d} S^{(1)}_{k_1 j_1} \cdots S^{(d)}_{k_d j_d}\,
              x_{j_1 \dots j_d}

    with :math:`S^{(i)}` the matrix of :func:`dst` for N_i points.

    Parameters
    ----------
    chunk : array
        This device's chunk.
    axis_name : str or tuple of str
        The mesh axes that split the array.
    axes, s
        As in :func:`tpufft.dstn`; `s` are sizes of the global array.
    spec : PartitionSpec, optional
        Which array axis is split over which mesh axes. Default: the first axis over `axis_name`.
    type, norm, orthogonalize, order, method, kernel, precision
        As in :func:`tpufft.dstn`.

    Returns
    -------
    jax.Array
        This device's chunk of the result, of ``ceil(length / devices)`` elements along each split axis; what
        stands behind the result's end is unspecified.

    Raises
    ------
    LayoutError
        As in :func:`fft`.
    ValueError
        For an unknown type, or too few points.

    Notes
    -----
    Costs what :func:`tpufft.dstn` costs.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, tpufft
    >>> y = jax.jit(jax.vmap(lambda c: tpufft.spmd.dstn(c, "x"), axis_name="x"))(jnp.ones((2, 2, 4)))
    >>> abs(round(y[1, 1, 3].item(), 3))
    0.0
    """
    options = {"norm": norm, "order": order, "method": method, "kernel": kernel, "precision": precision}
    options |= {"type": type, "orthogonalize": orthogonalize}
    return call.transform("dstn", chunk, axis_name, 0, s, axes, spec, options)


def idstn(
    chunk: jax.Array,
    axis_name: AxisName,
    *,
    type: int = 2,
    axes: Sequence[int] | None = None,
    s: Sequence[int] | None = None,
    norm: str | None = None,
    orthogonalize: bool | None = None,
    spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> jax.Array:
    r"""The inverse of :func:`dstn` of the same type.

    .. math:: x_{j_1 \dots j_d} = \sum_{k_1} \cdots \sum_{k_d} (S^{(1)})^{-1}_{j_1 k_1} \cdots
              (S^{(d)})^{-1}_{j_d k_d}\, y_{k_1 \dots k_d}

    with :math:`S^{(i)}` the matrix of :func:`dst` for N_i points.

    Parameters
    ----------
    chunk : array
        This device's chunk.
    axis_name : str or tuple of str
        The mesh axes that split the array.
    axes, s
        As in :func:`tpufft.idstn`; `s` are sizes of the global array.
    spec : PartitionSpec, optional
        Which array axis is split over which mesh axes. Default: the first axis over `axis_name`.
    type, norm, orthogonalize, order, method, kernel, precision
        As in :func:`tpufft.idstn`.

    Returns
    -------
    jax.Array
        This device's chunk of the result, of ``ceil(length / devices)`` elements along each split axis; what
        stands behind the result's end is unspecified.

    Raises
    ------
    LayoutError
        As in :func:`fft`.
    ValueError
        For an unknown type, or too few points.

    Notes
    -----
    Costs what :func:`tpufft.dstn` costs.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, tpufft
    >>> def there_and_back(c):
    ...     return tpufft.spmd.idstn(tpufft.spmd.dstn(c, "x"), "x")
    >>> bool(jnp.allclose(jax.jit(jax.vmap(there_and_back, axis_name="x"))(jnp.ones((2, 2, 4))), 1, atol=1e-5))
    True
    """
    options = {"norm": norm, "order": order, "method": method, "kernel": kernel, "precision": precision}
    options |= {"type": type, "orthogonalize": orthogonalize}
    return call.transform("idstn", chunk, axis_name, 0, s, axes, spec, options)
