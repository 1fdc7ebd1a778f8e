"""What the docstrings of all transforms share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])

_NORM = """norm : {"backward", "ortho", "forward"}, optional
        Where the factor of the inverse, such as 1/N, stands: with the inverse (default), its root with both, or with
        the forward transform.
    """

_OPTIONS = """overwrite_x : bool, default False
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
    kernel : {"auto", "xla", "matmul", "host"}, default "auto"
        How a device transforms what it holds whole: the compiler's FFT, products with DFT matrices, or on CPUs an
        installed library (the extra ``host``). "auto": of those that this machine has, step by step, the one that
        the cost model predicts to be fastest.
    precision : optional
        Of products, as ``jax.lax`` takes it (a word or a ``DotAlgorithmPreset``); highest by default. Implies
        ``kernel="matmul"``."""

_ORDERS = {
    "scrambled": '"natural": frequencies in numpy\'s order. "scrambled": along a chunked axis of N = P n points,\n'
    "        position ``c n + d`` holds frequency ``c + P d``, which saves an exchange; for an inverse it\n"
    "        describes the input.",
    "transposed": '"natural": the result has the chunking of `x`. "transposed": it is chunked along other axes, as\n'
    "        the cheapest plan leaves it, which saves exchanges; for an inverse it describes the input.",
    "natural": '"natural" or "scrambled", which are the same here: no other order saves an exchange.',
}

_RETURNS = """jax.Array or ChunkedArray
        {kind}, chunked as `x` is (see `out_spec` and `order`): a ``jax.Array`` where the result's shape divides evenly
        under its spec, else a ``ChunkedArray`` of the same chunking. An array that was NumPy's or on one device comes
        back, if no `spec` is given, as a ``jax.Array``: chunked by rows if it divides, else whole on every device.

    Raises
    ------
    numpy.exceptions.AxisError
        For an axis that `x` does not have.
    LayoutError
        For a mesh that contradicts the array, a spec that does not fit, a call under ``jit`` that names no mesh, or a
        call inside a ``shard_map`` (use ``tpufft.spmd`` there).
    TypeError
        For elements that are {refused}.
    ValueError
        For an unknown word or {few}."""

_RESULTS = {
    "complex": ("Complex", "no numbers", "fewer than one point"),
    "half": ("Complex", "not real", "fewer than one point"),
    "real": ("Real", "no numbers", "fewer than one point"),
    "alike": ("Real where `x` is, else complex", "no numbers", "type, or too few points"),
    "hankel": ("Real", "not real", "a parameter that is not finite"),
}


def documented(function: _Function) -> _Function:
    """Fill in the sections that all transforms share."""
    # Since Python 3.13 a docstring comes without its common indentation; here it never has any.
    text = inspect.cleandoc(function.__doc__ or "")
    for placeholder, words in _sections().items():
        text = text.replace("{" + placeholder + "}", words.replace("\n    ", "\n"))
    function.__doc__ = text
    return function


@functools.cache
def _sections() -> dict[str, str]:
    """What stands for each placeholder: options by the order that a transform knows, results by their kind."""
    options = {order: _OPTIONS.replace("{orders}", words) for order, words in _ORDERS.items()}
    sections = {f"options:{order}": _NORM + text for order, text in options.items()}
    sections["options:no norm"] = options["natural"]
    for name, (kind, refused, few) in _RESULTS.items():
        sections[f"returns:{name}"] = _RETURNS.format(kind=kind, refused=refused, few=few)
    return sections
