"""One call as data: what is static of it, what comes out of it, and how it reads in messages."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray

from tpufft.chunked import check_is_array
from tpufft.comm.mpi.world import communicator

Op: TypeAlias = str | Callable[[Any, Any], Any]

# Their first operand has a row for every rank; their result has.
ROWS_IN = ("scatter", "alltoall")
ROWS_OUT = ("gather", "allgather", "alltoall")
LINEAR = ("sendrecv", "bcast", "reduce", "allreduce")
WORDS = "allreduce, reduce (op='sum'), bcast, sendrecv, keep and vary"


@dataclass(frozen=True)
class Call:
    """What is static of one call; processes that take part in it need not have the same.

    `dest` and `source` are ranks, or None for nobody; `source` and `recvtag` may be -1 for any. The first `sent`
    operands are what a ``sendrecv`` sends, the others what it has where it receives nothing. `batch` counts the axes
    that ``vmap`` put before all others (but behind rows). `place` says which of how many arrays of a pytree it is for.
    """

    function: str
    comm: int
    size: int
    dest: int | None = None
    source: int | None = None
    sendtag: int = 0
    recvtag: int = 0
    root: int = 0
    op: Op = "sum"
    sent: int = 0
    status: bool = False
    batch: int = 0
    derivative: bool = False
    place: str = ""

    @property
    def is_linear(self) -> bool:
        """Whether it has derivatives."""
        return self.function in LINEAR and self.op == "sum"

    def values(self, operands: Sequence[Any]) -> tuple[tuple[tuple[int, ...], Any], ...]:
        """Shape and dtype of every value that comes out, status aside."""
        if self.function in ("send", "barrier"):
            return (((), np.dtype(np.int32)),)
        shapes = []
        for x in operands[self.sent :]:
            shape = tuple(x.shape[1:]) if self.function in ROWS_IN else tuple(x.shape)
            shapes.append(((self.size, *shape) if self.function in ROWS_OUT else shape, x.dtype))
        return tuple(shapes)

    def results(self, operands: Sequence[Any]) -> tuple[ShapedArray, ...]:
        """Types of all that comes out: values, and source, tag and count where a status is asked for."""
        status = [((), np.dtype(np.int32))] * (3 if self.status else 0)
        return tuple(ShapedArray(shape, dtype) for shape, dtype in (*self.values(operands), *status))

    @property
    def name(self) -> str:
        """The call as messages name it."""
        return f"derivative of {self.function}" if self.derivative else self.function

    def described(self, operands: Sequence[Any]) -> str:
        """The call as all ranks of a collective must have it, in one line."""
        words = [self.name, *map(kind, operands), *([self.place] if self.place else [])]
        if self.function in ("bcast", "scatter", "gather", "reduce"):
            words.append(f"root={self.root}")
        if self.function in ("reduce", "allreduce", "scan"):
            words.append(f"op={self.op if isinstance(self.op, str) else getattr(self.op, '__qualname__', 'callable')}")
        return " ".join(words)


def call(function: str, comm: int, **options: Any) -> Call:
    """A call on the processes of a communicator."""
    return Call(function, comm, communicator(comm).Get_size(), **options)


def for_each(made: Call, function: Callable[[Call, Any], Any], x: Any) -> Any:
    """A call for every array of a pytree; where processes give more and fewer arrays, they see that they differ."""
    leaves, tree = jax.tree.flatten(x)
    places = [f"(array {number} of {len(leaves)})" if len(leaves) > 1 else "" for number in range(1, len(leaves) + 1)]
    calls = [dataclasses.replace(made, place=place) for place in places]
    return jax.tree.unflatten(tree, list(map(function, calls, leaves)))


def kind(x: Any) -> str:
    """Dtype and shape, as ``float32[3,4]``."""
    return f"{np.dtype(x.dtype).name}[{','.join(map(str, x.shape))}]"


def operand(x: Any, function: str) -> jax.Array:
    """An array to send, or one that stands for what is received; a ``ShapeDtypeStruct`` does as well.

    Raises
    ------
    TypeError
        For random keys, which have no bytes of their own.
    """
    check_is_array(x, f"tpufft.comm.mpi.{function}")
    x = jnp.zeros(x.shape, x.dtype) if isinstance(x, jax.ShapeDtypeStruct) else jnp.asarray(x)
    if jnp.issubdtype(x.dtype, jax.dtypes.extended):
        raise TypeError(f"{function} of {x.dtype}: send jax.random.key_data(key) and use jax.random.wrap_key_data")
    return x
