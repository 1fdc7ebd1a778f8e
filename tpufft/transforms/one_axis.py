"""Transforms along one axis: fft and ifft."""

from __future__ import annotations

from jax.sharding import Mesh

from tpufft.layout import SpecLike
from tpufft.steps import Precision
from tpufft.transforms import call
from tpufft.transforms.docs import documented


@documented
def fft(
    x: call.Argument,
    mesh: Mesh | None = None,
    *,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    overwrite_x: bool = False,
    spec: SpecLike | None = None,
    out_spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> call.Result:
    r"""The discrete Fourier transform along one axis, chunked or not.

    .. math:: X_k = \sum_{j=0}^{N-1} x_j\, e^{-2\pi i jk/N}, \qquad k = 0, \dots, N-1

    Parameters
    ----------
    x : array or ChunkedArray
        Real or complex, of any rank; integers are promoted as JAX does.
    mesh : jax.sharding.Mesh, optional
        The devices. Default: the mesh of `x`, else the one set by ``jax.set_mesh``, else (eagerly) all devices.
    n : int, optional
        Number of points: `x` is cut or padded with zeros at its end. Default: the axis' length.
    axis : int, default -1
        The axis.
    {options:scrambled}

    Returns
    -------
    {returns:complex}

    Notes
    -----
    A chunked axis costs two exchanges where another axis can take its place, three (two scrambled) by the four-step
    plan where none can, or P-1 permutes of a chunk by the ring; arithmetic is O(N log N), by the ring O(N^2 / P) for
    each device. Lengths that do not divide, primes too, go by Bluestein's convolution: four exchanges of twice the
    length. Nothing is ever gathered. Derivatives of both modes keep the chunking.

    References
    ----------
    .. [1] T. Lu, Y.-F. Chen, B. Hechtman, T. Wang, J. Anderson, "Large-Scale Discrete Fourier Transform on TPUs",
       IEEE Access 9 (2021), arXiv:2002.03260.
    .. [2] D. H. Bailey, "FFTs in external or hierarchical memory", J. Supercomputing 4 (1990).

    Examples
    --------
    >>> import numpy as np, tpufft
    >>> x = np.exp(2j * np.pi * 3 * np.arange(64) / 64)
    >>> np.argmax(abs(np.asarray(tpufft.fft(x))))
    np.int64(3)
    """
    options = call.Options(norm, order, method, kernel, precision)
    return call.transform("fft", x, mesh, (n,), (axis,), options, overwrite_x, spec, out_spec)


@documented
def ifft(
    x: call.Argument,
    mesh: Mesh | None = None,
    *,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    overwrite_x: bool = False,
    spec: SpecLike | None = None,
    out_spec: SpecLike | None = None,
    order: str = "natural",
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
) -> call.Result:
    r"""The inverse discrete Fourier transform along one axis, chunked or not.

    .. math:: x_j = \frac{1}{N} \sum_{k=0}^{N-1} X_k\, e^{2\pi i jk/N}, \qquad j = 0, \dots, N-1

    Parameters
    ----------
    x : array or ChunkedArray
        Frequencies in numpy's order, or in scrambled order (see `order`).
    mesh : jax.sharding.Mesh, optional
        As in :func:`fft`.
    n : int, optional
        Number of points.
    axis : int, default -1
        The axis.
    {options:scrambled}

    Returns
    -------
    {returns:complex}

    Notes
    -----
    Costs what :func:`fft` costs.

    Examples
    --------
    >>> import numpy as np, tpufft
    >>> x = np.arange(16.0)
    >>> bool(np.allclose(tpufft.ifft(tpufft.fft(x)), x, atol=1e-5))
    True
    """
    options = call.Options(norm, order, method, kernel, precision)
    return call.transform("ifft", x, mesh, (n,), (axis,), options, overwrite_x, spec, out_spec)
