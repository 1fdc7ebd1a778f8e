"""``matmul``: the one-shuffle product of chunked matrices."""

from __future__ import annotations

import functools
import string
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tpufft.chunked import ChunkedArray
from tpufft.errors import LayoutError
from tpufft.execution import multiply, presented
from tpufft.kernels.product import EMULATED, PAIR
from tpufft.layout import Layout
from tpufft.matrix.dft_operand import DFTMatrix
from tpufft.matrix.operands import Matrix, as_operand_array, product_dtypes, resolved
from tpufft.matrix.types import ColumnChunked, RowChunked
from tpufft.meshes import refuse_manual_axes
from tpufft.planning import (
    ProductPlan,
    ProductRequest,
    check_precision,
    check_schedule,
    product_spec,
)
from tpufft.steps import Precision, Terms

Product = jax.Array | ChunkedArray
Pair = tuple[Matrix, Matrix]


def matmul(
    a: Matrix | Pair,
    b: Matrix | Pair,
    *,
    schedule: str = "auto",
    panel: int | None = None,
    precision: Precision = None,
) -> Any:
    r"""The product of two matrices that are chunked over the devices of a mesh; nothing is gathered.

    .. math:: c_{mn} = \sum_k a_{mk} b_{kn}

    Parameters
    ----------
    a, b : array, ChunkedArray or pair of arrays
        Matrices ``(..., M, K)`` and ``(..., K, N)``, or vectors ``(K,)``; leading axes are batch axes and broadcast as
        NumPy's do. Chunked in any way, on one mesh: rows, columns, both over two mesh axes, or whole on every device.
        Of any real or complex dtype; a real and a complex one are multiplied as such. A pair ``(high, low)`` of
        float32 stands for their sum, with `precision` ``"float64_emulated"``.
    schedule : {"auto", "ring", "bidirectional", "summa", "gather"}
        How devices work together. ``ring``: chunks of one operand (the smaller one, where there is a choice), or of
        the product, go from neighbour to neighbour. ``bidirectional``: half of them the other way. ``summa``: panels
        of both go round on a mesh of two axes. ``gather``: one operand is gathered whole first, to compare with.
        ``auto``: what the cost model says is quickest, never ``gather``; for two operands that are both chunked along
        what is summed over, a local product and one exchange of the parts.
    panel : int, optional
        Elements of a travelling chunk that go at a time, along its chunked axis: bounds memory. Default: all.
    precision : str, lax.Precision or lax.DotAlgorithmPreset, optional
        Of the products, on real planes also for complex numbers. Default: the highest. Below it, complex products take
        three real ones instead of four. ``"float64_emulated"``: as accurate as float64, of float32 arithmetic alone.

    Returns
    -------
    jax.Array, ChunkedArray or pair
        ``(..., M, N)``. Row-chunked, except column-chunked where `b` is column-chunked and `a` column-chunked or
        whole; where an operand is chunked along both axes, so is the product. Of ChunkedArrays a ChunkedArray
        (RowChunked, ColumnChunked); of arrays an array where chunks are equal, else a ChunkedArray. Of NumPy and
        one-device arrays alone an array, chunked if it divides, else whole. Of a pair a pair.

    Raises
    ------
    ValueError
        For inner lengths that differ, operands without axes, an unknown schedule or precision, a panel below 1.
    LayoutError
        For operands on two meshes, a schedule that does not cover their chunking (it says which do), or a traced array
        whose chunking does not show.
    TypeError
        For operands that are no numbers, or integers of 8 or 16 bits, whose products would overflow.
    OverflowError
        For integers that need 64-bit types where JAX has none.

    Notes
    -----
    With P devices, the ring sends P-1 permutes of one chunk for each device, 2 M K N / P FLOPs in between. Halves are
    summed up in float32, truth values as "any", integers wrap around as NumPy's do. Derivatives are products of the
    same kind: of a ring they are rings.

    References
    ----------
    .. [1] T. Lu, Y.-F. Chen, B. Hechtman, T. Wang, J. Anderson, "Large-Scale Discrete Fourier Transform on TPUs",
       IEEE Access 9 (2021), arXiv:2002.03260.
    .. [2] R. A. van de Geijn, J. Watts, "SUMMA: scalable universal matrix multiplication algorithm", Concurrency:
       Practice and Experience 9 (1997).
    .. [3] L. E. Cannon, "A cellular computer to implement the Kalman filter algorithm", PhD thesis, Montana State
       University (1969).

    Examples
    --------
    >>> import numpy as np, tpufft
    >>> a = tpufft.RowChunked.from_array(np.arange(12.0).reshape(4, 3))
    >>> (a @ np.ones((3, 2))).to_numpy().tolist()
    [[3.0, 3.0], [12.0, 12.0], [21.0, 21.0], [30.0, 30.0]]
    """
    if isinstance(a, DFTMatrix) or isinstance(b, DFTMatrix):
        if schedule != "auto" or panel is not None or precision is not None:
            raise ValueError(
                f"schedule={schedule!r}, panel={panel}, precision={precision!r} with a DFT matrix, whose transform has "
                "a plan of its own; leave them out, or use W.apply(x, precision=...)"
            )
        return a @ b  # type: ignore[operator]
    if isinstance(a, tuple) or isinstance(b, tuple):
        return _of_pairs(a, b, schedule, panel, precision)
    arrays = (as_operand_array(a, "a"), as_operand_array(b, "b"))
    return product(arrays, matmul_terms(arrays[0].shape, arrays[1].shape), schedule, panel, precision)


