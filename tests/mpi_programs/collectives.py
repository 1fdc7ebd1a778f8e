"""Collectives against NumPy: every function, every operation, every dtype, trees, and a part of the processes."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from checks import check, data, everyone
from mpi4py import MPI

from tpufft.comm import mpi

RANK, SIZE = mpi.rank(), mpi.size()
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")
OPS = {
    "sum": np.add,
    "prod": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
}


def second(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """What the process with the higher rank has: associative, but in order only."""
    return b


@check
def moves_of_rows_and_values() -> None:
    root = SIZE - 1

    @jax.jit
    def program(x, rows):
        return {
            "bcast": mpi.bcast(x, root=root),
            "scatter": mpi.scatter(rows, root=root),
            "gather": mpi.gather(x, root=root),
            "allgather": mpi.allgather(x),
            "alltoall": mpi.alltoall(rows),
        }

    got = program(data(RANK, 3, 2), data(RANK, SIZE, 5, seed=1))
    x, rows = everyone(3, 2), everyone(SIZE, 5, seed=1)
    wanted = {
        "bcast": x[root],
        "scatter": rows[root, RANK],
        "gather": x if root == RANK else np.zeros_like(x),
        "allgather": x,
        "alltoall": rows[:, RANK],
    }
    for name, value in wanted.items():
        np.testing.assert_array_equal(got[name], value, err_msg=name)


@check
def reductions_with_every_operation() -> None:
    def numbers(rank):
        return np.random.default_rng(rank).integers(-1, 3, (4, 3))

    functions = {**OPS, second: second}

    @jax.jit
    def program(x):
        return [(mpi.allreduce(x, op), mpi.scan(x, op), mpi.reduce(x, op, root=1)) for op in functions]

    got = program(numbers(RANK))
    for (op, function), (everywhere, prefix, at_root) in zip(functions.items(), got, strict=True):
        prefixes = [numbers(0).astype(bool) if str(op).startswith("logical") else numbers(0)]
        for rank in range(1, SIZE):
            prefixes.append(function(prefixes[-1], numbers(rank)))
        np.testing.assert_array_equal(everywhere, prefixes[-1], err_msg=str(op))
        np.testing.assert_array_equal(prefix, prefixes[RANK], err_msg=str(op))
        if RANK == 1:
            np.testing.assert_array_equal(at_root, prefixes[-1], err_msg=str(op))


@check
def every_dtype_in_one_tree() -> None:
    def tree(rank):
        values = data(rank, 7) + 1j * data(rank, 7, seed=1) * 0.5
        values = {name: (4 * abs(values.real) if name[-1].isdigit() and "int" in name else values) for name in names}
        return {name: (x if "complex" in name else x.real).astype(jnp.dtype(name)) for name, x in values.items()}

    names = (*INTEGERS, *FLOATS)
    trees = [tree(rank) for rank in range(SIZE)]
    flags = [data(rank, 7, seed=2) > 0 for rank in range(SIZE)]

    @jax.jit
    def program(x, flag):
        moved = mpi.sendrecv((x, flag), (x, flag), (RANK + 1) % SIZE, (RANK - 1) % SIZE)
        return moved, mpi.allreduce(x), mpi.allreduce(flag, "logical_or")

    (moved, moved_flag), total, some = program(trees[RANK], flags[RANK])
    np.testing.assert_array_equal(moved_flag, flags[RANK - 1])
    np.testing.assert_array_equal(some, functools.reduce(np.logical_or, flags))
    for name in names:
        assert moved[name].dtype == total[name].dtype == jnp.dtype(name)
        np.testing.assert_array_equal(moved[name], trees[RANK - 1][name], err_msg=name)
        wide = np.complex128 if "complex" in name else np.float64
        wanted = sum(each[name].astype(wide) for each in trees)
        error = 1e-2 if "16" in name and "int" not in name else 1e-6
        np.testing.assert_allclose(np.asarray(total[name]).astype(wide), wanted, rtol=error, atol=error, err_msg=name)


@check
def a_part_of_the_processes() -> None:
    part = MPI.COMM_WORLD.Split(color=RANK % 2, key=-RANK)
    mine = [rank for rank in reversed(range(SIZE)) if rank % 2 == RANK % 2]
    assert mpi.rank(comm=part) == mine.index(RANK)
    assert mpi.size(comm=part) == len(mine)
    total = jax.jit(lambda x: mpi.allreduce(x, comm=part))(data(RANK, 3))
    np.testing.assert_allclose(total, sum(data(rank, 3) for rank in mine))
    np.testing.assert_array_equal(mpi.bcast(data(RANK, 3), root=0, comm=part), data(mine[0], 3))
    part.Free()


@check
def empty_arrays_scalars_and_python_numbers() -> None:
    assert mpi.allreduce(jnp.zeros((0, 3))).shape == (0, 3)
    assert mpi.allgather(jnp.zeros((2, 0))).shape == (SIZE, 2, 0)
    assert mpi.allreduce(RANK) == SIZE * (SIZE - 1) // 2
    with pytest.raises(ValueError, match=str(SIZE)):
        mpi.alltoall(jnp.zeros((SIZE + 1, 2)))


@check
def single_numbers_and_flags_of_every_kind() -> None:
    for name in FLOATS:
        for op in ("sum", "prod") if "complex" in name else ("sum", "prod", "max", "min"):
            wanted = functools.reduce(OPS[op], [np.float64(rank + 1) for rank in range(SIZE)])
            mine = jnp.asarray(RANK + 1, name)
            for got in (mpi.allreduce(mine, op), mpi.reduce(mine, op), mpi.scan(mine, op)):
                assert got.shape == ()
                assert got.dtype == jnp.dtype(name)
            assert complex(mpi.allreduce(mine, op)) == wanted, (name, op)
    for shape in ((), (3,)):
        flags = [np.full(shape, rank == 1) for rank in range(SIZE)]
        for op in ("max", "min"):
            got = mpi.allreduce(jnp.asarray(flags[RANK]), op)
            assert got.dtype == bool
            np.testing.assert_array_equal(got, functools.reduce(OPS[op], flags))


@check
def nobody_is_none() -> None:
    for wrong in (-1, SIZE, MPI.PROC_NULL):
        with pytest.raises(ValueError, match=r"None, not MPI\.PROC_NULL, is nobody"):
            mpi.send(jnp.zeros(2), wrong)
    with pytest.raises(TypeError, match="'a' is neither a number nor an array"):
        mpi.allreduce("a")
