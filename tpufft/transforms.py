"""The Fourier transforms, by numpy's names, on chunked arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jax.typing import ArrayLike

from tpufft.errors import LayoutError
from tpufft.execution import apply, call, visible_layout
from tpufft.layout import AnyMesh, Layout, SpecLike, normalize_spec
from tpufft.planning import (
    TRANSFORMS,
    Plan,
    Problem,
    Request,
    asked_dtype,
    check_word,
    computing_dtype,
    default_mesh,
    frequencies,
    make_plan,
    shift_problem,
    transform_problem,
)
from tpufft.steps import Precision

Sizes: TypeAlias = Sequence[int] | None
Axes: TypeAlias = Sequence[int] | None
_Function = TypeVar("_Function", bound=Callable[..., Any])

_OPTIONS = """norm : {"backward", "ortho", "forward"}, optional
        Where the factor 1/N stands: with the inverse (default), its root with both, or with the forward transform.
    overwrite_x : bool, default False
        Donate `x`: where XLA can alias, the result takes its buffer and `x` is deleted. Ignored under tracing.
    spec : PartitionSpec, optional
        The chunking that `x` has or is brought to. Default: its own sharding; for an array that is not sharded yet,
        and for a mesh without a spec under ``jit``, row-chunked: the first axis over all mesh axes. With an `order`
        that is not natural, the chunking of the natural side.
    out_spec : PartitionSpec, optional
        The chunking of the result. Default: that of `x`.
    order : str, default "natural"
        {orders}
    method : {{"auto", "exchange", "ring"}}, default "auto"
        How a chunked axis is transformed: by all-to-all exchanges, by the one-shuffle product with the DFT matrix, or
        by whichever the cost model predicts to be faster.
    kernel : {{"auto", "xla", "matmul"}}, default "auto"
        How a device transforms what it holds whole: the compiler's FFT, or products with DFT matrices.
    precision : optional
        Of products, as ``jax.lax`` takes it (a word or a ``DotAlgorithmPreset``); highest by default. Implies
        ``kernel="matmul"``.""".replace("{{", "{").replace("}}", "}")

_ORDERS = {
    "scrambled": '"natural": frequencies in numpy\'s order. "scrambled": along a chunked axis of N = P n points, position\n'
    "        ``c n + d`` holds frequency ``c + P d``, which saves an exchange; for an inverse it describes the input.",
    "transposed": '"natural": the result has the chunking of `x`. "transposed": it is chunked along other axes, as the\n'
    "        cheapest plan leaves it, which saves exchanges; for an inverse it describes the input.",
}

_RETURNS = """jax.Array
        Complex, chunked as `x` is (see `out_spec` and `order`). An array that was NumPy's or on one device comes back
        chunked by rows if it divides, else whole on every device.

    Raises
    ------
    numpy.exceptions.AxisError
        For an axis that `x` does not have.
    LayoutError
        For a mesh that contradicts the array, a spec that does not fit, chunks that do not divide evenly, a call under
        ``jit`` that names no mesh, or a call inside a ``shard_map`` (use ``tpufft.spmd`` there).
    ValueError
        For an unknown word or fewer than one point."""


def _documented(function: _Function) -> _Function:
    """Fill in the sections that all transforms share."""
    text = function.__doc__ or ""
    for order, words in _ORDERS.items():
        text = text.replace("{options:" + order + "}", _OPTIONS.replace("{orders}", words))
    function.__doc__ = text.replace("{returns}", _RETURNS)
    return function


@_documented
def fft(
    x: ArrayLike,
    mesh: Mesh | None = None,
    *,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    overwrite_x: bool = False,
    spec: SpecLike | None = None,
    out_spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> jax.Array:
    r"""The discrete Fourier transform along one axis, chunked or not.

    .. math:: X_k = \sum_{j=0}^{N-1} x_j\, e^{-2\pi i jk/N}, \qquad k = 0, \dots, N-1

    Parameters
    ----------
    x : array
        Real or complex, of any rank; integers are promoted as JAX does.
    mesh : jax.sharding.Mesh, optional
        The devices. Default: the mesh of `x`, else the one set by ``jax.set_mesh``, else (eagerly) all devices.
    n : int, optional
        Number of points: `x` is cut or padded with zeros at its end. Default: the axis' length.
    axis : int, default -1
        The axis.
    {options:scrambled}

    Returns
    -------
    {returns}

    Notes
    -----
    A chunked axis costs two exchanges where another axis can take its place, three (two scrambled) by the four-step
    plan where none can, or P-1 permutes of a chunk by the ring; arithmetic is O(N log N), by the ring O(N^2 / P) for
    each device. Nothing is ever gathered. Derivatives of both modes keep the chunking.

    References
    ----------
    .. [1] T. Lu, Y.-F. Chen, B. Hechtman, T. Wang, J. Anderson, "Large-Scale Discrete Fourier Transform on TPUs",
       IEEE Access 9 (2021), arXiv:2002.03260.
    .. [2] D. H. Bailey, "FFTs in external or hierarchical memory", J. Supercomputing 4 (1990).

    Examples
    --------
    >>> import numpy as np, tpufft
    >>> x = np.exp(2j * np.pi * 3 * np.arange(64) / 64)
    >>> np.argmax(abs(np.asarray(tpufft.fft(x))))
    np.int64(3)
    """
    options = _options(norm, order, method, kernel, precision)
    return _transform("fft", x, mesh, (n,), (axis,), options, overwrite_x, spec, out_spec)


@_documented
def ifft(
    x: ArrayLike,
    mesh: Mesh | None = None,
    *,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    overwrite_x: bool = False,
    spec: SpecLike | None = None,
    out_spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> jax.Array:
    r"""The inverse discrete Fourier transform along one axis, chunked or not.

    .. math:: x_j = \frac{1}{N} \sum_{k=0}^{N-1} X_k\, e^{2\pi i jk/N}, \qquad j = 0, \dots, N-1

    Parameters
    ----------
    x : array
        Frequencies in numpy's order, or in scrambled order (see `order`).
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    n : int, optional
        Number of points.
    axis : int, default -1
        The axis.
    {options:scrambled}

    Returns
    -------
    {returns}

    Notes
    -----
    Costs what :func:`fft` costs.

    Examples
    --------
    >>> import numpy as np, tpufft
    >>> x = np.arange(16.0)
    >>> bool(np.allclose(tpufft.ifft(tpufft.fft(x)), x, atol=1e-5))
    True
    """
    options = _options(norm, order, method, kernel, precision)
    return _transform("ifft", x, mesh, (n,), (axis,), options, overwrite_x, spec, out_spec)


@_documented
def fftn(
    x: ArrayLike,
    mesh: Mesh | None = None,
    *,
    s: Sizes = None,
    axes: Axes = None,
    norm: str | None = None,
    overwrite_x: bool = False,
    spec: SpecLike | None = None,
    out_spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> jax.Array:
    r"""The discrete Fourier transform along several axes, any of them chunked.

    .. math:: X_{k_1 \dots k_d} = \sum_{j_1} \cdots \sum_{j_d} x_{j_1 \dots j_d}\,
              e^{-2\pi i (j_1 k_1 / N_1 + \dots + j_d k_d / N_d)}

    Parameters
    ----------
    x : array
        Real or complex, of any rank; integers are promoted as JAX does.
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    s : sequence of int, optional
        Points along each transformed axis: `x` is cut or padded with zeros at its end; -1 keeps a length. Default:
        the axes' lengths.
    axes : sequence of int, optional
        The axes; one that stands twice is transformed twice, as in numpy. Default: the last ``len(s)``, or all.
    {options:transposed}

    Returns
    -------
    {returns}

    Notes
    -----
    One all-to-all exchange for every chunked axis brings it onto a device, one more back; with ``order="transposed"``
    the last ones are left out: slabs take two (one), pencils four (two). Each moves (P-1)/P of a chunk. Arithmetic is
    O(N log N). Nothing is ever gathered. Derivatives of both modes keep the chunking.

    References
    ----------
    .. [1] T. Lu, Y.-F. Chen, B. Hechtman, T. Wang, J. Anderson, "Large-Scale Discrete Fourier Transform on TPUs",
       IEEE Access 9 (2021), arXiv:2002.03260.

    Examples
    --------
    >>> import numpy as np, tpufft
    >>> x = np.random.default_rng(0).standard_normal((8, 8, 4))
    >>> bool(np.allclose(tpufft.fftn(x), np.fft.fftn(x), atol=1e-4))
    True
    """
    options = _options(norm, order, method, kernel, precision)
    return _transform("fftn", x, mesh, s, axes, options, overwrite_x, spec, out_spec)


@_documented
def ifftn(
    x: ArrayLike,
    mesh: Mesh | None = None,
    *,
    s: Sizes = None,
    axes: Axes = None,
    norm: str | None = None,
    overwrite_x: bool = False,
    spec: SpecLike | None = None,
    out_spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> jax.Array:
    r"""The inverse discrete Fourier transform along several axes, any of them chunked.

    .. math:: x_{j_1 \dots j_d} = \frac{1}{N_1 \cdots N_d} \sum_{k_1} \cdots \sum_{k_d} X_{k_1 \dots k_d}\,
              e^{2\pi i (j_1 k_1 / N_1 + \dots + j_d k_d / N_d)}

    Parameters
    ----------
    x : array
        Frequencies; with ``order="transposed"`` chunked as :func:`fftn` leaves them.
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    s : sequence of int, optional
        As in :func:`fftn`.
    axes : sequence of int, optional
        As in :func:`fftn`.
    {options:transposed}

    Returns
    -------
    {returns}

    Notes
    -----
    Costs what :func:`fftn` costs.

    Examples
    --------
    >>> import numpy as np, tpufft
    >>> x = np.random.default_rng(0).standard_normal((8, 8))
    >>> bool(np.allclose(tpufft.ifftn(tpufft.fftn(x)), x, atol=1e-5))
    True
    """
    options = _options(norm, order, method, kernel, precision)
    return _transform("ifftn", x, mesh, s, axes, options, overwrite_x, spec, out_spec)


@_documented
def fft2(
    x: ArrayLike,
    mesh: Mesh | None = None,
    *,
    s: Sizes = None,
    axes: Axes = (-2, -1),
    norm: str | None = None,
    overwrite_x: bool = False,
    spec: SpecLike | None = None,
    out_spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> jax.Array:
    r"""The discrete Fourier transform along two axes: :func:`fftn` with other defaults.

    .. math:: X_{kl} = \sum_{i,j} x_{ij}\, e^{-2\pi i (ik/N_1 + jl/N_2)}

    Parameters
    ----------
    x : array
        Of two axes or more.
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    s : sequence of int, optional
        As in :func:`fftn`.
    axes : sequence of int, default (-2, -1)
        The axes.
    {options:transposed}

    Returns
    -------
    {returns}

    Notes
    -----
    Costs what :func:`fftn` costs.

    Examples
    --------
    >>> import numpy as np, tpufft
    >>> tpufft.fft2(np.ones((8, 8)))[0, 0].item()
    (64+0j)
    """
    options = _options(norm, order, method, kernel, precision)
    return _transform("fft2", x, mesh, s, axes, options, overwrite_x, spec, out_spec)


@_documented
def ifft2(
    x: ArrayLike,
    mesh: Mesh | None = None,
    *,
    s: Sizes = None,
    axes: Axes = (-2, -1),
    norm: str | None = None,
    overwrite_x: bool = False,
    spec: SpecLike | None = None,
    out_spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> jax.Array:
    r"""The inverse discrete Fourier transform along two axes: :func:`ifftn` with other defaults.

    .. math:: x_{ij} = \frac{1}{N_1 N_2} \sum_{k,l} X_{kl}\, e^{2\pi i (ik/N_1 + jl/N_2)}

    Parameters
    ----------
    x : array
        Of two axes or more.
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    s : sequence of int, optional
        As in :func:`fftn`.
    axes : sequence of int, default (-2, -1)
        The axes.
    {options:transposed}

    Returns
    -------
    {returns}

    Notes
    -----
    Costs what :func:`fftn` costs.

    Examples
    --------
    >>> import numpy as np, tpufft
    >>> tpufft.ifft2(np.ones((8, 8)))[0, 0].item()
    (1+0j)
    """
    options = _options(norm, order, method, kernel, precision)
    return _transform("ifft2", x, mesh, s, axes, options, overwrite_x, spec, out_spec)


def fftshift(
    x: ArrayLike, mesh: Mesh | None = None, *, axes: int | Sequence[int] | None = None, spec: SpecLike | None = None
) -> jax.Array:
    r"""Move the zero frequency to the middle.

    .. math:: y_j = x_{(j - \lfloor N/2 \rfloor) \bmod N}

    Parameters
    ----------
    x : array
        Of any dtype.
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    axes : int or sequence of int, optional
        The axes. Default: all.
    spec : PartitionSpec, optional
        As in :func:`fft`.

    Returns
    -------
    jax.Array
        Of the same dtype and chunking.

    Raises
    ------
    numpy.exceptions.AxisError
        For an axis that `x` does not have.
    LayoutError
        As :func:`fft` does.

    Notes
    -----
    A chunked axis takes one permute of a chunk where half its length is a whole number of chunks, else two permutes
    that carry one chunk together.

    Examples
    --------
    >>> import numpy as np, tpufft
    >>> tpufft.fftshift(np.arange(4)).tolist()
    [2, 3, 0, 1]
    """
    return _shift("fftshift", x, mesh, axes, spec)


def ifftshift(
    x: ArrayLike, mesh: Mesh | None = None, *, axes: int | Sequence[int] | None = None, spec: SpecLike | None = None
) -> jax.Array:
    r"""The inverse of :func:`fftshift`; another shift where a length is odd.

    .. math:: y_j = x_{(j + \lfloor N/2 \rfloor) \bmod N}

    Parameters
    ----------
    x : array
        Of any dtype.
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    axes : int or sequence of int, optional
        The axes. Default: all.
    spec : PartitionSpec, optional
        As in :func:`fft`.

    Returns
    -------
    jax.Array
        Of the same dtype and chunking.

    Raises
    ------
    numpy.exceptions.AxisError
        For an axis that `x` does not have.
    LayoutError
        As :func:`fft` does.

    Notes
    -----
    Costs what :func:`fftshift` costs.

    Examples
    --------
    >>> import numpy as np, tpufft
    >>> tpufft.ifftshift(tpufft.fftshift(np.arange(5))).tolist()
    [0, 1, 2, 3, 4]
    """
    return _shift("ifftshift", x, mesh, axes, spec)


def fftfreq(
    n: int,
    d: float = 1.0,
    *,
    mesh: Mesh | None = None,
    spec: SpecLike | None = None,
    order: str = "natural",
) -> jax.Array:
    r"""The frequency of every element that :func:`fft` of `n` points returns.

    .. math:: f_k = \frac{k}{n d} \text{ for } k < n/2, \quad \frac{k - n}{n d} \text{ for the others}

    Parameters
    ----------
    n : int
        Number of points.
    d : float, default 1.0
        Sample spacing.
    mesh : jax.sharding.Mesh, optional
        Chunk the result over it. Default: one device.
    spec : PartitionSpec, optional
        The chunking; needs `mesh`. Default: over all its axes.
    order : {"natural", "scrambled"}, default "natural"
        The order in which :func:`fft` stored them.

    Returns
    -------
    jax.Array
        Real, shape ``(n,)``, in cycles per unit of `d`; every device makes its own part.

    Raises
    ------
    ValueError
        For n < 1, an unknown order, or `spec` without `mesh`.
    LayoutError
        Where `n` does not divide into equal chunks.

    Notes
    -----
    No communication.

    Examples
    --------
    >>> import tpufft
    >>> tpufft.fftfreq(4, d=0.5).tolist()
    [0.0, 0.5, -1.0, -0.5]
    """
    if not hasattr(n, "__index__"):
        raise TypeError(f"n={n!r} is no integer")
    if n < 1:
        raise ValueError(f"n={n}: at least one point")
    check_word("order", order, ("natural", "scrambled"))
    if mesh is None and spec is not None:
        raise ValueError(f"spec={spec} needs mesh=, the devices that it speaks of")
    where = Mesh(np.array(jax.devices()[:1]), ("x",)) if mesh is None else mesh
    line = Layout.of((int(n),), np.float64, where, spec)
    if not line.is_even:
        raise LayoutError(f"n={n} does not divide into {line.parts[0]} equal chunks; use a multiple of it, or another spec")
    return frequencies(line, d, order)


def plan(
    transform: str,
    shape: Sequence[int],
    dtype: Any = np.complex64,
    mesh: Mesh | None = None,
    *,
    spec: SpecLike | None = None,
    out_spec: SpecLike | None = None,
    overwrite_x: bool = False,
    **options: Any,
) -> Plan:
    """Plan a transform without running it.

    Parameters
    ----------
    transform : str
        ``fft ifft fft2 ifft2 fftn ifftn fftshift ifftshift``.
    shape : sequence of int
        Of the input.
    dtype : dtype, default complex64
        Of the input. What needs 64-bit types where JAX has none is an error.
    mesh : jax.sharding.Mesh, optional
        The devices. Default: the mesh set by ``jax.set_mesh``, else all devices.
    spec, out_spec : PartitionSpec, optional
        As in :func:`fft`.
    overwrite_x : bool, default False
        Plan calls that donate their argument.
    **options
        The transform's own: ``n axis`` or ``s axes``, ``norm order method kernel precision``.

    Returns
    -------
    Plan
        Callable; prints its steps, predicts its time, counts its bytes, lowers and compiles.

    Raises
    ------
    ValueError, TypeError, LayoutError
        As the transform itself does.

    Notes
    -----
    Searches over layouts on the host; no device works.

    Examples
    --------
    >>> import numpy as np, tpufft
    >>> plan = tpufft.plan("fftn", (16, 16), np.complex64, axes=(1,))
    >>> len(plan.steps)
    1
    """
    check_word("transform", transform, TRANSFORMS)
    shape = tuple(int(size) for size in shape)
    named = asked_dtype(dtype)
    problem = _shift_options(transform, shape, named, options) if "shift" in transform else None
    if problem is None:
        problem = _problem_from_options(transform, shape, named, options)
    request = _request(problem, mesh or _context_mesh() or default_mesh(), spec, out_spec)
    return make_plan(request, overwrite_x=overwrite_x)


def _shift_options(transform: str, shape: tuple[int, ...], dtype: np.dtype, options: dict[str, Any]) -> Problem:
    unknown = set(options) - {"axes"}
    if unknown:
        raise TypeError(f"{transform} takes axes=, not {', '.join(sorted(unknown))}")
    return shift_problem(transform, shape, dtype, options.get("axes"))


def _problem_from_options(transform: str, shape: tuple[int, ...], dtype: np.dtype, options: dict[str, Any]) -> Problem:
    one = transform in ("fft", "ifft")
    own = {"n", "axis"} if one else {"s", "axes"}
    unknown = set(options) - own - {"norm", "order", "method", "kernel", "precision"}
    if unknown:
        raise TypeError(f"{transform} takes {', '.join(sorted(own))} and the common options, not {sorted(unknown)}")
    if one:
        sizes, axes = (options.get("n"),), (options.get("axis", -1),)
    else:
        sizes, axes = options.get("s"), options.get("axes", (-2, -1) if transform.endswith("2") else None)
    common = {key: value for key, value in options.items() if key not in own}
    return transform_problem(transform, shape, dtype, sizes=sizes, axes=axes, **common)


# -- from a call to the primitive ------------------------------------------------------------------------------------


def _options(norm: str | None, order: str, method: str, kernel: str, precision: Precision) -> tuple[Any, ...]:
    return norm, order, method, kernel, precision


def _transform(
    name: str,
    x: ArrayLike,
    mesh: Mesh | None,
    sizes: Sequence[int | None] | None,
    axes: Sequence[int] | None,
    options: tuple[Any, ...],
    overwrite_x: bool,
    spec: SpecLike | None,
    out_spec: SpecLike | None,
) -> jax.Array:
    array = _as_array(x)
    key = (name, array.shape, np.dtype(array.dtype), _frozen(sizes), _frozen(axes), options)
    problem = _problem(*key, jax.config.jax_enable_x64)
    request = _request(problem, mesh, spec, out_spec)
    return _run(request, array, donate=overwrite_x)


def _shift(
    name: str, x: ArrayLike, mesh: Mesh | None, axes: int | Sequence[int] | None, spec: SpecLike | None
) -> jax.Array:
    array = _as_array(x)
    problem = shift_problem(name, array.shape, jax.dtypes.canonicalize_dtype(array.dtype), axes)
    return _run(_request(problem, mesh, spec, None), array, donate=False)


def _as_array(x: ArrayLike) -> jax.Array | np.ndarray:
    return x if isinstance(x, jax.Array | np.ndarray) else np.asarray(x)


def _frozen(values: Any) -> Any:
    return tuple(values) if isinstance(values, list | range | np.ndarray) else values


def _problem(name: str, shape: tuple[int, ...], dtype: np.dtype, sizes: Any, axes: Any, options: Any, x64: bool) -> Problem:
    try:
        return _cached_problem(name, shape, dtype, sizes, axes, options, x64)
    except TypeError:
        # An argument that cannot be hashed is either wrong, which the validation says better, or merely unusual.
        return _cached_problem.__wrapped__(name, shape, dtype, sizes, axes, options, x64)


@functools.lru_cache(maxsize=1024)
def _cached_problem(
    name: str, shape: tuple[int, ...], dtype: np.dtype, sizes: Any, axes: Any, options: Any, x64: bool
) -> Problem:
    del x64  # part of the key: the computing dtype depends on it
    norm, order, method, kernel, precision = options
    return transform_problem(
        name,
        shape,
        dtype,
        sizes=sizes,
        axes=axes,
        norm=norm,
        order=order,
        method=method,
        kernel=kernel,
        precision=precision,
    )


def _request(problem: Problem, mesh: Mesh | None, spec: SpecLike | None, out_spec: SpecLike | None) -> Request:
    context = _context_mesh()
    _refuse_manual_axes(problem.name)
    if spec is None and out_spec is None:
        return _cached_request(problem, mesh, context)
    if out_spec is not None and problem.order != "natural":
        raise LayoutError(f"out_spec={out_spec} and order={problem.order!r} together: both say how the result is chunked")
    known = mesh or context or default_mesh()
    rank = len(problem.shape)
    return Request(
        problem,
        mesh,
        None if spec is None else normalize_spec(spec, rank, known, argument="spec"),
        None if out_spec is None else normalize_spec(out_spec, rank, known, argument="out_spec"),
        context,
    )


@functools.lru_cache(maxsize=1024)
def _cached_request(problem: Problem, mesh: Mesh | None, context: AnyMesh | None) -> Request:
    return Request(problem, mesh, None, None, context)


def _run(request: Request, x: jax.Array | np.ndarray, *, donate: bool) -> jax.Array:
    dtype = request.problem.dtype
    if isinstance(x, jax.core.Tracer):
        return apply(request, x.astype(dtype))
    if not isinstance(x, jax.Array):
        x, donate = _placed(request, np.asarray(x, dtype)), True
    elif x.dtype != dtype:
        x, donate = jnp.asarray(x, dtype), True
    return call(request, x, donate=donate)


def _placed(request: Request, x: np.ndarray) -> jax.Array:
    """A NumPy array on its devices, each part of it copied only to where it lives."""
    return jax.device_put(x, request.bound(None, tracing=False).in_layout.sharding)


def _context_mesh() -> AnyMesh | None:
    abstract = jax.sharding.get_abstract_mesh()
    if abstract.empty:
        return None
    try:
        return jax.sharding.get_mesh()
    except ValueError:  # under jit, where only the abstract mesh shows
        return abstract


def _refuse_manual_axes(name: str) -> None:
    manual = jax.sharding.get_abstract_mesh().manual_axes
    if manual:
        raise LayoutError(
            f"tpufft.{name} was called inside a shard_map over {tuple(manual)}: there every device sees its chunk only; "
            f"use tpufft.spmd.{name}(chunk, axis_name, ...)"
        )


