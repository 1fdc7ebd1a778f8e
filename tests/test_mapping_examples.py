"""The four examples of the documentation's page on mapping: each against numpy, and against the answer in plain JAX."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import AUTO, AXIS_TYPES, EXPLICIT, TYPE_IDS, check_chunks, collectives, counted_work, mesh_of, random
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from tpufft import comm
from tpufft.mapping import num_shards, shard, shards, smap, unshard

TYPES = pytest.mark.parametrize("axis_type", AXIS_TYPES, ids=TYPE_IDS)
# Half of the combinations always, all of them in `make test-long`.
MESHES = pytest.mark.parametrize(
    ("name", "axis_type"),
    [
        pytest.param("x8", AUTO, id="x8-auto"),
        pytest.param("x4y2", EXPLICIT, id="x4y2-explicit"),
        pytest.param("x8", EXPLICIT, id="x8-explicit", marks=pytest.mark.long),
        pytest.param("x4y2", AUTO, id="x4y2-auto", marks=pytest.mark.long),
    ],
)
DEVICES, BATCHES, FEATURES, EPOCHS = 8, 3, 4, 2


# -- configurations split, a key and a data set copied ---------------------------------------------------------------


def fit(key: Any, data: Any, config: Any, start: Any = None) -> dict[str, Any]:
    """Linear regression by stochastic gradient descent, a row at a time; of steep rows every step is left out."""
    rate, decay = config[0]
    weights = comm.vary(jnp.zeros(data.shape[1] - 1)) if start is None else start[0]

    def step(weights: Any, row: Any) -> Any:
        slope = (weights @ row[:-1] - row[-1]) * row[:-1]
        kept = jnp.abs(slope).max() < 3
        return lax.cond(kept, lambda: weights - rate * (slope + decay * weights), lambda: weights), None

    def epoch(weights: Any, key: Any) -> Any:
        weights, _ = lax.scan(step, weights, jax.random.permutation(key, data))
        return weights, ((data[:, :-1] @ weights - data[:, -1]) ** 2).mean()

    weights, losses = lax.scan(epoch, weights, jax.random.split(key, EPOCHS))
    return {"weights": weights, "losses": losses}


def fit_by_numpy(key: Any, data: np.ndarray, config: np.ndarray, start: np.ndarray) -> dict[str, np.ndarray]:
    """The same for one configuration; the order of rows is JAX's."""
    weights, losses = start.copy(), []
    for each in jax.random.split(key, EPOCHS):
        for row in np.asarray(jax.random.permutation(each, data)):
            slope = (weights @ row[:-1] - row[-1]) * row[:-1]
            if np.abs(slope).max() < 3:
                weights = weights - config[0] * (slope + config[1] * weights)
        losses.append(((data[:, :-1] @ weights - data[:, -1]) ** 2).mean())
    return {"weights": weights, "losses": np.array(losses)}


@MESHES
def test_configurations(name: str, axis_type: Any) -> None:
    mesh, key, data = mesh_of(name, axis_type), jax.random.key(0), random((20, FEATURES + 1), np.float64)
    rng = np.random.default_rng(1)
    configs = np.stack([rng.uniform(0.01, 0.1, (DEVICES, BATCHES)), rng.uniform(0, 0.5, (DEVICES, BATCHES))], -1)
    start = random((DEVICES, BATCHES, FEATURES), np.float64, seed=2) if name == "x8" else None

    mapped = smap(fit, mesh, shard=["config", "start"], replicate=["key", "data"], batch={"config": 1, "start": 1})
    got = mapped(key, data, configs, start)

    starts = np.zeros((DEVICES, BATCHES, FEATURES)) if start is None else start
    each = [
        fit_by_numpy(key, data, config, first)
        for config, first in zip(configs.reshape(-1, 2), starts.reshape(-1, FEATURES), strict=True)
    ]
    for key, width in (("weights", FEATURES), ("losses", EPOCHS)):
        check_chunks(got[key], mesh, P(mesh.axis_names))
        assert got[key].shape == (DEVICES * BATCHES, width)
        np.testing.assert_allclose(got[key], np.stack([one[key] for one in each]), rtol=1e-9)


def test_configurations_in_plain_jax() -> None:
    mesh, key, data = mesh_of("x8"), jax.random.key(0), random((20, FEATURES + 1), np.float64)
    configs = random((DEVICES, BATCHES, 2), np.float64) * 0.01

    def chunked(key: Any, data: Any, configs: Any) -> Any:
        key, data = lax.pcast((key, data), "x", to="varying")
        return jax.vmap(lambda config: fit(key, data, config), in_axes=1)(configs)

    plain = jax.jit(jax.shard_map(chunked, mesh=mesh, in_specs=(P(), P(), P("x")), out_specs=P("x")))
    mapped = smap(fit, mesh, shard=["config"], batch={"config": 1})
    want = plain(key, data, jax.device_put(configs, NamedSharding(mesh, P("x"))))
    for name, got in mapped(key, data, configs).items():
        np.testing.assert_allclose(got, want[name], rtol=1e-12)


