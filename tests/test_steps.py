"""Steps as matrices on eight devices: what each one does, and that its transpose is the transposed matrix."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import jax
import numpy as np
import pytest
from helpers import counted_calls
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.sharding import AbstractMesh, Mesh
from jax.sharding import PartitionSpec as P

from tpufft import Layout, LayoutError
from tpufft.execution import run
from tpufft.steps import (
    AsComplex,
    Chirp,
    Collect,
    Copy,
    Deinterleave,
    Diagonal,
    Exchange,
    Fold,
    Fragment,
    Interleave,
    Local,
    LocalReal,
    Merge,
    Pad,
    Program,
    Rearrange,
    Resize,
    Ring,
    Shift,
    Split,
    Spread,
    Step,
    Trim,
    Twiddle,
    Unfold,
    crossing,
    dft_flops,
    fragments,
    rounds,
)

Reference = Callable[[np.ndarray], np.ndarray]


def mesh_of(**axes: int) -> Mesh:
    count = math.prod(axes.values())
    return Mesh(np.array(jax.devices()[:count]).reshape(tuple(axes.values())), tuple(axes))


@dataclass(frozen=True)
class Case:
    """A step, the layout that it starts in, and what it does to the array's own elements."""

    name: str
    step: Step
    layout: Layout
    reference: Reference


def layout_of(shape: tuple[int, ...], spec: P, padding: tuple[int, ...] | None = None, **axes: int) -> Layout:
    layout = Layout.of(shape, np.complex128, mesh_of(**axes), spec)
    return layout if padding is None else Layout(layout.shape, layout.dtype, layout.mesh, layout.spec, padding)


def same(x: np.ndarray) -> np.ndarray:
    return x


def dft(x: np.ndarray, axes: tuple[int, ...], inverse: bool, scale: float) -> np.ndarray:
    return np.fft.ifftn(x, axes=axes, norm="forward") * scale if inverse else np.fft.fftn(x, axes=axes) * scale


def twiddled(x: np.ndarray, rows: int, columns: int, modulus: int, sign: int, scale: float) -> np.ndarray:
    index = np.indices(x.shape)
    return x * scale * np.exp(sign * 2j * np.pi * (index[rows] * index[columns] % modulus) / modulus)


def resized(x: np.ndarray, axis: int, size: int) -> np.ndarray:
    kept = x.take(range(min(size, x.shape[axis])), axis=axis)
    return np.pad(kept, [(0, size - kept.shape[axis] if i == axis else 0) for i in range(x.ndim)])


def columns_first(x: np.ndarray, axis: int) -> np.ndarray:
    turned = x.swapaxes(axis, axis + 1)
    return turned.reshape(*x.shape[:axis], -1, *x.shape[axis + 2 :])


def _locals() -> list[Case]:
    slab = layout_of((4, 8, 3), P(None, "x"), x=4)
    return [
        Case(
            f"local-{kernel}-{axes}-{inverse}",
            Local(axes, inverse, scale, kernel),
            slab,
            functools.partial(dft, axes=axes, inverse=inverse, scale=scale),
        )
        for kernel, (axes, inverse, scale) in itertools.product(
            ("xla", "matmul"), (((0,), False, 1.0), ((0, 2), True, 1 / 12), ((2,), True, 0.3))
        )
    ]


def _rings() -> list[Case]:
    layouts = {
        "x8": (layout_of((16, 2), P("x"), x=8), 0),
        "x3": (layout_of((2, 6), P(None, "x"), x=3), 1),
        "ab": (layout_of((8, 3), P(("b", "a")), a=2, b=4), 0),
        "one of two": (layout_of((4, 6), P("a", "b"), a=4, b=2), 1),
        "x1": (layout_of((3, 4), P("x"), x=1), 0),
    }
    return [
        Case(
            f"ring-{name}-{inverse}-{both}",
            Ring(axis, inverse, 0.5, both),
            layout,
            functools.partial(dft, axes=(axis,), inverse=inverse, scale=0.5),
        )
        for (name, (layout, axis)), (inverse, both) in itertools.product(
            layouts.items(), ((False, False), (True, True))
        )
    ]


