"""fft ifft fft2 ifft2 fftn ifftn and plans: values, dtypes, shapes and chunking against the definition."""

from __future__ import annotations

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import oracle
import pytest
from helpers import (
    AUTO,
    AXIS_TYPES,
    CASES,
    DTYPES,
    EXPLICIT,
    KERNELS,
    METHODS,
    NORMS,
    TRANSFORMS,
    Case,
    check,
    check_chunks,
    check_value,
    context,
    mesh_of,
    pairs,
    put,
    random,
    result_dtype,
    sample_id,
)
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import tpufft

# -- the oracle itself ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_the_oracle_means_what_numpy_means(name, norm):
    x = random((3, 7, 8))
    given = [{}, {"n": 5}, {"n": 11, "axis": 0}, {"axis": -2}]
    if name not in oracle.ONE_AXIS:
        given = [{}, {"axes": (0, -1)}, {"s": (4, 9), "axes": (2, 1)}, {"axes": (1, 0, 1)}]
        given += [{"s": (-1, 9), "axes": (0, 0)}, {"s": (5, 12)}]
    for options in given:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # numpy deprecates s without axes
            want = getattr(np.fft, name)(x, norm=norm, **options)
        got = oracle.transform(name, x, norm=norm, **options)
        assert got.shape == want.shape
        assert np.linalg.norm(got - want) <= 1e-14 * np.linalg.norm(want)


# -- the matrix -----------------------------------------------------------------------------------------------------

SAMPLE = pairs(
    case=tuple(CASES),
    name=("fft", "ifft", "fftn"),
    axis_type=AXIS_TYPES,
    dtype=("complex64", "complex128"),
    which=("all", "first", "last"),
    norm=NORMS,
    method=METHODS,
    kernel=KERNELS,
)


def axes_of(name: str, which: str) -> dict:
    if name in oracle.ONE_AXIS:
        return {"axis": 0 if which == "first" else -1}
    return {"axes": {"all": None, "first": (0,), "last": (-1,)}[which]}


@pytest.mark.each_value(2)
@pytest.mark.parametrize("row", SAMPLE, ids=sample_id)
def test_matrix(row):
    case, name = CASES[row["case"]], row["name"]
    x = random(case.shape, row["dtype"])
    options = {"norm": row["norm"], **axes_of(name, row["which"])}
    sharded = put(x, case, row["axis_type"])
    got = getattr(tpufft, name)(sharded, **options, method=row["method"], kernel=row["kernel"])
    want = oracle.transform(name, x, **options)
    check(got, want, row["dtype"], sharded.sharding.mesh, case.spec)
    assert not sharded.is_deleted()


@pytest.mark.parametrize(("case", "name"), [("rows", "ifft2"), ("whole 2-D", "fft2"), ("last pencil", "ifft2")])
def test_two_axes(case, name):
    case = CASES[case]
    x = random(case.shape)
    sharded = put(x, case)
    check(getattr(tpufft, name)(sharded), oracle.transform(name, x), x.dtype, sharded.sharding.mesh, case.spec)


def test_fft2_takes_other_axes_and_any_number_of_them():
    case = CASES["slab"]
    x = random(case.shape)
    for axes in [(2, 0), (-3, 1), None]:
        got = tpufft.fft2(put(x, case), axes=axes)
        want = oracle.transform("fftn", x, axes=axes)
        check(got, want, x.dtype, mesh_of("x8"), case.spec)


def test_arguments_as_numpy_has_them_but_by_keyword():
    """The mesh is the second positional argument; nothing else is positional, so no n can be taken for a mesh."""
    x = put(random((16, 6)), CASES["rows"])
    with pytest.raises(TypeError, match="mesh=16 is no"):
        tpufft.fft(x, 16)
    with pytest.raises(TypeError, match="positional"):
        tpufft.fft(x, mesh_of("x8"), 16)


# -- dtypes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [*DTYPES, "bfloat16", "int8", "int64", "uint16"])
def test_dtypes(dtype):
    case = CASES["rows"]
    x = random(case.shape, jnp.dtype(dtype))
    sharded = put(x, case)
    got = tpufft.fft2(sharded)
    check(got, oracle.transform("fft2", x.astype(np.complex128)), result_dtype(dtype), mesh_of("x8"), case.spec)
    assert sharded.dtype == dtype
    if dtype not in ("float16", "bfloat16"):  # these jnp.fft refuses
        assert jnp.fft.fft2(jnp.ones((2, 2), dtype)).dtype == got.dtype


