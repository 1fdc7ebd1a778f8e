"""dct, dst, their inverses and kin of several axes, fht and ifht: values, dtypes and chunking by the definition."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import oracle
import pytest
import scipy.fft
from helpers import (
    AXIS_TYPES,
    KERNELS,
    METHODS,
    NORMS,
    TYPE_IDS,
    UNEVEN,
    Case,
    check,
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

ONE = ("dct", "idct", "dst", "idst")
SEVERAL = ("dctn", "idctn", "dstn", "idstn")
TYPES = (1, 2, 3, 4)
ROWS = Case("x8", P("x"), (16, 6))
LOGARITHMIC = {"dln": 0.1, "mu": 0.5}


# -- the oracle itself ------------------------------------------------------------------------------------------------


@pytest.mark.each_value
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("name", oracle.TRIGONOMETRIC)
def test_the_oracle_means_what_scipy_means(name, type):
    x = random((4, 7, 8), "float64")
    for norm in NORMS:
        for orthogonalize in (None, True, False):
            own = {"type": type, "norm": norm, "orthogonalize": orthogonalize}
            several = [{"s": (4, 9), "axes": (2, 1)}, {"s": (-1, 9), "axes": (0, 2)}, {"s": (5, 12)}, {}]
            for options in [{"n": 11, "axis": 0}, {"n": 2}, {}] if name in ONE else several:
                want = getattr(scipy.fft, name)(x, **own, **options)
                got = oracle.transform(name, x, **own, **options)
                assert got.shape == want.shape
                assert np.linalg.norm(got - want) <= 1e-14 * np.linalg.norm(want)


@pytest.mark.parametrize("points", [1, 2, 9, 16])
@pytest.mark.parametrize("name", oracle.HANKEL)
def test_the_oracle_means_what_scipy_means_by_hankel(name, points):
    x = random((3, points), "float64")
    for own in (LOGARITHMIC, {"dln": 0.3, "mu": 1.5, "offset": 0.2, "bias": 0.3}, {"dln": 0.05, "mu": 0, "bias": -0.2}):
        want = getattr(scipy.fft, name)(x, **own)
        assert np.linalg.norm(oracle.transform(name, x, **own) - want) <= 1e-13 * np.linalg.norm(want)


# -- the matrix -------------------------------------------------------------------------------------------------------

SAMPLE = pairs(
    case=tuple(UNEVEN),
    name=(*ONE, "dctn", "idstn"),
    type=TYPES,
    axis_type=AXIS_TYPES,
    dtype=("float32", "float64", "complex64", "complex128", "float16", "int32", "bool"),
    which=("all", "first", "last"),
    size=("own", "shorter", "longer"),
    norm=NORMS,
    orthogonalize=(None, True, False),
    method=METHODS,
    kernel=KERNELS,
)


@pytest.mark.each_value(2)
@pytest.mark.parametrize("row", SAMPLE, ids=sample_id)
def test_matrix(row):
    case, name, dtype = UNEVEN[row["case"]], row["name"], row["dtype"]
    x = random(case.shape, dtype)
    options = {key: row[key] for key in ("type", "norm", "orthogonalize")}
    options.update(options_of(name, case.shape, row["which"], row["size"]))
    got = getattr(tpufft, name)(place(x, case, row["axis_type"]), **options, method=row["method"], kernel=row["kernel"])
    mesh = mesh_of(case.mesh, row["axis_type"])
    check_result(got, oracle.transform(name, x, **options), result_dtype_of(name, dtype), mesh, case.spec, times=2)


# Lengths of every parity, the split axis shorter than the mesh too.
@pytest.mark.each_value(2)
@pytest.mark.parametrize("points", [1, 2, 3, 8, 24, 33])
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("name", ["dct", "dst"])
def test_lines_of_every_length(name, type, points):
    if (name, type, points) == ("dct", 1, 1):
        return  # refused, below
    case = Case("x8", P("x"), (points,))
    x = random(case.shape, "float64")
    got = getattr(tpufft, name)(place(x, case), type=type)
    check_result(got, oracle.transform(name, x, type=type), np.float64, mesh_of("x8"), case.spec, times=2)


@pytest.mark.each_value(2)
@pytest.mark.parametrize("method", METHODS[1:])
@pytest.mark.parametrize("kernel", KERNELS[1:])
@pytest.mark.parametrize(("name", "type"), [("dct", 1), ("dct", 2), ("dst", 3), ("dct", 4), ("idst", 1)])
def test_lines_by_every_method_and_kernel(name, type, kernel, method):
    case = Case("x8", P("x"), (32,))
    x = random(case.shape, "float32")
    got = getattr(tpufft, name)(put(x, case), type=type, norm="ortho", method=method, kernel=kernel)
    want = oracle.transform(name, x, type=type, norm="ortho")
    check(got, want, np.float32, mesh_of("x8"), case.spec, times=2)


@pytest.mark.parametrize("name", SEVERAL)
def test_several_axes(name):
    case = Case("x4y2", P("x", "y"), (8, 6, 5))
    x = random(case.shape, "float32")
    for options in ({}, {"axes": (2, 0), "s": (4, 12), "type": 3}, {"s": (-1, 9), "axes": (1, 2), "type": 4}):
        got = getattr(tpufft, name)(put(x, case), **options)
        want = oracle.transform(name, x, **options)
        check_result(got, want, np.float32, mesh_of("x4y2"), case.spec, times=2)


def test_no_axes_is_the_array_itself():
    x = random(ROWS.shape, "float32")
    check(tpufft.dctn(put(x, ROWS), axes=()), x.astype(float), np.float32, mesh_of("x8"), ROWS.spec)


@pytest.mark.each_value
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize(("there", "back"), [("dct", "idct"), ("dstn", "idstn")])
def test_there_and_back(there, back, type):
    for norm in NORMS[1:]:
        case = Case("x8", P("x"), (13, 6))
        x = random(case.shape, "float64")
        y = getattr(tpufft, there)(place(x, case), type=type, norm=norm)
        check_result(getattr(tpufft, back)(y, type=type, norm=norm), x, np.float64, mesh_of("x8"), case.spec, times=3)


@pytest.mark.parametrize("name", ["dct", "dstn"])
def test_an_empty_batch_has_an_empty_result(name):
    case = Case("x8", P("x"), (8, 0, 3))
    options = {"axis": 0} if name in ONE else {"axes": (0, 2)}
    got = getattr(tpufft, name)(put(random(case.shape, "float32"), case), **options)
    check(got, np.zeros(case.shape), np.float32, mesh_of("x8"), case.spec)


def test_numpy_arguments_come_back_chunked_or_whole():
    mesh = mesh_of("x8")
    for shape, spec in [((16, 3), P("x")), ((5, 3), P())]:
        x = random(shape, "float64")
        for argument in (x, jnp.asarray(x)):
            check(tpufft.dct(argument, mesh, axis=0), oracle.transform("dct", x, axis=0), np.float64, mesh, spec)


@pytest.mark.parametrize("axis_type", AXIS_TYPES, ids=TYPE_IDS)
def test_under_jit_as_eagerly(axis_type):
    mesh = mesh_of("x8", axis_type)
    for shape in [(16,), (13,)]:
        x = random(shape, "float32")
        argument = place(x, Case("x8", P("x"), shape), axis_type)
        with context(mesh):
            got = jax.jit(lambda v: tpufft.dct(v, mesh, spec=P("x"), type=2, norm="ortho"))(argument)
        check_result(got, oracle.transform("dct", x, norm="ortho"), np.float32, mesh, P("x"), times=2)


# -- Hankel -----------------------------------------------------------------------------------------------------------


@pytest.mark.each_value
@pytest.mark.parametrize("name", oracle.HANKEL)
@pytest.mark.parametrize(
    ("case", "own"),
    [
        (Case("x8", P("x"), (32,)), LOGARITHMIC),
        (Case("x8", P("x"), (17,)), {"dln": 0.2, "mu": 1.5, "offset": 0.1, "bias": 0.2}),
        (Case("x8", P("x"), (13, 6)), {"dln": 0.1, "mu": 0.0, "bias": -0.1}),
        (Case("x4y2", P("y", "x"), (4, 9)), {"dln": 0.1, "mu": 2.0, "offset": -0.2}),
    ],
    ids=str,
)
def test_hankel(name, case, own):
    for dtype in ("float32", "float64"):
        x = random(case.shape, dtype)
        got = getattr(tpufft, name)(place(x, case), **own)
        want = oracle.transform(name, x, **own)
        # The coefficients' phases are logarithms of some tens: a digit more is lost there.
        check_result(got, want, dtype, mesh_of(case.mesh), case.spec, times=16)
    back = getattr(tpufft, "fht" if name == "ifht" else "ifht")(got, **own)
    # The last frequency of an even length is not kept, as in scipy, unless the offset is chosen for it.
    if case.shape[-1] % 2:
        check_result(back, x, dtype, mesh_of(case.mesh), case.spec, times=32)


def test_hankel_arguments():
    x = put(random(ROWS.shape, "float32"), ROWS)
    with pytest.raises(TypeError):
        tpufft.fht(x, dln=0.1)
    with pytest.raises(TypeError, match="fht"):
        tpufft.fht(put(random(ROWS.shape), ROWS), **LOGARITHMIC)


# -- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["dct", "idct", "dctn", "idctn"])
def test_a_cosine_transform_of_type_one_needs_two_points(name):
    x = put(random((8, 1), "float32"), Case("x8", P("x"), (8, 1)))
    with pytest.raises(ValueError, match=r"2 points|two points|at least 2"):
        getattr(tpufft, name)(x, type=1, **({"n": 1} if name in ONE else {"s": (8, 1), "axes": (0, 1)}))


@pytest.mark.parametrize("name", oracle.TRIGONOMETRIC)
def test_bad_arguments(name):
    x = put(random(ROWS.shape, "float32"), ROWS)
    call = getattr(tpufft, name)
    bad = [({"norm": "best"}, ValueError), ({"type": 5}, ValueError), ({"type": 0}, ValueError)]
    if name in ONE:
        bad += [({"axis": 2}, AxisError), ({"n": 0}, ValueError)]
    else:
        bad += [({"axes": (0, 2)}, AxisError), ({"s": (0, 4), "axes": (0, 1)}, ValueError)]
        bad += [({"s": (4,), "axes": (0, 1)}, ValueError), ({"axes": (1, 1)}, ValueError)]
    for options, kind in bad:
        with pytest.raises(kind):
            call(x, **options)
    assert not x.is_deleted()


def test_a_chunked_array_of_another_mesh():
    case = UNEVEN["uneven rows"]
    with pytest.raises(tpufft.LayoutError):
        tpufft.dct(place(random(case.shape, "float32"), case), mesh_of("x4y2"))


# -- what crosses the wire --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "shape", "options"),
    [("dct", (64,), {}), ("dct", (65,), {"type": 1}), ("dctn", (16, 24), {}), ("dst", (40,), {"method": "ring"})],
    ids=str,
)
def test_the_program_executes_the_collectives_of_its_steps(name, shape, options):
    plan = tpufft.plan(name, shape, "float32", mesh_of("x8"), spec=P("x"), **options)
    found = plan.hlo_collectives()
    assert "all-gather" not in found
    assert found == plan.bound.program.collectives


def test_accuracy_of_long_lines():
    """Type 1 above all, whose short algorithms lose half the digits."""
    for name, type, points in [("dct", 1, 2**14 + 1), ("dct", 2, 2**14), ("dst", 1, 2**14 - 1)]:
        x = random((points,), "float32")
        want = getattr(scipy.fft, name)(x.astype(np.float64), type=type)
        got = getattr(tpufft, name)(place(x, Case("x8", P("x"), x.shape)), type=type)
        check_value(np.asarray(got), want, times=1)
