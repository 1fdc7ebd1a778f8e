"""The Ergün tests: right plans pass, and plans with one wrong step fail, in every family of transforms."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
import typer
from helpers import EXPLICIT, MESHES, mesh_of, random, some
from jax.sharding import AbstractMesh, Mesh
from jax.sharding import PartitionSpec as P
from typer.testing import CliRunner

import tpufft
from tpufft.cli import verify as command
from tpufft.cli.app import app
from tpufft.cli.exits import BAD_INPUT, INTERRUPTED, TERMINATED, USAGE
from tpufft.planning import hlo
from tpufft.planning.search import Candidate
from tpufft.planning.verify.programs import Programs
from tpufft.planning.verify.sides import counting
from tpufft.steps import Diagonal, Ends, Merge, Piece, Program, Rearrange, Shift, Split, Step, Twiddle

C64, C128, F32, F64 = np.complex64, np.complex128, np.float32, np.float64
HANKEL = {"dln": 0.1, "mu": 0.5}


def mesh_with(count: int) -> Mesh:
    return Mesh(np.array(jax.devices()[:count]), ("x",))


def plan_of(name: str, shape: tuple[int, ...], dtype: Any, mesh: Mesh | None = None, **options: Any) -> tpufft.Plan:
    return tpufft.plan(name, shape, dtype, mesh or mesh_of("x8"), **options)


def with_steps(plan: tpufft.Plan, steps: tuple[Step, ...]) -> tpufft.Plan:
    """The plan with other steps in the place of its own, and everything else as it was."""
    candidate = Candidate(Program(plan.layouts[0], steps), 0.0)
    return tpufft.Plan(plan._request, replace(plan._chosen, candidates=(candidate,)))


# -- right plans -----------------------------------------------------------------------------------------------------

RIGHT = {
    "fft": ("fft", (48,), C64, {}),
    "fft, any length": ("fft", (13,), C128, {}),
    "fft, fewer points than devices": ("fft", (5,), C64, {}),
    "fft, one point": ("fft", (1,), C64, {}),
    "fft, scrambled": ("fft", (64,), C64, {"order": "scrambled"}),
    "fft, scrambled batch": ("fft", (3, 128), C128, {"order": "scrambled", "spec": P(None, "x")}),
    "fft, ring, padded": ("fft", (40,), C64, {"method": "ring", "n": 48}),
    "fft, exchange, cut": ("fft", (64, 5), C64, {"method": "exchange", "n": 45, "axis": 0, "norm": "ortho"}),
    "fft, matmul": ("fft", (64,), C64, {"kernel": "matmul"}),
    "fft, donated": ("fft", (64,), C64, {"overwrite_x": True}),
    "ifft": ("ifft", (45,), C64, {"norm": "forward"}),
    "ifft, scrambled": ("ifft", (64,), C128, {"order": "scrambled"}),
    "fft2": ("fft2", (3, 16, 8), C64, {"spec": P(None, "x")}),
    "ifft2": ("ifft2", (10, 7), C128, {"kernel": "xla"}),
    "fftn": ("fftn", (8, 4, 6), C64, {"norm": "ortho"}),
    "fftn, transposed": ("fftn", (16, 8, 3), C64, {"order": "transposed"}),
    "ifftn, transposed": ("ifftn", (16, 8), C128, {"order": "transposed"}),
    "fftn of no axis": ("fftn", (16, 3), C64, {"axes": ()}),
    "fftn, resized": ("fftn", (16, 9), C64, {"s": (12, 16), "axes": (1, 0)}),
    "rfft": ("rfft", (48,), F32, {}),
    "rfft, any length": ("rfft", (4, 15), F64, {}),
    "rfft, resized": ("rfft", (40,), F32, {"n": 64}),
    "irfft": ("irfft", (25,), C64, {}),
    "irfft, odd": ("irfft", (25,), C128, {"n": 49}),
    "irfft, padded": ("irfft", (10,), C64, {"n": 32}),
    "irfft, two points": ("irfft", (16, 2), C64, {}),
    "hfft": ("hfft", (17,), C128, {"norm": "ortho"}),
    "ihfft": ("ihfft", (33,), F64, {}),
    "rfft2": ("rfft2", (16, 6), F32, {}),
    "irfft2": ("irfft2", (16, 5), C64, {"s": (8, 9)}),
    "hfft2": ("hfft2", (8, 5), C128, {}),
    "ihfft2": ("ihfft2", (8, 6), F32, {}),
    "rfftn": ("rfftn", (8, 5, 6), F64, {}),
    "irfftn": ("irfftn", (8, 4, 5), C64, {"order": "transposed"}),
    "hfftn": ("hfftn", (9, 5), C64, {}),
    "ihfftn": ("ihfftn", (9, 6), F32, {"norm": "forward"}),
    "dct": ("dct", (48,), F32, {}),
    "dct, type 1": ("dct", (33,), F64, {"type": 1, "norm": "ortho"}),
    "dct, type 3, padded": ("dct", (20,), F32, {"type": 3, "n": 32}),
    "dct, type 4": ("dct", (32, 3), C64, {"type": 4, "axis": 0, "norm": "ortho"}),
    "idct": ("idct", (17, 8), F64, {"axis": 0, "norm": "ortho", "orthogonalize": False}),
    "dst": ("dst", (48,), F32, {"norm": "ortho"}),
    "dst, type 1": ("dst", (15,), F64, {"type": 1}),
    "dst, type 3, padded": ("dst", (20,), F32, {"type": 3, "n": 32}),
    "dst, type 4": ("dst", (32,), F32, {"type": 4}),
    "idst": ("idst", (5,), F64, {"type": 3}),
    "dctn": ("dctn", (16, 6), F32, {"type": 1}),
    "idctn": ("idctn", (9, 6), F64, {"norm": "ortho"}),
    "dstn": ("dstn", (8, 6), C128, {}),
    "idstn": ("idstn", (16, 4), F32, {"s": (12, 6)}),
    "fht": ("fht", (32,), F32, HANKEL),
    "fht, biased": ("fht", (3, 33), F64, {**HANKEL, "offset": 0.2, "bias": 0.3}),
    "fht, without a mean": ("fht", (32,), F64, {"dln": 0.1, "mu": 1.0, "bias": -2.0}),
    "ifht": ("ifht", (32,), F32, {**HANKEL, "bias": -0.1}),
    "fftshift": ("fftshift", (13, 4), F32, {}),
    "ifftshift": ("ifftshift", (16, 5), np.int32, {"axes": 0}),
    "fftshift of bits": ("fftshift", (64,), np.bool_, {}),
}


@pytest.mark.parametrize("case", some(RIGHT))
def test_right_plans_pass(case):
    name, shape, dtype, options = RIGHT[case]
    plan = plan_of(name, shape, dtype, **options)
    found = tpufft.verify(plan, rounds=2)
    assert found, str(found)
    assert found.passed
    found.raise_if_failed()
    # Errors are those of rounding, far below the limits.
    single = np.finfo(plan.out_layout.dtype).bits == 32 if plan.out_layout.dtype.kind in "fc" else False
    assert max(check.error for check in found.checks) < (1e-5 if single else 1e-13)


def test_every_transform_is_among_them():
    assert {name for name, *_ in RIGHT.values()} == set(tpufft.planning.TRANSFORMS)


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(
    ("name", "dtype", "shape"), [("fftn", C64, (9, 6)), ("irfft", C128, (17,)), ("dst", F32, (12,))]
)
def test_any_number_of_devices(count, name, dtype, shape):
    assert tpufft.verify(plan_of(name, shape, dtype, mesh_with(count)), rounds=2)


@pytest.mark.parametrize("mesh", ["x4y2", "x2a1z4"])
def test_meshes_of_several_axes(mesh):
    names = MESHES[mesh][1]
    plan = plan_of("fftn", (8, 9, 4), C64, mesh_of(mesh), spec=P(names[-1], names[0]), order="transposed")
    assert tpufft.verify(plan, rounds=1)


def test_explicit_meshes():
    mesh = mesh_of("x8", EXPLICIT)
    assert tpufft.verify(plan_of("fft", (64,), C64, mesh), rounds=1)
    with jax.set_mesh(mesh):
        assert tpufft.verify(plan_of("rfft", (21,), F32, mesh), rounds=1)


def test_all_candidates_of_a_plan():
    candidates = plan_of("fft", (64,), C64).candidates
    assert len(candidates) > 1
    assert all(tpufft.verify(candidate, rounds=1) for candidate in candidates)


@pytest.mark.parametrize("name", ["fft", "dct", "fht"])
def test_inverses(name):
    plan = plan_of(name, (40,), F32 if name != "fft" else C64, **(HANKEL if name == "fht" else {}))
    assert tpufft.verify(plan.inverse, rounds=2)


def test_without_64_bit_types():
    with jax.enable_x64(False):
        found = tpufft.verify(plan_of("fft", (24,), C64), rounds=1)
    assert found
    assert found.checks[0].limit == 1e-3


def test_nothing_to_transform_passes():
    assert tpufft.verify(plan_of("fft", (0, 8), C64)).checks == ()


@pytest.mark.slow
def test_sixteen_million_points():
    found = tpufft.verify(plan_of("fft", (2**24,), C64), rounds=1, limit=1e-5)
    assert found, str(found)


# -- wrong plans -----------------------------------------------------------------------------------------------------

FAMILIES = {
    "fft": ("fft", (64,), C128, {"method": "exchange"}),
    "fft by ring": ("fft", (64,), C128, {"method": "ring"}),
    "fft, scrambled": ("fft", (64,), C128, {"order": "scrambled"}),
    "ifftn": ("ifftn", (16, 8), C128, {}),
    "rfft": ("rfft", (64,), F64, {"method": "exchange"}),
    "rfftn": ("rfftn", (16, 12), F64, {}),
    "irfft": ("irfft", (33,), C128, {"method": "exchange"}),
    "irfftn": ("irfftn", (16, 9), C128, {}),
    "dct": ("dct", (64,), F64, {"method": "exchange"}),
    "dct by ring": ("dct", (32,), F64, {"method": "ring", "type": 1}),
    "dst": ("dst", (32, 3), F64, {"type": 3, "axis": 0}),
    "dstn": ("dstn", (8, 6), F64, {"type": 4}),
    "fht": ("fht", (64,), F64, HANKEL),
    "fftshift": ("fftshift", (20,), F64, {}),
}


def swapped(axis: int, size: int, first: int, second: int, length: int) -> tuple[Step, ...]:
    """The steps that swap two intervals of an axis."""
    cuts = [(0, first), (first, first + length), (first + length, second), (second, second + length)]
    kept = [*cuts[::2], (second + length, size)]
    pieces = [Piece(start, start, stop - start) for start, stop in kept if stop > start]
    pieces += [Piece(first, second, length), Piece(second, first, length)]
    return Split(axis, size), Rearrange(axis, size, 1, tuple(pieces)), Merge(axis)


def wrong_steps(plan: tpufft.Plan) -> Iterator[tuple[str, tuple[Step, ...]]]:
    """Programs that differ from the plan's in one thing."""
    steps = plan.steps
    for number, step in enumerate(steps):
        before, after, name = steps[:number], steps[number + 1 :], f"{number + 1} {type(step).__name__}"
        if isinstance(step, Twiddle | Diagonal):
            yield f"{name} dropped", before + after
        if hasattr(step, "inverse"):
            yield f"{name} with the wrong sign", (*before, replace(step, inverse=not step.inverse), *after)
        if getattr(step, "scale", None) is not None:
            yield f"{name} scaled", (*before, replace(step, scale=step.scale * 1.01), *after)
        if hasattr(step, "weighted"):
            yield f"{name} with other weights", (*before, replace(step, weighted=not step.weighted), *after)
        if isinstance(step, Shift):
            yield f"{name} one too far", (*before, replace(step, amount=step.amount + 1), *after)
    for place, layout in ((0, plan.layouts[0]), (len(steps), plan.layouts[-1])):
        for axis in range(layout.rank):
            size, chunk = layout.shape[axis], layout.chunk_shape[axis]

            def inserted(new: tuple[Step, ...], place: int = place) -> tuple[Step, ...]:
                return steps[:place] + new + steps[place:]

            side = f"{'result' if place else 'input'}, axis {axis}"
            yield f"{side}: rolled by one", inserted((Shift(axis, 1),))
            yield f"{side}: two elements swapped", inserted(swapped(axis, size, 1, size - 2, 1))
            if layout.parts[axis] > 1 and size > 2 * chunk:
                yield f"{side}: two chunks swapped", inserted(swapped(axis, size, 0, chunk, chunk))
            yield f"{side}: the last one halved", inserted((Diagonal(axis, Ends(last=0.5)),))
            yield f"{side}: not a number", inserted((Diagonal(axis, Ends(first=np.nan)),))


