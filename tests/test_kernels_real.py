"""One device's real, cosine and sine transforms against their matrices in float64, and against their transposes."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import helpers
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import KERNELS as KERNEL_NAMES
from jax.sharding import PartitionSpec as P

from tpufft.kernels import KERNELS, real, trig

KINDS = ("C1", "C2", "C3", "C4", "S1")
NAMES = KERNEL_NAMES[1:]
DTYPES = (np.float32, np.float64)
SIGNS = (False, True)
LENGTHS = (*range(1, 18), 32, 63, 64, 65, 100, 101, 128, 243, 1000, 1009)
LONG = (2**16, 65537)
DIGITS = 6 * float(np.finfo(np.float32).eps)
"""Relative error of three transforms in a row, the most that a length takes; a rounded phase would lose n/2 units."""


def trig_rows(kind: str, n: int, rows: np.ndarray) -> np.ndarray:
    """Rows of the matrix; the phase is reduced in integers before it becomes a float."""
    j, k = np.arange(n, dtype=np.int64)[None, :], np.asarray(rows, np.int64)[:, None]
    product, order = {
        "C1": (j * k, 2 * (n - 1)),
        "C2": ((2 * j + 1) * k, 4 * n),
        "C3": (j * (2 * k + 1), 4 * n),
        "C4": ((2 * j + 1) * (2 * k + 1), 8 * n),
        "S1": ((j + 1) * (k + 1), 2 * (n + 1)),
    }[kind]
    angles = 2 * np.pi * (product % order) / order
    return np.sin(angles) if kind == "S1" else np.cos(angles)


def half_rows(n: int, rows: np.ndarray, inverse: bool, weighted: bool) -> np.ndarray:
    """Rows of the DFT matrix up to n // 2, those that stand for two doubled at will."""
    j, k = np.arange(n, dtype=np.int64)[None, :], np.asarray(rows, np.int64)[:, None]
    angles = 2 * np.pi * (j * k % n) / n
    twice = (k > 0) & (2 * k < n)
    return np.where(weighted & twice, 2, 1) * (np.cos(angles) + (1j if inverse else -1j) * np.sin(angles))


def along(matrix: np.ndarray, x: np.ndarray, axis: int) -> np.ndarray:
    x = np.asarray(x, np.complex128 if np.iscomplexobj(x) else np.float64)
    return np.moveaxis(np.tensordot(matrix, x, axes=(1, axis)), 0, axis)


def run(function: Callable[..., jax.Array], *args: np.ndarray, **options: object) -> np.ndarray:
    return np.asarray(jax.jit(functools.partial(function, **options))(*args))


def run_all(functions: Sequence[Callable[[jax.Array], jax.Array]], data: Sequence[np.ndarray]) -> list[np.ndarray]:
    """One program for all of them: compiling is what these tests spend their time on."""
    program = jax.jit(lambda data: [function(x) for function, x in zip(functions, data, strict=True)])
    return [np.asarray(y) for y in program(list(data))]


def signs_and_weights(kernel: str) -> list[dict[str, Any]]:
    return [
        {"inverse": inverse, "scale": 0.7, "weighted": weighted, "kernel": kernel, "precision": None}
        for inverse, weighted in itertools.product(SIGNS, SIGNS)
    ]


def lengths(kind: str) -> list[int]:
    return [n for n in LENGTHS if n > 1 or kind != "C1"]


def complex_of(dtype: type) -> type:
    return np.complex128 if dtype is np.float64 else np.complex64


@pytest.mark.each_value
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", NAMES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_length_of_a_trigonometric_transform(kind: str, kernel: str, dtype: type) -> None:
    data = [helpers.random((2, n, 3), dtype, n) for n in lengths(kind)]

    @jax.jit
    def all_of_them(data: list[jax.Array]) -> list[jax.Array]:
        return [trig.transform(x, 1, kind=kind, scale=0.7, kernel=kernel, precision=None) for x in data]

    for x, got in zip(data, all_of_them(data), strict=True):
        n = x.shape[1]
        want = 0.7 * along(trig_rows(kind, n, np.arange(n)), x, 1)
        assert got.dtype == dtype
        assert got.shape == want.shape
        assert helpers.error(got, want) <= helpers.tolerance(dtype, n), n


