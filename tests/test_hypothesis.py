"""Random transforms of random arrays on random meshes against the definition: combinations that nobody wrote down."""

from __future__ import annotations

import math
import re

import jax
import numpy as np
import oracle
from helpers import (
    AUTO,
    DTYPES,
    EXPLICIT,
    KERNELS,
    METHODS,
    NORMS,
    Case,
    check,
    check_chunks,
    mesh_of,
    put,
    random,
    result_dtype,
)
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

import tpufft
from tpufft import LayoutError

NAMES = ("fft", "ifft", "fftn", "ifftn")
LENGTHS = (1, 2, 3, 4, 5, 6, 8)
STABLE = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A mesh, how it splits the axes of an array, and lengths that are multiples of the chunks' number."""
    mesh = draw(st.sampled_from(["x8", "x4y2", "x2y2z2", "x2a1z4", "x1"]))
    shape = mesh_of(mesh).shape
    rank = draw(st.integers(1, 3))
    entries: list[tuple[str, ...]] = [()] * rank
    for name in draw(st.permutations(list(shape))):
        place = draw(st.integers(-1, rank - 1))  # -1: replicated over it
        if place >= 0:
            entries[place] += (name,)
    lengths = [draw(st.sampled_from(LENGTHS)) * math.prod(shape[name] for name in names) for names in entries]
    return Case(mesh, P(*entries), tuple(lengths))


@st.composite
def calls(draw: st.DrawFn) -> tuple[Case, str, dict]:
    """A case, a transform, and its options in numpy's sense; lengths of chunked axes stay multiples."""
    case = draw(cases())
    name = draw(st.sampled_from(NAMES))
    rank = len(case.shape)
    parts = [math.prod(mesh_of(case.mesh).shape[one] for one in names or ()) for names in case.spec]
    numbers = st.integers(-rank, rank - 1)
    options: dict = {"norm": draw(st.sampled_from(NORMS))}

    def size(axis: int) -> int:
        return draw(st.sampled_from(LENGTHS)) * parts[axis]

    if name in oracle.ONE_AXIS:
        options["axis"] = draw(numbers)
        if draw(st.booleans()):
            options["n"] = size(options["axis"])
    else:
        axes = draw(st.lists(numbers, min_size=1, max_size=3))
        options["axes"] = axes
        if draw(st.booleans()):
            options["s"] = [draw(st.sampled_from([-1, size(axis)])) for axis in axes]
    return case, name, options


def planned(name: str, case: Case, dtype: str, mesh: Mesh, **options) -> tpufft.Plan | str:
    """The plan, or the words that say why there is none: sizes, the ring's lack of orders, a lack of axes."""
    try:
        return tpufft.plan(name, case.shape, dtype, mesh, spec=case.spec, **options)
    except LayoutError as error:
        known = re.search("do not divide|method='ring'|two axes", str(error))
        return known.group(0) if known else str(error)


@STABLE
@given(
    call=calls(),
    dtype=st.sampled_from(DTYPES),
    axis_type=st.sampled_from([AUTO, EXPLICIT]),
    method=st.sampled_from(METHODS),
    kernel=st.sampled_from(KERNELS),
    natural=st.booleans(),
)
def test_any_transform(call, dtype, axis_type, method, kernel, natural):
    """The value is the definition's, the chunking the argument's or the order's; the way back is the inverse."""
    case, name, options = call
    x = random(case.shape, dtype)
    sharded = put(x, case, axis_type)
    mesh = sharded.sharding.mesh
    how = {"method": method, "kernel": kernel}
    want = oracle.transform(name, x.astype(np.complex128), **options)
    if natural:
        got = getattr(tpufft, name)(sharded, **options, **how)
        check(got, want, result_dtype(dtype), mesh, case.spec, times=2)
        return
    # Forward names only: an inverse takes what the forward transform left.
    if name.startswith("i"):
        name, want = name[1:], oracle.transform(name[1:], x.astype(np.complex128), **options)
    order = "scrambled" if name in oracle.ONE_AXIS else "transposed"
    plan = planned(name, case, dtype, mesh, order=order, **options, **how)
    if isinstance(plan, str):
        event(f"{order}: {plan}")
        assert plan in ("do not divide", "method='ring'", "two axes")
        return
    event(order)
    got = getattr(tpufft, name)(sharded, spec=case.spec, order=order, **options, **how)
    if order == "scrambled":
        axis = options["axis"] % len(case.shape)
        n, parts = want.shape[axis], plan.out_layout.parts[axis]
        chunk, inside = np.divmod(np.arange(n), n // parts)
        want = np.take(want, chunk + parts * inside, axis=axis)
    check(got, want, result_dtype(dtype), mesh, plan.out_layout.partition_spec, times=2)


@settings(STABLE, max_examples=25)
@given(case=cases(), dtype=st.sampled_from(DTYPES), inverse=st.booleans(), data=st.data())
def test_any_shift(case, dtype, inverse, data):
    rank = len(case.shape)
    axes = data.draw(st.none() | st.lists(st.integers(-rank, rank - 1), max_size=3))
    x = random(case.shape, dtype)
    got = (tpufft.ifftshift if inverse else tpufft.fftshift)(put(x, case), axes=axes)
    check_chunks(got, mesh_of(case.mesh), case.spec)
    assert got.dtype == x.dtype
    np.testing.assert_array_equal(got, oracle.shift(x, axes, inverse=inverse))


@settings(STABLE, max_examples=15)
@given(call=calls(), axis_type=st.sampled_from([AUTO, EXPLICIT]))
def test_any_pullback(call, axis_type):
    """vjp is the transposed matrix, chunked as the argument is: <ct, F x> = <F^T ct, x> for random vectors."""
    case, name, options = call
    x, sharded = random(case.shape), put(random(case.shape), case, axis_type)
    mesh = sharded.sharding.mesh
    with jax.set_mesh(mesh):
        y, pull = jax.vjp(lambda v: getattr(tpufft, name)(v, mesh, spec=case.spec, **options), sharded)
        ct = random(y.shape, seed=1)
        (back,) = pull(jax.device_put(ct, y.sharding))
    check(y, oracle.transform(name, x, **options), x.dtype, mesh, case.spec, times=2)
    assert (back.shape, back.dtype) == (x.shape, x.dtype)
    assert back.sharding.is_equivalent_to(sharded.sharding, x.ndim)
    left, right = np.sum(ct * np.asarray(y)), np.sum(np.asarray(back) * x)
    assert abs(left - right) <= 1e-13 * np.linalg.norm(ct) * np.linalg.norm(y) + 1e-13
