"""Data and layout together, as a pytree: what a chunked array is before it can compute."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import jax
import numpy as np
from jax.core import Tracer
from jax.experimental import multihost_utils
from jax.sharding import PartitionSpec
from jax.tree_util import GetAttrKey

from tpufft.chunked.placement import constrained, settled, whole
from tpufft.chunked.refit import Frame, refitted
from tpufft.chunked.transpose import last_two_swapped, permuted, transposed
from tpufft.errors import LayoutError
from tpufft.layout import Layout
from tpufft.meshes import AnyMesh


@dataclass(frozen=True, eq=False, repr=False)
class Chunks:
    """An array in equal chunks, with the padding that makes them equal.

    Parameters
    ----------
    data : jax.Array
        Of shape ``layout.stored_shape``, sharded by ``layout.sharding``; what stands in the padding is unspecified.
        Nothing is checked, so that pytrees rebuild it around whatever JAX puts there; see :meth:`from_data`.
    layout : Layout
        What lives where.
    """

    data: Any
    layout: Layout
    # Of one that was made by `turned`: what it shows the other way round.
    turned_source: ClassVar[Any] = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)

        def flat_with_key(array: Chunks) -> Any:
            (leaf,), frame = _flat(array)
            return ((GetAttrKey("data"), leaf),), frame

        jax.tree_util.register_pytree_with_keys(cls, flat_with_key, cls._unflatten, _flat)

    @classmethod
    def _unflatten(cls, frame: Frame, children: Any) -> Any:
        (data,) = children
        if frame.source_type is None:
            return cls.fitting(data, refitted(frame.layout, data))
        source = frame.source_type.fitting(data, refitted(frame.layout, data, unmapped=2))
        return cls.turned(source) if type(source) is frame.source_type else source.mT

    @classmethod
    def fitting(cls, data: Any, layout: Layout) -> Any:
        """An array of this type, or of the nearest one that has such a layout; nothing is checked."""
        return cls(data, layout)

    @classmethod
    def turned(cls, source: Chunks) -> Self:
        """A view of an array with the last two axes exchanged: nothing is computed before :attr:`data` is asked for.

        Products look at ``turned_source`` and contract its other axis instead.
        """
        array = object.__new__(cls)
        object.__setattr__(array, "layout", permuted(source.layout, last_two_swapped(source.ndim)))
        object.__setattr__(array, "turned_source", source)
        return array

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            source = self.turned_source
            if name != "data" or source is None:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            data, _ = transposed(source.data, source.layout, last_two_swapped(source.ndim))
            if not isinstance(data, Tracer):  # a traced value may not outlive its trace
                object.__setattr__(self, "data", data)
            return data

    @classmethod
    def from_data(cls, data: Any, layout: Layout) -> Self:
        """The array whose stored data, padding included, is at hand.

        Parameters
        ----------
        data : jax.Array
            Of the layout's stored shape and dtype. A concrete array that is sharded otherwise is moved.
        layout : Layout
            What lives where.

        Raises
        ------
        LayoutError
            For another shape or dtype.
        """
        if tuple(data.shape) != layout.stored_shape or data.dtype != layout.dtype:
            raise LayoutError(
                f"data is {data.dtype} {tuple(data.shape)}, but the layout stores {layout.dtype} "
                f"{layout.stored_shape}; pass data with the padding, or make the array with tpufft.chunk"
            )
        return cls(data if isinstance(data, Tracer) else constrained(data, layout), layout)

    # -- what it is ------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """The array's own shape, without padding."""
        return self.layout.shape

    @property
    def dtype(self) -> np.dtype:
        """The elements' type."""
        return self.layout.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.layout.rank

    @property
    def size(self) -> int:
        """Number of elements, without padding."""
        return self.layout.size

    @property
    def nbytes(self) -> int:
        """Bytes of the elements, without padding."""
        return self.size * self.dtype.itemsize

    @property
    def mesh(self) -> AnyMesh:
        """The devices."""
        return self.layout.mesh

    @property
    def spec(self) -> PartitionSpec:
        """Which axis is split over which mesh axes."""
        return self.layout.partition_spec

    @property
    def padding(self) -> tuple[int, ...]:
        """Unspecified elements stored behind the end of each axis."""
        return self.layout.padding

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without axes")
        return self.shape[0]

    def __reduce__(self) -> Any:
        raise TypeError(
            f"{self!r} cannot be pickled: its devices are those of this process; pickle .to_numpy(), or write it with "
            "tpufft.save"
        )

    def __copy__(self) -> Self:
        return self  # nothing ever writes to it

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.layout})"

    # -- what it becomes -------------------------------------------------------------------------------------------

    def to_numpy(self) -> np.ndarray:
        """The whole array on the host; in a job of several processes on every host, and all must call it.

        Returns
        -------
        numpy.ndarray
            Without padding; a copy.
        """
        if self.turned_source is not None:
            return self.turned_source.to_numpy().swapaxes(-1, -2)
        data = self.data
        if not isinstance(data, jax.Array) or isinstance(data, Tracer) or not data.is_fully_addressable:
            if isinstance(data, jax.Array) and not isinstance(data, Tracer):
                data = multihost_utils.process_allgather(data, tiled=True)
            return np.array(np.asarray(data)[tuple(slice(size) for size in self.shape)])
        result = np.empty(self.shape, self.dtype)
        seen: set[tuple[int, ...]] = set()
        for shard in data.addressable_shards:
            start = tuple(piece.start or 0 for piece in shard.index)
            if start in seen:
                continue
            seen.add(start)
            rest = [max(0, size - first) for size, first in zip(self.shape, start, strict=True)]
            inside = np.asarray(shard.data)[tuple(slice(size) for size in rest)]
            result[tuple(slice(first, first + size) for first, size in zip(start, inside.shape, strict=True))] = inside
        return result

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("copy=False: the chunks of an array cannot be read as one numpy array without a copy")
        return np.asarray(self.to_numpy(), dtype)

    def to_jax(self, replicated: bool = False) -> jax.Array:
        """The array as a ``jax.Array``.

        Parameters
        ----------
        replicated : bool
            Whole on every device, instead of chunked as it is.

        Returns
        -------
        jax.Array
            Without padding. The very data, not a copy, where it stays chunked.

        Raises
        ------
        LayoutError
            If chunks are not equal without padding and `replicated` is not set.
        """
        if replicated:
            return settled(whole(self.data, self.layout))
        if not self.layout.is_even:
            axis = next(axis for axis, amount in enumerate(self.padding) if amount)
            raise LayoutError(
                f"axis {axis} of length {self.shape[axis]} does not divide into {self.layout.parts[axis]} equal "
                "chunks, and JAX has no array of unequal ones; use to_jax(replicated=True), whole on every device, or "
                "tpufft.chunk(x, mesh, spec) with a spec that divides the shape"
            )
        return self.data

    def block_until_ready(self) -> Self:
        """Wait until the data is computed.

        Returns
        -------
        ChunkedArray
            This very array.
        """
        jax.block_until_ready((self if self.turned_source is None else self.turned_source).data)
        return self

    def item(self) -> Any:
        """The only element of an array of size 1, as a Python number.

        Raises
        ------
        ValueError
            For any other size.
        """
        if math.prod(self.shape) != 1:
            raise ValueError(f"only an array of size 1 is a number; this one has shape {self.shape}")
        return self.to_numpy().item()


def _flat(array: Chunks) -> tuple[tuple[Any], Frame]:
    """The leaf of a chunked array as a pytree, and what says how it is one."""
    source = array.turned_source
    # Under vmap the results' batch axis is put among the axes that the caller sees, not among those of the source.
    if source is None or hasattr(source.data, "batch_dim"):
        return (array.data,), Frame(array.layout)
    return (source.data,), Frame(source.layout, type(source))
