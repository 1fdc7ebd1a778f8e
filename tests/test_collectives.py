"""What crosses the wire, on eight devices and on fake meshes of up to a thousand: ``vmap`` with an axis name."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from tpufft.collectives import axis_name, copy_fragments, exchange, ring_product, send_whole
from tpufft.execution.block_row import ring_dft
from tpufft.steps import Fragment, fragments

RINGS = (1, 2, 3, 4, 5, 8, 64)


def fake(function: Callable[[jax.Array], Any]) -> Callable[..., Any]:
    """The function on every device of one axis ``x``, the devices' chunks stacked."""
    return jax.jit(jax.vmap(function, axis_name="x"))


def executed(jaxpr: jax.extend.core.Jaxpr, times: int = 1) -> Counter[str]:
    """How often each primitive of a jaxpr is executed, loops of known length counted."""
    total: Counter[str] = Counter()
    for equation in jaxpr.eqns:
        total[equation.primitive.name] += times
        trips = equation.params["length"] if equation.primitive.name == "scan" else 1
        for value in equation.params.values():
            inner = getattr(value, "jaxpr", value)
            if hasattr(inner, "eqns"):
                total += executed(inner, times * trips)
    return total


def program_size(jaxpr: jax.extend.core.Jaxpr) -> int:
    inner = [getattr(value, "jaxpr", value) for equation in jaxpr.eqns for value in equation.params.values()]
    return len(jaxpr.eqns) + sum(program_size(part) for part in inner if hasattr(part, "eqns"))


def traced(function: Callable[[jax.Array], Any], x: jax.Array, count: int) -> jax.extend.core.Jaxpr:
    return jax.make_jaxpr(function, axis_env=[("x", count)])(x).jaxpr


def ring(
    blocks: jax.Array, count: int, *, both_ways: bool = False, platform: str = "cpu"
) -> Callable[[jax.Array], jax.Array]:
    """The product with a matrix given by blocks ``blocks[p, q]``: device p holds its row of them."""

    def function(chunk: jax.Array) -> jax.Array:
        row = blocks[lax.axis_index("x")]
        start = jnp.zeros(blocks.shape[2], blocks.dtype) + 0 * chunk[:1]
        return ring_product(chunk, ("x",), count, lambda q, part: row[q] @ part, start, platform, both_ways=both_ways)

    return function


def block_matrix(count: int, rows: int = 2, columns: int = 3, dtype: type = np.float64) -> np.ndarray:
    generator = np.random.default_rng(count)
    blocks = generator.standard_normal((count, count, rows, columns))
    return (blocks + (1j * blocks[::-1] if np.issubdtype(dtype, np.complexfloating) else 0)).astype(dtype)


def dense(blocks: np.ndarray) -> np.ndarray:
    count, _, rows, columns = blocks.shape
    return blocks.swapaxes(1, 2).reshape(count * rows, count * columns)


# -- the ring --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("both_ways", [False, True])
@pytest.mark.parametrize("count", RINGS)
def test_a_ring_is_the_dense_product(count: int, both_ways: bool) -> None:
    blocks = block_matrix(count)
    x = np.random.default_rng(1).standard_normal((count, 3))
    got = fake(ring(jnp.asarray(blocks), count, both_ways=both_ways))(x)
    np.testing.assert_allclose(np.ravel(got), dense(blocks) @ x.ravel(), atol=1e-12)


def test_a_ring_of_a_thousand_devices() -> None:
    count = 1000
    weights = np.random.default_rng(0).standard_normal((count, count))
    x = np.random.default_rng(1).standard_normal((count, 1))
    for both_ways in (False, True):
        got = fake(ring(jnp.asarray(weights)[:, :, None, None], count, both_ways=both_ways))(x)
        np.testing.assert_allclose(np.ravel(got), weights @ x.ravel(), atol=1e-10)