def _twiddles() -> list[Case]:
    layouts = {
        "rows chunked": layout_of((8, 3), P("x"), x=4),
        "columns chunked": layout_of((3, 8), P(None, "x"), x=4),
        "columns padded": layout_of((3, 6), P(None, "x"), x=4),
        "several": layout_of((8, 2), P(("b", "a")), a=2, b=2),
        "apart": layout_of((3, 2, 4), P(None, None, "x"), x=4),
    }
    cases = []
    for (name, layout), inverse in itertools.product(layouts.items(), (False, True)):
        rows, columns = 0, layout.rank - 1
        modulus = layout.shape[rows] * layout.shape[columns]
        reference = functools.partial(
            twiddled, rows=rows, columns=columns, modulus=modulus, sign=1 if inverse else -1, scale=0.25
        )
        step = Twiddle(rows, columns, modulus, inverse, 0.25)
        cases.append(Case(f"twiddle-{name}-{inverse}", step, layout, reference))
    turned = functools.partial(twiddled, rows=1, columns=0, modulus=24, sign=-1, scale=1.0)
    return [*cases, Case("twiddle-turned", Twiddle(1, 0, 24, False), layouts["rows chunked"], turned)]


def _exchanges() -> list[Case]:
    return [
        Case("exchange-slab", Exchange(("x",), 0, 1), layout_of((8, 8, 2), P("x"), x=8), same),
        Case("exchange-back", Exchange(("x",), 2, 0), layout_of((4, 1, 8), P(None, None, "x"), x=4), same),
        Case("exchange-fastest", Exchange(("b",), 0, 1), layout_of((8, 8), P(("a", "b"), "c"), a=2, b=2, c=2), same),
        Case("exchange-both", Exchange(("b", "a"), 1, 0), layout_of((4, 8), P(None, ("b", "a")), a=2, b=2), same),
        Case("exchange-padded", Exchange(("x",), 0, 1), layout_of((5, 3), P("x"), (3, 1), x=4), same),
        Case("exchange-onto-padding", Exchange(("x",), 0, 1), layout_of((8, 9), P("x"), (0, 7), x=8), same),
        Case("exchange-of-one", Exchange(("x",), 0, 1), layout_of((3, 2), P("x"), x=1), same),
    ]


def _views() -> list[Case]:
    chunked, two = layout_of((12, 2), P("x"), x=4), layout_of((4, 3, 2), P("x"), x=4)
    columns = layout_of((3, 8), P(None, "x"), x=4)
    padded = layout_of((3, 6), P(None, "x"), x=4)
    long = layout_of((2, 24), P(None, "x"), x=4)
    stored = layout_of((18,), P("x"), (6,), x=4)

    def as_columns(x: np.ndarray, axis: int, rows: int) -> np.ndarray:
        return x.reshape(*x.shape[:axis], -1, rows, *x.shape[axis + 1 :]).swapaxes(axis, axis + 1)

    return [
        Case("pad", Pad(1, 5), layout_of((4, 3), P("x"), x=4), same),
        Case("trim", Trim(1, 5), layout_of((4, 3), P("x"), (0, 6), x=4), same),
        Case("split", Split(0, 4), chunked, lambda x: x.reshape(4, 3, 2)),
        Case("split-more-rows", Split(0, 12), chunked, lambda x: x.reshape(12, 1, 2)),
        Case("merge", Merge(0), two, lambda x: x.reshape(12, 2)),
        Case("interleave", Interleave(0), columns, functools.partial(columns_first, axis=0)),
        Case("interleave-padded", Interleave(0), padded, functools.partial(columns_first, axis=0)),
        Case("deinterleave", Deinterleave(1, 3), long, functools.partial(as_columns, axis=1, rows=3)),
        Case("deinterleave-padded", Deinterleave(0, 3), stored, functools.partial(as_columns, axis=0, rows=3)),
    ]


