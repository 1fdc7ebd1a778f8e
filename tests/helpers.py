"""Meshes, chunkings and options that the tests of the transforms share, and the check of what comes back."""

from __future__ import annotations

import itertools
import math
import os
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import jax
import jax.monitoring
import jax.numpy as jnp
import numpy as np
import oracle
import pytest
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import tpufft
from tpufft.kernels import host
from tpufft.layout import Layout
from tpufft.planning.hlo import executed_collectives

MESHES = {
    "x8": ((8,), ("x",)),
    "x4y2": ((4, 2), ("x", "y")),
    "x2y2z2": ((2, 2, 2), ("x", "y", "z")),
    "x2a1z4": ((2, 1, 4), ("x", "a", "z")),
    "x1": ((1,), ("x",)),
}
AUTO, EXPLICIT = AxisType.Auto, AxisType.Explicit
AXIS_TYPES = (AUTO, EXPLICIT)
TYPE_IDS = ("auto", "explicit")
TRANSFORMS = ("fft", "ifft", "fft2", "ifft2", "fftn", "ifftn")
NORMS = (None, "backward", "ortho", "forward")
METHODS = ("auto", "exchange", "ring")
KERNELS = ("auto", "xla", "matmul", *(("host",) if host.missing() is None else ()))
DTYPES = ("complex64", "complex128", "float32", "float64", "float16", "int32", "bool")


def mesh_of(name: str, axis_type: AxisType = AUTO) -> Mesh:
    """One of :data:`MESHES`."""
    sizes, names = MESHES[name]
    devices = jax.devices()[: math.prod(sizes)]
    return jax.make_mesh(sizes, names, axis_types=(axis_type,) * len(names), devices=devices)


@dataclass(frozen=True)
class Case:
    """An array's shape and how it is chunked."""

    mesh: str
    spec: P
    shape: tuple[int, ...]

    def sharding(self, axis_type: AxisType = AUTO) -> NamedSharding:
        return NamedSharding(mesh_of(self.mesh, axis_type), self.spec)


# Sizes leave every intermediate one even or not, as comes: 3 and 5 are there on purpose.
CASES = {
    "line": Case("x8", P("x"), (48,)),
    "line over two": Case("x4y2", P(("x", "y")), (40,)),
    "line over two, other order": Case("x4y2", P(("y", "x")), (64,)),
    "line over one of two": Case("x4y2", P("y"), (12,)),
    "rows": Case("x8", P("x"), (16, 6)),
    "columns": Case("x8", P(None, "x"), (5, 16)),
    "batch of lines": Case("x4y2", P("x", "y"), (4, 16)),
    "whole 2-D": Case("x4y2", P("x", "y"), (8, 6)),
    "rows over two": Case("x4y2", P(("y", "x"), None), (8, 16)),
    "columns over two": Case("x4y2", P(None, ("x", "y")), (3, 16)),
    "replicated over one": Case("x4y2", P("x"), (8, 4)),
    "slab": Case("x8", P("x"), (8, 4, 6)),
    "middle slab": Case("x8", P(None, "x"), (4, 8, 3)),
    "pencil": Case("x4y2", P("x", "y"), (8, 4, 6)),
    "last pencil": Case("x4y2", P(None, "y", "x"), (3, 4, 8)),
    "two on one of three": Case("x2y2z2", P(("z", "x"), "y"), (4, 6, 8)),
    "whole 3-D": Case("x2y2z2", P("x", "y", "z"), (4, 6, 2)),
    "size-1 axis": Case("x2a1z4", P("x", "a", "z"), (4, 3, 8)),
    "size-1 axis of several": Case("x2a1z4", P(("a", "z"), "x"), (8, 6)),
    "replicated": Case("x8", P(), (6, 5)),
    "mesh of one": Case("x1", P("x"), (5, 6)),
}