# -- data-parallel training ------------------------------------------------------------------------------------------


def parameters() -> dict[str, np.ndarray]:
    return {"hidden": random((3, 8), np.float64) / 2, "out": random((8, 2), np.float64, seed=1) / 2}


def loss(parameters: Any, x: Any, y: Any) -> Any:
    return ((jnp.tanh(x @ parameters["hidden"]) @ parameters["out"] - y) ** 2).mean()


def slope_by_numpy(parameters: Any, x: np.ndarray, y: np.ndarray) -> tuple[float, dict[str, np.ndarray]]:
    """The loss of a whole batch and its derivatives, by hand."""
    hidden = np.tanh(x @ parameters["hidden"])
    rest = hidden @ parameters["out"] - y
    slope = 2 * rest / rest.size
    back = (slope @ parameters["out"].T) * (1 - hidden**2)
    return (rest**2).mean(), {"hidden": x.T @ back, "out": hidden.T @ slope}


def mean_slope(parameters: Any, x: Any, y: Any) -> Any:
    value, slope = jax.value_and_grad(loss)(parameters, x, y)
    return jax.tree.map(lambda each: each / comm.size(), comm.allreduce((value, slope)))


@MESHES
def test_data_parallel_training(name: str, axis_type: Any) -> None:
    mesh, x, y = mesh_of(name, axis_type), random((32, 3), np.float64), random((32, 2), np.float64, seed=3)
    mapped = smap(mean_slope, mesh, shard=["x", "y"], out_axis=None)

    @jax.jit
    def train(parameters: Any, x: Any, y: Any) -> Any:
        value, slope = mapped(parameters, x, y)
        return jax.tree.map(lambda p, s: p - 0.1 * s, parameters, slope), value

    got, want = jax.device_put(parameters(), NamedSharding(mesh, P())), parameters()
    batch = shard((x, y), mesh)
    for _ in range(5):
        got, value = train(got, *batch)
        expected, slope = slope_by_numpy(want, x, y)
        want = {key: want[key] - 0.1 * slope[key] for key in want}
        np.testing.assert_allclose(value, expected, rtol=1e-12)
    for key in want:
        np.testing.assert_allclose(got[key], want[key], rtol=1e-10)
    assert set(collectives(train, got, *batch)) == {"all-reduce"}


def test_data_parallel_training_in_plain_jax() -> None:
    mesh, x, y = mesh_of("x8"), random((32, 3), np.float64), random((32, 2), np.float64, seed=3)

    def plain(parameters: Any, x: Any, y: Any) -> Any:
        # A parameter that is the same everywhere: its derivative is summed over the devices by JAX itself.
        value, slope = jax.value_and_grad(lambda p: lax.pmean(loss(p, x, y), "x"))(parameters)
        return value, slope

    specs = (P(), P("x"), P("x"))
    want = jax.jit(jax.shard_map(plain, mesh=mesh, in_specs=specs, out_specs=P()))(parameters(), x, y)
    got = smap(mean_slope, mesh, shard=["x", "y"], out_axis=None)(parameters(), x, y)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12), got, want)
    # ... and so it is seen from outside: the loss without a sum, differentiated by what is copied
    outer = smap(loss, mesh, shard=["x", "y"])
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12),
        jax.grad(lambda p: outer(p, x, y).mean())(parameters()),
        want[1],
    )


# -- an optimizer whose state is split -------------------------------------------------------------------------------


RATE, FIRST, SECOND, TINY = 0.05, 0.9, 0.99, 1e-8


def adam(weights: Any, state: Any, x: Any, y: Any) -> Any:
    """A step of Adam: of the state, and of the work on it, every device has its part."""
    slope = jax.grad(lambda w: ((x @ w - y) ** 2).mean())(weights)
    mine = comm.alltoall(slope.reshape(comm.size(), -1)).mean(axis=0)
    count = state["count"] + 1
    mean = FIRST * state["mean"] + (1 - FIRST) * mine
    square = SECOND * state["square"] + (1 - SECOND) * mine**2
    step = mean / (1 - FIRST**count) / (jnp.sqrt(square / (1 - SECOND**count)) + TINY)
    part = weights.reshape(comm.size(), -1)[comm.rank()] - RATE * step
    return comm.allgather(part).reshape(-1), {"count": count, "mean": mean, "square": square}


