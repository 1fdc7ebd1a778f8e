"""What the compiler makes of plans: collectives, wire, memory, program size; nothing here is run."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AbstractMesh, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import tpufft
from tpufft.execution import compiled_function
from tpufft.planning import hlo

Options = dict[str, Any]
SHAPE_IN_TEXT = re.compile(r"\b(?:pred|[suf]\d+|bf16|c64|c128)\[([\d,]*)\]")
BYTES = {"c64": 8, "c128": 16, "f32": 4, "f64": 8, "s32": 4, "s64": 8}

X8, AB, BA, ABC = {"x": 8}, {"a": 4, "b": 2}, {"b": 2, "a": 4}, {"a": 2, "b": 2, "c": 2}


def mesh_of(axes: dict[str, int]) -> Mesh:
    count = math.prod(axes.values())
    return Mesh(np.array(jax.devices()[:count]).reshape(tuple(axes.values())), tuple(axes))


def plan_of(transform: str, shape: tuple[int, ...], axes: dict[str, int], spec: P, options: Options) -> tpufft.Plan:
    return tpufft.plan(transform, shape, np.complex64, mesh_of(axes), spec=spec, **options)


def exchanges(count: int) -> dict[str, int]:
    return {"all-to-all": count}


def permutes(count: int) -> dict[str, int]:
    return {"collective-permute": count}


def pieces(line: str) -> list[int]:
    """Bytes of each part of an instruction's result; an all-to-all has one for every device that takes part."""
    result = re.split(r" (?:all-to-all|collective-permute)\(", line.split(" = ", 1)[1])[0]
    found = re.findall(r"(\w+)\[([\d,]*)\]", result)
    return [BYTES[dtype] * math.prod(int(size) for size in sizes.split(",") if size) for dtype, sizes in found]


# -- collectives -------------------------------------------------------------------------------------------------

EXCHANGE, SCRAMBLED, TRANSPOSED = {"method": "exchange"}, {"order": "scrambled"}, {"order": "transposed"}

CASES: list[tuple[str, tuple[int, ...], dict[str, int], P, Options, dict[str, int]]] = [
    # slabs
    ("fftn", (16, 16, 16), X8, P("x"), {}, exchanges(2)),
    ("ifftn", (16, 16, 16), X8, P(None, "x"), {}, exchanges(2)),
    ("fftn", (16, 16, 16), X8, P("x"), TRANSPOSED, exchanges(1)),
    ("ifftn", (16, 16, 16), X8, P("x"), TRANSPOSED, exchanges(1)),
    ("fftn", (16, 16, 16), X8, P(None, None, "x"), {"norm": "ortho", "kernel": "matmul"}, exchanges(2)),
    ("fftn", (16, 30), X8, P("x"), EXCHANGE, exchanges(2)),
    ("fft2", (3, 16, 16), X8, P(None, None, "x"), EXCHANGE, exchanges(2)),
    ("fftn", (16, 16), X8, P("x"), {"out_spec": P(None, "x"), **EXCHANGE}, exchanges(1)),
    # pencils
    ("fftn", (16, 16, 16), AB, P("a", "b"), EXCHANGE, exchanges(4)),
    ("ifftn", (16, 16, 16), AB, P("b", None, "a"), EXCHANGE, exchanges(4)),
    ("fftn", (16, 16, 16), AB, P("a", "b"), {**EXCHANGE, **TRANSPOSED}, exchanges(2)),
    ("ifftn", (16, 16, 16), AB, P("a", "b"), {**EXCHANGE, **TRANSPOSED}, exchanges(2)),
    # several mesh axes on one array axis count as one
    ("fftn", (16, 16), BA, P(("a", "b")), EXCHANGE, exchanges(2)),
    ("fftn", (16, 16, 16), ABC, P(("c", "a"), "b"), {**EXCHANGE, **TRANSPOSED}, exchanges(2)),
    # one axis
    ("fft", (512,), X8, P("x"), EXCHANGE, exchanges(3)),
    ("ifft", (512,), X8, P("x"), EXCHANGE, exchanges(3)),
    ("fft", (512,), X8, P("x"), SCRAMBLED, exchanges(2)),
    ("ifft", (512,), X8, P("x"), SCRAMBLED, exchanges(2)),
    ("fft", (512,), BA, P(("a", "b")), EXCHANGE, exchanges(3)),
    ("fft", (4, 512), AB, P("a", "b"), {**EXCHANGE, **SCRAMBLED}, exchanges(2)),
    ("fft", (16, 16), X8, P("x"), {"axis": 0, **EXCHANGE}, exchanges(2)),
    # rings
    ("fft", (512,), X8, P("x"), {"method": "ring"}, permutes(7)),
    ("ifft", (64, 4), AB, P("a", "b"), {"method": "ring", "axis": 0}, permutes(3)),
    ("fftn", (16, 16), AB, P("a", "b"), {"method": "ring"}, permutes(4)),
    # shifts
    ("fftshift", (64,), X8, P("x"), {}, permutes(1)),
    ("ifftshift", (16, 16), AB, P("a", "b"), {}, permutes(2)),
    ("fftshift", (24,), X8, P("x"), {}, permutes(2 if 12 % 3 else 1)),
    ("fftshift", (40,), {"x": 8}, P("x"), {}, permutes(1)),
    ("ifftshift", (45,), {"x": 5}, P("x"), {}, permutes(2)),
    # nothing crosses the wire where no transformed axis is chunked
    ("fft", (16, 16), X8, P("x"), {}, {}),
    ("fftn", (16, 16, 16), AB, P("a", "b"), {"axes": (2,)}, {}),
    ("fftn", (16, 8, 8), X8, P("x"), {"axes": (1, 2), "s": (12, 5)}, {}),
    ("fftshift", (16, 16), X8, P("x"), {"axes": 1}, {}),
]


