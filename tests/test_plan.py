"""Plans as data: what a plan costs and says, how plans compare, orders as a contract, inverses."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

import jax
import numpy as np
import pytest
from jax.sharding import AbstractMesh, Mesh
from jax.sharding import PartitionSpec as P

import tpufft
from tpufft.collectives import shared
from tpufft.layout import Spec
from tpufft.planning import hlo
from tpufft.planning.orders import frequency_index, natural_spec, transposed_spec
from tpufft.planning.request import forget

KINDS = ("v3", "v4", "v5e", "v5p", "v6e")


def mesh_of(**axes: int) -> Mesh:
    count = int(np.prod(list(axes.values())))
    return Mesh(np.array(jax.devices()[:count]).reshape(tuple(axes.values())), tuple(axes))


def fake_mesh(**axes: int) -> AbstractMesh:
    return AbstractMesh(tuple(axes.values()), tuple(axes))


def random(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return generator.standard_normal(shape) + 1j * generator.standard_normal(shape)


def placed(plan: tpufft.Plan, x: np.ndarray) -> jax.Array:
    return jax.device_put(x, plan.in_layout.sharding)


def names(plan: tpufft.Plan) -> list[str]:
    return [type(step).__name__ for step in plan.steps]


def exchange_plan(transform: str, shape: tuple[int, ...], mesh: Any, **options: Any) -> tpufft.Plan:
    return tpufft.plan(transform, shape, np.complex128, mesh, method="exchange", kernel="xla", **options)


# -- what it costs -----------------------------------------------------------------------------------------------


def test_flops_and_wire_bytes_of_a_slab() -> None:
    plan = tpufft.plan("fftn", (256, 256, 256), np.complex64, fake_mesh(x=8), method="exchange", kernel="xla")
    chunk = 256**3 * 8 // 8
    assert plan.flops == 5 * 256**3 * 24
    assert plan.wire_bytes == 2 * (chunk * 7 // 8)
    assert sum(cost.wire_bytes for cost in plan.costs()) == plan.wire_bytes
    assert all(cost.seconds > 0 for cost in plan.costs())


def test_sizes_beyond_32_bits_do_not_overflow() -> None:
    mesh = fake_mesh(x=64, y=32)
    plan = tpufft.plan("fftn", (8192,) * 3, np.complex64, mesh, spec=P("x", "y"), method="exchange", kernel="xla")
    assert plan.in_layout.chunk_bytes == 2 * 2**30
    assert plan.flops == 5.0 * 2**39 * 39
    assert plan.wire_bytes == 2 * (2**31 * 63 // 64 + 2**31 * 31 // 32)
    assert plan.peak_bytes == 4 * 2**31


PEAKS: list[tuple[str, tuple[int, ...], dict[str, Any]]] = [
    ("fftn", (64, 64, 64), {"spec": P("x")}),
    ("fftn", (64, 64, 64), {"spec": P("x"), "order": "transposed"}),
    ("ifftn", (256, 256), {"spec": P(None, "x")}),
    ("fftn", (64, 64, 32), {"spec": P("a", "b")}),
    ("fftn", (64, 64, 32), {"spec": P("a", "b"), "order": "transposed"}),
]


@pytest.mark.parametrize("overwrite_x", [False, True])
@pytest.mark.parametrize(("transform", "shape", "options"), PEAKS)
def test_the_predicted_peak_is_the_compiled_one(
    transform: str, shape: tuple[int, ...], options: dict[str, Any], overwrite_x: bool
) -> None:
    mesh = mesh_of(a=4, b=2) if "a" in options["spec"] else mesh_of(x=8)
    options = options | {"method": "exchange", "kernel": "xla", "overwrite_x": overwrite_x}
    plan = tpufft.plan(transform, shape, np.complex64, mesh, **options)
    assert plan.peak_bytes == pytest.approx(hlo.peak_bytes(plan.compile()), rel=0.1)


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_for_chips(kind: str) -> None:
    plan = tpufft.plan("fftn", (2048,) * 3, np.complex64, fake_mesh(x=64), kernel="matmul", method="exchange")
    large = tpufft.plan("fftn", (4096,) * 3, np.complex64, fake_mesh(x=64), kernel="matmul", method="exchange")
    assert 1e-4 < plan.predict(kind) < large.predict(kind) < plan.predict()
    assert plan.predict(kind) == sum(cost.seconds for cost in plan.costs(kind))


def test_the_papers_pod_is_predicted_within_its_order_of_magnitude() -> None:
    """Lu et al.: complex 8192^3 on 2048 cores of v3, 8.3 s by FFTs and 12.66 s by DFT matrices, far above the model."""
    plan = tpufft.plan("fftn", (8192,) * 3, np.complex64, fake_mesh(x=64, y=32), spec=P("x", "y"), kernel="matmul")
    assert 0.05 < plan.predict("v3") < 12.66


def test_an_unknown_kind() -> None:
    plan = tpufft.plan("fft", (64,), np.complex64, fake_mesh(x=8))
    with pytest.raises(ValueError, match="kind='v2': one of 'v3', 'v4', 'v5e', 'v5p', 'v6e', or None"):
        plan.predict("v2")


# -- what it says ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("is_shared", "how", "peak"),
    [
        (False, "", "64.0 MiB per device (4.0 x its chunk; 3.0"),
        (True, ", in shared memory", "64.0 MiB per device (4.0 x its chunk; 2.0"),
    ],
)
def test_the_text_of_a_slab(is_shared: bool, how: str, peak: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "is_there", lambda: is_shared)
    forget()
    plan = exchange_plan("fftn", (256, 256, 256), mesh_of(x=8))
    single = tpufft.plan("fftn", (256, 256, 256), np.complex64, mesh_of(x=8), method="exchange", kernel="xla")
    expected = f"""