def _copies() -> list[Case]:
    even, uneven = layout_of((16,), P("x"), x=8), layout_of((13, 2), P("x"), x=8)
    behind = layout_of((2, 12), P(None, ("b", "a")), a=2, b=2)
    whole, empty = layout_of((5, 4), P(None, "x"), x=4), layout_of((9,), P("x"), x=8)
    shifts = [(even, 0, 8), (even, 0, 3), (even, 0, 14), (uneven, 0, 6), (uneven, 0, 12), (behind, 1, 5)]
    shifts += [(whole, 0, 2), (empty, 0, 4), (empty, 0, 1), (even, 0, 0)]
    sizes = [(even, 0, 8, 0), (even, 0, 24, 0), (even, 0, 11, 5), (uneven, 0, 16, 0), (uneven, 0, 5, 3)]
    sizes += [(behind, 1, 20, 0), (behind, 1, 4, 0), (whole, 0, 8, 0), (whole, 0, 3, 0), (whole, 0, 3, 2)]
    sizes += [(empty, 0, 8, 0), (even, 0, 16, 16)]
    cases = []
    for layout, axis, amount in shifts:
        reference = functools.partial(np.roll, shift=amount, axis=axis)
        cases.append(Case(f"shift-{layout.shape}-by-{amount}", Shift(axis, amount), layout, reference))
    for layout, axis, size, pad in sizes:
        reference = functools.partial(resized, axis=axis, size=size)
        cases.append(Case(f"resize-{layout.shape}-to-{size}+{pad}", Resize(axis, size, pad), layout, reference))
    return cases


CASES = {case.name: case for make in (_locals, _rings, _twiddles, _exchanges, _views, _copies) for case in make()}


class Runner:
    """A step under ``shard_map``, from the array's own elements to the result's own elements."""

    def __init__(self, step: Step, layout: Layout, dtype: object = np.complex128) -> None:
        program = Program(layout, (step,))
        self.before, self.after = layout, program.out_layout
        self.dtype = np.dtype(dtype)  # type: ignore[call-overload]
        self.function = jax.jit(
            jax.shard_map(
                functools.partial(run, program, platform="cpu"),
                mesh=layout.mesh,
                in_specs=layout.partition_spec,
                out_specs=self.after.partition_spec,
            )
        )

    def __call__(self, x: np.ndarray) -> np.ndarray:
        # What is unspecified must not leak into what is specified.
        garbage = {"f": np.nan, "c": complex(np.nan, np.nan)}.get(self.dtype.kind, 1)
        stored = np.full(self.before.stored_shape, garbage, self.dtype)
        stored[_own(self.before)] = x
        result = self.function(jax.device_put(stored, self.before.sharding))
        assert result.sharding.is_equivalent_to(self.after.sharding, result.ndim)
        assert result.shape == self.after.stored_shape
        return np.asarray(result)[_own(self.after)]

    def matrix(self) -> np.ndarray:
        units = np.eye(self.before.size, dtype=self.dtype).reshape(-1, *self.before.shape)
        return np.stack([self(unit).ravel() for unit in units], axis=1)


def _own(layout: Layout) -> tuple[slice, ...]:
    return tuple(slice(0, size) for size in layout.shape)


@pytest.mark.parametrize("name", sorted(CASES))
def test_step_and_its_transpose_as_matrices(name: str) -> None:
    case = CASES[name]
    forward = Runner(case.step, case.layout)
    units = np.eye(case.layout.size, dtype=complex).reshape(-1, *case.layout.shape)
    expected = np.stack([case.reference(unit).ravel() for unit in units], axis=1)
    matrix = forward.matrix()
    np.testing.assert_allclose(matrix, expected, atol=1e-13)

    transposed = case.step.transposed(case.layout)
    backward = Runner(transposed, forward.after)
    assert backward.after == case.layout
    np.testing.assert_allclose(backward.matrix(), matrix.T, atol=1e-13)
    assert transposed.transposed(forward.after).after(case.layout) == forward.after


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint32, np.float16, np.complex64])
@pytest.mark.parametrize("name", ["shift-(13, 2)-by-6", "shift-(16,)-by-8", "resize-(13, 2)-to-5+3"])
def test_copies_of_any_dtype(name: str, dtype: type) -> None:
    case = CASES[name]
    values = np.arange(case.layout.size).reshape(case.layout.shape) % 3
    x = values.astype(dtype)
    result = Runner(case.step, case.layout, dtype)(x)
    assert result.dtype == x.dtype
    np.testing.assert_array_equal(result, case.reference(x))


