"""Functions of single elements on chunked arrays: the one place where padding is kept out of values and derivatives."""

from __future__ import annotations

import functools
import math
import numbers
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from tpufft.chunked.chunks import Chunks
from tpufft.chunked.masking import masked
from tpufft.chunked.placement import constrained, place, stored
from tpufft.errors import LayoutError
from tpufft.layout import Layout, format_spec, normalize_spec
from tpufft.meshes import visible_sharding

T = TypeVar("T", bound=Chunks)


def elementwise(fn: Callable[..., Any], *args: Any) -> Any:
    """Apply a function of single elements to chunked arrays.

    Parameters
    ----------
    fn : callable
        Of as many arrays as there are `args`; works on every element by itself, as ``jnp.sin`` and ``jnp.add`` do. It
        is compiled once for each function object, so pass the same one again, not a new lambda.
    *args : ChunkedArray, array or scalar
        At least one ChunkedArray. Another one has the same layout, or axes of length 1 where it differs. An array that
        is not chunked broadcasts to the shape and is chunked in the same way.

    Returns
    -------
    ChunkedArray
        Of the same layout; a tuple of them where `fn` returns one.

    Raises
    ------
    LayoutError
        For arguments of different layouts.
    TypeError
        For an argument that is no array, none that is chunked, or an `fn` that changes the shape.

    Notes
    -----
    No communication. Where a layout is padded, `fn` sees 1 in the padding and its result there is replaced by 0, so
    that neither values nor derivatives of any order depend on what was stored.

    Examples
    --------
    >>> import jax.numpy as jnp, numpy as np, tpufft
    >>> from tpufft.chunked import chunk, elementwise
    >>> c = chunk(np.array([1.0, 4.0, 9.0]))
    >>> elementwise(jnp.sqrt, c).to_numpy().tolist()
    [1.0, 2.0, 3.0]
    """
    template = template_of(args)
    if all(_is_turned(arg, template) for arg in args):
        # All are seen the other way round, and so is the result.
        results = elementwise(fn, *(arg.turned_source if isinstance(arg, Chunks) else arg for arg in args))
        return jax.tree.map(type(template).turned, results, is_leaf=lambda result: isinstance(result, Chunks))
    layout = template.layout
    operands = tuple(_operand(arg, layout, position) for position, arg in enumerate(args))
    results = _program(fn, layout, operands)

    def wrapped(data: jax.Array) -> Chunks:
        result = replace(layout, dtype=data.dtype)
        return type(template)(stored(data, result), result)

    return jax.tree.map(wrapped, results)


def template_of(args: Sequence[Any]) -> Chunks:
    """The chunked argument whose shape is that of the result."""
    chunked = [arg for arg in args if isinstance(arg, Chunks)]
    if not chunked:
        raise TypeError("no argument is a ChunkedArray; make one with tpufft.chunk(x, mesh, spec)")
    shape = np.broadcast_shapes(*(arg.shape for arg in chunked))
    fitting = [arg for arg in chunked if arg.shape == shape]
    if fitting:
        # An axis of length 1 may be whole in one and split in the other, which is then what the result is.
        # Of equal ones the more special type says what the result is.
        return max(fitting, key=lambda arg: (math.prod(arg.layout.parts), len(type(arg).__mro__)))
    raise LayoutError(
        f"arrays of shapes {[arg.shape for arg in chunked]} broadcast to {shape}, which none of them has: nothing says "
        "how the result is chunked; one of them must have the whole shape"
    )


def _is_turned(x: Any, template: Chunks) -> bool:
    """Whether an argument is a transposed view like the result, or a number."""
    if isinstance(x, Chunks):
        return x.turned_source is not None and x.shape == template.shape
    return is_operand(x) and not np.shape(x)


def is_operand(x: Any) -> bool:
    """Whether arithmetic with a chunked array takes this."""
    return isinstance(x, Chunks | jax.Array | np.ndarray | np.generic | numbers.Number)


def chunked_like(x: Any, template: T, position: int = 1) -> T:
    """An argument of the very shape of a chunked array, in its layout."""
    if np.shape(x) != template.shape:
        raise ValueError(f"argument {position} has shape {np.shape(x)}; it must have the other's, {template.shape}")
    data = _operand(x, template.layout, position)
    # A number without axes is an operand as it is.
    return type(template)(data, replace(template.layout, dtype=np.dtype(data.dtype)))