@pytest.mark.each_value
@pytest.mark.parametrize("platform", ["cpu", "tpu"])
@pytest.mark.parametrize("both_ways", [False, True])
@pytest.mark.parametrize("count", [*RINGS, 1000])
def test_a_ring_sends_one_chunk_fewer_times_than_there_are_devices(count: int, both_ways: bool, platform: str) -> None:
    blocks = jnp.zeros((count, count, 1, 1), complex)
    function = ring(blocks, count, both_ways=both_ways, platform=platform)
    jaxpr = traced(function, jnp.zeros(1, complex), count)
    assert executed(jaxpr)["ppermute"] == count - 1
    assert not set(executed(jaxpr)) & {"all_gather", "psum", "all_to_all"}


@pytest.mark.parametrize("both_ways", [False, True])
def test_the_program_of_a_ring_does_not_grow(both_ways: bool) -> None:
    sizes = {}
    for count in (8, 64, 1024):
        blocks = jnp.zeros((count, count, 1, 1))
        sizes[count] = program_size(traced(ring(blocks, count, both_ways=both_ways), jnp.zeros(1), count))
    assert sizes[8] == sizes[64] == sizes[1024]


def test_each_permute_is_issued_before_the_product_at_hand() -> None:
    jaxpr = traced(ring(jnp.zeros((8, 8, 1, 1)), 8), jnp.zeros(1), 8)
    loop = next(equation for equation in jaxpr.eqns if equation.primitive.name == "scan")
    body = [equation.primitive.name for equation in loop.params["jaxpr"].jaxpr.eqns]
    assert body.index("ppermute") < body.index("dot_general")


@pytest.mark.parametrize("both_ways", [False, True])
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_derivatives_of_a_ring(count: int, both_ways: bool) -> None:
    blocks = block_matrix(count, dtype=np.complex128)
    matrix = dense(blocks)
    function = fake(ring(jnp.asarray(blocks), count, both_ways=both_ways))
    generator = np.random.default_rng(2)
    x, dx = (generator.standard_normal((count, 3)) + 1j * generator.standard_normal((count, 3)) for _ in range(2))
    y, dy, pulled = jax.jit(lambda x, dx: (*jax.jvp(function, (x,), (dx,)), *jax.vjp(function, x)[1](function(x))))(
        x, dx
    )
    np.testing.assert_allclose(np.ravel(dy), matrix @ dx.ravel(), atol=1e-12)
    np.testing.assert_allclose(np.ravel(pulled), matrix.T @ np.ravel(y), atol=1e-11)


@pytest.mark.parametrize("both_ways", [False, True])
def test_a_ring_and_its_derivative_on_eight_devices(both_ways: bool) -> None:
    count = 8
    blocks = block_matrix(count)
    mesh = Mesh(np.array(jax.devices()), ("x",))
    function = jax.jit(
        jax.shard_map(
            ring(jnp.asarray(blocks), count, both_ways=both_ways), mesh=mesh, in_specs=P("x"), out_specs=P("x")
        )
    )
    x = np.random.default_rng(3).standard_normal(count * 3)
    y, pull = jax.vjp(function, jnp.asarray(x))
    np.testing.assert_allclose(y, dense(blocks) @ x, atol=1e-12)
    np.testing.assert_allclose(pull(y)[0], dense(blocks).T @ np.asarray(y), atol=1e-11)


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_a_ring_over_two_mesh_axes_in_either_order(names: tuple[str, str]) -> None:
    count = 8
    blocks = jnp.asarray(block_matrix(count, rows=1, columns=1))
    mesh = Mesh(np.array(jax.devices()).reshape(2, 4), ("a", "b"))

    def function(chunk: jax.Array) -> jax.Array:
        row = blocks[lax.axis_index(names)]
        return ring_product(chunk, names, count, lambda q, part: row[q] @ part, 0 * chunk, "cpu")

    x = np.random.default_rng(4).standard_normal(count)
    got = jax.jit(jax.shard_map(function, mesh=mesh, in_specs=P(names), out_specs=P(names)))(x)
    np.testing.assert_allclose(got, dense(np.asarray(blocks)) @ x, atol=1e-12)


