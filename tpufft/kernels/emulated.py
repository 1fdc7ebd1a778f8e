"""Matrix products as accurate as float64's, from float32 operations alone: for hardware that has no float64.

A number is a pair of float32, ``hi + lo``, with ``hi`` the number rounded and ``lo`` what that lost: 48 bits and a
sign between. Sums of pairs are double-float arithmetic (Knuth, Dekker); products are Ozaki's scheme: matrices are cut
into slices of a few bits whose products any matrix unit forms without rounding, a TPU's in its fastest mode included.
Differs from the paper in that slices are cut by rounding the scaled entry and not by adding and subtracting a large
constant, and that all slices of one order are one product.

References
----------
.. [1] K. Ozaki, T. Ogita, S. Oishi, S. M. Rump, "Error-free transformations of matrix multiplication by using fast
   routines of matrix multiplication and its applications", Numerical Algorithms 59, 2012.
.. [2] D. Mukunoki, K. Ozaki, T. Ogita, T. Imamura, "DGEMM using Tensor Cores, and its accurate and reproducible
   versions", ISC High Performance 2020.
.. [3] M. Joldes, J.-M. Muller, V. Popescu, "Tight and rigorous error bounds for basic building blocks of double-word
   arithmetic", ACM Transactions on Mathematical Software 44, 2017.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.typing import ArrayLike, DTypeLike

Pair = tuple[jax.Array, jax.Array]
"""``(hi, lo)``, float32 of one shape: the number is their exact sum. Where ``hi`` is not finite, ``lo`` is 0."""

BITS = 8
"""Bits of a slice with its sign: integers up to 2**7 in magnitude, which bfloat16, TF32 and float32 hold exactly."""

SLICES = 7
"""Slices of an entry, and orders of slice products that are kept.

An order d has products of weight 2**(-8 d) of (power of two above row maximum) * (the one above column maximum).
Six orders would drop up to 7 * 2**-48 of it for each term, as much as pairs can show; seven drop 8 * 2**-56 = 2**-53.
"""

BLOCK = 128
"""Longest part of the contracted axis that has one scale per row and column.

