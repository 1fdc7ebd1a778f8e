"""`on(mesh)`: numpy's signatures, what comes back, the scipy backend, the array API's words, code that uses it."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import os
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import oracle
import pytest
import scipy.fft
import scipy.signal
from helpers import AXIS_TYPES, TYPE_IDS, check_chunks, check_value, context, error, mesh_of, random
from jax.sharding import PartitionSpec as P

from tpufft.chunked import ChunkedArray, chunk
from tpufft.errors import LayoutError
from tpufft.namespace import OUTPUTS, Namespace, on

ROWS, GRID = mesh_of("x8"), mesh_of("x4y2")
NUMPYS = tuple(np.fft.__all__)
ONLY_SCIPYS = tuple(name for name in oracle.NAMES if name not in NUMPYS)
HANKEL = {"dln": 0.1, "mu": 0.3}
TRANSFORMS = oracle.NAMES


def argument(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers of a kind that a transform takes."""
    real = name in (*oracle.REAL_TO_COMPLEX, *oracle.TRIGONOMETRIC, *oracle.HANKEL)
    return random(shape, np.float64 if real else np.complex128)


def own(name: str) -> dict[str, float]:
    return HANKEL if name in oracle.HANKEL else {}


# -- signatures ------------------------------------------------------------------------------------------------------


def calls(function: Any) -> dict[str, Any]:
    """Names and defaults of the arguments, in order."""
    return {name: value.default for name, value in inspect.signature(function).parameters.items()}


@pytest.mark.parametrize("name", NUMPYS)
def test_a_signature_is_numpys(name: str) -> None:
    theirs, ours = calls(getattr(np.fft, name)), calls(getattr(on(ROWS), name))
    assert list(theirs.items()) == list(ours.items())[: len(theirs)]
    assert set(ours) - set(theirs) <= {"dtype"}, "the array API's"


@pytest.mark.parametrize("name", ONLY_SCIPYS)
def test_a_signature_that_numpy_lacks_is_scipys(name: str) -> None:
    theirs, ours = calls(getattr(scipy.fft, name)), calls(getattr(on(ROWS), name))
    # ifht alone calls its array A.
    assert [item for item in theirs.items() if item[0] != "A"] == list(ours.items())[name == "ifht" :]


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_method_says_what_it_is(name: str) -> None:
    method = getattr(on(ROWS), name)
    assert method.__name__ == name
    assert method.__qualname__ == f"Namespace.{name}"
    assert f"tpufft.{name}" in (inspect.getdoc(method) or "")
    assert (inspect.getdoc(method) or "").partition("\n")[0].endswith(".")


# -- values and what comes back --------------------------------------------------------------------------------------


@pytest.mark.each_value
@pytest.mark.parametrize("axis_type", AXIS_TYPES, ids=TYPE_IDS)
@pytest.mark.parametrize("shape", [(16, 8), (5, 6)], ids=str)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_numpy_in_and_out(name: str, shape: tuple[int, ...], axis_type: Any) -> None:
    x = argument(name, shape)
    got = getattr(on(mesh_of("x4y2", axis_type), output="numpy"), name)(x, **own(name))
    assert type(got) is np.ndarray
    assert got.flags.writeable
    # The Hankel transform's coefficients differ in size, so that its rounding is not that of a unitary map.
    check_value(got, oracle.transform(name, x, **own(name)), times=20 if name in oracle.HANKEL else 4)


@pytest.mark.parametrize("name", ["fft", "rfft", "irfft", "fftn", "dct", "hfft2"])
def test_positions_are_numpys_and_scipys(name: str) -> None:
    x, numbers = argument(name, (6, 9)), {"fft": (8, 0, "ortho"), "rfft": (8, 0, "forward"), "irfft": (7, 0, "ortho")}
    given = numbers.get(name, {"dct": (3, 8, 0, "ortho"), "fftn": ((4, 5), (1, 0), "forward")}.get(name, ((4, 5),)))
    reference = getattr(np.fft if name in NUMPYS else scipy.fft, name)
    check_value(getattr(on(ROWS, "numpy"), name)(x, *given), reference(x, *given), times=4)


@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
def test_there_and_back_in_every_norm(norm: str | None) -> None:
    F, x = on(ROWS, "numpy"), random((30,))
    check_value(F.ifft(F.fft(x, norm=norm), norm=norm), x, times=2)
    with pytest.raises(ValueError, match="0"):
        F.ifft([], norm=norm)