def adam_by_numpy(weights: np.ndarray, x: np.ndarray, y: np.ndarray, steps: int) -> np.ndarray:
    mean = square = np.zeros_like(weights)
    for count in range(1, steps + 1):
        slope = 2 * x.T @ (x @ weights - y) / len(x)
        mean = FIRST * mean + (1 - FIRST) * slope
        square = SECOND * square + (1 - SECOND) * slope**2
        weights = weights - RATE * mean / (1 - FIRST**count) / (np.sqrt(square / (1 - SECOND**count)) + TINY)
    return weights


@MESHES
def test_split_optimizer(name: str, axis_type: Any) -> None:
    mesh, x, y = mesh_of(name, axis_type), random((32, 16), np.float64), random((32,), np.float64, seed=3)
    mapped = smap(adam, mesh, shard=["state", "x", "y"], out_axis=(None, 0))
    state = shard({"count": np.zeros(8), "mean": np.zeros(16), "square": np.zeros(16)}, mesh)
    weights, batch = np.zeros(16), shard((x, y), mesh)
    for _ in range(6):
        weights, state = mapped(weights, state, *batch)
    np.testing.assert_allclose(weights, adam_by_numpy(np.zeros(16), x, y, 6), rtol=1e-9)
    assert {part.shape for part in shards(state["mean"])} == {(2,)}
    sent = collectives(mapped, weights, state, *batch)
    assert set(sent) == {"all-to-all", "all-gather"}
    with counted_work() as work:
        mapped(weights, state, *batch)
    assert not work


def test_split_optimizer_in_plain_jax() -> None:
    mesh, x, y = mesh_of("x8"), random((32, 16), np.float64), random((32,), np.float64, seed=3)

    def plain(weights: Any, state: Any, x: Any, y: Any) -> Any:
        slope = jax.grad(lambda w: ((x @ w - y) ** 2).mean())(lax.pcast(weights, "x", to="varying"))
        mine = lax.psum_scatter(slope, "x", tiled=True) / 8
        count = state["count"] + 1
        mean = FIRST * state["mean"] + (1 - FIRST) * mine
        square = SECOND * state["square"] + (1 - SECOND) * mine**2
        step = mean / (1 - FIRST**count) / (jnp.sqrt(square / (1 - SECOND**count)) + TINY)
        part = lax.dynamic_slice_in_dim(weights, 2 * lax.axis_index("x"), 2) - RATE * step
        whole = lax.all_gather(part, "x", tiled=True, to="invarying")
        return whole, {"count": count, "mean": mean, "square": square}

    state = {"count": np.zeros(8), "mean": np.zeros(16), "square": np.zeros(16)}
    specs = (P(), P("x"), P("x"), P("x"))
    want = jax.jit(jax.shard_map(plain, mesh=mesh, in_specs=specs, out_specs=(P(), P("x"))))(np.ones(16), state, x, y)
    got = smap(adam, mesh, shard=["state", "x", "y"], out_axis=(None, 0))(np.ones(16), state, x, y)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12), got, want)


# -- lists of shards, as other libraries have them -------------------------------------------------------------------


@TYPES
def test_lists_of_shards(axis_type: Any) -> None:
    mesh, x = mesh_of("x8", axis_type), random((16, 3), np.float64)
    parts = shards(shard(x, mesh))
    assert len(parts) == num_shards(mesh)
    centred = smap(lambda x: x - comm.allreduce(x.sum(axis=0, keepdims=True)) / 16, mesh, shard=[0])
    scaled = smap(lambda x: x / jnp.sqrt(comm.allreduce((x**2).sum(axis=0, keepdims=True)) / 16), mesh, shard=[0])
    with counted_work() as work:
        first = scaled(centred(parts))
    assert [part.devices() for part in first] == [part.devices() for part in parts]
    want = (x - x.mean(0)) / x.std(0)
    np.testing.assert_allclose(unshard(first, mesh), want, rtol=1e-10)
    assert work["backend_compile_duration"] == 2
    with counted_work() as work:
        scaled(centred(parts))
    assert not work


def test_lists_of_shards_in_plain_jax() -> None:
    mesh, x = mesh_of("x8"), random((16, 3), np.float64)
    sharding = NamedSharding(mesh, P("x"))
    parts = [jax.device_put(part, device) for part, device in zip(np.split(x, 8), mesh.devices.flat, strict=True)]
    whole = jax.make_array_from_single_device_arrays(x.shape, sharding, parts)
    plain = jax.jit(
        jax.shard_map(
            lambda x: x - lax.pmean(x.mean(0, keepdims=True), "x"), mesh=mesh, in_specs=P("x"), out_specs=P("x")
        )
    )
    want = [part.data for part in plain(whole).addressable_shards]
    got = smap(lambda x: x - comm.allreduce(x.mean(0, keepdims=True)) / comm.size(), mesh, shard=[0])(parts)
    for one, other in zip(got, want, strict=True):
        assert one.devices() == other.devices()
        np.testing.assert_allclose(one, other, rtol=1e-12)
