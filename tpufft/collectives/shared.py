"""The exchange between CPU devices of one process: each copies its part from where the others have it.

Memory is read once and written once. The compiler's all-to-all packs, sends and unpacks, which is three times as much.
"""

from __future__ import annotations

import contextlib
import contextvars
import importlib.util
import itertools
import math
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import Primitive
from jax.interpreters import mlir

from tpufft import native
from tpufft.collectives.varying import make_varying, varying_axes
from tpufft.collectives.wire import axis_name
from tpufft.layout import AxisNames

shared_exchange_p = Primitive("tpufft_shared_exchange")

_numbers = contextvars.ContextVar[Iterator[int] | None]("tpufft_shared_numbers", default=None)


def is_there() -> bool:
    """Whether this process can have it: it needs numba, and a POSIX system."""
    return sys.platform.startswith(("linux", "darwin")) and importlib.util.find_spec("numba") is not None


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Within it, programs are traced of which one at a time will run, so that all devices come to each exchange.

    Several at once could take each other's threads and wait for ever, as forced host devices can; the compiler keeps
    only its own collectives from that.
    """
    token = _numbers.set(itertools.count())
    try:
        yield
    finally:
        _numbers.reset(token)


def is_alone() -> bool:
    """Whether the program that is traced runs alone."""
    return _numbers.get() is not None


def shared_exchange(x: jax.Array, names: AxisNames, source: int, target: int, others: AxisNames) -> jax.Array:
    """As ``exchange``, for CPU devices of one process, in a program that runs :func:`alone`.

    Parameters
    ----------
    x : array
        This device's chunk.
    names : tuple of str
        The mesh axes along which is exchanged.
    source, target : int
        The axis that becomes whole, and the one that is split.
    others : tuple of str
        The mesh's other axes, which tell groups of devices apart.
    """
    numbers = _numbers.get()
    if numbers is None:
        raise RuntimeError("a shared exchange is for programs that run alone")
    index, group = (lax.axis_index(axis_name(axes)) if axes else jnp.zeros((), np.int32) for axes in (names, others))
    place = make_varying(jnp.stack([index.astype(np.int32), group.astype(np.int32)]), tuple(varying_axes(x)))
    count = lax.axis_size(axis_name(names))
    return shared_exchange_p.bind(x, place, count=count, source=source, target=target, number=next(numbers))


def row(shape: Sequence[int], itemsize: int, count: int, source: int, target: int) -> list[int]:
    """Loops, strides and shifts of the copy, in bytes, as ``native.meeting`` has them behind the first two words.

    Parameters
    ----------
    shape : sequence of int
        Of the chunk before.
    itemsize : int
        Bytes of an element.
    count : int
        Devices of a group.
    source, target : int
        The axis that becomes whole, and the one that is split.
    """
    first, second = sorted((source, target))
    outer = math.prod(shape[:first])
    between, behind = math.prod(shape[first + 1 : second]), math.prod(shape[second + 1 :]) * itemsize
    size = math.prod(shape[first:]) * itemsize
    if target < source:
        # (count m, between, n, behind) becomes (m, between, count n, behind).
        run = shape[source] * behind
        inner = shape[target] // count * between
        return [outer, size, size, inner, run, count * run, run, inner * run, run]
    # (n, between, count m, behind) becomes (count n, between, m, behind).
    run = shape[target] // count * behind
    inner = shape[source] * between
    return [outer, size, size, inner, count * run, run, run, run, inner * run]


def _abstract(x: Any, place: Any, *, count: int, source: int, target: int, number: int) -> Any:
    del place, number
    shape = list(x.shape)
    shape[target] //= count
    shape[source] *= count
    return x.update(shape=tuple(shape))


def _lower(
    ctx: mlir.LoweringRuleContext, x: Any, place: Any, *, count: int, source: int, target: int, number: int
) -> Sequence[Any]:
    # Imports numba.
    from tpufft.native import meeting

    meeting.register()
    given: Any = ctx.avals_in[0]
    words = [number, count, *row(given.shape, given.dtype.itemsize, count, source, target)]
    return jax.ffi.ffi_lowering(native.SHARED_EXCHANGE, has_side_effect=True)(
        ctx, x, place, exchange=np.array(words, np.int64)
    )


shared_exchange_p.def_abstract_eval(_abstract)
mlir.register_lowering(shared_exchange_p, _lower, platform="cpu")
