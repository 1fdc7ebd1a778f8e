"""Messages inside one program: values, derivatives, wire, mailbox and errors, on real and on fake devices."""

from __future__ import annotations

import functools
import gc
import itertools
import re
import threading
import weakref
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import AUTO, EXPLICIT, check_value, compiled, context, mesh_of, random
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from tpufft import LayoutError, comm
from tpufft.comm import mailbox

# Where a function of one device's value is run: on eight devices, or on fake ones.
SETTINGS = {"auto": 8, "explicit": 8, "vmap 8": 8, "vmap 64": 64}


def mesh_at(setting: str) -> jax.sharding.Mesh | None:
    return None if setting.startswith("vmap") else mesh_of("x8", EXPLICIT if setting == "explicit" else AUTO)


def on_devices(function: Callable[..., Any], setting: str = "auto", same: Any = False) -> Callable[..., Any]:
    """The function of one device's values as one of the stacked values; what is the `same` on all comes back once."""
    mesh = mesh_at(setting)
    if mesh is None:
        return jax.jit(jax.vmap(function, axis_name="x"))

    def one(x: Any) -> Any:
        y = function(jax.tree.map(lambda leaf: leaf[0], x))
        flags = jax.tree.map(lambda _: same, y) if isinstance(same, bool) else same
        return jax.tree.map(lambda flag, leaf: leaf if flag else jax.tree.map(lambda a: a[None], leaf), flags, y)

    specs = (
        (P() if same else P("x")) if isinstance(same, bool) else {name: P() if same[name] else P("x") for name in same}
    )
    return jax.jit(jax.shard_map(one, mesh=mesh, in_specs=P("x"), out_specs=specs))


def put(x: Any, setting: str) -> Any:
    mesh = mesh_at(setting)
    return x if mesh is None else jax.device_put(x, NamedSharding(mesh, P("x")))


def eager(function: Callable[..., Any], count: int = 8) -> Any:
    """The function's result on fake devices with the values 0, 1, 2 ... of the ranks."""
    return np.asarray(jax.vmap(function, axis_name="x")(jnp.arange(float(count))))


@dataclass(frozen=True)
class Call:
    """A call, and what it gives for the stacked values of all ranks, written in numpy."""

    run: Callable[[Any], Any]
    oracle: Callable[[np.ndarray], np.ndarray]
    same: bool = False
    linear: bool = True
    kinds: str = "biufc"


def affine(a: Any, b: Any) -> Any:
    """Composition of maps x -> a0 x + a1: associative, not commutative, not elementwise."""
    stack = np.stack if isinstance(a, np.ndarray) else jnp.stack
    return stack([a[..., 0] * b[..., 0], a[..., 1] * b[..., 0] + b[..., 1]], axis=-1)


def everywhere(y: np.ndarray, count: int) -> np.ndarray:
    return np.broadcast_to(y, (count, *y.shape))


def at(rank: int, y: np.ndarray, count: int) -> np.ndarray:
    out = np.zeros((count, *y.shape), y.dtype)
    out[rank] = y
    return out


def moved(x: np.ndarray, own: np.ndarray, dest: Callable[[int], int | None]) -> np.ndarray:
    out = own.copy()
    for rank in range(len(x)):
        if dest(rank) is not None:
            out[dest(rank)] = x[rank]
    return out


def folded(x: np.ndarray, op: str) -> np.ndarray:
    if op == "affine":
        return functools.reduce(affine, list(x))
    if op in ("sum", "prod"):
        function = np.add if op == "sum" else np.multiply
        return function.reduce(x, axis=0, dtype=np.int32 if x.dtype == bool else x.dtype)
    return {"max": np.maximum, "min": np.minimum}.get(op, getattr(np, op, None)).reduce(x, axis=0)  # type: ignore[union-attr]


def reductions() -> dict[str, Call]:
    table = {}
    for op in ("sum", "prod", "max", "min", "logical_and", "logical_or", "logical_xor", "affine"):
        given = affine if op == "affine" else op
        options = {"linear": op == "sum", "kinds": "biuf" if op in ("max", "min") else "biufc"}
        table[f"allreduce {op}"] = Call(
            lambda x, given=given: comm.allreduce(x, given, axis_name="x"),
            lambda x, op=op: everywhere(folded(x, op), len(x)),
            same=True,
            **options,
        )
        table[f"reduce {op}"] = Call(
            lambda x, given=given: comm.reduce(x, given, 5, axis_name="x"),
            lambda x, op=op: at(5, folded(x, op), len(x)),
            **options,
        )
        table[f"scan {op}"] = Call(
            lambda x, given=given: comm.scan(x, given, axis_name="x"),
            lambda x, op=op: np.stack([folded(x[: rank + 1], op) for rank in range(len(x))]),
            **options,
        )
    return table


def sent(x: Any) -> Any:
    comm.send(x, lambda r: r + 3 if r + 3 < comm.size("x") else None, axis_name="x")
    return comm.recv(2 * x, lambda r: r - 3 if r >= 3 else None, axis_name="x")


# Every rank has an array with a row for each rank.
CALLS = {
    "send, recv": Call(sent, lambda x: moved(x, 2 * x, lambda r: r + 3 if r + 3 < len(x) else None), kinds="iufc"),
    "sendrecv": Call(
        lambda x: comm.sendrecv(x, lambda r: (7 * r + 1) % comm.size("x"), axis_name="x"),
        lambda x: moved(x, x, lambda r: (7 * r + 1) % len(x)),
    ),
    "sendrecv, some": Call(
        lambda x: comm.sendrecv(x, {1: 4, 2: 0, 3: None}, {4: 1, 0: 2}, axis_name="x"),
        lambda x: moved(x, np.zeros_like(x), {1: 4, 2: 0}.get),
    ),
    "bcast": Call(lambda x: comm.bcast(x, 5, axis_name="x"), lambda x: everywhere(x[5], len(x)), same=True),
    "scatter": Call(lambda x: comm.scatter(x, 3, axis_name="x"), lambda x: x[3]),
    "scatter, last axis": Call(
        lambda x: comm.scatter(jnp.swapaxes(x, 0, 1), 3, axis=-1, axis_name="x"), lambda x: x[3]
    ),
    "gather": Call(lambda x: comm.gather(x[0], 2, axis_name="x"), lambda x: at(2, x[:, 0], len(x))),
    "gather, last axis": Call(
        lambda x: comm.gather(x[0], 2, axis=-1, axis_name="x"), lambda x: at(2, x[:, 0].T, len(x))
    ),
    "allgather": Call(lambda x: comm.allgather(x[0], axis_name="x"), lambda x: everywhere(x[:, 0], len(x)), same=True),
    "allgather, last axis": Call(
        lambda x: comm.allgather(x[0], axis=-1, axis_name="x"), lambda x: everywhere(x[:, 0].T, len(x)), same=True
    ),
    "alltoall": Call(lambda x: comm.alltoall(x, axis_name="x"), lambda x: x.swapaxes(0, 1)),
    "alltoall, second axis": Call(
        lambda x: comm.alltoall(x.T, axis=-1, axis_name="x"), lambda x: np.transpose(x, (1, 2, 0))
    ),
    "keep": Call(
        lambda x: comm.keep(x, comm.send(x, {0: 1}, axis_name="x"), comm.barrier(axis_name="x"), [x]), lambda x: x
    ),
    "vary": Call(lambda x: comm.vary(x, "x"), lambda x: x),
    **reductions(),
}


