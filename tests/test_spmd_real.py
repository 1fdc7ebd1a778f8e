"""The collective form of real, cosine, sine and Hankel transforms: padded half spectra, derivatives, fake meshes."""

from __future__ import annotations

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import oracle
import pytest
import scipy.fft
from helpers import AUTO, AXIS_TYPES, EXPLICIT, Case, check, check_value, compiled, context, mesh_of, put, random
from jax.sharding import PartitionSpec as P

import tpufft
from tpufft import LayoutError, spmd
from tpufft.planning import TRANSFORMS

HANKEL = {"dln": 0.1, "mu": 1.0, "offset": 0.1, "bias": 0.2}


def mapped(function, mesh, spec, out_spec=None):
    return jax.jit(jax.shard_map(function, mesh=mesh, in_specs=spec, out_specs=spec if out_spec is None else out_spec))


def padded(x: np.ndarray, case: Case) -> np.ndarray:
    """As `tpufft.chunk` stores it, with garbage behind the end."""
    layout = tpufft.Layout.of(x.shape, x.dtype, mesh_of(case.mesh), case.spec)
    return np.pad(x, [(0, pad) for pad in layout.padding], constant_values=np.nan)


def read(got: jax.Array, shape: tuple[int, ...]) -> np.ndarray:
    """The stored result without its padding."""
    return np.asarray(got)[tuple(slice(size) for size in shape)]


# Name, shape of the array, case without it, mesh axes, options for spmd, options for the oracle.
LINE, GRID = ("x8", P("x")), ("x4y2", P("x", "y"))
CALLS = [
    ("rfft", (64,), LINE, "x", {}, {}),
    ("rfft", (48,), LINE, ("x",), {"norm": "ortho"}, {"norm": "ortho"}),
    ("rfft", (16, 3), LINE, "x", {"axis": 0}, {"axis": 0}),
    ("rfft", (13,), LINE, "x", {"n": 13}, {}),
    ("rfft", (40,), LINE, "x", {"n": 24}, {"n": 24}),
    ("rfft", (16,), LINE, "x", {"n": 30}, {"n": 30}),
    ("rfft", (64,), LINE, "x", {"method": "ring"}, {}),
    ("irfft", (33,), LINE, "x", {"n": 64}, {"n": 64}),
    ("irfft", (9,), LINE, "x", {"n": 17}, {"n": 17}),
    ("irfft", (16,), LINE, "x", {}, {}),
    ("irfft", (16,), LINE, "x", {"n": 12}, {"n": 12}),
    ("irfft", (8,), LINE, "x", {"n": 30}, {"n": 30}),
    ("hfft", (33,), LINE, "x", {"n": 65}, {"n": 65}),
    ("ihfft", (64,), LINE, "x", {}, {}),
    ("rfft", (16,), ("x4y2", P(("y", "x"))), ("y", "x"), {}, {}),
    ("rfft2", (8, 6), LINE, "x", {}, {}),
    ("irfft2", (8, 4), LINE, "x", {}, {}),
    ("irfft2", (8, 9), ("x8", P(None, "x")), "x", {"spec": P(None, "x"), "s": (8, 16)}, {"s": (8, 16)}),
    ("hfft2", (8, 4), LINE, "x", {"s": (8, 7)}, {"s": (8, 7)}),
    ("ihfft2", (8, 6), LINE, "x", {}, {}),
    ("rfftn", (8, 4, 6), GRID, ("x", "y"), {"spec": P("x", "y")}, {}),
    ("rfftn", (4, 6, 8), ("x4y2", P("x", None, "y")), ("x", "y"), {"spec": P("x", None, "y")}, {}),
    ("irfftn", (8, 4, 3), GRID, ("x", "y"), {"spec": P("x", "y")}, {}),
    ("hfftn", (8, 4, 3), GRID, ("x", "y"), {"spec": P("x", "y"), "axes": (0, 2)}, {"axes": (0, 2)}),
    ("ihfftn", (8, 4, 3), GRID, ("x", "y"), {"spec": P("x", "y")}, {}),
    *[(name, (32,), LINE, "x", {"type": kind}, {"type": kind}) for name in ("dct", "dst") for kind in (1, 2, 3, 4)],
    ("idct", (32,), LINE, "x", {"norm": "ortho"}, {"norm": "ortho"}),
    ("dct", (32,), LINE, "x", {"orthogonalize": True}, {"orthogonalize": True}),
    ("idst", (16, 3), LINE, "x", {"axis": 0, "type": 1}, {"axis": 0, "type": 1}),
    ("dct", (13,), LINE, "x", {"n": 13}, {}),
    ("dctn", (8, 4, 3), GRID, ("x", "y"), {"spec": P("x", "y")}, {}),
    ("idctn", (8, 6), LINE, "x", {"type": 3}, {"type": 3}),
    ("dstn", (8, 6), LINE, "x", {"s": (8, 4), "axes": (0, 1)}, {"s": (8, 4), "axes": (0, 1)}),
    ("idstn", (8, 6), LINE, "x", {}, {}),
    ("fht", (32,), LINE, "x", HANKEL, HANKEL),
    ("ifht", (8, 16), ("x8", P(None, "x")), "x", HANKEL, HANKEL),
]