An order sums at most ``SLICES * BLOCK`` products of at most 2**14: 7 * 2**21, below the 2**24 up to which float32
counts every integer. So no sum rounds, in whatever sequence the hardware adds.
"""

TAIL = 4
"""First order that plain float32 sums suffice for: its rounding errors are below 2**-24 * 2**(-8 * 4) = 2**-56."""


def split(x: ArrayLike) -> Pair:
    """The pair nearest to a real array.

    Parameters
    ----------
    x : array_like of float32 or float64
        A NumPy array of float64 is cut on the host, so it keeps its digits where JAX has no float64.

    Returns
    -------
    tuple of Array
        ``(hi, lo)`` float32, within ``2**-48 |x|`` of x. Beyond float32's range ``hi`` is infinite and ``lo`` is 0;
        what falls below it (2**-126) is lost, so entries below 2**-102 keep fewer than 48 bits.

    Raises
    ------
    ValueError
        If x is neither float32 nor float64.
    """
    if isinstance(x, np.ndarray | np.generic) and x.dtype == np.float64:
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            high = x.astype(np.float32)
            low = np.where(np.isfinite(high), x - high.astype(np.float64), 0.0).astype(np.float32)
        return jnp.asarray(high), jnp.asarray(low)
    array = jnp.asarray(x)
    if array.dtype == np.float32:
        return array, jnp.zeros_like(array)
    if array.dtype != np.float64:
        raise ValueError(f"x is {array.dtype}; a pair is made of float32 or float64")
    # Not convert-and-back: a compiler with excess precision may cancel such a pair, and lo would be 0.
    rounded = lax.reduce_precision(array, exponent_bits=8, mantissa_bits=23)
    low = _where_finite(rounded, array - rounded)
    return rounded.astype(np.float32), low.astype(np.float32)


def join(pair: Pair, dtype: DTypeLike) -> jax.Array:
    """The array that a pair stands for.

    Parameters
    ----------
    pair : tuple of Array
        ``(hi, lo)``.
    dtype : dtype
        float64 (where JAX has it), or float32: the sum rounded.

    Returns
    -------
    Array
        ``hi + lo`` in `dtype`.

    Raises
    ------
    ValueError
        If `dtype` is another one, or float64 without ``jax_enable_x64``.
    """
    wanted = np.dtype(dtype)
    if wanted not in (np.float32, np.float64):
        raise ValueError(f"dtype={wanted}: a pair joins to float32 or float64")
    if wanted == np.float64 and not jax.config.read("jax_enable_x64"):
        raise ValueError("dtype=float64 needs jax_enable_x64; join to float32, or keep the pair")
    return pair[0].astype(wanted) + pair[1].astype(wanted)


def two_sum(x: jax.Array, y: jax.Array) -> Pair:
    """The rounded sum of two float32 arrays, and its rounding error, exactly (Knuth): ``x + y == hi + lo``.

    There is no product in it, so fused multiply-add cannot change it.
    """
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


def add(x: Pair, y: Pair) -> Pair:
    """The sum of two pairs, within ``3 * 2**-48`` of itself relatively, cancellation included.

    Where ``hi + hi`` overflows or has an infinity or NaN, that is the result.
    """
    high, high_error = two_sum(x[0], y[0])
    low, low_error = two_sum(x[1], y[1])
    first, rest = _quick_two_sum(high, high_error + low)
    total, error = _quick_two_sum(first, low_error + rest)
    return jnp.where(jnp.isfinite(total), total, high), _where_finite(total, error)


def scaled(pair: Pair, power_of_two: ArrayLike) -> Pair:
    """A pair times a power of two, exactly, within float32's range.

    Parameters
    ----------
    pair : tuple of Array
        ``(hi, lo)``.
    power_of_two : array_like
        The factor itself, not its exponent; broadcasts against the pair.

    Returns
    -------
    tuple of Array
        ``lo`` is 0 where ``hi`` overflows.
    """
    factor = jnp.asarray(power_of_two, np.float32)
    high = pair[0] * factor
    return high, _where_finite(high, pair[1] * factor)


def product(a: Pair, b: Pair) -> Pair:
    r"""The matrix product of pairs, to double-float accuracy.

    Parameters
    ----------
    a : tuple of Array
        Two float32 arrays of shape (M, K).
    b : tuple of Array
        Two float32 arrays of shape (K, N).

    Returns
    -------
    tuple of Array
        Two float32 arrays of shape (M, N).

    Raises
    ------
    ValueError
        If the arrays are not float32 matrices of shapes that fit.

    Notes
    -----
    K is cut into n blocks of at most 128. With :math:`\alpha_{ip}` the largest :math:`|a_{ik}|` in row i of
    block p, :math:`\beta_{pj}` that of column j, and :math:`K_p` the length of the block,

    .. math:: |C - AB|_{ij} \le 1.5\, n\, 2^{-47} \sum_p K_p\, \alpha_{ip} \beta_{pj}

    (2**-48 from sums of orders within a block, 2**-51 from orders left out, 3 * 2**-48 from each sum of blocks).
    Typical errors grow as the root of K instead. It is a bound by row and column maxima: scaling rows of A or
    columns of B costs nothing, entries far below the maxima of *both* may lose their relative accuracy. Arrays that
    :func:`split` has rounded add ``2**-47 (|A| |B|)``.

    Entries, results and partial sums must stay within float32's exponents. Overflow is infinite. What is below
    2**-126 counts as zero, lo parts too: results below 2**-78 or so lose low bits. NaN and infinities come out where
    a float64 product has them (``inf * 0`` and ``inf - inf`` included).

    28 products of slices and one of signs, each as cheap as a bfloat16 product on a TPU; 1792 (M + N) words
    of temporary slices. The loop over blocks makes program size independent of K.

    Examples
    --------
    >>> import numpy as np
    >>> a, b = np.full((2, 3), 1 / 3), np.ones((3, 2))
    >>> high, low = product(split(a), split(b))
    >>> bool(abs(np.float64(high) + np.float64(low) - 1).max() < 1e-14)
    True
    """
    _check(a, b)
    # An empty product: zeros that vary over a shard_map's mesh axes as the result does.
    zero = _dot(a[0][:, :0], b[0][:0])
    contracted = a[0].shape[1]
    if contracted == 0:
        return zero, zero
    count, length = _blocks(contracted)
    left, right = _padded(_finite(a), 1, count * length), _padded(_finite(b), 0, count * length)

    def step(block: jax.Array, total: Pair) -> Pair:
        start = block * length
        return add(total, _block_product(_cut(left, 1, start, length), _cut(right, 0, start, length)))

    high, low = lax.fori_loop(0, count, step, (zero, zero))
    special = _dot(_signs(a), _signs(b))
    return jnp.where(jnp.isfinite(special), high, special), _where_finite(special, low)


def flops(m: int, k: int, n: int) -> float:
    """Float32 FLOPs of the product of an (m, k) by a (k, n) pair.

    All but some tens per entry are in products at ``lax.Precision.DEFAULT``, one pass of a TPU's matrix unit, where
    float32 at the highest precision takes six.
    """
    if k == 0:
        return 0.0
    count, length = _blocks(k)
    pairs = SLICES * (SLICES + 1) // 2
    products = 2.0 * m * n * (pairs * count * length + k)
    # Per entry of an operand: scaling and cutting, 10 for each slice; per entry of a block's result: 10 for each order.
    return products + 10.0 * SLICES * (m + n) * count * length + 10.0 * SLICES * m * n * count


def _block_product(a: Pair, b: Pair) -> Pair:
    """The product along one block: (M, B) by (B, N), B at most :data:`BLOCK`, all finite."""
    rows, row_exponents = _slices(a, 1)
    columns, column_exponents = _slices(b, 0)
    left = jnp.concatenate(rows, axis=1)
    right = jnp.concatenate(columns[::-1], axis=0)
    length = a[0].shape[1]

    def order(d: int) -> jax.Array:
        # [A_0 ... A_d] times [B_d ... B_0] stacked: the sum of A_s B_(d-s), an exact integer (see BLOCK).
        return _dot(left[:, : (d + 1) * length], right[(SLICES - 1 - d) * length :])

    step = 2.0**-BITS
    high = order(SLICES - 1)
    for d in range(SLICES - 2, TAIL - 1, -1):
        high = order(d) + high * step
    low = jnp.zeros_like(high)
    for d in range(TAIL - 1, -1, -1):
        high, error = two_sum(order(d), high * step)
        low = error + low * step
    # Slices count units of 2**(1 - BITS) of the scale, in both operands.
    return _shifted(two_sum(high, low), row_exponents + column_exponents - 2 * (BITS - 1))


def _slices(pair: Pair, axis: int) -> tuple[list[jax.Array], jax.Array]:
    """The slices of a finite pair, the leading first, and the exponents of the scales along `axis`.

    ``pair = 2**(exponents - 7) * sum_s 2**(-8 s) slices[s]`` but for at most ``2**(exponents - 56)``; slices are
    integers of magnitude at most 2**7.
    """
    pair = two_sum(*pair)
    exponents = _exponent(jnp.max(jnp.abs(pair[0]), axis=axis, keepdims=True))
    high, low = _shifted(pair, BITS - 1 - exponents)
    slices = []
    for _ in range(SLICES):
        # |high| is below 128.5 here: its rounded part is at most 128, and what is left of it, exact, at most 1/2.
        whole = lax.round(high, lax.RoundingMethod.TO_NEAREST_EVEN)
        slices.append(whole)
        high, low = two_sum(high - whole, low)
        high, low = high * 2.0**BITS, low * 2.0**BITS
    return slices, exponents


def _exponent(x: jax.Array) -> jax.Array:
    """The int32 e with ``2**(e - 1) <= x < 2**e`` of float32 `x`, finite and not negative; -126 for zero."""
    return (lax.bitcast_convert_type(x, np.int32) >> 23) - 126


def _shifted(pair: Pair, exponents: jax.Array) -> Pair:
    """The pair times ``2**exponents``, in two steps: the power itself may be beyond float32's range."""
    half = exponents >> 1
    return scaled(scaled(pair, _power(half)), _power(exponents - half))