# -- the DFT by a ring -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "n", "platform"), [(1, 6, "cpu"), (2, 5, "cpu"), (3, 4, "tpu"), (64, 3, "cpu"), (250, 4, "cpu")]
)
def test_a_ring_of_factored_block_rows_is_the_transform(count: int, n: int, platform: str) -> None:
    generator = np.random.default_rng(5)
    x = generator.standard_normal((count, n, 2)) + 1j * generator.standard_normal((count, n, 2))
    options = {"size": count * n, "precision": None, "platform": platform}

    def function(chunk: jax.Array) -> tuple[jax.Array, jax.Array]:
        one = functools.partial(ring_dft, chunk, 0, ("x",), count, **options)  # type: ignore[arg-type]
        return one(inverse=False, scale=1.0, both_ways=False), one(inverse=True, scale=0.5, both_ways=True)

    forward, inverse = fake(function)(x)
    whole = x.reshape(count * n, 2)
    np.testing.assert_allclose(np.reshape(forward, whole.shape), np.fft.fft(whole, axis=0), atol=1e-10)
    wanted = np.fft.ifft(whole, axis=0, norm="forward") / 2
    np.testing.assert_allclose(np.reshape(inverse, whole.shape), wanted, atol=1e-10)


def test_a_block_row_too_large_to_keep_is_made_in_panels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tpufft.execution.block_row.BLOCK_BYTES", 4 * 10 * 16 * 3)
    count, n = 4, 10
    x = np.random.default_rng(6).standard_normal((count, n)).astype(complex)
    make = functools.partial(
        ring_dft, size=count * n, inverse=False, scale=1.0, both_ways=False, precision=None, platform="cpu"
    )
    got = fake(lambda chunk: make(chunk, 0, ("x",), count))(x)
    np.testing.assert_allclose(np.ravel(got), np.fft.fft(x.ravel()), atol=1e-12)


# -- exchanges -------------------------------------------------------------------------------------------------


@pytest.mark.each_value
@pytest.mark.parametrize("platform", ["cpu", "tpu"])
@pytest.mark.parametrize("dtype", [np.complex64, np.float32, np.int8])
@pytest.mark.parametrize("count", [1, 2, 8, 100])
def test_an_exchange_moves_the_chunking(count: int, dtype: type, platform: str) -> None:
    whole = np.arange(count * 2 * 3 * count).reshape(2 * count, 3, count).astype(dtype)
    chunks = np.stack(np.split(whole, count, axis=0))
    there = fake(lambda chunk: exchange(chunk, ("x",), 0, 2, platform))(chunks)
    np.testing.assert_array_equal(there, np.stack(np.split(whole, count, axis=2)))
    back = fake(lambda chunk: exchange(chunk, ("x",), 2, 0, platform))(there)
    assert back.dtype == dtype
    np.testing.assert_array_equal(back, chunks)


def test_an_exchange_among_a_thousand_devices() -> None:
    whole = np.arange(1000 * 1000, dtype=np.int32).reshape(1000, 1000)
    got = fake(lambda chunk: exchange(chunk, ("x",), 0, 1, "cpu"))(whole.reshape(1000, 1, 1000))
    np.testing.assert_array_equal(np.asarray(got)[:, :, 0], whole.T)


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_an_exchange_over_two_mesh_axes_in_either_order(names: tuple[str, str]) -> None:
    mesh = Mesh(np.array(jax.devices()).reshape(2, 4), ("a", "b"))
    x = np.arange(16 * 8).reshape(16, 8)
    function = jax.shard_map(
        lambda chunk: exchange(chunk, names, 0, 1, "cpu"), mesh=mesh, in_specs=P(names), out_specs=P(None, names)
    )
    y = jax.jit(function)(x)
    np.testing.assert_array_equal(y, x)
    assert {shard.data.shape for shard in y.addressable_shards} == {(16, 1)}


# -- one collective for a complex chunk ----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.complex64, np.float32])
@pytest.mark.parametrize("platform", ["cpu", "gpu", "tpu"])
def test_a_complex_chunk_is_one_collective_everywhere(platform: str, dtype: type) -> None:
    seen = []

    def collective(part: jax.Array) -> jax.Array:
        seen.append(part.dtype)
        return lax.ppermute(part, "x", [(0, 1), (1, 0)])

    function = functools.partial(send_whole, collective, platform=platform)
    x = np.array([[1 + 2j, 3 - 4j], [5j, 6]]).astype(dtype) if dtype == np.complex64 else np.ones((2, 2), dtype)
    np.testing.assert_array_equal(fake(function)(x), x[::-1])
    assert len(seen) == 1
    assert seen[0] == (np.float32 if platform == "tpu" else dtype)
    assert executed(traced(function, jnp.asarray(x[0]), 2))["ppermute"] == 1


