"""Random transforms of random arrays on random meshes against the definition: combinations that nobody wrote down.

The calls are those of ``fuzz.py``, which runs as long as one likes; here are as many as a test run has time for.
"""

from __future__ import annotations

import jax
import numpy as np
import oracle
from helpers import AUTO, EXPLICIT, check_result, context, mesh_of, place, random
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from random_calls import Call, calls, cases, check_call

import tpufft

STABLE = settings(
    max_examples=140,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
ARRAYS = ("float32", "float64", "complex64", "int32", "bool")


@STABLE
@given(call=calls())
def test_any_transform(call):
    event(f"{call.name} {check_call(call)}")


@settings(STABLE, max_examples=30)
@given(case=cases(), dtype=st.sampled_from(ARRAYS), inverse=st.booleans(), data=st.data())
def test_any_shift(case, dtype, inverse, data):
    rank = len(case.shape)
    axes = data.draw(st.none() | st.lists(st.integers(-rank, rank - 1), max_size=3))
    x = random(case.shape, dtype)
    got = (tpufft.ifftshift if inverse else tpufft.fftshift)(place(x, case), axes=axes)
    check_result(got, oracle.shift(x, axes, inverse=inverse), dtype, mesh_of(case.mesh), case.spec)


@settings(STABLE, max_examples=30)
@given(call=calls(), explicit=st.booleans())
def test_any_pullback(call: Call, explicit: bool):
    """vjp is the transposed map, chunked as the argument is: Re <ct, F x> = Re <F^T ct, x> for random vectors."""
    axis_type = EXPLICIT if explicit else AUTO
    mesh, case = mesh_of(call.mesh, axis_type), call.case
    takes_real = call.name in oracle.REAL_TO_COMPLEX + oracle.HANKEL + oracle.TRIGONOMETRIC
    x = random(case.shape, "float64" if takes_real else "complex128")
    want = oracle.transform(call.name, x, **call.options)
    with context(mesh):
        y, pull = jax.vjp(
            lambda v: getattr(tpufft, call.name)(v, mesh, spec=case.spec, **call.options), place(x, case, axis_type)
        )
        ct = random(y.shape, y.dtype, seed=1)
        (back,) = pull(place(ct, case, axis_type))
    check_result(y, want, y.dtype, mesh, case.spec, times=16)
    pulled = np.asarray(back)
    check_result(back, pulled, x.dtype, mesh, case.spec)
    left, right = np.sum(ct * want).real, np.sum(pulled * x).real
    assert abs(left - right) <= 1e-13 * (np.linalg.norm(ct) * np.linalg.norm(want) + 1)