@pytest.mark.parametrize(("name", "shape", "where", "names", "options", "wanted"), CALLS)
def test_inside_a_shard_map(name, shape, where, names, options, wanted):
    case = Case(where[0], where[1], shape)
    mesh = mesh_of(case.mesh, AXIS_TYPES[len(shape) % 2])
    half = name in oracle.COMPLEX_TO_REAL
    x = random(shape, "complex128" if half else "float64")
    stored = jax.device_put(padded(x, case), jax.NamedSharding(mesh, case.spec))
    got = mapped(lambda c: getattr(spmd, name)(c, names, **options), mesh, case.spec)(stored)
    want = oracle.transform(name, x, **wanted)
    layout = tpufft.Layout.of(want.shape, want.dtype, mesh, case.spec)
    assert (got.shape, got.dtype) == (layout.stored_shape, want.dtype)
    check_value(read(got, want.shape), want, times=16 if name in oracle.HANKEL else 2)


def test_every_transform_has_its_collective_form():
    outer = {name for name in TRANSFORMS if hasattr(tpufft, name)}
    assert set(spmd.__all__) == outer == set(TRANSFORMS)


@pytest.mark.parametrize("axis_type", AXIS_TYPES)
def test_a_half_spectrum_is_what_the_outer_function_stores(axis_type):
    case = Case("x8", P("x"), (64,))
    x = put(random(case.shape, "float32"), case, axis_type)
    mesh = mesh_of(case.mesh, axis_type)
    half = tpufft.rfft(x)
    assert isinstance(half, tpufft.ChunkedArray)
    back = mapped(lambda c: spmd.irfft(c, "x", n=64), mesh, P("x"))(half.data)
    check(back, np.asarray(x), np.float32, mesh, P("x"))
    same = mapped(lambda c: spmd.rfft(c, "x"), mesh, P("x"))(x)
    check_value(read(same, half.shape), np.asarray(half))


def test_a_real_line_exchanges_three_times_there():
    case = Case("x8", P("x"), (1024,))
    x = put(random(case.shape, "float32"), case)
    _, found = compiled(mapped(lambda c: spmd.rfft(c, "x"), mesh_of("x8"), P("x")), x)
    assert found["all-to-all"] == 3
    assert set(found) <= {"all-to-all", "collective-permute"}


def test_transposed_and_back():
    case = Case("x4y2", P("x", "y"), (8, 4, 6))
    mesh, names = mesh_of(case.mesh), ("x", "y")
    x = random(case.shape, "float64")
    plan = tpufft.plan("rfftn", case.shape, x.dtype, mesh, spec=case.spec, order="transposed")
    between = plan.out_layout.partition_spec
    options = {"spec": case.spec, "order": "transposed"}
    there = mapped(lambda c: spmd.rfftn(c, names, **options), mesh, case.spec, between)
    spectrum = there(put(x, case))
    want = oracle.transform("rfftn", x)
    check_value(read(spectrum, want.shape), want)
    back = mapped(lambda c: spmd.irfftn(c, names, s=case.shape, axes=(0, 1, 2), **options), mesh, between, case.spec)
    check(back(spectrum), x, x.dtype, mesh, case.spec)


