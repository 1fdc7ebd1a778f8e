"""The signatures of the namespace's functions, which are numpy's and scipy's: a maker for each shape of call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jax.typing import ArrayLike, DTypeLike

from tpufft import transforms
from tpufft.namespace.checks import as_array

if TYPE_CHECKING:
    from tpufft.namespace.bound import Namespace


def one_axis(name: str) -> Callable[..., Any]:
    """numpy's, along one axis."""

    def call(
        self: Namespace,
        a: ArrayLike,
        n: int | None = None,
        axis: int = -1,
        norm: str | None = None,
        out: np.ndarray | None = None,
    ) -> Any:
        return self._as_numpy(name, a, out, n=n, axis=axis, norm=norm)

    return _named(name, call)


def several_axes(name: str) -> Callable[..., Any]:
    """numpy's, along several axes, by default all."""

    def call(
        self: Namespace,
        a: ArrayLike,
        s: Sequence[int] | None = None,
        axes: Sequence[int] | None = None,
        norm: str | None = None,
        out: np.ndarray | None = None,
    ) -> Any:
        return self._as_numpy(name, a, out, s=s, axes=axes, norm=norm)

    return _named(name, call)


def two_axes(name: str) -> Callable[..., Any]:
    """numpy's, along two axes."""

    def call(
        self: Namespace,
        a: ArrayLike,
        s: Sequence[int] | None = None,
        axes: Sequence[int] | None = (-2, -1),
        norm: str | None = None,
        out: np.ndarray | None = None,
    ) -> Any:
        return self._as_numpy(name, a, out, s=s, axes=axes, norm=norm)

    return _named(name, call)


def hermitian(name: str, default: tuple[int, int] | None) -> Callable[..., Any]:
    """scipy's, along several axes, where numpy has none."""

    def call(
        self: Namespace,
        x: ArrayLike,
        s: int | Sequence[int] | None = None,
        axes: int | Sequence[int] | None = default,
        norm: str | None = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        *,
        plan: None = None,
    ) -> Any:
        rest = {"overwrite_x": overwrite_x, "workers": workers, "plan": plan}
        return self._as_scipy(name, x, {"s": s, "axes": axes, "norm": norm, **rest})

    return _named(name, call)


def trigonometric(name: str) -> Callable[..., Any]:
    """scipy's, of a cosine or sine transform along one axis."""

    def call(
        self: Namespace,
        x: ArrayLike,
        type: int = 2,
        n: int | None = None,
        axis: int = -1,
        norm: str | None = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        orthogonalize: bool | None = None,
    ) -> Any:
        rest = {"overwrite_x": overwrite_x, "workers": workers, "orthogonalize": orthogonalize}
        return self._as_scipy(name, x, {"type": type, "n": n, "axis": axis, "norm": norm, **rest})

    return _named(name, call)


def trigonometric_axes(name: str) -> Callable[..., Any]:
    """scipy's, of a cosine or sine transform along several axes."""

    def call(
        self: Namespace,
        x: ArrayLike,
        type: int = 2,
        s: int | Sequence[int] | None = None,
        axes: int | Sequence[int] | None = None,
        norm: str | None = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        orthogonalize: bool | None = None,
    ) -> Any:
        rest = {"overwrite_x": overwrite_x, "workers": workers, "orthogonalize": orthogonalize}
        return self._as_scipy(name, x, {"type": type, "s": s, "axes": axes, "norm": norm, **rest})

    return _named(name, call)


def hankel(name: str) -> Callable[..., Any]:
    """scipy's, of the fast Hankel transform."""

    def call(self: Namespace, a: ArrayLike, dln: float, mu: float, offset: float = 0.0, bias: float = 0.0) -> Any:
        return self._as_scipy(name, a, {"dln": dln, "mu": mu, "offset": offset, "bias": bias})

    return _named(name, call)


def shift(name: str) -> Callable[..., Any]:
    """That of a shift, numpy's and scipy's."""

    def call(self: Namespace, x: ArrayLike, axes: int | Sequence[int] | None = None) -> Any:
        return self._fit(self._apply(name, as_array(x), axes=axes))

    return _named(name, call)


def frequencies(name: str) -> Callable[..., Any]:
    """That of the frequencies, numpy's and the array API's."""

    def call(
        self: Namespace, n: int, d: float = 1.0, device: str | None = None, *, dtype: DTypeLike | None = None
    ) -> Any:
        if device is not None and (device, self.output) != ("cpu", "numpy"):
            raise ValueError(f"device={device!r}: the mesh says where the result lives; leave device out")
        result = getattr(transforms, name)(n, d, mesh=self.mesh)
        return self._fit(result if dtype is None else result.astype(dtype))

    return _named(name, call)


def _named(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    """A method by the name of the function that it calls, with that function's first words."""
    summary = (inspect.getdoc(getattr(transforms, name)) or "").partition("\n")[0]
    call.__name__, call.__qualname__ = name, f"Namespace.{name}"
    call.__doc__ = f"{summary}\n\nOn the namespace's mesh; see :func:`tpufft.{name}`."
    return call
