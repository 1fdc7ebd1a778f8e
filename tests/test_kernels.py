"""One device's arithmetic against sums in float64 and angles in exact fractions."""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import KERNELS as KERNEL_NAMES
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax

import tpufft
from tpufft.kernels import KERNELS, matmul, phases, twiddle

INSTALLED = KERNEL_NAMES[1:]
SMALL = tuple(range(1, 71))
LARGE = (128, 243, 256, 360, 509, 521, 1000, 1021, 2048)
EPSILON = {np.dtype(np.complex64): 2.0**-24, np.dtype(np.complex128): 2.0**-53}


def exact_root(order: int, exponent: int, inverse: bool = False) -> complex:
    """exp(-+2 pi i exponent / order), the angle reduced to an eighth of a turn in exact fractions."""
    turn = Fraction(exponent if inverse else -exponent, order) % 1
    quarter, rest = divmod(turn, Fraction(1, 4))
    if rest > Fraction(1, 8):
        angle = 2 * math.pi * float(Fraction(1, 4) - rest)
        root = complex(math.sin(angle), math.cos(angle))
    else:
        angle = 2 * math.pi * float(rest)
        root = complex(math.cos(angle), math.sin(angle))
    return root * (1, 1j, -1, -1j)[int(quarter)]


def slow_dft(x: np.ndarray, axis: int, inverse: bool = False) -> np.ndarray:
    """The sum that defines the transform, in complex128."""
    n = x.shape[axis]
    index = np.arange(n)
    table = np.exp((2j if inverse else -2j) * np.pi * index / n)
    matrix = table[np.outer(index, index) % n]
    return np.moveaxis(np.tensordot(matrix, x.astype(complex), axes=(1, axis)), 0, axis)


