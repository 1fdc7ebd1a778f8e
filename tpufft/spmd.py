"""The collective form of the transforms, for use inside one's own ``shard_map``.

Every device calls the same function with its own chunk; the functions of ``tpufft`` itself take whole arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax import lax
from jax.sharding import AbstractMesh, PartitionSpec

from tpufft.errors import LayoutError
from tpufft.execution import mesh_platform, run
from tpufft.layout import Spec, SpecLike, mesh_size, normalize_spec
from tpufft.planning import (
    Problem,
    Request,
    check_axis,
    make_plan,
    shift_problem,
    transform_problem,
    transposed_shape,
)
from tpufft.steps import Precision

AxisName = str | tuple[str, ...]


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
        Points of the global axis. Default: all that the chunks hold.
    spec : PartitionSpec, optional
        Which array axis is split over which mesh axes. Default: `axis` over `axis_name`.
    norm, order, method, kernel, precision
        As in :func:`tpufft.fft`.

    Returns
    -------
    jax.Array
        This device's chunk of the result.

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
    return _transform("fft", chunk, axis_name, place, (n,), (place,), spec, options)


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
    return _transform("ifft", chunk, axis_name, place, (n,), (place,), spec, options)


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
    return _transform("fftn", chunk, axis_name, 0, s, axes, spec, options)


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
    return _transform("ifftn", chunk, axis_name, 0, s, axes, spec, options)


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
    return _transform("fft2", chunk, axis_name, 0, s, axes, spec, options)


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
    return _transform("ifft2", chunk, axis_name, 0, s, axes, spec, options)


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
    return _shift("fftshift", chunk, axis_name, axis, spec)


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
    return _shift("ifftshift", chunk, axis_name, axis, spec)


def _transform(
    name: str,
    chunk: jax.Array,
    axis_name: AxisName,
    place: int,
    sizes: Sequence[int | None] | None,
    axes: Sequence[int] | None,
    spec: SpecLike | None,
    options: dict[str, Any],
) -> jax.Array:
    """Run a transform on a chunk of an array whose axis `place` is split, unless `spec` says otherwise."""
    mesh, natural = _split(name, chunk, axis_name, place, spec)
    shape = _shape(chunk.shape, mesh, natural)
    if name.startswith("ifft") and options["order"] == "transposed":
        shape = transposed_shape(chunk.shape, mesh, natural, axes)
    problem = transform_problem(name, shape, chunk.dtype, sizes=sizes, axes=axes, **options)
    return _run(problem, mesh, natural, chunk)


def _shift(name: str, chunk: jax.Array, axis_name: AxisName, axis: int, spec: SpecLike | None) -> jax.Array:
    place = check_axis(axis, chunk.ndim)
    mesh, split = _split(name, chunk, axis_name, place, spec)
    problem = shift_problem(name, _shape(chunk.shape, mesh, split), np.dtype(chunk.dtype), place)
    return _run(problem, mesh, split, chunk)


def _split(
    name: str, chunk: jax.Array, axis_name: AxisName, place: int, spec: SpecLike | None
) -> tuple[AbstractMesh, Spec]:
    """The mesh that `axis_name` means here, and the chunking of the array of which `chunk` is a part."""
    names = (axis_name,) if isinstance(axis_name, str) else tuple(axis_name)
    try:
        sizes = tuple(int(lax.axis_size(one)) for one in names)
    except NameError:
        raise LayoutError(
            f"axis_name={axis_name!r} is not bound here: tpufft.spmd.{name} is for use inside a shard_map over it; "
            f"for whole arrays call tpufft.{name}"
        ) from None
    mesh = AbstractMesh(sizes, names)
    entries: SpecLike = PartitionSpec(*(None,) * place, names) if spec is None else spec
    return mesh, normalize_spec(entries, chunk.ndim, mesh)


def _shape(chunk: tuple[int, ...], mesh: AbstractMesh, spec: Spec) -> tuple[int, ...]:
    """The shape of the whole array."""
    return tuple(size * mesh_size(mesh, names) for size, names in zip(chunk, spec, strict=True))


def _run(problem: Problem, mesh: AbstractMesh, spec: Spec, chunk: jax.Array) -> jax.Array:
    plan = make_plan(Request(problem, mesh, spec))
    return run(plan.bound.program, chunk.astype(problem.dtype), mesh_platform(jax.sharding.get_abstract_mesh()))
