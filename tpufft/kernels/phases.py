"""Roots of unity: phases reduced in integers, evaluated in float64, cast last."""

from __future__ import annotations

import numpy as np


def roots(order: int, exponents: np.ndarray, inverse: bool) -> np.ndarray:
    r"""The roots :math:`e^{\mp 2\pi i e/\text{order}}` in complex128.

    Parameters
    ----------
    order : int
        Order of the roots; any size that an int64 holds.
    exponents : ndarray of int64
        Exponents; reduced modulo `order` before they meet a float.
    inverse : bool
        The sign of the phase: minus for the forward transform.
    """
    reduced = np.remainder(exponents, order)
    # The nearer half turn: angles stay below pi, where float64 keeps the last bit of a reduced fraction.
    signed = np.where(reduced > order // 2, reduced - order, reduced)
    angles = (2.0 * np.pi) * (signed / order)
    return np.cos(angles) + (1j if inverse else -1j) * np.sin(angles)


def outer_roots(order: int, rows: np.ndarray, columns: np.ndarray, inverse: bool) -> np.ndarray:
    """The matrix of roots with exponent ``rows[i] * columns[j]``, reduced without overflow for any `order` < 2**63."""
    return roots(order, product_mod(rows[:, None], columns[None, :], order), inverse)


def product_mod(a: np.ndarray, b: np.ndarray, order: int) -> np.ndarray:
    """``a * b % order`` in int64, exact for any size."""
    a, b = np.remainder(a, order), np.remainder(b, order)
    if int(a.max(initial=0)) * int(b.max(initial=0)) < 2**63:
        return (a * b) % order
    return np.asarray((a.astype(object) * b.astype(object)) % order).astype(np.int64)


def dft_matrix(n: int, inverse: bool) -> np.ndarray:
    """The n x n DFT matrix in complex128, unnormalised."""
    index = np.arange(n, dtype=np.int64)
    return outer_roots(n, index, index, inverse)