@functools.lru_cache(maxsize=256)
def integer_power(exponent: int) -> Callable[[jax.Array], jax.Array]:
    """The function that raises to a fixed integer power, by products."""
    return lambda x: x**exponent


def power(base: Any, exponent: Any) -> Any:
    """``base ** exponent`` of which one is chunked."""
    if isinstance(exponent, int) and not isinstance(exponent, bool):
        return elementwise(integer_power(exponent), base)
    return elementwise(jnp.power, base, exponent)


@functools.partial(jax.jit, static_argnums=(0, 1))
def _program(fn: Callable[..., Any], layout: Layout, operands: tuple[Any, ...]) -> Any:
    like = next(x for x in operands if jnp.shape(x) == layout.stored_shape)
    results = fn(*(masked(x, layout, 1, like) for x in operands))

    def finished(result: jax.Array) -> jax.Array:
        if jnp.shape(result) != layout.stored_shape:
            raise TypeError(f"{fn} returned shape {jnp.shape(result)} for {layout.stored_shape}: it is not elementwise")
        return constrained(masked(result, layout, 0), layout)

    return jax.tree.map(finished, results)


def _operand(x: Any, layout: Layout, position: int) -> Any:
    """Stored data, or a scalar, that `layout`'s stored data combines with."""
    if not is_operand(x):
        raise TypeError(f"argument {position} is a {type(x).__name__}; use a ChunkedArray, an array or a number")
    shape = np.shape(x)
    if not shape and not isinstance(x, Chunks):
        return x
    target = _aligned(shape, layout, x, position)
    aligned_shape = (1,) * (layout.rank - len(shape)) + tuple(shape)
    if not isinstance(x, Chunks):
        _refuse_other_chunking(x, target, position)
        return place(x.reshape(aligned_shape), target)
    given = x.layout
    for _ in range(layout.rank - len(shape)):
        given = given.insert_axis(0, 1)
    for axis, size in enumerate(given.shape):
        if size == 1 and not given.spec[axis]:
            target = target.with_axis(axis, names=(), padding=0)
    same = replace(given, dtype=target.dtype).simplified() == target.simplified()
    if not same:
        raise LayoutError(
            f"argument {position} is {x.layout}, but it meets {layout}; arithmetic moves nothing by itself: bring both "
            f"into one layout with tpufft.chunk(other, mesh, {format_spec(target.spec)})"
        )
    data = x.data if given.rank == len(shape) else x.data.reshape(target.stored_shape)
    return data if given.spec == target.spec else constrained(data, target)


def _aligned(shape: tuple[int, ...], layout: Layout, x: Any, position: int) -> Layout:
    """The layout of an argument that broadcasts against `layout`: axes of length 1 stay whole."""
    missing = layout.rank - len(shape)
    sizes = (1,) * missing + tuple(shape)
    if missing < 0 or any(size not in (1, own) for size, own in zip(sizes, layout.shape, strict=True)):
        raise ValueError(f"argument {position} of shape {shape} does not broadcast to the chunked shape {layout.shape}")
    aligned = layout
    for axis, size in enumerate(sizes):
        if size != layout.shape[axis] or axis < missing:
            aligned = aligned.with_axis(axis, size=size, names=(), padding=0)
    return replace(aligned, dtype=np.dtype(jax.dtypes.canonicalize_dtype(x.dtype)))


def _refuse_other_chunking(x: Any, target: Layout, position: int) -> None:
    """Refuse an array that is chunked otherwise: to bring it into this layout would be an exchange, unasked for."""
    visible = visible_sharding(x)
    if visible is None or visible.is_fully_replicated or visible.mesh.axis_names != target.mesh.axis_names:
        return
    spec = ((),) * (target.rank - x.ndim) + normalize_spec(visible.spec, x.ndim, target.mesh)
    shown = Layout.of(target.shape, target.dtype, target.mesh, spec)
    if shown.simplified().spec != target.simplified().spec:
        raise LayoutError(
            f"argument {position} is a jax.Array chunked {format_spec(spec)}, but it meets {target}; arithmetic "
            f"moves nothing by itself: use tpufft.chunk(other, mesh, {format_spec(target.spec)})"
        )
