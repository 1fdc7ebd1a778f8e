"""Chunked arrays: values against numpy, chunking kept, and padding that never shows, NaN put into it by hand."""

from __future__ import annotations

import copy
import doctest
import importlib
import os
import pickle
import pkgutil
import sys
import textwrap
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import tpufft.chunked
from tests.chunked_cases import CASES, KINDS, UNEVEN, Case, check, check_stored, every, made, poisoned
from tests.helpers import (
    EXPLICIT,
    MESHES,
    communicated,
    context,
    mesh_of,
    random,
)
from tpufft.chunked import ChunkedArray, chunk, register_operator, registry
from tpufft.errors import LayoutError
from tpufft.layout import Layout

# -- making one ----------------------------------------------------------------------------------------------------


@pytest.mark.each_value
@KINDS
@every(CASES)
def test_chunk_and_back(case: Case, axis_type: Any) -> None:
    x = random(case.shape, np.float64)
    mesh = mesh_of(case.mesh, axis_type)
    c = chunk(x, mesh, case.spec)
    check_stored(c)
    assert (c.shape, c.dtype, c.ndim, c.size, c.mesh) == (x.shape, x.dtype, x.ndim, x.size, mesh)
    np.testing.assert_array_equal(c.to_numpy(), x)
    np.testing.assert_array_equal(np.asarray(poisoned(c)), x)
    np.testing.assert_array_equal(np.asarray(c.data)[tuple(slice(size) for size in x.shape)], x)
    assert chunk(c) is c
    assert chunk(c, mesh, case.spec) is c


@pytest.mark.each_value
@KINDS
@every(CASES)
def test_from_a_jax_array_wherever_it_is(case: Case, axis_type: Any) -> None:
    x = random(case.shape, np.float32)
    mesh = mesh_of(case.mesh, axis_type)
    sources = [jnp.asarray(x), jax.device_put(x, jax.devices()[3]), jax.device_put(x, NamedSharding(mesh, P()))]
    for source in sources:
        c = chunk(source, mesh, case.spec)
        check_stored(c)
        check(c, x, exact=True)


@KINDS
def test_from_an_array_that_is_chunked_otherwise(axis_type: Any) -> None:
    mesh = mesh_of("x4y2", axis_type)
    x = random((10, 12), np.float64)
    source = jax.device_put(x, NamedSharding(mesh, P("y", "x")))
    own = chunk(source)
    assert own.spec == P("y", "x")
    assert own.data is source
    for spec in (P("x", "y"), P(None, ("x", "y")), P(("y", "x")), P()):
        c = chunk(source, mesh, spec)
        check_stored(c)
        check(c, x, exact=True)
        check(chunk(poisoned(c), spec=P("x")), x, exact=True)


def test_rechunking_to_uneven_chunks_gathers_nothing() -> None:
    """XLA warns where it brings a whole array to every device."""
    script = """
        import tpufft
        tpufft.virtual_devices(4)
        import jax, numpy as np
        from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
        mesh = jax.make_mesh((2, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
        x = np.arange(64 * 62.0).reshape(64, 62)
        y = jax.device_put(x, NamedSharding(mesh, P("y", "x")))
        print(np.array_equal(np.asarray(tpufft.shard(y, mesh, 1)), x))
        print(np.array_equal(np.asarray(tpufft.chunk(y, mesh, P(("x", "y")))), x))
    """
    code, out, complaint = communicated([sys.executable, "-c", textwrap.dedent(script)], os.environ, 120)
    assert code == 0, complaint
    assert out.split() == ["True", "True"]
    assert "rematerialization" not in complaint


def test_axis_types_of_the_mesh_asked_for() -> None:
    x = random((10, 12), np.float64)
    source = jax.device_put(x, NamedSharding(mesh_of("x4y2", EXPLICIT), P("y", "x")))
    c = chunk(source, mesh_of("x4y2"), P("x"))
    check_stored(c)
    assert c.data.sharding.mesh == mesh_of("x4y2")
    check(c, x, exact=True)


@pytest.mark.each_value
@KINDS
@every(UNEVEN)
def test_chunks_move_between_meshes(case: Case, axis_type: Any) -> None:
    c, x = made(case, axis_type=axis_type)
    for mesh, spec in (("x8", P("x")), ("x2y2z2", P(("z", "y"))), ("x1", P()), ("x4y2", P("x"))):
        there = chunk(c, mesh_of(mesh, axis_type), spec)
        check_stored(there)
        assert there.mesh == mesh_of(mesh, axis_type)
        check(there, x, exact=True)


def test_defaults() -> None:
    x = np.arange(10)
    assert chunk(x).mesh.axis_names == ("x",)
    assert chunk(x).layout.parts == (8,)
    mesh = mesh_of("x4y2")
    assert chunk(np.ones((3, 2)), mesh).spec == P(("x", "y"))
    with jax.set_mesh(mesh):
        assert chunk(x).mesh == mesh
    assert chunk([1.0, 2.0]).to_numpy().tolist() == [1.0, 2.0]
    assert chunk(3).item() == 3
    assert chunk(np.float32(2)).dtype == np.float32


@KINDS
@every({name: CASES[name] for name in ("even rows", "uneven both", "tiny", "no axes")})
def test_chunk_under_jit(case: Case, axis_type: Any) -> None:
    mesh = mesh_of(case.mesh, axis_type)
    x = random(case.shape, np.float64)
    c = jax.jit(lambda x: chunk(x, mesh, case.spec))(x)
    check_stored(c)
    check(c, x, exact=True)
    moved = jax.jit(lambda c: chunk(c, spec=P()))(poisoned(c))
    check(moved, x, exact=True)
    assert moved.spec == P()
    gradient = jax.jit(jax.grad(lambda x: (chunk(x, mesh, case.spec) ** 2).sum()))(x)
    check(gradient, 2 * x)
    with context(mesh):
        check(jax.grad(lambda x: (chunk(x, mesh, case.spec) ** 2).sum())(x), 2 * x)