fftn complex64 (256, 256, 256) on mesh x=8, chunked P('x', None, None), order natural
  1  local     axes 1, 2 of 256 x 256, kernel xla              1.3 GFLOP
  2  exchange  x: axis 0 -> axis 1{how:<29}14.0 MiB per device on the wire
  3  local     axis 0 of 256, kernel xla                       671.1 MFLOP
  4  exchange  x: axis 1 -> axis 0{how:<29}14.0 MiB per device on the wire
peak {peak} with overwrite_x) ; predicted # on this host
"""
    assert re.sub(r"predicted [\d.]+ (s|ms|us) on", "predicted # on", str(single)) == expected.strip()
    assert "complex128" in str(plan).splitlines()[0]
    assert repr(single) == "<Plan fftn complex64 (256, 256, 256) in 4 steps>"


@pytest.mark.parametrize(
    ("transform", "shape", "options", "words"),
    [
        ("fft", (4096,), {"order": "scrambled"}, ["order scrambled", "view", "twiddle", "exchange"]),
        ("fft", (4096,), {}, ["order natural", "reorder"]),
        ("fft", (4096,), {"method": "ring"}, ["ring      axis 0 of 4096, x one way"]),
        ("fftn", (16, 30), {}, ["pad       axis 1 by 2", "trim      axis 1 by 2"]),
        ("fftn", (16, 16), {"order": "transposed"}, ["result chunked P(None, 'x')"]),
        ("fft", (16, 16), {"axis": 1, "n": 32}, ["result (16, 32)", "resize    axis 1: 16 -> 32"]),
        ("fftshift", (16, 16), {}, ["shift     axis 0 by 8", "shift     axis 1 by 8"]),
        ("fftn", (16, 16), {"overwrite_x": True}, ["(3.0 x its chunk)"]),
        ("fftn", (16, 16), {"axes": ()}, ["nothing to do"]),
    ],
)
def test_the_text_of_other_plans(
    transform: str, shape: tuple[int, ...], options: dict[str, Any], words: list[str]
) -> None:
    plan = tpufft.plan(transform, shape, np.complex64, mesh_of(x=8), **options)
    text = str(plan)
    assert all(word in text for word in words), text
    lines = text.splitlines()
    assert lines[0].startswith(f"{transform} complex64 {shape} on mesh x=8, chunked P('x'")
    assert len(lines) == max(len(plan.steps), 1) + 2
    for number, line in enumerate(lines[1:-1], 1):
        assert not plan.steps or re.match(rf" *{number}  \S", line)
    assert re.fullmatch(r"peak .* per device \(.*\) ; predicted [\d.]+ (s|ms|us) on this host", lines[-1])


def test_the_report_is_plain_data() -> None:
    plan = tpufft.plan("fftn", (16, 16), np.complex64, mesh_of(x=8), method="exchange", kernel="xla")
    report = json.loads(json.dumps(plan.report()))
    assert report == plan.report()
    assert report["transform"] == "fftn"
    assert [step["name"] for step in report["steps"]] == names(plan)
    assert report["compiled"]["collectives"] == {"all-to-all": 2}
    assert report["compiled"]["peak_chunks"] == report["compiled"]["peak_bytes"] / plan.in_layout.chunk_bytes
    assert sum(step["predicted_seconds"] for step in report["steps"]) == pytest.approx(report["predicted_seconds"])


def test_plans_compare_by_what_they_do() -> None:
    mesh = mesh_of(x=8)
    plan = exchange_plan("fftn", (16, 16), mesh)
    same = exchange_plan("fftn", (16, 16), mesh, spec=P("x", None), axes=(0, 1))
    assert plan == same
    assert hash(plan) == hash(same)
    others = [
        exchange_plan("fftn", (16, 16), mesh, norm="ortho"),
        exchange_plan("fftn", (16, 16), mesh, order="transposed"),
        exchange_plan("fftn", (16, 16), mesh, overwrite_x=True),
        exchange_plan("ifftn", (16, 16), mesh),
        exchange_plan("fftn", (16, 32), mesh),
        plan.candidates[-1],
    ]
    assert plan not in others
    assert plan != "a plan"
    assert len({plan, same, *others}) == 1 + len(others)


def test_a_plan_checks_its_argument() -> None:
    plan = exchange_plan("fftn", (16, 16), mesh_of(x=8))
    with pytest.raises(ValueError, match=r"x has shape \(16, 8\); this plan transforms \(16, 16\)"):
        plan(np.ones((16, 8)))
    x = random((16, 16)).real
    for argument in (x, jax.numpy.asarray(x), x.astype(np.float32)):
        y = plan(argument)
        assert y.sharding.is_equivalent_to(plan.out_layout.sharding, 2)
        np.testing.assert_allclose(y, np.fft.fftn(x), atol=1e-4)


# -- inverses ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("transform", "shape", "options"),
    [
        ("fft", (48,), {}),
        ("ifft", (48,), {"order": "scrambled", "norm": "ortho"}),
        ("fft", (16, 24), {"axis": 0, "norm": "forward", "order": "scrambled"}),
        ("fftn", (16, 24), {"spec": P(None, "x")}),
        ("fftn", (8, 16), {"order": "transposed"}),
        ("ifft2", (8, 16), {"order": "transposed", "norm": "ortho"}),
        ("ifftn", (16, 8), {"out_spec": P(None, "x")}),
        ("fftshift", (16, 5), {}),
    ],
)
def test_the_inverse_takes_back(transform: str, shape: tuple[int, ...], options: dict[str, Any]) -> None:
    plan = tpufft.plan(transform, shape, np.complex128, mesh_of(x=8), **options)
    back = plan.inverse
    assert (back.in_layout, back.out_layout) == (plan.out_layout, plan.in_layout)
    x = placed(plan, random(shape))
    np.testing.assert_allclose(back(plan(x)), x, atol=1e-12)
    assert (back.inverse.in_layout, back.inverse.out_layout) == (plan.in_layout, plan.out_layout)


# -- orders ------------------------------------------------------------------------------------------------------


def test_the_transposed_chunking_is_a_function_of_the_call_alone() -> None:
    mesh = fake_mesh(a=2, b=4)
    for spec in (P("a", "b"), P(("a", "b")), P(None, "a", "b"), P("b", None, "a")):
        found = {
            tpufft.plan(
                "fftn", (16, 16, 16), np.complex64, mesh, spec=spec, order="transposed", method=method, kernel=kernel
            ).out_layout.spec
            for method, kernel in itertools.product(("auto", "exchange"), ("auto", "xla", "matmul"))
        }
        assert len(found) == 1


@pytest.mark.parametrize(
    ("spec", "axes", "expected"),
    [
        ((("x",), (), ()), (0, 1, 2), ((), ("x",), ())),
        (((), ("x",), ()), (0, 1, 2), ((), (), ("x",))),
        (((), (), ("x",)), (0, 1, 2), (("x",), (), ())),
        ((("x",), (), ()), (1, 2), (("x",), (), ())),
        ((("x",), (), ()), (0,), ((), ("x",), ())),
        ((("x",), (), ()), (0, 2), ((), (), ("x",))),
        ((("a",), ("b",), ()), (0, 1, 2), ((), ("a",), ("b",))),
        ((("a",), ("b",)), (0, 1), (("b",), ("a",))),
    ],
)
def test_where_transposed_leaves_the_chunks(spec: Spec, axes: tuple[int, ...], expected: Spec) -> None:
    mesh = fake_mesh(x=8) if any("x" in entry for entry in spec) else fake_mesh(a=2, b=4)
    shape = (16,) * len(spec)
    if len(spec) == 2:
        # Two axes, both chunked: nothing is free, so one waits on the other.
        assert sorted(itertools.chain(*transposed_spec(shape, mesh, spec, axes))) == ["a", "b"]
        return
    assert transposed_spec(shape, mesh, spec, axes) == expected


def test_the_natural_chunking_is_found_where_there_is_one() -> None:
    mesh, axes, shape = fake_mesh(x=8), (0, 1, 2), (16, 16, 16)
    assert natural_spec(shape, mesh, (("x",), (), ()), axes) == ((), (), ("x",))
    for spec in itertools.product([(), ("a",)], [(), ("b",)], [()]):
        left = transposed_spec(shape, fake_mesh(a=2, b=4), spec, axes)
        try:
            found = natural_spec(shape, fake_mesh(a=2, b=4), left, axes)
        except tpufft.LayoutError as error:
            assert re.search(r"\d+ chunkings leave .*; pass spec=, the natural side's chunking", str(error))  # noqa: PT017
        else:
            assert found == spec
    with pytest.raises(tpufft.LayoutError, match=r"no chunking leaves P\('x', None\) for axes \(0,\); pass spec="):
        natural_spec((16, 16), mesh, (("x",), ()), (0,))


def test_one_axis_has_no_transposed_order() -> None:
    with pytest.raises(tpufft.LayoutError, match=r"use fft\(order='scrambled'\)"):
        transposed_spec((16,), fake_mesh(x=8), (("x",),), (0,))


def test_frequencies_of_stored_elements() -> None:
    mesh = mesh_of(x=8)
    plan = tpufft.plan("fft", (32,), np.complex128, mesh, order="scrambled")
    bins = frequency_index(plan.out_layout, 0, "scrambled", np.arange(32))
    assert bins.tolist() == [c + 8 * d for c in range(8) for d in range(4)]
    np.testing.assert_array_equal(plan.frequencies(0, d=0.5), np.fft.fftfreq(32, 0.5)[bins])
    x = random((32,))
    np.testing.assert_allclose(plan(placed(plan, x)), np.fft.fft(x)[bins], atol=1e-12)
    both = tpufft.plan("fftn", (16, 9), np.complex128, mesh)
    np.testing.assert_array_equal(both.frequencies(), np.fft.fftfreq(9))
    assert both.frequencies(0).sharding.spec == P("x")
    with pytest.raises(ValueError, match=r"axis=1 is not transformed; the plan transforms \(0,\)"):
        tpufft.plan("fft", (16, 9), np.complex64, mesh, axis=0).frequencies(1)


@pytest.mark.parametrize("name", ["dct", "rfft", "fftshift"])
def test_a_plan_of_real_numbers_refuses_complex_ones(name: str) -> None:
    """Silently their imaginary parts would be dropped."""
    plan = tpufft.plan(name, (16, 8), np.float32, jax.make_mesh((8,), ("x",)))
    with pytest.raises(TypeError, match="x is complex64; this plan transforms float32"):
        plan(np.ones((16, 8), np.complex64))
