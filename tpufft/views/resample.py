"""Other numbers of points along an axis, chunk by chunk: repeated, interpolated, averaged."""

from __future__ import annotations

import operator

import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from tpufft.errors import LayoutError
from tpufft.execution import run_fixed
from tpufft.layout import Layout, SpecLike
from tpufft.steps import Program, Prolong, Repeat, Resize, Step
from tpufft.views.argument import Argument, Result, as_array, checked_axis, layout_of_argument
from tpufft.views.halo import check_cells, checked_mode


def repeat(x: Argument, k: int, axis: int, mesh: Mesh | None = None, *, spec: SpecLike | None = None) -> Result:
    r"""Repeat every element along an axis, as ``numpy.repeat`` does, and keep the chunking.

    .. math:: y_j = x_{\lfloor j / k \rfloor}

    Parameters
    ----------
    x : array or ChunkedArray
        Of any dtype, axis `axis` of length N.
    k : int
        How many times, at least 1.
    axis : int
        Which axis.
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    spec : PartitionSpec, optional
        As in :func:`fft`.

    Returns
    -------
    jax.Array or ChunkedArray
        With k N elements along `axis`, dtype and chunking as `x` has them; which of the two, as :func:`fft` has it.

    Raises
    ------
    numpy.exceptions.AxisError
        For an axis that `x` does not have.
    ValueError
        For k below 1.
    TypeError
        For `k` or `axis` that are no integers.
    LayoutError
        As :func:`fft` does.

    Notes
    -----
    No communication where N divides; otherwise permutes of what the new chunks have elsewhere.

    Examples
    --------
    >>> import numpy as np, tpufft
    >>> tpufft.repeat(np.arange(4), 2, 0).tolist()
    [0, 0, 1, 1, 2, 2, 3, 3]
    """
    array = as_array(x)
    place = checked_axis(axis, array.ndim)
    if isinstance(k, bool) or not hasattr(k, "__index__"):
        raise TypeError(f"k={k!r} is no integer; the same number of times for every element")
    if k < 1:
        raise ValueError(f"k={k}: each element at least once")
    layout = layout_of_argument("repeat", array, mesh, spec)
    return run_fixed(_least(Repeat(place, operator.index(k)), layout), array, layout)


def prolong(
    x: Argument, axis: int, mesh: Mesh | None = None, *, spec: SpecLike | None = None, mode: str = "wrap"
) -> Result:
    r"""Put a point between every two along an axis, by linear interpolation.

    .. math:: y_{2i} = x_i, \qquad y_{2i+1} = \tfrac12 (x_i + x_{i+1})

    Parameters
    ----------
    x : array or ChunkedArray
        Axis `axis` of length N; integers are taken as real numbers.
    axis : int
        Which axis.
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    spec : PartitionSpec, optional
        As in :func:`fft`.
    mode : {"wrap", "constant", "edge", "reflect", "symmetric"}, default "wrap"
        What :math:`x_N` is: :math:`x_0` of a periodic grid, zero (Dirichlet), or as ``numpy.pad`` has it.

    Returns
    -------
    jax.Array or ChunkedArray
        With 2 N points along `axis`, chunked as `x` is; which of the two, as :func:`fft` has it.

    Raises
    ------
    numpy.exceptions.AxisError
        For an axis that `x` does not have.
    ValueError
        For an unknown mode, or one that needs more cells than there are.
    TypeError
        For an axis that is no integer.
    LayoutError
        As :func:`fft` does.

    See Also
    --------
    restrict : Half of the transpose.

    Notes
    -----
    One permute of one face along a chunked axis that divides.

    Examples
    --------
    >>> import numpy as np, tpufft
    >>> tpufft.prolong(np.array([0.0, 2.0, 4.0, 6.0]), 0).tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 3.0]
    """
    array, place = as_array(x), checked_axis(axis, np.ndim(x))
    layout = _inexact(layout_of_argument("prolong", array, mesh, spec))
    check_cells(layout.shape[place], 0, 1, checked_mode(mode), place)
    return run_fixed(_least(Prolong(place, mode), layout), array, layout)


def restrict(
    x: Argument, axis: int, mesh: Mesh | None = None, *, spec: SpecLike | None = None, mode: str = "wrap"
) -> Result:
    r"""Leave out every second point along an axis, by full weighting: half the transpose of :func:`prolong`.

    .. math:: y_i = \tfrac14 (x_{2i-1} + 2 x_{2i} + x_{2i+1})

    Parameters
    ----------
    x : array or ChunkedArray
        Axis `axis` of an even length 2 N; integers are taken as real numbers.
    axis : int
        Which axis.
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    spec : PartitionSpec, optional
        As in :func:`fft`.
    mode : {"wrap", "constant", "edge", "reflect", "symmetric"}, default "wrap"
        That of the :func:`prolong` of which this is half the transpose: with "wrap" :math:`x_{-1}` is the last point,
        with "constant" zero.

    Returns
    -------
    jax.Array or ChunkedArray
        With N points along `axis`, chunked as `x` is; which of the two, as :func:`fft` has it.

    Raises
    ------
    numpy.exceptions.AxisError
        For an axis that `x` does not have.
    ValueError
        For an unknown mode, or one that needs more cells than there are.
    TypeError
        For an axis that is no integer.
    LayoutError
        For an odd length, and as :func:`fft` does.

    Notes
    -----
    One permute of one face along a chunked axis whose chunks are of even length.

    Examples
    --------
    >>> import numpy as np, tpufft
    >>> tpufft.restrict(np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 3.0]), 0).tolist()
    [1.0, 2.0, 4.0, 5.0]
    """
    array, place = as_array(x), checked_axis(axis, np.ndim(x))
    size = array.shape[place]
    shape = (*array.shape[:place], size // 2, *array.shape[place + 1 :])
    layout = _inexact(layout_of_argument("restrict", array, mesh, spec, result=shape))
    if size % 2:
        raise LayoutError(f"axis {place} of x has {size} points; restrict takes an even number")
    check_cells(size // 2, 0, 1, checked_mode(mode), place)
    coarse = Layout.of(shape, layout.dtype, layout.mesh, layout.spec)
    back = Program(coarse, _least(Prolong(place, mode, 0.5), coarse)).transposed()
    return run_fixed(back.steps, array, layout)


def _least(step: Repeat | Prolong, layout: Layout) -> tuple[Step, ...]:
    """The step, and chunks cut anew where its result has more padding than they need."""
    after = step.after(layout)
    if after.is_least:
        return (step,)
    return (step, Resize(step.axis, after.shape[step.axis], after.least_padding(step.axis)))


def _inexact(layout: Layout) -> Layout:
    return layout if jnp.issubdtype(layout.dtype, jnp.inexact) else layout.with_dtype(jnp.result_type(float))
