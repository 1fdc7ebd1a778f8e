"""The transforms of this package, bound to one mesh and its options."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import numpy as np
from jax.core import Tracer
from jax.sharding import Mesh, PartitionSpec
from jax.typing import ArrayLike

from tpufft import transforms
from tpufft.chunked import ChunkedArray, chunk
from tpufft.layout import SpecLike, normalize_spec
from tpufft.namespace import checks, signatures
from tpufft.planning import METHODS, check_word
from tpufft.steps import Precision

OUTPUTS = ("jax", "numpy", "chunked")
OPTIONS = ("spec", "out_spec", "method", "kernel", "precision", "overwrite_x")
_REAL = ("rfft", "irfft", "hfft", "ihfft")


def on(
    mesh: Mesh,
    output: str = "jax",
    *,
    spec: SpecLike | None = None,
    out_spec: SpecLike | None = None,
    method: str = "auto",
    kernel: str = "auto",
    precision: Precision = None,
    overwrite_x: bool = False,
) -> Namespace:
    r"""The transforms of this package on one mesh, as a namespace with numpy's names and signatures.

    .. math:: F.\mathrm{fft}(a, n, \mathit{axis}, \mathit{norm}) = \sum_j a_j\, e^{-2\pi i jk/n}

    Parameters
    ----------
    mesh : jax.sharding.Mesh
        The devices that all calls run on.
    output : {"jax", "numpy", "chunked"}, default "jax"
        What comes back: always a ``jax.Array``, chunked where its shape divides and whole on every device where not;
        a NumPy array; or what the functions of the package return, a :class:`ChunkedArray` where a chunked shape
        does not divide.
    spec : PartitionSpec, optional
        As in :func:`fft`.
    out_spec : PartitionSpec, optional
        As in :func:`fft`.
    method : {"auto", "exchange", "ring"}, default "auto"
        As in :func:`fft`.
    kernel : str, default "auto"
        As in :func:`fft`.
    precision : optional
        As in :func:`fft`.
    overwrite_x : bool, default False
        Donate every argument that is a ``jax.Array``.

    Returns
    -------
    Namespace
        Hashable; two of the same mesh and options are equal. Its functions have numpy's signatures, those that only
        scipy has have scipy's; the array API's keywords are accepted.

    Raises
    ------
    TypeError
        For a mesh that is none.
    ValueError
        For an unknown word.
    LayoutError
        For a spec that does not fit the mesh.

    Notes
    -----
    An option reaches the functions that have it. NumPy's integers are promoted as NumPy does: to double, where JAX's
    64-bit types are on.

    The namespace is a backend of ``scipy.fft`` too: ``scipy.fft.set_backend(tpufft.on(mesh))``. There it follows
    scipy where numpy differs (repeated axes are refused), and hands dtypes that JAX lacks, such as ``longdouble``,
    back to scipy. ``set_global_backend`` takes scipy's own backend out of the list;
    ``scipy.fft.register_backend("scipy")`` puts it back for them.

    Examples
    --------
    >>> import jax, numpy as np, scipy.fft, tpufft
    >>> mesh = jax.make_mesh((jax.device_count(),), ("x",))
    >>> F = tpufft.on(mesh, output="numpy")
    >>> F.fft(np.ones(4)).real.tolist()
    [4.0, 0.0, 0.0, 0.0]
    >>> with scipy.fft.set_backend(F):
    ...     scipy.fft.fft2(np.ones((2, 2))).real.tolist()
    [[4.0, 0.0], [0.0, 0.0]]
    """
    return Namespace(mesh, output, spec, out_spec, method, kernel, precision, overwrite_x)


@dataclass(frozen=True)
class Namespace:
    """The transforms on one mesh, with numpy's signatures; made by :func:`on`, which says what the fields mean."""

    mesh: Mesh
    output: str = "jax"
    spec: SpecLike | None = None
    out_spec: SpecLike | None = None
    method: str = "auto"
    kernel: str = "auto"
    precision: Precision = None
    overwrite_x: bool = False

    __ua_domain__: ClassVar[str] = "numpy.scipy.fft"

    fft = signatures.one_axis("fft")
    ifft = signatures.one_axis("ifft")
    rfft = signatures.one_axis("rfft")
    irfft = signatures.one_axis("irfft")
    hfft = signatures.one_axis("hfft")
    ihfft = signatures.one_axis("ihfft")
    fft2 = signatures.two_axes("fft2")
    ifft2 = signatures.two_axes("ifft2")
    rfft2 = signatures.two_axes("rfft2")
    irfft2 = signatures.two_axes("irfft2")
    fftn = signatures.several_axes("fftn")
    ifftn = signatures.several_axes("ifftn")
    rfftn = signatures.several_axes("rfftn")
    irfftn = signatures.several_axes("irfftn")
    hfft2 = signatures.hermitian("hfft2", (-2, -1))
    ihfft2 = signatures.hermitian("ihfft2", (-2, -1))
    hfftn = signatures.hermitian("hfftn", None)
    ihfftn = signatures.hermitian("ihfftn", None)
    dct = signatures.trigonometric("dct")
    idct = signatures.trigonometric("idct")
    dst = signatures.trigonometric("dst")
    idst = signatures.trigonometric("idst")
    dctn = signatures.trigonometric_axes("dctn")
    idctn = signatures.trigonometric_axes("idctn")
    dstn = signatures.trigonometric_axes("dstn")
    idstn = signatures.trigonometric_axes("idstn")
    fht = signatures.hankel("fht")
    ifht = signatures.hankel("ifht")
    fftshift = signatures.shift("fftshift")
    ifftshift = signatures.shift("ifftshift")
    fftfreq = signatures.frequencies("fftfreq")
    rfftfreq = signatures.frequencies("rfftfreq")
    next_fast_len = staticmethod(transforms.next_fast_len)
    prev_fast_len = staticmethod(transforms.prev_fast_len)

    def __post_init__(self) -> None:
        if not isinstance(self.mesh, Mesh):
            raise TypeError(f"mesh={self.mesh!r} is no jax.sharding.Mesh; make one with jax.make_mesh((8,), ('x',))")
        check_word("output", self.output, OUTPUTS)
        check_word("method", self.method, METHODS)
        for argument in ("spec", "out_spec"):
            given = getattr(self, argument)
            if given is not None:
                # A list would not hash, and a name that the mesh lacks is wrong for every array.
                normalize_spec(given, len(tuple(given)), self.mesh, argument=argument)
                object.__setattr__(self, argument, PartitionSpec(*given))

    @functools.cached_property
    def __ua_cache__(self) -> dict:
        """Where scipy's dispatch keeps its contexts."""
        return {}

    def __ua_function__(self, method: Callable[..., Any], args: tuple, kwargs: Mapping[str, Any]) -> Any:
        """Serve a call of ``scipy.fft``, or leave it to scipy where JAX lacks the dtype."""
        if not hasattr(transforms, method.__name__):
            return NotImplemented
        bound = inspect.signature(method).bind(*args, **kwargs)
        bound.apply_defaults()
        (_, x), *rest = bound.arguments.items()
        array = checks.as_array(x)
        return self._as_scipy(method.__name__, array, dict(rest)) if checks.jax_has(array) else NotImplemented

    def _as_numpy(self, name: str, x: ArrayLike, out: np.ndarray | None, **arguments: Any) -> Any:
        if out is not None:
            checks.check_out(out, self.output)
        result = self._fit(self._apply(name, checks.promoted(checks.as_array(x)), **arguments))
        return result if out is None else checks.filled(out, result)

    def _as_scipy(self, name: str, x: ArrayLike, arguments: dict[str, Any]) -> Any:
        array = checks.as_array(x)
        if arguments.pop("plan", None) is not None:
            raise NotImplementedError("plan=: no precomputed plan runs through scipy.fft; call a tpufft.plan itself")
        checks.check_workers(arguments.pop("workers", None))
        if "axes" in arguments:
            sizes, axes = checks.scipy_axes(array.shape, arguments["s"], arguments["axes"])
            if not axes and name.startswith(_REAL):
                raise ValueError(f"axes={axes}: {name} needs at least one axis")
            if not axes:
                return self._fit(self._apply("fftshift", array, axes=axes))  # scipy returns what it was given
            arguments |= {"s": sizes, "axes": axes}
        if "overwrite_x" in arguments:
            arguments["overwrite_x"] = bool(arguments["overwrite_x"] or self.overwrite_x)
        return self._fit(self._apply(name, checks.promoted(array), **arguments))

    def _apply(self, name: str, x: Any, **arguments: Any) -> Any:
        """Call the package's function, with those of the bound options that it takes."""
        function = getattr(transforms, name)
        options = {option: getattr(self, option) for option in _options_of(function)}
        return function(x, self.mesh, **{**options, **arguments})

    def _fit(self, result: Any) -> Any:
        """Give a result as `output` says."""
        if self.output == "numpy":
            if isinstance(result.data if isinstance(result, ChunkedArray) else result, Tracer):
                raise TypeError("output='numpy' cannot be traced; under jit or grad use tpufft.on(mesh, output='jax')")
            # A copy, since NumPy's callers write to what they get.
            whole = isinstance(result, jax.Array) and result.is_fully_addressable
            return np.array(result) if whole else chunk(result).to_numpy()
        if self.output == "jax" and isinstance(result, ChunkedArray):
            return result.to_jax(replicated=not result.layout.is_even)
        return result


@functools.lru_cache(maxsize=64)
def _options_of(function: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(option for option in OPTIONS if option in inspect.signature(function).parameters)
