"""Transforms from or to real numbers along one axis of an array of which this device holds a chunk."""

from __future__ import annotations

import jax

from tpufft.layout import SpecLike
from tpufft.planning import check_axis
from tpufft.spmd import call
from tpufft.spmd.call import AxisName
from tpufft.steps import Precision


def rfft(
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
    r"""The discrete Fourier transform of real numbers along one axis, of which this device holds a chunk.

    .. math:: X_k = \sum_{j=0}^{N-1} x_j\, e^{-2\pi i jk/N}, \qquad k = 0, \dots, \lfloor N/2 \rfloor

    Parameters
    ----------
    chunk : array
        This device's chunk of the global array, real; all chunks have one shape.
    axis_name : str or tuple of str
        The mesh axes that split the array, the first the slowest.
    axis : int, default -1
        The transformed axis.
    n : int, optional
        Points of the global axis. Default: all that the chunks hold; fewer, where the last chunks are padded.
    spec : PartitionSpec, optional
        Which array axis is split over which mesh axes. Default: `axis` over `axis_name`.
    norm, order, method, kernel, precision
        As in :func:`tpufft.rfft`.

    Returns
    -------
    jax.Array
        This device's chunk of the result, of ``ceil(length / devices)`` elements along the axis; what
        stands behind the result's end is unspecified.

    Raises
    ------
    LayoutError
        As in :func:`fft`.
    TypeError
        For a complex `chunk`.

    Notes
    -----
    Costs what :func:`tpufft.rfft` costs; differentiable by JAX in both modes. Under ``vmap`` in the place of a
    ``shard_map`` JAX lets only full permutations pass: there the axis must not be split.

    Examples
    --------
    >>> import functools, jax, numpy as np, tpufft
    >>> from jax.sharding import PartitionSpec as P
    >>> mesh = jax.sharding.Mesh(jax.devices(), ("x",))
    >>> @functools.partial(jax.shard_map, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    ... def function(c):
    ...     return tpufft.spmd.rfft(c, "x")
    >>> x = np.random.default_rng(0).standard_normal(64)
    >>> bool(np.allclose(jax.jit(function)(x)[:33], np.fft.rfft(x), atol=1e-4))
    True
    """
    options = {"norm": norm, "order": order, "method": method, "kernel": kernel, "precision": precision}
    place = check_axis(axis, chunk.ndim)
    return call.transform("rfft", chunk, axis_name, place, (n,), (place,), spec, options)


def irfft(
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
    r"""The inverse of :func:`rfft`.

    .. math:: x_j = \frac{1}{N} \sum_{k=0}^{N-1} X_k\, e^{2\pi i jk/N}, \qquad X_{N-k} = \overline{X_k}

    Parameters
    ----------
    chunk : array
        This device's chunk of the global array, of the frequencies; all chunks have one shape.
    axis_name : str or tuple of str
        The mesh axes that split the array, the first the slowest.
    axis : int, default -1
        The transformed axis.
    n : int, optional
        Points of the result. Default: ``2 * (m - 1)`` for the m elements that the chunks hold; to be given
        where the last chunks are padded, of which only the ``n // 2 + 1`` first elements count then.
    spec : PartitionSpec, optional
        Which array axis is split over which mesh axes. Default: `axis` over `axis_name`.
    norm, order, method, kernel, precision
        As in :func:`tpufft.irfft`.

    Returns
    -------
    jax.Array
        This device's chunk of the result, of ``ceil(length / devices)`` elements along the axis; what
        stands behind the result's end is unspecified.

    Raises
    ------
    LayoutError
        As in :func:`fft`.

    Notes
    -----
    Costs what :func:`tpufft.irfft` costs.

    Examples
    --------
    >>> import functools, jax, numpy as np, tpufft
    >>> from jax.sharding import PartitionSpec as P
    >>> mesh = jax.sharding.Mesh(jax.devices(), ("x",))
    >>> @functools.partial(jax.shard_map, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    ... def function(c):
    ...     return tpufft.spmd.irfft(tpufft.spmd.rfft(c, "x"), "x", n=64)
    >>> x = np.random.default_rng(0).standard_normal(64)
    >>> bool(np.allclose(jax.jit(function)(x), x, atol=1e-4))
    True
    """
    options = {"norm": norm, "order": order, "method": method, "kernel": kernel, "precision": precision}
    place = check_axis(axis, chunk.ndim)
    return call.transform("irfft", chunk, axis_name, place, (n,), (place,), spec, options)


def hfft(
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
    r"""The real discrete Fourier transform of half a signal that is conjugated by reversal.

    .. math:: X_k = \sum_{j=0}^{N-1} x_j\, e^{-2\pi i jk/N}, \qquad x_{N-j} = \overline{x_j}

    Parameters
    ----------
    chunk : array
        This device's chunk of the global array, of the first half of the signal; all chunks have one shape.
    axis_name : str or tuple of str
        The mesh axes that split the array, the first the slowest.
    axis : int, default -1
        The transformed axis.
    n : int, optional
        Points of the result. Default: ``2 * (m - 1)`` for the m elements that the chunks hold; to be given
        where the last chunks are padded, of which only the ``n // 2 + 1`` first elements count then.
    spec : PartitionSpec, optional
        Which array axis is split over which mesh axes. Default: `axis` over `axis_name`.
    norm, order, method, kernel, precision
        As in :func:`tpufft.hfft`.

    Returns
    -------
    jax.Array
        This device's chunk of the result, of ``ceil(length / devices)`` elements along the axis; what
        stands behind the result's end is unspecified.

    Raises
    ------
    LayoutError
        As in :func:`fft`.

    Notes
    -----
    Costs what :func:`tpufft.hfft` costs.

    Examples
    --------
    >>> import functools, jax, numpy as np, tpufft
    >>> from jax.sharding import PartitionSpec as P
    >>> mesh = jax.sharding.Mesh(jax.devices(), ("x",))
    >>> @functools.partial(jax.shard_map, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    ... def function(c):
    ...     return tpufft.spmd.hfft(c, "x", n=100)
    >>> x = np.random.default_rng(0).standard_normal(64)
    >>> bool(np.allclose(jax.jit(function)(x)[:100], np.fft.hfft(x, n=100), atol=1e-4))
    True
    """
    options = {"norm": norm, "order": order, "method": method, "kernel": kernel, "precision": precision}
    place = check_axis(axis, chunk.ndim)
    return call.transform("hfft", chunk, axis_name, place, (n,), (place,), spec, options)


def ihfft(
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
    r"""The inverse of :func:`hfft`.

    .. math:: x_j = \frac{1}{N} \sum_{k=0}^{N-1} X_k\, e^{2\pi i jk/N}, \qquad j = 0, \dots, \lfloor N/2 \rfloor

    Parameters
    ----------
    chunk : array
        This device's chunk of the global array, real; all chunks have one shape.
    axis_name : str or tuple of str
        The mesh axes that split the array, the first the slowest.
    axis : int, default -1
        The transformed axis.
    n : int, optional
        Points of the global axis. Default: all that the chunks hold; fewer, where the last chunks are padded.
    spec : PartitionSpec, optional
        Which array axis is split over which mesh axes. Default: `axis` over `axis_name`.
    norm, order, method, kernel, precision
        As in :func:`tpufft.ihfft`.

    Returns
    -------
    jax.Array
        This device's chunk of the result, of ``ceil(length / devices)`` elements along the axis; what
        stands behind the result's end is unspecified.

    Raises
    ------
    LayoutError
        As in :func:`fft`.
    TypeError
        For a complex `chunk`.

    Notes
    -----
    Costs what :func:`tpufft.ihfft` costs.

    Examples
    --------
    >>> import functools, jax, numpy as np, tpufft
    >>> from jax.sharding import PartitionSpec as P
    >>> mesh = jax.sharding.Mesh(jax.devices(), ("x",))
    >>> @functools.partial(jax.shard_map, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    ... def function(c):
    ...     return tpufft.spmd.hfft(tpufft.spmd.ihfft(c, "x"), "x", n=64)
    >>> x = np.random.default_rng(0).standard_normal(64)
    >>> bool(np.allclose(jax.jit(function)(x), x, atol=1e-4))
    True
    """
    options = {"norm": norm, "order": order, "method": method, "kernel": kernel, "precision": precision}
    place = check_axis(axis, chunk.ndim)
    return call.transform("ihfft", chunk, axis_name, place, (n,), (place,), spec, options)