def plan_matmul(
    a: Matrix,
    b: Matrix,
    *,
    schedule: str = "auto",
    panel: int | None = None,
    precision: Precision = None,
) -> ProductPlan:
    """The plan of a product of two matrices, which prints its steps and their cost; nothing is computed.

    Parameters
    ----------
    a, b : array or ChunkedArray
        As in :func:`matmul`; only their shapes, dtypes and chunking matter.
    schedule, panel, precision
        As in :func:`matmul`.

    Returns
    -------
    ProductPlan
        Steps, candidates, wire bytes, predicted time and peak; lowers and compiles.

    Raises
    ------
    ValueError, TypeError, LayoutError
        As :func:`matmul` does.

    Examples
    --------
    >>> import numpy as np, tpufft
    >>> a = tpufft.RowChunked.from_array(np.ones((16, 16), np.float32))
    >>> tpufft.plan_matmul(a, a, schedule="ring").out_layout == a.layout
    True
    """
    for name, x in (("a", a), ("b", b)):
        if isinstance(x, tuple):
            raise TypeError(
                f"{name} is a tuple; plans are of arrays: give plan_matmul the first parts of pairs (high, low), whose "
                "product moves as that of these, twice the bytes"
            )
    arrays = (as_operand_array(a, "a"), as_operand_array(b, "b"))
    request, _, _ = requested(arrays, matmul_terms(arrays[0].shape, arrays[1].shape), schedule, panel, precision)
    return ProductPlan(request)


def matmul_terms(a: tuple[int, ...], b: tuple[int, ...]) -> Terms:
    """Letters for the axes of two matrices or vectors, batch axes from the right; None broadcasts yet.

    Raises
    ------
    ValueError
        For inner lengths or batch lengths that differ.
    """
    inner = a[-1], b[-min(len(b), 2)]
    if inner[0] != inner[1]:
        raise ValueError(
            f"a of shape {a} has {inner[0]} columns, b of shape {b} has {inner[1]} rows: they must be equal; transpose "
            "one of them (.T), or pad it"
        )
    count = max(len(a), len(b)) - 2
    letters = string.ascii_lowercase[: max(count, 0)]
    own_a = letters[count - (len(a) - 2) :] if len(a) > 2 else ""
    own_b = letters[count - (len(b) - 2) :] if len(b) > 2 else ""
    rows, columns = "y" if len(a) > 1 else "", "z" if len(b) > 1 else ""
    return Terms(own_a + rows + "x", own_b + "x" + columns, letters + rows + columns)


def product(arrays: tuple[Any, Any], terms: Terms, schedule: str, panel: int | None, precision: Precision) -> Product:
    """Multiply two arrays whose axes have letters."""
    remedy = "use jnp.matmul there, and lax.ppermute to pass chunks on"
    refuse_manual_axes("tpufft.matmul was called", f"every device sees its own chunk; {remedy}")
    request, operands, kind = requested(arrays, terms, schedule, panel, precision)
    data = multiply(request, *(operand.entered() for operand in operands))
    return presented(data, request.c) if kind is None else kind(data, request.c)


def requested(
    arrays: tuple[Any, Any], terms: Terms, schedule: str, panel: int | None, precision: Precision
) -> tuple[ProductRequest, Any, Callable[[Any, Layout], Any] | None]:
    """What was asked for with all layouts, the operands, and the chunked type of the result, if it is of one."""
    word, rows = check_schedule(schedule, panel)
    given = arrays
    chosen = check_precision(precision, "matmul", also=(EMULATED,))
    arrays, terms = _without_ones(arrays, terms)
    arrays, letters = zip(*map(_seen_through, arrays, (terms.a, terms.b)), strict=True)
    *own, dtype = product_dtypes(*arrays, emulated=chosen == EMULATED)
    a, b, is_alone = resolved(arrays, letters, (own[0], own[1]), ("a", "b"))
    terms = Terms(a.letters, b.letters, terms.c)
    request = _request(terms, a.layout, b.layout, dtype, word, rows, chosen, is_alone)
    return request, (a, b), _kind(given)


