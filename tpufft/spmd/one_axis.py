"""Transforms along one axis of an array of which this device holds a chunk."""

from __future__ import annotations

import jax

from tpufft.layout import SpecLike
from tpufft.planning import check_axis
from tpufft.spmd import call
from tpufft.spmd.call import AxisName
from tpufft.steps import Precision


def fft(
    chunk: jax.Array,
    axis_name: AxisName,
    *,
    axis: int = -1,
    n: int | None = None,
    norm: str | None = None,
    spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> jax.Array:
    r"""The discrete Fourier transform along one axis, of which this device holds a chunk.

    .. math:: X_k = \sum_{j=0}^{N-1} x_j\, e^{-2\pi i jk/N}

    Parameters
    ----------
    chunk : array
        This device's chunk of the global array; all chunks have one shape.
    axis_name : str or tuple of str
        The mesh axes that split the array, the first the slowest.
    axis : int, default -1
        The transformed axis.
    n : int, optional
        Points of the global axis. Default: all that the chunks hold; fewer, where the last chunks are padded.
    spec : PartitionSpec, optional
        Which array axis is split over which mesh axes. Default: `axis` over `axis_name`.
    norm, order, method, kernel, precision
        As in :func:`tpufft.fft`.

    Returns
    -------
    jax.Array
        This device's chunk of the result, of ``ceil(length / devices)`` elements along the axis; what
        stands behind the result's end is unspecified.

    Raises
    ------
    LayoutError
        Outside a ``shard_map`` (or a ``vmap`` with that axis name), and where chunks do not fit.

    Notes
    -----
    Costs what :func:`tpufft.fft` costs; differentiable by JAX in both modes.

    Examples
    --------
    >>> import jax, numpy as np, tpufft
    >>> x = np.random.default_rng(0).standard_normal(64).astype(np.complex64)
    >>> chunks = jax.jit(jax.vmap(lambda c: tpufft.spmd.fft(c, "x"), axis_name="x"))(x.reshape(4, 16))
    >>> bool(np.allclose(chunks.reshape(64), np.fft.fft(x), atol=1e-4))
    True
    """
    options = {"norm": norm, "order": order, "method": method, "kernel": kernel, "precision": precision}
    place = check_axis(axis, chunk.ndim)
    return call.transform("fft", chunk, axis_name, place, (n,), (place,), spec, options)


def ifft(
    chunk: jax.Array,
    axis_name: AxisName,
    *,
    axis: int = -1,
    n: int | None = None,
    norm: str | None = None,
    spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> jax.Array:
    r"""The inverse of :func:`fft`.

    .. math:: x_j = \frac{1}{N} \sum_{k=0}^{N-1} X_k\, e^{2\pi i jk/N}

    Parameters
    ----------
    chunk, axis_name, axis, n, norm, spec, order, method, kernel, precision
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
    Costs what :func:`fft` costs.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, tpufft
    >>> def there_and_back(c):
    ...     return tpufft.spmd.ifft(tpufft.spmd.fft(c, "x"), "x").real
    >>> bool(jnp.allclose(jax.jit(jax.vmap(there_and_back, axis_name="x"))(jnp.ones((2, 8))), 1, atol=1e-5))
    True
    """
    options = {"norm": norm, "order": order, "method": method, "kernel": kernel, "precision": precision}
    place = check_axis(axis, chunk.ndim)
    return call.transform("ifft", chunk, axis_name, place, (n,), (place,), spec, options)
