"""Plans by a transform's public name and options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jax.sharding import Mesh

from tpufft.layout import SpecLike
from tpufft.meshes import context_mesh, default_mesh
from tpufft.planning import (
    HANKELS,
    KINDS,
    SHIFTS,
    TRANSFORMS,
    Plan,
    Problem,
    asked_dtype,
    check_shape,
    check_word,
    hankel_problem,
    make_plan,
    shift_problem,
    transform_problem,
)
from tpufft.transforms import call

COMMON = ("norm", "order", "method", "kernel", "precision")
TRIGONOMETRIC = ("cosine", "sine")


def plan(
    transform: str,
    shape: Sequence[int],
    dtype: Any = None,
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
        The name of a transform or a shift, such as ``fft``, ``irfftn``, ``dct``, ``fht``, ``fftshift``.
    shape : sequence of int
        Of the input.
    dtype : dtype, optional
        Of the input. What needs 64-bit types where JAX has none is an error. Default: float32 for transforms of real
        numbers, cosine and sine transforms included, else complex64.
    mesh : jax.sharding.Mesh, optional
        The devices. Default: the mesh set by ``jax.set_mesh``, else all devices.
    spec, out_spec : PartitionSpec, optional
        As in :func:`fft`.
    overwrite_x : bool, default False
        Plan calls that donate their argument.
    **options
        The transform's own: ``n axis`` or ``s axes``, ``norm order method kernel precision``, ``type orthogonalize``,
        ``dln mu offset bias``.

    Returns
    -------
    Plan
        Callable; prints its steps, predicts its time, counts its bytes, lowers and compiles.

    Raises
    ------
    ValueError, TypeError, LayoutError
        As the transform itself does; a TypeError for an option that it does not have.

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
    shape = check_shape(shape)
    named = _default_dtype(transform) if dtype is None else asked_dtype(dtype)
    problem = _problem(transform, shape, named, options)
    request = call.request(problem, mesh or context_mesh() or default_mesh(), spec, out_spec)
    return make_plan(request, overwrite_x=overwrite_x)


def _default_dtype(transform: str) -> np.dtype:
    real = transform in HANKELS or (transform in KINDS and KINDS[transform].family in ("to complex", *TRIGONOMETRIC))
    return np.dtype(np.float32 if real else np.complex64)


def _problem(transform: str, shape: tuple[int, ...], dtype: np.dtype, options: dict[str, Any]) -> Problem:
    """What the name and its options mean, as the function of that name has them."""
    if transform in SHIFTS:
        _check_options(transform, options, ("axes",))
        return shift_problem(transform, shape, dtype, options.get("axes"))
    if transform in HANKELS:
        _check_options(transform, options, ("dln", "mu", "offset", "bias", *COMMON[1:]), needed=("dln", "mu"))
        return hankel_problem(transform, shape, dtype, **{"offset": 0.0, "bias": 0.0, **options})
    kind = KINDS[transform]
    own = ("n", "axis") if kind.axes == "one" else ("s", "axes")
    words = (*COMMON, "type", "orthogonalize") if kind.family in TRIGONOMETRIC else COMMON
    _check_options(transform, options, (*own, *words))
    if kind.axes == "one":
        sizes, axes = (options.get("n"),), (options.get("axis", -1),)
    else:
        sizes, axes = options.get("s"), options.get("axes", (-2, -1) if kind.axes == "two" else None)
    rest = {word: value for word, value in options.items() if word in words}
    return transform_problem(transform, shape, dtype, sizes=sizes, axes=axes, **rest)


def _check_options(
    transform: str, options: dict[str, Any], known: tuple[str, ...], needed: tuple[str, ...] = ()
) -> None:
    unknown, missing = sorted(set(options) - set(known)), sorted(set(needed) - set(options))
    if unknown:
        raise TypeError(f"{transform} takes {', '.join(known)}, not {', '.join(unknown)}")
    if missing:
        raise TypeError(f"{transform} needs {', '.join(missing)}")