@pytest.mark.parametrize(("transform", "shape", "axes", "spec", "options", "expected"), CASES)
def test_exactly_the_collectives_of_the_plan(
    transform: str,
    shape: tuple[int, ...],
    axes: dict[str, int],
    spec: P,
    options: Options,
    expected: dict[str, int],
) -> None:
    plan = plan_of(transform, shape, axes, spec, options)
    assert plan.hlo_collectives() == expected
    assert plan.bound.program.collectives == expected
    text = plan.compile().as_text() or ""
    assert "all-gather" not in text
    lines = [line for line in text.splitlines() if re.search(r" (all-to-all|collective-permute)\(", line)]
    if "ring" not in str(plan):
        # Of an all-to-all's pieces one stays at home.
        assert sum(sum(pieces(line)[" all-to-all(" in line :]) for line in lines) == plan.wire_bytes


def test_each_permute_of_a_ring_carries_a_chunk() -> None:
    plan = plan_of("fft", (512,), X8, P("x"), {"method": "ring"})
    lines = [line for line in (plan.compile().as_text() or "").splitlines() if " collective-permute(" in line]
    assert {sum(pieces(line)) for line in lines} == {plan.in_layout.chunk_bytes}
    assert plan.wire_bytes == 7 * plan.in_layout.chunk_bytes


def counted(function: Callable[..., Any], *arguments: jax.ShapeDtypeStruct) -> dict[str, int]:
    text = jax.jit(function).lower(*arguments).compile().as_text() or ""
    assert "all-gather" not in text
    return hlo.executed_collectives(text)


@pytest.mark.parametrize(
    ("name", "shape", "spec", "options", "expected"),
    [
        ("fft", (512,), P("x"), EXCHANGE, exchanges(3)),
        ("fft", (512,), P("x"), SCRAMBLED, exchanges(2)),
        ("fftn", (16, 16), P("x"), EXCHANGE, exchanges(2)),
        ("ifftn", (16, 16), P("x"), TRANSPOSED, exchanges(1)),
        ("fft", (32,), P("x"), {"method": "ring"}, permutes(7)),
        ("fftshift", (64,), P("x"), {}, permutes(1)),
    ],
)
def test_derivatives_cost_what_the_transform_costs(
    name: str, shape: tuple[int, ...], spec: P, options: Options, expected: dict[str, int]
) -> None:
    mesh = mesh_of(X8)
    plan = plan_of(name, shape, X8, spec, {} if "shift" in name else options)

    def function(x: jax.Array) -> jax.Array:
        return getattr(tpufft, name)(x, mesh, spec=spec, **options)

    x = jax.ShapeDtypeStruct(shape, np.complex64, sharding=plan.in_layout.sharding)
    y = jax.ShapeDtypeStruct(plan.out_layout.shape, np.complex64, sharding=plan.out_layout.sharding)
    assert counted(lambda x, y: jax.vjp(function, x)[1](y)[0], x, y) == expected
    (opcode, count), *none = counted(lambda x, dx: jax.jvp(function, (x,), (dx,)), x, x).items()
    assert not none
    assert {opcode: count} == {opcode: pytest.approx(expected[opcode] * 1.5, abs=expected[opcode] / 2)}


@pytest.mark.parametrize("batch", [3, 8])
def test_a_batch_takes_no_more_collectives(batch: int) -> None:
    mesh = mesh_of(X8)
    many = jax.ShapeDtypeStruct((batch, 512), np.complex64, sharding=NamedSharding(mesh, P(None, "x")))
    found = counted(jax.vmap(lambda x: tpufft.fft(x, mesh, spec=P("x"), method="exchange")), many)
    assert found in (exchanges(2), exchanges(3))