def test_real_input_is_transformed_as_complex():
    case = CASES["line"]
    x = random(case.shape, "float64")
    got = np.asarray(tpufft.fft(put(x, case)))
    check_value(got[1:], np.conj(got[1:][::-1]))


# -- n and s --------------------------------------------------------------------------------------------------------

RESIZED = [
    ("line", "fft", {"n": 24}),
    ("line", "ifft", {"n": 104}),
    ("line over two, other order", "fft", {"n": 8}),
    ("rows", "fft", {"n": 5}),
    ("rows", "fft", {"n": 9, "axis": -1, "norm": "ortho"}),
    ("rows", "ifft", {"n": 40, "axis": 0, "norm": "forward"}),
    ("rows", "fft", {"n": np.int32(8), "axis": np.int64(0)}),
    ("whole 2-D", "fft2", {"s": (4, 10)}),
    ("whole 2-D", "ifft2", {"s": (12, 2), "axes": (0, 1), "norm": "ortho"}),
    ("whole 2-D", "fftn", {"s": (-1, 4), "axes": (0, 1)}),
    ("slab", "fftn", {"s": (16, 3), "axes": (0, 2)}),
    ("slab", "fftn", {"s": np.array([5, 16]), "axes": [-1, 0]}),
    ("slab", "ifftn", {"s": (3, 9)}),
    ("pencil", "ifftn", {"s": [4, 8, 5], "axes": range(3)}),
    ("pencil", "fftn", {"s": (12, -1), "axes": (0, 1)}),
    ("replicated over one", "fftn", {"s": (4, 7), "axes": (0, 1)}),
    ("size-1 axis", "fftn", {"s": (2, 12), "axes": (0, 2)}),
    ("mesh of one", "ifft2", {"s": (7, 3)}),
]


@pytest.mark.each_value
@pytest.mark.parametrize(("case", "name", "options"), RESIZED)
def test_sizes(case, name, options):
    case = CASES[case]
    x = random(case.shape)
    got = getattr(tpufft, name)(put(x, case), **options)
    check(got, oracle.transform(name, x, **options), x.dtype, mesh_of(case.mesh), case.spec)


@pytest.mark.parametrize("method", METHODS[1:])
@pytest.mark.parametrize("n", [16, 56])
def test_sizes_of_a_line_by_every_method(n, method):
    x = random((40,))
    got = tpufft.fft(put(x, Case("x8", P("x"), x.shape)), n=n, method=method)
    check(got, oracle.along(x, 0, n), x.dtype, mesh_of("x8"), P("x"))


def test_sizes_pad_an_empty_axis():
    case = Case("x8", P("x"), (8, 0))
    got = tpufft.fft(put(random(case.shape), case), n=4)
    check(got, np.zeros((8, 4)), np.complex128, mesh_of("x8"), P("x"))


# -- axes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"axes": (0, 0)},
        {"axes": (0, 1, 0)},
        {"axes": (1, 1, 1), "norm": "ortho"},
        {"axes": (2, 0, 2), "norm": "forward"},
        {"axes": (0, 0), "s": (16, 24)},
        {"axes": (0, 0), "s": (-1, 16)},
        {"axes": (0, 0), "s": (16, -1)},
        {"axes": (2, 2, 0), "s": (5, 7, 8)},
    ],
    ids=str,
)
def test_repeated_axes_are_transformed_again(options):
    case = CASES["slab"]
    x = random(case.shape)
    name = "ifftn" if len(options["axes"]) == 3 else "fftn"
    got = getattr(tpufft, name)(put(x, case), **options)
    check(got, oracle.transform(name, x, **options), x.dtype, mesh_of("x8"), case.spec)


def test_no_axes_is_the_array_itself_made_complex():
    case = CASES["rows"]
    x = random(case.shape, "float32")
    got = tpufft.fftn(put(x, case), axes=())
    check(got, x.astype(np.complex64), np.complex64, mesh_of("x8"), case.spec)
    assert tpufft.fftn(3.0).item() == 3


@pytest.mark.parametrize("axis", [-3, -2, -1, 0, 1, 2])
def test_every_axis_number(axis):
    case = CASES["pencil"]
    x = random(case.shape)
    got = tpufft.fft(put(x, case), axis=axis)
    check(got, oracle.along(x, axis), x.dtype, mesh_of(case.mesh), case.spec)


