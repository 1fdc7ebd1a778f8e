"""Transforms along two axes of an array of which this device holds a chunk."""

from __future__ import annotations

from collections.abc import Sequence

import jax

from tpufft.layout import SpecLike
from tpufft.spmd import call
from tpufft.spmd.call import AxisName
from tpufft.steps import Precision


def fft2(
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
    r"""As :func:`fftn`, along two axes.

    .. math:: X_{kl} = \sum_{i,j} x_{ij}\, e^{-2\pi i (ik/N_1 + jl/N_2)}

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
    >>> y = jax.jit(jax.vmap(lambda c: tpufft.spmd.fft2(c, "x"), axis_name="x"))(jnp.ones((2, 2, 4)))
    >>> y[0, 0, 0].item()
    (16+0j)
    """
    options = {"norm": norm, "order": order, "method": method, "kernel": kernel, "precision": precision}
    return call.transform("fft2", chunk, axis_name, 0, s, axes, spec, options)


def ifft2(
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
    r"""As :func:`ifftn`, along two axes.

    .. math:: x_{ij} = \frac{1}{N_1 N_2} \sum_{k,l} X_{kl}\, e^{2\pi i (ik/N_1 + jl/N_2)}

    Parameters
    ----------
    chunk, axis_name, axes, s, norm, spec, order, method, kernel, precision
        As in :func:`ifftn`.

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
    Costs what :func:`ifftn` costs.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, tpufft
    >>> y = jax.jit(jax.vmap(lambda c: tpufft.spmd.ifft2(c, "x"), axis_name="x"))(jnp.ones((2, 2, 4)))
    >>> y[0, 0, 0].item()
    (1+0j)
    """
    options = {"norm": norm, "order": order, "method": method, "kernel": kernel, "precision": precision}
    return call.transform("ifft2", chunk, axis_name, 0, s, axes, spec, options)
