"""rfft, irfft, hfft, ihfft and their kin of several axes: values, dtypes, shapes and chunking by the definition."""

from __future__ import annotations

import functools
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import oracle
import pytest
import scipy.fft
from helpers import (
    AXIS_TYPES,
    EXPLICIT,
    KERNELS,
    METHODS,
    NORMS,
    UNEVEN,
    Case,
    check,
    check_chunks,
    check_result,
    check_value,
    context,
    mesh_of,
    options_of,
    pairs,
    place,
    put,
    random,
    result_dtype_of,
    sample_id,
)
from jax.sharding import PartitionSpec as P
from numpy.exceptions import AxisError

import tpufft

REAL = oracle.REAL_TO_COMPLEX + oracle.COMPLEX_TO_REAL
DTYPES = ("float32", "float64", "float16", "int32", "bool", "complex64", "complex128")


def dtype_for(name: str, dtype: str) -> str:
    """What a transform of real numbers takes instead of complex ones."""
    if name in oracle.REAL_TO_COMPLEX:
        return {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
    return dtype


# -- the oracle itself ------------------------------------------------------------------------------------------------


@pytest.mark.each_value
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", REAL)
def test_the_oracle_means_what_numpy_and_scipy_mean(name, norm):
    x = random((4, 7, 8), "float64" if name in oracle.REAL_TO_COMPLEX else "complex128")
    library = np.fft if hasattr(np.fft, name) else scipy.fft
    given = [{}, {"n": 5}, {"n": 11, "axis": 0}, {"axis": -2}, {"n": 1}]
    if name not in oracle.ONE_AXIS:
        given = [{}, {"axes": (0, -1)}, {"s": (4, 9), "axes": (2, 1)}, {"s": (5, 12)}, {"s": (9, -1), "axes": (0, 2)}]
        given += [] if library is scipy.fft else [{"axes": (1, 0, 1)}, {"s": (-1, 9), "axes": (0, 0)}, {"axes": (2, 2)}]
    for options in given:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # numpy deprecates s without axes
            want = getattr(library, name)(x, norm=norm, **options)
        got = oracle.transform(name, x, norm=norm, **options)
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        assert np.linalg.norm(got - want) <= 1e-14 * np.linalg.norm(want)


def test_the_matrix_of_a_transform_to_real_numbers():
    z = random((3, 4))
    for options in ({}, {"s": (4, 5)}):
        matrix = oracle.linear_map("irfft2", z.shape, **options)
        check_value(np.real(np.tensordot(matrix, z, axes=2)), oracle.transform("irfft2", z, **options))


# -- the matrix -------------------------------------------------------------------------------------------------------

SAMPLE = pairs(
    case=tuple(UNEVEN),
    name=REAL,
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
    case, name = UNEVEN[row["case"]], row["name"]
    if name in oracle.TWO_AXES and len(case.shape) == 1:
        name = name[:-1] + "n"
    dtype = dtype_for(name, row["dtype"])
    x = random(case.shape, dtype)
    options = {"norm": row["norm"], **options_of(name, case.shape, row["which"], row["size"])}
    argument = place(x, case, row["axis_type"])
    mesh = mesh_of(case.mesh, row["axis_type"])
    got = getattr(tpufft, name)(argument, **options, method=row["method"], kernel=row["kernel"])
    check_result(got, oracle.transform(name, x, **options), result_dtype_of(name, dtype), mesh, case.spec, times=2)


# Even where they go in, by a length that leaves them even or not.
@pytest.mark.each_value
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kernel", KERNELS[1:])
@pytest.mark.parametrize(
    ("name", "points", "options"),
    [
        ("rfft", 64, {}),
        ("rfft", 64, {"n": 62}),
        ("irfft", 33, {}),
        ("irfft", 32, {"n": 64}),
        ("irfft", 32, {"n": 63}),
        ("hfft", 9, {"n": 17}),
        ("ihfft", 21, {"norm": "ortho"}),
    ],
    ids=str,
)
def test_lines_by_every_method_and_kernel(name, points, options, kernel, method):
    case = Case("x8", P("x"), (points,))
    x = random(case.shape, "float64" if name in oracle.REAL_TO_COMPLEX else "complex128")
    got = getattr(tpufft, name)(place(x, case), **options, method=method, kernel=kernel)
    want = oracle.transform(name, x, **options)
    check_result(got, want, result_dtype_of(name, x.dtype), mesh_of("x8"), case.spec, times=2)


@pytest.mark.parametrize("name", REAL)
def test_default_axes_of_an_even_array(name):
    """The result of an axis that is whole divides as it did."""
    case = Case("x4y2", P("x", "y"), (4, 8, 6))
    x = random(case.shape, "float32" if name in oracle.REAL_TO_COMPLEX else "complex64")
    got = getattr(tpufft, name)(put(x, case))
    check(got, oracle.transform(name, x), result_dtype_of(name, x.dtype), mesh_of("x4y2"), case.spec)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("rfftn", {"axes": (0, 0)}),
        ("rfftn", {"axes": (1, 0, 1), "norm": "forward"}),
        ("irfftn", {"axes": (0, 1, 0), "norm": "ortho"}),
        ("irfftn", {"axes": (0, 0), "s": (16, 24)}),
        ("rfft2", {"axes": (1, 1), "s": (-1, 9)}),
        ("irfft2", {"axes": (1, 1)}),
    ],
    ids=str,
)
def test_repeated_axes_are_transformed_again(name, options):
    case = Case("x8", P("x"), (16, 5))
    x = random(case.shape, "float64" if name in oracle.REAL_TO_COMPLEX else "complex128")
    got = getattr(tpufft, name)(put(x, case), **options)
    want = oracle.transform(name, x, **options)
    check_result(got, want, result_dtype_of(name, x.dtype), mesh_of("x8"), case.spec, times=2)


