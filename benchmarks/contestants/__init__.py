"""What is raced: one file per contestant, one worker process for each."""

from __future__ import annotations

from importlib import import_module

from benchmarks.contestants.base import Contestant

#: Name on the command line -> module of this package, in the order in which they are called.
CONTESTANTS = {
    "numpy": "numpy_fft",
    "scipy": "scipy_fft",
    "pyfftw": "pyfftw_plan",
    "mkl": "mkl",
    "jnp": "jnp_one_device",
    "xla-partitioned": "xla_partitioned",
    "jaxdecomp": "jaxdecomp_pencils",
    "tpufft": "tpufft_mesh",
}


def contestant_class(name: str) -> type[Contestant]:
    """The class behind a name; nothing it measures is imported before it is made."""
    if name not in CONTESTANTS:
        raise ValueError(f"contestant {name!r} is unknown; use some of {', '.join(CONTESTANTS)}")
    return import_module(f"benchmarks.contestants.{CONTESTANTS[name]}").Entry