@pytest.mark.each_value
@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
@pytest.mark.parametrize("dtype", ["int16", "bool", "complex64", ">f8"])
@pytest.mark.parametrize("axes", [None, 0, (1,), (0, 1)])
def test_a_shift_is_exact(name: str, dtype: str, axes: Any) -> None:
    x = random((7, 8), dtype)
    got = getattr(on(GRID, "numpy"), name)(x, axes)
    assert got.dtype == x.dtype.newbyteorder("=")
    np.testing.assert_array_equal(got, getattr(np.fft, name)(x, axes))


@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
@pytest.mark.parametrize("n", [1, 9, 16])
@pytest.mark.parametrize("output", OUTPUTS)
def test_frequencies(name: str, n: int, output: str) -> None:
    got = getattr(on(ROWS, output), name)(n, 0.25)
    check_value(got, oracle.frequencies(n, 0.25, real=name == "rfftfreq"))


@pytest.mark.parametrize("shape", [(16, 6), (5, 6)], ids=str)
def test_jax_output_is_chunked_where_it_divides_else_whole(shape: tuple[int, ...]) -> None:
    x = random(shape)
    for argument_ in (x, chunk(x, ROWS, P("x"))):
        got = on(ROWS).fft(argument_)
        check_chunks(got, ROWS, P("x") if shape[0] % 8 == 0 else P())
        check_value(got, oracle.transform("fft", x))


def test_a_half_spectrum_that_does_not_divide() -> None:
    x = jax.device_put(random((16,), np.float64), jax.NamedSharding(ROWS, P("x")))
    want = oracle.transform("rfft", np.asarray(x))
    whole, chunks = on(ROWS).rfft(x), on(ROWS, "chunked").rfft(x)
    check_chunks(whole, ROWS, P())
    assert isinstance(chunks, ChunkedArray)
    assert chunks.layout.spec == (("x",),)
    check_value(whole, want)
    check_value(chunks.to_numpy(), want)
    check_value(on(ROWS).irfft(chunks), np.asarray(x))


def test_jax_output_under_jit_and_grad() -> None:
    F, x = on(GRID, spec=P("x", "y")), random((8, 6), np.float64)
    with context(GRID):
        check_value(jax.jit(F.rfft2)(x), oracle.transform("rfft2", x))
        gradient = jax.grad(lambda x: jnp.sum(jnp.abs(F.fft2(x)) ** 2))(jnp.asarray(x))
    check_value(gradient, 2 * x.size * x, times=4)


def test_numpy_output_cannot_be_traced() -> None:
    with pytest.raises(TypeError, match="output='numpy' cannot be traced"):
        jax.jit(on(ROWS, "numpy").fft)(np.ones(8))


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "bool"])
def test_numpys_integers_are_promoted_as_numpy_does_and_jaxs_as_jax_does(dtype: str) -> None:
    x = random((8,), dtype)
    assert on(ROWS, "numpy").fft(x).dtype == np.fft.fft(x).dtype
    assert on(ROWS).rfft(x).dtype == np.complex128
    assert on(ROWS).fft(jnp.asarray(x)).dtype == jnp.result_type(jnp.sin(jnp.asarray(x)), jnp.complex64)


@pytest.mark.parametrize("dtype", [">f8", ">c8", "<f4", "float16"])
def test_byte_order_does_not_matter(dtype: str) -> None:
    x = random((4, 8), np.complex128 if "c" in dtype else np.float64).astype(dtype)
    check_value(on(ROWS, "numpy").fft(x), oracle.transform("fft", x.astype(x.dtype.newbyteorder("="))), times=2)


# -- the namespace as a value ----------------------------------------------------------------------------------------


def test_equal_ones_are_equal() -> None:
    one, same = on(ROWS, spec=P("x", None)), on(ROWS, spec=["x", None])
    assert one == same
    assert hash(one) == hash(same)
    assert one == copy.copy(one)
    assert len({one, same, on(ROWS), on(ROWS, "numpy"), on(GRID), on(ROWS, method="ring")}) == 5
    scipy.fft.set_backend(one)
    assert one == same, "scipy keeps its contexts in it"


def test_it_is_immutable() -> None:
    F: Any = on(ROWS)
    with pytest.raises(dataclasses.FrozenInstanceError):
        F.output = "numpy"
    with pytest.raises(AttributeError):
        F.fft = None


