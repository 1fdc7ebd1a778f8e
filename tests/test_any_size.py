"""Chunked arrays of any size through the complex transforms, shifts and orders; padding that nobody may read."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import oracle
import pytest
from helpers import (
    AXIS_TYPES,
    DTYPES,
    KERNELS,
    METHODS,
    NORMS,
    TRANSFORMS,
    TYPE_IDS,
    UNEVEN,
    Case,
    check,
    check_chunked,
    check_result,
    check_value,
    collectives,
    context,
    mesh_of,
    options_of,
    pairs,
    place,
    poisoned,
    random,
    result_dtype,
    sample_id,
)
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

import tpufft
from tpufft.layout import Layout

SAMPLE = pairs(
    case=tuple(UNEVEN),
    name=TRANSFORMS,
    axis_type=AXIS_TYPES,
    dtype=DTYPES,
    which=("all", "first", "last"),
    size=("own", "shorter", "longer"),
    norm=NORMS,
    method=METHODS,
    kernel=KERNELS,
)


@pytest.mark.each_value(2)
@pytest.mark.parametrize("row", SAMPLE, ids=sample_id)
def test_matrix(row):
    case, name, dtype = UNEVEN[row["case"]], row["name"], row["dtype"]
    x = random(case.shape, dtype)
    options = {"norm": row["norm"], **options_of(name, case.shape, row["which"], row["size"])}
    got = getattr(tpufft, name)(place(x, case, row["axis_type"]), **options, method=row["method"], kernel=row["kernel"])
    mesh = mesh_of(case.mesh, row["axis_type"])
    want = oracle.transform(name, x.astype(np.complex128), **options)
    check_result(got, want, result_dtype(dtype), mesh, case.spec, times=2)


@pytest.mark.each_value
@pytest.mark.parametrize("method", METHODS[1:])
@pytest.mark.parametrize("points", [1, 2, 7, 9, 15, 31, 64, 67])
def test_lines_of_every_length(points, method):
    case = Case("x8", P("x"), (points,))
    x = random(case.shape)
    got = tpufft.fft(place(x, case), method=method)
    check_result(got, oracle.transform("fft", x), x.dtype, mesh_of("x8"), case.spec, times=2)


@pytest.mark.parametrize(("points", "n"), [(17, 16), (16, 17), (5, 40), (40, 5), (17, 1), (1, 17), (33, 34)])
def test_a_length_that_changes_the_kind_of_the_result(points, n):
    case = Case("x8", P("x"), (points,))
    x = random(case.shape)
    for name in ("fft", "ifft"):
        got = getattr(tpufft, name)(place(x, case), n=n)
        check_result(got, oracle.transform(name, x, n=n), x.dtype, mesh_of("x8"), case.spec, times=2)


def test_a_long_prime_line():
    case = Case("x8", P("x"), (1009,))
    x = random(case.shape, "complex64")
    for kernel in KERNELS[1:]:
        got = tpufft.fft(place(x, case), kernel=kernel)
        check_result(got, oracle.transform("fft", x), np.complex64, mesh_of("x8"), case.spec, times=2)


def test_every_way_to_hand_the_same_array_over():
    """NumPy and one-device arrays come back as a jax.Array; with a spec, and chunked, as chunked ones."""
    mesh, x = mesh_of("x8"), random((13, 6))
    want = oracle.transform("fft2", x)
    for argument in (x, jax.device_put(x, jax.devices()[0])):
        check(tpufft.fft2(argument, mesh), want, x.dtype, mesh, P())
        check_result(tpufft.fft2(argument, mesh, spec=P("x")), want, x.dtype, mesh, P("x"))
    chunked = tpufft.chunk(x, mesh, P("x"))
    check_result(tpufft.fft2(chunked), want, x.dtype, mesh, P("x"))
    check_result(tpufft.fft2(chunked, mesh), want, x.dtype, mesh, P("x"))
    check_result(tpufft.fft2(chunked, spec=P(None, "x")), want, x.dtype, mesh, P(None, "x"))
    check_result(tpufft.fft2(chunked, out_spec=P(None, "x")), want, x.dtype, mesh, P(None, "x"))


def test_an_even_chunked_array_is_a_chunked_argument():
    mesh, x = mesh_of("x8"), random((16, 6))
    got = tpufft.fft2(tpufft.chunk(x, mesh, P("x")))
    check(got, oracle.transform("fft2", x), x.dtype, mesh, P("x"))
    check_result(tpufft.fft(got, axis=0, n=13), oracle.along(np.asarray(got), 0, 13), x.dtype, mesh, P("x"))


@pytest.mark.parametrize("axis_type", AXIS_TYPES, ids=TYPE_IDS)
def test_under_jit_as_eagerly(axis_type):
    mesh, x = mesh_of("x4y2", axis_type), random((7, 5))
    argument = place(x, Case("x4y2", P("x", "y"), x.shape), axis_type)
    with context(mesh):
        got = jax.jit(tpufft.fft2)(argument)
        back = jax.jit(tpufft.ifft2)(got)
    check_result(got, oracle.transform("fft2", x), x.dtype, mesh, P("x", "y"))
    check_result(back, x, x.dtype, mesh, P("x", "y"), times=2)


def test_nothing_is_gathered():
    for shape, spec in [((17,), P("x")), ((13, 6), P("x")), ((13, 11), P(None, "x"))]:
        argument = place(random(shape), Case("x8", spec, shape))
        for method in METHODS[1:]:
            found = collectives(lambda v, spec=spec, method=method: tpufft.fftn(v, spec=spec, method=method), argument)
            assert not {"all-gather", "all-reduce"} & set(found), found


@pytest.mark.parametrize("order", ["scrambled", "transposed"])
def test_orders_of_uneven_arrays_go_back(order):
    shape, name = ((40,), "fft") if order == "scrambled" else ((13, 11), "fft2")
    x = random(shape)
    argument = place(x, Case("x8", P("x"), shape))
    options = {"spec": P("x"), "order": order}
    there = getattr(tpufft, name)(argument, mesh_of("x8"), **options)
    back = getattr(tpufft, "i" + name)(there, mesh_of("x8"), **options)
    check_result(back, x, x.dtype, mesh_of("x8"), P("x"), times=2)


@pytest.mark.parametrize("case", ["prime line", "tiny line", "uneven pencil", "whole and uneven"])
@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
def test_shifts(name, case):
    case = UNEVEN[case]
    for dtype in ("complex64", "int32"):
        x = random(case.shape, dtype)
        got = getattr(tpufft, name)(place(x, case))
        check_result(got, oracle.shift(x, inverse=name == "ifftshift"), dtype, mesh_of(case.mesh), case.spec)


@pytest.mark.parametrize("n", [5, 17, 24])
def test_frequencies(n):
    got = tpufft.fftfreq(n, 0.5, mesh=mesh_of("x8"), spec=P("x"))
    check_result(got, oracle.frequencies(n, 0.5), np.float64, mesh_of("x8"), P("x"))


def test_a_plan_of_an_uneven_array_is_callable():
    mesh, x = mesh_of("x8"), random((13, 6))
    plan = tpufft.plan("fft2", x.shape, x.dtype, mesh, spec=P("x"))
    want = oracle.transform("fft2", x)
    for argument in (x, jnp.asarray(x), place(x, Case("x8", P("x"), x.shape))):
        check_result(plan(argument), want, x.dtype, mesh, P("x"))
    check_result(plan.inverse(plan(x)), x, x.dtype, mesh, P("x"), times=2)
    assert plan.hlo_collectives() == plan.bound.program.collectives


def test_the_padding_of_a_chain_never_reaches_the_end():
    """Poisoned again between all steps: every function masks what it reads."""
    mesh, x = mesh_of("x8"), random((13, 11), "float64")
    there = tpufft.fftshift(poisoned(tpufft.fft2(place(x, Case("x8", P("x"), x.shape)))))
    back = tpufft.ifft2(poisoned(tpufft.ifftshift(poisoned(there))))
    check_result(back, x.astype(np.complex128), np.complex128, mesh, P("x"), times=3)


def test_chunks_may_be_empty():
    """Five rows on eight devices: three hold nothing but padding."""
    mesh = mesh_of("x8")
    got = tpufft.fft2(place(random((5, 3)), Case("x8", P("x"), (5, 3))))
    check_chunked(got, Layout.of((5, 3), np.complex128, mesh, P("x")))
    empty = tpufft.fft(tpufft.chunk(np.zeros((0, 3), np.complex64), mesh, P("x")))
    assert (empty.shape, empty.dtype) == ((0, 3), np.complex64)


def test_a_chunked_array_of_another_mesh():
    x = place(random((13, 6)), UNEVEN["uneven rows"])
    with pytest.raises(tpufft.LayoutError):
        tpufft.fft2(x, mesh_of("x4y2"))


def test_two_exchanges_in_a_row_of_uneven_pencils():
    """XLA for CPU once took the parts of the first all-to-all, in another memory layout, for those of the second."""
    mesh = Mesh(np.array(jax.devices()[:6]).reshape(2, 3), ("a", "b"))
    x = random((4, 9, 8))
    y = tpufft.irfftn(x, mesh, spec=P("b", None, "a"))
    check_value(np.asarray(y), oracle.transform("irfftn", x), times=4)