def differs(right: tpufft.Plan, wrong: tpufft.Plan) -> bool:
    x = random(right.in_layout.shape, right.in_layout.dtype)
    a, b = (np.asarray(plan(x)) for plan in (right, wrong))
    return not np.max(np.abs(a - b)) <= 1e-6 * np.max(np.abs(a))


@pytest.mark.parametrize("family", some(FAMILIES, lambda _, name: name in ("fft", "fft, scrambled", "dct")))
def test_wrong_plans_fail(family):
    name, shape, dtype, options = FAMILIES[family]
    plan = plan_of(name, shape, dtype, **options)
    tried, missed = 0, []
    for what, steps in wrong_steps(plan):
        wrong = with_steps(plan, steps)
        # Some changes change nothing, such as a zero frequency's weight of the imaginary part.
        if differs(plan, wrong):
            tried += 1
            if tpufft.verify(wrong):
                missed.append(what)
    assert not missed
    assert tried >= 5


def test_another_norm_or_type_fails():
    """The steps of a plan that is right, but for another problem."""
    right = plan_of("dct", (32,), F64)
    for options in ({"norm": "ortho"}, {"type": 3}, {"type": 4}, {"norm": "forward"}):
        wrong = with_steps(right, plan_of("dct", (32,), F64, **options).steps)
        assert not tpufft.verify(wrong), options


