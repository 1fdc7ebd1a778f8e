"""Halos against numpy.pad: every mode, width and border; the permutes they take; functions of widened chunks."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import (
    AXIS_TYPES,
    TYPE_IDS,
    Case,
    check,
    check_value,
    compiled,
    context,
    counted_work,
    mesh_of,
    place,
    put,
    random,
    some,
)
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import tpufft
from tpufft.layout import Layout

MODES = ("wrap", "constant", "edge", "reflect", "symmetric")
LINE = {size: Case("x8", P("x"), (size, 3)) for size in (8, 24)}
# Two hops, all of a neighbour, more on one side, nothing on one side.
WIDTHS = {8: ((0, 2), (2, 5), (7, 7)), 24: ((1, 1), (3, 0), (7, 2))}


def widened(x: np.ndarray, parts: tuple[int, ...], widths: dict[int, tuple[int, int]], mode: str) -> np.ndarray:
    """All widened chunks side by side, by ``numpy.pad`` and slices."""
    for axis, (left, right) in widths.items():
        padded = np.pad(x, [(left, right) if each == axis else (0, 0) for each in range(x.ndim)], mode=mode)  # type: ignore[call-overload]
        length = x.shape[axis] // parts[axis]
        starts = range(0, x.shape[axis], length)
        pieces = [padded.take(range(start, start + length + left + right), axis) for start in starts]
        x = np.concatenate(pieces, axis)
    return x


@pytest.mark.each_value
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", LINE)
def test_every_width_and_border(size: int, mode: str) -> None:
    case = LINE[size]
    x = random(case.shape, "float32")
    array = put(x, case)
    for width in WIDTHS[size]:
        got = tpufft.halo_exchange(array, width, 0, mode)
        check(got, widened(x, (8, 1), {0: width}, mode), x.dtype, array.sharding.mesh, P("x"), times=0)


@pytest.mark.parametrize("axis_type", AXIS_TYPES, ids=TYPE_IDS)
@pytest.mark.parametrize("mode", ["wrap", "reflect"])
def test_corners_of_several_axes(mode: str, axis_type: Any) -> None:
    case = Case("x4y2", P("y", "x"), (6, 8))
    x = random(case.shape)
    array = put(x, case, axis_type)
    mesh = array.sharding.mesh
    got = tpufft.halo_exchange(array, ((1, 2), (3, 0)), (0, -1), mode)
    want = widened(x, (2, 4), {0: (1, 2), 1: (3, 0)}, mode)
    check(got, want, x.dtype, mesh, case.spec, times=0)
    with context(mesh):
        jitted = jax.jit(lambda x: tpufft.halo_exchange(x, ((1, 2), (3, 0)), (0, 1), mode, mesh, spec=case.spec))
        check(jitted(array), want, x.dtype, mesh, case.spec, times=0)


@pytest.mark.parametrize("mesh", ["x1", "x2a1z4"])
def test_whole_axes_and_mesh_axes_of_one(mesh: str) -> None:
    case = Case(mesh, P(("a", "z")) if mesh == "x2a1z4" else P("x"), (8, 5))
    x = random(case.shape, "float32")
    parts = Layout.of(case.shape, "f4", mesh_of(mesh), case.spec).parts
    for mode in MODES:
        got = tpufft.halo_exchange(put(x, case), 2, (0, 1), mode)
        np.testing.assert_array_equal(got, widened(x, parts, {0: (2, 2), 1: (2, 2)}, mode))


@pytest.mark.parametrize("dtype", ["bool", "int32", "float16", "complex64"])
def test_dtypes(dtype: str) -> None:
    x = random((16,), dtype)
    array = put(x, Case("x8", P("x"), (16,)))
    got = tpufft.halo_exchange(array, (1, 3), 0, "symmetric")
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, widened(x, (8,), {0: (1, 3)}, "symmetric"))


def test_only_faces_of_neighbours_travel() -> None:
    """A width of 1 along a chunked axis: two permutes of a face between neighbours; wider ones hop on."""
    mesh = mesh_of("x8")
    x = jax.ShapeDtypeStruct((64, 16, 16), np.float32, sharding=NamedSharding(mesh, P("x")))

    def sent(width: Any, mode: str) -> tuple[int, list[int]]:
        program, found = compiled(lambda x: tpufft.halo_exchange(x, width, 0, mode, mesh, spec=P("x")), x)
        assert set(found) <= {"collective-permute"}
        lines = [line for line in program.as_text().splitlines() if " collective-permute(" in line]
        for line in lines:
            pairs = line.split("source_target_pairs={{")[1].split("}}")[0].split("},{")
            steps = {(int(b) - int(a)) % 8 for a, b in (pair.split(",") for pair in pairs)}
            assert steps in ({1}, {7}), line
        shapes = [line.split("f32[")[1].split("]")[0].split(",") for line in lines]
        return found["collective-permute"], sorted(int(np.prod([int(n) for n in shape])) for shape in shapes)

    face = 16 * 16
    for mode in MODES:
        assert sent(1, mode) == (2, [face, face])
    assert sent((0, 2), "edge") == (1, [2 * face])
    assert sent((0, 20), "constant") == (3, [4 * face, 8 * face, 8 * face])
    # Beyond the other chunks there is nothing to fetch.
    assert sent((0, 10_000), "constant") == sent((0, 56), "edge") == (7, [8 * face] * 7)


@pytest.mark.parametrize("axis_type", AXIS_TYPES, ids=TYPE_IDS)
@pytest.mark.parametrize("mode", ["constant", "edge"])
def test_widths_beyond_the_whole_array(mode: str, axis_type: Any) -> None:
    case = Case("x8", P("x"), (16, 3))
    x = random(case.shape)
    array = put(x, case, axis_type)
    for width in ((14, 15), (100, 0), (3, 1000)):
        want = widened(x, (8, 1), {0: width}, mode)
        check(tpufft.halo_exchange(array, width, 0, mode), want, x.dtype, array.sharding.mesh, P("x"), times=0)
    uneven = tpufft.chunk(x[:13], array.sharding.mesh, P("x"))
    got = tpufft.map_chunks(lambda c: c[40:] + c[:-40], uneven, halo=20, mode=mode)
    padded = np.pad(x[:13], ((20, 20), (0, 0)), mode=mode)  # type: ignore[call-overload]
    np.testing.assert_allclose(got.to_numpy(), padded[40:] + padded[:-40])
    with context(array.sharding.mesh):
        _, back = jax.vjp(lambda x: tpufft.halo_exchange(x, (30, 31), 0, mode), array)
        ones = jax.device_put(np.ones((16 + 8 * 61, 3), x.dtype), array.sharding)
        (found,) = back(ones)
    counts = np.zeros(16)
    for chunk in range(8):
        places = 2 * chunk + np.arange(-30, 33)
        inside = (places >= 0) & (places < 16)
        np.add.at(counts, places.clip(0, 15) if mode == "edge" else places[inside], 1)
    np.testing.assert_allclose(found, np.broadcast_to(counts[:, None], (16, 3)))


@pytest.mark.parametrize("axis_type", AXIS_TYPES, ids=TYPE_IDS)
def test_results_without_elements_can_be_read(axis_type: Any) -> None:
    array = put(np.zeros((16, 0), "f4"), Case("x8", P("x"), (16, 0)), axis_type)
    assert np.asarray(tpufft.map_chunks(lambda c: c + 1, array)).shape == (16, 0)
    assert np.asarray(tpufft.smap(lambda c: c + 1, array.sharding.mesh, shard=[0])(array)).shape == (16, 0)


@pytest.mark.parametrize("axis_type", AXIS_TYPES, ids=TYPE_IDS)
@pytest.mark.parametrize("mode", some(MODES))
def test_derivatives_add_back_into_neighbours(mode: str, axis_type: Any) -> None:
    case = Case("x4y2", P("x", "y"), (8, 6))
    array = put(random(case.shape), case, axis_type)
    mesh = array.sharding.mesh
    widths = {0: (2, 3), 1: (1, 0)}

    def exchange(x: jax.Array) -> jax.Array:
        return tpufft.halo_exchange(x, tuple(widths.values()), (0, 1), mode)

    # The matrix, column by column, from numpy.
    units = np.eye(48).reshape(48, 8, 6)
    matrix = np.stack([widened(unit, (4, 2), widths, mode).ravel() for unit in units], axis=1)
    with context(mesh):
        out, pull = jax.vjp(exchange, array)
        cotangent = random(out.shape, seed=1)
        (gradient,) = pull(jax.device_put(cotangent, out.sharding))
        check(gradient, (matrix.T @ cotangent.ravel()).reshape(8, 6), array.dtype, mesh, case.spec)
        _, tangent = jax.jvp(exchange, (array,), (array,))
        check(tangent, np.asarray(out), array.dtype, mesh, case.spec, times=0)
        second = jax.grad(lambda x: (jax.grad(lambda x: (exchange(x.real) ** 3).sum())(x) ** 2).sum().real)(array.real)
        check_value(second, _second(matrix, np.asarray(array.real).ravel()).reshape(8, 6), times=4)
        batch = jnp.stack([array, 2 * array], axis=1)
        many = jax.vmap(exchange, in_axes=1, out_axes=1)(batch)
        check_value(many, np.stack([np.asarray(out), 2 * np.asarray(out)], axis=1))
    _, found = compiled(jax.linear_transpose(exchange_on(mesh, case, widths, mode), array), out)
    assert set(found) == {"collective-permute"}


def exchange_on(mesh: Any, case: Case, widths: dict, mode: str) -> Any:
    return lambda x: tpufft.halo_exchange(x, tuple(widths.values()), tuple(widths), mode, mesh, spec=case.spec)


def _second(matrix: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The gradient of |g|^2 with g = 3 M^T (M x)^2, the gradient of the sum of (M x)^3."""
    inner = matrix @ x
    first = 3 * matrix.T @ inner**2
    return 2 * (6 * matrix.T * inner) @ matrix @ first