# -- what steps say of themselves ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(CASES))
def test_what_a_step_says(name: str) -> None:
    case = CASES[name]
    step, layout = case.step, case.layout
    text = step.describe(layout)
    assert text
    assert "\n" not in text
    assert 0 <= step.wire_bytes(layout) <= max(layout.parts) * 2 * layout.chunk_bytes
    collectives = step.collectives(layout)
    assert all(count >= 0 for count in collectives.values())
    assert bool(sum(collectives.values())) == bool(step.wire_bytes(layout)) or isinstance(step, Exchange)
    assert hash(step) == hash(type(step)(**vars(step)))


def test_wire_of_an_exchange_and_a_ring() -> None:
    layout = Layout.of((16, 16), np.complex64, AbstractMesh((8,), ("x",)), P("x"))
    assert Exchange(("x",), 0, 1).wire_bytes(layout) == 256 * 7 // 8
    assert Exchange(("x",), 0, 1).collectives(layout) == {"all-to-all": 1}
    assert Ring(0, False, 1.0).wire_bytes(layout) == 256 * 7
    assert Ring(0, False, 1.0).collectives(layout) == {"collective-permute": 7}


def test_steps_refuse_layouts_that_do_not_fit() -> None:
    layout = Layout.of((9, 6), np.complex64, AbstractMesh((4,), ("x",)), P("x"))
    columns = Layout.of((6, 9), np.complex64, AbstractMesh((4,), ("x",)), P(None, "x"))
    wrong = [
        (Local((0,), False, 1.0, "xla"), layout, "axis 0 is not whole on every device"),
        (LocalReal((1,), 6, False, 1.0, False, False, "xla"), layout, "is not 6 real numbers"),
        (Diagonal(0, Chirp(9)), layout.with_dtype(np.float32), "cannot multiply"),
        (AsComplex(0), layout, "is not pairs of real numbers"),
        (Unfold(0), layout, "is not an even number of whole complex columns"),
        (Fold(0), layout, "are not two lanes"),
        (Collect(0, 4), layout, "are not the half rows of 4"),
        (Spread(0, 3), layout, "is no half spectrum of 3 rows"),
        (Rearrange(0, 9, 1, ()), columns, "the lanes along axis 1 are not whole"),
        (Split(0, 4), layout, "has no 4 rows of whole chunks"),
        (Merge(0), columns, "rows along axis 0 are not whole"),
        (Interleave(0), layout, "columns along axis 0 are not whole"),
        (Deinterleave(0, 5), layout, "has no columns of 5 in whole chunks"),
        (Exchange(("x",), 1, 0), layout, "are not its last mesh axes"),
    ]
    for step, where, message in wrong:
        with pytest.raises(LayoutError, match=message):
            step.after(where)


def test_programs_compose_and_transpose() -> None:
    layout = Layout.of((8, 16), np.complex64, AbstractMesh((8,), ("x",)), P("x"))
    there = Program(layout, (Local((1,), False, 1.0, "xla"), Exchange(("x",), 0, 1)))
    back = Program(there.out_layout, (Local((0,), False, 1.0, "xla"), Exchange(("x",), 1, 0)))
    both = there.then(back)
    assert both.steps == there.steps + back.steps
    assert both.layouts == there.layouts + back.layouts[1:]
    assert both.wire_bytes == there.wire_bytes + back.wire_bytes
    assert both.collectives == {"all-to-all": 2}
    assert both.transposed().transposed() == both
    assert both.transposed().steps == (both.steps[3].transposed(layout), both.steps[2], *there.transposed().steps)
    with pytest.raises(LayoutError, match=r"the first program leaves .* the second takes"):
        there.then(there)