# -- sizes that do not divide ---------------------------------------------------------------------------------------


@pytest.mark.each_value
@pytest.mark.parametrize("method", METHODS[1:])
@pytest.mark.parametrize(
    "case",
    [
        Case("x8", P("x"), (16, 30)),  # the other axis does not divide over 8
        Case("x8", P("x"), (8, 3)),  # nor even fill the devices
        Case("x8", P("x"), (8, 1)),
        Case("x8", P("x"), (8, 1, 1)),
        Case("x8", P("x"), (8,)),  # one point on each device
        Case("x8", P("x"), (88,)),  # a prime on each device, more than devices
        Case("x4y2", P("x", "y"), (4, 2)),
        Case("x4y2", P("x", "y"), (28, 22)),
        Case("x2y2z2", P("x", "y", "z"), (2, 2, 2)),
        Case("x4y2", P(None, ("y", "x")), (17, 24)),
    ],
    ids=lambda case: f"{case.shape}-{case.spec}",
)
def test_uneven_intermediate_sizes(case, method):
    x = random(case.shape)
    got = tpufft.fftn(put(x, case), method=method)
    check(got, oracle.transform("fftn", x), x.dtype, mesh_of(case.mesh), case.spec)


@pytest.mark.parametrize(("devices", "method"), [(3, "exchange"), (5, "ring"), (6, "ring"), (7, "exchange")])
def test_numbers_of_devices_that_are_no_power_of_two(devices, method):
    mesh = jax.make_mesh((devices,), ("x",), axis_types=(AUTO,), devices=jax.devices()[:devices])
    for shape in ((4 * devices,), (2 * devices, devices + 1)):
        x = random(shape)
        sharded = jax.device_put(x, NamedSharding(mesh, P("x")))
        check(tpufft.fftn(sharded, method=method), oracle.transform("fftn", x), x.dtype, mesh, P("x"))


def test_matmul_kernel_on_primes_and_long_primes():
    for n in (127, 521):  # a dense product, and Bluestein's convolution
        x = random((8, n))
        got = tpufft.fft(put(x, Case("x8", P("x"), x.shape)), kernel="matmul")
        check_value(got, oracle.along(x, -1), times=2)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("shape", "spec", "axis"),
    [((0, 8), P(None, "x"), -1), ((0, 8), P("x"), -1), ((8, 0), P("x"), 0), ((8, 0, 16), P("x", None, None), 2)],
)
def test_an_empty_batch_has_an_empty_result(shape, spec, axis, method):
    got = tpufft.fft(put(random(shape), Case("x8", spec, shape)), axis=axis, method=method)
    assert got.shape == shape
    assert got.dtype == np.complex128
    assert got.sharding.is_equivalent_to(NamedSharding(mesh_of("x8"), spec), len(shape))


def test_axes_of_length_one():
    for shape, spec in [((8, 1), P("x")), ((1, 8), P(None, "x")), ((1, 1), P())]:
        case = Case("x8", spec, shape)
        x = random(shape)
        for name in ("fft2", "ifft"):
            check(getattr(tpufft, name)(put(x, case)), oracle.transform(name, x), x.dtype, mesh_of("x8"), spec)


