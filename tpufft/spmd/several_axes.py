"""Transforms along several axes of an array of which this device holds a chunk."""

from __future__ import annotations

from collections.abc import Sequence

import jax

from tpufft.layout import SpecLike
from tpufft.spmd import call
from tpufft.spmd.call import AxisName
from tpufft.steps import Precision


def fftn(
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
    r"""The discrete Fourier transform along several axes of an array of which this device holds a chunk.

    .. math:: X_{k_1 \dots k_d} = \sum_{j_1} \cdots \sum_{j_d} x_{j_1 \dots j_d}\,
              e^{-2\pi i (j_1 k_1 / N_1 + \dots + j_d k_d / N_d)}

    Parameters
    ----------
    chunk : array
        This device's chunk.
    axis_name : str or tuple of str
        The mesh axes that split the array.
    axes, s
        As in :func:`tpufft.fftn`; `s` are sizes of the global array.
    spec : PartitionSpec, optional
        Which array axis is split over which mesh axes. Default: the first axis over `axis_name`.
    norm, order, method, kernel, precision
        As in :func:`tpufft.fftn`.

    Returns
    -------
    jax.Array
        This device's chunk of the result.

    Raises
    ------
    LayoutError
        As in :func:`fft`.

    Notes
    -----
    Costs what :func:`tpufft.fftn` costs.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, tpufft
    >>> y = jax.jit(jax.vmap(lambda c: tpufft.spmd.fftn(c, "x"), axis_name="x"))(jnp.ones((2, 2, 4)))
    >>> y[0, 0, 0].item()
    (16+0j)
    """
    options = {"norm": norm, "order": order, "method": method, "kernel": kernel, "precision": precision}
    return call.transform("fftn", chunk, axis_name, 0, s, axes, spec, options)


def ifftn(
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
    r"""The inverse of :func:`fftn`.

    .. math:: x_{j_1 \dots j_d} = \frac{1}{N_1 \cdots N_d} \sum_{k_1} \cdots \sum_{k_d} X_{k_1 \dots k_d}\,
              e^{2\pi i (j_1 k_1 / N_1 + \dots + j_d k_d / N_d)}

    Parameters
    ----------
    chunk, axis_name, axes, s, norm, spec, order, method, kernel, precision
        As in :func:`fftn`.

    Returns
    -------
    jax.Array
        This device's chunk of the result.

    Raises
    ------
    LayoutError
        As in :func:`fft`.

    Notes
    -----
    Costs what :func:`fftn` costs.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, tpufft
    >>> y = jax.jit(jax.vmap(lambda c: tpufft.spmd.ifftn(c, "x"), axis_name="x"))(jnp.ones((2, 2, 4)))
    >>> y[0, 0, 0].item()
    (1+0j)
    """
    options = {"norm": norm, "order": order, "method": method, "kernel": kernel, "precision": precision}
    return call.transform("ifftn", chunk, axis_name, 0, s, axes, spec, options)