@functools.lru_cache(maxsize=1024)
def _request(
    terms: Terms,
    a: Layout,
    b: Layout,
    dtype: np.dtype,
    schedule: str,
    panel: int | None,
    precision: Precision,
    is_alone: bool,
) -> ProductRequest:
    """The request for operands of these layouts; one and the same object for equal calls, which find its plan by it."""
    sizes = dict(zip(terms.a + terms.b, a.shape + b.shape, strict=True))
    shape = tuple(sizes[letter] for letter in terms.c)
    out = Layout.of(shape, dtype, a.mesh, [names or None for names in product_spec(terms, a, b)])
    if is_alone and not out.is_even:
        out = Layout.of(shape, dtype, a.mesh, ())
    return ProductRequest(terms, a, b, out, schedule, panel, precision)


def _kind(arrays: tuple[Any, ...]) -> Callable[[Any, Layout], Any] | None:
    """Of matrices a matrix, where its layout is one; of plain chunked arrays one of these, so that loops can go on."""
    if any(isinstance(x, RowChunked | ColumnChunked) for x in arrays):
        return RowChunked.fitting
    return ChunkedArray if any(isinstance(x, ChunkedArray) for x in arrays) else None


def _seen_through(x: Any, letters: str) -> tuple[Any, str]:
    """What a transposed matrix is the transpose of, with its letters: no data is turned for a product."""
    source = getattr(x, "turned_source", None)
    return (x, letters) if source is None else (source, letters[:-2] + letters[-1] + letters[-2])


def _without_ones(arrays: tuple[Any, Any], terms: Terms) -> tuple[tuple[Any, Any], Terms]:
    """Axes of length 1 that meet longer ones taken away, which is what broadcasting means for a product."""
    a, b = arrays
    shapes = dict(zip(terms.a, a.shape, strict=True)), dict(zip(terms.b, b.shape, strict=True))
    kept = [terms.a, terms.b]
    found = [a, b]
    for letter in terms.batch:
        sizes = shapes[0][letter], shapes[1][letter]
        if sizes[0] != sizes[1] and 1 not in sizes:
            raise ValueError(f"batch axes of a, {a.shape}, and of b, {b.shape}, do not broadcast")
    for letter in terms.batch:
        sizes = shapes[0][letter], shapes[1][letter]
        if sizes[0] != sizes[1]:
            side = sizes.index(1)
            found[side] = _squeezed(found[side], kept[side].index(letter), "ab"[side])
            kept[side] = kept[side].replace(letter, "")
    return (found[0], found[1]), Terms(kept[0], kept[1], terms.c)


def _squeezed(x: Any, axis: int, name: str) -> Any:
    """An array without one axis of length 1."""
    if not isinstance(x, ChunkedArray):
        return x.squeeze(axis)
    if x.layout.parts[axis] > 1:
        raise LayoutError(f"{name}: batch axis {axis} of length 1 is split over {x.layout.spec[axis]}; leave it whole")
    return ChunkedArray(jnp.squeeze(x.data, axis), x.layout.remove_axis(axis))


def _of_pairs(a: Any, b: Any, schedule: str, panel: int | None, precision: Precision) -> tuple[Any, Any]:
    """The product of operands that are sums of two float32 arrays."""
    if precision != EMULATED:
        raise ValueError(f"pairs (high, low) are multiplied with precision='float64_emulated', not {precision!r}")
    stacked = (_stacked(a, "a"), _stacked(b, "b"))
    terms = matmul_terms(stacked[0].shape[1:], stacked[1].shape[1:])
    result = product(stacked, Terms(PAIR + terms.a, PAIR + terms.b, PAIR + terms.c), schedule, panel, precision)
    kind = _kind((*_parts(a), *_parts(b)))
    if kind is None or not isinstance(result, ChunkedArray):
        return result[0], result[1]
    layout = result.layout.remove_axis(0)
    return kind(result.data[0], layout), kind(result.data[1], layout)


def _parts(x: Any) -> tuple[Any, ...]:
    return x if isinstance(x, tuple) else (x,)


def _stacked(x: Any, name: str) -> Any:
    """The parts of a pair as one array with a leading axis."""
    arrays = [as_operand_array(part, name) for part in _parts(x)]
    if len(arrays) not in (1, 2) or any(part.shape != arrays[0].shape for part in arrays):
        raise ValueError(f"{name} must be a pair (high, low) of arrays of one shape")
    if any(np.dtype(part.dtype) not in (np.float32, np.complex64) for part in arrays):
        raise TypeError(f"{name}: the parts of a pair are float32 or complex64, not {[p.dtype for p in arrays]}")
    if len(arrays) == 1:
        arrays.append(arrays[0] * 0)
    high, low = arrays
    if isinstance(high, ChunkedArray) and isinstance(low, ChunkedArray) and high.layout == low.layout:
        return ChunkedArray(jnp.stack([high.data, low.data]), high.layout.insert_axis(0, 2))
    if not (isinstance(high, ChunkedArray) or isinstance(low, ChunkedArray)):
        return jnp.stack([jnp.asarray(high), jnp.asarray(low)])
    raise LayoutError(f"{name}: both parts of a pair must be chunked alike")