# -- chunking of the result -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "out_spec"),
    [
        ("rows", P(None, "x")),
        ("rows", P("x", None)),
        ("columns", P("x")),
        ("whole 2-D", P("y", "x")),
        ("whole 2-D", P(("x", "y"))),
        ("whole 2-D", P(("y", "x"))),
        ("rows over two", P(None, ("x", "y"))),
        ("pencil", P(None, "x", "y")),
        ("size-1 axis", P("z", "a", "x")),
        ("replicated", P(None, None)),
        ("replicated over one", P(None, "x")),
    ],
)
def test_out_spec(case, out_spec):
    case, axis_type = CASES[case], AXIS_TYPES[len(case) % 2]
    shape = tuple(-(-size // 8) * 8 for size in case.shape)
    x = random(shape)
    sharded = put(x, Case(case.mesh, case.spec, shape), axis_type)
    got = tpufft.fftn(sharded, out_spec=out_spec)
    check(got, oracle.transform("fftn", x), x.dtype, sharded.sharding.mesh, out_spec)


def test_out_spec_of_an_axis_that_is_local():
    case = CASES["rows"]
    x = random((16, 8))
    got = tpufft.ifft(put(x, case), out_spec=P(None, "x"))
    check(got, oracle.transform("ifft", x), x.dtype, mesh_of("x8"), P(None, "x"))


def test_spec_moves_the_array_there_first():
    x = random((16, 8))
    for spec in (P(None, "x"), P("x")):
        got = tpufft.fft2(put(x, CASES["rows"]), spec=spec)
        check(got, oracle.transform("fft2", x), x.dtype, mesh_of("x8"), spec)


# -- plans that differ agree ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("case", "name"), [("line", "ifftn"), ("whole 2-D", "fftn"), ("slab", "ifftn")])
def test_methods_and_kernels_agree_with_each_other(case, name):
    case = CASES[case]
    x = random(case.shape, "complex64")
    want = oracle.transform(name, x)
    used = set()
    for method in ("exchange", "ring"):
        for kernel in ("xla", "matmul"):
            options = {"method": method, "kernel": kernel}
            plan = tpufft.plan(name, case.shape, "complex64", mesh_of(case.mesh), spec=case.spec, **options)
            steps = {type(step).__name__ for step in plan.steps}
            assert ("Ring" in steps) == (method == "ring")
            assert "Exchange" not in steps if method == "ring" else "Exchange" in steps
            assert all(step.kernel == kernel for step in plan.steps if type(step).__name__ == "Local")
            used.add(plan.steps)
            got = plan(put(x, case))
            check(got, want, np.complex64, mesh_of(case.mesh), case.spec)
            check_value(getattr(tpufft, name)(put(x, case), **options), np.asarray(got).astype(np.complex128))
    assert len(used) >= 3


@pytest.mark.parametrize("precision", ["highest", "float32", "BF16_BF16_F32_X3", jax.lax.Precision.HIGHEST])
def test_precision_never_drops_a_part(precision):
    case = CASES["rows"]
    x = random(case.shape, "complex64")
    got = tpufft.fft2(put(x, case), precision=precision)
    check(got, oracle.transform("fft2", x), np.complex64, mesh_of("x8"), case.spec, times=2)


@pytest.mark.parametrize("name", ["fft", "ifft2", "fftn"])
def test_plan_is_the_function(name):
    case = CASES["slab"]
    x = random(case.shape, "float32")
    plan = tpufft.plan(name, case.shape, "float32", mesh_of("x8"), spec=case.spec, norm="ortho")
    want = oracle.transform(name, x, norm="ortho")
    elsewhere = put(x, Case("x4y2", P(None, "x"), case.shape))
    for argument in (put(x, case), x, jnp.asarray(x), elsewhere):
        check(plan(argument), want, np.complex64, mesh_of("x8"), case.spec)
    assert (plan.in_layout.shape, plan.out_layout.shape) == (case.shape, want.shape)
    check(plan.inverse(plan(put(x, case))), x.astype(np.complex64), np.complex64, mesh_of("x8"), case.spec, times=2)


def test_round_trips_of_every_norm():
    case = CASES["rows"]
    x = random(case.shape)
    for norm in NORMS[1:]:
        back = tpufft.ifftn(tpufft.fftn(put(x, case), norm=norm), norm=norm)
        check(back, x, x.dtype, mesh_of(case.mesh), case.spec)


def test_chained_calls_stay_chunked():
    case = CASES["whole 2-D"]
    x = random(case.shape)
    y = put(x, case, EXPLICIT)
    for _ in range(4):  # which is the identity
        y = tpufft.fft2(y, norm="ortho")
    check(y, x, x.dtype, mesh_of(case.mesh, EXPLICIT), case.spec, times=3)
    with context(y.sharding.mesh):
        z = tpufft.fft2(2 * y + 1)
    check(z, oracle.transform("fft2", 2 * x + 1), x.dtype, mesh_of(case.mesh, EXPLICIT), case.spec, times=3)


def test_results_go_on_in_jax_numpy():
    case = CASES["rows"]
    x = random(case.shape)
    y = jnp.abs(tpufft.fft2(put(x, case))) ** 2
    check_chunks(y, mesh_of("x8", AUTO), case.spec)
    check_value(y, np.abs(oracle.transform("fft2", x)) ** 2, times=3)