@pytest.mark.parametrize("name", ["irfftn", "hfft2", "rfft2"])
def test_minus_one_is_the_length_of_the_argument(name):
    """Of an inverse to real numbers too, where no s at all would mean 2 (m - 1)."""
    case = UNEVEN["uneven rows"]
    x = random(case.shape, "float64" if name in oracle.REAL_TO_COMPLEX else "complex128")
    options = {"s": (9, -1), "axes": (0, 1)}
    got = getattr(tpufft, name)(place(x, case), **options)
    want = oracle.transform(name, x, **options)
    check_result(got, want, result_dtype_of(name, x.dtype), mesh_of("x8"), case.spec, times=2)


@pytest.mark.parametrize("name", ["hfft2", "ihfft2", "hfftn", "ihfftn"])
def test_repeated_axes_are_refused_where_scipy_refuses_them(name):
    x = random((8, 5), "float32")
    with pytest.raises(ValueError, match="axes"):
        getattr(tpufft, name)(put(x, Case("x8", P("x"), x.shape)), axes=(1, 1))


# -- lengths at the edge ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "shape", "spec", "options"),
    [
        ("rfft", (1,), P("x"), {}),
        ("rfft", (2,), P("x"), {}),
        ("rfft", (3, 1), P("x"), {}),
        ("irfft", (1,), P("x"), {"n": 1}),
        ("irfft", (2,), P("x"), {}),
        ("irfft", (5, 1), P(None, "x"), {"n": 2}),
        ("hfft", (1, 3), P("x"), {}),
        ("ihfft", (8, 1), P("x", None), {"axis": 0}),
        ("rfftn", (1, 1, 3), P("x"), {}),
        ("irfftn", (3, 1), P("x"), {"s": (1, 3)}),
    ],
    ids=str,
)
def test_axes_of_few_points(name, shape, spec, options):
    case = Case("x8", spec, shape)
    x = random(shape, "float64" if name in oracle.REAL_TO_COMPLEX else "complex128")
    got = getattr(tpufft, name)(place(x, case), **options)
    want = oracle.transform(name, x, **options)
    check_result(got, want, result_dtype_of(name, x.dtype), mesh_of("x8"), spec, times=2)


@pytest.mark.parametrize(
    ("shape", "spec", "axis"), [((0, 6), P(None, "x"), -1), ((0, 8), P("x"), -1), ((8, 0), P("x"), 0)]
)
@pytest.mark.parametrize("name", ["rfft", "irfft"])
def test_an_empty_batch_has_an_empty_result(name, shape, spec, axis):
    x = random(shape, "float64" if name == "rfft" else "complex128")
    got = getattr(tpufft, name)(place(x, Case("x8", spec, shape)), axis=axis)
    want = oracle.transform(name, x, axis=axis)
    check_result(got, want, result_dtype_of(name, x.dtype), mesh_of("x8"), spec)


