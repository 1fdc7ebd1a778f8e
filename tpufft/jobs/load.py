"""A file onto a mesh: every device reads its own part only."""

from __future__ import annotations

import os

import jax
import numpy as np
from jax.sharding import Mesh

from tpufft.errors import LayoutError
from tpufft.formats import Reader, format_of
from tpufft.jobs.blocks import Progress, Tally, blocks, concrete, extent, relative
from tpufft.layout import Layout, SpecLike, format_spec
from tpufft.meshes import context_mesh, default_mesh


def load(
    path: str | os.PathLike[str],
    mesh: Mesh | None = None,
    spec: SpecLike | None = None,
    *,
    dtype: object = None,
    progress: Progress | None = None,
) -> jax.Array:
    """Read an array from a file onto a mesh.

    Every device reads the part that it holds, through a memory map; no process ever holds the whole array in one piece.

    Parameters
    ----------
    path : str or path
        The file; its suffix names the format (``.npy``).
    mesh : Mesh, optional
        The devices. By default the mesh of ``jax.set_mesh``, else all devices as one axis ``"x"``.
    spec : PartitionSpec, optional
        Which array axis is split over which mesh axes. By default the first axis over all of them.
    dtype : dtype, optional
        Convert every element on the way, real to complex included. By default the file's own type, where JAX has it
        (64-bit types become 32-bit ones while ``jax_enable_x64`` is off, as everywhere in JAX).
    progress : callable, optional
        Called as ``progress(done, total)`` in bytes of the file.

    Returns
    -------
    jax.Array
        Sharded by `spec`.

    Raises
    ------
    LayoutError
        If an axis does not divide evenly, or `spec` does not fit the file's array or the mesh.
    FileFormatError
        If the suffix is unknown or the file is damaged.
    OSError
        If the file cannot be read.
    ValueError
        If `dtype` asks for a type that JAX does not have without x64, or integers in the file would wrap.

    Examples
    --------
    >>> import tempfile, numpy as np, tpufft
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/volume.npy", np.ones((8, 4)))
    ...     x = tpufft.load(f"{folder}/volume.npy")
    >>> x.shape
    (8, 4)
    """
    with format_of(path).reader(path) as reader:
        target = _target_dtype(reader.dtype, dtype)
        layout = Layout.of(reader.shape, target, mesh or context_mesh() or default_mesh(), spec)
        return load_from(reader, layout, progress=progress)


def load_from(reader: Reader, layout: Layout, *, progress: Progress | None = None) -> jax.Array:
    """Read an open file onto the devices of a layout, in the layout's dtype.

    Parameters
    ----------
    reader : Reader
        From ``format_of(path).reader(path)``.
    layout : Layout
        What goes where; of the file's shape, and even.
    progress : callable, optional
        Called as ``progress(done, total)`` in bytes of the file.

    Raises
    ------
    LayoutError
        If the layout is not even.
    """
    check_even(layout)
    places: dict[tuple[tuple[int, int], ...], list] = {}
    for device, index in layout.sharding.addressable_devices_indices_map(layout.shape).items():
        places.setdefault(_key(concrete(index or (), layout.shape)), []).append(device)
    report = Tally(progress, len(places) * layout.chunk_size * reader.dtype.itemsize)
    arrays: list[jax.Array] = []
    for key, devices in places.items():
        chunk = _read_chunk(reader, tuple(slice(*pair) for pair in key), layout.dtype, report)
        # Waiting lets go of this chunk before the next is read: one chunk of host memory, not all.
        arrays += jax.block_until_ready([jax.device_put(chunk, device) for device in devices])
    return jax.make_array_from_single_device_arrays(layout.shape, layout.sharding, arrays)


def check_even(layout: Layout) -> None:
    """Refuse a layout that has padding.

    Raises
    ------
    LayoutError
        Naming the axis.
    """
    for axis, (pad, parts) in enumerate(zip(layout.padding, layout.parts, strict=True)):
        if pad:
            raise LayoutError(
                f"axis {axis} of length {layout.shape[axis]} does not divide evenly over the {parts} devices of "
                f"{format_spec(layout.spec)}; split another axis, use a number of devices that divides it, or crop"
            )


def _read_chunk(reader: Reader, index: tuple[slice, ...], dtype: np.dtype, report: Tally) -> np.ndarray:
    chunk = np.empty(extent(index), dtype)
    for block in blocks(index, reader.dtype.itemsize, reader.slow_axes):
        values = reader.read(block)
        _check_range(values, dtype)
        chunk[relative(block, index)] = values
        report.add(values.nbytes)
    return chunk


def _target_dtype(stored: np.dtype, asked: object) -> np.dtype:
    if asked is None:
        return np.dtype(jax.dtypes.canonicalize_dtype(stored))
    target = np.dtype(asked)  # type: ignore[call-overload]
    if jax.dtypes.canonicalize_dtype(target) != target:
        raise ValueError(f"dtype={target} needs jax.config.update('jax_enable_x64', True), or ask for a 32-bit type")
    if stored.kind == "c" and target.kind != "c":
        raise ValueError(f"dtype={target} would drop the imaginary part of the file's {stored}; ask for a complex type")
    return target


def _check_range(values: np.ndarray, dtype: np.dtype) -> None:
    """Refuse integers that would wrap around silently."""
    if values.dtype.kind not in "iu" or dtype.kind not in "iu" or np.can_cast(values.dtype, dtype):
        return
    limits = np.iinfo(dtype)
    low, high = int(values.min()), int(values.max())
    if low < limits.min or high > limits.max:
        raise ValueError(
            f"the file's {values.dtype} values reach {low if low < limits.min else high}, beyond {dtype}; switch on "
            f"jax_enable_x64 or pass a wider dtype="
        )


def _key(index: tuple[slice, ...]) -> tuple[tuple[int, int], ...]:
    return tuple((part.start, part.stop) for part in index)