@pytest.mark.parametrize(
    ("name", "options", "axis_type"),
    [("rfft", {}, AUTO), ("rfft", {}, EXPLICIT), ("dct", {"type": 2}, AUTO), ("dst", {"type": 1}, EXPLICIT)],
)
def test_gradients_through_a_shard_map(name, options, axis_type):
    """Of the energy: 2 A^T A x, the padding of the result masked by its reader."""
    case = Case("x8", P("x"), (32,))
    x = random(case.shape, "float64")
    sharded = put(x, case, axis_type)
    mesh = mesh_of(case.mesh, axis_type)
    matrix = oracle.linear_map(name, case.shape, **options)
    function = mapped(lambda c: getattr(spmd, name)(c, "x", **options), mesh, P("x"))
    length = matrix.shape[0]

    def energy(v):
        y = function(v)
        kept = jnp.arange(y.size) < length
        return jnp.sum(jnp.where(kept, jnp.abs(jnp.where(kept, y, 0)) ** 2, 0))

    with context(mesh):
        grad = jax.grad(energy)(sharded)
    check(grad, 2 * np.real(matrix.conj().T @ (matrix @ x)), x.dtype, mesh, P("x"), times=3)


# -- fake meshes -------------------------------------------------------------------------------------------------------


@pytest.mark.each_value
@pytest.mark.parametrize("parts", [1, 2, 6, 64])
@pytest.mark.parametrize("name", ["rfftn", "rfft2", "ihfft2", "irfft2", "dctn", "idstn"])
def test_any_number_of_fake_devices(name, parts):
    """Rows are split; permutes, which a fake mesh has only whole, are for the split axis of one-axis transforms."""
    rows = random((2 * parts, parts + 3), "complex128" if name == "irfft2" else "float64")
    chunks = rows.reshape(parts, 2, -1)
    got = jax.jit(jax.vmap(lambda c: getattr(spmd, name)(c, "x", method="exchange"), axis_name="x"))(chunks)
    want = oracle.transform(name, rows)
    check_value(np.asarray(got).reshape(want.shape), want, times=2)


# -- mistakes ----------------------------------------------------------------------------------------------------------


def test_mistakes():
    x = put(random((16,)), Case("x8", P("x"), (16,)))

    def run(function):
        return mapped(function, mesh_of("x8", AUTO), P("x"))(x)

    with pytest.raises(LayoutError, match=r"not bound.*tpufft\.rfft"):
        spmd.rfft(jnp.ones(8), "x")
    with pytest.raises(TypeError, match="real"):
        run(lambda c: spmd.rfft(c, "x"))
    with pytest.raises(TypeError, match="real"):
        run(lambda c: spmd.fht(c, "x", dln=0.1, mu=1.0))
    with pytest.raises(ValueError, match="type=5"):
        run(lambda c: spmd.dct(c, "x", type=5))
    with pytest.raises(np.exceptions.AxisError):
        run(lambda c: spmd.irfft(c, "x", axis=1))


@pytest.mark.parametrize(("name", "mu", "bias"), [("fht", 0.5, -3.5), ("ifht", 0.0, 1.0)])
def test_a_singular_transform_warns(name, mu, bias):
    """Where scipy does, once, at the caller's line."""
    x = np.ones(8)
    with pytest.warns(UserWarning, match="singular"):
        want = getattr(scipy.fft, name)(x, dln=0.1, mu=mu, bias=bias)
    with pytest.warns(UserWarning, match="singular") as caught:
        got = getattr(tpufft, name)(x, dln=0.1, mu=mu, bias=bias)
    assert [one.filename for one in caught if "singular" in str(one.message)] == [__file__]
    check_value(np.asarray(got), want, times=16)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*singular")
        getattr(tpufft, name)(x, dln=0.1, mu=1.5)