def random(shape: tuple[int, ...], dtype: type, seed: int = 0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return (generator.standard_normal(shape) + 1j * generator.standard_normal(shape)).astype(dtype)


def relative_error(got: object, wanted: np.ndarray) -> float:
    return float(np.linalg.norm(np.asarray(got) - wanted) / np.linalg.norm(wanted))


def bound(n: int, kernel: str, dtype: type) -> float:
    """Roundings: of the reference, of each stage, of each sum in a product, three transforms in a convolution."""
    reference = 6 if dtype == np.complex128 else 1
    lengths = matmul.radices(n) or 3 * matmul.radices(matmul.convolution_length(n))
    stages = math.log2(n) if kernel != "matmul" else sum(1 + 0.7 * math.sqrt(radix) for radix in lengths)
    return (reference + stages) * EPSILON[np.dtype(dtype)]


@pytest.mark.parametrize("kernel", INSTALLED)
def test_every_small_length(kernel: str) -> None:
    transform = functools.partial(KERNELS[kernel].transform, precision=None)
    singles = [random((2, n), np.complex64, n) for n in SMALL]
    doubles = [random((2, n), np.complex128, n) for n in SMALL[::3]]

    @jax.jit
    def all_of_them(singles: list[jax.Array], doubles: list[jax.Array]) -> tuple[list[jax.Array], list[jax.Array]]:
        forward = [transform(x, (1,), inverse=False, scale=1.0) for x in singles]
        return forward, [transform(x, (1,), inverse=True, scale=1 / x.shape[1]) for x in doubles]

    forward, inverse = all_of_them(singles, doubles)
    for n, x, got in zip(SMALL, singles, forward, strict=True):
        assert got.dtype == np.complex64
        assert relative_error(got, slow_dft(x, 1)) < bound(n, kernel, np.complex64), n
    for n, x, got in zip(SMALL[::3], doubles, inverse, strict=True):
        assert got.dtype == np.complex128
        assert relative_error(got, slow_dft(x, 1, True) / n) < bound(n, kernel, np.complex128), n


@pytest.mark.parametrize("n", LARGE)
@pytest.mark.parametrize("kernel", INSTALLED)
def test_large_lengths(kernel: str, n: int) -> None:
    transform = functools.partial(KERNELS[kernel].transform, precision=None)

    @jax.jit
    def both(single: jax.Array, double: jax.Array) -> tuple[jax.Array, jax.Array]:
        return (
            transform(single, (0,), inverse=True, scale=0.5),
            transform(double, (0,), inverse=False, scale=1.0),
        )

    x = random((n, 3), np.complex128, n)
    single, double = both(x.astype(np.complex64), x)
    assert relative_error(single, slow_dft(x, 0, True) / 2) < bound(n, kernel, np.complex64)
    assert relative_error(double, slow_dft(x, 0)) < bound(n, kernel, np.complex128)


@pytest.mark.parametrize("scale", [1.0, 1 / 60, 0.3, -2.0])
@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("kernel", INSTALLED)
def test_several_axes_share_one_scale(kernel: str, inverse: bool, scale: float) -> None:
    x = random((3, 4, 2, 5), np.complex128)
    transform = functools.partial(KERNELS[kernel].transform, inverse=inverse, scale=scale, precision=None)
    got = jax.jit(lambda x: transform(x, (0, 1, 3)))(x)
    wanted = functools.reduce(functools.partial(slow_dft, inverse=inverse), (0, 1, 3), x) * scale
    assert relative_error(got, wanted) < 1e-15


@pytest.mark.parametrize("kernel", INSTALLED)
def test_the_result_is_linear_and_differentiable(kernel: str) -> None:
    x = random((6,), np.complex128)
    transform = functools.partial(KERNELS[kernel].transform, axes=(0,), inverse=False, scale=1.0, precision=None)
    pull = jax.jit(lambda x: jax.vjp(transform, x)[1](x)[0])
    matrix = slow_dft(np.eye(6, dtype=complex), 0)
    np.testing.assert_allclose(pull(jnp.asarray(x)), matrix.T @ x, atol=1e-13)


# -- the nest --------------------------------------------------------------------------------------------------


def largest_prime(n: int) -> int:
    factor, rest = 2, n
    while factor * factor <= rest:
        rest, factor = (rest // factor, factor) if rest % factor == 0 else (rest, factor + 1)
    return rest


@given(st.integers(1, 20000))
@settings(max_examples=300, deadline=None)
def test_radices_multiply_to_the_length(n: int) -> None:
    stages = matmul.radices(n)
    largest = largest_prime(n)
    if not stages:
        assert largest > matmul.MAX_RADIX
        assert largest != n or n > matmul.MAX_DENSE
        assert matmul.radices(matmul.convolution_length(n))
        return
    assert math.prod(stages) == n
    assert all(radix <= matmul.MAX_RADIX or (radix <= matmul.MAX_DENSE and radix == largest) for radix in stages)


def test_radices_are_few_then_small() -> None:
    assert matmul.radices(128) == (16, 8)
    assert matmul.radices(16384) == (32, 32, 16)
    assert matmul.radices(2**18) == (64, 64, 64)
    assert matmul.radices(2**20) == (32, 32, 32, 32)
    assert matmul.radices(509) == (509,)
    assert matmul.radices(521) == ()
    assert matmul.convolution_length(521) == 2048
    assert matmul.convolution_length(2**31) >= 2**32 - 1


def test_flops_count_the_products() -> None:
    assert KERNELS["matmul"].flops(16, 2) == 8 * 16 * 16 * 2
    assert KERNELS["matmul"].flops(64, 1) == 8 * 64 * 64
    assert KERNELS["matmul"].flops(16384, 1) == (8 * (32 + 32 + 16) + 2 * 6) * 16384
    assert KERNELS["xla"].flops(1024, 1) == 5 * 1024 * 10
    assert KERNELS["matmul"].flops(521, 1) > 2 * KERNELS["matmul"].flops(2048, 1)


# -- precision ---------------------------------------------------------------------------------------------------


def _compiles_here(preset: lax.DotAlgorithmPreset) -> bool:
    x = jnp.ones((2, 2), jnp.float32)
    try:
        jax.jit(lambda x: jnp.matmul(x, x, precision=preset)).lower(x).compile()
    except (ValueError, NotImplementedError, jax.errors.JaxRuntimeError):
        return False
    return True


JAX_WORDS = ("default", "fastest", "high", "highest", "bfloat16", "bfloat16_3x", "tensorfloat32", "float32")


@pytest.mark.parametrize("word", JAX_WORDS)
def test_words_of_precision(word: str) -> None:
    x = random((3, 16), np.complex64)
    got = tpufft.fft(x, precision=word)
    assert relative_error(got, slow_dft(x, 1)) < 2e-2


@pytest.mark.parametrize("preset", list(lax.DotAlgorithmPreset), ids=lambda preset: preset.name)
def test_presets_keep_the_imaginary_part_or_raise_as_jax_does(preset: lax.DotAlgorithmPreset) -> None:
    plan = tpufft.plan("fft", (8, 80), precision=preset)
    assert [step.kernel for step in plan.steps if hasattr(step, "kernel")] == ["matmul"]  # type: ignore[attr-defined]
    assert plan == tpufft.plan("fft", (8, 80), precision=preset.name)
    x = random((8, 80), np.complex64)
    transform = functools.partial(KERNELS["matmul"].transform, axes=(1,), inverse=False, scale=1.0)
    if not _compiles_here(preset):
        with pytest.raises((ValueError, NotImplementedError, jax.errors.JaxRuntimeError)):
            jax.block_until_ready(transform(x, precision=preset))
        return
    assert relative_error(transform(x, precision=preset), slow_dft(x, 1)) < 2e-2


@pytest.mark.parametrize("level", [None, lax.Precision.HIGHEST, "float32"])
def test_highest_is_the_default(level: object) -> None:
    jaxpr = jax.make_jaxpr(lambda x: matmul.transform(x, (0,), inverse=False, scale=1.0, precision=level))  # type: ignore[arg-type]
    products = [line for line in str(jaxpr(random((80,), np.complex64))).splitlines() if "dot_general" in line]
    assert products
    assert "HIGHEST" in str(jaxpr(random((80,), np.complex64)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"precision": "float64_emulated"}, "precision='float64_emulated' is not built yet"),
        ({"precision": "exact"}, "precision='exact': one of "),
        ({"precision": "HIGHEST"}, "precision='HIGHEST': one of "),
        ({"precision": 3}, "precision=3: one of "),
        ({"precision": "highest", "kernel": "xla"}, "kernel='xla' has no choice of precision; use kernel='matmul'"),
        ({"kernel": "fftw"}, "kernel='fftw': one of 'auto', 'xla', 'matmul'"),
    ],
)
def test_refused_precisions_and_kernels(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tpufft.fft(np.ones(8), **options)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=message):
        tpufft.plan("fft", (8,), **options)


