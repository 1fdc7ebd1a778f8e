"""Plans of products: what crosses the wire, what memory is held, what is printed, what is refused."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import AUTO, mesh_of
from jax.sharding import AbstractMesh, NamedSharding
from jax.sharding import PartitionSpec as P
from products import Pairing, check_product, numbers

import tpufft
from tpufft import Layout, LayoutError, RowChunked, chunk, matmul, plan_matmul
from tpufft.collectives import ring_sum
from tpufft.planning import ProductPlan, ProductRequest, product_spec
from tpufft.steps import Terms

MATRICES = Terms("mk", "kn", "mn")


def square(n: int, dtype: Any = np.float32, parts: int = 8) -> RowChunked:
    mesh = jax.make_mesh((parts,), ("x",), axis_types=(AUTO,), devices=jax.devices()[:parts])
    return RowChunked.from_array(np.zeros((n, n), dtype), mesh)


def planned(shape: tuple[int, int, int], a: P, b: P, mesh: AbstractMesh, **options: Any) -> ProductPlan:
    """A plan on devices that need not exist."""
    m, k, n = shape
    left, right = Layout.of((m, k), np.float32, mesh, a), Layout.of((k, n), np.float32, mesh, b)
    out = product_spec(MATRICES, left, right)
    return ProductPlan(
        ProductRequest(MATRICES, left, right, Layout.of((m, n), np.float32, mesh, [e or None for e in out]), **options)
    )


# -- on the wire -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parts", [2, 3, 4, 8])
def test_a_ring_passes_every_chunk_on_once(parts: int) -> None:
    a = square(24, parts=parts)
    for schedule, pieces in (("ring", 1), ("bidirectional", 2)):
        plan = plan_matmul(a, a, schedule=schedule)
        assert plan.hlo_collectives() == {"collective-permute": pieces * (parts - 1)}
        assert plan.wire_bytes == (parts - 1) * a.layout.chunk_bytes


def test_one_half_of_a_chunk_goes_each_way() -> None:
    text = plan_matmul(square(64), square(64), schedule="bidirectional").compile().as_text() or ""
    up = "source_target_pairs={{0,7},{1,0},{2,1},{3,2},{4,3},{5,4},{6,5},{7,6}}"
    down = "source_target_pairs={{0,1},{1,2},{2,3},{3,4},{4,5},{5,6},{6,7},{7,0}}"
    assert up in text
    assert down in text


def test_panels_go_one_after_the_other() -> None:
    a = square(48)
    plan = plan_matmul(a, a, schedule="ring", panel=4)
    assert plan.hlo_collectives() == {"collective-permute": 2 * 7}
    assert plan.wire_bytes == 7 * a.layout.chunk_bytes
    assert plan.peak_bytes < plan_matmul(a, a, schedule="ring").peak_bytes


def test_the_gram_product_is_one_exchange() -> None:
    a = RowChunked.from_array(np.zeros((4096, 64), np.float32), mesh_of("x8"))
    plan = plan_matmul(a.T, a)
    assert plan.schedule == "reduce"
    assert plan.hlo_collectives() == {"all-to-all": 1}
    assert plan_matmul(a.T, a, schedule="ring").hlo_collectives() == {"collective-permute": 7}
    assert plan_matmul(a.T, a, schedule="bidirectional").hlo_collectives() == {"collective-permute": 14}
    assert plan_matmul(a.T, a, schedule="bidirectional").wire_bytes == 7 * (8 * 64 * 4)
    assert plan_matmul(a.T, a, schedule="auto", panel=2).hlo_collectives() == {"all-to-all": 4}


def test_the_smaller_operand_travels() -> None:
    mesh = AbstractMesh((8,), ("x",))
    # Row-chunked times column-chunked: either may travel; if it is the left one, the product's chunks follow.
    wide = planned((64, 4096, 65536), P("x"), P(None, "x"), mesh, schedule="ring")
    tall = planned((65536, 4096, 64), P("x"), P(None, "x"), mesh, schedule="ring")
    assert tall.contraction.moving == "b"  # type: ignore[attr-defined]
    assert wide.contraction.moving == "a"  # type: ignore[attr-defined]
    assert wide.program.collectives == {"collective-permute": 7, "all-to-all": 1}
    # Whole times row-chunked: the right operand travels, or shares of the product do.
    assert planned((64, 65536, 64), P(), P("x"), mesh).schedule in ("reduce", "ring")
    assert planned((64, 65536, 64), P(), P("x"), mesh).wire_bytes <= 64 * 64 * 4


@pytest.mark.parametrize("grid", [(2, 2), (4, 2), (2, 4), (2, 3), (1, 8)], ids=str)
def test_summa_on_grids_that_need_not_be_square(grid: tuple[int, int]) -> None:
    devices = np.array(jax.devices()[: grid[0] * grid[1]]).reshape(grid)
    mesh = jax.sharding.Mesh(devices, ("x", "y"))
    x, y = numbers((13, 24), np.float64, 1), numbers((24, 7), np.float64, 2)
    a, b = chunk(x, mesh, P("x", "y")), chunk(y, mesh, P("x", "y"))
    plan = plan_matmul(a, b, schedule="summa" if 1 not in grid else "auto")
    assert plan.hlo_collectives() == plan.program.collectives
    if grid == (2, 2):
        assert plan.hlo_collectives() == {"collective-permute": 2 * (1 + 1)}
    check_product(matmul(a, b, schedule="summa" if 1 not in grid else "auto"), x, y)
    finer = plan_matmul(a, b, schedule="summa", panel=2) if 1 not in grid else plan
    assert finer.hlo_collectives() == finer.program.collectives


def test_summa_in_finer_panels_has_the_same_value() -> None:
    a, b = Pairing("x4y2", "blocks", "blocks", (13, 24, 7)).operands()
    check_product(matmul(a, b, schedule="summa", panel=2), a, b)


# -- memory and program size -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "most"), [(np.float32, 3.5), (np.complex64, 7.0)])
@pytest.mark.parametrize("schedule", ["ring", "bidirectional"])
def test_temporaries_of_a_ring(dtype: Any, most: float, schedule: str) -> None:
    a = square(1024, dtype)
    memory = plan_matmul(a, a, schedule=schedule).compile().memory_analysis()
    assert memory is not None
    assert memory.temp_size_in_bytes <= most * a.layout.chunk_bytes


def test_less_memory_than_a_gathered_product() -> None:
    a = square(1024)
    gathered = plan_matmul(a, a, schedule="gather").compile().memory_analysis()
    ring = plan_matmul(a, a, schedule="ring").compile().memory_analysis()
    assert gathered is not None
    assert ring is not None
    assert ring.temp_size_in_bytes < gathered.temp_size_in_bytes / 2


def test_programs_do_not_grow_with_devices() -> None:
    sizes = []
    for parts in (16, 64):
        mesh = AbstractMesh((parts,), ("x",))
        plan = planned((parts * 4, parts * 4, 8), P("x"), P("x"), mesh, schedule="ring")
        sizes.append(len(plan_text(plan)))
    assert sizes[1] < 1.5 * sizes[0]


def plan_text(plan: ProductPlan) -> str:
    a, b = plan.in_layouts

    def shape(layout: Layout) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(layout.stored_shape, layout.dtype)

    from tpufft.execution.dispatch import traced

    bound = plan._request.bound()
    text = str(jax.make_jaxpr(lambda a, b: traced(bound, a, b))(shape(a), shape(b)))
    # The pairs of a permute name every device; what else there is must not.
    return "".join(part.split("))", 1)[-1] for part in text.split("perm=("))


# -- rings under a fake mesh of a thousand devices --------------------------------------------------------------------


@pytest.mark.parametrize("way", [1, -1])
@pytest.mark.parametrize("count", [1, 2, 5, 1000])
def test_ring_sums_end_where_they_belong(count: int, way: int) -> None:
    shares = np.arange(count * count, dtype=np.float32).reshape(count, count) % 7

    def device(row: jax.Array) -> jax.Array:
        return ring_sum(lambda q: row[q], ("x",), count, "cpu", way=way)

    got = jax.vmap(device, axis_name="x")(jnp.asarray(shares))
    np.testing.assert_allclose(got, shares.sum(0))


# -- what is printed ---------------------------------------------------------------------------------------------------


def test_a_plan_says_what_it_does() -> None:
    a, b = Pairing("x8", "rows", "rows").operands()
    text = str(plan_matmul(a, b, schedule="ring"))
    assert text.startswith("product yx,xz->yz on mesh x=8\n  a float64 (11, 13) chunked P('x', None)\n")
    assert "pad       axis 1 by 3 of a" in text
    assert "ring      yx,xz->yz, chunks of b go round x one way, summed over x" in text
    assert "on the wire" in text
    assert "  c float64 (11, 5) chunked P('x', None)\npeak " in text
    report = plan_matmul(a, b, schedule="ring").report()
    assert report["schedule"] == "ring"
    assert [step["text"] for step in report["steps"]][-1].startswith("ring ")
    assert report["compiled"]["collectives"] == {"collective-permute": 7}


def test_plans_are_data() -> None:
    a, b = Pairing("x8", "rows", "rows").operands()
    first, second, other = plan_matmul(a, b), plan_matmul(a, b), plan_matmul(a, b, schedule="gather")
    assert first == second
    assert hash(first) == hash(second)
    assert first != other
    assert all(plan.predict() >= first.predict() for plan in first.candidates)
    assert first.flops >= 2 * 11 * 13 * 5
    assert plan_matmul(a, b).predict("v3") > 0


# -- what is refused --------------------------------------------------------------------------------------------------


def test_inner_lengths_that_differ() -> None:
    a, _ = Pairing("x8", "rows", "rows").operands()
    with pytest.raises(ValueError, match=r"a of shape \(11, 13\) has 13 columns, b of shape \(11, 13\) has 11 rows"):
        a @ a
    with pytest.raises(ValueError, match=r"do not broadcast"):
        matmul(np.ones((3, 2, 2)), np.ones((4, 2, 2)))


def test_meshes_that_differ() -> None:
    a, _ = Pairing("x8", "rows", "rows").operands()
    b = chunk(np.ones((13, 3)), mesh_of("x4y2"), P("x"))
    with pytest.raises(LayoutError, match="contradicts"):
        a @ b


def test_a_schedule_that_does_not_cover_the_chunking_says_which_does() -> None:
    a, b = Pairing("x8", "rows", "rows").operands()
    with pytest.raises(LayoutError, match=r"schedule='summa' does not cover .*use schedule='auto' or schedule='ring'"):
        matmul(a, b, schedule="summa")


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
def test_integers_that_would_overflow(dtype: str) -> None:
    a = RowChunked.from_array(np.ones((4, 4), dtype), mesh_of("x8"))
    with pytest.raises(TypeError, match=rf"a has dtype {dtype}: a product would overflow .*astype\('int32'\)"):
        a @ a


def test_integers_that_jax_would_cut() -> None:
    big = np.full((4, 4), 2**40)
    with jax.enable_x64(False) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64(False):
        with pytest.raises(OverflowError, match="jax_enable_x64"):
            matmul(big, big)
        assert matmul(np.ones((4, 4), int), np.ones((4, 4), int)).dtype == np.int32


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"schedule": "best"}, ValueError, "schedule='best': one of 'auto', 'ring'"),
        ({"panel": 0}, ValueError, "panel=0"),
        ({"panel": 1.5}, TypeError, "panel=1.5"),
        ({"precision": "best"}, ValueError, "precision='best'"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_words_that_are_none(options: dict[str, Any], error: type[Exception], words: str) -> None:
    a, b = Pairing("x8", "rows", "rows").operands()
    with pytest.raises(error, match=words):
        matmul(a, b, **options)


def test_operands_that_are_none() -> None:
    a, _ = Pairing("x8", "rows", "rows").operands()
    for wrong in ("text", np.array(["a"]), None):
        with pytest.raises(TypeError, match="products are of numbers"):
            matmul(a, wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="without axes"):
        matmul(a, 3.0)
    with pytest.raises(TypeError, match="floating-point operands"):
        matmul(np.ones((2, 2), np.int32), np.ones((2, 2), np.int32), precision="float64_emulated")
    with pytest.raises(ValueError, match="precision='float64_emulated'"):
        matmul((a, a), (a, a))


def test_a_traced_array_whose_chunking_does_not_show() -> None:
    x = jax.device_put(np.ones((16, 8), np.float32), NamedSharding(mesh_of("x8"), P("x")))
    with pytest.raises(LayoutError, match=r"use tpufft.chunk\(a, mesh, spec\)"):
        jax.jit(lambda x: matmul(x, x.T))(x)
    got = jax.jit(lambda x: matmul(chunk(x, mesh_of("x8"), P("x")), chunk(x.T, mesh_of("x8"), P())))(x)
    assert got.shape == (16, 16)
    assert isinstance(got, tpufft.ChunkedArray)