def _power(exponents: jax.Array) -> jax.Array:
    """``2**exponents`` in float32 for exponents up to 127; below -126, where nothing is left anyway, 2**-126."""
    return lax.bitcast_convert_type((jnp.maximum(exponents, -126) + 127) << 23, np.float32)


def _dot(x: jax.Array, y: jax.Array) -> jax.Array:
    # DEFAULT is one bfloat16 pass on a TPU and TF32 on a GPU. It rounds nothing here: operands are integers up to 2**7
    # (or signs, infinities and NaN, which the passes of higher precisions would turn into NaN), sums stay below 2**24.
    return jnp.matmul(x, y, precision=lax.Precision.DEFAULT, preferred_element_type=np.float32)


def _quick_two_sum(x: jax.Array, y: jax.Array) -> Pair:
    """:func:`two_sum` for ``|x| >= |y|`` (Dekker)."""
    total = x + y
    return total, y - (total - x)


def _where_finite(test: jax.Array, x: jax.Array) -> jax.Array:
    """`x` where `test` is finite, else 0 (of x's own dtype: a Python zero would be a float64 constant)."""
    return jnp.where(jnp.isfinite(test), x, jnp.zeros_like(x))


def _value(pair: Pair) -> jax.Array:
    """The pair in float32, NaN if lo is."""
    return jnp.where(jnp.isfinite(pair[0]), pair[0] + pair[1], pair[0])


