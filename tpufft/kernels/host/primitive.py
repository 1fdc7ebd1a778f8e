"""The call of the handler as a JAX primitive: linear, differentiable both ways, batched by one more axis."""

from __future__ import annotations

import contextlib
import contextvars
import functools
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from tpufft.kernels import halves, xla
from tpufft.kernels.host.problem import TARGET, Kind, problem
from tpufft.meshes import host_cores

host_p = Primitive(TARGET)

LEAST_SHARED = 1 << 16
"""Numbers from which on one call is worth several threads."""

_kept = contextvars.ContextVar[tuple[jax.Array, ...]]("tpufft_host_kept", default=())
_exports_calls = contextvars.ContextVar("tpufft_host_exports_calls", default=False)


def call(x: jax.Array, kind: Kind, axes: tuple[int, ...], length: int, inverse: bool, scale: float) -> jax.Array:
    """The library's unnormalised transform times `scale`, of an array with no empty axis.

    Parameters
    ----------
    x : jax.Array
        As `kind` has it.
    kind : Kind
        ``C2C``, or ``R2C`` (sign minus) or ``C2R`` (sign plus) along one axis.
    axes : tuple of int
        From the front; at most three.
    length : int
        Of a real axis on its real side; 0 for ``C2C``.
    inverse : bool
        Sign plus; for ``C2C``.
    scale : float
        A factor on all of it.
    """
    in_place = kind == Kind.C2C and not any(x is other for other in _kept.get())
    return host_p.bind(x, kind=kind, axes=axes, length=length, inverse=inverse, scale=scale, in_place=in_place)


@contextlib.contextmanager
def kept(arrays: Sequence[jax.Array]) -> Iterator[None]:
    """Within it, calls do not overwrite `arrays`, which saves a copy where they are arguments of the program."""
    token = _kept.set(tuple(arrays))
    try:
        yield
    finally:
        _kept.reset(token)


@contextlib.contextmanager
def exported_calls() -> Iterator[None]:
    """Within it, ``jax.export`` keeps calls of the library; without it, it writes the compiler's FFT instead.

    An exported program is meant for any machine, and one that calls the library runs only where a process has called
    :func:`tpufft.kernels.host.register`. JAX has to be told, too, that the call is known:
    ``disabled_checks=[jax.export.DisabledSafetyCheck.custom_call(tpufft.kernels.host.TARGET)]``.
    """
    token = _exports_calls.set(True)
    try:
        yield
    finally:
        _exports_calls.reset(token)


def _abstract(x: Any, *, kind: Kind, axes: tuple[int, ...], length: int, **parameters: Any) -> Any:
    del parameters
    if kind == Kind.C2C:
        return x.update()
    shape = list(x.shape)
    shape[axes[0]] = length // 2 + 1 if kind == Kind.R2C else length
    precision = x.dtype.itemsize if kind == Kind.R2C else x.dtype.itemsize // 2
    number = np.dtype(f"c{2 * precision}" if kind == Kind.R2C else f"f{precision}")
    return x.update(shape=tuple(shape), dtype=number)


def _impl(x: Any, **parameters: Any) -> Any:
    return jax.jit(functools.partial(host_p.bind, **parameters))(x)


def _lower(
    ctx: mlir.LoweringRuleContext,
    operand: Any,
    *,
    kind: Kind,
    axes: tuple[int, ...],
    length: int,
    inverse: bool,
    scale: float,
    in_place: bool,
) -> Sequence[Any]:
    if ctx.module_context.lowering_parameters.for_export and not _exports_calls.get():
        portable = functools.partial(_portable, kind=kind, axes=axes, length=length, inverse=inverse, scale=scale)
        return mlir.lower_fun(portable, multiple_results=False)(ctx, operand)
    # Imports numba, which takes a second; UnavailableError was the planner's to find.
    from tpufft.kernels.host.handler import register

    register()
    source: Any
    target: Any
    (source,), (target,) = ctx.avals_in, ctx.avals_out
    real = source if kind == Kind.R2C else target
    double = source.dtype.itemsize == (8 if kind == Kind.R2C else 16)
    given = problem(kind, real.shape, axes, double=double, inverse=inverse, scale=scale)
    row = given.words(_threads(ctx) if real.size >= LEAST_SHARED else 1)
    # Where the operand is needed later, the compiler copies it.
    aliases = {0: 0} if in_place else {}
    return jax.ffi.ffi_lowering(TARGET, operand_output_aliases=aliases)(ctx, operand, problem=row)


def _portable(
    x: jax.Array, *, kind: Kind, axes: tuple[int, ...], length: int, inverse: bool, scale: float
) -> jax.Array:
    """The same by the compiler's own FFT."""
    if kind == Kind.C2C:
        return xla.transform(x, axes, inverse=inverse, scale=scale, precision=None)
    return xla.r2c(x, axes, scale) if kind == Kind.R2C else xla.c2r(x, axes, length, scale)


def _threads(ctx: mlir.LoweringRuleContext) -> int:
    """A device's share of the cores: the devices of a program all run at once."""
    context: Any = ctx.module_context.axis_context
    mesh = getattr(context, "mesh", None)
    devices = mesh.size if mesh is not None else getattr(context, "num_devices", 1)
    return max(1, host_cores() // max(1, devices))


def _transpose(ct: Any, x: Any, **parameters: Any) -> list[Any]:
    """The matrix transposed, without conjugation, as JAX has it for complex numbers."""
    if type(ct) is ad.Zero:
        return [ad.Zero(x.aval)]
    kind, (axis, *_), length = parameters["kind"], parameters["axes"], parameters["length"]
    if kind == Kind.C2C:
        return [host_p.bind(ct, **parameters)]
    if kind == Kind.R2C:
        factors = halves.along(1.0 / halves.weights(length), axis, ct.real)
        return [host_p.bind(ct.conj() * factors, **parameters | {"kind": Kind.C2R})]
    y = host_p.bind(ct, **parameters | {"kind": Kind.R2C}).conj()
    return [y * halves.along(halves.weights(length), axis, y.real)]


def _batch(arguments: Any, dimensions: Any, **parameters: Any) -> tuple[Any, int]:
    (x,), (dimension,) = arguments, dimensions
    axes = tuple(axis + (axis >= dimension) for axis in parameters["axes"])
    return host_p.bind(x, **parameters | {"axes": axes}), dimension


host_p.def_impl(_impl)
host_p.def_abstract_eval(_abstract)
mlir.register_lowering(host_p, _lower, platform="cpu")
ad.deflinear2(host_p, _transpose)
batching.primitive_batchers[host_p] = _batch
