"""Arrays in chunks of every kind, NaN in their padding, and the checks that the tests of chunked arrays share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P

from tests.helpers import AUTO, AXIS_TYPES, TYPE_IDS, check_value, mesh_of, random, tolerance
from tpufft.chunked import ChunkedArray, chunk


@dataclass(frozen=True)
class Case:
    mesh: str
    spec: P
    shape: tuple[int, ...]


CASES = {
    "even line": Case("x8", P("x"), (48,)),
    "even rows": Case("x8", P("x"), (16, 6)),
    "even pencil": Case("x4y2", P("x", "y"), (8, 4, 3)),
    "uneven line": Case("x8", P("x"), (45,)),
    "short last chunk and empty ones": Case("x8", P("x"), (17,)),
    "uneven columns": Case("x8", P(None, "x"), (3, 13)),
    "uneven both": Case("x4y2", P("x", "y"), (7, 5)),
    "uneven over two": Case("x4y2", P(("y", "x"), None), (11, 3)),
    "uneven three": Case("x2y2z2", P("x", "y", "z"), (3, 4, 5)),
    "tiny": Case("x8", P("x"), (3, 2)),
    "one element": Case("x8", P("x"), (1,)),
    "mesh axis of size 1": Case("x2a1z4", P("x", "a", "z"), (3, 3, 6)),
    "replicated": Case("x8", P(), (5, 2)),
    "replicated over one": Case("x4y2", P("x"), (7, 2)),
    "mesh of one": Case("x1", P("x"), (5, 2)),
    "no axes": Case("x8", P(), ()),
    "nothing": Case("x8", P("x"), (0, 3)),
    "nothing in a whole axis": Case("x8", P("x"), (5, 0)),
}
FULL = {name: case for name, case in CASES.items() if 0 not in case.shape}
UNEVEN = {name: case for name, case in FULL.items() if "even" in name or name == "tiny"}
KINDS = pytest.mark.parametrize("axis_type", AXIS_TYPES, ids=TYPE_IDS)


def every(cases: dict[str, Case]) -> Any:
    return pytest.mark.parametrize("case", cases.values(), ids=cases.keys())


def poisoned(c: ChunkedArray) -> ChunkedArray:
    """The same array with NaN (the largest number, True) stored behind its end."""
    inside = np.zeros(c.layout.stored_shape, bool)
    inside[tuple(slice(size) for size in c.shape)] = True
    poison = {"f": math.nan, "c": complex(math.nan, math.nan), "b": True, "V": math.nan}.get(c.dtype.kind)
    poison = np.iinfo(c.dtype).max if poison is None else poison
    data = np.where(inside, np.asarray(c.data), np.asarray(poison, c.dtype))
    return ChunkedArray.from_data(jax.device_put(data, c.layout.sharding), c.layout)


def made(case: Case, dtype: Any = np.float64, axis_type: Any = AUTO, seed: int = 0) -> tuple[ChunkedArray, np.ndarray]:
    """A poisoned array and what it holds."""
    x = np.asarray(random(case.shape, dtype, seed))
    return poisoned(chunk(x, mesh_of(case.mesh, axis_type), case.spec)), x


def check(
    got: Any, want: np.ndarray, like: ChunkedArray | None = None, *, exact: bool = False, times: float = 1
) -> None:
    """Value, kind of dtype, and the chunking of `like`."""
    want = np.asarray(want)
    if like is not None:
        assert isinstance(got, ChunkedArray)
        assert got.layout.spec == like.layout.spec
        assert got.layout.padding == like.layout.padding
        assert got.mesh == like.mesh
        check_stored(got)
    assert got.shape == want.shape
    value = np.asarray(got)
    assert value.dtype == got.dtype
    assert value.dtype.kind == want.dtype.kind, f"{value.dtype} instead of {want.dtype}"
    if exact or value.dtype.kind in "biu":
        np.testing.assert_array_equal(value, want)
    else:
        assert not np.isnan(value).any()
        check_value(value, want, times=times)


def check_stored(c: ChunkedArray) -> None:
    """That the data is where the layout says, in equal chunks of ceil(N / P)."""
    assert c.data.shape == c.layout.stored_shape
    assert c.data.dtype == c.dtype
    assert c.data.sharding.is_equivalent_to(c.layout.sharding, c.ndim), f"{c.data.sharding} for {c.layout}"
    for size, parts, length in zip(c.shape, c.layout.parts, c.layout.chunk_shape, strict=True):
        assert length == -(-size // parts)
    assert all(shard.data.shape == c.layout.chunk_shape for shard in c.data.addressable_shards)


def check_sum(got: Any, terms: np.ndarray, axis: Any = None, *, times: float = 1, **how: Any) -> None:
    """A sum, to what rounding of its terms explains: they may cancel."""
    want, scale = terms.sum(axis=axis, **how), np.abs(terms).sum(axis=axis, **how)
    assert got.shape == want.shape
    assert got.dtype.kind == want.dtype.kind
    allowed = times * tolerance(got.dtype, terms.size) * scale if got.dtype.kind in "fc" else 0 * scale
    assert (np.abs(np.asarray(got) - want) <= allowed).all()