def test_the_imaginary_parts_that_no_real_signal_has_are_not_read():
    """Of the first and, of an even length, the last frequency, in the plain and in the chunked transform."""
    for n, spec in [(16, P("x")), (15, P("x")), (16, P())]:
        z = random((n // 2 + 1,))
        wrong = z.copy()
        wrong[0] += 5j
        if n % 2 == 0:
            wrong[-1] -= 3j
        for kernel in KERNELS[1:]:
            got = tpufft.irfft(place(wrong, Case("x8", spec, z.shape)), n=n, kernel=kernel)
            check_result(got, oracle.transform("irfft", z, n=n), np.float64, mesh_of("x8"), spec, times=2)


# -- round trips ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("points", "norm"), [(17, "backward"), (24, "ortho"), (17, "forward")])
def test_there_and_back(points, norm):
    """The inverse takes what the transform gave back, whatever kind it was."""
    mesh = mesh_of("x8")
    for shape, spec in [((points,), P("x")), ((6, points), P(None, "x"))]:
        case = Case("x8", spec, shape)
        x = random(shape, "float64")
        back = tpufft.irfftn(tpufft.rfftn(place(x, case), norm=norm), s=shape, axes=tuple(range(x.ndim)), norm=norm)
        check_result(back, x, np.float64, mesh, spec, times=2)
    back = tpufft.hfft(tpufft.ihfft(place(x, case), norm=norm), n=points, norm=norm)
    check_result(back, x, np.float64, mesh, spec, times=2)


def test_the_half_spectrum_is_the_half_of_the_spectrum():
    case = Case("x8", P("x"), (40, 3))
    x = put(random(case.shape, "float32"), case)
    whole, half = np.asarray(tpufft.fftn(x, axes=(1, 0))), tpufft.rfftn(x, axes=(1, 0))
    check_result(half, whole[:21].astype(np.complex128), np.complex64, mesh_of("x8"), case.spec)


# -- what comes back --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rfft", "irfft", "ihfft2"])
@pytest.mark.parametrize("shape", [(16, 6), (5, 6)])
def test_numpy_and_one_device_arrays_never_fail_for_their_size(name, shape):
    x = random(shape, "float32" if name in oracle.REAL_TO_COMPLEX else "complex64")
    want = oracle.transform(name, x)
    for argument in (x, jax.device_put(x, jax.devices()[0])):
        got = getattr(tpufft, name)(argument, mesh_of("x8"))
        spec = P("x") if shape[0] % 8 == 0 else P()
        check(got, want, result_dtype_of(name, x.dtype), mesh_of("x8"), spec)


def test_a_numpy_line_whose_result_does_not_divide_comes_back_whole():
    x = random((48,), "float64")
    got = tpufft.rfft(x, mesh_of("x8"))
    check(got, oracle.transform("rfft", x), np.complex128, mesh_of("x8"), P())


def test_where_spec_is_given_every_argument_counts_as_chunked():
    x = random((13, 6), "float64")
    for argument in (x, jnp.asarray(x)):
        got = tpufft.rfft2(argument, mesh_of("x8"), spec=P("x"))
        check_result(got, oracle.transform("rfft2", x), np.complex128, mesh_of("x8"), P("x"))


@pytest.mark.parametrize("axis_type", AXIS_TYPES, ids=["auto", "explicit"])
def test_under_jit_as_eagerly(axis_type):
    mesh = mesh_of("x8", axis_type)
    for shape, spec in [((24,), P("x")), ((13, 6), P("x"))]:
        x = random(shape, "float32")
        argument = place(x, Case("x8", spec, shape), axis_type)
        call = jax.jit(functools.partial(tpufft.rfft, mesh=mesh, spec=spec))
        with context(mesh):
            got = call(argument)
            back = jax.jit(lambda z, n=shape[-1], spec=spec: tpufft.irfft(z, mesh, n=n, spec=spec))(got)
        check_result(got, oracle.transform("rfft", x), np.complex64, mesh, spec)
        check_result(back, x.astype(np.float64), np.float32, mesh, spec)


def test_out_spec():
    x = random((16, 14), "float64")
    mesh = mesh_of("x8")
    got = tpufft.rfft(put(x, Case("x8", P("x"), x.shape)), out_spec=P(None, "x"))
    check(got, oracle.transform("rfft", x), np.complex128, mesh, P(None, "x"))
    got = tpufft.rfft2(put(x, Case("x8", P("x"), x.shape)), axes=(1, 0), out_spec=P(None, "x"))
    check_result(got, oracle.transform("rfft2", x, axes=(1, 0)), np.complex128, mesh, P(None, "x"))


# -- frequencies ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 14, 15, 30])
def test_rfftfreq(n):
    want = oracle.frequencies(n, 0.25, real=True)
    np.testing.assert_allclose(np.asarray(tpufft.rfftfreq(n, 0.25)), want, rtol=1e-15)
    got = tpufft.rfftfreq(n, 0.25, mesh=mesh_of("x8"), spec=P("x"))
    check_result(got, want, np.float64, mesh_of("x8"), P("x"))


# -- what crosses the wire --------------------------------------------------------------------------------------------


def test_a_real_line_sends_half_of_what_a_complex_one_sends():
    mesh = mesh_of("x8")
    whole = tpufft.plan("fft", (2**20,), "complex64", mesh).wire_bytes
    assert tpufft.plan("rfft", (2**20,), "float32", mesh).wire_bytes <= 0.51 * whole
    assert tpufft.plan("irfft", (2**19 + 1,), "complex64", mesh, spec=P("x")).wire_bytes <= 0.51 * whole


@pytest.mark.parametrize(
    ("name", "shape", "dtype", "options"),
    [
        ("rfft", (1024,), "float32", {}),
        ("irfft", (513,), "complex64", {}),
        ("rfftn", (16, 24), "float32", {}),
        ("irfftn", (16, 16), "complex64", {"axes": (1, 0)}),
        ("rfft", (40,), "float64", {"method": "ring"}),
    ],
    ids=str,
)
def test_the_program_executes_the_collectives_of_its_steps(name, shape, dtype, options):
    plan = tpufft.plan(name, shape, dtype, mesh_of("x8"), spec=P("x"), **options)
    found = plan.hlo_collectives()
    assert "all-gather" not in found
    assert found == plan.bound.program.collectives


# -- what is refused --------------------------------------------------------------------------------------------------

ROWS = Case("x8", P("x"), (16, 6))


@pytest.mark.parametrize("name", oracle.REAL_TO_COMPLEX)
def test_complex_numbers_are_no_real_ones(name):
    with pytest.raises(TypeError, match=name):
        getattr(tpufft, name)(put(random(ROWS.shape), ROWS))


@pytest.mark.parametrize("name", REAL)
def test_bad_arguments(name):
    x = put(random(ROWS.shape, "float32"), ROWS)
    call = getattr(tpufft, name)
    with pytest.raises(ValueError, match="norm='best'"):
        call(x, norm="best")
    if name in oracle.ONE_AXIS:
        bad = [({"axis": 2}, AxisError), ({"n": 0}, ValueError), ({"n": -1}, ValueError), ({"n": 2.5}, TypeError)]
    else:
        bad = [({"axes": (0, 2)}, AxisError), ({"s": (0, 4), "axes": (0, 1)}, ValueError)]
        bad += [({"s": (4,), "axes": (0, 1)}, ValueError), ({"s": (4, 4, 4)}, ValueError)]
    for options, kind in bad:
        with pytest.raises(kind):
            call(x, **options)
    assert not x.is_deleted()


@pytest.mark.parametrize("name", ["irfft", "hfft", "irfft2"])
def test_one_frequency_names_no_length(name):
    """2 (m - 1) of one frequency is no point: numpy refuses it too."""
    x = put(random((8, 1)), Case("x8", P("x"), (8, 1)))
    with pytest.raises(ValueError, match=r"\b(n|s|points)\b"):
        getattr(tpufft, name)(x)


def test_a_chunked_array_of_another_mesh():
    case = UNEVEN["uneven rows"]
    with pytest.raises(tpufft.LayoutError):
        tpufft.rfft(place(random(case.shape, "float32"), case), mesh_of("x4y2"))


def test_overwrite_x_donates_and_the_value_stands():
    x = random(ROWS.shape, "float64")
    sharded = put(x, ROWS)
    check(tpufft.rfft2(sharded, overwrite_x=True), oracle.transform("rfft2", x), np.complex128, mesh_of("x8"), P("x"))


def test_explicit_types_carry_the_chunking():
    case = Case("x8", P("x"), (16, 6))
    x = random(case.shape, "float64")
    mesh = mesh_of("x8", EXPLICIT)
    with jax.set_mesh(mesh):
        y = jax.jit(lambda v: jnp.abs(tpufft.rfft2(v)) ** 2)(put(x, case, EXPLICIT))
    check_chunks(y, mesh, case.spec)
    check_value(y, np.abs(oracle.transform("rfft2", x)) ** 2, times=3)
