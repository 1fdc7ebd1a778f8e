"""An array on a mesh into a file, shard by shard, replacing the target when whole."""

from __future__ import annotations

import os
from collections.abc import Iterator

import jax
import numpy as np
from jax.core import Tracer

from tpufft.errors import LayoutError
from tpufft.formats import Writer, format_of
from tpufft.jobs.blocks import Progress, Slices, Tally, blocks, concrete, relative


def save(path: str | os.PathLike[str], x: jax.Array | np.ndarray, *, progress: Progress | None = None) -> None:
    """Write an array to a file, one shard after the other.

    The array goes into a temporary file beside the target, which takes its place when it is whole and on the disk. If
    anything goes wrong before that, an existing target is as it was, and the temporary is removed.

    Parameters
    ----------
    path : str or path
        The file; its suffix names the format (``.npy``).
    x : jax.Array or numpy.ndarray
        The array, sharded or not.
    progress : callable, optional
        Called as ``progress(done, total)`` in bytes.

    Raises
    ------
    FileFormatError
        If the suffix is unknown, or the format cannot hold the array's dtype.
    LayoutError
        If parts of the array are on devices of other processes.
    OSError
        If the file cannot be written.
    TypeError
        If `x` is a tracer, that is, under ``jax.jit`` and the like.

    Examples
    --------
    >>> import tempfile, numpy as np, tpufft
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tpufft.save(f"{folder}/spectrum.npy", tpufft.fft(np.ones(8)))
    ...     abs(np.load(f"{folder}/spectrum.npy")[0])
    np.float32(8.0)
    """
    if isinstance(x, Tracer):
        raise TypeError("save() writes values, and under jax.jit there are none yet; call it on the function's result")
    array = x if isinstance(x, jax.Array) else np.asarray(x)
    with create(path, array.shape, array.dtype) as writer:
        write_shards(writer, array, progress=progress)
        writer.commit()


def create(path: str | os.PathLike[str], shape: tuple[int, ...], dtype: np.dtype) -> Writer:
    """Start a file of a given size, to be written by parts; use it in a ``with`` block.

    Parameters
    ----------
    path : str or path
        The target; it changes on ``commit()`` only.
    shape, dtype
        Of the whole array.

    Raises
    ------
    OSError
        At once, if the target cannot be written or the disk is too full.
    """
    return format_of(path).writer(path, shape, np.dtype(dtype))


def write_shards(writer: Writer, x: jax.Array | np.ndarray, *, progress: Progress | None = None) -> None:
    """Write every part of an array into an open file once, without gathering it.

    Parameters
    ----------
    writer : Writer
        From :func:`create`, of the array's shape.
    x : jax.Array or numpy.ndarray
        The array.
    progress : callable, optional
        Called as ``progress(done, total)`` in bytes.
    """
    if tuple(x.shape) != tuple(writer.shape):
        raise LayoutError(f"an array of shape {tuple(x.shape)} does not fit a file of shape {tuple(writer.shape)}")
    tally = Tally(progress, x.size * writer.dtype.itemsize)
    order = tuple(range(x.ndim))
    for index, values in host_shards(x):
        for block in blocks(index, writer.dtype.itemsize, order):
            part = values[relative(block, index)]
            writer.write(block, part)
            tally.add(part.size * writer.dtype.itemsize)


def host_shards(x: jax.Array | np.ndarray) -> Iterator[tuple[Slices, np.ndarray]]:
    """Every distinct part of an array with its place, one at a time, in the host's memory (no copy on CPU devices).

    Raises
    ------
    LayoutError
        If parts are on devices of other processes.
    """
    if isinstance(x, np.ndarray):
        yield tuple(slice(0, size) for size in x.shape), x
        return
    if not x.is_fully_addressable:
        raise LayoutError("parts of the array are on devices of other processes; every process sees only its own")
    for shard in x.addressable_shards:
        if shard.replica_id == 0:
            yield concrete(shard.index, x.shape), np.asarray(shard.data)
