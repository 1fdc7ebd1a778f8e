"""Transforms along several axes from or to real numbers: rfftn, irfftn, hfftn and ihfftn."""

from __future__ import annotations

from collections.abc import Sequence

from jax.sharding import Mesh

from tpufft.layout import SpecLike
from tpufft.steps import Precision
from tpufft.transforms import call
from tpufft.transforms.docs import documented


@documented
def rfftn(
    x: call.Argument,
    mesh: Mesh | None = None,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    overwrite_x: bool = False,
    spec: SpecLike | None = None,
    out_spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> call.Result:
    r"""The discrete Fourier transform of real numbers along several axes: half of the last one's frequencies.

    .. math:: X_{k_1 \dots k_d} = \sum_{j_1} \cdots \sum_{j_d} x_{j_1 \dots j_d}\,
              e^{-2\pi i (j_1 k_1 / N_1 + \dots + j_d k_d / N_d)}, \qquad k_d = 0, \dots, \lfloor N_d/2 \rfloor

    Parameters
    ----------
    x : array or ChunkedArray
        Real; integers are promoted as JAX does.
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    s : sequence of int, optional
        As in :func:`fftn`.
    axes : sequence of int, optional
        The axes; the last of them is the real one. Default: the last ``len(s)``, or all.
    {options:transposed}

    Returns
    -------
    {returns:half}

    Notes
    -----
    The last axis is transformed first, as :func:`rfft` does it; then the others as :func:`fftn` does, of half the
    array, so that exchanges carry half of what they do there. ``order="transposed"`` leaves the last ones out.


    Examples
    --------
    >>> import numpy as np, tpufft
    >>> x = np.random.default_rng(0).standard_normal((8, 4, 6))
    >>> bool(np.allclose(tpufft.rfftn(x), np.fft.rfftn(x), atol=1e-4))
    True
    """
    options = call.Options(norm, order, method, kernel, precision)
    return call.transform("rfftn", x, mesh, s, axes, options, overwrite_x, spec, out_spec)


@documented
def irfftn(
    x: call.Argument,
    mesh: Mesh | None = None,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    overwrite_x: bool = False,
    spec: SpecLike | None = None,
    out_spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> call.Result:
    r"""The inverse of :func:`rfftn`: real numbers from half of the last axis' frequencies.

    .. math:: x_{j_1 \dots j_d} = \frac{1}{N_1 \cdots N_d} \sum_{k_1} \cdots \sum_{k_d} X_{k_1 \dots k_d}\,
              e^{2\pi i (j_1 k_1 / N_1 + \dots + j_d k_d / N_d)}, \qquad
              X_{N_1-k_1 \dots N_d-k_d} = \overline{X_{k_1 \dots k_d}}

    Parameters
    ----------
    x : array or ChunkedArray
        Frequencies, half of them along the last of the axes.
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    s : sequence of int, optional
        Points of the result along each axis. Default: the axes' lengths, of the last axis ``2 * (m - 1)``.
    axes : sequence of int, optional
        The axes; the last of them is the real one. Default: the last ``len(s)``, or all.
    {options:transposed}

    Returns
    -------
    {returns:real}

    Notes
    -----
    Costs what :func:`rfftn` costs.


    Examples
    --------
    >>> import numpy as np, tpufft
    >>> x = np.random.default_rng(0).standard_normal((8, 4, 6))
    >>> bool(np.allclose(tpufft.irfftn(tpufft.rfftn(x)), x, atol=1e-5))
    True
    """
    options = call.Options(norm, order, method, kernel, precision)
    return call.transform("irfftn", x, mesh, s, axes, options, overwrite_x, spec, out_spec)


@documented
def hfftn(
    x: call.Argument,
    mesh: Mesh | None = None,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    overwrite_x: bool = False,
    spec: SpecLike | None = None,
    out_spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> call.Result:
    r"""The real discrete Fourier transform of a signal that is conjugated by reversal, of which half is given.

    .. math:: X_{k_1 \dots k_d} = \sum_{j_1} \cdots \sum_{j_d} x_{j_1 \dots j_d}\,
              e^{-2\pi i (j_1 k_1 / N_1 + \dots + j_d k_d / N_d)}, \qquad
              x_{N_1-j_1 \dots N_d-j_d} = \overline{x_{j_1 \dots j_d}}

    Parameters
    ----------
    x : array or ChunkedArray
        The signal, half of it along the last of the axes.
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    s : sequence of int, optional
        Points of the result along each axis. Default: the axes' lengths, of the last axis ``2 * (m - 1)``.
    axes : sequence of int, optional
        The axes; the last of them is the real one. Default: the last ``len(s)``, or all.
    {options:transposed}

    Returns
    -------
    {returns:real}

    Notes
    -----
    Costs what :func:`rfftn` costs. SciPy has it, NumPy does not; an axis may stand once.


    Examples
    --------
    >>> import numpy as np, scipy.fft, tpufft
    >>> x = np.random.default_rng(0).standard_normal((8, 4, 6))
    >>> bool(np.allclose(tpufft.hfftn(x), scipy.fft.hfftn(x), atol=1e-3))
    True
    """
    options = call.Options(norm, order, method, kernel, precision)
    return call.transform("hfftn", x, mesh, s, axes, options, overwrite_x, spec, out_spec)


@documented
def ihfftn(
    x: call.Argument,
    mesh: Mesh | None = None,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    overwrite_x: bool = False,
    spec: SpecLike | None = None,
    out_spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> call.Result:
    r"""The inverse of :func:`hfftn`: half of the signal whose transform is real.

    .. math:: x_{j_1 \dots j_d} = \frac{1}{N_1 \cdots N_d} \sum_{k_1} \cdots \sum_{k_d} X_{k_1 \dots k_d}\,
              e^{2\pi i (j_1 k_1 / N_1 + \dots + j_d k_d / N_d)}, \qquad j_d = 0, \dots, \lfloor N_d/2 \rfloor

    Parameters
    ----------
    x : array or ChunkedArray
        Real; integers are promoted as JAX does.
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    s : sequence of int, optional
        As in :func:`fftn`.
    axes : sequence of int, optional
        The axes; the last of them is the real one. Default: the last ``len(s)``, or all.
    {options:transposed}

    Returns
    -------
    {returns:half}

    Notes
    -----
    Costs what :func:`rfftn` costs. SciPy has it, NumPy does not; an axis may stand once.


    Examples
    --------
    >>> import numpy as np, tpufft
    >>> x = np.random.default_rng(0).standard_normal((8, 4, 6))
    >>> bool(np.allclose(tpufft.hfftn(tpufft.ihfftn(x)), x, atol=1e-5))
    True
    """
    options = call.Options(norm, order, method, kernel, precision)
    return call.transform("ihfftn", x, mesh, s, axes, options, overwrite_x, spec, out_spec)
