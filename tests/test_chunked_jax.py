"""Chunked arrays under derivatives and JAX's transformations: chunking kept, padding never seen."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from tests.chunked_cases import CASES, FULL, KINDS, UNEVEN, Case, check, check_stored, check_sum, every, made, poisoned
from tests.helpers import (
    AUTO,
    EXPLICIT,
    context,
    counted_work,
    mesh_of,
    random,
    some,
)
from tpufft.chunked import ChunkedArray, chunk, elementwise, vdot
from tpufft.errors import LayoutError

# -- derivatives ---------------------------------------------------------------------------------------------------


@pytest.mark.each_value
@KINDS
@pytest.mark.parametrize("name", some(FULL))
def test_gradients_never_see_padding(name: str, axis_type: Any) -> None:
    case = FULL[name]
    mesh = mesh_of(case.mesh, axis_type)
    c, x = made(case, axis_type=axis_type)
    d, y = made(case, axis_type=axis_type, seed=1)
    functions = {
        "square": (lambda c: (c * c).sum(), 2 * x),
        "reciprocal": (lambda c: (1 / c).sum(), -1 / x**2),
        "log": (lambda c: np.log(c * c).sum(), 2 / x),
        "norm": (lambda c: c.norm(), x / np.linalg.norm(x)),
        "inner product": (lambda c: vdot(c, d), y),
        "maximum": (lambda c: c.max(), (x == x.max()).astype(float)),
        "mean along an axis": (lambda c: (c.mean(axis=0) ** 2).sum() if c.ndim else c.sum(), _mean_gradient(x)),
        "with an array": (lambda c: (c * y).sum(), y),
        "square root": (lambda c: np.sqrt(abs(c)).sum(), np.sign(x) / np.sqrt(np.abs(x)) / 2),
    }
    with context(mesh):
        for function, want in functions.values():
            for gradient in (jax.grad(function), jax.jit(jax.grad(function))):
                got = gradient(c)
                check(got, want, c, times=4)
                assert not np.isnan(np.asarray(got.data)).any()


def _mean_gradient(x: np.ndarray) -> np.ndarray:
    return np.broadcast_to(2 * x.mean(axis=0) / x.shape[0], x.shape) if x.ndim else np.ones_like(x)


@every(UNEVEN)
def test_gradients_of_other_arguments(case: Case) -> None:
    c, x = made(case)
    one = np.ones_like(x)
    check_sum(jax.grad(lambda s: np.log(c * c + s).sum())(0.5), 1 / (x * x + 0.5), times=4)
    check(jax.grad(lambda y: (c / y).sum())(one * 2), -x / 4, times=4)
    check(jax.jit(jax.grad(lambda y: (c / y).sum()))(one * 2), -x / 4, times=4)
    check_sum(jax.grad(lambda y: (c * y).sum())(x[:1]), x, 0, keepdims=True)
    # Singular at the value that stands in for padding, and nowhere else.
    shifted = lambda a, s: jnp.log(jnp.abs(a - s))  # noqa: E731
    check_sum(jax.grad(lambda s: elementwise(shifted, c + 3, s).sum())(1.0), -1 / (x + 2), times=4)


@every(UNEVEN)
def test_forward_and_second_derivatives(case: Case) -> None:
    c, x = made(case)
    t, v = made(case, seed=1)
    value, tangent = jax.jvp(lambda c: (1 / c).sum(), (c,), (t,))
    check_sum(value, 1 / x)
    check_sum(tangent, -v / x**2, times=4)
    value, tangent = jax.jvp(lambda c: np.sin(c) * c, (c,), (t,))
    check(tangent, v * (np.cos(x) * x + np.sin(x)), c, times=4)
    hessian_times = jax.jvp(jax.grad(lambda c: (c * c * c).sum()), (c,), (t,))[1]
    check(hessian_times, 6 * x * v, c, times=4)
    reverse = jax.grad(lambda c: vdot(jax.grad(lambda c: (1 / c).sum())(c), t))(c)
    check(reverse, 2 * v / x**3, c, times=4)
    y, pull = jax.vjp(np.exp, c)
    check(pull(poisoned(y))[0], np.exp(x) ** 2, c, times=4)


def test_complex_gradient_is_that_of_jax() -> None:
    c, x = made(CASES["uneven both"], np.complex128)
    want = jax.grad(lambda x: jnp.sum(jnp.abs(x) ** 2 + jnp.real(x * x)))(jnp.asarray(x))
    check(jax.grad(lambda c: (abs(c) ** 2 + (c * c).real).sum())(c), np.asarray(want), c, times=4)


# -- jax's transformations -----------------------------------------------------------------------------------------


@pytest.mark.each_value
@KINDS
@every(CASES)
def test_jit(case: Case, axis_type: Any) -> None:
    c, x = made(case, axis_type=axis_type)
    check(jax.jit(lambda c: c)(c), x, exact=True)
    got = jax.jit(lambda c: np.cos(c) + 2 * c)(c)
    check(got, np.cos(x) + 2 * x)
    assert got.layout == c.layout
    if c.size:
        check_stored(got)
    with counted_work() as counts:
        jax.jit(lambda c: c)
        again = jax.tree.unflatten(jax.tree.structure(c), jax.tree.leaves(c))
    assert again.layout == c.layout
    assert not counts


def test_tree() -> None:
    c, x = made(CASES["uneven both"], np.float32)
    (path, leaf), *rest = jax.tree_util.tree_flatten_with_path(c)[0]
    assert not rest
    assert jax.tree_util.keystr(path) == ".data"
    assert leaf is c.data
    half = jax.tree.map(lambda a: a.astype(np.float16), c)
    assert half.dtype == np.float16
    check(jax.tree.map(lambda a, b: a + b, c, half).astype(np.float16), x.astype(np.float16) * 2, c)
    for placeholder in (None, object(), 3, "leaf"):
        assert jax.tree.unflatten(jax.tree.structure(c), [placeholder]).layout == c.layout
    shapes = jax.eval_shape(lambda c: (c + 1j).sum(axis=0, keepdims=True), c)
    assert (shapes.shape, shapes.dtype) == ((1, 5), np.complex64)
    even, y = made(CASES["even rows"])
    there = jax.device_put(even, NamedSharding(mesh_of("x4y2"), P("y")))
    assert (there.mesh, there.spec) == (mesh_of("x4y2"), P("y"))
    check(there, y, exact=True)
    check(jax.device_get(c), x, exact=True)


@KINDS
def test_vmap(axis_type: Any) -> None:
    mesh = mesh_of("x4y2", axis_type)
    x = random((6, 7, 5), np.float64)
    c = poisoned(chunk(x, mesh, P(None, "x", "y")))
    seen = []

    def inner(row: ChunkedArray) -> ChunkedArray:
        seen.append(row.layout)
        return row / row.max()

    for program in (jax.vmap(inner), jax.jit(jax.vmap(inner))):
        check(program(c), x / x.max(axis=(1, 2), keepdims=True), c)
        assert (seen[-1].shape, seen[-1].spec) == ((7, 5), (("x",), ("y",)))
    middle = poisoned(chunk(x.swapaxes(0, 1), mesh, P("x", None, "y")))
    got = jax.vmap(inner, in_axes=1, out_axes=1)(middle)
    check(got, x.swapaxes(0, 1) / x.swapaxes(0, 1).max(axis=(0, 2), keepdims=True), middle)
    total = jax.vmap(lambda row: row.sum())(c)
    check_sum(total, x, (1, 2))
    with context(mesh):
        check(jax.vmap(jax.grad(lambda row: (1 / row).sum()))(c), -1 / x**2, c)
        check(jax.grad(lambda c: jax.vmap(lambda row: (1 / row).sum())(c).sum())(c), -1 / x**2, c)
    with pytest.raises(LayoutError, match="leaves this axis whole"):
        jax.vmap(inner, in_axes=1)(c)


def test_vmap_over_a_chunked_axis() -> None:
    mesh = mesh_of("x4y2")
    x = random((8, 5), np.float64)
    c = poisoned(chunk(x, mesh, P("x", "y")))
    for axis_name in (None, "x"):
        for wrap in (lambda f: f, jax.jit):
            got = wrap(jax.vmap(lambda row: row * 2 + 1, spmd_axis_name=axis_name))(c)
            check(got, 2 * x + 1, c)


@KINDS
def test_scan(axis_type: Any) -> None:
    mesh = mesh_of("x4y2", axis_type)
    x = random((6, 7, 5), np.float64)
    c = poisoned(chunk(x, mesh, P(None, "x", "y")))
    start = chunk(np.zeros((7, 5)), mesh, P("x", "y"))

    def step(carry: ChunkedArray, row: ChunkedArray) -> tuple[ChunkedArray, ChunkedArray]:
        carry = carry + 1 / row
        return carry, carry * 2

    def both(c: ChunkedArray) -> tuple[ChunkedArray, ChunkedArray]:
        return jax.lax.scan(step, start, c)

    with context(mesh):
        for program in (both, jax.jit(both)):
            carry, rows = program(c)
            check(carry, (1 / x).sum(axis=0), start, times=4)
            check(rows, 2 * np.cumsum(1 / x, axis=0), c, times=4)
        check(jax.grad(lambda c: both(c)[0].sum())(c), -1 / x**2, c)
        check(jax.lax.fori_loop(0, 3, lambda _, c: c * 2, c), 8 * x, c)
        check_sum(jax.checkpoint(lambda c: np.sin(c).sum())(c), np.sin(x))
    uneven = chunk(random((7, 5), np.float64), mesh, P("x"))
    # On an Explicit mesh JAX itself refuses a scan over a chunked axis.
    refusal = (LayoutError, "scan") if axis_type is AUTO else (ValueError, "replicated")
    with pytest.raises(refusal[0], match=refusal[1]):
        jax.lax.scan(lambda carry, row: (carry, row), 0.0, uneven)


def test_a_mesh_seen_only_as_a_type() -> None:
    mesh = mesh_of("x4y2", EXPLICIT)
    x = random((8, 4), np.float64)
    source = jax.device_put(x, NamedSharding(mesh, P("x", "y")))
    c = jax.jit(lambda x: chunk(x) * 2)(source)
    assert c.mesh == mesh
    assert c.spec == P("x", "y")
    check(c, 2 * x)
    check(c + 1, 2 * x + 1, c)
