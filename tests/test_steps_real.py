"""Steps of real, trigonometric and any-size plans on eight devices: values, transposes, layouts, what they send."""

from __future__ import annotations

import functools
import math
import re
from typing import Any

import jax
import numpy as np
import numpy_steps
import pytest
from helpers import check_value, random, some
from jax.sharding import PartitionSpec as P
from test_steps import Runner, layout_of

from tpufft import Layout
from tpufft.execution import run
from tpufft.planning.hlo import executed_collectives
from tpufft.planning.inplace import StepBuilder, Tools
from tpufft.planning.inplace.bluestein import bluestein
from tpufft.planning.operations import DFT
from tpufft.steps import (
    AsComplex,
    AsReal,
    Chirp,
    ChirpSpectrum,
    Collect,
    Diagonal,
    Ends,
    Fold,
    LocalReal,
    LocalTrig,
    Merge,
    Phase,
    Piece,
    Power,
    Program,
    RealPart,
    Rearrange,
    Ring,
    Signs,
    Split,
    Spread,
    Step,
    Table,
    Unfold,
    Widen,
)

Case = tuple[Step, Layout]


def real_of(*args: Any, **axes: int) -> Layout:
    return layout_of(*args, **axes).with_dtype(np.dtype(np.float64))


def _local_reals() -> dict[str, Case]:
    cases = {}
    for kernel in ("xla", "matmul"):
        for n, inverse, weighted in ((6, False, False), (7, True, True), (2, True, False), (1, False, True)):
            real, spectrum = real_of((n, 5), P(None, "x"), x=4), layout_of((n // 2 + 1, 5), P(None, "x"), x=4)
            for to_real, layout in ((False, real), (True, spectrum)):
                step = LocalReal((0,), n, inverse, 0.5, to_real, weighted, kernel)
                cases[f"{kernel} of {n} {'to' if to_real else 'from'} real"] = step, layout
        several = LocalReal((2, 0), 6, False, 0.5, False, True, kernel)
        cases[f"{kernel} of two axes"] = several, real_of((6, 5, 3), P(None, "x"), x=4)
        back = LocalReal((2, 0), 6, True, 1.0, True, False, kernel)
        cases[f"{kernel} of two axes to real"] = back, layout_of((4, 5, 3), P(None, "x"), x=4)
    return cases


def _local_trigs() -> dict[str, Case]:
    real, complex_ = real_of((2, 5, 6), P(None, "x"), x=4), layout_of((7, 5), P(None, "x"), x=4)
    kinds = ("C1", "C2", "C3", "C4", "S1")
    cases: dict[str, Case] = {f"{kind} xla": (LocalTrig(2, kind, 0.5, "xla"), real) for kind in kinds}
    return cases | {f"{kind} matmul of complex": (LocalTrig(0, kind, 2.0, "matmul"), complex_) for kind in kinds}


def _views() -> dict[str, Case]:
    line, wide = real_of((13,), P("x"), x=8), layout_of((13, 2), P("x"), x=8)
    rows = layout_of((15, 2), P("x"), (9, 0), x=4)
    return {
        "widen": (Widen(), line),
        "real part": (RealPart(), wide),
        "as real": (AsReal(0), wide),
        "as real, conjugate": (AsReal(1, conjugate=True), wide),
        "as complex": (AsComplex(0), real_of((13, 2), P("x"), x=8)),
        "as complex, conjugate": (AsComplex(1, conjugate=True), real_of((3, 5, 2, 3), P(None, "x"), x=4)),
        "split of padded rows": (Split(0, 5), rows),
        "split of one column": (Split(1, 7), real_of((2, 7), P(None, "x"), x=4)),
        "merge of padded rows": (Merge(0), layout_of((5, 3, 2), P("x"), x=4)),
        "merge of padded rows inside": (Merge(1), real_of((2, 5, 3), P(None, ("b", "a")), a=2, b=2)),
        "unfold": (Unfold(1), layout_of((5, 6), P("x"), x=4)),
        "unfold of two": (Unfold(0), layout_of((2, 5, 2), P(None, "x"), x=4)),
        "fold": (Fold(1), layout_of((5, 2, 3), P("x"), x=4)),
    }


TABLES: dict[str, Table] = {
    "ends": Ends(0.5, 2.0, 3.0),
    "signs": Signs(),
    "phase": Phase(28, 3, 5, scale=0.5),
    "phase back": Phase(2**40 + 15, 2**39, -3, inverse=True),
    "chirp": Chirp(13, scale=2.0),
    "chirp back": Chirp(26, inverse=True),
    "power": Power(-0.25, 6.0, scale=1.5),
}


def _diagonals() -> dict[str, Case]:
    layouts = {
        "chunked": (0, layout_of((13, 2), P("x"), x=8)),
        "whole": (0, layout_of((7, 5), P(None, "x"), x=4)),
        "over two": (1, layout_of((2, 13), P(None, ("b", "a")), (0, 7), a=2, b=2)),
        "of one": (0, layout_of((1,), P("x"), x=8)),
    }
    cases: dict[str, Case] = {
        f"{name} {where}": (Diagonal(axis, table), layout)
        for name, table in TABLES.items()
        for where, (axis, layout) in layouts.items()
        if where in ("chunked", "over two") or name in ("ends", "chirp")
    }
    real = {name: table for name, table in TABLES.items() if not table.is_complex}
    return cases | {
        f"{name} on real": (Diagonal(0, table), layouts["chunked"][1].with_dtype(np.dtype(np.float64)))
        for name, table in real.items()
    }


def _chirp_spectra() -> dict[str, Case]:
    cases: dict[str, Case] = {}
    for name, layout, axis, order, inverse in (
        ("line", layout_of((13,), P("x"), x=4), 0, None, False),
        ("batch", layout_of((2, 5), P(None, "x"), x=2), 1, None, True),
        ("other order", layout_of((9, 2), P(("b", "a")), a=2, b=2), 0, 18, False),
        ("of more than 64 columns", layout_of((71,), P("x"), x=2), 0, None, False),
        ("of one", layout_of((1,), P("x"), x=2), 0, None, True),
    ):
        build = StepBuilder(layout)
        bluestein(build, DFT(axis, layout.shape[axis], inverse, 0.5), Tools(lambda *_: "xla"), order)
        found = [number for number, step in enumerate(build.steps) if isinstance(step, ChirpSpectrum)]
        cases[name] = build.steps[found[0]], build.program.layouts[found[0]]
    return cases


def _rearranged() -> dict[str, Case]:
    line, lanes = real_of((13, 1), P("x"), x=8), layout_of((9, 2), P("x"), x=4)
    behind = layout_of((2, 7, 2, 3), P(None, ("b", "a")), a=2, b=2)
    whole = real_of((5, 2, 6), P(None, None, "x"), x=4)
    crossed = (Piece(0, 9, 9, source_lane=1), Piece(0, 0, 9, mirrored=True, factor=-1.0))
    return {
        "mirrored": (Rearrange(0, 13, 1, (Piece(0, 0, 13, mirrored=True),)), line),
        "halves mirrored": (Rearrange(0, 24, 1, (Piece(0, 0, 13), Piece(1, 13, 11, True, -1.0))), line),
        "part": (Rearrange(0, 20, 3, (Piece(2, 7, 5, True, 2.0, 0, 1),)), line),
        "lanes to one": (Rearrange(0, 18, 1, crossed), lanes),
        "lanes crossed": (
            Rearrange(0, 9, 2, (Piece(0, 0, 9, True, 1.0, 1, 0), Piece(0, 0, 9, False, -1.0, 0, 1))),
            lanes,
        ),
        "shorter": (Rearrange(0, 3, 2, (Piece(5, 0, 3, True, 1.0, 1, 1), Piece(1, 0, 2, False, -2.0))), lanes),
        "inside": (Rearrange(1, 11, 2, (Piece(0, 4, 7, True, -1.0, 1, 0), Piece(1, 0, 6, False, 1.0, 0, 1))), behind),
        "whole": (Rearrange(0, 10, 1, (Piece(0, 0, 5), Piece(0, 5, 5, True, -1.0, 1))), whole),
    }


def _spectra() -> dict[str, Case]:
    cases: dict[str, Case] = {}
    for rows, columns, parts in ((2, 1, 4), (4, 4, 4), (6, 5, 4), (8, 3, 8), (2, 16, 8), (6, 7, 3), (4, 2, 1)):
        split = layout_of((rows // 2 + 1, 2, columns), P(None, None, "x"), x=parts)
        cases[f"collect {rows} x {columns} over {parts}"] = Collect(0, rows), split
        line = layout_of((rows * columns + 1,), P("x"), x=parts)
        cases[f"spread {rows} x {columns} over {parts}"] = Spread(0, rows), line
    cases["collect inside"] = Collect(1, 4), layout_of((2, 3, 2, 5, 3), P(None, None, None, ("b", "a")), a=2, b=2)
    cases["spread inside"] = Spread(1, 4), layout_of((2, 21, 3), P(None, ("b", "a")), a=2, b=2)
    return cases


def _rings() -> dict[str, Case]:
    layouts = {
        "13 over 8": (0, layout_of((13, 2), P("x"), x=8)),
        "5 over 8": (0, layout_of((5,), P("x"), x=8)),
        "11 over 3": (1, layout_of((2, 11), P(None, "x"), x=3)),
        "padded more": (0, layout_of((9,), P("x"), (11,), x=4)),
        "over two": (0, layout_of((7, 3), P(("b", "a")), a=2, b=2)),
        "1 over 2": (0, layout_of((1,), P("x"), x=2)),
    }
    return {
        f"{name} {'both ways' if both else 'one way'}": (Ring(axis, inverse, 0.5, both), layout)
        for name, (axis, layout) in layouts.items()
        for inverse, both in ((False, False), (True, True))
    }


MAKERS = (_local_reals, _local_trigs, _views, _diagonals, _chirp_spectra, _rearranged, _spectra, _rings)
CASES: dict[str, Case] = {
    f"{make.__name__.strip('_')}: {name}": case for make in MAKERS for name, case in make().items()
}


class Compiled(Runner):
    """A program under ``shard_map``, compiled for the layout that it starts in; `text` is its HLO."""

    def __init__(self, program: Program) -> None:
        layout = program.in_layout
        self.before, self.after, self.dtype = layout, program.out_layout, layout.dtype
        mapped = jax.shard_map(
            functools.partial(run, program, platform="cpu"),
            mesh=layout.mesh,
            in_specs=layout.partition_spec,
            out_specs=self.after.partition_spec,
        )
        stored = jax.ShapeDtypeStruct(layout.stored_shape, layout.dtype, sharding=layout.sharding)
        self.function = jax.jit(mapped).lower(stored).compile()
        self.text = self.function.as_text() or ""


def sent_bytes(text: str, parts: int) -> float:
    """Bytes that one device sends in a program; permutes in a loop must all be of one size."""
    total = 0.0
    for opcode, executed in executed_collectives(text).items():
        sizes = []
        for operands in re.findall(rf"= (.*?) {opcode}(?:-start)?\(", text):
            shapes = re.findall(r"[cf](\d+)\[([\d,]*)\]", operands)
            sizes.append(sum(int(bits) // 8 * math.prod(map(int, filter(None, s.split(",")))) for bits, s in shapes))
        assert len(sizes) == executed or len(set(sizes)) == 1, f"{opcode}s of {sizes} bytes in a loop"
        share = (parts - 1) / parts if opcode == "all-to-all" else 1
        total += share * executed * sum(sizes) / len(sizes)
    return total


def check_says(step: Step, layout: Layout, text: str) -> None:
    """That what a step says it sends is what its compiled program sends."""
    assert executed_collectives(text) == {name: count for name, count in step.collectives(layout).items() if count}
    assert step.wire_bytes(layout) == sent_bytes(text, max(layout.parts))
    assert step.describe(layout)
    assert "\n" not in step.describe(layout)
    assert hash(step) == hash(type(step)(**vars(step)))


@pytest.mark.parametrize("name", sorted(CASES))
def test_value_transpose_layouts_and_wire(name: str) -> None:
    step, layout = CASES[name]
    forward = Compiled(Program(layout, (step,)))
    x = random(layout.shape, layout.dtype, seed=1)
    y = forward(x)
    assert y.dtype == forward.after.dtype
    check_value(y, numpy_steps.apply(step, x), times=2)
    check_says(step, layout, forward.text)

    transposed = step.transposed(layout)
    backward = Compiled(Program(forward.after, (transposed,)))
    assert backward.after == layout
    assert transposed.transposed(forward.after).after(layout) == forward.after
    check_says(transposed, forward.after, backward.text)
    ct = random(y.shape, y.dtype, seed=2)
    pulled = backward(ct)
    # JAX's convention: no conjugation; of complex numbers the real part counts.
    there, back = np.sum(ct * y).real, np.sum(pulled * x).real
    size = np.linalg.norm(ct) * np.linalg.norm(y)
    assert abs(there - back) <= 1e-13 * size


@pytest.mark.parametrize("name", some(sorted(CASES)))
def test_single_precision_stays_single(name: str) -> None:
    step, layout = CASES[name]
    if isinstance(step, ChirpSpectrum):
        pytest.skip("its line has a layout of its own")
    single = layout.with_dtype(np.dtype(np.complex64 if layout.dtype.kind == "c" else np.float32))
    runner = Runner(step, single, single.dtype)
    stored = jax.ShapeDtypeStruct(single.stored_shape, single.dtype, sharding=single.sharding)
    assert jax.eval_shape(runner.function, stored).dtype == runner.after.dtype
    assert runner.after.dtype in (np.complex64, np.float32)