@pytest.mark.each_value
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", NAMES)
@pytest.mark.parametrize("inverse", SIGNS)
@pytest.mark.parametrize("weighted", SIGNS)
def test_every_length_of_a_real_transform(weighted: bool, inverse: bool, kernel: str, dtype: type) -> None:
    options = {"inverse": inverse, "scale": 0.7, "weighted": weighted, "kernel": kernel, "precision": None}
    points = [helpers.random((2, n, 3), dtype, n) for n in LENGTHS]
    spectra = [helpers.random((2, n // 2 + 1, 3), complex_of(dtype), n) for n in LENGTHS]

    @jax.jit
    def all_of_them(points: list[jax.Array], spectra: list[jax.Array]) -> tuple[list[jax.Array], list[jax.Array]]:
        halves = [real.r2c(x, (1,), **options) for x in points]
        return halves, [real.c2r(z, (1,), n, **options) for n, z in zip(LENGTHS, spectra, strict=True)]

    for n, x, z, half, whole in zip(LENGTHS, points, spectra, *all_of_them(points, spectra), strict=True):
        matrix = 0.7 * half_rows(n, np.arange(n // 2 + 1), inverse, weighted)
        assert (half.dtype, whole.dtype) == (complex_of(dtype), dtype)
        assert half.shape == z.shape
        assert whole.shape == x.shape
        assert helpers.error(half, along(matrix, x, 1)) <= helpers.tolerance(dtype, n), n
        assert helpers.error(whole, along(matrix.T, z, 1).real) <= helpers.tolerance(dtype, n), n


@pytest.mark.each_value
@pytest.mark.parametrize("kernel", NAMES)
@pytest.mark.parametrize("axes", [(0,), (3,), (2, 3), (3, 2), (0, 3), (1, 0), (2, 0, 1), (0, 1, 2, 3), (3, 2, 1, 0)])
def test_real_transforms_of_several_axes(axes: tuple[int, ...], kernel: str) -> None:
    shape = (3, 4, 5, 6)
    *others, last = axes
    x = helpers.random(shape, np.float64)
    z = helpers.random((*shape[:last], shape[last] // 2 + 1, *shape[last + 1 :]), np.complex128)
    options = signs_and_weights(kernel)
    halves = run_all([functools.partial(real.r2c, axes=axes, **o) for o in options], [x] * 4)
    wholes = run_all([functools.partial(real.c2r, axes=axes, n=shape[last], **o) for o in options], [z] * 4)
    for o, got_half, got_whole in zip(options, halves, wholes, strict=True):
        matrix = 0.7 * half_rows(shape[last], np.arange(z.shape[last]), o["inverse"], o["weighted"])
        half, whole = along(matrix, x, last), z
        for axis in others:
            whole_matrix = half_rows(shape[axis], np.arange(shape[axis]), o["inverse"], False)
            half, whole = along(whole_matrix, half, axis), along(whole_matrix, whole, axis)
        helpers.check_value(got_half, half)
        helpers.check_value(got_whole, along(matrix.T, whole, last).real)


@pytest.mark.parametrize("kernel", NAMES)
@pytest.mark.parametrize("kind", KINDS)
def test_trigonometric_transforms_of_every_axis(kind: str, kernel: str) -> None:
    cases = [((n,), 0, np.float64) for n in (6, 70, 71)]
    cases += [((n, 4), 0, np.complex128) for n in (7, 70)] + [((4, n), 1, np.complex128) for n in (70, 71)]
    cases += [((2, n, 3), 1, np.complex128) for n in (70, 71)] + [((2, 3, n), 2, np.float64) for n in (7, 71)]
    data = [helpers.random(shape, dtype) for shape, _, dtype in cases]
    options = {"kind": kind, "scale": 1.0, "kernel": kernel, "precision": None}
    results = run_all([functools.partial(trig.transform, axis=axis, **options) for _, axis, _ in cases], data)
    for (shape, axis, dtype), x, got in zip(cases, data, results, strict=True):
        assert got.dtype == dtype
        helpers.check_value(got, along(trig_rows(kind, shape[axis], np.arange(shape[axis])), x, axis))


@pytest.mark.each_value
@pytest.mark.parametrize("kernel", NAMES)
@pytest.mark.parametrize("n", [1, 2, 9, 64, 130, 135])
@pytest.mark.parametrize("axes", [(1,), (0, 2, 1)])
def test_c2r_is_the_transpose_of_r2c(axes: tuple[int, ...], n: int, kernel: str) -> None:
    x, z = helpers.random((2, n, 3), np.float64), helpers.random((2, n // 2 + 1, 3), np.complex128)
    options = signs_and_weights(kernel)
    halves = run_all([functools.partial(real.r2c, axes=axes, **o) for o in options], [x] * 4)
    wholes = run_all([functools.partial(real.c2r, axes=axes, n=n, **o) for o in options], [z] * 4)
    for half, whole in zip(halves, wholes, strict=True):
        assert np.sum(np.real(z * half)) == pytest.approx(np.sum(x * whole), rel=1e-10)


@pytest.mark.parametrize("kernel", NAMES)
@pytest.mark.parametrize("n", [2, 9, 64, 130, 135])
def test_the_matrices_are_each_others_transposes(n: int, kernel: str) -> None:
    x, ct = helpers.random((2, n, 3), np.float64), helpers.random((2, n, 3), np.float64, 1)
    options = {"axis": 1, "scale": 0.7, "kernel": kernel, "precision": None}
    functions = [functools.partial(trig.transform, kind=kind, **options) for kind in KINDS]
    there, back = (dict(zip(KINDS, run_all(functions, [data] * 5), strict=True)) for data in (x, ct))
    for kind, transposed in {"C1": "C1", "C2": "C3", "C3": "C2", "C4": "C4", "S1": "S1"}.items():
        assert np.sum(ct * there[kind]) == pytest.approx(np.sum(x * back[transposed]), rel=1e-10), kind


@pytest.mark.parametrize("kernel", NAMES)
@pytest.mark.parametrize("n", [1, 2, 7, 8, 64, 130, 135])
def test_imaginary_parts_at_the_ends_have_no_effect(n: int, kernel: str) -> None:
    z = helpers.random((3, n // 2 + 1), np.complex64)
    other = z.copy()
    other[:, 0] += 5j
    if n % 2 == 0:
        other[:, -1] -= 1e3j
    functions = [functools.partial(real.c2r, axes=(1,), n=n, **options) for options in signs_and_weights(kernel)]
    for want, got in zip(run_all(functions, [z] * 4), run_all(functions, [other] * 4), strict=True):
        assert helpers.error(got, want) <= helpers.tolerance(np.float32, n)


@pytest.mark.each_value
@pytest.mark.parametrize("n", LONG)
@pytest.mark.parametrize("kernel", NAMES)
@pytest.mark.parametrize("kind", KINDS)
def test_long_trigonometric_transforms_keep_their_digits(kind: str, kernel: str, n: int) -> None:
    x = helpers.random((n,), np.float32)
    rows = np.random.default_rng(1).choice(n, 64, replace=False)
    got = run(trig.transform, x, axis=0, kind=kind, scale=1.0, kernel=kernel, precision=None)[rows]
    assert helpers.error(got, along(trig_rows(kind, n, rows), x, 0)) <= DIGITS


@pytest.mark.parametrize("n", LONG)
@pytest.mark.parametrize("kernel", NAMES)
def test_long_real_transforms_keep_their_digits(kernel: str, n: int) -> None:
    options = {"axes": (0,), "inverse": False, "scale": 1.0, "weighted": False, "kernel": kernel, "precision": None}
    rows = np.random.default_rng(1).choice(n // 2 + 1, 64, replace=False)
    x = helpers.random((n,), np.float32)
    assert helpers.error(run(real.r2c, x, **options)[rows], along(half_rows(n, rows, False, False), x, 0)) <= DIGITS
    z = helpers.random((n // 2 + 1,), np.complex64)
    points = half_rows(n, np.arange(64), False, False)[:, : n // 2 + 1]  # symmetric: row j holds the phases of x[j]
    assert helpers.error(run(real.c2r, z, n=n, **options)[:64], along(points, z, 0).real) <= DIGITS


def test_the_usual_inverse_costs_no_multiplication() -> None:
    z = jnp.zeros((4, 9), jnp.complex64)
    options = {"inverse": True, "weighted": True, "kernel": "xla", "precision": None}
    jaxpr = jax.make_jaxpr(functools.partial(real.c2r, axes=(0, 1), n=16, scale=1 / 64, **options))(z)
    assert {str(equation.primitive) for equation in jaxpr.eqns} <= {"fft", "jit", "slice", "transpose"}
    assert " mul " not in str(jaxpr)


@pytest.mark.parametrize("kernel", NAMES)
@pytest.mark.parametrize("n", [1, 6, 7, 130, 135])
def test_no_lines_at_all(n: int, kernel: str) -> None:
    options = {"inverse": False, "scale": 1.0, "weighted": True, "kernel": kernel, "precision": None}
    assert run(real.r2c, np.zeros((0, n), np.float32), axes=(1,), **options).shape == (0, n // 2 + 1)
    assert run(real.c2r, np.zeros((0, n // 2 + 1), np.complex64), axes=(1,), n=n, **options).shape == (0, n)
    for kind in KINDS if n > 1 else KINDS[1:]:
        empty = np.zeros((0, n), np.float32)
        got = run(trig.transform, empty, axis=1, kind=kind, scale=1.0, kernel=kernel, precision=None)
        assert got.shape == (0, n)


@pytest.mark.parametrize("kernel", NAMES)
@pytest.mark.parametrize("n", [12, 70, 75])
def test_inside_shard_map_and_vmap(n: int, kernel: str) -> None:
    mesh = helpers.mesh_of("x8")
    x = helpers.random((8, 2, n), np.float64)
    options = {"inverse": False, "scale": 1.0, "weighted": False, "kernel": kernel, "precision": None}

    def chunkwise(function: Callable[[jax.Array], jax.Array]) -> np.ndarray:
        return np.asarray(jax.jit(jax.shard_map(jax.vmap(function), mesh=mesh, in_specs=P("x"), out_specs=P("x")))(x))

    matrix = half_rows(n, np.arange(n // 2 + 1), False, False)
    half = along(matrix, x, 2)
    helpers.check_value(chunkwise(lambda line: real.r2c(line, (1,), **options)), half)
    again = chunkwise(lambda line: real.c2r(real.r2c(line, (1,), **options), (1,), n, **options))
    helpers.check_value(again, along(matrix.T, half, 2).real)
    for kind in KINDS:
        got = chunkwise(functools.partial(trig.transform, axis=1, kind=kind, scale=1.0, kernel=kernel, precision=None))
        helpers.check_value(got, along(trig_rows(kind, n, np.arange(n)), x, 2))


def test_precision_is_for_products_only() -> None:
    x = helpers.random((4, 6), np.float32)
    options = {"inverse": False, "scale": 1.0, "weighted": False, "kernel": "xla", "precision": "highest"}
    with pytest.raises(ValueError, match="precision='highest': kernel='xla'"):
        real.r2c(jnp.asarray(x), (1,), **options)
    with pytest.raises(ValueError, match="precision='highest': kernel='xla'"):
        real.c2r(jnp.asarray(x, np.complex64), (1,), 10, **options)
    for kind in KINDS:
        with pytest.raises(ValueError, match="precision='highest': kernel='xla'"):
            trig.transform(jnp.asarray(x), 1, kind=kind, scale=1.0, kernel="xla", precision="highest")


@pytest.mark.parametrize("kernel", NAMES)
def test_real_data_cost_about_half(kernel: str) -> None:
    for n in (16, 64, 360, 1024, 4096):
        whole = KERNELS[kernel].flops(n, 10)
        assert 0.2 * whole <= real.flops(kernel, n, 10) <= 0.75 * whole, n
        for kind in KINDS[1:4]:
            assert 0.2 * whole <= trig.flops(kernel, n, kind, 10) <= whole, (kind, n)
        assert math.isclose(real.flops(kernel, n, 20), 2 * real.flops(kernel, n, 10))
