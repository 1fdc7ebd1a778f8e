"""The plans of a chunked axis: every program's value in plain numpy, where it ends, what it sends; few are compiled."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import numpy_steps
import oracle
import pytest
from helpers import check_value, counted_calls, error, random, tolerance
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.sharding import AbstractMesh
from jax.sharding import PartitionSpec as P
from test_steps import mesh_of
from test_steps_real import Compiled

from tpufft import Layout
from tpufft.layout import ceil_div
from tpufft.planning.hlo import executed_collectives
from tpufft.planning.inplace import Tools, by_exchange, by_ring
from tpufft.planning.inplace.bluestein import column_count
from tpufft.planning.inplace.fourstep import TRIED, WASTE, divisors, row_count
from tpufft.planning.inplace.real import half_weights, real_rows
from tpufft.planning.operations import DFT, Real, Transform, Trig
from tpufft.steps import ChirpSpectrum, Collect, Exchange, Interleave, Program, Ring, half

LENGTHS = (*range(1, 41), 48, 96, 97, 100, 128, 1000, 1009, 1024)
DEVICES = (2, 3, 5, 8)
TOOLS = Tools(lambda layout, axes: "xla")
SCALE = 0.5


def dft(axis: int, n: int, inverse: bool = False) -> DFT:
    return DFT(axis, n, inverse, SCALE)


def real(axis: int, n: int, inverse: bool = False, to_real: bool = False, weighted: bool = False) -> Real:
    return Real(axis, n, inverse, SCALE, to_real, weighted)


def trig(axis: int, n: int, kind: str = "C2") -> Trig:
    return Trig(axis, n, kind, SCALE)


Maker = Callable[[int, int], Transform]
MAKERS: dict[str, Maker] = {
    "dft": dft,
    "inverse dft": functools.partial(dft, inverse=True),
    **{
        f"real{' inverse' * inverse}{' to real' * to_real}{' weighted' * weighted}": functools.partial(
            real, inverse=inverse, to_real=to_real, weighted=weighted
        )
        for inverse in (False, True)
        for to_real in (False, True)
        for weighted in (False, True)
    },
    **{kind: functools.partial(trig, kind=kind) for kind in ("C1", "C2", "C3", "C4", "S1")},
}


def is_complex(operation: Transform) -> bool:
    """Whether the operation takes complex numbers."""
    return isinstance(operation, DFT) or (isinstance(operation, Real) and operation.to_real)


@functools.lru_cache(maxsize=64)
def bare(kind: str, n: int) -> np.ndarray:
    """A dense matrix without scale."""
    if kind in ("dft", "inverse dft"):
        return oracle.matrix(n, inverse=kind != "dft", norm="forward" if kind != "dft" else None)
    return numpy_steps.trigonometric(kind, n)


def expected(operation: Transform, x: np.ndarray) -> np.ndarray:
    """What the operation makes of an array, by its dense matrix."""
    n = operation.size
    if isinstance(operation, Trig):
        matrix = bare(operation.kind, n)
    else:
        matrix = bare("inverse dft" if operation.inverse else "dft", n)
    if isinstance(operation, Real):
        kept = half(n)
        weights = np.array([2 if operation.weighted and 2 * k % n else 1 for k in range(kept)])
        matrix = matrix[:, :kept] * weights if operation.to_real else matrix[:kept] * weights[:, None]
    y = operation.scale * np.moveaxis(np.tensordot(matrix, x, axes=(1, operation.axis)), 0, operation.axis)
    return y.real if isinstance(operation, Real) and operation.to_real else y


def start_of(operation: Transform, shape: tuple[int, ...], mesh: AbstractMesh, dtype: object = None) -> Layout:
    """A layout that the operation takes, chunked along its axis over all of the mesh."""
    lengths = tuple(operation.points if axis == operation.axis else size for axis, size in enumerate(shape))
    spec = P(*([None] * operation.axis), tuple(mesh.axis_names))
    kind = (np.complex128 if is_complex(operation) else np.float64) if dtype is None else dtype
    return Layout.of(lengths, kind, mesh, spec)


def end_of(operation: Transform, start: Layout) -> Layout:
    """Where it must end: natural order, the same chunking, the least padding."""
    line = start.with_axis(
        operation.axis, size=operation.result, padding=-operation.result % start.parts[operation.axis]
    )
    if isinstance(operation, Real):
        line = line.with_dtype(np.dtype(np.float64 if operation.to_real else np.complex128))
    return line


def fewest_bytes(program: Program) -> float:
    return program.wire_bytes


def convolved(program: Program) -> float:
    """A cost that takes Bluestein's convolution where it may."""
    return -float(sum(isinstance(step, ChirpSpectrum) for step in program.steps))


