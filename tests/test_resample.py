"""repeat, prolong and restrict: numpy's values, the chunking kept, transposes of each other; a multigrid cycle."""

from __future__ import annotations

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import AXIS_TYPES, TYPE_IDS, Case, check, check_result, compiled, context, place, put, random, some
from jax.sharding import PartitionSpec as P

import tpufft

SIZES = (13, 5, 32, 16)
MODES = ("wrap", "constant", "edge", "reflect", "symmetric")


def prolonged(x: np.ndarray, axis: int, mode: str) -> np.ndarray:
    x = np.moveaxis(x, axis, 0)
    after = np.pad(x, [(0, 1), *[(0, 0)] * (x.ndim - 1)], mode=mode)[1:]  # type: ignore[call-overload]
    return np.moveaxis(np.stack([x, (x + after) / 2], 1).reshape(-1, *x.shape[1:]), 0, axis)


def restricted(x: np.ndarray, axis: int, mode: str) -> np.ndarray:
    """By the transpose of the interpolation matrix."""
    matrix = prolonged(np.eye(x.shape[axis] // 2), 0, mode)
    return np.moveaxis(np.tensordot(matrix.T / 2, x, (1, axis)), 0, axis)


@pytest.mark.parametrize("size", some(SIZES))
@pytest.mark.parametrize("times", [1, 3])
def test_repeat(size: int, times: int) -> None:
    case = Case("x8", P(None, "x"), (3, size))
    x = random(case.shape, "int32")
    array = place(x, case)
    got = tpufft.repeat(array, times, 1)
    check_result(got, np.repeat(x, times, 1), np.int32, case.sharding().mesh, case.spec)


def test_repeat_of_two_chunks_stays_with_its_device() -> None:
    case = Case("x8", P("x"), (16,))
    array = put(np.arange(16), case)
    np.testing.assert_array_equal(tpufft.repeat(array, 2, 0), np.repeat(np.arange(16), 2))
    assert not compiled(lambda x: tpufft.repeat(x, 2, 0, case.sharding().mesh, spec=case.spec), array)[1]


@pytest.mark.each_value
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", some(SIZES))
def test_prolong_and_restrict(size: int, mode: str) -> None:
    case = Case("x8", P("x"), (size, 2))
    mesh = case.sharding().mesh
    x = random(case.shape, "float64")
    check_result(tpufft.prolong(place(x, case), 0, mode=mode), prolonged(x, 0, mode), x.dtype, mesh, case.spec)
    fine = random((2 * size, 2), "float64")
    array = place(fine, Case("x8", P("x"), fine.shape))
    check_result(tpufft.restrict(array, 0, mode=mode), restricted(fine, 0, mode), x.dtype, mesh, case.spec, times=2)


@pytest.mark.parametrize("axis_type", AXIS_TYPES, ids=TYPE_IDS)
def test_derivatives_keep_the_chunking(axis_type: Any) -> None:
    case = Case("x4y2", P("y", "x"), (4, 16))
    x = random(case.shape, "float64")
    array = put(x, case, axis_type)
    mesh = array.sharding.mesh
    with context(mesh):
        fine, pull = jax.vjp(lambda x: tpufft.prolong(x, 1), array)
        (back,) = pull(fine)
        check(back, 2 * restricted(np.asarray(fine), 1, "wrap"), x.dtype, mesh, case.spec)
        gradient = jax.grad(lambda x: (tpufft.restrict(tpufft.repeat(x, 2, 0), 1) ** 2).sum())(array)
        repeated = np.repeat(x, 2, 0)
        inner = 2 * prolonged(restricted(repeated, 1, "wrap"), 1, "wrap") / 2
        check(gradient, inner.reshape(4, 2, 16).sum(1), x.dtype, mesh, case.spec, times=2)


def test_one_face_travels() -> None:
    case = Case("x8", P("x"), (32, 4))
    mesh, array = case.sharding().mesh, put(random((32, 4), "float32"), case)
    for fn in (tpufft.prolong, tpufft.restrict):
        assert compiled(lambda x, fn=fn: fn(x, 0, mesh, spec=case.spec), array)[1] == {"collective-permute": 1}


def test_what_was_whole_comes_back_as_an_array() -> None:
    got = tpufft.restrict(np.arange(8.0), 0)
    assert isinstance(got, jax.Array)
    np.testing.assert_allclose(got, restricted(np.arange(8.0), 0, "wrap"))


def test_integers_are_interpolated_as_real_numbers() -> None:
    got = tpufft.prolong(put(np.arange(8), Case("x8", P("x"), (8,))), 0, mode="edge")
    np.testing.assert_array_equal(got, np.append(np.arange(15) / 2, 7.0))


def test_a_two_grid_cycle_solves_poisson() -> None:
    """u'' = f on a periodic grid: smoothing on the fine grid, the exact solution on the coarse one."""
    case = Case("x8", P("x"), (64,))
    mesh = case.sharding().mesh
    points = np.arange(64)
    f = np.sin(2 * np.pi * points / 64) + 0.5 * np.cos(2 * np.pi * 9 * points / 64)

    def laplace(u: Any, step: float) -> Any:
        return tpufft.map_chunks(_second_difference, u, mesh, spec=case.spec, halo=1) / step**2

    def solve(f: Any, step: float) -> Any:
        spectrum = tpufft.fft(f, mesh, spec=case.spec)
        wave = (2 * jnp.cos(2 * jnp.pi * tpufft.fftfreq(f.shape[0], mesh=mesh)) - 2) / step**2
        return tpufft.ifft(jnp.where(wave == 0, 0, spectrum / jnp.where(wave == 0, 1, wave)), mesh, spec=case.spec).real

    @jax.jit
    def cycle(u: Any, f: Any) -> Any:
        for _ in range(3):
            u = u - (2 / 3) / 2 * (f - laplace(u, 1.0))
        rest = tpufft.restrict(f - laplace(u, 1.0), 0, mesh, spec=case.spec)
        u = u + tpufft.prolong(solve(rest, 2.0), 0, mesh, spec=case.spec)
        for _ in range(3):
            u = u - (2 / 3) / 2 * (f - laplace(u, 1.0))
        return u

    u, right = put(np.zeros(64), case), put(f, case)
    rests = []
    for _ in range(8):
        u = cycle(u, right)
        v = np.asarray(u)
        rests.append(np.linalg.norm(f - (np.roll(v, 1) - 2 * v + np.roll(v, -1))))
    assert rests[-1] < 1e-7 * np.linalg.norm(f)
    assert all(after < 0.2 * before for before, after in itertools.pairwise(rests[:6]))


def _second_difference(c: jax.Array) -> jax.Array:
    return c[:-2] - 2 * c[1:-1] + c[2:]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda x: tpufft.repeat(x, 0, 0), "k=0: each element at least once"),
        (lambda x: tpufft.repeat(x, [1, 2], 0), "no integer"),
        (lambda x: tpufft.repeat(x, 2, 1), "out of bounds"),
        (lambda x: tpufft.restrict(x[:15], 0), "15 points; restrict takes an even number"),
        (lambda x: tpufft.prolong(x, 0, mode="linear"), "mode='linear'"),
        (lambda x: tpufft.prolong(x, None), "axis=None is no integer"),
    ],
)
def test_bad_input(call: Any, says: str) -> None:
    with pytest.raises((ValueError, TypeError), match=says):
        call(np.arange(16.0))