# Any length: prime, odd, fewer rows than devices, so that chunks are short or empty.
UNEVEN = {
    "prime line": Case("x8", P("x"), (17,)),
    "tiny line": Case("x8", P("x"), (5,)),
    "even line": Case("x8", P("x"), (48,)),
    "uneven line over two": Case("x4y2", P(("x", "y")), (27,)),
    "uneven rows": Case("x8", P("x"), (13, 6)),
    "uneven columns": Case("x8", P(None, "x"), (4, 11)),
    "uneven pencil": Case("x4y2", P("y", "x"), (5, 6, 3)),
    "whole and uneven": Case("x4y2", P("x", "y"), (7, 5)),
    "replicated": Case("x8", P(), (6, 5)),
    "mesh of one": Case("x1", P("x"), (5, 7)),
}


def some(names: Iterable[Any], kept: Callable[[int, Any], bool] = lambda number, _: number % 3 == 0) -> list[Any]:
    """Names of cases for ``parametrize``: all of them in ``make test-long``, those that are `kept` always."""
    return [
        pytest.param(name, marks=() if kept(number, name) else pytest.mark.long, id=str(name))
        for number, name in enumerate(names)
    ]


def random(shape: Sequence[int], dtype: Any = np.complex128, seed: int = 0) -> np.ndarray:
    """Normal numbers; small integers and bits where the dtype wants them."""
    dtype = np.dtype(dtype)
    rng = np.random.default_rng(seed)
    real = rng.standard_normal(tuple(shape))
    if dtype.kind == "b":
        return real > 0
    if dtype.kind in "iu":
        return np.abs(np.rint(9 * real)).astype(dtype)
    return (real + 1j * rng.standard_normal(tuple(shape)) if dtype.kind == "c" else real).astype(dtype)


def put(x: np.ndarray, case: Case, axis_type: AxisType = AUTO) -> jax.Array:
    """An array on the devices of a case."""
    return jax.device_put(x, case.sharding(axis_type))


def poisoned(chunked: Any) -> Any:
    """The same chunked array with NaN (the largest integer, True) in its padding, which nobody may read."""
    layout = chunked.layout
    kind = np.dtype(layout.dtype).kind
    poison = True if kind == "b" else np.iinfo(layout.dtype).max if kind in "iu" else np.nan
    stored = np.full(layout.stored_shape, poison + 1j * poison if kind == "c" else poison, layout.dtype)
    stored[tuple(slice(size) for size in layout.shape)] = chunked.to_numpy()
    return tpufft.ChunkedArray.from_data(jax.device_put(stored, layout.sharding), layout)


def place(x: np.ndarray, case: Case, axis_type: AxisType = AUTO) -> Any:
    """An array of any shape on the devices of a case: a jax.Array where it divides, else chunked and poisoned."""
    sharding = case.sharding(axis_type)
    if Layout.of(x.shape, x.dtype, sharding.mesh, case.spec).is_even:
        return jax.device_put(x, sharding)
    return poisoned(tpufft.chunk(x, sharding.mesh, case.spec))


def context(mesh: Mesh) -> Any:
    """What eager differentiation needs: nothing on an Auto mesh, ``jax.set_mesh`` on an Explicit one."""
    return jax.set_mesh(mesh) if EXPLICIT in mesh.axis_types else nullcontext()


def result_dtype(dtype: Any) -> np.dtype:
    """The dtype of a transform, as JAX promotes: what ``jnp.fft`` gives where it takes the dtype at all."""
    return np.dtype(np.complex128 if np.dtype(dtype) in (np.complex128, np.float64, np.int64) else np.complex64)


def result_dtype_of(name: str, dtype: Any) -> np.dtype:
    """The dtype of any transform's result: complex from what is complex, or real as the name says."""
    single = result_dtype(dtype) == np.complex64
    keeps = name in oracle.TRIGONOMETRIC + oracle.HANKEL and np.dtype(dtype).kind != "c"
    if keeps or name in oracle.COMPLEX_TO_REAL:
        return np.dtype(np.float32 if single else np.float64)
    return result_dtype(dtype)


