"""Hankel transforms of the last axis of an array of which this device holds a chunk."""

from __future__ import annotations

import jax

from tpufft.layout import SpecLike
from tpufft.spmd import call
from tpufft.spmd.call import AxisName
from tpufft.steps import Precision


def fht(
    chunk: jax.Array,
    axis_name: AxisName,
    *,
    dln: float,
    mu: float,
    offset: float = 0.0,
    bias: float = 0.0,
    spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> jax.Array:
    r"""The fast Hankel transform of the last axis, of which this device holds a chunk.

    .. math:: A(k) = \int_0^\infty a(r)\, J_\mu(kr)\, k\, \mathrm{d}r

    Parameters
    ----------
    chunk : array
        This device's chunk of the global array, real; all chunks have one shape, without padding.
    axis_name : str or tuple of str
        The mesh axes that split the array, the first the slowest.
    dln, mu, offset, bias
        As in :func:`tpufft.fht`; the centre is that of the global axis.
    spec : PartitionSpec, optional
        Which array axis is split over which mesh axes. Default: the last axis over `axis_name`.
    order, method, kernel, precision
        As in :func:`tpufft.fht`.

    Returns
    -------
    jax.Array
        This device's chunk of the result.

    Raises
    ------
    LayoutError
        As in :func:`fft`.
    TypeError
        For a complex `chunk`.
    ValueError
        For a parameter that is not finite.

    Notes
    -----
    Costs what :func:`tpufft.fht` costs. A singular transform leaves zero frequency out, without the warning of
    :func:`tpufft.fht`.

    Examples
    --------
    >>> import functools, jax, numpy as np, tpufft
    >>> from jax.sharding import PartitionSpec as P
    >>> mesh = jax.sharding.Mesh(jax.devices(), ("x",))
    >>> @functools.partial(jax.shard_map, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    ... def function(c):
    ...     return tpufft.spmd.fht(c, "x", dln=0.1, mu=1.0)
    >>> x = np.random.default_rng(0).standard_normal(64)
    >>> bool(np.allclose(jax.jit(function)(x), tpufft.fht(x, dln=0.1, mu=1.0), atol=1e-4))
    True
    """
    parameters = {"dln": dln, "mu": mu, "offset": offset, "bias": bias}
    options = {"order": order, "method": method, "kernel": kernel, "precision": precision}
    return call.hankel("fht", chunk, axis_name, spec, parameters | options)


def ifht(
    chunk: jax.Array,
    axis_name: AxisName,
    *,
    dln: float,
    mu: float,
    offset: float = 0.0,
    bias: float = 0.0,
    spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> jax.Array:
    r"""The inverse of :func:`fht`.

    .. math:: a(r) = \int_0^\infty A(k)\, J_\mu(kr)\, r\, \mathrm{d}k

    Parameters
    ----------
    chunk, axis_name, dln, mu, offset, bias, spec, order, method, kernel, precision
        As in :func:`fht`.

    Returns
    -------
    jax.Array
        This device's chunk of the result.

    Raises
    ------
    LayoutError, TypeError, ValueError
        As in :func:`fht`.

    Notes
    -----
    Costs what :func:`fht` costs.

    Examples
    --------
    >>> import functools, jax, numpy as np, tpufft
    >>> from jax.sharding import PartitionSpec as P
    >>> mesh = jax.sharding.Mesh(jax.devices(), ("x",))
    >>> @functools.partial(jax.shard_map, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    ... def function(c):
    ...     return tpufft.spmd.ifht(c, "x", dln=0.1, mu=1.0)
    >>> x = np.random.default_rng(0).standard_normal(64)
    >>> bool(np.allclose(jax.jit(function)(x), tpufft.ifht(x, dln=0.1, mu=1.0), atol=1e-4))
    True
    """
    parameters = {"dln": dln, "mu": mu, "offset": offset, "bias": bias}
    options = {"order": order, "method": method, "kernel": kernel, "precision": precision}
    return call.hankel("ifht", chunk, axis_name, spec, parameters | options)
