"""Entries of diagonal tables on the device, against whole numbers and long doubles; no long table in a program."""

from __future__ import annotations

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.fft
from helpers import pairs, sample_id
from numpy_steps import entries
from scipy.fft._fftlog_backend import fhtcoeff

from tpufft.kernels import tables
from tpufft.steps import Chirp, Ends, Hankel, Phase, Power, Signs, Table

DTYPES = (np.float32, np.float64)
# Elements, of each chunk, and chunks: stored whole, and made of factors.
STORED = {
    "even": (16, 2, 8),
    "short end": (13, 2, 8),
    "empty chunks": (5, 1, 8),
    "one": (1, 1, 8),
    "whole": (7, 7, 1),
    "many": (799, 2, 400),
}
FACTORED = {
    "even": (40000, 5000, 8),
    "short end": (39989, 5000, 8),
    "odd chunks": (24001, 3001, 8),
    "empty chunks": (13001, 3001, 8),
    "whole": (9001, 9001, 1),
    "more than 64": (100 * 97 - 5, 97, 100),
    "short and many": (9001, 3, 3001),
    "one, padded": (1, 2000, 8),
    "squares beyond int64": (5000 * 2**20 - 3, 5000, 2**20),
}
SHAPES = STORED | {f"factored {name}": shape for name, shape in FACTORED.items()}
ORDERS = (7, 2**31 - 1, 2**31, 2**31 + 11, 2**40, 2**40 + 15, 2**62 - 57)
REAL: dict[str, Table] = {
    "ends": Ends(0.5, 2.0, 3.0),
    "both ends": Ends(last=0.25),
    "signs": Signs(),
}


def own(table: Table, size: int, chunk: int, count: int, position: int, dtype: Any) -> tuple[np.ndarray, range]:
    """One chunk's entries that are not padding, and their indices."""
    got = np.asarray(tables.values(table, size, chunk, count, jnp.asarray(position), np.dtype(dtype)))
    assert got.shape == (chunk,)
    assert got.dtype == (np.result_type(dtype, np.complex64) if table.is_complex else dtype)
    index = range(min(position * chunk, size), min((position + 1) * chunk, size))
    return got[: len(index)], index


