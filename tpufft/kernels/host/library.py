"""An installed library with FFTW's interface: where it is, and the functions that the handler calls."""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import functools
import glob
import importlib.metadata
import importlib.util
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FUNCTIONS = (
    "plan_guru64_dft",
    "plan_guru64_dft_r2c",
    "plan_guru64_dft_c2r",
    "execute_dft",
    "execute_dft_r2c",
    "execute_dft_c2r",
    "destroy_plan",
)
"""Of the interface, without the prefix of a precision."""

PREFIXES = ("fftwf_", "fftw_")
"""Of single and of double precision."""


class UnavailableError(Exception):
    """No library to be had; the text says which were looked for and why none serves."""


@dataclass(frozen=True)
class Library:
    """A library that is loaded.

    Parameters
    ----------
    name : str
        ``"MKL"`` or ``"FFTW"``.
    version : str
        As it tells it itself.
    where : str
        Its file.
    addresses : dict of str to int
        Of every function of :data:`FUNCTIONS` with every prefix.
    threads : dict of str to int
        Addresses of ``plan_with_nthreads`` by prefix; empty where the library has none.
    """

    name: str
    version: str
    where: str
    addresses: dict[str, int]
    threads: dict[str, int]


@functools.cache
def library() -> Library:
    """The library that serves this process: MKL, else FFTW.

    Raises
    ------
    UnavailableError
        Neither can be had.
    """
    if not sys.platform.startswith(("linux", "darwin")):
        raise UnavailableError(f"kernel 'host' is for Linux and macOS, not {sys.platform}")
    reasons = []
    for finder in (_mkl, _fftw):
        for name, paths in finder():
            try:
                return _loaded(name, paths)
            except (OSError, AttributeError) as error:
                reasons.append(f"{paths[0]}: {error}")
    if reasons:
        raise UnavailableError("no FFT library can be used: " + "; ".join(reasons))
    raise UnavailableError("no FFT library is installed: neither MKL (pip install mkl) nor FFTW 3 (libfftw3, pyfftw)")


def _mkl() -> Iterator[tuple[str, tuple[str, ...]]]:
    """The one library of PyPI's or conda's package."""
    found = [path for folder in _folders() for path in sorted(folder.glob("libmkl_rt.*"))]
    yield from (("MKL", (str(path),)) for path in found)


def _folders() -> Iterator[Path]:
    try:
        files = importlib.metadata.files("mkl") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    yield from dict.fromkeys(Path(str(file.locate())).resolve().parent for file in files if "libmkl_rt" in file.name)
    yield Path(sys.prefix) / "lib"


def _fftw() -> Iterator[tuple[str, tuple[str, ...]]]:
    """The system's libraries of both precisions, else those in pyfftw's wheel; each with its threads if it has them."""
    names = ("fftw3f", "fftw3", "fftw3f_threads", "fftw3_threads")
    system = [ctypes.util.find_library(name) for name in names]
    if system[0] and system[1]:
        yield "FFTW", tuple(name for name in system if name)
    specification = importlib.util.find_spec("pyfftw")
    if specification and specification.submodule_search_locations:
        folder = f"{specification.submodule_search_locations[0]}.libs"
        bundled = [glob.glob(os.path.join(folder, f"lib{name}[-.]*")) for name in ("fftw3f", "fftw3", *_OPENMP)]
        if bundled[0] and bundled[1]:
            for path in glob.glob(os.path.join(folder, "libgomp*")):
                # The others find it by its name once it is loaded; where it fails, they say so.
                with contextlib.suppress(OSError):
                    ctypes.CDLL(path)
            yield "FFTW", tuple(paths[0] for paths in bundled if paths)


_OPENMP = ("fftw3f_omp", "fftw3_omp")


def _loaded(name: str, paths: tuple[str, ...]) -> Library:
    handles = [ctypes.CDLL(path, mode=ctypes.RTLD_LOCAL) for path in paths]
    wanted = [prefix + function for prefix in PREFIXES for function in FUNCTIONS]
    addresses = {symbol: _address(handles, symbol) for symbol in wanted}
    try:
        threads = {prefix: _address(handles, f"{prefix}plan_with_nthreads") for prefix in PREFIXES}
        for prefix in PREFIXES:
            # FFTW must be told once; MKL answers without doing anything.
            ctypes.CFUNCTYPE(ctypes.c_int)(_address(handles, f"{prefix}init_threads"))()
    except AttributeError:
        threads = {}
    return Library(name, _version(name, handles[0]), paths[0], addresses, threads)


def _version(name: str, handle: ctypes.CDLL) -> str:
    if name == "MKL":
        text = ctypes.create_string_buffer(256)
        handle.mkl_get_version_string(text, len(text))
        return " ".join(text.value.decode(errors="replace").split())
    return ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(handle, "fftwf_version"))).decode()


def _address(handles: list[ctypes.CDLL], symbol: str) -> int:
    for handle in handles:
        function = getattr(handle, symbol, None)
        if function is not None:
            return ctypes.cast(function, ctypes.c_void_p).value or 0
    raise AttributeError(f"has no {symbol}")
