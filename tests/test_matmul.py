"""Products of chunked matrices: values for every pairing of chunkings, dtypes, batches, vectors; what comes back."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import AUTO, EXPLICIT, check_chunks, context, mesh_of, poisoned, some
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from products import SPECS, Pairing, check_product, exact, numbers, pairings

import tpufft
from tpufft import ChunkedArray, ColumnChunked, LayoutError, RowChunked, chunk, matmul, plan_matmul

SCHEDULES = ("auto", "ring", "bidirectional", "gather", "summa")
ROWS = Pairing("x8", "rows", "rows")
BLOCKS = Pairing("x4y2", "blocks", "blocks", (13, 11, 6))
PAIRINGS = {str(pairing): pairing for pairing in pairings()}


# -- every pairing -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", some(PAIRINGS, lambda number, _: number % 2 == 0 or number < 9))
def test_every_pairing(name: str) -> None:
    a, b = PAIRINGS[name].operands()
    with context(a.mesh):
        c = a @ b
    check_product(c, a, b)
    assert isinstance(c, ChunkedArray)
    plan = plan_matmul(a, b)
    assert plan.out_layout == c.layout
    assert plan.schedule != "gather"
    assert "all-gather" not in plan.hlo_collectives()
    assert plan.hlo_collectives() == plan.program.collectives


@pytest.mark.each_value
@pytest.mark.parametrize("schedule", ["ring", "bidirectional", "gather"])
@pytest.mark.parametrize("name", some(PAIRINGS, lambda number, _: number % 8 == 1))
def test_every_schedule(name: str, schedule: str) -> None:
    a, b = PAIRINGS[name].operands()
    with context(a.mesh):
        check_product(matmul(a, b, schedule=schedule), a, b)
        plan = plan_matmul(a, b, schedule=schedule)
    assert plan.schedule in (schedule, "local") or (schedule == "gather" and plan.schedule == "reduce")
    assert plan.hlo_collectives() == plan.program.collectives


@pytest.mark.each_value
@pytest.mark.parametrize("left", ["blocks", "turned blocks", "rows", "whole"])
@pytest.mark.parametrize("right", ["blocks", "turned blocks", "columns"])
def test_summa(left: str, right: str) -> None:
    a, b = Pairing("x4y2", left, right).operands()
    if "blocks" not in left + right:
        with pytest.raises(LayoutError, match=r"does not cover .* use schedule='auto' or schedule='ring'"):
            matmul(a, b, schedule="summa")
        return
    check_product(matmul(a, b, schedule="summa"), a, b)
    plan = plan_matmul(a, b, schedule="summa")
    assert plan.schedule == "summa"
    assert plan.hlo_collectives() == plan.program.collectives


RESULTS = {
    ("rows", "rows"): P("x"),
    ("rows", "columns"): P("x"),
    ("rows", "whole"): P("x"),
    ("columns", "rows"): P("x"),
    ("columns", "columns"): P(None, "x"),
    ("columns", "whole"): P("x"),
    ("whole", "rows"): P("x"),
    ("whole", "columns"): P(None, "x"),
    ("whole", "whole"): P(),
}


@pytest.mark.parametrize("kinds", RESULTS, ids=" @ ".join)
def test_the_result_is_row_chunked_except_of_columns(kinds: tuple[str, str]) -> None:
    a, b = Pairing("x8", *kinds).operands()
    c = a @ b
    assert c.spec == RESULTS[kinds]
    assert type(c) is ChunkedArray
    if "whole" in kinds[:1]:
        return
    maker = {"rows": RowChunked, "columns": ColumnChunked}[kinds[0]]
    c = maker.from_array(a.to_numpy(), a.mesh) @ b
    kind = {P("x"): RowChunked, P(None, "x"): ColumnChunked, P(): ChunkedArray}[RESULTS[kinds]]
    assert type(c) is kind


@pytest.mark.parametrize("other", ["whole", "rows", "columns", "blocks", "rows over both", "columns over both"])
def test_blocks_stay_blocks(other: str) -> None:
    for kinds in (("blocks", other), (other, "blocks")):
        a, b = Pairing("x4y2", *kinds).operands()
        c = a @ b
        check_product(c, a, b)
        assert c.spec == P("x", "y"), kinds


# -- dtypes and precision ---------------------------------------------------------------------------------------------

DTYPES = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128", "int32", "int64", "uint32", "bool")


@pytest.mark.each_value
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("schedule", ["ring", "auto"])
def test_every_dtype(dtype: str, schedule: str) -> None:
    a, b = (numbers(shape, jnp.dtype(dtype), seed) for seed, shape in enumerate(((11, 13), (13, 5))))
    mesh = mesh_of("x8")
    c = matmul(poisoned_if(RowChunked.from_array(a, mesh)), RowChunked.from_array(b, mesh), schedule=schedule)
    assert c.dtype == jnp.dtype(dtype)
    if c.dtype.kind in "biu":
        np.testing.assert_array_equal(c.to_numpy(), a @ b)
    else:
        check_product(c, a.astype(np.complex128 if c.dtype.kind == "c" else np.float64), exact(b.astype(c.dtype)))


def poisoned_if(c: Any) -> Any:
    return poisoned(c) if c.dtype.kind in "fc" else c


@pytest.mark.parametrize(("left", "right"), [("float32", "complex64"), ("complex64", "float32"), ("int32", "float32")])
def test_mixed_dtypes(left: str, right: str) -> None:
    a, b = ROWS.operands(left, right)
    c = a @ b
    assert c.dtype == np.result_type(left, right) or c.dtype == jnp.result_type(left, right)
    check_product(c, a, b)


def test_halves_are_summed_in_singles() -> None:
    a, b = (np.ones(shape, np.float16) for shape in ((8, 4096), (4096, 8)))
    mesh = mesh_of("x8")
    # 2049 has no half: a sum in halves would stay at 2048.
    c = RowChunked.from_array(a, mesh) @ RowChunked.from_array(b, mesh)
    assert c.dtype == np.float16
    assert (c.to_numpy() == 4096).all()


@pytest.mark.parametrize("precision", ["default", "high", "highest", "bfloat16", "float32", "BF16_BF16_F32"])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_precision_never_drops_imaginary_parts(precision: str, dtype: str) -> None:
    a, b = ROWS.operands(dtype)
    # Some CPUs multiply bfloat16 itself, where that is asked for: it has 8 bits of a single number's 24.
    check_product(matmul(a, b, precision=precision), a, b, times=2**12 if precision == "BF16_BF16_F32" else 4)


def test_three_products_of_planes_below_full_precision() -> None:
    a, b = ROWS.operands("complex64")
    counts = []
    for precision in ("highest", "default"):
        text = plan_matmul(a, b, precision=precision).lower().as_text()
        counts.append([line for line in text.splitlines() if "dot_general" in line])
    assert "x2x" in counts[0][0]
    assert any("3x" in line for line in counts[1])


# -- float64 from singles -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("schedule", ["auto", "ring", "summa"])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_emulated_doubles(schedule: str, dtype: str) -> None:
    a, b = (BLOCKS if schedule == "summa" else ROWS).operands(dtype)
    c = matmul(a, b, schedule=schedule, precision="float64_emulated")
    assert c.dtype == np.dtype(dtype)
    want = exact(a) @ exact(b)
    assert np.linalg.norm(c.to_numpy() - want) <= 1e-13 * np.linalg.norm(want)


def test_emulated_gram_and_derivative() -> None:
    a = poisoned(RowChunked.from_array(numbers((13, 3), np.float64), mesh_of("x8")))
    x = a.to_numpy()

    def energy(a: Any) -> Any:
        return (matmul(a.T, a, precision="float64_emulated") ** 2).sum()

    assert abs(energy(a) - ((x.T @ x) ** 2).sum()) < 1e-12 * ((x.T @ x) ** 2).sum()
    got = np.asarray(jax.grad(energy)(a))
    assert np.linalg.norm(got - 4 * x @ (x.T @ x)) < 1e-12 * np.linalg.norm(got)


def test_pairs_of_singles() -> None:
    x, y = numbers((11, 13), np.float64, 1), numbers((13, 5), np.float64, 2)
    mesh = mesh_of("x8")

    def pair(x: np.ndarray) -> tuple[RowChunked, RowChunked]:
        high = x.astype(np.float32)
        return tuple(RowChunked.from_array(part, mesh) for part in (high, (x - high).astype(np.float32)))  # type: ignore[return-value]

    high, low = matmul(pair(x), pair(y), precision="float64_emulated")
    assert high.dtype == low.dtype == np.float32
    assert high.spec == P("x")
    assert type(high) is type(low) is RowChunked
    got = high.to_numpy().astype(np.float64) + low.to_numpy()
    assert np.linalg.norm(got - x @ y) < 1e-13 * np.linalg.norm(x @ y)
    single = matmul(pair(x), y.astype(np.float32), precision="float64_emulated")[0]
    check_product(single, x, y.astype(np.float32))


# -- shapes ----------------------------------------------------------------------------------------------------------


@pytest.mark.each_value
@pytest.mark.parametrize(
    ("left", "right"),
    [((13,), (13, 5)), ((11, 13), (13,)), ((13,), (13,)), ((1, 13), (13, 1)), ((3, 11, 13), (13, 5))],
    ids=str,
)
@pytest.mark.parametrize("axis", [0, -1])
def test_vectors_and_batches(left: tuple[int, ...], right: tuple[int, ...], axis: int) -> None:
    mesh = mesh_of("x8")
    x, y = numbers(left, np.float64, 1), numbers(right, np.float64, 2)

    def split(x: np.ndarray) -> ChunkedArray:
        names = [None] * x.ndim
        names[axis] = "x"
        return poisoned(chunk(x, mesh, P(*names)))

    c = matmul(split(x), split(y))
    assert c.shape == np.matmul(x, y).shape
    check_product(c, x, y)


@pytest.mark.parametrize(
    "specs", [(P("y", "x"), P("y", "x")), (P("y", "x"), P("x")), (P(None, "x"), P("y", None, "x"))]
)
def test_batches_split_and_broadcast(specs: tuple[P, P]) -> None:
    mesh = mesh_of("x4y2")
    x, y = numbers((4, 7, 6), np.float64, 1), numbers((4, 6, 5), np.float64, 2)
    if len(specs[1]) == 1:
        y = y[0]
    if specs[0] == P(None, "x"):
        x = x[:1]
    a, b = poisoned(chunk(x, mesh, specs[0])), poisoned(chunk(y, mesh, specs[1]))
    c = a @ b
    check_product(c, x, y)
    assert c.layout.spec[0] == ("y",)
    assert "all-gather" not in plan_matmul(a, b).hlo_collectives()


@pytest.mark.parametrize("shape", [(0, 3, 4), (5, 0, 4), (5, 3, 0)], ids=str)
def test_nothing_to_multiply(shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    mesh = mesh_of("x8")
    a, b = (RowChunked.from_array(np.ones(size, np.float32), mesh) for size in ((m, k), (k, n)))
    for c in (a @ b, jax.jit(matmul)(a, b)):
        assert c.shape == (m, n)
        np.testing.assert_array_equal(c.to_numpy(), np.zeros((m, n), np.float32))


def test_nan_and_inf_are_carried() -> None:
    a, b = ROWS.operands()
    x, y = a.to_numpy(), b.to_numpy()
    x[2, 3], x[5, 1], y[7, 2] = np.nan, np.inf, -np.inf
    c = RowChunked.from_array(x, a.mesh) @ RowChunked.from_array(y, a.mesh)
    with np.errstate(invalid="ignore"):
        want = x @ y
    np.testing.assert_array_equal(np.isnan(c.to_numpy()), np.isnan(want))
    np.testing.assert_array_equal(np.isinf(c.to_numpy()), np.isinf(want))


def test_nothing_is_worked_out_twice_where_the_result_is_not_split() -> None:
    # A mesh axis that would split operands, but not the product, must not be used.
    for schedule in ("auto", "ring"):
        a, b = Pairing("x4y2", "rows", "columns", (1, 5, 1)).operands()
        check_product(matmul(a, b, schedule=schedule), a, b)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_any_product(data: st.DataObject) -> None:
    mesh = data.draw(st.sampled_from(["x8", "x4y2"]))
    kinds = st.sampled_from(["rows", "columns", "whole"] if mesh == "x8" else list(SPECS))
    sizes = st.sampled_from([1, 2, 3, 5, 8, 11, 16])
    shape = (data.draw(sizes), data.draw(sizes), data.draw(sizes))
    pairing = Pairing(mesh, data.draw(kinds), data.draw(kinds), shape)
    a, b = pairing.operands(data.draw(st.sampled_from(["float32", "complex64"])))
    panel = data.draw(st.none() | st.integers(1, 3))
    schedule = data.draw(st.sampled_from(SCHEDULES[:3]))
    check_product(matmul(a, b, schedule=schedule, panel=panel), a, b)


# -- what comes back ---------------------------------------------------------------------------------------------------


def test_arrays_come_back_as_arrays_where_they_divide() -> None:
    mesh = mesh_of("x8")
    x = jax.device_put(numbers((16, 8), np.float32), NamedSharding(mesh, P("x")))
    c = matmul(x, numbers((8, 3), np.float32))
    assert isinstance(c, jax.Array)
    check_chunks(c, mesh, P("x"))
    uneven = matmul(x.T, numbers((16, 3), np.float32))
    assert isinstance(uneven, jax.Array)
    ragged = matmul(numbers((3, 16), np.float32), x)
    assert isinstance(ragged, ChunkedArray)
    assert ragged.spec == P("x")


def test_numpy_alone_comes_back_whole_where_it_does_not_divide() -> None:
    even, odd = matmul(np.ones((8, 4)), np.ones((4, 2))), matmul(np.ones((3, 4)), np.ones((4, 2)))
    assert isinstance(even, jax.Array)
    assert even.sharding.spec == P("x")
    assert isinstance(odd, jax.Array)
    assert odd.sharding.is_fully_replicated


def test_operators_of_numpy_and_jax_arrays() -> None:
    a, b = ROWS.operands()
    x, y = a.to_numpy(), b.to_numpy()
    for c in (a @ y, x @ b, a @ jnp.asarray(y), jnp.asarray(x) @ b, np.matmul(a, b), np.matmul(x, b)):
        assert isinstance(c, ChunkedArray)
        check_product(c, x, y)


def test_a_transposed_operand_is_not_turned() -> None:
    a, b = ROWS.operands()
    c = b.T @ a.T
    check_product(c, b.to_numpy().T, a.to_numpy().T)
    text = plan_matmul(b.T, a.T).lower().as_text()
    assert "stablehlo.transpose" not in text.split("dot_general")[0]


@pytest.mark.parametrize("axis_type", [AUTO, EXPLICIT])
def test_under_jit(axis_type: Any) -> None:
    a, b = Pairing("x8", "rows", "rows", axis_type=axis_type).operands()
    with context(a.mesh):
        c = jax.jit(lambda a, b: (a @ b) * 2)(a, b)
        d = jax.jit(lambda a: a.T @ a)(a)
    check_product(c, 2 * a.to_numpy(), b)
    check_product(d, a.to_numpy().T, a)
    assert c.spec == d.spec == P("x")


def test_arrays_of_explicit_meshes_under_jit() -> None:
    mesh = mesh_of("x8", EXPLICIT)
    x = jax.device_put(numbers((16, 8), np.float32), NamedSharding(mesh, P("x")))
    y = jax.device_put(numbers((8, 16), np.float32), NamedSharding(mesh, P("x")))
    with context(mesh):
        c = jax.jit(matmul)(x, y)
    check_product(c, x, y)
    check_chunks(c, mesh, P("x"))


def test_the_second_call_compiles_nothing() -> None:
    from helpers import counted_work

    a, b = ROWS.operands()
    a @ b
    with counted_work() as work:
        a @ b
    assert not work


# -- the question from JAX's discussions ------------------------------------------------------------------------------


def test_a_square_matrix_of_four_chunks_times_a_portrait_one() -> None:
    """At phase q device p multiplies X[p, p+q] by Y[p+q]: every device its own block, no matrix ever whole."""
    mesh = jax.make_mesh((4,), ("p",), axis_types=(AUTO,), devices=jax.devices()[:4])
    x, y = numbers((64, 64), np.float32, 1), numbers((64, 8), np.float32, 2)
    a, b = RowChunked.from_array(x, mesh), RowChunked.from_array(y, mesh)
    plan = plan_matmul(a, b, schedule="ring")
    assert plan.hlo_collectives() == {"collective-permute": 3}
    check_product(tpufft.matmul(a, b, schedule="ring"), x, y)
    # Phase by phase, in numpy.
    blocks, parts = x.reshape(4, 16, 4, 16).swapaxes(1, 2), y.reshape(4, 16, 8)
    phases = sum(np.stack([blocks[p, (p + q) % 4] @ parts[(p + q) % 4] for p in range(4)]) for q in range(4))
    np.testing.assert_allclose((a @ b).to_numpy().reshape(4, 16, 8), phases, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda a, w: tpufft.matmul([a, a], a.T), "a is a list of chunked arrays, which would be gathered"),
        (lambda a, w: tpufft.plan_matmul((a, a), (a.T, a.T)), "a is a tuple; plans are of arrays"),
        (lambda a, w: tpufft.einsum("ij,jk->ik", (a, a), a.T), "a is a tuple of chunked arrays"),
        (lambda a, w: tpufft.einsum("ij,jk->ik", w, a), "only @ and matmul multiply unmade"),
        (lambda a, w: tpufft.plan_matmul(w, a), "only @ and matmul multiply unmade"),
        (lambda a, w: tpufft.matmul(w, a, schedule="ring"), "a plan of its own"),
        (
            lambda a, w: tpufft.matmul(a.astype("float16"), a.T.astype("float16"), precision="float64_emulated"),
            "float32 and above; these are float16, float16",
        ),
        (lambda a, w: tpufft.RowChunked.from_shards(None, a.mesh), "shards=None is no sequence"),
        (lambda a, w: tpufft.RowChunked.from_shards([1.0] * 8, a.mesh), "the entry 1.0, which is no array"),
    ],
)
def test_what_would_be_gathered_or_guessed_is_refused(call: Any, says: str) -> None:
    a = tpufft.RowChunked.from_array(np.ones((16, 16), np.float32), mesh_of("x8"))
    with pytest.raises((TypeError, ValueError), match=says):
        call(a, tpufft.dft_matrix(16, dtype="complex64"))


def test_matmul_of_a_dft_matrix_is_the_lazy_product() -> None:
    x = tpufft.RowChunked.from_array(np.eye(16, 3, dtype="complex64"), mesh_of("x8"))
    w = tpufft.dft_matrix(16, dtype="complex64")
    np.testing.assert_array_equal(tpufft.matmul(w, x).to_numpy(), (w @ x).to_numpy())