def tolerance(dtype: Any, points: int) -> float:
    """The relative L2 error that rounding explains: a few units in the last place for each factor of two."""
    return float(jnp.finfo(dtype).eps * (2 + math.log2(max(points, 1))))


def error(got: Any, want: np.ndarray) -> float:
    """Relative L2 distance; absolute where nothing is expected."""
    got = np.asarray(got)
    difference = got.astype(np.result_type(got, want)) - want
    return float(np.linalg.norm(difference.ravel())) / (float(np.linalg.norm(want.ravel())) or 1.0)


def check_value(got: Any, want: np.ndarray, *, times: float = 1.0) -> None:
    """Shape and value, to what the dtype of `got` can hold; integers exactly."""
    assert got.shape == want.shape, f"shape {got.shape} instead of {want.shape}"
    if np.dtype(got.dtype).kind in "biu":
        np.testing.assert_array_equal(got, want)
        return
    relative, allowed = error(got, want), times * tolerance(got.dtype, want.size)
    assert relative <= allowed, f"relative L2 error {relative:.2e}, allowed {allowed:.2e}"


def check_chunks(got: Any, mesh: Mesh, spec: P) -> None:
    """That an array is chunked over this very mesh (its axis types too) by this spec, in equal contiguous chunks."""
    assert isinstance(got, jax.Array)
    assert isinstance(got.sharding, NamedSharding), got.sharding
    assert got.sharding.mesh == mesh, f"{got.sharding.mesh} instead of {mesh}"
    want = NamedSharding(mesh, spec)
    assert got.sharding.is_equivalent_to(want, got.ndim), f"{got.sharding.spec} instead of {spec}"
    for shard in got.addressable_shards:
        assert shard.data.shape == want.shard_shape(got.shape), f"a chunk of {shard.data.shape}"


def check(got: Any, want: np.ndarray, dtype: Any, mesh: Mesh, spec: P, *, times: float = 1.0) -> None:
    """Value, dtype, shape and chunking."""
    assert got.dtype == dtype, f"{got.dtype} instead of {dtype}"
    check_chunks(got, mesh, spec)
    check_value(got, want, times=times)


def check_result(got: Any, want: np.ndarray, dtype: Any, mesh: Mesh, spec: P, *, times: float = 1.0) -> None:
    """What the transform of a chunked array gives back: a jax.Array where its shape divides, else a ChunkedArray."""
    layout = Layout.of(want.shape, dtype, mesh, spec)
    if layout.is_even:
        check(got, want, dtype, mesh, spec, times=times)
        return
    check_chunked(got, layout)
    check_value(got.to_numpy(), want, times=times)


def check_chunked(got: Any, layout: Layout) -> None:
    """Kind, shape, dtype and chunking of a ChunkedArray: equal stored chunks of ceil(N / P) on the right devices."""
    assert isinstance(got, tpufft.ChunkedArray), type(got)
    assert (got.shape, got.dtype) == (layout.shape, layout.dtype)
    assert got.mesh == layout.mesh, f"{got.mesh} instead of {layout.mesh}"
    assert got.layout.parts == layout.parts, f"{got.layout} instead of {layout}"
    assert got.layout.stored_shape == layout.stored_shape, f"{got.layout} instead of {layout}"
    check_chunks(got.data, layout.mesh, layout.partition_spec)
    for shard in got.data.addressable_shards:
        assert shard.data.shape == layout.chunk_shape, f"a chunk of {shard.data.shape}"