def test_rows_of_a_batch_in_another_order_fail():
    plan = plan_of("fft", (16, 8), C128)
    assert not tpufft.verify(with_steps(plan, (*plan.steps, Shift(0, 1))))


# -- what it says ----------------------------------------------------------------------------------------------------


def test_report():
    plan = plan_of("fftn", (16, 6), C64)
    found = tpufft.verify(plan, rounds=2, seed=5)
    assert [(check.test, check.axis) for check in found.checks] == [
        ("linearity", None),
        ("impulse", None),
        ("shift in time", 0),
        ("shift in frequency", 0),
        ("shift in time", 1),
        ("shift in frequency", 1),
    ]
    assert str(found).splitlines()[-1] == "passed in 2 rounds from seed 5"
    assert tpufft.verify(plan, rounds=2, seed=5) == found
    assert tpufft.verify(plan, rounds=2, seed=6) != found
    strict = tpufft.verify(plan, rounds=1, limit=1e-12)
    assert not strict
    assert "FAILED" in str(strict)
    with pytest.raises(ArithmeticError, match=r"fftn.* is wrong: .*linearity is off by .*, more than 1e-12"):
        strict.raise_if_failed()


def test_progress_counts_every_test():
    for name, dtype, options in (("fft", C64, {}), ("fht", F32, HANKEL), ("fftshift", C64, {})):
        seen = []
        tpufft.verify(
            plan_of(name, (16,), dtype, **options), rounds=2, progress=lambda *done, seen=seen: seen.append(done)
        )
        assert seen == [(number + 1, len(seen)) for number in range(len(seen))]