def test_a_static_argument_of_jit() -> None:
    transform = jax.jit(lambda F, x: F.fft(x), static_argnums=0)
    x = random((8, 4))
    for _ in range(2):
        check_value(transform(on(ROWS), x), oracle.transform("fft", x))
    assert transform._cache_size() == 1  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"output": "torch"}, ValueError, "output='torch': one of 'jax', 'numpy', 'chunked'"),
        ({"method": "magic"}, ValueError, "method='magic'"),
        ({"spec": P("z")}, LayoutError, "spec=.*'z'"),
        ({"out_spec": P("x", "x")}, LayoutError, "out_spec=.*twice"),
        ({"mesh": None}, TypeError, "mesh=None"),
        ({"order": "scrambled"}, TypeError, "order"),
    ],
    ids=str,
)
def test_a_bad_option_fails_at_once(options: dict[str, Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        on(**{"mesh": ROWS, **options})


# -- options reach the functions -------------------------------------------------------------------------------------


def test_spec_and_out_spec() -> None:
    x = random((8, 16))
    F = on(GRID, spec=P("x", "y"), out_spec=P("y", "x"))
    check_chunks(F.fft2(x), GRID, P("y", "x"))
    check_value(F.fft2(x), oracle.transform("fft2", x))
    check_chunks(F.fftshift(x), GRID, P("x", "y"))


@pytest.mark.parametrize("options", [{"method": "ring"}, {"method": "exchange"}, {"kernel": "matmul"}], ids=str)
def test_method_and_kernel(options: dict[str, str]) -> None:
    x = random((64,))
    check_value(on(ROWS, "numpy", **options).fft(x), oracle.transform("fft", x))


def test_an_option_that_a_function_does_not_take_is_left_out() -> None:
    F, x = on(ROWS, "numpy", kernel="matmul", precision="highest"), random((8,), np.float64)
    check_value(F.fftshift(x), np.fft.fftshift(x))
    check_value(F.fht(x, **HANKEL), oracle.transform("fht", x, **HANKEL), times=4)


def test_overwrite_x_donates_jax_arrays_alone() -> None:
    F, kept = on(ROWS, overwrite_x=True), random((8, 4))
    given, want = jax.device_put(kept, jax.NamedSharding(ROWS, P("x"))), oracle.transform("fft", kept)
    check_value(F.fft(given), want)
    assert given.is_deleted()
    check_value(F.fft(kept), want)
    check_value(F.fft(kept), want)


# -- out= ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["fft", "irfft", "rfft2", "fftn"])
def test_out_is_filled_and_returned(name: str) -> None:
    x = argument(name, (6, 4))
    want = oracle.transform(name, x)
    out = np.empty(want.shape[::-1], want.dtype).T
    assert getattr(on(ROWS, "numpy"), name)(x, out=out) is out
    check_value(out, want)


def test_out_may_be_the_argument() -> None:
    x = random((6, 4))
    want = oracle.transform("fft", x, axis=0)
    check_value(on(ROWS, "numpy").fft(x, axis=0, out=x), want)


@pytest.mark.parametrize(
    ("out", "kind", "words"),
    [
        ([0.0] * 6, TypeError, "must be of ArrayType"),
        (np.empty(5, complex), ValueError, "wrong shape"),
        (np.empty(6), TypeError, "Cannot cast"),
    ],
    ids=["list", "shape", "real"],
)
def test_a_bad_out(out: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        on(ROWS, "numpy").fft(np.ones(6), out=out)


def test_only_numpy_output_has_out() -> None:
    with pytest.raises(TypeError, match="output='jax'"):
        on(ROWS).fft(np.ones(8), out=np.empty(8, complex))


# -- the array API's words -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_array_api_of_one_axis(name: str) -> None:
    x = argument(name, (6, 8))
    got = getattr(on(ROWS), name)(x, n=7, axis=0, norm="backward")
    check_value(got, oracle.transform(name, x, n=7, axis=0), times=2)


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
def test_array_api_of_several_axes(name: str) -> None:
    x = argument(name, (6, 8))
    got = getattr(on(ROWS), name)(x, s=(4, 9), axes=(1, 0), norm="backward")
    check_value(got, oracle.transform(name, x, s=(4, 9), axes=(1, 0)), times=2)


def test_array_api_of_helpers() -> None:
    F, x = on(ROWS), random((8, 3))
    check_value(F.fftshift(x, axes=(0,)), oracle.shift(x, 0))
    check_value(F.ifftshift(x, axes=1), oracle.shift(x, 1, inverse=True))
    assert F.fftfreq(8, d=0.5, dtype=np.float32, device=None).dtype == np.float32
    assert F.rfftfreq(8, d=0.5, dtype=jnp.float64).dtype == np.float64


def test_a_device_is_the_meshs() -> None:
    assert on(ROWS, "numpy").fftfreq(8, device="cpu").shape == (8,)
    with pytest.raises(ValueError, match="device='cpu'"):
        on(ROWS).fftfreq(8, device="cpu")


# -- the backend of scipy.fft ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TRANSFORMS)
def test_scipy_is_served(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x, served, apply = argument(name, (6, 8)), [], Namespace._apply
    monkeypatch.setattr(
        Namespace, "_apply", lambda self, *args, **own: served.append(args[0]) or apply(self, *args, **own)
    )
    with scipy.fft.set_backend(on(ROWS, "numpy"), only=True):
        got = getattr(scipy.fft, name)(x, **own(name))
    assert served[:1] == [name]
    check_value(got, getattr(scipy.fft, name)(x, **own(name)), times=4)


def test_scipy_calls_by_keyword_and_with_lists() -> None:
    with scipy.fft.set_backend(on(ROWS, "numpy"), only=True):
        check_value(scipy.fft.fft(x=[1, 2, 3], n=4, workers=2), np.fft.fft([1, 2, 3], 4))
        got = scipy.fft.dctn([[1.0, 2.0], [3.0, 5.0]], 2, 3, 0)
    check_value(got, scipy.fft.dctn([[1.0, 2.0], [3.0, 5.0]], 2, 3, 0))


@pytest.mark.parametrize("s", [None, 4, (4,), (-1, 5), np.array([4, 3])], ids=str)
@pytest.mark.parametrize("axes", [None, 0, -1, (0, 1), [1, 0]], ids=str)
@pytest.mark.parametrize("name", ["fftn", "rfftn", "irfftn", "dstn"])
def test_sizes_and_axes_are_checked_as_scipy_does(name: str, s: Any, axes: Any) -> None:
    x, scipys = argument(name, (3, 5)), getattr(scipy.fft, name)
    try:
        want = scipys(x, s=s, axes=axes)
    except ValueError:
        want = None
    with scipy.fft.set_backend(on(ROWS, "numpy"), only=True):
        if want is None:
            with pytest.raises(ValueError, match=r"s=.* (different lengths|sizes)"):
                scipys(x, s=s, axes=axes)
        else:
            check_value(scipys(x, s=s, axes=axes), want, times=4)


@pytest.mark.parametrize(
    ("name", "options", "kind", "words"),
    [
        ("fftn", {"axes": (0, 0)}, ValueError, "unique"),
        ("fft2", {"axes": (0, -2)}, ValueError, "unique"),
        ("fftn", {"axes": (0, 2)}, np.exceptions.AxisError, "2"),
        ("fftn", {"axes": (0.5,)}, ValueError, "axes="),
        ("fftn", {"s": (3, 3, 3)}, ValueError, "s="),
        ("fftn", {"s": (0, 3)}, ValueError, "0"),
        ("rfftn", {"axes": ()}, ValueError, "at least one axis"),
        ("fft", {"axis": 2}, np.exceptions.AxisError, "2"),
        ("fft", {"n": 0}, ValueError, "0"),
        ("fft", {"norm": "otho"}, ValueError, "norm='otho'"),
        ("fft", {"plan": 1}, NotImplementedError, "precomputed plan"),
        ("dct", {"type": 5}, ValueError, "type=5"),
        ("fft", {"workers": 0}, ValueError, "workers must not be zero"),
        ("dct", {"workers": -(os.cpu_count() or 1) - 1}, ValueError, "workers value out of range"),
    ],
    ids=str,
)
def test_scipy_refusals(name: str, options: dict[str, Any], kind: type[Exception], words: str) -> None:
    with scipy.fft.set_backend(on(ROWS, "numpy"), only=True), pytest.raises(kind, match=words):
        getattr(scipy.fft, name)(np.ones((4, 4)), **options)


@pytest.mark.parametrize("name", ["rfft", "ihfft", "rfftn"])
def test_scipy_refuses_complex_where_real_is_wanted(name: str) -> None:
    with scipy.fft.set_backend(on(ROWS, "numpy"), only=True), pytest.raises(TypeError):
        getattr(scipy.fft, name)(np.ones(4, complex))


def test_numpy_transforms_a_repeated_axis_again_and_scipy_refuses() -> None:
    F, x = on(ROWS, "numpy"), random((4, 4))
    check_value(F.fftn(x, axes=(0, 0)), oracle.transform("fftn", x, axes=(0, 0)))
    with pytest.raises(ValueError, match="unique"):
        F.hfftn(x, axes=(0, 0))


@pytest.mark.parametrize("name", ["fftn", "dctn"])
def test_no_axes_return_the_argument(name: str) -> None:
    x = random((4, 3), np.float64)
    with scipy.fft.set_backend(on(ROWS, "numpy"), only=True):
        np.testing.assert_array_equal(getattr(scipy.fft, name)(x, axes=()), x)


@pytest.mark.parametrize("dtype", [np.longdouble, np.clongdouble, object])
def test_what_jax_has_no_dtype_for_is_left_to_scipy(dtype: Any) -> None:
    x = np.arange(6).astype(dtype)
    with scipy.fft.set_backend(on(ROWS, "numpy")):
        got = scipy.fft.fft(x)
    assert got.dtype == scipy.fft.fft(x).dtype
    np.testing.assert_array_equal(got, scipy.fft.fft(x))


def test_scipy_donates_jax_arrays_alone() -> None:
    kept = random((8, 4))
    given, want = jax.device_put(kept, jax.NamedSharding(ROWS, P("x"))), oracle.transform("fft", kept)
    with scipy.fft.set_backend(on(ROWS), only=True):
        got = scipy.fft.fft(given, overwrite_x=True)
        check_value(scipy.fft.fft(kept, overwrite_x=True), want)
    check_chunks(got, ROWS, P("x"))
    assert given.is_deleted()
    np.testing.assert_array_equal(kept, random((8, 4)))


def test_code_of_scipy_runs_on_the_mesh() -> None:
    a, b = random((40,), np.float64), random((9,), np.float64, seed=1)
    with scipy.fft.set_backend(on(ROWS, "numpy"), only=True):
        got = scipy.signal.fftconvolve(a, b)
    check_value(got, np.convolve(a, b), times=4)


# -- code that takes a module of transforms --------------------------------------------------------------------------


def power_spectrum(fft: Any, x: Any, spacing: float) -> tuple[Any, Any]:
    """What a library such as xrft does with the module that it is given."""
    n = x.shape[-1]
    half = fft.rfft(fft.ifftshift(x, axes=-1), axis=-1) * spacing
    full = fft.fftshift(fft.fftn(x, axes=[-1]), axes=[-1])
    back = fft.irfft(half / spacing, n=n)
    assert error(fft.fftshift(back, axes=-1), np.asarray(x)) < 1e-12
    assert fft.rfftfreq(n, spacing).shape == half.shape[-1:]
    return fft.fftshift(fft.fftfreq(n, spacing)), abs(full) ** 2


@pytest.mark.parametrize("output", ["jax", "numpy"])
@pytest.mark.parametrize("n", [16, 15])
def test_a_function_that_takes_an_fft_module(output: str, n: int) -> None:
    x = random((8, n), np.float64)
    for got, want in zip(power_spectrum(on(ROWS, output), x, 0.5), power_spectrum(np.fft, x, 0.5), strict=True):
        check_value(got, want, times=4)


def test_xrft(monkeypatch: pytest.MonkeyPatch) -> None:
    xarray, xrft = pytest.importorskip("xarray"), pytest.importorskip("xrft")
    field = xarray.DataArray(
        random((8, 12), np.float64), dims=("t", "x"), coords={"t": 0.5 * np.arange(8), "x": 2.0 * np.arange(12)}
    )
    want = [xrft.fft(field), xrft.power_spectrum(field, dim="x", real_dim="x"), xrft.ifft(xrft.fft(field))]
    monkeypatch.setattr(xrft.xrft, "_fft_module", lambda _: on(ROWS, "numpy"))
    got = [xrft.fft(field), xrft.power_spectrum(field, dim="x", real_dim="x"), xrft.ifft(xrft.fft(field))]
    for ours, theirs in zip(got, want, strict=True):
        check_value(ours.values, theirs.values, times=4)
        xarray.testing.assert_allclose(ours.coords.to_dataset(), theirs.coords.to_dataset())
