"""Matrices whose rows, or columns, are in chunks over the devices: the operands of the one-shuffle product."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import jax
import numpy as np
from jax.sharding import Mesh
from jax.typing import ArrayLike

from tpufft.chunked import ChunkedArray, chunk
from tpufft.chunked.shards import joined, joined_layout, parted
from tpufft.errors import LayoutError
from tpufft.execution import visible_layout
from tpufft.layout import AxisNames, Layout, Spec, normalize_spec
from tpufft.meshes import AnyMesh, checked_mesh, context_mesh, default_mesh


class _ChunkedMatrix(ChunkedArray):
    """What both kinds of matrices share."""

    # The axis that is chunked, the one that is whole, and the fewest axes there may be.
    _axis: ClassVar[int]
    _whole: ClassVar[int]
    _least: ClassVar[int]

    @classmethod
    def describes(cls, layout: Layout) -> bool:
        """Whether an array of this layout is such a matrix.

        Parameters
        ----------
        layout : Layout
            Any.

        Returns
        -------
        bool
            Whether mesh axes (of size 1 too) split the one axis and none the other. Leading axes may be split.
        """
        if layout.rank < cls._least:
            return False
        return bool(layout.spec[cls._axis]) and (layout.rank == 1 or layout.parts[cls._whole] == 1)

    @classmethod
    def fitting(cls, data: Any, layout: Layout) -> Any:
        """An array of this type if the layout allows it, else of the other, else a plain ChunkedArray.

        Parameters
        ----------
        data : jax.Array
            The stored data. Nothing is checked.
        layout : Layout
            Its layout.

        Returns
        -------
        RowChunked, ColumnChunked or ChunkedArray
            Around this very data.
        """
        kinds = (cls, RowChunked, ColumnChunked)
        return next((kind for kind in kinds if kind.describes(layout)), ChunkedArray)(data, layout)

    @classmethod
    def from_data(cls, data: Any, layout: Layout) -> Self:
        """The matrix whose stored data, padding included, is at hand.

        Parameters
        ----------
        data : jax.Array
            Of the layout's stored shape and dtype. A concrete array that is sharded otherwise is moved.
        layout : Layout
            What lives where.

        Returns
        -------
        RowChunked or ColumnChunked
            Of this layout.

        Raises
        ------
        LayoutError
            For another shape or dtype, or a layout that is not chunked so.
        """
        if not cls.describes(layout):
            raise LayoutError(
                f"layout={layout} is not that of a {cls.__name__}, in which axis {cls._axis} is split and axis "
                f"{cls._whole} whole; use ChunkedArray.from_data, or another spec"
            )
        return super().from_data(data, layout)

    @classmethod
    def from_array(
        cls,
        x: ArrayLike | ChunkedArray | Sequence[Any],
        mesh: AnyMesh | None = None,
        axis_name: str | Sequence[str] | None = None,
    ) -> Self:
        """Cut a matrix into chunks over the devices of a mesh.

        Parameters
        ----------
        x : array_like, ChunkedArray or list of arrays
            A matrix, with any number of leading axes, of any type of numbers, which is kept. A list of arrays is taken
            for one array per device, see :meth:`from_shards`; nested lists of numbers are one matrix.
        mesh : jax.sharding.Mesh, optional
            The devices. Default: those that `x` is chunked over, else the mesh of ``jax.set_mesh``, else all devices as
            one axis ``"x"``.
        axis_name : str or sequence of str, optional
            The mesh axes to chunk over, the slowest first. Default: if `x` is chunked so already, as it is; else all.

        Returns
        -------
        RowChunked or ColumnChunked
            In chunks of ``ceil(N / P)`` rows (columns), of which trailing ones are short or empty. `x` itself if it is
            one already.

        Raises
        ------
        LayoutError
            For too few axes, an unknown `axis_name`, a `mesh` other than the one over which a ``jax.Array`` is chunked,
            a traced array with no mesh in sight, or a call inside ``shard_map``.
        TypeError
            For a `mesh` that is none, or elements that are no numbers.

        Notes
        -----
        From NumPy every device receives its own part only. What is chunked otherwise is moved by the compiler's
        collectives.

        Examples
        --------
        >>> import numpy as np
        >>> from tpufft.matrix.types import ColumnChunked, RowChunked
        >>> a = RowChunked.from_array(np.arange(6).reshape(3, 2))
        >>> a.shape, type(a.T) is ColumnChunked, (a.T + 1).to_numpy().tolist()
        ((3, 2), True, [[1, 3, 5], [2, 4, 6]])
        """
        if isinstance(x, list | tuple) and x and all(_is_array(each) for each in x):
            return cls.from_shards(x, mesh, axis_name)
        array: Any = x if isinstance(x, ChunkedArray | jax.Array) else np.asarray(x)
        cls._check_rank(array.ndim, array.shape)
        where = _mesh_of(array, mesh)
        shown = _shown_layout(array)
        spec: Any = None
        if shown is not None and axis_name is None and shown.mesh.axis_names == where.axis_names:
            spec = shown.spec if cls.describes(shown) else None
        spec = cls._spec(array.ndim, _names(where, axis_name)) if spec is None else spec
        chunked = chunk(array, mesh, spec)
        return chunked if type(chunked) is cls else cls(chunked.data, chunked.layout)

    @classmethod
    def from_shards(
        cls, shards: Sequence[Any], mesh: AnyMesh | None = None, axis_name: str | Sequence[str] | None = None
    ) -> Self:
        """Put a matrix together from one array for each device.

        Parameters
        ----------
        shards : sequence of array
            In the order of the devices along `axis_name`, equal in all but the length of the chunked axis. Lengths are
            as those of chunks: all ``ceil(N / P)``, but trailing ones short or empty. An array that lies on its device
            stays there.
        mesh : jax.sharding.Mesh, optional
            The devices. Default: the mesh of ``jax.set_mesh``, else all devices as one axis ``"x"``.
        axis_name : str or sequence of str, optional
            The mesh axes to chunk over, the slowest first. Default: all. Over the others the matrix is replicated.

        Returns
        -------
        RowChunked or ColumnChunked
            Chunk ``i`` is ``shards[i]``.

        Raises
        ------
        LayoutError
            For a wrong number of arrays, wrong shapes or lengths; it says which are right.
        TypeError
            For different dtypes, or traced arrays.

        Notes
        -----
        Nothing passes through the host but what is there. A short chunk is padded on its device.

        Examples
        --------
        >>> import jax, numpy as np
        >>> from tpufft.matrix.types import RowChunked
        >>> parts = [np.full((2, 3), device.id) for device in jax.devices()]
        >>> RowChunked.from_shards(parts).shape == (2 * len(parts), 3)
        True
        """
        where = context_mesh() if mesh is None else mesh
        where = checked_mesh(default_mesh() if where is None else where)
        if not isinstance(where, Mesh):
            raise LayoutError("mesh names no devices to which arrays could belong; pass a jax.sharding.Mesh")
        if not isinstance(shards, Sequence):
            raise TypeError(f"shards={shards!r} is no sequence of arrays, one for each device")
        vectors = bool(len(shards)) and np.ndim(shards[0]) == 1
        layout = joined_layout(list(shards), where, _names(where, axis_name), -1 if vectors else cls._axis)
        cls._check_rank(layout.rank, layout.shape)
        return cls(joined(shards, layout, cls._position(layout.rank)), layout)

    def to_shards(self) -> list[jax.Array]:
        """The chunks, one array for each device.

        Returns
        -------
        list of jax.Array
            In the order of the devices along the chunked axis, each on its device and without padding: short and empty
            chunks are short and empty arrays. Where nothing is padded it is the very data of the shard. Of several
            devices that hold the same chunk, the first one's; in a job of several processes, this one's.

        Raises
        ------
        LayoutError
            If another axis is split too.
        TypeError
            For a traced array.

        Notes
        -----
        No copy to the host, and none between devices.
        """
        return parted(self.data, self.layout, self._position(self.ndim))

    @property
    def mT(self) -> Any:  # noqa: N802 (numpy's name)
        """The last two axes exchanged, as a view: nothing is computed before the elements are asked for."""
        if self.ndim < 2:
            return super().mT
        if self.turned_source is not None:
            return self.turned_source
        other = ColumnChunked if isinstance(self, RowChunked) else RowChunked
        return other.turned(self)

    @classmethod
    def _check_rank(cls, rank: int, shape: tuple[int, ...]) -> None:
        if rank < cls._least:
            fewest = "an axis" if cls._least == 1 else f"{cls._least} axes"
            raise LayoutError(f"x has shape {tuple(shape)}; a {cls.__name__} has at least {fewest}")

    @classmethod
    def _position(cls, rank: int) -> int:
        """The chunked axis; a vector has no other."""
        return max(cls._axis + rank, 0)

    @classmethod
    def _spec(cls, rank: int, names: AxisNames) -> Spec:
        axis = cls._position(rank)
        return ((),) * axis + (names,) + ((),) * (rank - axis - 1)


class RowChunked(_ChunkedMatrix):
    """A matrix whose rows are in chunks over the devices, each row whole; or a vector in chunks.

    A :class:`ChunkedArray` of shape ``(..., N, M)`` of which axis -2 is split over mesh axes and axis -1 is whole;
    leading axes are a batch. A vector of shape ``(N,)`` that is split counts as one. :meth:`from_array` makes one.

    Parameters
    ----------
    data : jax.Array
        The stored chunks, padding included. Nothing is checked; :meth:`from_data` does.
    layout : Layout
        What lives where.

    Notes
    -----
    Arithmetic of single elements keeps the type. ``a.T`` is a :class:`ColumnChunked` at no cost, and ``a.T.T`` is `a`:
    nothing is computed before the elements of ``a.T`` are asked for, and a product contracts the other axis of `a`
    instead. Arithmetic among such views and numbers stays a view; ``a.T.copy()`` is stored transposed. As a pytree a
    view has the data of `a` as its leaf, so ``vmap`` and ``scan`` over the rows or columns of a view raise an error:
    map over `a`, or over ``a.T.copy()``. Where a map changes the number of axes, and for reductions, the result is a
    plain ChunkedArray if it is no such matrix any more.

    Examples
    --------
    >>> import jax, numpy as np
    >>> from tpufft.matrix.types import RowChunked
    >>> a = RowChunked.from_array(np.ones((10, 4), np.float32), jax.make_mesh((1,), ("x",), devices=jax.devices()[:1]))
    >>> a
    RowChunked(float32 (10, 4) on mesh x=1, chunked P('x', None))
    >>> a.T.T is a, (2 * a.T).sum().item()
    (True, 80.0)
    """

    _axis = -2
    _whole = -1
    _least = 1

    @classmethod
    def describes(cls, layout: Layout) -> bool:
        """Whether an array of this layout is row-chunked; a vector that is split counts as one.

        Parameters
        ----------
        layout : Layout
            Any.

        Returns
        -------
        bool
            Whether mesh axes (of size 1 too) split the rows and none the columns. Leading axes may be split.
        """
        return bool(layout.spec[0]) if layout.rank == 1 else super().describes(layout)


class ColumnChunked(_ChunkedMatrix):
    """A matrix whose columns are in chunks over the devices, each column whole.

    A :class:`ChunkedArray` of shape ``(..., M, N)`` of which axis -1 is split over mesh axes and axis -2 is whole;
    leading axes are a batch. :meth:`from_array` makes one, and ``a.T`` of a :class:`RowChunked`.

    Parameters
    ----------
    data : jax.Array
        The stored chunks, padding included. Nothing is checked; :meth:`from_data` does.
    layout : Layout
        What lives where.

    Notes
    -----
    See :class:`RowChunked`, whose notes hold with rows and columns exchanged.

    Examples
    --------
    >>> import numpy as np
    >>> from tpufft.matrix.types import ColumnChunked
    >>> a = ColumnChunked.from_array(np.arange(6.0).reshape(2, 3))
    >>> type(a.T).__name__, a.sum(axis=1).to_numpy().tolist()
    ('RowChunked', [3.0, 12.0])
    """

    _axis = -1
    _whole = -2
    _least = 2


def _is_array(x: Any) -> bool:
    return isinstance(x, jax.Array | np.ndarray) and x.ndim > 0


def _shown_layout(x: Any) -> Layout | None:
    """The layout that an array shows."""
    if isinstance(x, ChunkedArray):
        return x.layout
    return visible_layout(x) if isinstance(x, jax.Array) else None


def _mesh_of(x: Any, mesh: AnyMesh | None) -> AnyMesh:
    """The devices that :func:`chunk` will take."""
    if mesh is not None:
        return checked_mesh(mesh)
    shown = _shown_layout(x)
    if shown is not None:
        return shown.mesh
    context = context_mesh()
    return default_mesh() if context is None else context


def _names(mesh: AnyMesh, axis_name: str | Sequence[str] | None) -> AxisNames:
    """The mesh axes to chunk over."""
    if axis_name is None:
        return tuple(mesh.axis_names)
    if not axis_name or not isinstance(axis_name, str | list | tuple):
        raise LayoutError(f"axis_name={axis_name!r} is no mesh axis; the mesh has {mesh.axis_names}")
    entry = axis_name if isinstance(axis_name, str) else tuple(axis_name)
    return normalize_spec((entry,), 1, mesh, argument="axis_name")[0]
