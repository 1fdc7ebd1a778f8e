"""Every transform by its public name: the operations that its arguments mean, in the meaning of numpy or scipy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tpufft.kernels import KERNELS
from tpufft.planning.operations import DFT, Flip, Multiply, Operation, Real, Roll, Samples, Trig
from tpufft.planning.problem import Problem
from tpufft.planning.words import METHODS, NORMS, check_axes, check_axis, check_precision, check_word, computing_dtype
from tpufft.steps import Ends, Hankel, Points, Power, Precision, Signs, half, real_dtype

ROOT2 = math.sqrt(2.0)


@dataclass(frozen=True)
class Kind:
    """What a name means.

    Parameters
    ----------
    family : str
        ``complex``, ``to complex`` (of real input), ``to real`` (of a half spectrum), ``cosine``, ``sine``.
    inverse : bool
        The sign of the phase, and which way `norm` scales.
    axes : str
        ``one``, ``two`` (by default the last two), ``all``.
    numpy : bool
        Whether numpy has it, whose rules then hold: an axis that stands twice is transformed twice.
    """

    family: str
    inverse: bool
    axes: str
    numpy: bool


def _catalogue() -> dict[str, Kind]:
    kinds = {}
    families = {"fft": "complex", "rfft": "to complex", "irfft": "to real", "hfft": "to real", "ihfft": "to complex"}
    for base, family in {**families, "ifft": "complex"}.items():
        for suffix, axes in (("", "one"), ("2", "two"), ("n", "all")):
            is_numpy = not (base.endswith("hfft") and suffix)
            kinds[base + suffix] = Kind(family, base.startswith("i"), axes, is_numpy)
    for base, family in (("dct", "cosine"), ("dst", "sine")):
        for suffix, axes in (("", "one"), ("n", "all")):
            kinds[base + suffix] = Kind(family, False, axes, False)
            kinds["i" + base + suffix] = Kind(family, True, axes, False)
    return kinds


KINDS = _catalogue()
SHIFTS = ("fftshift", "ifftshift")
HANKELS = ("fht", "ifht")
TRANSFORMS = (*KINDS, *HANKELS, *SHIFTS)


def transform_problem(
    name: str,
    shape: tuple[int, ...],
    dtype: np.dtype,
    *,
    sizes: Sequence[int | None] | None,
    axes: Sequence[int] | None,
    norm: str | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
    type: int | None = None,
    orthogonalize: bool | None = None,
) -> Problem:
    """A transform over `axes`, with numpy's rules for sizes, axes, repeats and norms where numpy has it, else scipy's.

    Parameters
    ----------
    name : str
        One of :data:`KINDS`.
    shape, dtype
        Of the input; the dtype may be any that JAX promotes.
    sizes : sequence of int, optional
        Length of each transformed axis; None or -1: as it is.
    axes : sequence of int, optional
        None: the last ``len(sizes)`` axes, or all of them.
    norm, order, method, kernel, precision
        As in :class:`Problem`.
    type, orthogonalize
        Of cosine and sine transforms, as ``scipy.fft`` has them.

    Raises
    ------
    numpy.exceptions.AxisError
        For an axis that the array does not have.
    ValueError
        For too few points, sizes and axes of different length, or an unknown word.
    TypeError
        For complex input to a transform of real data.
    """
    kind = KINDS[name]
    one = kind.axes == "one"
    axes, sizes = check_axes(len(shape), sizes, axes, several=not one)
    if not kind.numpy and len(set(axes)) < len(axes):
        raise ValueError(f"axes={tuple(axes)} of {name}: an axis stands twice; all axes must be unique")
    norm = check_word("norm", "backward" if norm is None else norm, NORMS)
    complex_input = np.dtype(dtype).kind == "c"
    if kind.family == "to complex" and complex_input:
        other = {"rfft": "fft", "ihff": "ifft"}[name[:4]] + name[4 + (name[0] == "i") :]
        raise TypeError(f"x of {name} is {np.dtype(dtype)}; it must be real: give x.real, or use {other}")
    lengths = [_length(shape[axis], size, one) for axis, size in zip(axes, sizes, strict=True)]
    if kind.family == "to real" and lengths:
        lengths[-1] = 2 * (shape[axes[-1]] - 1) if sizes[-1] is None else lengths[-1]
    for axis, length in zip(axes, lengths, strict=True):
        if length < 1:
            word = "n" if one else "s"
            raise ValueError(
                f"{word}: {length} points along axis {axis} of {name}; at least 1 (Invalid number of FFT data points)"
            )
    if order == "scrambled" and name == "ifft" and lengths[0] != shape[axes[0]]:
        raise ValueError(
            f"n={lengths[0]} of ifft with order='scrambled': the {shape[axes[0]]} frequencies stand in the order of "
            "their own number and cannot be cut or padded; leave n out, or use order='natural'"
        )
    computing = computing_dtype(dtype)
    if kind.family == "to complex" or (kind.family in ("cosine", "sine") and not complex_input):
        computing = real_dtype(computing)
    pairs = list(zip(axes, lengths, strict=True))
    if kind.family in ("cosine", "sine"):
        operations = [
            op for pair in reversed(pairs) for op in _trigonometric(name, kind, *pair, norm, type, orthogonalize)
        ]
    else:
        operations = _fourier(kind, pairs, norm)
    return Problem(
        name,
        tuple(shape),
        computing,
        tuple(operations),
        norm,
        check_word("order", order, ("natural", "scrambled") if one else ("natural", "transposed"), f" of {name}"),
        check_word("method", method, METHODS),
        check_word("kernel", kernel, ("auto", *KERNELS)),
        check_precision(precision, kernel),
    )


def hankel_problem(
    name: str,
    shape: tuple[int, ...],
    dtype: np.dtype,
    *,
    dln: float,
    mu: float,
    offset: float,
    bias: float,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> Problem:
    """``fht`` or ``ifht`` of the last axis: a real DFT, factors, the real DFT back, and the axis backwards."""
    if np.dtype(dtype).kind == "c":
        raise TypeError(f"x of {name} is {np.dtype(dtype)}; it must be real")
    if not shape:
        raise np.exceptions.AxisError(-1, 0)
    axis, n = len(shape) - 1, shape[-1]
    if n < 1:
        raise ValueError(f"x of {name} has {n} points along its last axis; at least 1")
    values = {"dln": dln, "mu": mu, "offset": offset, "bias": bias}
    for word, value in values.items():
        if not isinstance(value, int | float | np.number) or not math.isfinite(value):
            raise ValueError(f"{word}={value!r} of {name}: a finite number")
    if dln == 0:
        raise ValueError(f"dln={dln} of {name}: the logarithmic spacing cannot be zero")
    inverse = name == "ifht"
    factors = Hankel(n, float(dln), float(mu), float(offset), float(bias), inverse)
    rate, centre = float(bias * dln), (n - 1) / 2
    shift = math.exp(float(bias * offset))
    # fht takes the power law out before and after; ifht puts it back in.
    before, after = (
        (Power(rate, centre, shift), Power(rate, centre))
        if inverse
        else (Power(-rate, centre), Power(-rate, centre, 1 / shift))
    )
    operations: list[Operation] = [
        Real(axis, n, False, 1.0, to_real=False, weighted=False),
        Multiply(axis, half(n), factors),
        Real(axis, n, True, 1.0 / n, to_real=True, weighted=True),
        Flip(axis, n),
    ]
    if bias != 0:
        operations = [Multiply(axis, n, before), *operations, Multiply(axis, n, after)]
    return Problem(
        name,
        tuple(shape),
        real_dtype(computing_dtype(dtype)),
        tuple(operations),
        order=check_word("order", order, ("natural", "scrambled"), f" of {name}"),
        method=check_word("method", method, METHODS),
        kernel=check_word("kernel", kernel, ("auto", *KERNELS)),
        precision=check_precision(precision, kernel),
    )


def shift_problem(name: str, shape: tuple[int, ...], dtype: np.dtype, axes: int | Sequence[int] | None) -> Problem:
    """``fftshift`` or ``ifftshift`` of `axes` (None: all)."""
    chosen: Sequence[int]
    if axes is None:
        chosen = range(len(shape))
    elif isinstance(axes, int | np.integer):
        chosen = (int(axes),)
    elif isinstance(axes, Sequence | np.ndarray):
        chosen = axes
    else:
        raise TypeError(f"axes={axes!r}: an integer, a sequence of integers, or None for all axes")
    rolls = []
    for axis in (check_axis(one, len(shape)) for one in chosen):
        middle = shape[axis] // 2 if name == "fftshift" else -(shape[axis] // 2) % max(shape[axis], 1)
        rolls.append(Roll(axis, shape[axis], middle))
    return Problem(name, tuple(shape), np.dtype(dtype), tuple(rolls))


def samples_problem(
    shape: tuple[int, ...],
    dtype: np.dtype,
    axis: int,
    order: int,
    rows: Points,
    columns: Points,
    *,
    inverse: bool,
    scale: float,
    precision: Precision = None,
) -> Problem:
    """A matrix of phases between any points times an axis, by the ring where it is chunked; `dtype` is complex."""
    operation = Samples(axis, columns.count, order, rows, columns, inverse, scale)
    precision = check_precision(precision, "matmul")
    return Problem("dft_matrix", shape, dtype, (operation,), method="ring", precision=precision)


def _length(present: int, size: int | None, one: bool) -> int:
    keeps = size is None or (size == -1 and not one)
    return present if keeps else int(size)  # type: ignore[arg-type]


def _fourier(kind: Kind, pairs: list[tuple[int, int]], norm: str) -> list[Operation]:
    """DFTs from the last axis to the first; of real data the last axis is the real one, first or last of all."""

    def dft(axis: int, length: int) -> Operation:
        return DFT(axis, length, kind.inverse, _scale(norm, length, kind.inverse))

    if kind.family == "complex" or not pairs:
        return [dft(*pair) for pair in reversed(pairs)]
    *others, (axis, length) = pairs
    to_real = kind.family == "to real"
    scale = _scale(norm, length, kind.inverse)
    last = Real(axis, length, kind.inverse, scale, to_real=to_real, weighted=to_real)
    if to_real:
        return [*(dft(*pair) for pair in others), last]
    return [last, *(dft(*pair) for pair in reversed(others))]


def _trigonometric(
    name: str, kind: Kind, axis: int, n: int, norm: str, type: int | None, orthogonalize: bool | None
) -> list[Operation]:
    """Scipy's transforms by bare matrices: weights of the first and last elements, signs, and an axis backwards."""
    number = 2 if type is None else type
    if number not in (1, 2, 3, 4) or isinstance(number, bool):
        raise ValueError(f"type={type!r} of {name}: one of 1, 2, 3, 4")
    cosine = kind.family == "cosine"
    if cosine and number == 1 and n < 2:
        raise ValueError(f"{name} of type 1 has {n} points along axis {axis}; at least 2")
    root = ROOT2 if (norm == "ortho" if orthogonalize is None else orthogonalize) else 1.0
    number = {2: 3, 3: 2}.get(number, number) if kind.inverse else number
    period = 2 * (n + (0 if number != 1 else -1 if cosine else 1))
    scale = 2.0 * _scale(norm, period, kind.inverse)

    def trig(which: str) -> Operation:
        return Trig(axis, n, which, scale)

    def ends(first: float = 1.0, last: float = 1.0) -> list[Operation]:
        return [Multiply(axis, n, Ends(first, 1.0, last))] if (first, last) != (1.0, 1.0) else []

    signs, flip = Multiply(axis, n, Signs()), Flip(axis, n)
    ways: dict[tuple[bool, int], Callable[[], list[Operation]]] = {
        (True, 1): lambda: [*ends(root / 2, root / 2), trig("C1"), *ends(1 / root, 1 / root)],
        (True, 2): lambda: [trig("C2"), *ends(1 / root)],
        (True, 3): lambda: [*ends(root / 2), trig("C3")],
        (True, 4): lambda: [trig("C4")],
        (False, 1): lambda: [trig("S1")],
        (False, 2): lambda: [signs, trig("C2"), *ends(1 / root), flip],
        (False, 3): lambda: [flip, *ends(root / 2), trig("C3"), signs],
        (False, 4): lambda: [signs, trig("C4"), flip],
    }
    return ways[cosine, number]()


def _scale(norm: str, length: int, inverse: bool) -> float:
    if norm == "ortho":
        return 1.0 / math.sqrt(length)
    return 1.0 / length if (norm == "backward") == inverse else 1.0