# -- values --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "dtype"),
    [
        ("auto", "complex64"),
        ("auto", "bool"),
        ("explicit", "float32"),
        ("vmap 64", "int32"),
        pytest.param("vmap 8", "float64", marks=pytest.mark.long),
        pytest.param("auto", "int8", marks=pytest.mark.long),
        pytest.param("auto", "float16", marks=pytest.mark.long),
        pytest.param("auto", "float64", marks=pytest.mark.long),
        pytest.param("explicit", "complex128", marks=pytest.mark.long),
        pytest.param("explicit", "bool", marks=pytest.mark.long),
        pytest.param("vmap 64", "bool", marks=pytest.mark.long),
        pytest.param("vmap 64", "complex64", marks=pytest.mark.long),
    ],
)
def test_values(setting: str, dtype: str) -> None:
    count = SETTINGS[setting]
    calls = {name: call for name, call in CALLS.items() if np.dtype(dtype).kind in call.kinds}
    if count > 8:  # many devices have more rounds, not other operations
        calls = {name: call for name, call in calls.items() if not re.search("prod|min|_", name)}
    x = random((count, count, 2), dtype, seed=1)
    same = {name: call.same for name, call in calls.items()}
    got = on_devices(lambda v: {name: call.run(v) for name, call in calls.items()}, setting, same)(put(x, setting))
    for name, call in calls.items():
        want = call.oracle(x)
        if call.same and mesh_at(setting) is not None:
            want = want[0]
        assert got[name].dtype == want.dtype, f"{name}: {got[name].dtype} instead of {want.dtype}"
        try:
            check_value(got[name], want, times=10)
        except AssertionError as error:
            raise AssertionError(name) from error


