"""Double-float sums and Ozaki's products of float32 pairs, against exact integers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import AXIS_TYPES, TYPE_IDS, mesh_of
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from tpufft.kernels import emulated, phases
from tpufft.kernels.emulated import Pair, add, flops, join, product, scaled, split, two_sum
from tpufft.planning.hlo import executed_collectives

STABLE = settings(max_examples=60, deadline=None, derandomize=True, database=None)
POINT = 1074
"""Binary places of the exact integers: every float64 is a whole number of 2**-1074."""

SINGLES = st.floats(-(2.0**60), 2.0**60, width=32, allow_subnormal=False).filter(lambda v: v == 0 or abs(v) > 2.0**-60)


# Eagerly every call compiles its loop anew.
compiled = jax.jit(product)


def whole(values: object) -> np.ndarray:
    """Floats as exact integers, units of 2**-POINT."""
    array = np.asarray(values)
    out = np.empty(array.shape, object)
    for index, value in np.ndenumerate(array):
        numerator, denominator = float(value).as_integer_ratio()
        out[index] = numerator * ((1 << POINT) // denominator)
    return out


def whole_pair(pair: Pair) -> np.ndarray:
    return whole(pair[0]) + whole(pair[1])


def floats(integers: np.ndarray, point: int = POINT) -> np.ndarray:
    # Python divides integers of any length and rounds once.
    return np.array([value / (1 << point) for value in integers.ravel()], float).reshape(integers.shape)


def exact_product(a: Pair, b: Pair) -> np.ndarray:
    """In units of 2**(-2 POINT)."""
    return whole_pair(a) @ whole_pair(b)


def errors(got: Pair, exact: np.ndarray) -> np.ndarray:
    return np.abs(floats((whole_pair(got) << POINT) - exact, 2 * POINT))


def bound(a: Pair, b: Pair) -> np.ndarray:
    """What the docstring of `product` promises, with the blocks that it makes."""
    left, right = (np.abs(floats(whole_pair(pair))) for pair in (a, b))
    k = left.shape[1]
    if k == 0:
        return np.zeros((left.shape[0], right.shape[1]))
    count, length = emulated._blocks(k)
    parts = [slice(start, min(start + length, k)) for start in range(0, k, length)]
    maxima = ((part.stop - part.start) * np.outer(left[:, part].max(1), right[part].max(0)) for part in parts)
    return 1.5 * count * 2.0**-47 * sum(maxima, np.zeros((left.shape[0], right.shape[1])))


def check(a: Pair, b: Pair, function: Callable[[Pair, Pair], Pair] = compiled) -> Pair:
    got = function(a, b)
    assert all(part.dtype == np.float32 for part in got)
    assert np.array_equal(np.float32(got[0]) + np.float32(got[1]), got[0]), "hi is the number rounded"
    assert (errors(got, exact_product(a, b)) <= bound(a, b)).all()
    return got


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def same(x: Pair, y: Pair) -> bool:
    return all(np.array_equal(np.asarray(p), np.asarray(q), equal_nan=True) for p, q in zip(x, y, strict=True))


# -- pairs ---------------------------------------------------------------------------------------------------------


@STABLE
@given(x=SINGLES, y=SINGLES)
def test_two_sum_loses_nothing(x, y):
    for function in (two_sum, jax.jit(two_sum)):
        total, error = function(jnp.float32(x), jnp.float32(y))
        assert float(total) == float(np.float32(x) + np.float32(y))
        assert whole(total) + whole(error) == whole(x) + whole(y)


@pytest.mark.parametrize("function", [split, jax.jit(split)], ids=["eager", "jit"])
@pytest.mark.parametrize("kind", [np.asarray, jnp.asarray], ids=["numpy", "jax"])
def test_split_keeps_48_bits(function, kind):
    x = normal(2000) * 2.0 ** np.random.default_rng(1).integers(-70, 100, 2000)
    high, low = function(kind(x))
    assert high.dtype == low.dtype == np.float32
    assert np.array_equal(high, x.astype(np.float32))
    assert np.count_nonzero(low) > 1900
    assert (np.abs(np.float64(high) + np.float64(low) - x) <= 2.0**-48 * np.abs(x)).all()


def test_split_of_what_fits_is_exact():
    x = np.random.default_rng(0).integers(-(2**47), 2**47, 500).astype(np.float64)
    assert np.array_equal(join(split(x), np.float64), x)
    single = normal(50).astype(np.float32)
    high, low = split(single)
    assert np.array_equal(high, single)
    assert not low.any()


@pytest.mark.parametrize("function", [split, jax.jit(split)], ids=["eager", "jit"])
@pytest.mark.parametrize("kind", [np.asarray, jnp.asarray], ids=["numpy", "jax"])
def test_split_beyond_the_range(function, kind):
    high, low = function(kind(np.array([np.inf, -np.inf, np.nan, 1e300, -1e39, 1e-300, 0.0])))
    assert np.array_equal(high, np.float32([np.inf, -np.inf, np.nan, np.inf, -np.inf, 0, 0]), equal_nan=True)
    assert not np.asarray(low).any()


def test_join():
    pair = (jnp.float32([1.0, np.inf]), jnp.float32([2.0**-40, 0]))
    assert np.array_equal(join(pair, np.float64), [1 + 2.0**-40, np.inf])
    assert join(pair, "float32").dtype == np.float32
    assert np.array_equal(join((jnp.float32(1), jnp.float32(0.75)), np.float32), np.float32(1.75))


@STABLE
@given(x=st.tuples(SINGLES, SINGLES), y=st.tuples(SINGLES, SINGLES), down=st.integers(0, 20))
def test_add(x, y, down):
    """Pairs of any kind, made canonical; the second nearly cancels the first in some."""
    x = two_sum(jnp.float32(x[0]), jnp.float32(x[1]) * 2.0**-24)
    y = two_sum(jnp.float32(y[0]), jnp.float32(y[1]) * 2.0**-24)
    near = (-x[0], -x[1] * (1 + 2.0**-20))
    for other in (y, scaled(y, 2.0**-down), two_sum(*near)):
        want = whole_pair(x) + whole_pair(other)
        lost = abs(whole_pair(jax.jit(add)(x, other)) - want) * 2**48
        assert 1000 * lost <= 3001 * abs(want)


def test_add_beyond_the_range():
    x = np.float32([3e38, np.inf, np.inf, np.nan, -3e38, 3.4028235e38])
    y = np.float32([3e38, 1, -np.inf, 1, -3e38, 1e25])
    high, low = add(split(x), split(y))
    with np.errstate(all="ignore"):
        assert np.array_equal(high, x + y, equal_nan=True)
    assert not low[:5].any()


def test_scaled_is_exact():
    x = split(normal(100))
    assert (whole_pair(scaled(x, 2.0**-30)) << 30 == whole_pair(x)).all()
    high, low = scaled((jnp.float32([1e38, -1e38]), jnp.float32([1e30, 1e30])), 2.0**20)
    assert np.array_equal(high, [np.inf, -np.inf])
    assert not low.any()


# -- slices --------------------------------------------------------------------------------------------------------


def awkward(m: int, k: int) -> dict[str, np.ndarray]:
    """Matrices whose digits carry, tie or fill every slice."""
    generator = np.random.default_rng(7)
    ones = np.full((m, k), 1 - 2.0**-48)
    ties = 2.0**-1 + sum(2.0 ** (-8 * s) for s in range(1, 6)) * np.ones((m, k))
    return {
        "all ones": ones * generator.choice([-1, 1], (m, k)),
        "ties": ties * generator.choice([-1, 1], (m, k)),
        "powers": 2.0 ** generator.integers(-60, 60, (m, k)),
        "just above": np.nextafter(2.0 ** generator.integers(-3, 3, (m, k)), np.inf),
        "just below": np.nextafter(2.0 ** generator.integers(-3, 3, (m, k)), 0),
        "one large": np.where(np.arange(k) == k // 2, 2.0**40, 1) * normal(m, k),
        "mostly zero": np.where(generator.random((m, k)) < 0.05, normal(m, k), 0),
        "zero": np.zeros((m, k)),
    }


@pytest.mark.parametrize("name", awkward(1, 1))
@pytest.mark.parametrize("axis", [0, 1])
def test_slices_are_small_integers_that_add_up(name, axis):
    pair = split(awkward(40, 30)[name])
    slices, exponents = emulated._slices(pair, axis)
    assert len(slices) == emulated.SLICES
    total = np.zeros((40, 30), object)
    for number, part in enumerate(map(np.asarray, slices)):
        assert np.array_equal(part, np.round(part))
        assert np.abs(part).max() <= 128
        assert np.array_equal(part.astype(jnp.bfloat16).astype(np.float32), part)
        total += part.astype(int).astype(object) << (8 * (emulated.SLICES - 1 - number))
    # The sum of slices is in units of 2**(e - 7 - 48), the pair in units of 2**-POINT.
    units = np.vectorize(lambda e: 1 << (POINT + int(e) - 55), otypes=[object])(np.asarray(exponents))
    assert (2 * abs(whole_pair(pair) - total * units) <= units).all()


def test_sums_of_an_order_stay_below_2_to_the_24():
    longest = emulated.SLICES * emulated.BLOCK
    assert longest * 2**14 <= 2**24
    generator = np.random.default_rng(0)
    x, y = generator.integers(-128, 129, (2, 9, longest))
    x[0], y[0] = 127, -127
    assert np.array_equal(emulated._dot(jnp.float32(x), jnp.float32(y.T)), (x @ y.T).astype(np.float32))


@pytest.mark.parametrize("kind", ["finite", "special"])
def test_one_bfloat16_pass_gives_the_same_bits(monkeypatch, kind):
    """What a TPU does to float32 operands at the default precision."""
    a, b = normal(6, 300), normal(300, 5, seed=1)
    if kind == "special":
        a[1, 2], a[2, 3], b[4, 4], b[2] = np.inf, np.nan, -np.inf, 0
    want = product(split(a), split(b))

    def one_pass(x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.matmul(x.astype(jnp.bfloat16), y.astype(jnp.bfloat16), preferred_element_type=np.float32)

    monkeypatch.setattr(emulated, "_dot", one_pass)
    assert same(product(split(a), split(b)), want)


# -- products ------------------------------------------------------------------------------------------------------


def matrices(m: int, k: int, n: int) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    a, b = normal(m, k), normal(k, n, seed=1)
    yield "random", a, b
    yield "positive", abs(a), abs(b)
    yield "graded rows", a * np.logspace(-40, 40, m, base=2)[:, None], b
    yield "graded both", a * np.logspace(40, -40, m, base=2)[:, None], b * np.logspace(-40, 40, n, base=2)
    along = np.logspace(-40, 40, k, base=2)
    yield "graded along K, against each other", a * along, b / along[:, None]
    yield "graded along K, together", a * along, b * along[:, None]
    half = k // 2
    a[:, half : 2 * half] = a[:, :half]
    b[half : 2 * half] = -b[:half] * (1 + 2.0**-30)
    yield "cancelling", a, b
    yield "huge times small", normal(m, k) * 1e30, normal(k, n) * 1e-20
    for name, x in awkward(m, k).items():
        yield name, x, awkward(n, k)[name].T


FAMILIES = {name: (a, b) for name, a, b in matrices(6, 300, 5)}


@pytest.mark.parametrize("name", FAMILIES)
def test_product_is_within_its_bound(name):
    a, b = (split(x) for x in FAMILIES[name])
    check(a, b)


@pytest.mark.long
@pytest.mark.parametrize("name", ["random", "graded both", "cancelling"])
def test_fused_or_op_by_op_the_bits_are_the_same(name):
    a, b = (split(x) for x in FAMILIES[name])
    got = compiled(a, b)
    assert same(got, product(a, b))
    with jax.disable_jit():
        assert same(got, product(a, b))


@pytest.mark.parametrize("k", [1, 7, 9, 127, 128, 129, 257, 641])
def test_any_length(k):
    check(split(normal(3, k)), split(normal(k, 4, seed=1)))


def test_pairs_that_overlap_are_taken_too():
    a, b = normal(3, 40).astype(np.float32), normal(40, 3, seed=1).astype(np.float32)
    pair = (jnp.asarray(a), jnp.asarray(normal(3, 40, seed=2).astype(np.float32) * 8))
    got = compiled(pair, split(b))
    assert (errors(got, exact_product(pair, split(b))) <= 4 * bound(two_sum(*pair), split(b))).all()


@pytest.mark.parametrize("bits", [7, 12, 20])
def test_products_of_integers_are_exact(bits):
    a, b = np.random.default_rng(0).integers(-(2**bits), 2**bits + 1, (2, 20, 100))
    got = join(compiled(split(a.astype(float)), split(b.T.astype(float))), np.float64)
    assert np.array_equal(got, a @ b.T)


def test_gain_over_float32():
    a, b = normal(40, 500), normal(500, 40, seed=1)
    want = a.astype(np.longdouble) @ b.astype(np.longdouble)
    got = np.asarray(join(compiled(split(a), split(b)), np.float64))
    plain = np.asarray(jnp.matmul(a.astype(np.float32), b.astype(np.float32), precision=lax.Precision.HIGHEST))
    assert np.linalg.norm(got - want) * 1e6 <= np.linalg.norm(plain - want)
    assert np.linalg.norm(got - want) <= 2.0**-47 * np.linalg.norm(want)


def test_a_dft_by_planes():
    n = 243
    matrix, x = phases.dft_matrix(n, False), normal(n, 3) + 1j * normal(n, 3, seed=1)
    left = split(np.concatenate([np.c_[matrix.real, -matrix.imag], np.c_[matrix.imag, matrix.real]]))
    got = np.asarray(join(compiled(left, split(np.concatenate([x.real, x.imag]))), np.float64))
    want = np.fft.fft(x, axis=0)
    assert np.linalg.norm(got[:n] + 1j * got[n:] - want) <= 2e-14 * np.linalg.norm(want)


@settings(STABLE, max_examples=30)
@given(
    shape=st.sampled_from([(4, 300, 3), (1, 129, 4), (3, 17, 1), (2, 5, 0), (1, 1, 1), (3, 0, 2)]),
    row=st.integers(-38, 50),
    column=st.integers(-38, 50),
    spread=st.integers(0, 40),
    zeros=st.floats(0, 1),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_product(shape, row, column, spread, zeros, seed):
    m, k, n = shape
    generator = np.random.default_rng(seed)

    def drawn(shape: tuple[int, int], exponent: int) -> Pair:
        x = generator.standard_normal(shape) * 2.0 ** (exponent + generator.integers(-spread, spread + 1, shape) // 2)
        return split(np.where(generator.random(shape) < zeros, 0, x))

    got = check(drawn((m, k), row), drawn((k, n), column))
    assert got[0].shape == got[1].shape == (m, n)


def test_nothing_to_sum():
    for m, k, n in ((3, 0, 2), (0, 5, 2), (3, 5, 0), (0, 0, 0)):
        for part in compiled(split(np.ones((m, k))), split(np.ones((k, n)))):
            assert part.shape == (m, n)
            assert part.dtype == np.float32
            assert not part.any()


# -- what is not finite --------------------------------------------------------------------------------------------


@STABLE
@given(
    places=st.lists(
        st.tuples(
            st.booleans(), st.integers(0, 5), st.integers(0, 149), st.sampled_from([np.inf, -np.inf, np.nan, 0.0])
        ),
        max_size=8,
    )
)
def test_nan_and_inf_as_in_float64(places):
    a, b = normal(6, 150), normal(150, 6, seed=1)
    for of_a, index, k, value in places:
        if of_a:
            a[index, k] = value
        else:
            b[k, index] = value
    with np.errstate(invalid="ignore"):
        want = np.einsum("ik,kj->ij", a, b)
    got = compiled(split(a), split(b))
    joined = np.asarray(join(got, np.float64))
    assert np.array_equal(np.isnan(joined), np.isnan(want))
    assert np.array_equal(joined[np.isinf(want)], want[np.isinf(want)])
    usual = np.isfinite(want)
    assert np.abs(joined[usual] - want[usual]).max(initial=0) < 1e-11
    assert not np.asarray(got[1])[~usual].any()


def test_inf_times_zero_and_inf_minus_inf():
    inf = np.inf
    a = np.array([[inf, 1, 1], [inf, -inf, 1], [0, 0, 0], [1, 1, 1], [-inf, 2, 3]])
    b = np.array([[0, 1, 1e-30], [1, 1, 1], [1, 1, 1]])
    got = join(compiled(split(a), split(b)), np.float32)
    with np.errstate(invalid="ignore"):
        assert np.array_equal(got, np.float32(np.einsum("ik,kj->ij", a, b)), equal_nan=True)


def test_overflow_is_infinite_and_underflow_is_zero():
    a, b = split(np.array([[1e30, 1e20], [-1e30, 0], [1e-30, 1e-30]])), split(np.array([[1e30, 1e-30], [1.0, 1e-30]]))
    got = compiled(a, b)
    assert np.array_equal(np.isinf(got[0]), [[True, False], [True, False], [False, False]])
    assert np.array_equal(np.sign(got[0]), [[1, 1], [-1, -1], [1, 0]])
    assert np.isfinite(got[1]).all()
    opposite = compiled((jnp.float32([[3e38]]), jnp.float32([[-1e31]])), split(np.array([[3.0]])))
    assert np.array_equal(join(opposite, np.float64), [[np.inf]])


# -- how it is used ------------------------------------------------------------------------------------------------


def _pairs(m: int, k: int, n: int) -> tuple[Pair, Pair]:
    return split(normal(m, k)), split(normal(k, n, seed=1))


@pytest.mark.long
def test_no_float64_where_there_is_none():
    want = compiled(*_pairs(5, 300, 4))
    assert "f64" not in jax.jit(product).lower(*_pairs(5, 300, 4)).as_text(), "nor with x64 on"
    with jax.enable_x64(False):
        a, b = _pairs(5, 300, 4)  # float64 NumPy arrays: cut on the host
        assert a[1].any()
        assert same(compiled(a, b), want)
        for function, arguments in ((product, (a, b)), (add, (a, a)), (split, (a[0],)), (two_sum, a)):
            assert "f64" not in jax.jit(function).lower(*arguments).as_text()
        assert "f64" not in jax.jit(lambda pair: scaled(pair, 0.5)).lower(a).as_text()
        with pytest.raises(ValueError, match="float64 needs jax_enable_x64"):
            join(a, np.float64)
        single = compiled(split(np.float32([[1.5]])), split(jnp.ones((1, 1))))
        assert float(join(single, np.float32)[0, 0]) == 1.5


def test_products_are_one_pass_on_a_tpu_whatever_the_default():
    with jax.default_matmul_precision("highest"):
        exported = jax.export.export(jax.jit(product), platforms=["tpu"])(*_pairs(5, 300, 4))
    text = exported.mlir_module()
    assert "HIGHEST" not in text
    assert "f64" not in text
    assert text.count("stablehlo.dot_general") == emulated.SLICES + 2


def test_program_size_does_not_grow_with_k():
    lengths = {k: len(jax.jit(product).lower(*_pairs(4, k, 4)).as_text().splitlines()) for k in (256, 1280)}
    assert len(set(lengths.values())) == 1, lengths


@pytest.mark.long
def test_vmap_and_scan():
    a, b = [
        tuple(jnp.stack(parts) for parts in zip(*pairs, strict=True))
        for pairs in zip(
            *((split(normal(3, 140, seed=s)), split(normal(140, 2, seed=s + 9))) for s in range(3)), strict=True
        )
    ]
    each = [compiled((a[0][s], a[1][s]), (b[0][s], b[1][s])) for s in range(3)]
    want = tuple(jnp.stack(parts) for parts in zip(*each, strict=True))
    assert same(jax.jit(jax.vmap(product))(a, b), want)
    first = (b[0][0], b[1][0])
    assert same(tuple(part[0] for part in jax.jit(jax.vmap(product, (0, None)))(a, first)), each[0])
    _, scanned = jax.jit(lambda x, y: lax.scan(lambda c, pair: (c, product(*pair)), 0, (x, y)))(a, b)
    assert same(scanned, want)


@pytest.mark.parametrize("axis_type", AXIS_TYPES, ids=TYPE_IDS)
@pytest.mark.parametrize(
    ("left", "right", "out"),
    [(P("x"), P(), P("x")), (P(), P(None, "y"), P(None, "y")), (P("x"), P(None, "y"), P("x", "y"))],
)
def test_on_devices_under_check_vma(axis_type, left, right, out):
    mesh = mesh_of("x4y2", axis_type)
    a, b = _pairs(8, 130, 6)

    def both(x: Pair, y: Pair) -> tuple[Pair, Pair]:
        nothing = product((x[0][:, :0], x[1][:, :0]), (y[0][:0], y[1][:0]))
        return product(x, y), nothing

    placed = (jax.device_put(a, NamedSharding(mesh, left)), jax.device_put(b, NamedSharding(mesh, right)))
    program = jax.jit(jax.shard_map(both, mesh=mesh, in_specs=(left, right), out_specs=out)).lower(*placed).compile()
    got, nothing = program(*placed)
    assert same(got, compiled(a, b))
    assert not any(part.any() for part in nothing)
    assert not executed_collectives(program.as_text())


def test_flops():
    m, k, n = 40, 128, 30
    least = 2.0 * m * n * k * (emulated.SLICES * (emulated.SLICES + 1) // 2 + 1)
    assert least < flops(m, k, n) < 2 * least
    assert flops(m, 4 * k, n) == pytest.approx(4 * flops(m, k, n))
    assert flops(0, k, 0) == flops(m, 0, n) == 0
    assert math.isfinite(flops(2**20, 2**20, 2**20))
    (jitted,) = [jax.jit(product).lower(*_pairs(m, k, n)).compile().cost_analysis()]
    assert flops(m, k, n) == pytest.approx(jitted["flops"], rel=0.2)


# -- what is wrong -------------------------------------------------------------------------------------------------


def test_bad_input():
    pair = split(np.ones((2, 3)))
    for x in (np.ones(3, int), np.ones(3, complex), jnp.ones(3, jnp.bfloat16)):
        with pytest.raises(ValueError, match=r"x is .*; a pair is made of float32 or float64"):
            split(x)
    for dtype in ("int32", "float16", "complex64"):
        with pytest.raises(ValueError, match=f"dtype={dtype}: a pair joins to float32 or float64"):
            join(pair, dtype)
    with pytest.raises(ValueError, match="a's columns must be as many as b's rows"):
        product(pair, pair)
    for wrong in (jnp.ones((2, 3)), jnp.ones(3, np.float32), jnp.ones((3, 2), np.float32)):
        with pytest.raises(ValueError, match="pairs of float32 matrices of one shape"):
            product((pair[0], wrong), pair)