def test_bad_arguments():
    plan = plan_of("fft", (16,), C64)
    with pytest.raises(TypeError, match=r"plan='fft' is no plan"):
        tpufft.verify("fft")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"rounds=0: a whole number of at least 1"):
        tpufft.verify(plan, rounds=0)
    with pytest.raises(ValueError, match=r"seed=-1: a whole number"):
        tpufft.verify(plan, seed=-1)
    with pytest.raises(ValueError, match=r"has no devices to verify it on"):
        tpufft.verify(tpufft.plan("fft", (16,), C64, AbstractMesh((8,), ("x",))))
    with pytest.raises(ValueError, match=r"transforms axis 0 2 times"):
        tpufft.verify(plan_of("fftn", (16, 8), C64, axes=(0, 0)))


# -- what it costs ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "shape", "dtype", "options"),
    [
        ("fft", (2**15,), C64, {"order": "scrambled"}),
        ("rfft", (2**15 + 2,), F32, {}),
        ("irfftn", (64, 64, 9), C64, {}),
        ("dst", (2**15,), F32, {}),
    ],
)
def test_nothing_is_gathered(monkeypatch, name, shape, dtype, options):
    plan = plan_of(name, shape, dtype, **options)
    collectives, elements = set(), set()
    run = Programs._run

    def recorded(self, key, program, sharding, *arguments):
        with counting(self.before):
            text = jax.jit(program, out_shardings=sharding).lower(*arguments).compile().as_text() or ""
        collectives.update(hlo.executed_collectives(text))
        elements.update(math.prod(map(int, sizes.split(","))) for sizes in re.findall(r"\w\[([\d,]+)\]", text))
        return run(self, key, program, sharding, *arguments)

    monkeypatch.setattr(Programs, "_run", recorded)
    assert tpufft.verify(plan, rounds=1)
    assert collectives == {"all-reduce"}
    # Both planes of a chunk are the largest array on any device.
    assert max(elements) <= 2 * max(plan.in_layout.chunk_size, plan.out_layout.chunk_size)


