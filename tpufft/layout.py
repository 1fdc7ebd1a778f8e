"""What lives where: global shape, dtype, mesh, spec and padding; every size, pad and spec rule of the package.

A *layout* says which part of an array every device of a mesh holds. Array axis ``i`` of length ``shape[i]`` is
split over the mesh axes ``spec[i]`` (none, one, or several, the first the slowest) into equal chunks of
``ceil(shape[i] / P)`` elements; where the length does not divide, ``padding[i]`` unspecified elements are stored
behind the last one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from tpufft.errors import LayoutError
from tpufft.meshes import AnyMesh

AxisNames: TypeAlias = tuple[str, ...]
Spec: TypeAlias = tuple[AxisNames, ...]
SpecLike: TypeAlias = PartitionSpec | Sequence[str | Sequence[str] | None]


def ceil_div(a: int, b: int) -> int:
    """The least integer that is not below ``a / b``."""
    return -(-a // b)


def row_chunked(rank: int, mesh: AnyMesh) -> PartitionSpec:
    """The default chunking: the first array axis over all mesh axes, the others whole."""
    return PartitionSpec(tuple(mesh.axis_names)) if rank else PartitionSpec()


def normalize_spec(spec: SpecLike, rank: int, mesh: AnyMesh | None, *, argument: str = "spec") -> Spec:
    """One tuple of mesh axis names for every array axis.

    Parameters
    ----------
    spec : PartitionSpec or sequence
        As ``jax.sharding.PartitionSpec`` takes it; may be shorter than `rank`.
    rank : int
        Number of array axes.
    mesh : Mesh, optional
        Where the names come from. None: not checked yet.
    argument : str
        What the caller's argument is called, for messages.

    Raises
    ------
    LayoutError
        For more entries than axes, a name the mesh does not have, or a name that stands twice.
    """
    if isinstance(spec, str) or not isinstance(spec, (PartitionSpec, Sequence)):
        example = f"P({spec!r}, None)" if isinstance(spec, str) else "P('x', None)"
        raise LayoutError(f"{argument}={spec!r} is no PartitionSpec; give one like {example}")
    entries = tuple(spec)
    if len(entries) > rank and any(entry not in (None, ()) for entry in entries[rank:]):
        raise LayoutError(f"{argument}={spec} has {len(entries)} entries, but the array has {rank} axes")
    names = tuple(_entry_names(entry, spec, argument) for entry in entries[:rank]) + ((),) * (rank - len(entries))
    seen: set[str] = set()
    for name in (name for entry in names for name in entry):
        if mesh is not None and name not in mesh.axis_names:
            raise LayoutError(f"{argument}={spec} names the mesh axis {name!r}; the mesh has {mesh.axis_names}")
        if name in seen:
            raise LayoutError(f"{argument}={spec} uses the mesh axis {name!r} twice; each may split one array axis")
        seen.add(name)
    return names


def _entry_names(entry: object, spec: object, argument: str) -> AxisNames:
    if entry is None:
        return ()
    if isinstance(entry, str):
        return (entry,)
    if isinstance(entry, (tuple, list)) and all(isinstance(name, str) for name in entry):
        return tuple(entry)
    raise LayoutError(f"{argument}={spec} has the entry {entry!r}; an entry is None, a name, or a tuple of names")


@dataclass(frozen=True)
class Layout:
    """Which part of an array every device holds.

    Parameters
    ----------
    shape : tuple of int
        The array's own shape, without padding.
    dtype : numpy.dtype
        The elements' type.
    mesh : jax.sharding.Mesh or AbstractMesh
        The devices. Only its shape and axis names matter here.
    spec : tuple of tuples of str
        The mesh axes that split each array axis, slowest first.
    padding : tuple of int
        Unspecified elements stored behind the end of each axis.

    Raises
    ------
    LayoutError
        Where a stored length is not a multiple of the number of chunks.
    """

    shape: tuple[int, ...]
    dtype: np.dtype
    mesh: AnyMesh
    spec: Spec
    padding: tuple[int, ...] = field(default=())

    def __post_init__(self) -> None:
        if not self.padding:
            object.__setattr__(self, "padding", (0,) * len(self.shape))
        if not len(self.shape) == len(self.spec) == len(self.padding):
            raise LayoutError(f"shape {self.shape}, spec {self.spec} and padding {self.padding} differ in length")
        for axis, (stored, parts) in enumerate(zip(self.stored_shape, self.parts, strict=True)):
            if stored % parts:
                raise LayoutError(
                    f"axis {axis} of length {self.shape[axis]} does not divide into {parts} chunks over the mesh "
                    f"axes {self.spec[axis]}; use a length that is a multiple of {parts}, or another spec"
                )

    # -- making one ----------------------------------------------------------------------------------------------

    @classmethod
    def of(
        cls,
        shape: Iterable[int],
        dtype: object,
        mesh: AnyMesh,
        spec: SpecLike | None = None,
        *,
        argument: str = "spec",
    ) -> Layout:
        """The layout of an array chunked by `spec`, padded to equal chunks (``spec=None``: row-chunked)."""
        shape = tuple(int(size) for size in shape)
        entries = row_chunked(len(shape), mesh) if spec is None else spec
        names = normalize_spec(entries, len(shape), mesh, argument=argument)
        return cls(shape, np.dtype(dtype), mesh, names, _least_padding(shape, names, mesh))  # type: ignore[call-overload]

    # -- reading it ----------------------------------------------------------------------------------------------

    @property
    def rank(self) -> int:
        """Number of array axes."""
        return len(self.shape)

    @cached_property
    def parts(self) -> tuple[int, ...]:
        """Into how many chunks each axis is split."""
        return tuple(mesh_size(self.mesh, names) for names in self.spec)

    @cached_property
    def stored_shape(self) -> tuple[int, ...]:
        """Global shape with the padding."""
        return tuple(size + pad for size, pad in zip(self.shape, self.padding, strict=True))

    @cached_property
    def chunk_shape(self) -> tuple[int, ...]:
        """Shape of the part that one device holds, padding included."""
        return tuple(size // parts for size, parts in zip(self.stored_shape, self.parts, strict=True))

    @property
    def chunk_size(self) -> int:
        """Elements in one chunk."""
        return math.prod(self.chunk_shape)

    @property
    def chunk_bytes(self) -> int:
        """Bytes of one chunk."""
        return self.chunk_size * self.dtype.itemsize

    @property
    def size(self) -> int:
        """Elements of the whole array, without padding."""
        return math.prod(self.shape)

    @property
    def is_even(self) -> bool:
        """Whether nothing is padded."""
        return not any(self.padding)

    @property
    def is_least(self) -> bool:
        """Whether no axis is padded more than its equal chunks need."""
        return self.padding == _least_padding(self.shape, self.spec, self.mesh)

    @property
    def device_count(self) -> int:
        """Devices of the mesh."""
        return mesh_size(self.mesh, self.mesh.axis_names)

    def device_count_along(self, names: AxisNames) -> int:
        """Devices along the given mesh axes."""
        return mesh_size(self.mesh, names)

    @property
    def chunked_axes(self) -> tuple[int, ...]:
        """Array axes that are split over more than one device."""
        return tuple(axis for axis, parts in enumerate(self.parts) if parts > 1)

    @property
    def unused_names(self) -> AxisNames:
        """Mesh axes that split nothing: the array is replicated over them."""
        used = {name for names in self.spec for name in names}
        return tuple(name for name in self.mesh.axis_names if name not in used)

    @property
    def partition_spec(self) -> PartitionSpec:
        """The spec as JAX has it, without trailing entries that split nothing, so that equal layouts compare equal."""
        last = max((axis + 1 for axis, names in enumerate(self.spec) if names), default=0)
        return PartitionSpec(*(_jax_entry(names) for names in self.spec[:last]))

    @property
    def sharding(self) -> NamedSharding:
        """Mesh and spec as JAX has them."""
        return NamedSharding(self.mesh, self.partition_spec)  # type: ignore[arg-type]

    def fits_in(self, other: Layout) -> bool:
        """Whether a chunk of one layout can take the buffer of the other's."""
        return self.chunk_size == other.chunk_size and self.dtype == other.dtype

    def chunk_slices(self, index: dict[str, int]) -> tuple[slice, ...]:
        """The part of the global array (without padding) at one position of the mesh.

        Parameters
        ----------
        index : dict
            Position along every mesh axis that splits an array axis.
        """
        slices = []
        for names, size, chunk in zip(self.spec, self.shape, self.chunk_shape, strict=True):
            position = 0
            for name in names:
                position = position * self.mesh.shape[name] + index[name]
            slices.append(slice(min(position * chunk, size), min((position + 1) * chunk, size)))
        return tuple(slices)

    # -- moves -----------------------------------------------------------------------------------------------------

    def move(self, names: AxisNames, source: int, target: int) -> Layout:
        """Free axis `source` of the mesh axes `names` and split axis `target` by them instead.

        The names must be the fastest of `source` and become the fastest of `target`, so that chunks stay contiguous.
        """
        kept = self.spec[source][: len(self.spec[source]) - len(names)]
        if not names or kept + names != self.spec[source]:
            raise LayoutError(f"axis {source} is split over {self.spec[source]}; {names} are not its last mesh axes")
        if source == target:
            raise LayoutError(f"axis {source} cannot be freed onto itself")
        return self.with_axis(source, names=kept).with_axis(target, names=self.spec[target] + names)

    def with_axis(
        self, axis: int, *, size: int | None = None, names: AxisNames | None = None, padding: int | None = None
    ) -> Layout:
        """The same layout with another length, splitting or padding of one axis."""
        return replace(
            self,
            shape=_put(self.shape, axis, size),
            spec=_put(self.spec, axis, names),
            padding=_put(self.padding, axis, padding),
        )

    def with_dtype(self, dtype: object) -> Layout:
        """The same layout of another dtype."""
        wanted = np.dtype(dtype)  # type: ignore[call-overload]
        return self if wanted == self.dtype else replace(self, dtype=wanted)

    def insert_axis(self, axis: int, size: int, names: AxisNames = (), padding: int = 0) -> Layout:
        """The same layout with one axis more."""
        return replace(
            self,
            shape=(*self.shape[:axis], size, *self.shape[axis:]),
            spec=(*self.spec[:axis], names, *self.spec[axis:]),
            padding=(*self.padding[:axis], padding, *self.padding[axis:]),
        )

    def remove_axis(self, axis: int) -> Layout:
        """The same layout without one axis."""
        return replace(
            self,
            shape=self.shape[:axis] + self.shape[axis + 1 :],
            spec=self.spec[:axis] + self.spec[axis + 1 :],
            padding=self.padding[:axis] + self.padding[axis + 1 :],
        )

    def least_padding(self, axis: int, names: AxisNames | None = None) -> int:
        """Elements that must be stored behind `axis` so that it divides over `names` (its own if None)."""
        split = self.spec[axis] if names is None else names
        return _least_padding((self.shape[axis],), (split,), self.mesh)[0]

    def simplified(self) -> Layout:
        """The same layout without mesh axes of size 1, which split nothing."""
        spec = tuple(tuple(name for name in names if self.mesh.shape[name] > 1) for names in self.spec)
        return replace(self, spec=spec)

    # -- text --------------------------------------------------------------------------------------------------------

    def describe(self) -> str:
        """Mesh and chunking in a line, as plans print them."""
        mesh = ", ".join(f"{name}={size}" for name, size in self.mesh.shape.items())
        return f"mesh {mesh}, chunked {format_spec(self.spec)}"

    def __str__(self) -> str:
        padded = "" if self.is_even else f", padded to {self.stored_shape}"
        return f"{self.dtype} {self.shape} on {self.describe()}{padded}"

    def __iter__(self) -> Iterator[int]:
        raise TypeError("a Layout is not iterable; use .shape, .spec or .chunk_shape")


def format_spec(spec: Spec) -> str:
    """A spec as a person types it: ``P('x', None, ('a', 'b'))``."""
    return f"P({', '.join(repr(_jax_entry(names)) for names in spec)})"


def mesh_size(mesh: AnyMesh, names: Iterable[str]) -> int:
    """The number of positions along the given mesh axes together."""
    return math.prod(mesh.shape[name] for name in names)


def _least_padding(shape: tuple[int, ...], spec: Spec, mesh: AnyMesh) -> tuple[int, ...]:
    return tuple(-size % mesh_size(mesh, names) for size, names in zip(shape, spec, strict=True))


def _jax_entry(names: AxisNames) -> str | AxisNames | None:
    return None if not names else names[0] if len(names) == 1 else names


def _put(items: tuple, position: int, value: object) -> tuple:
    return items if value is None else (*items[:position], value, *items[position + 1 :])
