"""The primitive behind every call: an ordered effect, so that it happens once, in its place, used or not.

In reverse mode the calls of the transposed program come in the reverse order on all processes, for every linear call
that was made, whether its result was used or not: what one process sends another one awaits.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray
from jax.experimental import io_callback
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from tpufft.comm.mpi.call import ROWS_IN, ROWS_OUT, WORDS, Call
from tpufft.comm.mpi.call import call as make_call
from tpufft.comm.mpi.host import perform

message_p = Primitive("tpufft_mpi")
message_p.multiple_results = True
vary_p = Primitive("tpufft_mpi_vary")


def bind(call: Call, *operands: jax.Array) -> list[jax.Array]:
    """Make a call."""
    return message_p.bind(*operands, call=call)


@functools.cache
def _effects() -> frozenset[Any]:
    """The effect of ordered callbacks, which JAX shows in the type of a function that has one."""
    zero = jax.ShapeDtypeStruct((), np.float32)
    traced = jax.make_jaxpr(lambda x: io_callback(lambda value: value, zero, x, ordered=True))(zero)
    return frozenset(traced.effects)


# -- evaluation ------------------------------------------------------------------------------------------------------


def _abstract(*operands: ShapedArray, call: Call) -> tuple[Sequence[ShapedArray], frozenset[Any]]:
    return call.results(operands), _effects()


def _lowered(*operands: jax.Array, call: Call) -> Sequence[jax.Array]:
    return io_callback(functools.partial(perform, call), call.results(operands), *operands, ordered=True)


@functools.lru_cache(maxsize=1024)
def _program(call: Call) -> Callable[..., list[jax.Array]]:
    return jax.jit(functools.partial(bind, call))


def _impl(*operands: jax.Array, call: Call) -> list[jax.Array]:
    # A process' own MPI calls come before and after, so an eager call has ended when it returns.
    return jax.block_until_ready(_program(call)(*map(_on_one_device, operands)))


def _on_one_device(x: Any) -> Any:
    devices = sorted(getattr(getattr(x, "sharding", None), "device_set", ()), key=lambda device: device.id)
    return jax.device_put(x, devices[0]) if len(devices) > 1 else x


message_p.def_impl(_impl)
message_p.def_effectful_abstract_eval(_abstract)
mlir.register_lowering(message_p, mlir.lower_fun(_lowered, multiple_results=True), cacheable=False)


# -- derivatives -----------------------------------------------------------------------------------------------------


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, call: Call) -> tuple[Any, Any]:
    if not call.is_linear:
        raise TypeError(f"tpufft.comm.mpi.{call.function} has no derivative; {WORDS} have")
    results = bind(call, *primals)
    smooth = [jnp.issubdtype(x.dtype, jnp.inexact) for x in primals]
    inner = dataclasses.replace(call, status=False, sent=sum(smooth[: call.sent]), derivative=True)
    # Zeros travel too: another process may await them.
    moved = iter(
        bind(inner, *(ad.instantiate_zeros(dx) for dx, is_smooth in zip(tangents, smooth, strict=True) if is_smooth))
    )
    out = [next(moved) if jnp.issubdtype(y.dtype, jnp.inexact) else ad.Zero.from_primal_value(y) for y in results]  # pyright: ignore[reportAttributeAccessIssue]
    return results, out


def _transpose(cotangents: Sequence[Any], *operands: Any, call: Call) -> list[Any]:
    cotangents = [ad.instantiate_zeros(ct) for ct in cotangents]
    if call.function == "allreduce":
        return [vary(ct, call.comm) for ct in cotangents]
    if call.function in ("bcast", "reduce"):
        back = "reduce" if call.function == "bcast" else "bcast"
        return bind(dataclasses.replace(call, function=back, derivative=True), *cotangents)
    if call.source == -1:
        raise TypeError("tpufft.comm.mpi.sendrecv from any source has no derivative in reverse mode: give its source")
    templates = [jnp.zeros(x.aval.shape, x.aval.dtype) for x in operands[: call.sent]]
    back = dataclasses.replace(
        call,
        dest=call.source,
        source=call.dest,
        sendtag=max(call.recvtag, 0),
        recvtag=-1,
        sent=len(cotangents),
        derivative=True,
    )
    # What was received came from another process; only a rank that received nothing had its own.
    own = [jnp.zeros_like(ct) if call.source is not None else ct for ct in cotangents]
    return [*bind(back, *cotangents, *templates), *own]


ad.primitive_jvps[message_p] = _jvp
ad.primitive_transposes[message_p] = _transpose


# -- vmap ------------------------------------------------------------------------------------------------------------


def _batch(operands: Sequence[Any], dims: Sequence[int | None], *, call: Call) -> tuple[list[Any], list[int | None]]:
    """A batch is one message: its axis comes first, or behind the rows."""
    count = next(x.shape[dim] for x, dim in zip(operands, dims, strict=True) if dim is not None)
    place = 1 if call.function in ROWS_IN else 0

    def moved(x: jax.Array, dim: int | None) -> jax.Array:
        if dim is None:
            return jnp.broadcast_to(jnp.expand_dims(x, place), (*x.shape[:place], count, *x.shape[place:]))
        return jnp.moveaxis(x, dim, place)

    results = bind(dataclasses.replace(call, batch=call.batch + 1), *map(moved, operands, dims))
    out = None if call.function in ("send", "barrier") else 1 if call.function in ROWS_OUT else 0
    values = len(results) - 3 * call.status
    return results, [out] * values + [None] * (len(results) - values)


batching.primitive_batchers[message_p] = _batch


# -- the identity whose transpose is a sum ---------------------------------------------------------------------------


def vary(x: jax.Array, comm: int) -> jax.Array:
    """The same value; its cotangent is summed over the processes of a communicator."""
    return vary_p.bind(x, comm=comm)


def _vary_lowered(context: Any, x: Any, *, comm: int) -> list[Any]:
    del comm
    context.set_tokens_out(context.tokens_in)
    return [x]


def _vary_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, comm: int) -> tuple[Any, Any]:
    return vary(primals[0], comm), vary(tangents[0], comm)


def _vary_batch(operands: Sequence[Any], dims: Sequence[int | None], *, comm: int) -> tuple[Any, int | None]:
    return vary(operands[0], comm), dims[0]


def _vary_transpose(cotangent: Any, x: Any, *, comm: int) -> list[jax.Array]:
    del x
    total = make_call("allreduce", comm, derivative=True)
    return bind(total, ad.instantiate_zeros(cotangent))


# An effect, though nothing happens: the transposed sum must happen on all processes, also where nothing uses the value.
vary_p.def_impl(lambda x, comm: x)
vary_p.def_effectful_abstract_eval(lambda x, comm: (x, _effects()))
mlir.register_lowering(vary_p, _vary_lowered)
ad.primitive_jvps[vary_p] = _vary_jvp
ad.primitive_transposes[vary_p] = _vary_transpose
batching.primitive_batchers[vary_p] = _vary_batch
