"""A DFT matrix that is never stored: what it is, its products, its entries."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from jax import lax
from jax.typing import ArrayLike

from tpufft.chunked import ChunkedArray
from tpufft.kernels import samples
from tpufft.kernels.turns import Fraction, Whole, fraction, whole, word_of
from tpufft.layout import SpecLike, normalize_spec
from tpufft.matrix.dft_run import operand, run
from tpufft.meshes import AnyMesh, context_mesh, default_mesh
from tpufft.planning import (
    Plan,
    Problem,
    Request,
    asked_dtype,
    check_axis,
    check_shape,
    computing_dtype,
    make_plan,
    samples_problem,
    transform_problem,
)
from tpufft.steps import Points, Precision

HOST_BYTES = 1 << 30
"""The most that ``to_numpy`` makes."""


@jax.tree_util.register_static
@dataclass(frozen=True, repr=False)
class DFTMatrix:
    r"""A matrix of phases that is never stored; made by :func:`dft_matrix`.

    .. math:: W_{kj} = \text{scale}\; e^{\mp 2\pi i f_k t_j/n}

    ``W @ x`` contracts axis -2 of `x` (the only axis of a vector), ``x @ W`` the last one, where `x` is a NumPy array,
    a ``jax.Array`` or a :class:`ChunkedArray`. It is hashable, compares by content, and is a pytree without leaves, so
    that it can be an argument of a jitted function.

    Parameters
    ----------
    order : int
        Samples in one period, n.
    row_points, column_points : Points
        f and t.
    conjugated : bool
        The sign of the phase: plus if set.
    scale : float
        A factor on all of it.
    dtype : numpy.dtype
        Of its entries.
    mesh : Mesh, optional
        The devices of its products.

    Notes
    -----
    An axis that is chunked over P devices is contracted by the one-shuffle ring: P-1 permutes of a chunk of the
    argument or of the result, whichever is smaller, and nothing is gathered; 8 M N / P FLOPs on each device for every
    column.
    Blocks are made where they are used, by at most 64 MiB at once, and where rows or columns are whole numbers without
    a gap, by their factors only. Phases are worked out in whole numbers and rounded once, however far out points are.
    Of all rows and columns 0 ... n-1 it is the very plan of ``tpufft.fft(x, method="ring")``.

    Examples
    --------
    >>> import numpy as np, tpufft
    >>> W = tpufft.dft_matrix(8, rows=[0.5, 1.25])
    >>> W
    DFTMatrix(complex64 (2, 8), period 8, rows 2 in 0.5...1.25, columns 0...7)
    >>> bool(W.H.T == W.conj())
    True
    >>> (W @ np.ones((8, 3))).shape, (np.ones(2) @ W).shape
    ((2, 3), (8,))
    """

    order: int
    row_points: Points
    column_points: Points
    conjugated: bool
    scale: float
    dtype: np.dtype
    mesh: AnyMesh | None = None

    # What makes NumPy leave ``array @ W`` to this class.
    __array_ufunc__ = None
    __array_priority__ = 1000.0

    # -- what it is ------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.row_points.count, self.column_points.count

    @property
    def ndim(self) -> int:
        """Two."""
        return 2

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.shape[0] * self.shape[1]

    @property
    def is_whole(self) -> bool:
        """Whether rows and columns are 0 ... n-1 both: the matrix of :func:`fft`."""
        return self.row_points == self.column_points == Points(self.order)

    @property
    def T(self) -> DFTMatrix:  # noqa: N802 (numpy's name)
        """The transposed matrix: rows and columns change places."""
        return replace(self, row_points=self.column_points, column_points=self.row_points)

    @property
    def H(self) -> DFTMatrix:  # noqa: N802
        """The conjugate transposed matrix."""
        return self.T.conj()

    def conj(self) -> DFTMatrix:
        """The complex conjugate.

        Returns
        -------
        DFTMatrix
            Of the same rows and columns.
        """
        return replace(self, conjugated=not self.conjugated)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        sign = ", conjugated" if self.conjugated else ""
        scale = "" if self.scale == 1.0 else f", times {self.scale:.4g}"
        where = (
            "" if self.mesh is None else f" on mesh {', '.join(f'{a}={size}' for a, size in self.mesh.shape.items())}"
        )
        points = f"rows {self.row_points.describe()}, columns {self.column_points.describe()}"
        return f"DFTMatrix({self.dtype} {self.shape}{where}, period {self.order}, {points}{sign}{scale})"

    # -- products --------------------------------------------------------------------------------------------------

    def __matmul__(self, x: Any) -> Any:
        array = operand(x, "W @ x")
        return self._times(array, max(array.ndim - 2, 0), "W @ x")

    def __rmatmul__(self, x: Any) -> Any:
        array = operand(x, "x @ W")
        return self.T._times(array, array.ndim - 1, "x @ W")

    def apply(
        self, x: ArrayLike | ChunkedArray, axis: int = -1, *, spec: SpecLike | None = None, precision: Precision = None
    ) -> jax.Array | ChunkedArray:
        """The matrix times one axis of an array: ``W @ x`` with a choice.

        Parameters
        ----------
        x : array or ChunkedArray
            With as many elements along `axis` as the matrix has columns.
        axis : int, default -1
            Which axis is contracted; the result stands in its place.
        spec : PartitionSpec, optional
            As in :func:`fft`: how `x` is chunked, where it does not show.
        precision : str, optional
            Of the products, as in :func:`fft`.

        Returns
        -------
        jax.Array or ChunkedArray
            With M elements along `axis`, chunked as `x` is. Of a ChunkedArray one of its type; else a ``jax.Array``
            where the result divides, or where `x` was not chunked (whole on every device if it does not divide).

        Raises
        ------
        ValueError
            For another number of elements.
        numpy.exceptions.AxisError
            For an axis that is not there.
        LayoutError
            For a mesh other than that of `x`, or none in sight.
        """
        array = operand(x, "W.apply(x)")
        return self._times(array, check_axis(axis, array.ndim), "W.apply(x)", spec, precision)

    def plan(
        self,
        shape: Sequence[int],
        dtype: Any = None,
        axis: int | None = None,
        *,
        spec: SpecLike | None = None,
        precision: Precision = None,
    ) -> Plan:
        """How ``W @ x`` is done.

        Parameters
        ----------
        shape : sequence of int
            Of `x`.
        dtype : dtype, optional
            Of `x`. Default: the matrix's.
        axis : int, optional
            Default: the one that ``W @ x`` contracts.
        spec, precision
            As in :meth:`apply`.

        Returns
        -------
        Plan
            Callable, printable, with its cost.
        """
        sizes = check_shape(shape)
        axis = max(len(sizes) - 2, 0) if axis is None else check_axis(axis, len(sizes))
        kind = self.dtype if dtype is None else asked_dtype(dtype)
        problem = self._problem(sizes, kind, axis, precision, "W.plan")
        mesh = self.mesh or context_mesh() or default_mesh()
        entries = None if spec is None else normalize_spec(spec, len(sizes), mesh)
        return make_plan(Request(problem, mesh, entries))

    def _times(
        self,
        x: jax.Array | np.ndarray | ChunkedArray,
        axis: int,
        call: str,
        spec: SpecLike | None = None,
        precision: Precision = None,
    ) -> Any:
        problem = self._problem(tuple(x.shape), np.dtype(x.dtype), axis, precision, call)
        context = context_mesh()
        entries = None if spec is None else normalize_spec(spec, x.ndim, self.mesh or context)
        return run(Request(problem, self.mesh, entries, None, context), x)

    def _problem(self, shape: tuple[int, ...], dtype: np.dtype, axis: int, precision: Precision, call: str) -> Problem:
        if not shape or shape[axis] != self.shape[1]:
            what = f"axis {axis} of x of shape {shape} has {shape[axis]}" if shape else "x has no axis"
            side = "rows" if call == "x @ W" else "columns"
            raise ValueError(f"{call}: {what}, but the matrix has {self.shape[1]} {side}")
        wanted = np.promote_types(computing_dtype(dtype), asked_dtype(self.dtype))
        if self.is_whole:
            return self._whole_problem(shape, wanted, axis, precision)
        return samples_problem(
            shape,
            wanted,
            axis,
            self.order,
            self.row_points,
            self.column_points,
            inverse=self.conjugated,
            scale=self.scale,
            precision=precision,
        )

    def _whole_problem(self, shape: tuple[int, ...], dtype: np.dtype, axis: int, precision: Precision) -> Problem:
        """``fft`` or ``ifft``, divided or not."""
        divided = self.scale != 1.0
        name = "ifft" if self.conjugated else "fft"
        norm = "backward" if divided == self.conjugated else "forward"
        return transform_problem(
            name, shape, dtype, sizes=(None,), axes=(axis,), norm=norm, method="ring", precision=precision
        )

    # -- entries ---------------------------------------------------------------------------------------------------

    def block(self, rows: slice = slice(None), columns: slice = slice(None)) -> jax.Array:
        """Some of its entries.

        Parameters
        ----------
        rows, columns : slice
            Which ones; all if left out.

        Returns
        -------
        jax.Array
            On one device, of the matrix's dtype.

        Raises
        ------
        TypeError
            For what is no slice.
        """
        f, t = self._listed(rows, columns)
        word = word_of(asked_dtype(self.dtype))
        made = _entries(fraction(f, self.order, word), whole(t, word), inverse=self.conjugated)
        return made if self.scale == 1.0 else made * self.scale

    def to_numpy(self, dtype: Any = None) -> np.ndarray:
        """All entries on the host, worked out in float64.

        Parameters
        ----------
        dtype : dtype, optional
            Into which they are rounded last. Default: the matrix's.

        Returns
        -------
        numpy.ndarray
            Of shape (M, N).

        Raises
        ------
        ValueError
            For more than a gibibyte.
        """
        if self.size * 16 > HOST_BYTES:
            raise ValueError(
                f"{self!r} has {self.size} entries, {self.size * 16 / 2**30:.1f} GiB; use W.block(rows, columns) for "
                "some of them, or W @ x, which makes none that it does not need"
            )
        f, t = self._listed(slice(None), slice(None))
        made = samples.host_entries(f, t, self.order, self.conjugated) * self.scale
        return made.astype(self.dtype if dtype is None else dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("copy=False: the entries of a DFTMatrix are not stored; they have to be made")
        return self.to_numpy(dtype)

    def _listed(self, rows: slice, columns: slice) -> tuple[np.ndarray, np.ndarray]:
        for word, part in (("rows", rows), ("columns", columns)):
            if not isinstance(part, slice):
                raise TypeError(f"{word}={part!r} is no slice; give one such as slice(0, 10)")
        return self.row_points.listed(rows), self.column_points.listed(columns)


@functools.partial(jax.jit, static_argnames="inverse")
def _entries(f: Fraction, t: Whole, *, inverse: bool) -> jax.Array:
    made = samples.entries(f, t, inverse)
    return lax.complex(made.real, made.imag)