def test_wrong_chunks() -> None:
    mesh = mesh_of("x8")
    there = jax.device_put(np.ones(8), NamedSharding(mesh, P("x")))
    with pytest.raises(LayoutError, match=r"x=4, y=2.*x=8"):
        chunk(there, mesh_of("x4y2"))
    with pytest.raises(LayoutError, match="pass mesh="):
        jax.jit(chunk)(np.ones(8))
    with pytest.raises(LayoutError, match="names the mesh axis"):
        chunk(np.ones(8), mesh, P("y"))
    with pytest.raises(TypeError, match=r"mesh=.* is no"):
        chunk(np.ones(8), 8)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="dtype <U1"):
        chunk(["a", "b"], mesh)  # type: ignore[arg-type]
    with pytest.raises(LayoutError, match="shard_map"):
        jax.shard_map(lambda x: chunk(x).data, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(np.ones(8))
    layout = Layout.of((10,), np.float32, mesh, P("x"))
    with pytest.raises(LayoutError, match=r"\(10,\).*\(16,\)"):
        ChunkedArray.from_data(np.ones(10, np.float32), layout)
    with pytest.raises(LayoutError, match=r"float64.*float32"):
        ChunkedArray.from_data(np.ones(16), layout)


# -- what it becomes -----------------------------------------------------------------------------------------------


@pytest.mark.each_value
@KINDS
@every(CASES)
def test_to_jax(case: Case, axis_type: Any) -> None:
    c, x = made(case, axis_type=axis_type)
    whole = c.to_jax(replicated=True)
    assert isinstance(whole, jax.Array)
    assert whole.sharding.is_fully_replicated
    np.testing.assert_array_equal(np.asarray(whole), x)
    np.testing.assert_array_equal(jax.jit(lambda c: c.to_jax(replicated=True))(c), x)
    if c.layout.is_even:
        assert c.to_jax() is c.data
    else:
        with pytest.raises(LayoutError, match=r"to_jax\(replicated=True\).*tpufft\.chunk"):
            c.to_jax()


def test_python_protocols() -> None:
    c = chunk(random((10, 6), np.float32), mesh_of("x8"))
    assert len(c) == 10
    assert repr(c) == "ChunkedArray(float32 (10, 6) on mesh x=8, chunked P('x', None), padded to (16, 6))"
    assert c.block_until_ready() is c
    assert np.array(c, np.float64).dtype == np.float64
    with pytest.raises(ValueError, match="copy"):
        np.array(c, copy=False)
    with pytest.raises(TypeError, match="to_numpy"):
        iter(c)
    with pytest.raises(TypeError, match="unhashable"):
        hash(c)
    with pytest.raises(ValueError, match="size 1"):
        bool(c)
    with pytest.raises(TypeError, match="without axes"):
        len(chunk(1.0))
    one = chunk([2.0])
    assert (one.item(), float(one), int(one), complex(one), bool(one)) == (2.0, 2.0, 2, 2 + 0j, True)
    assert not hasattr(c, "__jax_array__")
    with pytest.raises(TypeError):
        jnp.sin(c)


# -- what floors above define --------------------------------------------------------------------------------------


def test_operators_are_registered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_REGISTERED", {})
    c, x = made(CASES["uneven both"])
    with pytest.raises(TypeError, match="unsupported operand"):
        c @ c
    with pytest.raises(TypeError, match="to_numpy"):
        c[0]
    product = lambda a, b: np.asarray(a) @ np.asarray(b)  # noqa: E731
    register_operator("matmul", product)
    register_operator("matmul", product)
    register_operator("getitem", lambda a, index: a.to_numpy()[index])
    np.testing.assert_array_equal(c @ x.T, x @ x.T)
    np.testing.assert_array_equal(x.T @ c, x.T @ x)
    np.testing.assert_array_equal(c.T, x.T)
    np.testing.assert_array_equal(c[1:3], x[1:3])
    with pytest.raises(ValueError, match="registered already"):
        register_operator("matmul", lambda a, b: a)
    with pytest.raises(ValueError, match="'dot' is no operator"):
        register_operator("dot", product)


def test_subclasses_are_pytrees_and_keep_their_type() -> None:
    class Rows(ChunkedArray):
        pass

    c, x = made(CASES["uneven both"])
    rows = Rows(c.data, c.layout)
    check(rows * 2 + c, 3 * x, c)
    assert type(rows * 2) is Rows
    assert type(jax.jit(lambda r: r)(rows)) is Rows
    assert type(rows.sum(axis=0)) is ChunkedArray


def test_examples() -> None:
    modules = [tpufft.chunked.__name__ + "." + item.name for item in pkgutil.iter_modules(tpufft.chunked.__path__)]
    results = [doctest.testmod(importlib.import_module(name)) for name in modules]
    assert sum(result.attempted for result in results) > 10
    assert not any(result.failed for result in results)


def test_every_mesh_is_met() -> None:
    assert {case.mesh for case in CASES.values()} == set(MESHES)


def test_no_pickle_but_copies() -> None:
    c = chunk(np.arange(5.0), mesh_of("x8"))
    with pytest.raises(TypeError, match=r"cannot be pickled.*to_numpy\(\).*tpufft.save"):
        pickle.dumps(c)
    assert copy.copy(c) is copy.deepcopy(c) is c