def halved(program: Program) -> float:
    """Prefer the plan of half the spectrum, however short the line."""
    return -float(sum(isinstance(step, Collect) for step in program.steps))


COSTS = {
    "fewest bytes": fewest_bytes,
    "convolved": convolved,
    "factored": lambda program: -convolved(program),
    "halved": halved,
}


def line_mesh(parts: int) -> AbstractMesh:
    return AbstractMesh((parts,), ("x",))


def check_program(program: Program, operation: Transform, start: Layout, seed: int = 0) -> None:
    """Value, layouts and the kinds of collectives; no device works."""
    assert program.in_layout == start
    assert program.out_layout == end_of(operation, start)
    assert set(program.collectives) <= {"all-to-all", "collective-permute"}
    assert program.transposed().out_layout == start
    x = random(start.shape, start.dtype, seed)
    got, want = numpy_steps.run(program, x), expected(operation, x)
    assert got.dtype == want.dtype
    # The steps' own reference rounds as any FFT does, a convolution three times.
    assert error(got, want) <= 8 * tolerance(np.float64, operation.size), (operation, start.parts)


# -- values, layouts, collectives -------------------------------------------------------------------------------------


@pytest.mark.each_value
@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("name", MAKERS)
def test_by_exchange_any_length_on_any_devices(name: str, cost: str) -> None:
    for n in LENGTHS:
        for parts in DEVICES:
            if name == "C1" and n == 1:
                continue
            operation = MAKERS[name](0, n)
            start = start_of(operation, (n,), line_mesh(parts))
            check_program(by_exchange(start, operation, TOOLS, "natural", COSTS[cost]).program, operation, start)


@pytest.mark.parametrize("name", MAKERS)
def test_by_ring_any_length_on_any_devices(name: str) -> None:
    for n in LENGTHS:
        both = n % 2 == 0
        for parts in DEVICES:
            if name == "C1" and n == 1:
                continue
            operation = MAKERS[name](0, n)
            start = start_of(operation, (n,), line_mesh(parts))
            program = by_ring(start, operation, TOOLS, both).program
            check_program(program, operation, start)
            if isinstance(operation, DFT):
                wanted = (Ring(0, operation.inverse, SCALE, both),) if n > 1 else program.steps
                assert program.steps == wanted


@pytest.mark.parametrize("name", MAKERS)
def test_axes_inside_an_array_and_two_mesh_axes(name: str) -> None:
    for n in (4, 6, 13, 24, 36):
        for axes in (("a", "b"), ("b", "a")):
            mesh = AbstractMesh((2, 3), axes)
            operation = MAKERS[name](1, n)
            start = start_of(operation, (2, n, 3), mesh)
            for program in (
                by_exchange(start, operation, TOOLS, "natural", fewest_bytes).program,
                by_ring(start, operation, TOOLS, False).program,
            ):
                check_program(program, operation, start)
                assert program.layouts[0].spec == program.layouts[-1].spec


@pytest.mark.parametrize("kind", ["C1", "C2", "C3", "C4", "S1"])
def test_trigonometric_transforms_of_complex_planes(kind: str) -> None:
    for n in (2, 5, 12, 40, 97):
        operation = trig(0, n, kind)
        start = start_of(operation, (n, 2), line_mesh(4), np.complex128)
        check_program(by_exchange(start, operation, TOOLS, "natural", fewest_bytes).program, operation, start)


def test_other_lengths_are_cut_or_padded_first() -> None:
    for name, maker in MAKERS.items():
        for n, given_points in ((12, 15), (12, 7), (13, 40)):
            operation = maker(0, n)
            start = start_of(operation, (n,), line_mesh(4)).with_axis(0, size=given_points, padding=-given_points % 4)
            program = by_exchange(start, operation, TOOLS, "natural", fewest_bytes).program
            x = random(start.shape, start.dtype)
            fitted = np.pad(x, (0, max(0, operation.points - len(x))))[: operation.points]
            assert program.out_layout == end_of(operation, start), name
            assert error(numpy_steps.run(program, x), expected(operation, fitted)) <= 1e-13, name