def test_the_kernel_itself_refuses_a_precision_that_it_lacks() -> None:
    with pytest.raises(ValueError, match="use kernel='matmul'"):
        KERNELS["xla"].transform(jnp.ones(4, complex), (0,), inverse=False, scale=1.0, precision="highest")


# -- roots -------------------------------------------------------------------------------------------------------

orders = st.one_of(st.integers(1, 5000), st.integers(2**31 - 5, 2**31 + 5), st.integers(2**32, 2**63 - 1))
exponents = st.one_of(st.integers(0, 5000), st.integers(-(2**63), 2**63 - 1))


@settings(max_examples=300, deadline=None)
@given(orders, st.lists(exponents, min_size=1, max_size=6), st.booleans())
def test_roots_of_any_order_and_exponent(order: int, powers: list[int], inverse: bool) -> None:
    got = phases.roots(order, np.array(powers, np.int64), inverse)
    wanted = [exact_root(order, power, inverse) for power in powers]
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1.2e-15)


@settings(max_examples=300, deadline=None)
@given(st.one_of(orders, st.just(2**63 - 1)), st.lists(exponents, min_size=1, max_size=5), exponents)
def test_products_are_reduced_exactly(order: int, rows: list[int], column: int) -> None:
    got = phases.product_mod(np.array(rows, np.int64), np.array([column], np.int64), order)
    assert got.dtype == np.int64
    assert got.tolist() == [row * column % order for row in rows]


