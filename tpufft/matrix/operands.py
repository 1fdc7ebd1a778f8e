"""The operands of a product: their data, letters and layouts, and what is wrong with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.typing import ArrayLike

from tpufft.chunked import ChunkedArray, chunk
from tpufft.errors import LayoutError
from tpufft.execution import enter, shown_layout
from tpufft.layout import Layout, SpecLike, row_chunked
from tpufft.matrix.dft_operand import DFTMatrix
from tpufft.meshes import AnyMesh, check_same_devices, context_mesh, default_mesh
from tpufft.steps import complex_dtype, real_dtype

Matrix: TypeAlias = ArrayLike | ChunkedArray

NARROW = ("int4", "uint4", "int8", "uint8", "int16", "uint16")
"""Integers whose products hardly ever fit."""


@dataclass(frozen=True)
class Operand:
    """One operand as the bilinear primitive takes it.

    Parameters
    ----------
    data : array
        As it is stored.
    layout : Layout
        Of the data.
    letters : str
        Of its axes.
    """

    data: Any
    layout: Layout
    letters: str

    def entered(self) -> jax.Array:
        """The data, on its devices where a jitted program would not know of them."""
        return enter(self.data, self.layout) if isinstance(self.data, Tracer) else self.data


def as_operand_array(x: Any, name: str) -> jax.Array | np.ndarray | ChunkedArray:
    """What can be multiplied: an array of numbers with axes.

    Raises
    ------
    TypeError
        For what is no array of numbers, or integers too narrow for products.
    ValueError
        For an array without axes.
    OverflowError
        For integers that JAX, without 64-bit types, would cut.
    """
    if isinstance(x, tuple | list) and any(map(_is_chunked, jax.tree.leaves(x, is_leaf=_is_chunked))):
        raise TypeError(
            f"{name} is a {type(x).__name__} of chunked arrays, which would be gathered; multiply them one by one, or "
            "give a pair (high, low) to matmul with precision='float64_emulated'"
        )
    if isinstance(x, DFTMatrix):
        raise TypeError(
            f"{name} is {x!r}, which only @ and matmul multiply unmade; use W @ x or x @ W, "
            "W.plan(x.shape) for its plan, or numpy.asarray(W)"
        )
    array = x if isinstance(x, jax.Array | ChunkedArray) else np.asarray(x)
    dtype = np.dtype(array.dtype)
    if dtype.kind not in "biufc" and not jnp.issubdtype(dtype, jnp.number):
        raise TypeError(f"{name} has dtype {dtype}; products are of numbers and truth values")
    if dtype.name in NARROW:
        raise TypeError(
            f"{name} has dtype {dtype}: a product would overflow and wrap around; use {name}.astype('int32') or "
            f"{name}.astype('float32')"
        )
    if not array.ndim:
        raise ValueError(f"{name} is a number, without axes; multiply it by *")
    if isinstance(array, np.ndarray):
        kept = jax.dtypes.canonicalize_dtype(dtype)
        if dtype.kind in "iu" and kept != dtype and array.size:
            limits = np.iinfo(kept)
            if array.min() < limits.min or array.max() > limits.max:
                raise OverflowError(
                    f"{name} has dtype {dtype} and values that {kept} does not hold: "
                    "jax.config.update('jax_enable_x64', True), or convert it to float"
                )
        array = array.astype(kept, copy=False)
    return array


def _is_chunked(x: Any) -> bool:
    return isinstance(x, ChunkedArray)


def product_dtypes(a: Any, b: Any, *, emulated: bool) -> tuple[np.dtype, np.dtype, np.dtype]:
    """In which dtype each operand is multiplied, and the product's; a real operand of a complex one stays real."""
    both = np.dtype(jnp.result_type(a.dtype, b.dtype))
    if emulated and both.itemsize < 4:
        raise TypeError(
            f"precision='float64_emulated' is for operands of float32 and above; these are {a.dtype}, {b.dtype}: use "
            ".astype('float32')"
        )
    if emulated and not jnp.issubdtype(both, jnp.inexact):
        raise TypeError(f"precision='float64_emulated' is for floating-point operands; these are {a.dtype}, {b.dtype}")
    if both.kind != "c":
        return both, both, both
    own = (complex_dtype(both) if x.dtype.kind == "c" else real_dtype(both) for x in (a, b))
    return (*own, both)  # type: ignore[return-value]


def resolved(
    arrays: tuple[Any, Any], letters: tuple[str, str], dtypes: tuple[np.dtype, np.dtype], names: tuple[str, str]
) -> tuple[Operand, Operand, bool]:
    """Both operands with their layouts on one mesh; and whether nothing said where they are to be.

    Raises
    ------
    LayoutError
        For operands on two meshes, or traced arrays whose chunking does not show.
    """
    shown = [_shown(x) for x in arrays]
    known = [layout for layout, _ in shown if layout is not None]
    mesh = known[0].mesh if known else context_mesh()
    for other in known[1:]:
        check_same_devices(other.mesh, known[0].mesh)
    if mesh is None:
        _refuse_staged(shown, names)
        mesh = default_mesh()
    operands = []
    for x, (layout, staged), own, dtype, name in zip(arrays, shown, letters, dtypes, names, strict=True):
        if layout is None and staged:
            _refuse_staged([(layout, staged)], (name,))
        operands.append(_operand(x, layout, own, dtype, mesh, is_alone=not known))
    return operands[0], operands[1], not known


def _shown(x: Any) -> tuple[Layout | None, bool]:
    if isinstance(x, ChunkedArray):
        return x.layout, isinstance(x.data, Tracer)
    return shown_layout(x)


def _refuse_staged(shown: Any, names: tuple[str, ...]) -> None:
    for (layout, staged), name in zip(shown, names, strict=True):
        if layout is None and staged and jax.device_count() > 1:
            raise LayoutError(
                f"{name} is a value of a jitted program, where its chunking does not show: use tpufft.chunk({name}, "
                "mesh, spec), with P() where it is whole on every device"
            )


def _operand(x: Any, layout: Layout | None, letters: str, dtype: np.dtype, mesh: AnyMesh, *, is_alone: bool) -> Operand:
    chunked = isinstance(x, ChunkedArray)
    if layout is None:
        spec: SpecLike = row_chunked(x.ndim, mesh) if is_alone else ()
        wanted = Layout.of(x.shape, dtype, mesh, spec)
        # What was whole stays whole where it does not divide.
        wanted = wanted if wanted.is_even else Layout.of(x.shape, dtype, mesh, ())
        return Operand(_cast(jnp.asarray(x), dtype), wanted, letters)
    if layout.mesh != mesh or not layout.is_least or not (chunked or layout.is_even):
        x = chunk(x, mesh, layout.partition_spec)
    data, known = (x.data, x.layout) if isinstance(x, ChunkedArray) else (x, layout)
    return Operand(_cast(data, dtype), known.with_dtype(dtype), letters)


def _cast(data: jax.Array, dtype: np.dtype) -> jax.Array:
    return data if data.dtype == dtype else data.astype(dtype)
