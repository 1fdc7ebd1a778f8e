"""Transforms from or to real numbers along several axes of an array of which this device holds a chunk."""

from __future__ import annotations

from collections.abc import Sequence

import jax

from tpufft.layout import SpecLike
from tpufft.spmd import call
from tpufft.spmd.call import AxisName
from tpufft.steps import Precision


def rfftn(
    chunk: jax.Array,
    axis_name: AxisName,
    *,
    axes: Sequence[int] | None = None,
    s: Sequence[int] | None = None,
    norm: str | None = None,
    spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> jax.Array:
    r"""The discrete Fourier transform of real numbers along several axes.

    .. math:: X_{k_1 \dots k_d} = \sum_{j_1} \cdots \sum_{j_d} x_{j_1 \dots j_d}\,
              e^{-2\pi i (j_1 k_1 / N_1 + \dots + j_d k_d / N_d)}, \qquad k_d = 0, \dots, \lfloor N_d/2 \rfloor

    Parameters
    ----------
    chunk : array
        This device's chunk, real.
    axis_name : str or tuple of str
        The mesh axes that split the array.
    axes, s
        As in :func:`tpufft.rfftn`; `s` are sizes of the global array.
    spec : PartitionSpec, optional
        Which array axis is split over which mesh axes. Default: the first axis over `axis_name`.
    norm, order, method, kernel, precision
        As in :func:`tpufft.rfftn`.

    Returns
    -------
    jax.Array
        This device's chunk of the result, of ``ceil(length / devices)`` elements along each split axis; what
        stands behind the result's end is unspecified.

    Raises
    ------
    LayoutError
        As in :func:`fft`.
    TypeError
        For a complex `chunk`.

    Notes
    -----
    Costs what :func:`tpufft.rfftn` costs.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, tpufft
    >>> y = jax.jit(jax.vmap(lambda c: tpufft.spmd.rfftn(c, "x"), axis_name="x"))(jnp.ones((2, 2, 4)))
    >>> y.shape, y[0, 0, 0].item()
    ((2, 2, 3), (16+0j))
    """
    options = {"norm": norm, "order": order, "method": method, "kernel": kernel, "precision": precision}
    return call.transform("rfftn", chunk, axis_name, 0, s, axes, spec, options)


def irfftn(
    chunk: jax.Array,
    axis_name: AxisName,
    *,
    axes: Sequence[int] | None = None,
    s: Sequence[int] | None = None,
    norm: str | None = None,
    spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> jax.Array:
    r"""The inverse of :func:`rfftn`.

    .. math:: x_{j_1 \dots j_d} = \frac{1}{N_1 \cdots N_d} \sum_{k_1} \cdots \sum_{k_d} X_{k_1 \dots k_d}\,
              e^{2\pi i (j_1 k_1 / N_1 + \dots + j_d k_d / N_d)}, \qquad
              X_{N_1-k_1 \dots N_d-k_d} = \overline{X_{k_1 \dots k_d}}

    Parameters
    ----------
    chunk : array
        This device's chunk.
    axis_name : str or tuple of str
        The mesh axes that split the array.
    axes, s
        As in :func:`tpufft.irfftn`; `s` are sizes of the global result. To be given where the
        halved axis is split and its last chunks are padded.
    spec : PartitionSpec, optional
        Which array axis is split over which mesh axes. Default: the first axis over `axis_name`.
    norm, order, method, kernel, precision
        As in :func:`tpufft.irfftn`.

    Returns
    -------
    jax.Array
        This device's chunk of the result, of ``ceil(length / devices)`` elements along each split axis; what
        stands behind the result's end is unspecified.

    Raises
    ------
    LayoutError
        As in :func:`fft`.

    Notes
    -----
    Costs what :func:`tpufft.irfftn` costs.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, tpufft
    >>> def there_and_back(c):
    ...     return tpufft.spmd.irfftn(tpufft.spmd.rfftn(c, "x"), "x")
    >>> bool(jnp.allclose(jax.jit(jax.vmap(there_and_back, axis_name="x"))(jnp.ones((2, 2, 4))), 1, atol=1e-5))
    True
    """
    options = {"norm": norm, "order": order, "method": method, "kernel": kernel, "precision": precision}
    return call.transform("irfftn", chunk, axis_name, 0, s, axes, spec, options)


def hfftn(
    chunk: jax.Array,
    axis_name: AxisName,
    *,
    axes: Sequence[int] | None = None,
    s: Sequence[int] | None = None,
    norm: str | None = None,
    spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> jax.Array:
    r"""The real discrete Fourier transform of half a signal along several axes.

    .. math:: X_{k_1 \dots k_d} = \sum_{j_1} \cdots \sum_{j_d} x_{j_1 \dots j_d}\,
              e^{-2\pi i (j_1 k_1 / N_1 + \dots + j_d k_d / N_d)}, \qquad
              x_{N_1-j_1 \dots N_d-j_d} = \overline{x_{j_1 \dots j_d}}

    Parameters
    ----------
    chunk : array
        This device's chunk.
    axis_name : str or tuple of str
        The mesh axes that split the array.
    axes, s
        As in :func:`tpufft.hfftn`; `s` are sizes of the global result. To be given where the
        halved axis is split and its last chunks are padded.
    spec : PartitionSpec, optional
        Which array axis is split over which mesh axes. Default: the first axis over `axis_name`.
    norm, order, method, kernel, precision
        As in :func:`tpufft.hfftn`.

    Returns
    -------
    jax.Array
        This device's chunk of the result, of ``ceil(length / devices)`` elements along each split axis; what
        stands behind the result's end is unspecified.

    Raises
    ------
    LayoutError
        As in :func:`fft`.

    Notes
    -----
    Costs what :func:`tpufft.hfftn` costs.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, tpufft
    >>> y = jax.jit(jax.vmap(lambda c: tpufft.spmd.hfftn(c, "x"), axis_name="x"))(jnp.ones((2, 2, 3)))
    >>> y.shape, round(y[0, 0, 0].item(), 3)
    ((2, 2, 4), 16.0)
    """
    options = {"norm": norm, "order": order, "method": method, "kernel": kernel, "precision": precision}
    return call.transform("hfftn", chunk, axis_name, 0, s, axes, spec, options)


def ihfftn(
    chunk: jax.Array,
    axis_name: AxisName,
    *,
    axes: Sequence[int] | None = None,
    s: Sequence[int] | None = None,
    norm: str | None = None,
    spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> jax.Array:
    r"""The inverse of :func:`hfftn`.

    .. math:: x_{j_1 \dots j_d} = \frac{1}{N_1 \cdots N_d} \sum_{k_1} \cdots \sum_{k_d} X_{k_1 \dots k_d}\,
              e^{2\pi i (j_1 k_1 / N_1 + \dots + j_d k_d / N_d)}, \qquad j_d = 0, \dots, \lfloor N_d/2 \rfloor

    Parameters
    ----------
    chunk : array
        This device's chunk, real.
    axis_name : str or tuple of str
        The mesh axes that split the array.
    axes, s
        As in :func:`tpufft.ihfftn`; `s` are sizes of the global array.
    spec : PartitionSpec, optional
        Which array axis is split over which mesh axes. Default: the first axis over `axis_name`.
    norm, order, method, kernel, precision
        As in :func:`tpufft.ihfftn`.

    Returns
    -------
    jax.Array
        This device's chunk of the result, of ``ceil(length / devices)`` elements along each split axis; what
        stands behind the result's end is unspecified.

    Raises
    ------
    LayoutError
        As in :func:`fft`.
    TypeError
        For a complex `chunk`.

    Notes
    -----
    Costs what :func:`tpufft.ihfftn` costs.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, tpufft
    >>> def there_and_back(c):
    ...     return tpufft.spmd.hfftn(tpufft.spmd.ihfftn(c, "x"), "x")
    >>> bool(jnp.allclose(jax.jit(jax.vmap(there_and_back, axis_name="x"))(jnp.ones((2, 2, 4))), 1, atol=1e-5))
    True
    """
    options = {"norm": norm, "order": order, "method": method, "kernel": kernel, "precision": precision}
    return call.transform("ihfftn", chunk, axis_name, 0, s, axes, spec, options)