def test_the_gradient_of_a_loss_takes_one_transform_each_way() -> None:
    mesh = mesh_of(X8)

    def loss(x: jax.Array) -> jax.Array:
        return (jnp.abs(tpufft.fftn(x, mesh, spec=P("x"), method="exchange")) ** 2).sum()

    x = jax.ShapeDtypeStruct((16, 16), np.float32, sharding=NamedSharding(mesh, P("x")))
    assert counted(jax.grad(loss), x) == exchanges(4)


def test_a_convolution_in_scrambled_order_takes_four_exchanges() -> None:
    mesh = mesh_of(X8)

    def function(x: jax.Array, weights: jax.Array) -> jax.Array:
        spectrum = tpufft.fft(x, mesh, spec=P("x"), order="scrambled")
        return tpufft.ifft(spectrum * weights, mesh, spec=P("x"), order="scrambled")

    x = jax.ShapeDtypeStruct((512,), np.complex64, sharding=NamedSharding(mesh, P("x")))
    assert counted(function, x, x) == exchanges(4)


# -- memory ------------------------------------------------------------------------------------------------------

ND, ONE = (4.0, 3.0), (5.0, 4.0)

PEAKS: list[tuple[str, tuple[int, ...], dict[str, int], P, Options, tuple[float, float]]] = [
    ("fftn", (128, 128, 128), X8, P("x"), {"kernel": "xla"}, ND),
    ("fftn", (128, 128, 128), X8, P("x"), {"kernel": "xla", "order": "transposed"}, ND),
    ("fftn", (128, 128, 128), X8, P(None, None, "x"), {"kernel": "xla"}, ND),
    ("fftn", (128, 128, 128), AB, P("a", "b"), {"kernel": "xla", "method": "exchange"}, ND),
    ("fftn", (128, 128, 128), AB, P("a", "b"), {"kernel": "xla"}, ND),
    ("ifftn", (1024, 1024), X8, P(None, "x"), {"kernel": "xla"}, ND),
    ("fftn", (128, 128, 128), X8, P("x"), {}, ND),
    ("fftn", (64, 64, 64), AB, P("a", "b"), {}, ND),
    ("fftn", (1024, 1024), X8, P("x"), {}, ND),
    ("fftn", (1024, 1024), X8, P("x"), {"kernel": "matmul"}, ONE),
    ("fft", (2**18,), X8, P("x"), {"kernel": "xla"}, ONE),
    ("fft", (2**18,), X8, P("x"), {"kernel": "matmul"}, ONE),
    ("ifft", (2**18,), X8, P("x"), {"order": "scrambled"}, ONE),
]


@pytest.mark.parametrize(("transform", "shape", "axes", "spec", "options", "limits"), PEAKS)
def test_the_peak_of_a_device(
    transform: str,
    shape: tuple[int, ...],
    axes: dict[str, int],
    spec: P,
    options: Options,
    limits: tuple[float, float],
) -> None:
    for overwrite_x, limit in zip((False, True), limits, strict=True):
        plan = plan_of(transform, shape, axes, spec, options | {"overwrite_x": overwrite_x})
        # The compiler's own bookkeeping is some hundred bytes.
        assert hlo.peak_bytes(plan.compile()) <= limit * plan.in_layout.chunk_bytes + 4096, (overwrite_x, str(plan))


@pytest.mark.parametrize("options", [{}, {**SCRAMBLED, "kernel": "matmul"}, {"n": 2**12}])
def test_no_device_ever_holds_the_whole_of_one_axis(options: Options) -> None:
    size = 2**13
    for transform in ("fft", "ifft"):
        text = plan_of(transform, (size,), X8, P("x"), options).compile().as_text() or ""
        found = [math.prod(int(n) for n in sizes.split(",") if n) for sizes in SHAPE_IN_TEXT.findall(text)]
        assert 0 < max(found) < size


# -- programs ----------------------------------------------------------------------------------------------------


def test_the_program_of_a_ring_does_not_grow_with_the_devices() -> None:
    lines = {}
    for count in (2, 4, 8, 64, 512):
        plan = tpufft.plan("fft", (count * 4,), np.complex64, AbstractMesh((count,), ("x",)), method="ring")
        layout = plan.in_layout
        argument = jax.ShapeDtypeStruct(layout.shape, layout.dtype, sharding=layout.sharding)
        lowered = compiled_function(plan.bound).trace(argument).lower(lowering_platforms=("cpu",))
        lines[count] = len(lowered.as_text().splitlines())
        assert "all_gather" not in lowered.as_text()
    assert max(lines[8], lines[64], lines[512]) <= lines[4]
    assert lines[2] <= lines[4]


