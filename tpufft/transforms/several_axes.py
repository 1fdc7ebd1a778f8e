"""Transforms along several axes: fftn and ifftn."""

from __future__ import annotations

from collections.abc import Sequence

from jax.sharding import Mesh

from tpufft.layout import SpecLike
from tpufft.steps import Precision
from tpufft.transforms import call
from tpufft.transforms.docs import documented


@documented
def fftn(
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
    r"""The discrete Fourier transform along several axes, any of them chunked.

    .. math:: X_{k_1 \dots k_d} = \sum_{j_1} \cdots \sum_{j_d} x_{j_1 \dots j_d}\,
              e^{-2\pi i (j_1 k_1 / N_1 + \dots + j_d k_d / N_d)}

    Parameters
    ----------
    x : array or ChunkedArray
        Real or complex, of any rank; integers are promoted as JAX does.
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    s : sequence of int, optional
        Points along each transformed axis: `x` is cut or padded with zeros at its end; -1 keeps a length. Default:
        the axes' lengths.
    axes : sequence of int, optional
        The axes; one that stands twice is transformed twice, as in numpy. Default: the last ``len(s)``, or all.
    {options:transposed}

    Returns
    -------
    {returns:complex}

    Notes
    -----
    One all-to-all exchange for every chunked axis brings it onto a device, one more back; with ``order="transposed"``
    the last ones are left out: slabs take two (one), pencils four (two). Each moves (P-1)/P of a chunk. Arithmetic is
    O(N log N). Nothing is ever gathered. Derivatives of both modes keep the chunking.

    References
    ----------
    .. [1] T. Lu, Y.-F. Chen, B. Hechtman, T. Wang, J. Anderson, "Large-Scale Discrete Fourier Transform on TPUs",
       IEEE Access 9 (2021), arXiv:2002.03260.

    Examples
    --------
    >>> import numpy as np, tpufft
    >>> x = np.random.default_rng(0).standard_normal((8, 8, 4))
    >>> bool(np.allclose(tpufft.fftn(x), np.fft.fftn(x), atol=1e-4))
    True
    """
    options = call.Options(norm, order, method, kernel, precision)
    return call.transform("fftn", x, mesh, s, axes, options, overwrite_x, spec, out_spec)


@documented
def ifftn(
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
    r"""The inverse discrete Fourier transform along several axes, any of them chunked.

    .. math:: x_{j_1 \dots j_d} = \frac{1}{N_1 \cdots N_d} \sum_{k_1} \cdots \sum_{k_d} X_{k_1 \dots k_d}\,
              e^{2\pi i (j_1 k_1 / N_1 + \dots + j_d k_d / N_d)}

    Parameters
    ----------
    x : array or ChunkedArray
        Frequencies; with ``order="transposed"`` chunked as :func:`fftn` leaves them.
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    s : sequence of int, optional
        As in :func:`fftn`.
    axes : sequence of int, optional
        As in :func:`fftn`.
    {options:transposed}

    Returns
    -------
    {returns:complex}

    Notes
    -----
    Costs what :func:`fftn` costs.

    Examples
    --------
    >>> import numpy as np, tpufft
    >>> x = np.random.default_rng(0).standard_normal((8, 8))
    >>> bool(np.allclose(tpufft.ifftn(tpufft.fftn(x)), x, atol=1e-5))
    True
    """
    options = call.Options(norm, order, method, kernel, precision)
    return call.transform("ifftn", x, mesh, s, axes, options, overwrite_x, spec, out_spec)