def pairs(**factors: Sequence[Any]) -> list[dict[str, Any]]:
    """Few combinations in which every two values of two factors meet: the sample of a matrix too large to run.

    Greedy: of the pairs that have not met, one is taken, and the other factors get the values that meet most new pairs.
    """
    names = list(factors)

    def met(row: Mapping[str, Any]) -> Iterator[tuple]:
        for a, b in itertools.combinations(names, 2):
            if a in row and b in row:
                yield a, factors[a].index(row[a]), b, factors[b].index(row[b])

    missing = {
        (a, i, b, j): None
        for a, b in itertools.combinations(names, 2)
        for i, j in itertools.product(range(len(factors[a])), range(len(factors[b])))
    }
    use: Counter[tuple[str, int]] = Counter()
    rows = []
    while missing:
        a, i, b, j = next(iter(missing))
        row = {a: factors[a][i], b: factors[b][j]}
        for name in (other for other in names if other not in row):

            def gain(index: int, name: str = name, row: dict = row) -> tuple[int, int]:
                new = sum(pair in missing for pair in met({**row, name: factors[name][index]}))
                return new, -use[name, index]

            row[name] = factors[name][max(range(len(factors[name])), key=gain)]
        use.update((name, factors[name].index(value)) for name, value in row.items())
        for pair in met(row):
            missing.pop(pair, None)
        rows.append({name: row[name] for name in names})
    return rows


def options_of(name: str, shape: tuple[int, ...], which: str, size: str) -> dict[str, Any]:
    """Axes ("all", "first" or "last") and points ("own", "shorter" or "longer" than the argument) of a sample."""
    change = {"own": 0, "shorter": -1, "longer": 3}[size]
    if name in oracle.ONE_AXIS:
        axis = 0 if which == "first" else -1
        return {"axis": axis} if not change else {"axis": axis, "n": shape[axis] + change}
    axes = {"all": tuple(range(len(shape))), "first": (0,), "last": (-1,)}[which]
    if name in oracle.TWO_AXES and which == "all":
        axes = (-2, -1) if len(shape) > 1 else (0,)
    return {"axes": axes} if not change else {"axes": axes, "s": tuple(shape[axis] + change for axis in axes)}


def sample_id(row: Mapping[str, Any]) -> str:
    """A test's name for one combination."""
    return "-".join(getattr(value, "name", None) or str(value) for value in row.values())


def compiled(function: Callable[..., Any], *args: Any) -> tuple[Callable[..., Any], dict[str, int]]:
    """A jitted function's program for these arguments, and the collectives that it executes, from its HLO."""
    program = jax.jit(function).lower(*args).compile()
    return program, executed_collectives(program.as_text() or "")


def collectives(function: Callable[..., Any], *args: Any) -> dict[str, int]:
    """The collectives that a jitted function executes on these arguments."""
    return compiled(function, *args)[1]


def free_port() -> int:
    """A port of this machine that nobody listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def communicated(command: Sequence[str], environment: Mapping[str, str], limit: float) -> tuple[int, str, str]:
    """Exit status, output and error of a program of any number of processes; past the limit all are killed."""
    process = subprocess.Popen(
        command,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, error = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        # A process that hangs in a collective ignores everything milder.
        os.killpg(process.pid, signal.SIGKILL)
        out, error = process.communicate()
        pytest.fail(f"{command[-1][:200]!r} did not end within {limit} s; it printed {out!r} {error[-2000:]!r}")
    return process.returncode, out, error


@contextmanager
def counted_work() -> Iterator[Counter[str]]:
    """Counts of what JAX traces, lowers and compiles meanwhile, by the names of its monitoring events."""
    counts: Counter[str] = Counter()

    def listen(event: str, duration: float, **_: Any) -> None:
        if event.startswith("/jax/core/compile/"):
            counts[event.rsplit("/", 1)[1]] += 1

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        yield counts
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)


@contextmanager
def counted_calls() -> Iterator[list[int]]:
    """How many functions Python has called, in a list of one number: work told apart from the machine's load."""
    count, before = [0], sys.getprofile()

    def each(frame: Any, event: str, argument: Any) -> None:
        count[0] += event in ("call", "c_call")

    sys.setprofile(each)
    try:
        yield count
    finally:
        sys.setprofile(before)