@pytest.mark.parametrize("n", [8, 16, 48, 64, 1000, 1024])
def test_the_scrambled_order_is_rows_behind_each_other(n: int) -> None:
    parts = 8
    x = random((n,))
    forward = by_exchange(start_of(dft(0, n), (n,), line_mesh(parts)), dft(0, n), TOOLS, "scrambled", fewest_bytes)
    scrambled = numpy_steps.run(forward.program, x)
    natural = expected(dft(0, n), x)
    np.testing.assert_allclose(scrambled, natural.reshape(-1, parts).T.ravel(), atol=1e-12 * n)
    assert forward.program.collectives == {"all-to-all": 2}
    back = DFT(0, n, True, 1 / (SCALE * n))
    inverse = by_exchange(forward.layout, back, TOOLS, "scrambled", fewest_bytes).program
    assert inverse.collectives == {"all-to-all": 2}
    check_value(numpy_steps.run(inverse, scrambled), x, times=4)


# -- what crosses the wire --------------------------------------------------------------------------------------------


BIG = ((2**20, 8), (2**24, 64), (2**30, 512))


@pytest.mark.parametrize(("n", "parts"), BIG, ids=str)
def test_a_real_transform_sends_half_of_a_complex_one(n: int, parts: int) -> None:
    whole = by_exchange(start_of(dft(0, n), (n,), line_mesh(parts)), dft(0, n), TOOLS, "natural", fewest_bytes).program
    for to_real in (False, True):
        for weighted in (False, True):
            operation = real(0, n, to_real=to_real, weighted=weighted)
            start = start_of(operation, (n,), line_mesh(parts))
            program = by_exchange(start, operation, TOOLS, "natural", fewest_bytes).program
            assert program.wire_bytes <= 0.51 * whole.wire_bytes
            assert program.collectives["all-to-all"] == 3
            pairs = zip(program.steps, program.layouts, strict=False)
            permuted = sum(step.wire_bytes(layout) for step, layout in pairs if not isinstance(step, Exchange))
            assert permuted <= parts * 16


