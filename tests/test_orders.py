"""Orders are a contract: what is stored where depends on transform, shape, axes, mesh and spec alone."""

from __future__ import annotations

import itertools

import jax
import numpy as np
import oracle
import pytest
from helpers import (
    AXIS_TYPES,
    CASES,
    EXPLICIT,
    TYPE_IDS,
    Case,
    check,
    check_chunks,
    check_value,
    mesh_of,
    put,
    random,
)
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import tpufft
from tpufft import LayoutError

TRANSPOSED = {
    "rows": P(None, "x"),
    "columns": P("x"),
    "whole 2-D": P(None, ("x", "y")),
    "slab": P(None, "x"),
    "middle slab": P(None, None, "x"),
    "pencil": P(None, "x", "y"),
}
"""Where the exchanges that free every transformed axis, the last first, leave the chunks."""

SHAPES = {
    "rows": (16, 8),
    "columns": (8, 16),
    "whole 2-D": (8, 8),
    "slab": (8, 8, 6),
    "middle slab": (4, 8, 8),
    "pencil": (8, 4, 8),
    "whole 3-D": (4, 4, 8),
}
"""Sizes that divide there too: results that do not are a later issue's, and an error until then."""


def scrambled_bins(n: int, parts: int) -> np.ndarray:
    """Position c n + d holds the frequency c + P d."""
    chunk, inside = np.divmod(np.arange(n), n // parts)
    return chunk + parts * inside


# -- transposed ------------------------------------------------------------------------------------------------------


@pytest.mark.each_value
@pytest.mark.parametrize("axis_type", AXIS_TYPES, ids=TYPE_IDS)
@pytest.mark.parametrize("case", TRANSPOSED)
def test_transposed_and_back(case, axis_type):
    """Frequencies are numpy's; only the chunking is another, and the inverse finds the way back by itself."""
    spec, out = CASES[case].spec, TRANSPOSED[case]
    case = Case(CASES[case].mesh, spec, SHAPES[case])
    x = random(case.shape)
    sharded = put(x, case, axis_type)
    mesh = sharded.sharding.mesh
    there = tpufft.fftn(sharded, order="transposed")
    check(there, oracle.transform("fftn", x), x.dtype, mesh, out)
    named = tpufft.fftn(sharded, mesh, spec=spec, order="transposed")
    check_chunks(named, mesh, out)
    back = tpufft.ifftn(named, mesh, spec=spec, order="transposed")
    check(back, x, x.dtype, mesh, spec)


@pytest.mark.parametrize(
    ("case", "axes"), [("slab", (0,)), ("slab", (1, 0)), ("pencil", (1,)), ("pencil", (0, 2)), ("whole 3-D", (0, 1, 2))]
)
def test_the_transposed_chunking_is_the_same_by_every_method_and_kernel(case, axes):
    case = Case(CASES[case].mesh, CASES[case].spec, SHAPES[case])
    mesh = mesh_of(case.mesh)
    specs = set()
    for method, kernel, dtype in [
        ("auto", "auto", "complex64"),
        ("exchange", "xla", "float64"),
        ("ring", "matmul", "complex64"),
        ("exchange", "matmul", "complex128"),
    ]:
        options = {"axes": axes, "order": "transposed", "method": method, "kernel": kernel, "spec": case.spec}
        plan = tpufft.plan("fftn", case.shape, dtype, mesh, overwrite_x=kernel == "xla", **options)
        inverse = tpufft.plan("ifftn", case.shape, dtype, mesh, **options)
        assert inverse.in_layout.spec == plan.out_layout.spec
        assert inverse.out_layout.spec == plan.in_layout.spec
        specs.add(plan.out_layout.spec)
    assert len(specs) == 1
    x = random(case.shape)
    there = tpufft.fftn(put(x, case), axes=axes, order="transposed", norm="ortho")
    check(there, oracle.transform("fftn", x, axes=axes, norm="ortho"), x.dtype, mesh, plan.out_layout.partition_spec)
    back = tpufft.ifftn(there, axes=axes, spec=case.spec, order="transposed", norm="ortho")
    check(back, x, x.dtype, mesh, case.spec)


def test_transposed_with_sizes():
    case = Case("x8", P("x"), (8, 6))
    x = random(case.shape)
    there = tpufft.fftn(put(x, case), s=(16, 24), order="transposed")
    check(there, oracle.transform("fftn", x, s=(16, 24)), x.dtype, mesh_of("x8"), P(None, "x"))
    back = tpufft.ifft2(there, s=(16, 24), order="transposed")
    check_value(np.asarray(back)[:8, :6], x)


def test_transposed_on_fft2_and_under_jit():
    case = Case("x4y2", P("x", "y"), (8, 8))
    x = random(case.shape)
    mesh = mesh_of("x4y2")
    there = jax.jit(lambda v: tpufft.fft2(v, mesh, spec=P("x", "y"), order="transposed"))(put(x, case))
    check(there, oracle.transform("fft2", x), x.dtype, mesh, P(None, ("x", "y")))
    both = jax.jit(lambda v: tpufft.ifft2(tpufft.fft2(v, order="transposed"), spec=P("x", "y"), order="transposed"))(
        put(x, case, EXPLICIT)
    )
    check(both, x, x.dtype, mesh_of("x4y2", EXPLICIT), P("x", "y"))


def test_transposed_without_spec_needs_exactly_one_natural_chunking():
    mesh = mesh_of("x8")
    x = jax.device_put(random((8, 8, 8)), NamedSharding(mesh, P(None, None, "x")))
    # Over all axes one natural chunking, P(None, 'x'), leads here.
    check_chunks(tpufft.ifftn(x, order="transposed"), mesh, P(None, "x"))
    whole = jax.device_put(random((8, 8)), NamedSharding(mesh, P()))
    check_chunks(tpufft.ifftn(whole, order="transposed"), mesh, P())
    # A chunked axis that is transformed never stays where it was: nothing leads to the axis itself.
    own = jax.device_put(random((8, 8)), NamedSharding(mesh, P("x")))
    with pytest.raises(LayoutError, match=r"no chunking leaves .*spec="):
        tpufft.ifftn(own, axes=(0,), order="transposed")
    # An untransformed axis that is chunked may have been so, or may have taken over from the transformed one.
    two = jax.device_put(random((8, 8)), NamedSharding(mesh, P(None, "x")))
    with pytest.raises(LayoutError, match=r"2 chunkings leave .*spec="):
        tpufft.ifftn(two, axes=(0,), order="transposed")
    for spec in (P("x"), P(None, "x")):
        check_chunks(tpufft.ifftn(two, axes=(0,), spec=spec, order="transposed"), mesh, spec)


def test_the_last_exchanges_are_left_out():
    for case, natural, transposed in [("slab", 2, 1), ("pencil", 4, 2), ("rows", 2, 1)]:
        shape, spec, mesh = SHAPES[case], CASES[case].spec, mesh_of(CASES[case].mesh)
        for name, (order, count) in itertools.product(
            ("fftn", "ifftn"), (("natural", natural), ("transposed", transposed))
        ):
            plan = tpufft.plan(name, shape, "complex64", mesh, spec=spec, order=order, method="exchange")
            assert [type(step).__name__ for step in plan.steps].count("Exchange") == count


# -- scrambled -------------------------------------------------------------------------------------------------------

LINES = {
    "line": 8,
    "line over two": 8,
    "line over two, other order": 8,
    "line over one of two": 2,
    "size-1 line": 4,
    "mesh of one": 1,
}


def line_case(name: str) -> Case:
    if name == "size-1 line":
        return Case("x2a1z4", P(("z", "a")), (24,))
    return Case("x1", P("x"), (12,)) if name == "mesh of one" else CASES[name]


@pytest.mark.parametrize("name", LINES)
def test_scrambled_stores_frequency_c_plus_p_d_at_c_n_plus_d(name):
    case, parts = line_case(name), LINES[name]
    x = random(case.shape)
    mesh = mesh_of(case.mesh)
    want = oracle.transform("fft", x)[scrambled_bins(*case.shape, parts)]
    there = tpufft.fft(put(x, case), order="scrambled")
    check(there, want, x.dtype, mesh, case.spec)
    check(tpufft.ifft(there, order="scrambled"), x, x.dtype, mesh, case.spec)


@pytest.mark.parametrize("kernel", ["xla", "matmul"])
@pytest.mark.parametrize("method", ["auto", "exchange"])
def test_the_scrambled_order_is_the_same_by_every_method_and_kernel(method, kernel):
    case = CASES["line"]
    x = random(case.shape, "complex64")
    options = {"order": "scrambled", "method": method, "kernel": kernel, "norm": "ortho"}
    want = oracle.transform("fft", x, norm="ortho")[scrambled_bins(48, 8)]
    there = tpufft.fft(put(x, case), **options)
    check(there, want, np.complex64, mesh_of("x8"), case.spec)
    check(tpufft.ifft(there, **options), x, np.complex64, mesh_of("x8"), case.spec)


def test_the_ring_has_no_scrambled_order_and_says_so():
    """Natural frequencies under the name of the scrambled order would be the worst answer."""
    with pytest.raises(LayoutError, match="method='ring'"):
        tpufft.fft(put(random((48,)), CASES["line"]), order="scrambled", method="ring")


@pytest.mark.parametrize(
    ("case", "axis", "parts"), [("rows", 0, 8), ("columns", 1, 8), ("pencil", 1, 2), ("rows", 1, 1)]
)
def test_scrambled_along_one_axis_of_several(case, axis, parts):
    """Another axis could take the chunks for the time being; the order does not depend on that."""
    case = CASES[case]
    x = random(case.shape)
    want = np.take(oracle.along(x, axis), scrambled_bins(case.shape[axis], parts), axis=axis)
    there = tpufft.fft(put(x, case), axis=axis, order="scrambled")
    check(there, want, x.dtype, mesh_of(case.mesh), case.spec)
    back = tpufft.ifft(there, axis=axis, spec=case.spec, order="scrambled")
    check(back, x, x.dtype, mesh_of(case.mesh), case.spec)


def test_scrambled_with_another_length():
    x = random((40,))
    there = tpufft.fft(put(x, Case("x8", P("x"), (40,))), n=64, order="scrambled")
    check_value(there, oracle.along(x, 0, 64)[scrambled_bins(64, 8)])
    check_value(np.asarray(tpufft.ifft(there, order="scrambled"))[:40], x)


def test_scrambled_under_jit_vmap_and_grad():
    mesh = mesh_of("x8")
    x = random((3, 48))
    sharded = jax.device_put(x, NamedSharding(mesh, P(None, "x")))
    want = oracle.along(x, 1)[:, scrambled_bins(48, 8)]

    def line(v):
        return tpufft.fft(v, mesh, spec=P("x"), order="scrambled")

    check(jax.vmap(line)(sharded), want, x.dtype, mesh, P(None, "x"))
    check(jax.jit(jax.vmap(line))(sharded), want, x.dtype, mesh, P(None, "x"))
    weight = random((48,), seed=1)
    pulled = jax.vjp(line, sharded[0])[1](jax.device_put(weight, NamedSharding(mesh, P("x"))))[0]
    check(pulled, weight @ oracle.matrix(48)[scrambled_bins(48, 8)], x.dtype, mesh, P("x"))


def test_a_convolution_needs_no_natural_order():
    mesh = mesh_of("x8")
    x = random((64,))

    def convolve(v):
        spectrum = tpufft.fft(v, mesh, spec=P("x"), order="scrambled")
        return tpufft.ifft(spectrum**2, mesh, spec=P("x"), order="scrambled")

    want = np.array([np.sum(x * x[(k - np.arange(64)) % 64]) for k in range(64)])
    check(jax.jit(convolve)(put(x, Case("x8", P("x"), (64,)))), want, x.dtype, mesh, P("x"), times=2)


# -- frequencies -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["natural", "scrambled"])
def test_frequencies_tell_where_a_tone_lands(order):
    n, d = 48, 0.25
    mesh = mesh_of("x4y2", EXPLICIT)
    plan = tpufft.plan("fft", (n,), "complex128", mesh, order=order)
    f = plan.frequencies(0, d)
    check_chunks(f, mesh, P(("x", "y")))
    np.testing.assert_array_equal(f, tpufft.fftfreq(n, d, mesh=mesh, order=order))
    np.testing.assert_allclose(np.sort(f), np.sort(np.fft.fftfreq(n, d)), rtol=1e-15)
    for k in (0, 1, 5, 23, 24, 47):
        tone = np.exp(2j * np.pi * k * np.arange(n) / n)
        place = int(np.argmax(np.abs(np.asarray(plan(tone)))))
        assert np.asarray(f)[place] == pytest.approx(np.fft.fftfreq(n, d)[k])


def test_frequencies_of_several_axes_follow_their_chunks():
    case = Case("x4y2", P("x", "y"), (8, 24))
    for name, order in itertools.product(("fftn", "ifftn"), ("natural", "transposed")):
        plan = tpufft.plan(name, case.shape, "complex64", mesh_of("x4y2"), spec=case.spec, order=order)
        spectrum = plan.in_layout if name == "ifftn" else plan.out_layout
        for axis in (0, 1, -1):
            f = plan.frequencies(axis)
            np.testing.assert_allclose(f, np.fft.fftfreq(case.shape[axis]).astype(f.dtype), rtol=1e-15)
            check_chunks(f, mesh_of("x4y2"), P(spectrum.spec[axis] or None))
    uneven = tpufft.plan("fftn", (8, 12), "complex64", mesh_of("x4y2"), spec=case.spec, order="transposed")
    np.testing.assert_allclose(np.asarray(uneven.frequencies(1)), np.fft.fftfreq(12), rtol=1e-6)
    resized = tpufft.plan("fft2", case.shape, "complex64", mesh_of("x4y2"), spec=case.spec, s=(4, 10))
    np.testing.assert_allclose(resized.frequencies(1, 2.0), np.fft.fftfreq(10, 2.0), rtol=1e-15)


def test_frequencies_of_an_axis_that_is_not_transformed_are_an_error():
    plan = tpufft.plan("fft", (8, 6), "complex64", mesh_of("x8"), axis=1)
    with pytest.raises(ValueError, match="axis=0 is not transformed"):
        plan.frequencies(0)
    with pytest.raises(np.exceptions.AxisError):
        plan.frequencies(2)
