"""What the docstrings of all transforms share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

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
    method : {"auto", "exchange", "ring"}, default "auto"
        How a chunked axis is transformed: by all-to-all exchanges, by the one-shuffle product with the DFT matrix, or
        by whichever the cost model predicts to be faster.
    kernel : {"auto", "xla", "matmul"}, default "auto"
        How a device transforms what it holds whole: the compiler's FFT, or products with DFT matrices.
    precision : optional
        Of products, as ``jax.lax`` takes it (a word or a ``DotAlgorithmPreset``); highest by default. Implies
        ``kernel="matmul"``."""

_ORDERS = {
    "scrambled": '"natural": frequencies in numpy\'s order. "scrambled": along a chunked axis of N = P n points,\n'
    "        position ``c n + d`` holds frequency ``c + P d``, which saves an exchange; for an inverse it\n"
    "        describes the input.",
    "transposed": '"natural": the result has the chunking of `x`. "transposed": it is chunked along other axes, as\n'
    "        the cheapest plan leaves it, which saves exchanges; for an inverse it describes the input.",
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


def documented(function: _Function) -> _Function:
    """Fill in the sections that all transforms share."""
    # Since Python 3.13 a docstring comes without its common indentation; here it never has any.
    text = inspect.cleandoc(function.__doc__ or "")
    for order, words in _ORDERS.items():
        text = text.replace("{options:" + order + "}", _dedented(_OPTIONS.replace("{orders}", words)))
    function.__doc__ = text.replace("{returns}", _dedented(_RETURNS))
    return function


def _dedented(text: str) -> str:
    return text.replace("\n    ", "\n")