@pytest.mark.parametrize(("n", "parts"), BIG, ids=str)
def test_every_exchange_of_a_whole_transform_is_a_chunk_less_its_own_share(n: int, parts: int) -> None:
    start = start_of(dft(0, n), (n,), line_mesh(parts))
    program = by_exchange(start, dft(0, n), TOOLS, "natural", fewest_bytes).program
    assert program.collectives == {"all-to-all": 3}
    assert program.wire_bytes == 3 * (n // parts * 16) * (parts - 1) // parts
    assert by_ring(start, dft(0, n), TOOLS, True).program.wire_bytes == (parts - 1) * (n // parts) * 16


@pytest.mark.parametrize("kind", ["C2", "C3"])
def test_a_cosine_transform_sends_little_more_than_a_real_one(kind: str) -> None:
    n, parts = 2**24, 64
    line = start_of(real(0, n), (n,), line_mesh(parts))
    whole = by_exchange(line, real(0, n), TOOLS, "natural", fewest_bytes).program
    program = by_exchange(line, trig(0, n, kind), TOOLS, "natural", fewest_bytes).program
    # Bringing elements to their places costs at most six passes of a real chunk, on top of three half exchanges.
    assert program.wire_bytes <= whole.wire_bytes + 6 * line.chunk_bytes
    assert program.collectives["all-to-all"] == whole.collectives["all-to-all"]


# -- rows, columns, divisors ------------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 20000))
def test_divisors_are_all_divisors(size: int) -> None:
    assert list(divisors(size)) == [d for d in range(1, size + 1) if size % d == 0]


@settings(max_examples=30, deadline=None)
@given(st.integers(1, TRIED), st.integers(1, 2**30))
def test_divisors_of_long_lengths_come_in_pairs(known: int, other: int) -> None:
    size = known * other
    found = divisors(size)
    assert list(found) == sorted(set(found))
    assert all(size % d == 0 for d in found)
    assert {1, size, known, other} <= set(found)
    assert {size // d for d in found} == set(found)


def padded(count: int, parts: int) -> int:
    return ceil_div(count, parts) * parts


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 5000), st.integers(1, 64))
def test_rows_waste_least(size: int, parts: int) -> None:
    rows = row_count(size, parts)
    best = min(padded(r, parts) * padded(size // r, parts) for r in range(1, size + 1) if size % r == 0)
    if size % parts == 0:
        assert rows == parts
    elif rows is None:
        assert best > WASTE * size
    else:
        assert size % rows == 0
        assert padded(rows, parts) * padded(size // rows, parts) == best <= WASTE * size


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.integers(1, 5000), st.integers(1, 2**40)), st.integers(1, 512))
def test_rows_of_real_transforms_and_their_columns_are_even(size: int, parts: int) -> None:
    rows = real_rows(size, parts)
    if size % 4:
        assert rows is None
    if rows is None:
        return
    columns = size // rows
    assert rows * columns == size
    assert rows % 2 == columns % 2 == 0
    # Each of the three exchanges, in real numbers, against two for every point: less than as much again.
    sent = padded(rows, parts) * padded(columns, parts)
    sent += 2 * padded(half(rows), parts) * (padded(columns, parts) + 2 * padded(columns // 2, parts))
    assert sent <= 6 * size * WASTE / 2 * 1.02


def test_how_often_frequencies_of_a_half_spectrum_count() -> None:
    for n in range(1, 20):
        mirrored = [1 + any((k + j) % n == 0 for j in range(half(n), n)) for k in range(half(n))]
        assert list(numpy_steps.entries(half_weights(n), range(half(n)), half(n))) == mirrored


@settings(max_examples=300, deadline=None)
@given(st.integers(1, 512), st.data())
def test_the_columns_of_a_convolution(parts: int, data: st.DataObject) -> None:
    points = data.draw(st.one_of(st.integers(1, 10**4), st.integers(1, 2**50)))
    columns = column_count(points, parts)
    size = 2 * parts * columns
    assert columns % parts == 0
    assert size >= 2 * points
    rest = columns // parts
    for prime in (2, 3, 5):
        while rest % prime == 0:
            rest //= prime
    assert rest == 1
    if points >= 1000 * parts**2:
        assert size <= 2.2 * points


def test_a_convolution_of_a_long_signal_sends_little_more_than_it_must() -> None:
    parts = 512
    for n in (2**30 - 35, 2**30 + 3, 10**9 + 7):
        start = start_of(dft(0, n), (n,), line_mesh(parts))
        program = by_exchange(start, dft(0, n), TOOLS, "natural", fewest_bytes).program
        assert any(isinstance(step, ChirpSpectrum) for step in program.steps)
        # Signal of B, 2 B, 2 B and B; the kernel of 2 B.
        assert program.wire_bytes <= 1.1 * (1 + 2 + 2 + 1 + 2) * start.chunk_bytes + 4 * start.chunk_bytes


# -- planning alone ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2**40, 2**40 - 87, 6**15, 2 * (2**39 - 7)], ids=str)
@pytest.mark.parametrize("parts", [512, 4096])
def test_programs_of_a_trillion_points_are_quick(n: int, parts: int) -> None:
    mesh = line_mesh(parts)
    for name in ("dft", "real", "real to real weighted", "C1", "C2", "C4", "S1"):
        operation = MAKERS[name](0, n)
        start = start_of(operation, (n,), mesh)
        for cache in (divisors, row_count, real_rows):
            cache.cache_clear()
        with counted_calls() as calls:
            program = by_exchange(start, operation, TOOLS, "natural", fewest_bytes).program
            assert program.wire_bytes > 0
            assert set(program.collectives) <= {"all-to-all", "collective-permute"}
        assert calls[0] < 1_500_000, name
        assert program.out_layout == end_of(operation, start)


# -- a few of them compiled -------------------------------------------------------------------------------------------


COMPILED = {
    "dft, rows for each": (dft(0, 48), 8, "fewest bytes", Interleave),
    "dft, factors": (dft(0, 36), 8, "factored", Interleave),
    "inverse dft, convolved": (dft(0, 37, True), 8, "convolved", ChirpSpectrum),
    "real, halves": (real(0, 64), 8, "halved", Collect),
    "real, padded halves": (real(0, 20, weighted=True), 3, "halved", Collect),
    "to real, halves": (real(0, 96, True, True, True), 8, "halved", None),
    "to real, convolved": (real(0, 17, False, True), 5, "convolved", ChirpSpectrum),
    "C1": (trig(0, 33, "C1"), 8, "fewest bytes", None),
    "C2": (trig(0, 64, "C2"), 8, "halved", Collect),
    "C3 of an odd length": (trig(0, 15, "C3"), 3, "fewest bytes", None),
    "C4 of an odd length": (trig(0, 9, "C4"), 8, "fewest bytes", ChirpSpectrum),
    "S1": (trig(0, 31, "S1"), 8, "halved", Collect),
}


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_programs_do_what_they_say(name: str) -> None:
    operation, parts, cost, contains = COMPILED[name]
    abstract = start_of(operation, (operation.size,), line_mesh(parts))
    start = Layout(abstract.shape, abstract.dtype, mesh_of(x=parts), abstract.spec, abstract.padding)
    program = by_exchange(start, operation, TOOLS, "natural", COSTS[cost]).program
    assert contains is None or any(isinstance(step, contains) for step in program.steps)
    compiled = Compiled(program)
    x = random(start.shape, start.dtype)
    check_value(compiled(x), expected(operation, x), times=4)
    assert executed_collectives(compiled.text) == program.collectives
