"""A global array seen by its chunks, and back."""

from __future__ import annotations

import functools
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

from tpufft.chunked import ChunkedArray
from tpufft.errors import LayoutError
from tpufft.execution import run_fixed
from tpufft.layout import Layout, SpecLike, mesh_size, normalize_spec
from tpufft.steps import CloseChunks, OpenChunks
from tpufft.views.argument import Argument, as_array, layout_of_argument


def local_view(
    x: Argument, mesh: Mesh | None = None, *, spec: SpecLike | None = None, overwrite_x: bool = False
) -> jax.Array:
    r"""Show the chunks of an array as axes of their own, in front of the others.

    .. math:: v_{q_0 \dots q_{r-1}\, j_0 \dots j_{r-1}} = x_{q_0 n_0 + j_0, \dots, q_{r-1} n_{r-1} + j_{r-1}}

    Parameters
    ----------
    x : array or ChunkedArray
        Of shape :math:`(P_0 n_0, P_1 n_1, \dots)` and any dtype, axis `i` split into :math:`P_i` equal chunks.
    mesh : jax.sharding.Mesh, optional
        Default: that of `x`, else that of ``jax.set_mesh``, else all devices as one axis ``"x"``.
    spec : PartitionSpec, optional
        How `x` is chunked. Default: as it shows, and row-chunked where it is on one device. A value of a jitted
        program on a mesh of Auto axes shows nothing and needs it.
    overwrite_x : bool, default False
        Take over the buffers of `x`, which is deleted: nothing is copied. Ignored under tracing.

    Returns
    -------
    jax.Array
        Of shape :math:`(P_0, P_1, \dots, n_0, n_1, \dots)` and the dtype of `x`: a chunk axis for every array axis, of
        length 1 where it is not split, of the product of the mesh axes where several split it. Chunk axes are split
        as the array's axes were, the others are whole: nothing leaves its device.

    Raises
    ------
    LayoutError
        For an axis that does not divide into equal chunks, a mesh that contradicts `x`, a spec that does not fit, a
        value of a jitted program without a visible chunking and without `spec`, or a call inside ``shard_map``.
    TypeError
        For elements that are no numbers.

    See Also
    --------
    global_view : The inverse.

    Notes
    -----
    No communication. As a step of a larger jitted program no copy either; alone and with ``overwrite_x=False`` the one
    copy from argument to result.

    Examples
    --------
    >>> import numpy as np, tpufft
    >>> from jax.sharding import Mesh, PartitionSpec as P
    >>> import jax
    >>> mesh = Mesh(np.array(jax.devices()[:2]), ("x",))
    >>> tpufft.local_view(np.arange(6), mesh, spec=P("x")).tolist()
    [[0, 1, 2], [3, 4, 5]]
    """
    array = as_array(x)
    layout = layout_of_argument("local_view", array, mesh, spec, guesses=False)
    if not layout.is_even:
        axis = next(axis for axis, amount in enumerate(layout.padding) if amount)
        raise LayoutError(
            f"axis {axis} of x, of length {layout.shape[axis]}, does not divide into {layout.parts[axis]} equal chunks "
            f"on {layout.describe()}; views need a multiple of {layout.parts[axis]}"
        )
    return run_fixed(_opened(layout.rank), array, layout, donate=overwrite_x)  # type: ignore[return-value]


def global_view(
    v: Argument, mesh: Mesh | None = None, *, spec: SpecLike | None = None, overwrite_x: bool = False
) -> jax.Array:
    r"""Show an array of chunks as the global array that they make up: the inverse of :func:`local_view`.

    .. math:: x_{q_0 n_0 + j_0, \dots, q_{r-1} n_{r-1} + j_{r-1}} = v_{q_0 \dots q_{r-1}\, j_0 \dots j_{r-1}}

    Parameters
    ----------
    v : array
        Of shape :math:`(P_0, P_1, \dots, n_0, n_1, \dots)` and any dtype; the first half of its axes counts chunks.
    mesh : jax.sharding.Mesh, optional
        As in :func:`local_view`.
    spec : PartitionSpec, optional
        How the *result* is chunked, as for :func:`local_view`: axis `i` over mesh axes of :math:`P_i` devices together.
        Default: as the chunk axes of `v` show; where `v` is on one device, the first axis over all mesh axes.
    overwrite_x : bool, default False
        Take over the buffers of `v`, which is deleted. Ignored under tracing.

    Returns
    -------
    jax.Array
        Of shape :math:`(P_0 n_0, P_1 n_1, \dots)`; nothing leaves its device.

    Raises
    ------
    LayoutError
        For an odd number of axes, chunk axes that are not as long as their mesh axes have devices, and as
        :func:`local_view` does.
    TypeError
        For elements that are no numbers.

    Notes
    -----
    As in :func:`local_view`.

    Examples
    --------
    >>> import jax, numpy as np, tpufft
    >>> from jax.sharding import Mesh, PartitionSpec as P
    >>> mesh = Mesh(np.array(jax.devices()[:2]), ("x",))
    >>> tpufft.global_view(np.array([[0, 1, 2], [3, 4, 5]]), mesh, spec=P("x")).tolist()
    [0, 1, 2, 3, 4, 5]
    """
    array = as_array(v, "v")
    if array.ndim % 2:
        raise LayoutError(
            f"v of shape {tuple(array.shape)} has {array.ndim} axes; a view has one chunk axis for every array axis"
        )
    shown = layout_of_argument("global_view", array, mesh, spec, guesses=False)
    layout = _view_layout(array, shown, None if spec is None else normalize_spec(spec, array.ndim // 2, shown.mesh))
    return run_fixed(_closed(array.ndim // 2), array, layout, donate=overwrite_x)  # type: ignore[return-value]


def _view_layout(v: jax.Array | np.ndarray | ChunkedArray, shown: Layout, spec: Any) -> Layout:
    """The layout of a view: chunk axes over as many devices as they have entries, the others whole."""
    rank = len(v.shape) // 2
    names = shown.spec[:rank] if spec is None else spec
    for axis, (split, count) in enumerate(zip(names, v.shape[:rank], strict=True)):
        devices = mesh_size(shown.mesh, split)
        if count != devices:
            raise LayoutError(
                f"axis {axis} of v counts {count} chunks, but the mesh axes {split or '()'} that split it have "
                f"{devices} devices on {shown.describe()}; right is {devices}, or another spec="
            )
    return Layout.of(v.shape, shown.dtype, shown.mesh, tuple(names))


@functools.lru_cache(maxsize=64)
def _opened(rank: int) -> tuple[OpenChunks, ...]:
    return tuple(OpenChunks(2 * axis, axis) for axis in range(rank))


@functools.lru_cache(maxsize=64)
def _closed(rank: int) -> tuple[CloseChunks, ...]:
    return tuple(CloseChunks(2 * axis, axis) for axis in reversed(range(rank)))
