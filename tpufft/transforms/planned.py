"""Plans by a transform's public name and options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jax.sharding import Mesh

from tpufft.layout import SpecLike
from tpufft.planning import (
    TRANSFORMS,
    Plan,
    Problem,
    asked_dtype,
    check_word,
    default_mesh,
    make_plan,
    shift_problem,
    transform_problem,
)
from tpufft.transforms import call


def plan(
    transform: str,
    shape: Sequence[int],
    dtype: Any = np.complex64,
    mesh: Mesh | None = None,
    *,
    spec: SpecLike | None = None,
    out_spec: SpecLike | None = None,
    overwrite_x: bool = False,
    **options: Any,
) -> Plan:
    """Plan a transform without running it.

    Parameters
    ----------
    transform : str
        ``fft ifft fft2 ifft2 fftn ifftn fftshift ifftshift``.
    shape : sequence of int
        Of the input.
    dtype : dtype, default complex64
        Of the input. What needs 64-bit types where JAX has none is an error.
    mesh : jax.sharding.Mesh, optional
        The devices. Default: the mesh set by ``jax.set_mesh``, else all devices.
    spec, out_spec : PartitionSpec, optional
        As in :func:`fft`.
    overwrite_x : bool, default False
        Plan calls that donate their argument.
    **options
        The transform's own: ``n axis`` or ``s axes``, ``norm order method kernel precision``.

    Returns
    -------
    Plan
        Callable; prints its steps, predicts its time, counts its bytes, lowers and compiles.

    Raises
    ------
    ValueError, TypeError, LayoutError
        As the transform itself does.

    Notes
    -----
    Searches over layouts on the host; no device works.

    Examples
    --------
    >>> import numpy as np, tpufft
    >>> plan = tpufft.plan("fftn", (16, 16), np.complex64, axes=(1,))
    >>> len(plan.steps)
    1
    """
    check_word("transform", transform, TRANSFORMS)
    shape = _checked_shape(shape)
    named = asked_dtype(dtype)
    problem = _shift_options(transform, shape, named, options) if "shift" in transform else None
    if problem is None:
        problem = _problem_from_options(transform, shape, named, options)
    request = call.request(problem, mesh or call.context_mesh() or default_mesh(), spec, out_spec)
    return make_plan(request, overwrite_x=overwrite_x)


def _checked_shape(shape: Sequence[int]) -> tuple[int, ...]:
    if not isinstance(shape, Sequence | np.ndarray) or isinstance(shape, str):
        raise TypeError(f"shape={shape!r} is no sequence of sizes; give one such as ({shape!r},)")
    for size in shape:
        if not hasattr(size, "__index__"):
            raise TypeError(f"shape={tuple(shape)}: the size {size!r} is no integer")
        if size < 0:
            raise ValueError(f"shape={tuple(shape)}: the size {size} is negative")
    return tuple(int(size) for size in shape)


def _shift_options(transform: str, shape: tuple[int, ...], dtype: np.dtype, options: dict[str, Any]) -> Problem:
    unknown = set(options) - {"axes"}
    if unknown:
        raise TypeError(f"{transform} takes axes=, not {', '.join(sorted(unknown))}")
    return shift_problem(transform, shape, dtype, options.get("axes"))


def _problem_from_options(transform: str, shape: tuple[int, ...], dtype: np.dtype, options: dict[str, Any]) -> Problem:
    one = transform in ("fft", "ifft")
    own = {"n", "axis"} if one else {"s", "axes"}
    unknown = set(options) - own - {"norm", "order", "method", "kernel", "precision"}
    if unknown:
        raise TypeError(f"{transform} takes {', '.join(sorted(own))} and the common options, not {sorted(unknown)}")
    if one:
        sizes, axes = (options.get("n"),), (options.get("axis", -1),)
    else:
        sizes, axes = options.get("s"), options.get("axes", (-2, -1) if transform.endswith("2") else None)
    common = {key: value for key, value in options.items() if key not in own}
    return transform_problem(transform, shape, dtype, sizes=sizes, axes=axes, **common)