def test_flops_by_the_usual_convention() -> None:
    assert dft_flops(1024, 3) == 5 * 1024 * 10 * 3
    assert dft_flops(1, 10) == 0
    assert dft_flops(2**31, 2**20) == 5.0 * 2**51 * 31


# -- fragments and rounds -----------------------------------------------------------------------------------------


def _check_copies(step: Copy, layout: Layout) -> list[list[Fragment]]:
    """Every element that the step copies is copied once, to where it belongs, in partial permutations."""
    before, after = layout.chunk_shape[0], step.after(layout).chunk_shape[0]
    copied: dict[int, int] = {}
    for part in step.fragments(layout):
        assert 0 <= part.source_start <= before - part.length
        assert 0 <= part.target_start <= after - part.length
        for offset in range(part.length):
            new = part.target * after + part.target_start + offset
            assert new not in copied
            copied[new] = part.source * before + part.source_start + offset
    size, new_size = layout.shape[0], step.after(layout).shape[0]
    if isinstance(step, Shift):
        assert copied == {(old + step.amount) % size: old for old in range(size)}
    else:
        assert copied == {old: old for old in range(min(size, new_size))}
    moved = crossing(step.fragments(layout))
    groups = rounds(moved)
    assert sorted(part for group in groups for part in map(_key, group)) == sorted(map(_key, moved))
    for group in groups:
        assert len({part.source for part in group}) == len({part.target for part in group}) == len(group)
        assert all(part.source != part.target for part in group)
    return groups


def _key(part: Fragment) -> tuple[int, ...]:
    return tuple(vars(part).values())


def _line(size: int, parts: int) -> Layout:
    return Layout.of((size,), np.complex64, AbstractMesh((parts,), ("x",)), P("x"))


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 24), st.integers(1, 9), st.data())
def test_an_even_shift_takes_at_most_two_rounds(parts: int, chunk: int, data: st.DataObject) -> None:
    layout = _line(parts * chunk, parts)
    step = Shift(0, data.draw(st.integers(0, 2 * parts * chunk)))
    groups = _check_copies(step, layout)
    assert len(groups) <= 2
    assert step.wire_bytes(layout) <= layout.chunk_bytes


@settings(max_examples=300, deadline=None)
@given(st.integers(1, 24), st.integers(1, 200), st.data())
def test_any_shift_takes_at_most_four_rounds_and_two_chunks(parts: int, size: int, data: st.DataObject) -> None:
    layout = _line(size, parts)
    step = Shift(0, data.draw(st.integers(0, size)))
    groups = _check_copies(step, layout)
    assert len(groups) <= 4
    assert step.wire_bytes(layout) <= 2 * layout.chunk_bytes


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 16), st.integers(1, 100), st.integers(1, 100))
def test_a_resize_copies_every_kept_element_once(parts: int, size: int, new: int) -> None:
    layout = _line(size, parts)
    _check_copies(Resize(0, new, -new % parts), layout)


def test_half_a_shift_is_one_permute() -> None:
    step = Shift(0, 32)
    assert step.collectives(_line(64, 8)) == {"collective-permute": 1}
    assert step.wire_bytes(_line(64, 8)) == _line(64, 8).chunk_bytes
    assert step.collectives(_line(64, 1)) == {}


def test_rounds_of_thousands_of_devices_are_quick() -> None:
    with counted_calls() as calls:
        assert len(rounds(crossing(Resize(0, 4096 * 5, 0).fragments(_line(4096 * 7, 4096))))) <= 8
    assert calls[0] < 1_000_000


def test_fragments_are_cut_at_both_borders() -> None:
    assert fragments(((0, 0, 6),), 3, 4) == [Fragment(0, 0, 0, 0, 3), Fragment(1, 0, 0, 3, 1), Fragment(1, 1, 1, 0, 2)]
    assert rounds([]) == []
