"""Cyclic shifts of an array of which this device holds a chunk."""

from __future__ import annotations

import jax

from tpufft.layout import SpecLike
from tpufft.spmd import call
from tpufft.spmd.call import AxisName


def fftshift(chunk: jax.Array, axis_name: AxisName, *, axis: int = -1, spec: SpecLike | None = None) -> jax.Array:
    r"""Move the zero frequency of a chunked axis to the middle.

    .. math:: y_j = x_{(j - \lfloor N/2 \rfloor) \bmod N}

    Parameters
    ----------
    chunk, axis_name, axis, spec
        As in :func:`fft`.

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
    One or two permutes, one chunk of wire.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, tpufft
    >>> shift = jax.jit(jax.vmap(lambda c: tpufft.spmd.fftshift(c, "x"), axis_name="x"))
    >>> shift(jnp.arange(4).reshape(2, 2)).tolist()
    [[2, 3], [0, 1]]
    """
    return call.shift("fftshift", chunk, axis_name, axis, spec)


def ifftshift(chunk: jax.Array, axis_name: AxisName, *, axis: int = -1, spec: SpecLike | None = None) -> jax.Array:
    r"""The inverse of :func:`fftshift`.

    .. math:: y_j = x_{(j + \lfloor N/2 \rfloor) \bmod N}

    Parameters
    ----------
    chunk, axis_name, axis, spec
        As in :func:`fft`.

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
    Costs what :func:`fftshift` costs.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, tpufft
    >>> shift = jax.jit(jax.vmap(lambda c: tpufft.spmd.ifftshift(c, "x"), axis_name="x"))
    >>> shift(jnp.arange(4).reshape(2, 2)).tolist()
    [[2, 3], [0, 1]]
    """
    return call.shift("ifftshift", chunk, axis_name, axis, spec)