# -- functions of chunks -------------------------------------------------------------------------------------------


def mean3(c: jax.Array) -> jax.Array:
    return (c[:-2] + 2 * c[1:-1] + c[2:]) / 4


def weigh(c: jax.Array) -> jax.Array:
    return c.at[1:-1].set(mean3(c))


@pytest.mark.each_value
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", some([13, 3, 5, 16, 17]))
def test_a_function_of_chunks_of_any_length(size: int, mode: str) -> None:
    case = Case("x8", P("x"), (size,))
    x = random((size,), "float64")
    padded = np.pad(x, 1, mode=mode)  # type: ignore[call-overload]
    want = (padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4
    array = place(x, case)
    for fn in (mean3, weigh):
        got = tpufft.map_chunks(fn, array, halo=1, mode=mode)
        assert isinstance(got, jax.Array) == (size == 16)
        check_value(np.asarray(got), want)
    gradient = jax.grad(lambda x: (tpufft.map_chunks(mean3, x, halo=1, mode=mode) ** 2).sum())(array)
    assert np.isfinite(np.asarray(gradient)).all()
    unit = np.stack([np.pad(row, 1, mode=mode) for row in np.eye(size)])  # type: ignore[call-overload]
    matrix = ((unit[:, :-2] + 2 * unit[:, 1:-1] + unit[:, 2:]) / 4).T
    check_value(np.asarray(gradient), 2 * matrix.T @ want)


def test_ten_convolutions_after_one_exchange() -> None:
    """The question of xmap's users: one exchange up front, then cheap local steps, equal to the global computation."""
    mesh = jax.make_mesh((2, 2), ("x", "y"), axis_types=(jax.sharding.AxisType.Auto,) * 2, devices=jax.devices()[:4])
    kernel = np.array([[0.0, 1.0, 0.0], [1.0, 4.0, 1.0], [0.0, 1.0, 0.0]]) / 8

    def smooth(c: Any) -> Any:
        rows, columns = c.shape
        shifted = (c[i : rows - 2 + i, j : columns - 2 + j] * kernel[i, j] for i in range(3) for j in range(3))
        return sum(shifted)

    def ten(c: Any) -> Any:
        for _ in range(10):
            c = smooth(c)
        return c

    x = random((48, 64), "float64")
    array = jax.device_put(x, NamedSharding(mesh, P("x", "y")))
    want = ten(np.pad(x, 10, mode="wrap"))
    check(tpufft.map_chunks(ten, array, halo=10), want, x.dtype, mesh, P("x", "y"))
    spec = P("x", "y")
    _, found = compiled(lambda x: tpufft.map_chunks(ten, x, mesh, spec=spec, halo=10), array)
    _, once = compiled(lambda x: tpufft.halo_exchange(x, 10, (0, 1), "wrap", mesh, spec=spec), array)
    assert found == once == {"collective-permute": 4}


@pytest.mark.parametrize("axis_type", AXIS_TYPES, ids=TYPE_IDS)
def test_trees_and_other_lengths(axis_type: Any) -> None:
    case = Case("x8", P("x"), (16, 3))
    x = random(case.shape, "float32")
    array = put(x, case, axis_type)
    mesh = array.sharding.mesh
    with context(mesh):
        got = tpufft.map_chunks(lambda c: {"sum": c.sum(0, keepdims=True), "one": jnp.ones((1, 1))}, array, crop=False)
    check(got["sum"], x.reshape(8, 2, 3).sum(1), np.float32, mesh, P("x"))
    assert got["one"].shape == (8, 1)


def test_the_second_call_compiles_nothing() -> None:
    array = put(random((16,), "float32"), Case("x8", P("x"), (16,)))
    tpufft.map_chunks(mean3, array, halo=1)
    tpufft.halo_exchange(array, 1, 0)
    with counted_work() as work:
        tpufft.map_chunks(mean3, array, halo=1)
        tpufft.halo_exchange(array, 1, 0)
    assert not work


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda x: tpufft.halo_exchange(x, -1, 0), "width=-1: -1 cells; at least 0"),
        (lambda x: tpufft.halo_exchange(x, 1.5, 0), "no integer"),
        (lambda x: tpufft.halo_exchange(x, (1, 2, 3), 0), "width=\\(1, 2, 3\\) for 1 axes"),
        (lambda x: tpufft.halo_exchange(x, 1, 0, "mirror"), "mode='mirror'; right is one of wrap"),
        (lambda x: tpufft.halo_exchange(x, 16, 0, "reflect"), "has 15 cells"),
        (lambda x: tpufft.halo_exchange(x, 17, 0), "has 16 cells"),
        (lambda x: tpufft.halo_exchange(x, 1, 2), "out of bounds"),
        (lambda x: tpufft.halo_exchange(x, np.array([1, 20]), 0), "width \\(1, 20\\)"),
        (lambda x: tpufft.map_chunks(mean3, x, halo=17), "halo \\(17, 17\\)"),
        (lambda x: tpufft.map_chunks(lambda c: "a", x), "what fn returned: 'a' is neither a number nor an array"),
        (lambda x: tpufft.halo_exchange(x, 1, 0, "wrap", Mesh(np.array([], object), ("x",))), "has no devices"),
        (lambda x: tpufft.halo_exchange(x, 1, (0, 0)), "stands twice"),
        (lambda x: tpufft.halo_exchange(tpufft.chunk(np.ones(13)), 1, 0), "of length 13.*map_chunks takes any length"),
        (lambda x: tpufft.map_chunks(mean3, x, halo=(1, 2, 3)), "halo=\\(1, 2, 3\\) for 1 axes; right is a number"),
        (lambda x: tpufft.map_chunks(x, mean3), "cannot be called; the array comes second"),
        (lambda x: tpufft.map_chunks(lambda c: c[:1], x), "with crop=True right is"),
        (lambda x: tpufft.map_chunks(lambda c: c.sum(), x), "right is an array with as many"),
        (lambda x: tpufft.map_chunks(mean3, tpufft.chunk(np.ones(13)), halo=1, crop=False), "crop=False"),
    ],
)
def test_bad_input(call: Any, says: str) -> None:
    with pytest.raises((ValueError, TypeError), match=says):
        call(put(np.ones(16), Case("x8", P("x"), (16,))))
