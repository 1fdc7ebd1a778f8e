"""Operands, chunkings and checks that the tests of products share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from helpers import AUTO, EXPLICIT, check_value, mesh_of, poisoned
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P

from tpufft import ChunkedArray, chunk

SPECS = {
    "rows": P("x"),
    "columns": P(None, "x"),
    "whole": P(),
    "blocks": P("x", "y"),
    "turned blocks": P("y", "x"),
    "rows over both": P(("x", "y")),
    "columns over both": P(None, ("y", "x")),
    "rows over the other": P("y"),
}
ON_A_LINE = ("rows", "columns", "whole")
SHAPES = {"even": (16, 8, 24), "uneven": (11, 13, 5), "tiny": (3, 2, 1)}


@dataclass(frozen=True)
class Pairing:
    """Two chunked matrices on a mesh."""

    mesh: str
    left: str
    right: str
    shape: tuple[int, int, int] = SHAPES["uneven"]
    axis_type: AxisType = AUTO

    def operands(self, dtype: Any = np.float64, other: Any = None) -> tuple[ChunkedArray, ChunkedArray]:
        """NaN in the padding."""
        m, k, n = self.shape
        return self.put(numbers((m, k), dtype, 1), self.left), self.put(numbers((k, n), other or dtype, 2), self.right)

    def put(self, x: np.ndarray, how: str) -> ChunkedArray:
        c = chunk(x, mesh_of(self.mesh, self.axis_type), SPECS[how])
        return poisoned(c) if c.dtype.kind in "fc" else c

    def __str__(self) -> str:
        kind = "-explicit" if self.axis_type == EXPLICIT else ""
        return f"{self.mesh}-{self.left} @ {self.right}-{'x'.join(map(str, self.shape))}{kind}".replace(" ", "_")


def pairings() -> list[Pairing]:
    """All pairings of chunkings on a line and on a grid, even and uneven shapes in turn."""
    found = []
    for mesh, names in (("x8", ON_A_LINE), ("x4y2", tuple(SPECS))):
        for left in names:
            for right in names:
                shape = list(SHAPES.values())[len(found) % 3]
                found.append(Pairing(mesh, left, right, shape, (AUTO, EXPLICIT)[len(found) % 2]))
    return found


def numbers(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> np.ndarray:
    """Random numbers of any dtype: small integers, halves as they are, both parts of complex ones."""
    generator = np.random.default_rng(seed)
    dtype = jnp.dtype(dtype)
    if dtype.kind == "b":
        return generator.random(shape) < 0.3
    if dtype.kind in "iu":
        return generator.integers(0 if dtype.kind == "u" else -9, 10, shape).astype(dtype)
    x = generator.standard_normal(shape)
    return (x + 1j * generator.standard_normal(shape) if dtype.kind == "c" else x).astype(dtype)


def exact(x: Any) -> np.ndarray:
    """An operand in double precision."""
    array = np.asarray(x)
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def check_product(got: Any, a: Any, b: Any, *, times: float = 1.0) -> None:
    """Value against numpy's product in double precision; the product's tolerance grows with what is summed over."""
    want = exact(a) @ exact(b)
    scale = np.linalg.norm(exact(a)) * np.linalg.norm(exact(b)) / max(np.linalg.norm(want), 1e-300)
    check_value(np.asarray(got), want, times=times * max(1.0, scale))