def test_the_compiled_ring_does_not_grow_either() -> None:
    lines = {}
    for count in (4, 8):
        plan = tpufft.plan("fft", (count * 8,), np.complex64, mesh_of({"x": count}), method="ring")
        lines[count] = (plan.compile().as_text() or "").count("collective-permute(")
    assert lines[4] == lines[8] <= 3


# -- the parser --------------------------------------------------------------------------------------------------

NESTED = """
HloModule test, is_scheduled=true

%inner (p: (s32[], f32[8])) -> (s32[], f32[8]) {
  %p = (s32[], f32[8]{0}) parameter(0)
  %v = f32[8]{0} get-tuple-element(%p), index=1
  %send = f32[8]{0} collective-permute(%v), channel_id=1, source_target_pairs={{0,1},{1,0}}
  ROOT %t = (s32[], f32[8]{0}) tuple(%i, %send)
}

%until (p: (s32[], f32[8])) -> pred[] {
  ROOT %c = pred[] constant(false)
}

outer (p: (s32[], f32[8])) -> (s32[], f32[8]) {
  %q = (s32[], f32[8]{0}) parameter(0)
  %w = (s32[], f32[8]{0}) while(%q), condition=%until, body=%inner, backend_config={"known_trip_count":{"n":"5"}}
  %x = f32[8]{0} get-tuple-element(%w), index=1
  %a = (f32[4]{0}, f32[4]{0}) all-to-all(%x1, %x2), channel_id=2, replica_groups={{0,1}}
  ROOT %t = (s32[], f32[8]{0}) tuple(%i, %x)
}

%called (p: f32[8]) -> f32[8] {
  %g = f32[16]{0} all-gather(%p), dimensions={0}, metadata={op_name="all-to-all(looks like one)"}
  ROOT %r = f32[8]{0} slice(%g), slice={[0:8]}
}

ENTRY %main (x: f32[8]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  %start = (f32[8]{0}, f32[8]{0}, u32[], u32[]) collective-permute-start(%x), source_target_pairs={{0,1},{1,0}}
  %done = f32[8]{0} collective-permute-done(%start)
  %sum = f32[8]{0} all-reduce(%done), replica_groups={{0,1}}, to_apply=%add
  %state = (s32[], f32[8]{0}) tuple(%zero, %sum)
  %loop = (s32[], f32[8]{0}) while(%state), condition=%until, body=outer, backend_config={"known_trip_count":{"n":"3"}}
  %y = f32[8]{0} get-tuple-element(%loop), index=1
  ROOT %z = f32[8]{0} call(%y), to_apply=%called
}
"""


def test_loops_multiply_and_pairs_count_once() -> None:
    assert hlo.executed_collectives(NESTED) == {
        "all-gather": 1,
        "all-reduce": 1,
        "all-to-all": 3,
        "collective-permute": 16,
    }


def test_a_loop_of_unknown_length_is_an_error_only_where_it_matters() -> None:
    unknown = NESTED.replace(', backend_config={"known_trip_count":{"n":"5"}}', "")
    with pytest.raises(ValueError, match=r"a loop of unknown length executes \{'collective-permute': 1\}"):
        hlo.executed_collectives(unknown)
    harmless = unknown.replace("collective-permute(%v)", "negate(%v)")
    assert hlo.executed_collectives(harmless)["collective-permute"] == 1


def test_branches_and_nothing() -> None:
    text = """
HloModule test
%left (p: f32[8]) -> f32[8] {
  ROOT %s = f32[8]{0} collective-permute(%p), source_target_pairs={{0,1}}
}
%right (p: f32[8]) -> f32[8] {
  ROOT %s = f32[8]{0} reduce-scatter(%p), dimensions={0}
}
ENTRY %main (x: f32[8]) -> f32[8] {
  ROOT %c = f32[8]{0} conditional(%i, %x, %x), branch_computations={%left, %right}
}
"""
    assert hlo.executed_collectives(text) == {"collective-permute": 1, "reduce-scatter": 1}
    assert hlo.executed_collectives("") == {}


def test_an_asynchronous_wrapper_counts_what_it_wraps() -> None:
    text = """
HloModule test
%wrapped (p: f32[8]) -> f32[8] {
  ROOT %s = f32[8]{0} all-to-all(%p), replica_groups={{0,1}}, dimensions={0}
}
ENTRY %main (x: f32[8]) -> f32[8] {
  %start = ((f32[8]{0}), f32[8]{0}) async-start(%x), calls=%wrapped
  ROOT %done = f32[8]{0} async-done(%start), calls=%wrapped
}
"""
    assert hlo.executed_collectives(text) == {"all-to-all": 1}