def test_axis_names_as_jax_takes_them() -> None:
    assert axis_name(("x",)) == "x"
    assert axis_name(("a", "b")) == ("a", "b")


# -- copies between chunks -----------------------------------------------------------------------------------------


def copied(x: np.ndarray, length: int, parts: list[Fragment]) -> np.ndarray:
    wanted = np.zeros((len(x), length, *x.shape[2:]), x.dtype)
    for part in parts:
        piece = x[part.source, part.source_start : part.source_start + part.length]
        wanted[part.target, part.target_start : part.target_start + part.length] = piece
    return wanted


def draw_intervals(data: st.DataObject, before: int, after: int) -> tuple[tuple[int, int, int], ...]:
    """Intervals (old start, new start, length) that are disjoint on both sides."""
    source, target, intervals = 0, 0, []
    for _ in range(data.draw(st.integers(1, 3))):
        source += data.draw(st.integers(0, 4))
        target += data.draw(st.integers(0, 4))
        length = data.draw(st.integers(0, max(0, min(before - source, after - target))))
        if length:
            intervals.append((source, target, length))
        source, target = source + length, target + length
    return tuple(intervals)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.integers(1, 5), st.integers(1, 5), st.booleans(), st.data())
def test_any_copies_of_intervals(before: int, after: int, reverse: bool, data: st.DataObject) -> None:
    parts = fragments(draw_intervals(data, 8 * before, 8 * after), before, after)
    parts = parts[::-1] if reverse else parts
    mesh = Mesh(np.array(jax.devices()), ("x",))

    @jax.jit
    @functools.partial(jax.shard_map, mesh=mesh, in_specs=P(None, "x"), out_specs=P(None, "x"))
    def function(chunk: jax.Array) -> jax.Array:
        return copy_fragments(chunk, 1, ("x",), 8, after, parts, "cpu")

    x = np.random.default_rng(7).standard_normal((2, 8 * before))
    got = np.asarray(function(x)).reshape(2, 8, after).transpose(1, 2, 0)
    np.testing.assert_array_equal(got, copied(x.reshape(2, 8, before).transpose(1, 2, 0), after, parts))


@pytest.mark.parametrize("platform", ["cpu", "tpu"])
@pytest.mark.parametrize(("count", "chunk", "amount"), [(8, 2, 8), (64, 3, 50), (1000, 2, 1000), (1000, 3, 1501)])
def test_cyclic_shifts_on_many_devices(count: int, chunk: int, amount: int, platform: str) -> None:
    size = count * chunk
    parts = fragments(((0, amount, size - amount), (size - amount, 0, amount)), chunk, chunk)
    x = np.arange(size) + 1j
    function = functools.partial(copy_fragments, axis=0, names=("x",), count=count, length=chunk, parts=parts)
    got = fake(lambda c: function(c, platform=platform))(x.reshape(count, chunk))
    np.testing.assert_array_equal(np.ravel(got), np.roll(x, amount))
    permutes = executed(traced(lambda c: function(c, platform=platform), jnp.zeros(chunk, complex), count))["ppermute"]
    assert permutes == (1 if amount % chunk == 0 else 2)


def test_copies_on_one_device_need_no_axis_name() -> None:
    x = jnp.arange(5.0)
    got = copy_fragments(x, 0, (), 1, 7, [Fragment(0, 0, 1, 3, 4), Fragment(0, 0, 0, 0, 1)], "cpu")
    np.testing.assert_array_equal(got, [0, 0, 0, 1, 2, 3, 4])
    got = copy_fragments(x > 2, 0, (), 1, 2, [Fragment(0, 0, 3, 0, 2)], "cpu")
    np.testing.assert_array_equal(got, [True, True])