def test_rank_and_size() -> None:
    assert eager(lambda x: x + comm.rank("x")).tolist() == [2 * r for r in range(8)]
    assert eager(lambda x: comm.rank("x")).dtype == np.int32

    def one(x: jax.Array) -> jax.Array:
        assert (comm.size(), comm.size("b"), comm.size(("b", "a"))) == (8, 4, 8)
        numbers = comm.rank(), comm.rank("a"), comm.rank("b"), comm.rank(("b", "a"))
        return x + jnp.stack([jnp.asarray(number, float) for number in numbers])[None]

    mesh = jax.make_mesh((2, 4), ("a", "b"))
    got = jax.jit(jax.shard_map(one, mesh=mesh, in_specs=P(("a", "b")), out_specs=P(("a", "b"))))(
        jax.device_put(np.zeros((8, 4)), NamedSharding(mesh, P(("a", "b"))))
    )
    assert got.tolist() == [[r, r // 4, r % 4, r % 4 * 2 + r // 4] for r in range(8)]


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a"), None])
def test_ranks_along_two_axes_the_first_the_slowest(names: tuple[str, str] | None) -> None:
    mesh = jax.make_mesh((2, 4), ("a", "b"), axis_types=(AUTO, AUTO))
    x = np.arange(64.0).reshape(8, 8)
    spec = P(names or ("a", "b"))

    def one(block: jax.Array) -> Any:
        v, options = block[0], {"axis_name": names}
        parts = (
            comm.sendrecv(v, lambda r: (r + 1) % 8, **options),
            comm.alltoall(v, **options),
            comm.scatter(v, 3, **options)[None],
            comm.gather(v[0], 6, **options),
            comm.scan(v, **options),
            comm.reduce(v, affine_rows, 2, **options),
        )
        once = (comm.bcast(v, 5, **options), comm.allgather(v[0], **options), comm.allreduce(v, "max", **options))
        return tuple(part[None] for part in parts), once

    got, once = jax.jit(jax.shard_map(one, mesh=mesh, in_specs=spec, out_specs=(spec, P())))(x)
    want = (np.roll(x, 1, axis=0), x.T, x[3][:, None], at(6, x[:, 0], 8), np.cumsum(x, axis=0), at(2, x[-1], 8))
    for number, (one_got, one_want) in enumerate(zip(got, want, strict=True)):
        np.testing.assert_array_equal(one_got, one_want, err_msg=str(number))
    for one_got, one_want in zip(once, (x[5], x[:, 0], x[-1]), strict=True):
        np.testing.assert_array_equal(one_got, one_want)


def affine_rows(a: Any, b: Any) -> Any:
    """The later of two values, in an expression that XLA does not see through."""
    return jnp.where(a == b, a, b)


def test_one_of_two_mesh_axes_and_a_part_of_the_mesh_that_is_not_mapped() -> None:
    mesh = mesh_of("x4y2")
    x = np.arange(8.0).reshape(4, 2)
    spec = P("x", "y")
    along_y = jax.shard_map(
        lambda c: comm.allreduce(c, axis_name="y"), mesh=mesh, in_specs=spec, out_specs=P("x", None)
    )
    np.testing.assert_array_equal(jax.jit(along_y)(x), x.sum(axis=1, keepdims=True))
    only_x = jax.shard_map(comm.allreduce, mesh=mesh, in_specs=P("x"), out_specs=P(), axis_names={"x"})
    np.testing.assert_array_equal(jax.jit(only_x)(x), x.sum(axis=0, keepdims=True))


def test_pytrees_and_a_batch_of_messages() -> None:
    x = {"a": np.arange(8.0), "b": (np.arange(16).reshape(8, 2), np.arange(8) > 3)}

    def one(v: Any) -> Any:
        comm.send(v, lambda r: 7 - r, axis_name="x")
        return comm.recv(v, lambda r: 7 - r, axis_name="x"), comm.gather(v, axis_name="x")

    turned, rows = on_devices(one)(x)
    jax.tree.map(lambda got, want: np.testing.assert_array_equal(got, want[::-1]), turned, x)
    jax.tree.map(lambda got, want: np.testing.assert_array_equal(got[0], want), rows, x)


@pytest.mark.parametrize("setting", ["auto", pytest.param("vmap 8", marks=pytest.mark.long)])
def test_vmap_inside(setting: str) -> None:
    """A batch of values is a batch of messages, for every function."""
    x = random((8, 3, 8, 2), seed=2, dtype=np.float64)
    calls = {name: call for name, call in CALLS.items() if setting == "auto" or not name.startswith("vary")}
    run = on_devices(
        lambda v: {name: jax.vmap(call.run)(v) for name, call in calls.items()},
        setting,
        {name: call.same for name, call in calls.items()},
    )
    got = run(x)
    for name, call in calls.items():
        want = np.stack([call.oracle(x[:, batch]) for batch in range(3)], axis=1)
        if call.same and setting == "auto":
            want = want[0]
        np.testing.assert_allclose(got[name], want, atol=1e-12, err_msg=name)


def test_without_jit() -> None:
    run = jax.shard_map(
        lambda x: (good(x), comm.bcast(x, 2)), mesh=mesh_of("x8"), in_specs=P("x"), out_specs=(P("x"), P())
    )
    turned, root = run(np.arange(8.0))
    np.testing.assert_array_equal(turned, GOOD)
    assert root.tolist() == [2.0]


@pytest.mark.parametrize("check", [True, False])
def test_a_value_that_is_the_same_on_all_devices_counts_for_each(check: bool) -> None:
    def one(x: jax.Array) -> Any:
        two = jnp.full((), 2.0)
        return comm.allreduce(two), comm.reduce(two, root=1)[None], comm.scan(two)[None] + 0 * x

    function = jax.shard_map(one, mesh=mesh_of("x8"), in_specs=P("x"), out_specs=(P(), P("x"), P("x")), check_vma=check)
    total, rooted, sums = jax.jit(function)(np.zeros(8))
    assert (float(total), rooted.tolist()) == (16, [0, 16, 0, 0, 0, 0, 0, 0])
    np.testing.assert_array_equal(sums, 2.0 * np.arange(1, 9))


def test_what_is_the_same_on_fake_devices() -> None:
    """A ``vmap`` does not batch a constant, nor the result of a reduction."""
    ones = np.ones((3, 2))

    def one(v: jax.Array) -> Any:
        total = comm.allreduce(v, axis_name="x")
        for same in (jnp.full(2, 3.0), total):
            rows = comm.alltoall(jnp.stack([same] * 3), axis_name="x")
            yield rows, comm.gather(same, axis_name="x"), comm.allgather(same, axis_name="x")
            yield comm.sendrecv(same, [1, 2, 0], axis_name="x"), comm.scan(same, "max", axis_name="x")

    for parts in jax.jit(jax.vmap(lambda v: list(one(v)), axis_name="x"))(ones):
        for part in parts:
            np.testing.assert_array_equal(part[0], np.full(part.shape[1:], 3.0))


def test_one_device() -> None:
    def one(v: Any) -> Any:
        v = comm.allreduce(comm.sendrecv(v, [0], axis_name="x"), affine, axis_name="x")
        return comm.scan(comm.scatter(comm.gather(v, axis_name="x"), axis_name="x"), "prod", axis_name="x")

    np.testing.assert_array_equal(jax.vmap(one, axis_name="x")(np.ones((1, 2))), np.ones((1, 2)))


# -- bits ----------------------------------------------------------------------------------------------------------

AWKWARD = np.array([-0.0, 0.0, np.nan, np.inf, -np.inf, 1e-40, -1e-45, 3.4e38], np.float32)
# Payload and sign of a NaN too.
AWKWARD = np.concatenate([AWKWARD, np.array([0x7F812345, 0xFFC00001], np.uint32).view(np.float32)])


def bits(x: Any) -> list[int]:
    x = np.ascontiguousarray(x)
    return x.view(np.uint8).ravel().tolist()


@pytest.mark.parametrize("dtype", ["float32", "complex64", "bfloat16"])
def test_bcast_sends_every_bit_and_nothing_of_the_others(dtype: str) -> None:
    with np.errstate(invalid="ignore"):
        values = AWKWARD.astype(jnp.bfloat16) if dtype == "bfloat16" else AWKWARD
    if dtype == "complex64":
        values = np.stack([values, values[::-1]], axis=-1).copy().view(np.complex64)[:, 0]
    x = np.full((8, len(values)), np.nan, values.dtype)
    x[3] = values
    got = on_devices(lambda v: comm.bcast(v, 3), same=True)(x)
    assert bits(got) == bits(values)


@pytest.mark.parametrize("message", ["nan", "inf", "-0.0"])
def test_keep_changes_no_bit(message: str) -> None:
    x = np.broadcast_to(AWKWARD, (8, len(AWKWARD)))

    def one(v: jax.Array) -> Any:
        handle = comm.send(comm.vary(jnp.full(3, float(message), jnp.float32)), lambda r: (r + 1) % 8)
        return comm.keep(v, handle, jnp.zeros(0), jnp.arange(3), jnp.ones(2, bool), jnp.ones(2, complex))

    assert bits(on_devices(one)(x)) == bits(x)


@pytest.mark.parametrize("setting", ["auto", "vmap 8"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
def test_extremes_follow_numpy_in_what_is_not_a_number(setting: str, dtype: str) -> None:
    x = np.random.default_rng(0).choice([np.nan, -np.inf, np.inf, -1.5, 2.0, -0.0], (8, 40), p=[0.05, *[0.19] * 5])
    x = x.astype(dtype)
    x[:, 0] = -1.5
    got = on_devices(
        lambda v: {op: comm.allreduce(v, op, axis_name="x") for op in ("max", "min")},
        setting,
        {"max": True, "min": True},
    )(x)
    for op, function in (("max", np.max), ("min", np.min)):
        one = got[op] if setting == "auto" else got[op][0]
        np.testing.assert_array_equal(one, function(x, axis=0))


# -- derivatives ---------------------------------------------------------------------------------------------------


def jacobian(oracle: Callable[[np.ndarray], np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    """The matrix of a linear function, from its values in numpy."""
    units = np.eye(int(np.prod(shape)))
    return np.stack([oracle(unit.reshape(shape)).ravel() for unit in units], axis=1)


@pytest.mark.parametrize(("setting", "dtype"), [("auto", "complex128"), ("explicit", "float64"), ("vmap 8", "float64")])
def test_derivatives_of_what_is_linear(setting: str, dtype: str) -> None:
    calls = {name: call for name, call in CALLS.items() if call.linear}
    run = on_devices(
        lambda xs: {name: call.run(xs[name]) for name, call in calls.items()},
        setting,
        {name: call.same for name, call in calls.items()},
    )
    shape = (8, 8, 2)
    xs, dxs = ({name: put(random(shape, dtype, seed=s), setting) for name in calls} for s in (3, 4))
    mesh = mesh_at(setting)
    with nullcontext() if mesh is None else context(mesh):
        out, dys = jax.jit(lambda x, dx: jax.jvp(run, (x,), (dx,)))(xs, dxs)
        cotangents = {name: jnp.asarray(random(y.shape, y.dtype, seed=5)) for name, y in out.items()}
        if mesh is not None:
            cotangents = {name: jax.device_put(c, out[name].sharding) for name, c in cotangents.items()}
        pulled = jax.jit(lambda x, ct: jax.vjp(run, x)[1](ct)[0])(xs, cotangents)
    for name, call in calls.items():
        once = call.same and mesh is not None
        matrix = jacobian(lambda x, call=call, once=once: call.oracle(x)[0] if once else call.oracle(x), shape)
        np.testing.assert_allclose(np.ravel(dys[name]), matrix @ np.ravel(dxs[name]), atol=1e-12, err_msg=name)
        want = matrix.T @ np.ravel(cotangents[name])
        np.testing.assert_allclose(np.ravel(pulled[name]), want, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("setting", ["auto", pytest.param("vmap 8", marks=pytest.mark.long)])
def test_derivatives_of_products_and_callables(setting: str) -> None:
    x = random((8, 2), np.float64, seed=6)
    x[3, 0] = 0.0  # a product with a zero has a derivative

    def run(v: Any) -> Any:
        names = {"prod": "prod", "affine": affine}
        return {
            name: (comm.allreduce(v, op, axis_name="x"), comm.scan(v, op, axis_name="x")) for name, op in names.items()
        }

    function = on_devices(lambda v: jnp.concatenate([leaf for pair in run(v).values() for leaf in pair]), setting)
    got = np.asarray(jax.jit(jax.jacrev(function))(x))
    forward = np.asarray(jax.jit(jax.jacfwd(function))(x))

    def oracle(v: np.ndarray) -> np.ndarray:
        parts = []
        for op in ("prod", "affine"):
            parts += [everywhere(folded(v, op), 8), np.stack([folded(v[: r + 1], op) for r in range(8)])]
        return np.concatenate(parts, axis=1)

    # Each is a polynomial of degree one in every element: the difference is the derivative.
    for index in np.ndindex(8, 2):
        step = np.zeros_like(x)
        step[index] = 1.0
        want = oracle(x + step) - oracle(x)
        np.testing.assert_allclose(got[(..., *index)], want, atol=1e-10)
        np.testing.assert_allclose(forward[(..., *index)], want, atol=1e-10)


@pytest.mark.parametrize("setting", ["auto", "vmap 8"])
@pytest.mark.parametrize("op", ["max", "min"])
def test_the_derivative_of_an_extreme_is_shared_by_those_who_attain_it(op: str, setting: str) -> None:
    x = np.array([[1.0, 5], [3, 5], [3, 5], [-2, 5], [-2, 5], [0, 5], [3, 5], [1, 5]])
    best = x.max(axis=0) if op == "max" else x.min(axis=0)
    share = (x == best) / (x == best).sum(axis=0)
    run = on_devices(lambda v: comm.allreduce(v, op, axis_name="x"), setting, same=True)
    ones = run(x) * 0 + 1
    copies = 1 if setting == "auto" else 8
    np.testing.assert_allclose(jax.vjp(run, jnp.asarray(x))[1](ones)[0], copies * share)
    dx = np.arange(16.0).reshape(8, 2)
    dy = jax.jvp(run, (jnp.asarray(x),), (jnp.asarray(dx),))[1]
    np.testing.assert_allclose(np.reshape(dy, (-1, 2))[0], (share * dx).sum(axis=0))


def test_derivatives_taken_on_each_device() -> None:
    """A loss that all devices share: each takes its derivative in what it has."""
    x, w = np.arange(8.0), np.arange(1.0, 9.0)

    def one(chunk: jax.Array, weight: jax.Array) -> Any:
        def loss(v: jax.Array) -> jax.Array:
            comm.send(v, lambda r: (r + 1) % 8)
            ahead = comm.recv(v, lambda r: (r - 1) % 8)
            return comm.allreduce(jnp.sum(weight * ahead**2))

        own = jax.grad(lambda v: jnp.sum(v * 3 * comm.bcast(v, 2)))(comm.vary(chunk))
        return jax.grad(loss)(chunk), own

    run = jax.shard_map(one, mesh=mesh_of("x8"), in_specs=(P("x"), P("x")), out_specs=(P("x"), P("x")))
    shared, own = jax.jit(run)(x, w)
    np.testing.assert_allclose(shared, 2 * x * np.roll(w, -1))
    # To the root comes what every device's own function makes of the root's value.
    np.testing.assert_allclose(own, 3 * x[2] + np.where(np.arange(8) == 2, 3 * x.sum(), 0))


def test_second_derivatives_and_checkpoint() -> None:
    x = np.arange(1.0, 9.0)
    run = on_devices(
        jax.checkpoint(lambda v: comm.allreduce(v**3) + comm.bcast(v**2, 1) + comm.allreduce(v, "max")), same=True
    )
    got = jax.jit(jax.hessian(run))(jnp.asarray(x))
    np.testing.assert_allclose(got, np.diag(6 * x + np.where(np.arange(8) == 1, 2, 0)))


def test_vary_makes_a_loop_carry_fit_and_sums_the_derivative() -> None:
    def one(x: jax.Array, w: jax.Array) -> Any:
        start = comm.vary(comm.vary(jnp.zeros(())))
        total, _ = lax.scan(lambda carry, v: (carry + v, None), start, x)
        return (
            total[None],
            jax.grad(lambda u: jnp.sum(comm.vary(u) * x))(w),
            jax.grad(lambda u: u * x[0])(comm.vary(w))[None],
        )

    run = jax.shard_map(one, mesh=mesh_of("x8"), in_specs=(P("x"), P()), out_specs=(P("x"), P(), P("x")))
    total, summed, own = jax.jit(run)(np.arange(16.0), 2.0)
    np.testing.assert_array_equal(total, np.arange(16.0).reshape(8, 2).sum(axis=1))
    assert float(summed) == 120
    np.testing.assert_array_equal(own, np.arange(0.0, 16, 2))


# -- what the compiled program sends -------------------------------------------------------------------------------

WIRE = {
    "send, recv": {"collective-permute": 1},
    "bcast": {"all-reduce": 1},
    "scatter": {"all-to-all": 1},
    "gather": {"all-to-all": 1},
    "allgather": {"all-gather": 1},
    "alltoall": {"all-to-all": 1},
    "allreduce sum": {"all-reduce": 1},
    "allreduce max": {"all-reduce": 1},
    "allreduce logical_xor": {"all-reduce": 1},
    "allreduce affine": {"all-reduce": 1, "collective-permute": 3},
    "reduce affine": {"collective-permute": 4},
    "scan sum": {"collective-permute": 3},
}


@pytest.mark.parametrize("name", WIRE)
def test_what_crosses_the_wire(name: str) -> None:
    call = CALLS[name]
    x = put(random((8, 8, 2), "complex64" if "c" in call.kinds else "float32"), "auto")
    assert compiled(on_devices(call.run, same=call.same), x)[1] == WIRE[name]


def test_no_derivative_scatters_a_sum() -> None:
    """A small reduce-scatter makes the collectives between processes slow; see the facts about gloo."""
    names = [name for name, call in CALLS.items() if call.linear]
    run = on_devices(
        lambda v: {name: CALLS[name].run(v) for name in names}, same={name: CALLS[name].same for name in names}
    )
    x = random((8, 8, 2), "float32")
    found = compiled(jax.grad(lambda v: sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(run(v)))), x)[1]
    assert "reduce-scatter" not in found


@pytest.mark.parametrize("same", [False, True])
def test_keep_holds_a_message_and_a_barrier_in_the_program(same: bool) -> None:
    def one(kept: bool, v: jax.Array) -> jax.Array:
        sent = comm.send(v, lambda r: (r + 1) % 8, tag=3)
        barrier = comm.barrier()
        y = comm.allreduce(v) if same else 2 * v
        return comm.keep(y, sent, [barrier]) if kept else y

    x = np.arange(8.0)
    kept, dropped = (on_devices(functools.partial(one, kept), same=same) for kept in (True, False))
    np.testing.assert_array_equal(kept(x), 28.0 if same else 2 * x)
    programs = {
        "forward": kept,
        "backward": jax.grad(lambda v: jnp.sum(kept(v))),
        "forward mode": lambda v: jax.jvp(kept, (v,), (v,))[1],
    }
    for name, program in programs.items():
        found = compiled(program, x)[1]
        assert found["collective-permute"] >= 1, name
        assert found["all-reduce"] >= 1, name
    assert "collective-permute" not in compiled(dropped, x)[1]
    np.testing.assert_array_equal(jax.jit(programs["backward"])(x), 8 * [1.0 if same else 2.0])
    handed = on_devices(lambda v: comm.keep(jnp.ones(()) * comm.vary(1.0), v))
    np.testing.assert_array_equal(jax.jit(jax.grad(lambda v: jnp.sum(handed(v))))(x), 0 * x)


def test_messages_of_one_program_stand_where_they_are_sent() -> None:
    def one(v: jax.Array) -> jax.Array:
        comm.send(v, {0: 1}, tag=1)
        comm.send(2 * v, {0: 2}, tag=2)
        return comm.recv(v, {2: 0}, tag=2) + comm.recv(v, {1: 0}, tag=1)

    jaxpr = jax.make_jaxpr(on_devices(one))(np.arange(8.0))
    text = str(jaxpr)
    assert text.index("perm=((0, 1),)") < text.index("perm=((0, 2),)")


# -- a thousand devices --------------------------------------------------------------------------------------------


def test_a_thousand_devices() -> None:
    count = 1000
    x = np.random.default_rng(8).standard_normal((count, 2))
    order = np.random.default_rng(9).permutation(count)

    def one(v: jax.Array) -> Any:
        assert comm.size("x") == count
        comm.send(v, order, axis_name="x")
        got = comm.recv(v, dict(zip(order.tolist(), range(count), strict=True)), axis_name="x")
        some = comm.sendrecv(v, lambda r: r // 2 if r % 2 else None, axis_name="x")
        return got, some, comm.scan(v, affine, axis_name="x"), comm.allreduce(v, "max", axis_name="x")

    got, some, sums, most = jax.jit(jax.vmap(one, axis_name="x"))(x)
    wanted = np.zeros_like(x)
    wanted[order] = x
    np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(some, np.concatenate([x[1::2], np.zeros((500, 2))]))
    np.testing.assert_allclose(sums, list(itertools.accumulate(x, affine)), rtol=1e-8, atol=1e-12)
    np.testing.assert_array_equal(most, everywhere(x.max(axis=0), count))


@pytest.mark.parametrize("count", [1, 2, 3, 5, 7, 12])
def test_any_number_of_devices_in_their_order(count: int) -> None:
    matrices = np.random.default_rng(count).standard_normal((count, 2, 2))

    def one(v: jax.Array) -> Any:
        root = comm.reduce(v, jnp.matmul, count - 1, axis_name="x")
        return comm.scan(v, jnp.matmul, axis_name="x"), comm.allreduce(v, jnp.matmul, axis_name="x"), root

    prefixes, product, rooted = jax.vmap(one, axis_name="x")(matrices)
    wanted = list(itertools.accumulate(matrices, np.matmul))
    np.testing.assert_allclose(prefixes, wanted, atol=1e-12)
    np.testing.assert_allclose(product, everywhere(wanted[-1], count), atol=1e-12)
    np.testing.assert_allclose(rooted, at(count - 1, wanted[-1], count), atol=1e-12)


def test_a_derivative_where_nothing_is_received_is_a_number() -> None:
    """The function of a callable reduction sees no zeros that nobody sent: the root of zero has no derivative."""
    x = np.arange(1.0, 7.0)
    run = jax.vmap(lambda v: comm.scan(v, lambda a, b: jnp.sqrt(a * a + b * b), axis_name="x"), axis_name="x")
    got = jax.jacrev(run)(jnp.asarray(x))
    want = np.tril(x[None, :] / np.sqrt(np.cumsum(x**2))[:, None])
    np.testing.assert_allclose(got, want, atol=1e-6)


# -- the mailbox ---------------------------------------------------------------------------------------------------

TAGGED = [lambda r, n=n: (r + n + 1) % 8 for n in range(6)]
SOURCES = [lambda r, n=n: (r - n - 1) % 8 for n in range(6)]


def test_tagged_messages_in_any_order_give_the_same_answers() -> None:
    generator = np.random.default_rng(10)
    wanted = [np.roll(np.arange(8.0), n + 1) * 10**n for n in range(6)]
    for _ in range(20):
        first, second = generator.permutation(6).tolist(), generator.permutation(6).tolist()

        def one(x: jax.Array, first: list[int] = first, second: list[int] = second) -> Any:
            for n in first:
                comm.send(x * 10**n, TAGGED[n], axis_name="x", tag=n)
            got = {n: comm.recv(x, SOURCES[n], axis_name="x", tag=n) for n in second}
            return [got[n] for n in range(6)]

        np.testing.assert_array_equal(jax.vmap(one, axis_name="x")(jnp.arange(8.0)), wanted)


def test_of_one_tag_the_earliest_is_taken() -> None:
    def one(x: jax.Array) -> Any:
        for factor in (1, 10, 100):
            comm.send(factor * x, TAGGED[0], axis_name="x")
        return [comm.recv(x, SOURCES[0], axis_name="x") for _ in range(3)]

    got = jax.vmap(one, axis_name="x")(jnp.arange(8.0))
    np.testing.assert_array_equal(got, [np.roll(np.arange(8.0), 1) * factor for factor in (1, 10, 100)])


def good(x: jax.Array) -> jax.Array:
    comm.send(2 * x, TAGGED[0], axis_name="x")
    return comm.recv(x, SOURCES[0], axis_name="x")


GOOD = 2 * np.roll(np.arange(8.0), 1)


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_a_trace_that_failed_leaves_nothing(wrap: Callable[..., Any]) -> None:
    def bad(x: jax.Array) -> jax.Array:
        comm.send(-x, TAGGED[0], axis_name="x")
        raise RuntimeError("half-way")

    for _ in range(3):
        with pytest.raises(RuntimeError, match="half-way"):
            wrap(jax.vmap(bad, axis_name="x"))(jnp.arange(8.0))
        np.testing.assert_array_equal(wrap(jax.vmap(good, axis_name="x"))(jnp.arange(8.0)), GOOD)


def test_two_threads_have_their_own_messages() -> None:
    both, results = threading.Barrier(2, timeout=60), {}

    def work(name: str, factor: float) -> None:
        def one(x: jax.Array) -> jax.Array:
            both.wait()
            comm.send(factor * x, TAGGED[0], axis_name="x")
            both.wait()
            got = comm.recv(x, SOURCES[0], axis_name="x")
            both.wait()
            with pytest.raises(ValueError, match="no send of tag 0"):
                comm.recv(x, SOURCES[0], axis_name="x")
            return got

        results[name] = jax.vmap(one, axis_name="x")(jnp.arange(8.0))

    threads = [threading.Thread(target=work, args=(f"{n}", float(n))) for n in (1, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    for n in (1, 3):
        np.testing.assert_array_equal(results[f"{n}"], n * np.roll(np.arange(8.0), 1))


def inner_forms() -> dict[str, Callable[[Callable[[Any], Any], Any], Any]]:
    """Ways in which a function's body is another trace than the one around it."""
    return {
        "jit": lambda f, x: jax.jit(f)(x),
        "scan": lambda f, x: lax.scan(lambda c, _: (f(c), None), x, None, length=1)[0],
        "while": lambda f, x: lax.fori_loop(0, jnp.asarray(1), lambda _, c: f(c), x),
        "cond": lambda f, x: lax.cond(jnp.asarray(True), f, f, x),
        "vmap": lambda f, x: jax.vmap(f)(x[None])[0],
        "jvp": lambda f, x: jax.jvp(f, (x,), (x,))[0],
        "vjp": lambda f, x: jax.vjp(f, x)[0],
        "checkpoint": lambda f, x: jax.checkpoint(f)(x),
    }


@pytest.mark.parametrize("form", inner_forms())
@pytest.mark.parametrize("setting", ["auto", pytest.param("vmap 8", marks=pytest.mark.long)])
def test_messages_stay_in_their_body(form: str, setting: str) -> None:
    """Inside, around and after an inner function, with sends that wait on both sides, and one that nobody receives."""
    inside = inner_forms()[form]

    def one(x: jax.Array) -> Any:
        comm.send(100 * x, TAGGED[0], axis_name="x")
        first = inside(good, x)
        inside(lambda v: comm.send(-v, TAGGED[0], axis_name="x").value, x)
        with pytest.raises(ValueError, match="one waits in a function around or within"):
            inside(lambda v: comm.recv(v, SOURCES[0], axis_name="x"), x)
        second = inside(good, x)
        outer = comm.recv(x, SOURCES[0], axis_name="x")
        with pytest.raises(ValueError, match="no send of tag 0"):
            comm.recv(x, SOURCES[0], axis_name="x")
        return first, second, outer

    first, second, outer = on_devices(one, setting)(np.arange(8.0))
    np.testing.assert_array_equal(first, GOOD)
    np.testing.assert_array_equal(second, GOOD)
    np.testing.assert_array_equal(outer, 50 * GOOD)


def test_messages_around_a_shard_map_over_other_axes() -> None:
    """And around an eager ``vmap`` of a name of its own, in which messages are sent too."""

    @functools.partial(jax.shard_map, mesh=mesh_of("x4y2"), in_specs=P("x"), out_specs=P("x"), axis_names={"x"})
    def outer(v: jax.Array) -> jax.Array:
        comm.send(10 * v, {0: 1}, axis_name="x")
        inner = jax.shard_map(
            lambda u: good_of_two(u, "y"), in_specs=P(None, "y"), out_specs=P(None, "y"), axis_names={"y"}
        )
        return inner(v) + comm.recv(0 * v, {1: 0}, axis_name="x")

    def good_of_two(u: jax.Array, name: str) -> jax.Array:
        comm.send(u, {0: 1, 1: 0}, axis_name=name)
        return comm.recv(u, {0: 1, 1: 0}, axis_name=name)

    x = np.arange(8.0).reshape(4, 2)
    want = x[:, ::-1].copy()
    want[1] += 10 * x[0]
    np.testing.assert_array_equal(jax.jit(outer)(x), want)

    def around(v: jax.Array) -> jax.Array:
        comm.send(10 * v, TAGGED[0], axis_name="x")
        turned = jax.vmap(lambda u: good_of_two(u, "b"), axis_name="b")(jnp.stack([v, -v]))
        return turned[0] + comm.recv(v, SOURCES[0], axis_name="x")

    np.testing.assert_array_equal(eager(around), 5 * GOOD - np.arange(8.0))


def test_messages_in_the_steps_of_a_loop() -> None:
    def one(x: jax.Array) -> jax.Array:
        return lax.scan(lambda c, _: (good(c), None), x, None, length=3)[0]

    np.testing.assert_array_equal(on_devices(one)(np.arange(8.0)), 8 * np.roll(np.arange(8.0), 3))


@pytest.mark.parametrize("transform", [jax.grad, lambda f: jax.jit(jax.grad(f)), jax.jacfwd])
def test_the_derivative_of_a_message_with_a_template_of_another_kind(transform: Callable[..., Any]) -> None:
    """What is sent is differentiated, and `like` is a constant; and the other way round."""
    weights = np.arange(1.0, 9.0)

    def loss(x: jax.Array) -> jax.Array:
        def one(v: jax.Array, w: jax.Array) -> jax.Array:
            comm.send(v * v, {0: 3}, axis_name="x", tag=1)
            comm.send(w, {0: 3}, axis_name="x", tag=2)
            return w * (comm.recv(w, {3: 0}, axis_name="x", tag=1) + comm.recv(v, {3: 0}, axis_name="x", tag=2))

        return jax.vmap(one, axis_name="x")(x, weights).sum()

    x = np.arange(1.0, 9.0)
    want = np.where(np.arange(8) == 3, 0, weights)
    want[0] += weights[3] * 2 * x[0]
    np.testing.assert_allclose(transform(loss)(jnp.asarray(x)), want)


def test_the_mailbox_keeps_nothing_alive() -> None:
    """The next use of the thread's mailbox lets go of what an ended function left unreceived."""
    alive = []

    def one(x: jax.Array) -> jax.Array:
        alive.append(weakref.ref(comm.send(x, TAGGED[0], axis_name="x").value))
        return x

    for run in (jax.vmap(one, axis_name="x"), jax.jit(jax.vmap(one, axis_name="x")), on_devices(one)):
        run(jnp.arange(8.0))
        jax.grad(lambda x, run=run: run(x).sum())(jnp.arange(8.0))
    eager(lambda x: x + comm.rank("x"))
    gc.collect()
    assert len(alive) >= 4
    assert not [reference for reference in alive if reference() is not None]


def test_an_opened_mailbox_wants_every_message_received_or_kept() -> None:
    def opened(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def one(x: Any) -> Any:
            with mailbox.opened():
                return function(x)

        return one

    def kept(x: jax.Array) -> jax.Array:
        return comm.keep(good(x), {"sent": comm.send(x, {0: 1}, axis_name="x", tag=9)})

    np.testing.assert_array_equal(eager(opened(kept)), GOOD)

    def left(x: jax.Array) -> jax.Array:
        comm.send(x, {0: 1, 2: 3}, axis_name="x", tag=4)
        return good(x)

    with pytest.raises(ValueError, match=r"send without a recv: tag 4 \(dest 0->1, 2->3\).*comm.keep"):
        eager(opened(left))
    with pytest.raises(ValueError, match=r"tag 4 .*; tag 4 "):
        eager(opened(lambda x: lax.scan(lambda c, _: (left(left(c)), None), x, None, length=1)[0]))

    def loops(x: jax.Array) -> jax.Array:  # the first loop has ended when the second one begins
        first = lax.scan(lambda c, _: (left(c), None), x, None, length=1)[0]
        return lax.scan(lambda c, _: (good(c), None), first, None, length=1)[0]

    with pytest.raises(ValueError, match="tag 4"):
        eager(opened(loops))

    def fails(x: jax.Array) -> jax.Array:
        left(x)
        raise RuntimeError("its own")

    with pytest.raises(RuntimeError, match="its own"):
        eager(opened(fails))

    def around(x: jax.Array) -> jax.Array:
        comm.send(x, TAGGED[1], axis_name="x")
        y = opened(good)(x)
        return y + comm.recv(x, SOURCES[1], axis_name="x")

    np.testing.assert_array_equal(eager(around), GOOD + np.roll(np.arange(8.0), 2))


# -- errors --------------------------------------------------------------------------------------------------------

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "send": lambda x, **o: comm.send(x, lambda r: r, **o),
    "recv": lambda x, **o: comm.recv(x, lambda r: r, **o),
    "sendrecv": lambda x, **o: comm.sendrecv(x, lambda r: r, **o),
    "barrier": lambda x, **o: comm.barrier(**o),
    "rank": lambda x, **o: comm.rank(**o),
    "size": lambda x, **o: comm.size(**o),
    **{
        name: lambda x, name=name, **o: getattr(comm, name)(x, **o)
        for name in ("bcast", "scatter", "gather", "allgather", "alltoall", "reduce", "allreduce", "scan", "vary")
    },
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_axis_that_is_not_mapped(name: str) -> None:
    x, function = jnp.ones(8), FUNCTIONS[name]
    with pytest.raises(LayoutError, match=rf"comm.{name}: axis_name='y' is not mapped here \(no axis is mapped here\)"):
        function(x, axis_name="y")
    with pytest.raises(LayoutError, match=rf"comm.{name}: needs a mapped axis .*inside tpufft.smap or jax.shard_map"):
        jax.jit(function)(x)
    with pytest.raises(LayoutError, match=rf"comm.{name}: axis_name='y' is not mapped here \(mapped here: 'x'\)"):
        eager(lambda v: function(v, axis_name="y"))
    with pytest.raises(LayoutError, match=r"mapped here: 'x'\); give axis_name="):
        eager(function)
    with pytest.raises(LayoutError, match=r"mapped here: 'x'"):
        on_devices(lambda v: function(v, axis_name=("x", "z")))(np.ones((8, 8)))


def refused(kind: type[Exception], match: str, function: Callable[[Any], Any]) -> None:
    with pytest.raises(kind, match=match):
        jax.vmap(function, axis_name="x")(jnp.ones((8, 8)))


@pytest.mark.parametrize(
    ("dest", "kind", "match"),
    [
        (3, TypeError, r"dest=3 would have every rank send to rank 3; right is a function of the rank.*\{0: 3\}"),
        (np.int64(3), TypeError, "dest=3 would have every rank"),
        (None, TypeError, "dest=None does not say a peer for each rank"),
        ("12345670", TypeError, "does not say a peer"),
        ([1, 2], ValueError, "dest has 2 entries for 8 ranks"),
        (lambda r: r - 1, ValueError, "dest gives rank 0 the peer -1, which is out of range; right is .* 0 to 7"),
        (lambda r: r + 1, ValueError, "dest gives rank 7 the peer 8"),
        (lambda r: r / 2, TypeError, "dest gives rank 0 the peer 0.0, which is no integer"),
        (lambda r: True, TypeError, "the peer True"),
        (lambda r: 0, ValueError, "ranks 0 and 1 both send to rank 0"),
        ({8: 1}, ValueError, "dest has the key 8, which is out of range"),
        ({"a": 1}, TypeError, "dest has the key 'a'"),
        ({0: 4, 1: 4}, ValueError, "ranks 0 and 1 both send to rank 4"),
        (np.arange(8.0), TypeError, "rank 0 the peer"),
    ],
)
def test_bad_peers(dest: Any, kind: type[Exception], match: str) -> None:
    refused(kind, match, lambda x: comm.sendrecv(x, dest, axis_name="x"))


def test_a_traced_peer() -> None:
    refused(
        TypeError, "known when the function is traced", lambda x: comm.send(x, lambda r: comm.rank("x"), axis_name="x")
    )
    refused(TypeError, "does not say a peer", lambda x: comm.send(x, comm.rank("x"), axis_name="x"))
    refused(TypeError, "would have rank 3 send to all: comm.bcast", lambda x: comm.recv(x, 3, axis_name="x"))


def after_send(like: Callable[[Any], Any], source: Any = lambda r: (r - 1) % 8, tag: Any = 0) -> Callable[[Any], Any]:
    def one(x: Any) -> Any:
        comm.send((x, x[0]), TAGGED[0], axis_name="x")
        return comm.recv(like(x), source, axis_name="x", tag=tag)

    return one


@pytest.mark.parametrize(
    ("function", "kind", "match"),
    [
        (after_send(lambda x: (x, x[0]), tag=5), ValueError, r"no send of tag 5 along \('x',\).*tag 0 of \('x',\)"),
        (lambda x: comm.recv(x, {0: 1}, axis_name="x"), ValueError, "what waits: no message"),
        (after_send(lambda x: (x, x[0]), tag=1.5), TypeError, "tag=1.5 is no integer"),
        (
            after_send(lambda x: (x, x[0]), {}),
            ValueError,
            "tag 0, rank 0: by dest rank 7 sends to it, by source it receives nothing",
        ),
        (
            after_send(lambda x: (x, x[0]), lambda r: (r + 1) % 8),
            ValueError,
            "rank 0: by dest rank 7 sends to it, by source it receives from rank 1",
        ),
        (after_send(lambda x: (x[:2], x[0])), ValueError, r"like has float64\[2\], and float64\[8\] was sent"),
        (after_send(lambda x: (x, x[0] > 0)), ValueError, r"like has bool\[\], and float64\[\] was sent"),
        (after_send(lambda x: [x, x[0]]), ValueError, r"like is PyTreeDef\(\[\*, \*\]\), and what was sent is"),
        (
            lambda x: comm.sendrecv(x, {0: 1}, {1: 2}, axis_name="x", tag=4),
            ValueError,
            "tag 4, rank 1: by dest rank 0 sends to it, by source it receives from rank 2",
        ),
        (
            lambda x: comm.sendrecv(x, {}, {1: 2}, axis_name="x"),
            ValueError,
            "rank 1: by dest no rank sends to it, by source it receives from rank 2",
        ),
        (lambda x: comm.sendrecv(x, {0: 1}, like=x[0], axis_name="x"), ValueError, "like has"),
        (
            lambda x: comm.bcast(x, 8, axis_name="x"),
            ValueError,
            "root=8 is no rank along 'x' of 8 devices; right is 0 to 7",
        ),
        (lambda x: comm.gather(x, -1, axis_name="x"), ValueError, "root=-1 is no rank"),
        (lambda x: comm.reduce(x, root=1.0, axis_name="x"), TypeError, "root=1.0 is no integer"),
        (lambda x: comm.scatter(x, comm.rank("x"), axis_name="x"), TypeError, "is no integer"),
        (lambda x: comm.scatter(x, axis=1, axis_name="x"), np.exceptions.AxisError, "axis 1 is out of bounds"),
        (lambda x: comm.gather(x, axis=2, axis_name="x"), np.exceptions.AxisError, "axis 2 is out of bounds"),
        (lambda x: comm.allgather(x, axis=-3, axis_name="x"), np.exceptions.AxisError, "axis -3 is out of bounds"),
        (
            lambda x: comm.alltoall(x[:5], axis_name="x"),
            LayoutError,
            r"alltoall: axis 0 of an array of shape \(5,\) has 5 rows",
        ),
        (lambda x: comm.scatter(x[0], axis_name="x"), np.exceptions.AxisError, "out of bounds"),
        (lambda x: comm.allreduce(x, "mean", axis_name="x"), ValueError, "op='mean' is none of"),
        (lambda x: comm.allreduce(x, 3, axis_name="x"), TypeError, "op=3 is none of"),
        (
            lambda x: comm.scan(1j * x, "max", axis_name="x"),
            TypeError,
            r"op='max' needs an order, and complex .*complex128",
        ),
        (
            lambda x: comm.allreduce(x, lambda a, b: a[:2] + b[:2], axis_name="x"),
            TypeError,
            r"two values of float64\[8\] gives float64\[2\]; right is the same",
        ),
        (lambda x: comm.scan(x, lambda a, b: a < b, axis_name="x"), TypeError, r"float64\[8\] gives bool\[8\]"),
        (lambda x: comm.reduce(x, lambda a, b: (a, b), axis_name="x"), TypeError, "the same shape and dtype"),
        (lambda x: comm.rank(5), TypeError, "axis_name=5 is no name of a mesh axis"),
        (lambda x: comm.size(("x", "x")), ValueError, "none twice"),
        (lambda x: comm.size(()), ValueError, "at least one axis"),
    ],
)
def test_bad_input(function: Callable[[Any], Any], kind: type[Exception], match: str) -> None:
    refused(kind, match, function)


@pytest.mark.parametrize("function", [comm.bcast, comm.allreduce, lambda k: comm.send(k, {0: 1})])
def test_random_keys_are_sent_as_numbers(function: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match=r"key<fry> is not sent; send jax.random.key_data"):
        on_devices(lambda x: function(jax.random.key(0)))(np.zeros(8))


def test_random_keys_are_kept() -> None:
    def one(x: jax.Array) -> jax.Array:
        key = comm.keep(comm.vary(jax.random.key(7)), comm.send(x, {0: 1}), jax.random.key(3))
        return jax.random.uniform(key)

    np.testing.assert_array_equal(on_devices(one)(np.zeros(8)), np.full(8, jax.random.uniform(jax.random.key(7))))


def test_nothing_is_sent_where_nobody_sends() -> None:
    run = on_devices(lambda x: comm.sendrecv(x, lambda r: None))
    np.testing.assert_array_equal(run(np.arange(8.0)), np.zeros(8))
    assert eager(lambda x: comm.sendrecv(x, {}, like=x + 1, axis_name="x")).tolist() == list(range(1, 9))