def test_outer_roots_beyond_32_bits() -> None:
    order = 2**40 + 15
    rows, columns = np.array([0, 1, 2**31 + 7, 2**39 + 1]), np.array([3, 2**33 + 5])
    got = phases.outer_roots(order, rows, columns, inverse=False)
    wanted = [[exact_root(order, int(row) * int(column)) for column in columns] for row in rows]
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1.2e-15)


@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("n", [1, 2, 7, 12, 64])
def test_the_dft_matrix(n: int, inverse: bool) -> None:
    wanted = [[exact_root(n, j * k, inverse) for k in range(n)] for j in range(n)]
    np.testing.assert_allclose(phases.dft_matrix(n, inverse), wanted, rtol=0, atol=1.2e-15)


def test_reduced_phases_are_exact_where_float32_angles_are_not() -> None:
    """FACTS: at N = 32768 angles in float32 are wrong by 2e-2 when unreduced; here the last bit is right."""
    n = 32768
    index = np.arange(n, dtype=np.int64)
    got = phases.outer_roots(n, index[-3:], index, inverse=False)
    wanted = np.exp(-2j * np.pi * (index[-3:, None] * index % n) / n)
    assert np.abs(got - wanted).max() < 1e-15


# -- twiddle factors ---------------------------------------------------------------------------------------------


def direct(order: int, rows: range, columns: range, inverse: bool, scale: float) -> np.ndarray:
    return scale * np.array([[exact_root(order, r * c, inverse) for c in columns] for r in rows])


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize(
    ("rows", "columns", "order"),
    [(1, 1, 1), (3, 1, 3), (1, 5, 5), (4, 7, 28), (8, 16, 128), (5, 17, 1000), (3, 10, 2**40 + 1)],
)
def test_a_whole_block(rows: int, columns: int, order: int, dtype: type) -> None:
    make = functools.partial(twiddle.block, rows, columns, order, dtype=np.dtype(dtype))
    forward, inverse = jax.jit(lambda: (make(inverse=False, scale=0.25), make(inverse=True)))()
    assert forward.dtype == dtype
    tolerance = 4 * EPSILON[np.dtype(dtype)]
    np.testing.assert_allclose(forward, direct(order, range(rows), range(columns), False, 0.25), rtol=0, atol=tolerance)
    np.testing.assert_allclose(inverse, direct(order, range(rows), range(columns), True, 1.0), rtol=0, atol=tolerance)


@pytest.mark.parametrize("order", [60, 2**40 + 15])
@pytest.mark.parametrize("count", [1, 5])
@pytest.mark.parametrize("chunked", ["rows", "columns"])
def test_a_chunked_block(chunked: str, count: int, order: int) -> None:
    rows, columns = 4, 6
    dtype = np.dtype(np.complex128)

    @jax.jit
    @jax.vmap
    def of(place: jax.Array) -> jax.Array:
        where = {"row_chunk" if chunked == "rows" else "column_chunk": (count, place)}
        return twiddle.block(rows, columns, order, False, dtype, scale=2.0, **where)  # type: ignore[arg-type]

    for place, got in enumerate(of(jnp.arange(count))):
        row = range(place * rows, (place + 1) * rows) if chunked == "rows" else range(rows)
        column = range(columns) if chunked == "rows" else range(place * columns, (place + 1) * columns)
        np.testing.assert_allclose(got, direct(order, row, column, False, 2.0), rtol=0, atol=3e-15)


def test_a_block_is_chunked_one_way() -> None:
    place = (2, jnp.asarray(0))
    with pytest.raises(ValueError, match="along rows or along columns, not both"):
        twiddle.block(2, 2, 4, False, np.dtype(np.complex64), row_chunk=place, column_chunk=place)


def test_a_block_is_not_stored_in_the_program() -> None:
    """Tables of about two square roots for each row, not the whole block."""
    rows, columns = 8, 4096
    closed = jax.make_jaxpr(lambda: twiddle.block(rows, columns, rows * columns, False, np.dtype(np.complex64)))()
    stored = sum(np.size(constant) for constant in closed.consts)
    literals = str(closed).count("c64[8,4096]")
    assert stored <= rows * 2 * 64
    assert literals <= 2