def positions(size: int, chunk: int, count: int) -> list[int]:
    """The first chunk, one between, and the last that holds anything."""
    last = (size - 1) // chunk
    return sorted({0, last // 2, last} | ({count - 1} if count > 1 else set()))


def worst(table: Table, size: int, chunk: int, count: int, dtype: Any) -> float:
    """The largest relative error of any entry, in units in the last place."""
    largest = 0.0
    for position in positions(size, chunk, count):
        got, index = own(table, size, chunk, count, position, dtype)
        want = entries(table, index, size)
        wide = np.clongdouble if table.is_complex else np.longdouble
        difference = np.abs(got.astype(wide) - want) / np.abs(want)
        largest = max(largest, float(difference.max(initial=0)) / float(np.finfo(dtype).eps))
    return largest


# -- real factors -----------------------------------------------------------------------------------------------------


@pytest.mark.each_value(2)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_ends_and_signs_exactly(name: str, shape: tuple[int, int, int], dtype: Any) -> None:
    for position in positions(*shape):
        got, index = own(REAL[name], *shape, position, dtype)
        np.testing.assert_array_equal(got, entries(REAL[name], index, shape[0]).astype(dtype))


@pytest.mark.each_value(2)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("reach", [0.5, 4.0, 60.0])
def test_powers_up_to_where_single_precision_ends(reach: float, shape: tuple[int, int, int], dtype: Any) -> None:
    # The middle is one; the first and the last are exp(-+ reach), and every one of them is a finite number.
    size = shape[0]
    for sign in (1, -1):
        table = Power(sign * 2 * reach / size, (size - 1) / 2, scale=0.75)
        # The exponent is right to its own last place, and that is an error of as many units as it is large.
        assert worst(table, *shape, dtype) <= 8 + (2 * reach if dtype == np.float64 else 0)


# -- phases -----------------------------------------------------------------------------------------------------------


@pytest.mark.each_value(2)
@pytest.mark.parametrize(
    "row",
    pairs(
        shape=tuple(SHAPES),
        order=ORDERS,
        rate=(1, 2, -1, "half", "last"),
        offset=(0, 1, -3, "last"),
        inverse=(False, True),
        scale=(1.0, -0.375),
        dtype=DTYPES,
    ),
    ids=sample_id,
)
def test_linear_phases(row: dict) -> None:
    order = row["order"]
    rate = {"half": order // 2, "last": order - 1}.get(row["rate"], row["rate"])
    offset = {"last": order - 1}.get(row["offset"], row["offset"])
    shape = SHAPES[row["shape"]]
    # Float64 angles are right to their own last place, and they reach pi.
    units = 2 if row["dtype"] == np.float32 else 6
    assert worst(Phase(order, rate, offset, row["inverse"], row["scale"]), *shape, row["dtype"]) <= units


@pytest.mark.each_value(2)
@pytest.mark.parametrize(
    "row",
    pairs(
        shape=tuple(SHAPES),
        order=(*ORDERS, "size", "twice"),
        inverse=(False, True),
        scale=(1.0, 2.5),
        dtype=DTYPES,
    ),
    ids=sample_id,
)
def test_chirps(row: dict) -> None:
    shape = SHAPES[row["shape"]]
    named = {"size": shape[0], "twice": 2 * shape[0]}
    order = named[row["order"]] if row["order"] in named else row["order"]
    units = 4 if row["dtype"] == np.float32 else 10
    assert worst(Chirp(order, row["inverse"], row["scale"]), *shape, row["dtype"]) <= units


# -- the Hankel transform ---------------------------------------------------------------------------------------------


def scipys(table: Hankel) -> np.ndarray:
    """What scipy's fht multiplies its half spectrum by; where zero frequency is singular, nothing of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        u = fhtcoeff(table.size, table.dln, table.mu, offset=table.offset, bias=table.bias, inverse=table.inverse)
    u = 1 / u.conj() if table.inverse else u.copy()
    u[~np.isfinite(u)] = 0
    return u.conj() if table.conjugate else u


@pytest.mark.parametrize("size", [1, 2, 3, 8, 33, 64, 1000])
@pytest.mark.parametrize(
    "parameters",
    [
        (0.1, 0.0, 0.0, 0.0),
        (0.05, 2.5, 0.3, 0.2),
        (0.3, 0.5, -1.0, -0.4),
        (0.02, 20.0, 0.0, 1.5),
        (0.7, -0.5, 2.0, 0.0),
    ],
    ids=str,
)
def test_mellin_factors_are_scipys(size: int, parameters: tuple[float, float, float, float]) -> None:
    for inverse in (False, True):
        for conjugate in (False, True):
            table = Hankel(size, *parameters, inverse=inverse, conjugate=conjugate)
            want = scipys(table)
            half = size // 2 + 1
            got = np.concatenate([own(table, half, -(-half // 3), 3, position, np.float64)[0] for position in range(3)])
            np.testing.assert_allclose(got, want, rtol=1e-12)


# mu and bias with a pole, or a zero, at zero frequency; then with both, which cancel.
SINGULAR = {
    "pole": (0.0, -1.0),
    "zero": (0.0, 1.0),
    "both": (-3.0, 0.0),
    "both, biased": (-4.0, 1.0),
    "far": (-5.0, -2.0),
}


@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("name", SINGULAR)
def test_mellin_factors_where_scipy_warns(name: str, inverse: bool) -> None:
    mu, bias = SINGULAR[name]
    table = Hankel(16, 0.2, mu, 0.1, bias, inverse)
    with np.errstate(all="ignore"):
        got = tables.entry(table, np.arange(9), 9)
    want = scipys(table)
    assert np.isfinite(got).all()
    np.testing.assert_allclose(got, want, rtol=1e-12)
    x = np.random.default_rng(0).standard_normal(16)
    transform = scipy.fft.ifht if inverse else scipy.fft.fht
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        transform(x, 0.2, mu, offset=0.1, bias=bias)
    assert tables.is_singular(table) == any("singular" in str(warning.message) for warning in caught)


# -- what a program carries -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "table",
    [
        Ends(0.5, 2.0, 3.0),
        Signs(),
        Phase(2**42, 1),
        Phase(2**43, 4, 1, inverse=True),
        Chirp(2**40),
        Chirp(2**41, inverse=True, scale=0.5),
        Power(1e-12, 2.0**39),
    ],
    ids=str,
)
def test_a_table_of_gigabytes_is_a_small_part_of_them_in_the_program(table: Table) -> None:
    count, chunk = 4096, 2**28

    def made(position: jax.Array) -> jax.Array:
        return tables.values(table, count * chunk, chunk, count, position, np.dtype(np.float32))

    program = jax.make_jaxpr(made)(jnp.asarray(count - 1, jnp.int32))
    assert program.out_avals[0].shape == (chunk,)
    # Tables of the root of the chunk's length; those of a quadratic phase are matrices of fourth roots as well.
    most = chunk // 16 if isinstance(table, Chirp) else 2**18
    assert sum(constant.size for constant in program.consts) <= most


def test_a_table_without_formula_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="no entries are known of Table"):
        tables.values(Table(), 4, 4, 1, jnp.asarray(0), np.dtype(np.float64))