# -- the command -----------------------------------------------------------------------------------------------------


def called(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["verify", *words])
    return done.exit_code, done.output


def test_command_prints_a_line_for_each_test_and_axis():
    code, out = called("--transform", "fftn", "--shape", "16,8,3", "--axes", "0,2", "--mesh", "x=8", "--spec", "x,-,-")
    assert code == 0
    assert "chunked P('x', None, None)" in out
    assert [line.split()[0] for line in out.splitlines()[-8:]] == [
        "test", "linearity", "impulse", "shift", "shift", "shift", "shift", "passed",
    ]  # fmt: skip


def test_command_prints_json_and_tells_failure_by_its_code():
    words = ("--transform", "dct", "--shape", "20", "--type", "4", "--dtype", "float32", "--rounds", "1", "--json")
    code, out = called(*words)
    assert code == 0
    data = json.loads(out)
    assert data["passed"]
    assert data["rounds"] == 1
    assert {check["test"] for check in data["checks"]} == {
        "linearity", "impulse", "shift in time", "shift in frequency",
    }  # fmt: skip
    code, out = called(*words, "--limit", "1e-12")
    assert code == command.FAILED == 3
    assert not json.loads(out)["passed"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--transform", "rfft", "--shape", "16", "--dtype", "complex64"), "must be real"),
        (("--transform", "fft", "--shape", "16", "--dtype", "complex65"), "--dtype 'complex65' is no dtype"),
        (("--transform", "fftshift", "--shape", "16", "--norm", "ortho"), "fftshift takes axes, not norm"),
        (("--transform", "fft", "--shape", "16,8", "--axes", "0,1"), "--axes has 2 numbers; fft takes one"),
        (("--transform", "fht", "--shape", "16"), "fht needs dln, mu"),
    ],
)
def test_command_says_what_is_wrong_in_one_line(capfd, words, message):
    code, out = called(*words)
    assert code == 1
    assert message in out + capfd.readouterr().err


def test_every_option_and_exit_code_is_on_the_page():
    text = (Path(__file__).parent.parent / "docs" / "verify.md").read_text()
    parameters = typer.main.get_command(app).commands["verify"].params
    options = {name for parameter in parameters for name in parameter.opts if name.startswith("--")}
    assert options <= set(re.findall(r"--[a-z][a-z-]*", text))
    codes = set(re.findall(r"^\| (\d+) \|", text, re.MULTILINE))
    assert codes == {str(code) for code in (0, BAD_INPUT, USAGE, command.FAILED, INTERRUPTED, TERMINATED)}


@pytest.mark.parametrize("words", [("--transform", "ftt", "--shape", "16"), ("--transform", "fft", "--shape", "a")])
def test_command_refuses_unknown_words(words):
    code, out = called(*words)
    assert code == 2
    assert re.search(r"is unknown|no list of sizes", out)