def _finite(pair: Pair) -> Pair:
    """The pair with zeros for infinities and NaN."""
    value = _value(pair)
    return _where_finite(value, pair[0]), _where_finite(value, pair[1])


def _signs(pair: Pair) -> jax.Array:
    """-1, 0 or 1 for finite numbers, infinities and NaN as they are.

    A product of such matrices is infinite or NaN where IEEE's product of the numbers is, and never overflows.
    """
    value = _value(pair)
    return jnp.where(jnp.isfinite(value), jnp.sign(value), value)


def _blocks(contracted: int) -> tuple[int, int]:
    """How many blocks, and how long each is: as even as multiples of 8 allow, since the last is padded."""
    count = -(-contracted // BLOCK)
    return count, min(BLOCK, -(-contracted // (8 * count)) * 8)


def _cut(pair: Pair, axis: int, start: jax.Array, length: int) -> Pair:
    high, low = (lax.dynamic_slice_in_dim(part, start, length, axis) for part in pair)
    return high, low


def _padded(pair: Pair, axis: int, length: int) -> Pair:
    widths = [(0, 0), (0, 0)]
    widths[axis] = (0, length - pair[0].shape[axis])
    return jnp.pad(pair[0], widths), jnp.pad(pair[1], widths)


def _check(a: Pair, b: Pair) -> None:
    for name, pair in (("a", a), ("b", b)):
        if any(part.dtype != np.float32 or part.ndim != 2 for part in pair) or pair[0].shape != pair[1].shape:
            parts = ", ".join(f"{part.dtype}{part.shape}" for part in pair)
            raise ValueError(f"{name} is a pair of {parts}; a product takes pairs of float32 matrices of one shape")
    if a[0].shape[1] != b[0].shape[0]:
        raise ValueError(f"a has shape {a[0].shape} and b has {b[0].shape}; a's columns must be as many as b's rows")
