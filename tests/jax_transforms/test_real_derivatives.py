"""Derivatives and batches of every transform: against its dense matrix, in both modes, even and uneven chunks alike.

With A the matrix of y = A x and B that of y = Re(B z), JAX's cotangents are Re(A^T ct) of a real x, A^T ct of a
complex one, and B^T ct.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import oracle
import pytest
from helpers import (
    AUTO,
    AXIS_TYPES,
    EXPLICIT,
    TYPE_IDS,
    Case,
    check,
    check_result,
    check_value,
    compiled,
    context,
    mesh_of,
    place,
    put,
    random,
    result_dtype_of,
    some,
)
from jax.sharding import PartitionSpec as P

import tpufft

# Even going in and coming out, so that Jacobians are plain arrays.
LINE, ROWS = Case("x8", P("x"), (8,)), Case("x4y2", P("x"), (4, 3))
PENCIL = Case("x2y2z2", P("x", "y"), (2, 2, 3))
EVEN = {
    "fft": (LINE, {}),
    "ifft": (LINE, {"norm": "ortho"}),
    "rfft": (Case("x8", P("x"), (16,)), {"n": 14}),
    "ihfft": (Case("x8", P("x"), (16,)), {"n": 15, "norm": "ortho"}),
    "irfft": (LINE, {"n": 16}),
    "hfft": (LINE, {"n": 24, "norm": "forward"}),
    "fft2": (ROWS, {}),
    "ifft2": (ROWS, {"norm": "forward"}),
    "rfft2": (ROWS, {}),
    "ihfft2": (ROWS, {"s": (4, 5), "axes": (0, 1)}),
    "irfft2": (ROWS, {}),
    "hfft2": (ROWS, {"s": (8, 3), "axes": (0, 1)}),
    "fftn": (PENCIL, {}),
    "ifftn": (PENCIL, {"axes": (0, 2)}),
    "rfftn": (PENCIL, {"axes": (2, 0, 1)}),
    "ihfftn": (PENCIL, {"norm": "ortho"}),
    "irfftn": (PENCIL, {"axes": (0, 2)}),
    "hfftn": (PENCIL, {"axes": (2, 0, 1)}),
    "dct": (LINE, {"type": 2}),
    "idct": (LINE, {"type": 1, "n": 16}),
    "dst": (LINE, {"type": 4}),
    "idst": (LINE, {"type": 3, "norm": "ortho"}),
    "dctn": (ROWS, {"type": 3}),
    "idctn": (ROWS, {"type": 4}),
    "dstn": (ROWS, {"type": 1}),
    "idstn": (ROWS, {"type": 2, "norm": "forward"}),
    "fht": (LINE, {"dln": 0.1, "mu": 0.5, "bias": 0.1}),
    "ifht": (ROWS, {"dln": 0.1, "mu": 1.5, "offset": 0.1}),
}

# Uneven going in, coming out, or both.
UNEVEN = {
    "fft": (Case("x8", P("x"), (11,)), {}),
    "ifft": (Case("x8", P("x"), (8,)), {"n": 9}),
    "rfft": (Case("x8", P("x"), (16,)), {}),
    "ihfft": (Case("x8", P("x"), (13,)), {}),
    "irfft": (Case("x8", P("x"), (9,)), {}),
    "hfft": (Case("x8", P("x"), (7,)), {"n": 11}),
    "fft2": (Case("x4y2", P("x", "y"), (5, 3)), {}),
    "ifftn": (Case("x4y2", P("y", "x"), (3, 6, 2)), {"axes": (0, 1)}),
    "rfft2": (Case("x4y2", P("x", "y"), (4, 4)), {}),
    "irfft2": (Case("x4y2", P("x", "y"), (5, 3)), {}),
    "hfft2": (Case("x8", P(None, "x"), (3, 5)), {}),
    "ihfftn": (Case("x8", P(None, "x"), (3, 7)), {}),
    "rfftn": (Case("x8", P("x"), (6, 3, 2)), {"axes": (1, 0)}),
    "dct": (Case("x8", P("x"), (9,)), {"type": 2}),
    "idct": (Case("x8", P("x"), (11,)), {"type": 4}),
    "dst": (Case("x8", P("x"), (8,)), {"type": 1, "n": 10}),
    "idst": (Case("x8", P("x"), (5,)), {"type": 2, "norm": "ortho"}),
    "dctn": (Case("x4y2", P("x", "y"), (5, 3)), {"type": 1}),
    "fht": (Case("x8", P("x"), (11,)), {"dln": 0.1, "mu": 0.5}),
    "ifht": (Case("x8", P("x"), (3, 5)), {"dln": 0.1, "mu": 0.5, "bias": 0.2}),
}


def kind_of(name: str) -> str:
    """What goes in: real numbers or complex ones."""
    return "complex128" if name in oracle.COMPLEX + oracle.COMPLEX_TO_REAL else "float64"


def call_of(name: str, mesh: Any, spec: P, options: dict) -> Callable[[Any], Any]:
    return lambda v: getattr(tpufft, name)(v, mesh, spec=spec, **options)


def forward(name: str, matrix: np.ndarray, x: np.ndarray) -> np.ndarray:
    y = np.tensordot(matrix, x, axes=x.ndim)
    return y.real if name in oracle.COMPLEX_TO_REAL else y


def back(name: str, matrix: np.ndarray, ct: np.ndarray) -> np.ndarray:
    """The cotangent of x from that of y."""
    pulled = np.tensordot(ct, matrix, axes=ct.ndim)
    return pulled if kind_of(name) == "complex128" else pulled.real


def slack(name: str) -> float:
    """Units of rounding; the coefficients of Hankel transforms lose a digit in their phases."""
    return 16 if name in oracle.HANKEL else 2


def power(y: Any) -> Any:
    """The sum of squares of what any transform gives back."""
    return (abs(y) ** 2).sum()


# -- the whole matrix -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", some(EVEN))
def test_jacobians_are_the_matrix(name):
    case, options = EVEN[name]
    axis_type = AXIS_TYPES[list(EVEN).index(name) % 2]
    x = random(case.shape, kind_of(name))
    sharded = put(x, case, axis_type)
    mesh = sharded.sharding.mesh
    matrix = oracle.linear_map(name, case.shape, **options)
    rank = matrix.ndim - x.ndim
    call = call_of(name, mesh, case.spec, options)
    before, behind = case.spec, P(*(None,) * rank, *case.spec)
    with context(mesh):
        if name in oracle.COMPLEX:
            check(jax.jacfwd(call, holomorphic=True)(sharded), matrix, x.dtype, mesh, before)
            check(jax.jacrev(call, holomorphic=True)(sharded), matrix, x.dtype, mesh, behind)
        elif name in oracle.COMPLEX_TO_REAL:
            check(jax.jacrev(call)(sharded), matrix, x.dtype, mesh, behind)
            push = jax.linearize(call, sharded)[1]
            units = [np.reshape(unit, x.shape).astype(x.dtype) for unit in np.eye(x.size)[:3]]
            columns = [[push(put(factor * unit, case, axis_type)) for factor in (1, 1j)] for unit in units]
            got = np.array([np.asarray(real) - 1j * np.asarray(imaginary) for real, imaginary in columns])
            check_value(got, np.moveaxis(matrix.reshape(*matrix.shape[:rank], -1), -1, 0)[:3])
        elif name in oracle.REAL_TO_COMPLEX:
            check(jax.jacfwd(call)(sharded), matrix, np.complex128, mesh, before)
            check(jax.jacrev(lambda v: jnp.real(call(v)))(sharded), matrix.real, x.dtype, mesh, behind)
            check(jax.jacrev(lambda v: jnp.imag(call(v)))(sharded), matrix.imag, x.dtype, mesh, behind, times=2)
        else:
            check(jax.jacfwd(call)(sharded), matrix, x.dtype, mesh, before, times=slack(name))
            check(jax.jacrev(call)(sharded), matrix, x.dtype, mesh, behind, times=slack(name))


# -- one direction, any size ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", some(UNEVEN))
def test_jvp_and_vjp_of_any_size(name):
    """Primal, tangent and cotangent have NaN in their padding."""
    case, options = UNEVEN[name]
    axis_type = AXIS_TYPES[list(UNEVEN).index(name) % 2]
    x, dx = random(case.shape, kind_of(name)), random(case.shape, kind_of(name), seed=1)
    matrix = oracle.linear_map(name, case.shape, **options)
    y, dy = forward(name, matrix, x), forward(name, matrix, dx)
    dtype = result_dtype_of(name, x.dtype)
    ct = random(y.shape, dtype, seed=2)
    mesh = mesh_of(case.mesh, axis_type)

    def call(v):
        return getattr(tpufft, name)(v, **options)

    with context(mesh):
        out, pushed = jax.jvp(call, (place(x, case, axis_type),), (place(dx, case, axis_type),))
        again, pull = jax.vjp(call, place(x, case, axis_type))
        (pulled,) = pull(place(ct, case, axis_type))
    for got, want in ((out, y), (pushed, dy), (again, y)):
        check_result(got, want, dtype, mesh, case.spec, times=slack(name))
    check_result(pulled, back(name, matrix, ct), x.dtype, mesh, case.spec, times=slack(name))


@pytest.mark.parametrize("name", ["fft", "rfft", "irfft", "dct", "rfft2", "fht"])
def test_the_gradient_keeps_the_chunking_and_gathers_nothing(name):
    """Jitted, first and second order, where chunks are uneven."""
    case, options = UNEVEN[name]
    x, dx = random(case.shape, kind_of(name)), random(case.shape, kind_of(name), seed=1)
    matrix = oracle.linear_map(name, case.shape, **options)
    mesh = mesh_of(case.mesh)
    call = call_of(name, mesh, case.spec, options)
    grad = jax.grad(lambda v: power(call(v)))
    argument, tangent = place(x, case), place(dx, case)

    program, found = compiled(grad, argument)
    assert "all-gather" not in found, found
    want = back(name, matrix, 2 * np.conj(forward(name, matrix, x)))
    check_result(program(argument), want, x.dtype, mesh, case.spec, times=2 * slack(name))

    program, found = compiled(lambda v, t: jax.jvp(grad, (v,), (t,))[1], argument, tangent)
    assert "all-gather" not in found, found
    want = back(name, matrix, 2 * np.conj(forward(name, matrix, dx)))
    check_result(program(argument, tangent), want, x.dtype, mesh, case.spec, times=2 * slack(name))


@pytest.mark.each_value
@pytest.mark.parametrize("axis_type", AXIS_TYPES, ids=TYPE_IDS)
@pytest.mark.parametrize("name", ["rfft2", "irfftn", "dctn", "hfft"])
def test_value_and_grad_of_even_chunks(name, axis_type):
    case, options = EVEN[name]
    x = random(case.shape, kind_of(name))
    sharded = put(x, case, axis_type)
    mesh = sharded.sharding.mesh
    matrix = oracle.linear_map(name, case.shape, **options)
    y = forward(name, matrix, x)
    call = call_of(name, mesh, case.spec, options)
    with context(mesh):
        value, gradient = jax.value_and_grad(lambda v: power(call(v)))(sharded)
    assert abs(float(value) - np.sum(np.abs(y) ** 2)) <= 1e-12 * float(value)
    check(gradient, back(name, matrix, 2 * np.conj(y)), x.dtype, mesh, case.spec, times=3)


@pytest.mark.parametrize("axis_type", AXIS_TYPES, ids=TYPE_IDS)
def test_hessian_of_a_real_transform(axis_type):
    """Of sum |A x|^2: 2 Re(A^H A)."""
    case, options = EVEN["rfft"]
    x = put(random(case.shape, "float64"), case, axis_type)
    mesh = x.sharding.mesh
    call = call_of("rfft", mesh, case.spec, options)
    with context(mesh):
        got = jax.jit(jax.hessian(lambda v: power(call(v))))(x)
    matrix = oracle.linear_map("rfft", case.shape, **options)
    check(got, 2 * np.real(matrix.conj().T @ matrix), np.float64, mesh, P("x"), times=3)


def test_linear_transpose():
    for name in ("rfft2", "irfft2", "dctn"):
        case, options = EVEN[name]
        x = random(case.shape, kind_of(name))
        call = call_of(name, mesh_of(case.mesh), case.spec, options)
        matrix = oracle.linear_map(name, case.shape, **options)
        ct = random(matrix.shape[:2], result_dtype_of(name, x.dtype), seed=1)
        (got,) = jax.linear_transpose(call, put(x, case))(put(ct, case))
        check(got, back(name, matrix, ct), x.dtype, mesh_of(case.mesh), case.spec, times=2)


def test_gradients_of_numpy_arguments():
    """They come back as the argument would: chunked if it divides, else whole."""
    for shape, spec in [((8, 3), P("x")), ((5, 3), P())]:
        x = random(shape, "float64")
        matrix = oracle.linear_map("rfft2", shape)
        want = back("rfft2", matrix, 2 * np.conj(forward("rfft2", matrix, x)))
        got = jax.grad(lambda v: power(tpufft.rfft2(v, mesh_of("x8"))))(x)
        check(got, want, x.dtype, mesh_of("x8"), spec, times=2)


# -- vmap -------------------------------------------------------------------------------------------------------------


def sliced(name: str, x: np.ndarray, options: dict) -> np.ndarray:
    return np.stack([oracle.transform(name, part, **options) for part in x])


@pytest.mark.parametrize("name", ["rfft", "irfft2", "dct", "fht"])
def test_vmap_over_an_axis_that_is_not_split(name):
    case, options = EVEN[name]
    mesh = mesh_of(case.mesh)
    x = random((3, *case.shape), kind_of(name))
    batch = Case(case.mesh, P(None, *case.spec), x.shape)
    want = sliced(name, x, options)
    got = jax.vmap(lambda v: getattr(tpufft, name)(v, **options))(put(x, batch))
    check(got, want, result_dtype_of(name, x.dtype), mesh, batch.spec, times=slack(name))
    program, found = compiled(jax.vmap(call_of(name, mesh, case.spec, options)), put(x, batch))
    assert "all-gather" not in found, found
    check(program(put(x, batch)), want, result_dtype_of(name, x.dtype), mesh, batch.spec, times=slack(name))


SPLIT = Case("x4y2", P("x", "y"), (4, 6))  # a batch of four over x, a line over y: rfft of 6 gives 4


@pytest.mark.parametrize("name", ["rfft", "dct"])
def test_eager_vmap_over_an_axis_that_is_split(name):
    for axis_type in (AUTO, EXPLICIT):
        x = random(SPLIT.shape, "float64")
        mesh = mesh_of("x4y2", axis_type)
        with context(mesh):
            got = jax.vmap(getattr(tpufft, name))(put(x, SPLIT, axis_type))
        check(got, sliced(name, x, {}), result_dtype_of(name, x.dtype), mesh, P("x", "y"), times=2)


@pytest.mark.parametrize("name", ["rfft", "dct"])
def test_jitted_vmap_over_an_axis_that_is_split(name):
    """Explicit types show the batch's axis; on an Auto mesh spmd_axis_name says it. Backwards too."""
    x = random(SPLIT.shape, "float64")
    matrix = oracle.linear_map(name, SPLIT.shape[1:])
    gradient = np.stack([back(name, matrix, 2 * np.conj(forward(name, matrix, part))) for part in x])
    for axis_type in (AUTO, EXPLICIT):
        mesh, argument = mesh_of("x4y2", axis_type), put(x, SPLIT, axis_type)
        names = {"spmd_axis_name": "x"} if axis_type is AUTO else {}
        call = call_of(name, mesh, P("y"), {}) if axis_type is AUTO else getattr(tpufft, name)
        program, found = compiled(jax.vmap(call, **names), argument)
        assert "all-gather" not in found, found
        got = program(argument)
        check(got, sliced(name, x, {}), result_dtype_of(name, x.dtype), mesh, P("x", "y"), times=2)
        program, found = compiled(jax.vmap(jax.grad(lambda v, call=call: power(call(v))), **names), argument)
        assert "all-gather" not in found, found
        check(program(argument), gradient, x.dtype, mesh, P("x", "y"), times=3)


def test_vmap_to_and_of_uneven_chunks():
    """The batch axis is the first of the ChunkedArray that comes back, and may be mapped over again."""
    mesh, x = mesh_of("x8"), random((3, 16), "float64")
    want = oracle.transform("rfft", x)
    got = jax.vmap(lambda v: tpufft.rfft(v, mesh, spec=P("x")))(put(x, Case("x8", P(None, "x"), x.shape)))
    check_result(got, want, np.complex128, mesh, P(None, "x"))
    again = jax.vmap(lambda z: tpufft.irfft(z, mesh, spec=P("x")))(place(want, Case("x8", P(None, "x"), want.shape)))
    check_result(again, x, np.float64, mesh, P(None, "x"), times=2)
