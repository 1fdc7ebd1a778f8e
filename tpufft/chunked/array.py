"""The chunked array that people use: numpy's operators, functions and reductions on :class:`Chunks`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn, Self

import jax.numpy as jnp
import numpy as np

from tpufft.chunked.chunks import Chunks
from tpufft.chunked.elementwise import elementwise, is_operand, power
from tpufft.chunked.placement import stored
from tpufft.chunked.reductions import Axes, reduced, vdot
from tpufft.chunked.registry import registered
from tpufft.chunked.transpose import last_two_swapped, transposed

# Functions of numpy that are no ufuncs, but work on single elements; jax.numpy has them by the same names.
ELEMENTWISE = ("where", "real", "imag", "angle", "sinc", "clip", "isclose", "nan_to_num", "zeros_like", "ones_like")


def _binary(fn: Callable[..., Any]) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    """An operator and its reflection."""

    def operator(self: Any, other: Any) -> Any:
        return elementwise(fn, self, other) if is_operand(other) else NotImplemented

    def reflected(self: Any, other: Any) -> Any:
        return elementwise(fn, other, self) if is_operand(other) else NotImplemented

    return operator, reflected


def _unary(fn: Callable[..., Any]) -> Callable[[Any], Any]:
    def operator(self: Any) -> Any:
        return elementwise(fn, self)

    return operator


class ChunkedArray(Chunks):
    """An array of any shape in chunks over the devices of a mesh; see :func:`chunk`, which makes one.

    Axis ``i`` of length N is cut into chunks of ``ceil(N / P)``, of which the last may be short or empty. Every device
    stores a chunk of full size; what stands behind the array's end is unspecified and never shows in a value or a
    derivative.

    Parameters
    ----------
    data : jax.Array
        The stored chunks, padding included. Nothing is checked; :meth:`from_data` does.
    layout : Layout
        What lives where.

    Notes
    -----
    Arithmetic, comparisons and numpy's ufuncs (``np.sin(c)``) work on single elements and return a ChunkedArray of the
    same layout, without communication; :func:`tpufft.chunked.elementwise` does so for any other function. Two arrays
    must have one layout. It is a pytree: ``jit``, ``grad``, ``vmap`` and ``scan`` take it and keep the chunking. A
    function of jax.numpy does not take it, since it would see the padding.

    Examples
    --------
    >>> import numpy as np
    >>> from tpufft.chunked import chunk
    >>> c = chunk(np.arange(5.0))
    >>> (2 * c + 1).to_numpy().tolist()
    [1.0, 3.0, 5.0, 7.0, 9.0]
    >>> np.sqrt(c).max().item(), c.shape, c.ndim
    (2.0, (5,), 1)
    """

    # A set of values has no hash, and == compares elements.
    __hash__ = None  # type: ignore[assignment]

    __add__, __radd__ = _binary(jnp.add)
    __sub__, __rsub__ = _binary(jnp.subtract)
    __mul__, __rmul__ = _binary(jnp.multiply)
    __truediv__, __rtruediv__ = _binary(jnp.true_divide)
    __floordiv__, __rfloordiv__ = _binary(jnp.floor_divide)
    __mod__, __rmod__ = _binary(jnp.remainder)
    __divmod__, __rdivmod__ = _binary(jnp.divmod)
    __and__, __rand__ = _binary(jnp.bitwise_and)
    __or__, __ror__ = _binary(jnp.bitwise_or)
    __xor__, __rxor__ = _binary(jnp.bitwise_xor)
    __lshift__, __rlshift__ = _binary(jnp.left_shift)
    __rshift__, __rrshift__ = _binary(jnp.right_shift)
    __eq__, _ = _binary(jnp.equal)  # type: ignore[assignment]
    __ne__, _ = _binary(jnp.not_equal)  # type: ignore[assignment]
    __lt__, __gt__ = _binary(jnp.less)
    __le__, __ge__ = _binary(jnp.less_equal)
    __neg__ = _unary(jnp.negative)
    __pos__ = _unary(jnp.positive)
    __abs__ = _unary(jnp.abs)
    __invert__ = _unary(jnp.invert)

    def __pow__(self, other: Any) -> Any:
        return power(self, other) if is_operand(other) else NotImplemented

    def __rpow__(self, other: Any) -> Any:
        return power(other, self) if is_operand(other) else NotImplemented

    # -- single elements -------------------------------------------------------------------------------------------

    @property
    def real(self) -> ChunkedArray:
        """The real part."""
        return elementwise(jnp.real, self)

    @property
    def imag(self) -> ChunkedArray:
        """The imaginary part."""
        return elementwise(jnp.imag, self)

    def conj(self) -> ChunkedArray:
        """The complex conjugate.

        Returns
        -------
        ChunkedArray
            Of the same layout.
        """
        return elementwise(jnp.conj, self)

    def astype(self, dtype: Any) -> ChunkedArray:
        """The elements in another type.

        Parameters
        ----------
        dtype : dtype
            As ``jax.Array.astype`` takes it.

        Returns
        -------
        ChunkedArray
            Of the same layout.
        """
        if self.turned_source is not None:
            return type(self).turned(self.turned_source.astype(dtype))
        # Padding may hold anything, so it is cast with the rest.
        data = self.data.astype(dtype)
        layout = replace(self.layout, dtype=data.dtype)
        return type(self)(stored(data, layout), layout)

    def copy(self) -> Self:
        """The same array in buffers of its own; a transposed view is stored transposed.

        Returns
        -------
        ChunkedArray
            Of the same layout.
        """
        source = self.turned_source
        if source is not None:
            data, _ = transposed(source.data, source.layout, last_two_swapped(self.ndim))
        else:
            data = stored(jnp.copy(self.data), self.layout)
        return type(self)(data, self.layout)

    # -- axes in another order -------------------------------------------------------------------------------------

    @property
    def T(self) -> Any:  # noqa: N802 (numpy's name)
        """All axes in the opposite order, each split as it was; every device transposes its chunk."""
        if self.ndim < 2:
            return self
        return self.mT if self.ndim == 2 else self._transposed(tuple(reversed(range(self.ndim))))

    @property
    def mT(self) -> Any:  # noqa: N802 (numpy's name)
        """The last two axes exchanged, each split as it was; every device transposes its chunk."""
        if self.ndim < 2:
            raise ValueError(f"the transpose of matrices needs two axes; this array has shape {self.shape}")
        return self._transposed(last_two_swapped(self.ndim))

    def _transposed(self, axes: tuple[int, ...]) -> Any:
        return self.fitting(*transposed(self.data, self.layout, axes))

    # -- along axes ------------------------------------------------------------------------------------------------

    def sum(self, axis: Axes = None, dtype: Any = None, out: None = None, keepdims: bool = False) -> Any:
        """The sum of the elements along axes; see :meth:`max` for the parameters and the result."""
        return self._reduced("sum", axis, out, keepdims, dtype)

    def prod(self, axis: Axes = None, dtype: Any = None, out: None = None, keepdims: bool = False) -> Any:
        """The product of the elements along axes; see :meth:`max` for the parameters and the result."""
        return self._reduced("prod", axis, out, keepdims, dtype)

    def mean(self, axis: Axes = None, dtype: Any = None, out: None = None, keepdims: bool = False) -> Any:
        """The mean of the elements along axes; see :meth:`max` for the parameters and the result."""
        return self._reduced("mean", axis, out, keepdims, dtype)

    def max(self, axis: Axes = None, out: None = None, keepdims: bool = False) -> Any:
        """The largest element along axes.

        Parameters
        ----------
        axis : int or tuple of int, optional
            Along which axes. Default: all.
        out : None
            Not supported; here because numpy's functions pass it.
        keepdims : bool
            Leave the axes in with length 1.

        Returns
        -------
        jax.Array or ChunkedArray
            For ``axis=None`` a number (an array without axes, on every device); otherwise a ChunkedArray, in which the
            other axes are chunked as they were.

        Raises
        ------
        numpy.exceptions.AxisError
            For an axis that is not there.
        ValueError
            For the largest of no elements.
        """
        return self._reduced("max", axis, out, keepdims)

    def min(self, axis: Axes = None, out: None = None, keepdims: bool = False) -> Any:
        """The smallest element along axes; see :meth:`max` for the parameters and the result."""
        return self._reduced("min", axis, out, keepdims)

    def any(self, axis: Axes = None, out: None = None, keepdims: bool = False) -> Any:
        """Whether any element along axes is true; see :meth:`max` for the parameters and the result."""
        return self._reduced("any", axis, out, keepdims)

    def all(self, axis: Axes = None, out: None = None, keepdims: bool = False) -> Any:
        """Whether all elements along axes are true; see :meth:`max` for the parameters and the result."""
        return self._reduced("all", axis, out, keepdims)

    def norm(self, axis: Axes = None, keepdims: bool = False) -> Any:
        """The Euclidean norm of all elements along axes; see :meth:`max` for the parameters and the result."""
        return self._reduced("norm", axis, None, keepdims)

    def _reduced(self, name: str, axis: Axes, out: None, keepdims: bool, dtype: Any = None) -> Any:
        if out is not None:
            raise TypeError(f"out= of {name} is not supported: a ChunkedArray is never written to; use the result")
        data, layout = reduced(name, self, axis, keepdims=keepdims, dtype=dtype)
        # Not type(self): the rank is another one.
        return data if axis is None and not keepdims else ChunkedArray(data, layout)

    # -- what floors above define ----------------------------------------------------------------------------------

    def __matmul__(self, other: Any) -> Any:
        product = registered("matmul")
        return NotImplemented if product is None else product(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        product = registered("matmul")
        return NotImplemented if product is None else product(other, self)

    def __getitem__(self, index: Any) -> Any:
        getitem = registered("getitem")
        if getitem is None:
            raise TypeError(f"{self!r} has no indices; use .to_numpy()[{index}] or .to_jax(replicated=True)[{index}]")
        return getitem(self, index)

    # -- numbers ---------------------------------------------------------------------------------------------------

    def __iter__(self) -> NoReturn:
        raise TypeError(f"{self!r} is not iterable: its elements are on many devices; use .to_numpy()")

    def __bool__(self) -> bool:
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    # -- numpy -----------------------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """``np.sin(c)``, ``np.add(x, c)``: jax.numpy's function of the same name."""
        name = ufunc.__name__
        plain = method == "__call__" and not options and all(is_operand(x) for x in inputs)
        if plain and ufunc is np.matmul:
            a, b = inputs
            return a.__matmul__(b) if isinstance(a, ChunkedArray) else b.__rmatmul__(a)
        if plain and ufunc is np.power:
            return power(*inputs)
        function = getattr(jnp, name, None)
        if not plain or ufunc.signature is not None or function is None:
            call = f"numpy.{name}" if method == "__call__" else f"numpy.{name}.{method}"
            told = f" with {', '.join(f'{option}=' for option in options)}" if options else ""
            raise TypeError(f"{call}{told} does not work on chunks; use it on .to_numpy()")
        return elementwise(function, *inputs)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        """Functions of single elements stay chunked; any other sees a numpy array, as it would without this."""
        name = function.__name__
        if function is np.vdot:
            return vdot(*args, **options)
        if name in ELEMENTWISE and function is getattr(np, name):
            fn = getattr(jnp, name)
            return elementwise(functools.partial(fn, **options) if options else fn, *args)
        return function._implementation(*args, **options)
