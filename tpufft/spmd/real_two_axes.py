"""Transforms from or to real numbers along two axes of an array of which this device holds a chunk."""

from __future__ import annotations

from collections.abc import Sequence

import jax

from tpufft.layout import SpecLike
from tpufft.spmd import call
from tpufft.spmd.call import AxisName
from tpufft.steps import Precision


def rfft2(
    chunk: jax.Array,
    axis_name: AxisName,
    *,
    axes: Sequence[int] | None = (-2, -1),
    s: Sequence[int] | None = None,
    norm: str | None = None,
    spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> jax.Array:
    r"""The discrete Fourier transform of real numbers along two axes.

    .. math:: X_{kl} = \sum_{i,j} x_{ij}\, e^{-2\pi i (ik/N_1 + jl/N_2)}, \qquad l = 0, \dots, \lfloor N_2/2 \rfloor

    Parameters
    ----------
    chunk : array
        This device's chunk, real.
    axis_name : str or tuple of str
        The mesh axes that split the array.
    axes, s
        As in :func:`tpufft.rfft2`; `s` are sizes of the global array.
    spec : PartitionSpec, optional
        Which array axis is split over which mesh axes. Default: the first axis over `axis_name`.
    norm, order, method, kernel, precision
        As in :func:`tpufft.rfft2`.

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
    Costs what :func:`tpufft.rfft2` costs.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, tpufft
    >>> y = jax.jit(jax.vmap(lambda c: tpufft.spmd.rfft2(c, "x"), axis_name="x"))(jnp.ones((2, 2, 4)))
    >>> y.shape, y[0, 0, 0].item()
    ((2, 2, 3), (16+0j))
    """
    options = {"norm": norm, "order": order, "method": method, "kernel": kernel, "precision": precision}
    return call.transform("rfft2", chunk, axis_name, 0, s, axes, spec, options)


def irfft2(
    chunk: jax.Array,
    axis_name: AxisName,
    *,
    axes: Sequence[int] | None = (-2, -1),
    s: Sequence[int] | None = None,
    norm: str | None = None,
    spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> jax.Array:
    r"""The inverse of :func:`rfft2`.

    .. math:: x_{ij} = \frac{1}{N_1 N_2} \sum_{k,l} X_{kl}\, e^{2\pi i (ik/N_1 + jl/N_2)},
              \qquad X_{N_1-k,\, N_2-l} = \overline{X_{kl}}

    Parameters
    ----------
    chunk : array
        This device's chunk.
    axis_name : str or tuple of str
        The mesh axes that split the array.
    axes, s
        As in :func:`tpufft.irfft2`; `s` are sizes of the global result. To be given where the
        halved axis is split and its last chunks are padded.
    spec : PartitionSpec, optional
        Which array axis is split over which mesh axes. Default: the first axis over `axis_name`.
    norm, order, method, kernel, precision
        As in :func:`tpufft.irfft2`.

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
    Costs what :func:`tpufft.irfft2` costs.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, tpufft
    >>> def there_and_back(c):
    ...     return tpufft.spmd.irfft2(tpufft.spmd.rfft2(c, "x"), "x")
    >>> bool(jnp.allclose(jax.jit(jax.vmap(there_and_back, axis_name="x"))(jnp.ones((2, 2, 4))), 1, atol=1e-5))
    True
    """
    options = {"norm": norm, "order": order, "method": method, "kernel": kernel, "precision": precision}
    return call.transform("irfft2", chunk, axis_name, 0, s, axes, spec, options)


def hfft2(
    chunk: jax.Array,
    axis_name: AxisName,
    *,
    axes: Sequence[int] | None = (-2, -1),
    s: Sequence[int] | None = None,
    norm: str | None = None,
    spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> jax.Array:
    r"""The real discrete Fourier transform of half a signal along two axes.

    .. math:: X_{kl} = \sum_{i,j} x_{ij}\, e^{-2\pi i (ik/N_1 + jl/N_2)},
              \qquad x_{N_1-i,\, N_2-j} = \overline{x_{ij}}

    Parameters
    ----------
    chunk : array
        This device's chunk.
    axis_name : str or tuple of str
        The mesh axes that split the array.
    axes, s
        As in :func:`tpufft.hfft2`; `s` are sizes of the global result. To be given where the
        halved axis is split and its last chunks are padded.
    spec : PartitionSpec, optional
        Which array axis is split over which mesh axes. Default: the first axis over `axis_name`.
    norm, order, method, kernel, precision
        As in :func:`tpufft.hfft2`.

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
    Costs what :func:`tpufft.hfft2` costs.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, tpufft
    >>> y = jax.jit(jax.vmap(lambda c: tpufft.spmd.hfft2(c, "x"), axis_name="x"))(jnp.ones((2, 2, 3)))
    >>> y.shape, round(y[0, 0, 0].item(), 3)
    ((2, 2, 4), 16.0)
    """
    options = {"norm": norm, "order": order, "method": method, "kernel": kernel, "precision": precision}
    return call.transform("hfft2", chunk, axis_name, 0, s, axes, spec, options)


def ihfft2(
    chunk: jax.Array,
    axis_name: AxisName,
    *,
    axes: Sequence[int] | None = (-2, -1),
    s: Sequence[int] | None = None,
    norm: str | None = None,
    spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> jax.Array:
    r"""The inverse of :func:`hfft2`.

    .. math:: x_{ij} = \frac{1}{N_1 N_2} \sum_{k,l} X_{kl}\, e^{2\pi i (ik/N_1 + jl/N_2)},
              \qquad j = 0, \dots, \lfloor N_2/2 \rfloor

    Parameters
    ----------
    chunk : array
        This device's chunk, real.
    axis_name : str or tuple of str
        The mesh axes that split the array.
    axes, s
        As in :func:`tpufft.ihfft2`; `s` are sizes of the global array.
    spec : PartitionSpec, optional
        Which array axis is split over which mesh axes. Default: the first axis over `axis_name`.
    norm, order, method, kernel, precision
        As in :func:`tpufft.ihfft2`.

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
    Costs what :func:`tpufft.ihfft2` costs.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, tpufft
    >>> def there_and_back(c):
    ...     return tpufft.spmd.hfft2(tpufft.spmd.ihfft2(c, "x"), "x")
    >>> bool(jnp.allclose(jax.jit(jax.vmap(there_and_back, axis_name="x"))(jnp.ones((2, 2, 4))), 1, atol=1e-5))
    True
    """
    options = {"norm": norm, "order": order, "method": method, "kernel": kernel, "precision": precision}
    return call.transform("ihfft2", chunk, axis_name, 0, s, axes, spec, options)
