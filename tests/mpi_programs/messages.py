"""Messages between two processes: all happen, in the order of the program, wherever they stand."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from checks import check, data, everyone
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from mpi4py import MPI

from tpufft.comm import mpi
from tpufft.errors import LayoutError

RANK, SIZE = mpi.rank(), mpi.size()
NEXT, LAST = (RANK + 1) % SIZE, (RANK - 1) % SIZE


def around(x: jax.Array, tag: int = 0) -> jax.Array:
    return mpi.sendrecv(x, x, NEXT, LAST, sendtag=tag, recvtag=tag)


@check
def sends_and_receives_eagerly() -> None:
    if RANK == 0:
        got = mpi.recv(jnp.zeros(3), source=1)
        np.testing.assert_array_equal(got, data(1, 3))
    elif RANK == 1:
        mpi.send(data(1, 3), dest=0)


@check
def sends_and_receives_in_jit_with_a_status() -> None:
    @jax.jit
    def program(x):
        if RANK == 0:
            got, status = mpi.recv(x, status=True)  # from any process, any tag
            return mpi.keep(got, mpi.send(got + 1, dest=1)), status
        handle = mpi.send(x, dest=0, tag=7)
        return mpi.recv(mpi.keep(x, handle), source=0), None

    if RANK < 2:
        got, status = program(jnp.asarray(data(RANK, 3)))
        np.testing.assert_array_equal(got, data(1, 3) + (RANK == 1))
        if RANK == 0:
            assert isinstance(status, mpi.Status)
            assert [int(field) for field in status] == [1, 7, 3]
            assert all(field.dtype == np.int32 for field in status)


@check
def results_that_nobody_uses_happen_in_their_place() -> None:
    @jax.jit
    def program(x):
        if RANK == 0:
            for number in range(3):
                mpi.send(x + number, dest=1)
            return x
        mpi.recv(x, source=0)
        second = mpi.recv(x, source=0)
        mpi.recv(x, source=0)
        return second

    if RANK < 2:
        assert program(jnp.zeros(()))[()] == (RANK == 1)


@check
def the_own_mpi_calls_of_a_process_come_before_and_after() -> None:
    own = MPI.COMM_WORLD.Dup()
    if RANK == 0:
        assert own.recv(source=1) == "before"
        assert mpi.recv(jnp.zeros(2), source=1)[1] == 1
        assert own.recv(source=1) == "after"
    elif RANK == 1:
        own.send("before", dest=0)
        mpi.send(jnp.arange(2.0), dest=0)
        own.send("after", dest=0)
    mpi.barrier()
    own.Free()


@check
def rounds_of_messages_that_depend_on_nothing_agree() -> None:
    @jax.jit
    def shuffled(x):
        return [around(x[number], tag) for tag, number in enumerate(order)]

    @jax.jit
    def tagged(x):
        for number in order:
            mpi.send(x[number], dest=NEXT, tag=number)
        return [mpi.recv(x[0], source=LAST, tag=number) for number in reversed(range(6))]

    for seed in range(2):
        order = [int(number) for number in np.random.default_rng(seed).permutation(6)]
        shuffled.clear_cache()
        tagged.clear_cache()
        for turn in range(50):
            x = data(RANK, 6, 5, seed=100 * seed + turn)
            wanted = data(LAST, 6, 5, seed=100 * seed + turn)
            np.testing.assert_array_equal(np.stack(shuffled(x)), wanted[np.array(order)])
            np.testing.assert_array_equal(np.stack(tagged(x)), wanted[::-1])


@check
def messages_in_loops_and_branches() -> None:
    @jax.jit
    def scanned(x):
        return lax.scan(lambda x, _: (mpi.allreduce(x) / SIZE + 1, around(x)), x, None, length=50)

    end, each = scanned(jnp.float64(RANK))
    mean = (SIZE - 1) / 2
    assert end == pytest.approx(mean + 50)
    np.testing.assert_allclose(each, [LAST, *(mean + np.arange(1, 50))])

    @jax.jit
    def branched(x, how_often):
        moved = lax.while_loop(lambda c: c[0] < how_often, lambda c: (c[0] + 1, around(c[1])), (0, x))[1]
        return lax.cond(how_often > 2, around, lambda x: -x, moved)

    assert branched(jnp.float64(RANK), 2) == -((RANK - 2) % SIZE)
    assert branched(jnp.float64(RANK), 3) == (RANK - 4) % SIZE


@check
def a_batch_is_one_message() -> None:
    from tpufft.comm.mpi import primitive

    calls, perform = [], primitive.perform

    def counted(call, *operands):
        calls.append(call.function)
        return perform(call, *operands)

    primitive.perform = counted
    try:
        x = data(RANK, SIZE, 4, 3)  # the batch is axis 1
        batched = jax.jit(
            jax.vmap(
                lambda x: [around(x), mpi.allreduce(x), mpi.scan(x), mpi.allgather(x[0]), mpi.alltoall(x)],
                in_axes=1,
            )
        )
        moved, total, prefix, gathered, turned = batched(x)
    finally:
        primitive.perform = perform
    assert calls == ["sendrecv", "allreduce", "scan", "allgather", "alltoall"]
    everything = everyone(SIZE, 4, 3).transpose(0, 2, 1, 3)  # process, batch, row, column
    np.testing.assert_array_equal(moved, everything[LAST])
    np.testing.assert_allclose(total, everything.sum(0))
    np.testing.assert_allclose(prefix, everything[: RANK + 1].sum(0))
    np.testing.assert_array_equal(gathered, everything[:, :, 0].transpose(1, 0, 2))
    np.testing.assert_array_equal(turned, everything[:, :, RANK].transpose(1, 0, 2))


@check
def an_operand_on_two_devices() -> None:
    mesh = jax.make_mesh((2,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    x = jax.device_put(data(RANK, 4), NamedSharding(mesh, P("x")))
    for program in (around, jax.jit(around)):
        np.testing.assert_array_equal(program(x), data(LAST, 4))


@check
def what_cannot_be_is_refused_where_it_is_called() -> None:
    x = jnp.zeros(2)
    for wrong in (-77, SIZE):  # -1 to -3 mean something to MPI libraries
        with pytest.raises(ValueError, match=f"source={wrong}.*0 to {SIZE - 1}"):
            mpi.recv(x, source=wrong)
        with pytest.raises(ValueError, match=f"dest={wrong}.*0 to {SIZE - 1}"):
            jax.jit(lambda x, wrong=wrong: mpi.send(x, dest=wrong))(x)
        with pytest.raises(ValueError, match=f"root={wrong}.*0 to {SIZE - 1}"):
            mpi.bcast(x, root=wrong)
    with pytest.raises(ValueError, match="tag=-77"):
        mpi.send(x, dest=0, tag=-77)
    with pytest.raises(TypeError, match="comm="):
        mpi.allreduce(x, comm="world")
    with pytest.raises(ValueError, match="seconds"):
        mpi.timeout(0)
    mesh = jax.make_mesh((2,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    mapped = jax.shard_map(mpi.allreduce, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    with pytest.raises(LayoutError, match=r"tpufft\.comm\.allreduce"):
        mapped(x)
