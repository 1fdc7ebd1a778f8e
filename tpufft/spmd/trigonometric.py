"""Cosine and sine transforms along one axis of an array of which this device holds a chunk."""

from __future__ import annotations

import jax

from tpufft.layout import SpecLike
from tpufft.planning import check_axis
from tpufft.spmd import call
from tpufft.spmd.call import AxisName
from tpufft.steps import Precision


def dct(
    chunk: jax.Array,
    axis_name: AxisName,
    *,
    type: int = 2,
    axis: int = -1,
    n: int | None = None,
    norm: str | None = None,
    orthogonalize: bool | None = None,
    spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> jax.Array:
    r"""The discrete cosine transform along one axis, of which this device holds a chunk.

    .. math::

       \text{type 1: } & y_k = x_0 + (-1)^k x_{N-1} + 2 \sum_{j=1}^{N-2} x_j \cos\frac{\pi jk}{N-1} \\
       \text{type 2: } & y_k = 2 \sum_{j=0}^{N-1} x_j \cos\frac{\pi (2j+1) k}{2N} \\
       \text{type 3: } & y_k = x_0 + 2 \sum_{j=1}^{N-1} x_j \cos\frac{\pi j (2k+1)}{2N} \\
       \text{type 4: } & y_k = 2 \sum_{j=0}^{N-1} x_j \cos\frac{\pi (2j+1)(2k+1)}{4N}

    Parameters
    ----------
    chunk : array
        This device's chunk of the global array, real or complex; all chunks have one shape.
    axis_name : str or tuple of str
        The mesh axes that split the array, the first the slowest.
    axis : int, default -1
        The transformed axis.
    n : int, optional
        Points of the global axis. Default: all that the chunks hold; fewer, where the last chunks are padded.
    spec : PartitionSpec, optional
        Which array axis is split over which mesh axes. Default: `axis` over `axis_name`.
    type, norm, orthogonalize, order, method, kernel, precision
        As in :func:`tpufft.dct`.

    Returns
    -------
    jax.Array
        This device's chunk of the result, of ``ceil(length / devices)`` elements along the axis; what
        stands behind the result's end is unspecified.

    Raises
    ------
    LayoutError
        As in :func:`fft`.
    ValueError
        For an unknown type, or too few points.

    Notes
    -----
    Costs what :func:`tpufft.dct` costs; differentiable by JAX in both modes. Under ``vmap`` as :func:`rfft`.

    Examples
    --------
    >>> import functools, jax, numpy as np, scipy.fft, tpufft
    >>> from jax.sharding import PartitionSpec as P
    >>> mesh = jax.sharding.Mesh(jax.devices(), ("x",))
    >>> @functools.partial(jax.shard_map, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    ... def function(c):
    ...     return tpufft.spmd.dct(c, "x")
    >>> x = np.random.default_rng(0).standard_normal(64)
    >>> bool(np.allclose(jax.jit(function)(x), scipy.fft.dct(x), atol=1e-4))
    True
    """
    options = {"norm": norm, "order": order, "method": method, "kernel": kernel, "precision": precision}
    options |= {"type": type, "orthogonalize": orthogonalize}
    place = check_axis(axis, chunk.ndim)
    return call.transform("dct", chunk, axis_name, place, (n,), (place,), spec, options)


def idct(
    chunk: jax.Array,
    axis_name: AxisName,
    *,
    type: int = 2,
    axis: int = -1,
    n: int | None = None,
    norm: str | None = None,
    orthogonalize: bool | None = None,
    spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> jax.Array:
    r"""The inverse of :func:`dct` of the same type.

    .. math:: x = \frac{1}{M}\, \mathrm{DCT}_{t'}(y), \qquad M = 2N \; (\text{type 1: } 2(N-1)), \quad
              t' = 1, 3, 2, 4 \text{ for type } t = 1, 2, 3, 4

    Parameters
    ----------
    chunk : array
        This device's chunk of the global array, real or complex; all chunks have one shape.
    axis_name : str or tuple of str
        The mesh axes that split the array, the first the slowest.
    axis : int, default -1
        The transformed axis.
    n : int, optional
        Points of the global axis. Default: all that the chunks hold; fewer, where the last chunks are padded.
    spec : PartitionSpec, optional
        Which array axis is split over which mesh axes. Default: `axis` over `axis_name`.
    type, norm, orthogonalize, order, method, kernel, precision
        As in :func:`tpufft.idct`.

    Returns
    -------
    jax.Array
        This device's chunk of the result, of ``ceil(length / devices)`` elements along the axis; what
        stands behind the result's end is unspecified.

    Raises
    ------
    LayoutError
        As in :func:`fft`.
    ValueError
        For an unknown type, or too few points.

    Notes
    -----
    Costs what :func:`tpufft.dct` costs.

    Examples
    --------
    >>> import functools, jax, numpy as np, tpufft
    >>> from jax.sharding import PartitionSpec as P
    >>> mesh = jax.sharding.Mesh(jax.devices(), ("x",))
    >>> @functools.partial(jax.shard_map, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    ... def function(c):
    ...     return tpufft.spmd.idct(tpufft.spmd.dct(c, "x"), "x")
    >>> x = np.random.default_rng(0).standard_normal(64)
    >>> bool(np.allclose(jax.jit(function)(x), x, atol=1e-4))
    True
    """
    options = {"norm": norm, "order": order, "method": method, "kernel": kernel, "precision": precision}
    options |= {"type": type, "orthogonalize": orthogonalize}
    place = check_axis(axis, chunk.ndim)
    return call.transform("idct", chunk, axis_name, place, (n,), (place,), spec, options)


def dst(
    chunk: jax.Array,
    axis_name: AxisName,
    *,
    type: int = 2,
    axis: int = -1,
    n: int | None = None,
    norm: str | None = None,
    orthogonalize: bool | None = None,
    spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> jax.Array:
    r"""The discrete sine transform along one axis, of which this device holds a chunk.

    .. math::

       \text{type 1: } & y_k = 2 \sum_{j=0}^{N-1} x_j \sin\frac{\pi (j+1)(k+1)}{N+1} \\
       \text{type 2: } & y_k = 2 \sum_{j=0}^{N-1} x_j \sin\frac{\pi (2j+1)(k+1)}{2N} \\
       \text{type 3: } & y_k = (-1)^k x_{N-1} + 2 \sum_{j=0}^{N-2} x_j \sin\frac{\pi (j+1)(2k+1)}{2N} \\
       \text{type 4: } & y_k = 2 \sum_{j=0}^{N-1} x_j \sin\frac{\pi (2j+1)(2k+1)}{4N}

    Parameters
    ----------
    chunk : array
        This device's chunk of the global array, real or complex; all chunks have one shape.
    axis_name : str or tuple of str
        The mesh axes that split the array, the first the slowest.
    axis : int, default -1
        The transformed axis.
    n : int, optional
        Points of the global axis. Default: all that the chunks hold; fewer, where the last chunks are padded.
    spec : PartitionSpec, optional
        Which array axis is split over which mesh axes. Default: `axis` over `axis_name`.
    type, norm, orthogonalize, order, method, kernel, precision
        As in :func:`tpufft.dst`.

    Returns
    -------
    jax.Array
        This device's chunk of the result, of ``ceil(length / devices)`` elements along the axis; what
        stands behind the result's end is unspecified.

    Raises
    ------
    LayoutError
        As in :func:`fft`.
    ValueError
        For an unknown type, or too few points.

    Notes
    -----
    Costs what :func:`tpufft.dst` costs; differentiable by JAX in both modes. Under ``vmap`` as :func:`rfft`.

    Examples
    --------
    >>> import functools, jax, numpy as np, scipy.fft, tpufft
    >>> from jax.sharding import PartitionSpec as P
    >>> mesh = jax.sharding.Mesh(jax.devices(), ("x",))
    >>> @functools.partial(jax.shard_map, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    ... def function(c):
    ...     return tpufft.spmd.dst(c, "x")
    >>> x = np.random.default_rng(0).standard_normal(64)
    >>> bool(np.allclose(jax.jit(function)(x), scipy.fft.dst(x), atol=1e-4))
    True
    """
    options = {"norm": norm, "order": order, "method": method, "kernel": kernel, "precision": precision}
    options |= {"type": type, "orthogonalize": orthogonalize}
    place = check_axis(axis, chunk.ndim)
    return call.transform("dst", chunk, axis_name, place, (n,), (place,), spec, options)


def idst(
    chunk: jax.Array,
    axis_name: AxisName,
    *,
    type: int = 2,
    axis: int = -1,
    n: int | None = None,
    norm: str | None = None,
    orthogonalize: bool | None = None,
    spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> jax.Array:
    r"""The inverse of :func:`dst` of the same type.

    .. math:: x = \frac{1}{M}\, \mathrm{DST}_{t'}(y), \qquad M = 2N \; (\text{type 1: } 2(N+1)), \quad
              t' = 1, 3, 2, 4 \text{ for type } t = 1, 2, 3, 4

    Parameters
    ----------
    chunk : array
        This device's chunk of the global array, real or complex; all chunks have one shape.
    axis_name : str or tuple of str
        The mesh axes that split the array, the first the slowest.
    axis : int, default -1
        The transformed axis.
    n : int, optional
        Points of the global axis. Default: all that the chunks hold; fewer, where the last chunks are padded.
    spec : PartitionSpec, optional
        Which array axis is split over which mesh axes. Default: `axis` over `axis_name`.
    type, norm, orthogonalize, order, method, kernel, precision
        As in :func:`tpufft.idst`.

    Returns
    -------
    jax.Array
        This device's chunk of the result, of ``ceil(length / devices)`` elements along the axis; what
        stands behind the result's end is unspecified.

    Raises
    ------
    LayoutError
        As in :func:`fft`.
    ValueError
        For an unknown type, or too few points.

    Notes
    -----
    Costs what :func:`tpufft.dst` costs.

    Examples
    --------
    >>> import functools, jax, numpy as np, tpufft
    >>> from jax.sharding import PartitionSpec as P
    >>> mesh = jax.sharding.Mesh(jax.devices(), ("x",))
    >>> @functools.partial(jax.shard_map, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    ... def function(c):
    ...     return tpufft.spmd.idst(tpufft.spmd.dst(c, "x"), "x")
    >>> x = np.random.default_rng(0).standard_normal(64)
    >>> bool(np.allclose(jax.jit(function)(x), x, atol=1e-4))
    True
    """
    options = {"norm": norm, "order": order, "method": method, "kernel": kernel, "precision": precision}
    options |= {"type": type, "orthogonalize": orthogonalize}
    place = check_axis(axis, chunk.ndim)
    return call.transform("idst", chunk, axis_name, place, (n,), (place,), spec, options)
