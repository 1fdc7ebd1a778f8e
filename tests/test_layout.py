"""Layouts: what lives where, checked against where JAX puts it, and every size, pad and spec rule."""

from __future__ import annotations

import itertools
import math

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.sharding import AbstractMesh, AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from tpufft import Layout, LayoutError
from tpufft.layout import ceil_div, format_spec, mesh_size, normalize_spec, row_chunked

MESHES = {
    "8": ((8,), ("x",)),
    "2x4": ((2, 4), ("a", "b")),
    "2x2x2": ((2, 2, 2), ("a", "b", "c")),
    "1x8": ((1, 8), ("one", "x")),
    "4x1x2": ((4, 1, 2), ("a", "one", "b")),
    "3": ((3,), ("x",)),
    "1": ((1,), ("x",)),
}


def make_mesh(name: str) -> Mesh:
    shape, names = MESHES[name]
    return Mesh(np.array(jax.devices()[: math.prod(shape)]).reshape(shape), names)


@st.composite
def layouts(draw: st.DrawFn, *, largest: int = 20, even: bool = False) -> Layout:
    """Any mesh, any of its names on any axes in any order, any sizes, zero included."""
    mesh = make_mesh(draw(st.sampled_from(sorted(MESHES))))
    rank = draw(st.integers(1, 4))
    entries: list[tuple[str, ...]] = [()] * rank
    for name in draw(st.permutations(mesh.axis_names)):
        place = draw(st.integers(-1, rank - 1))
        if place >= 0:
            entries[place] += (name,)
    sizes = [draw(st.integers(0, largest)) for _ in range(rank)]
    if even:
        sizes = [size * mesh_size(mesh, names) for size, names in zip(sizes, entries, strict=True)]
    return Layout.of(sizes, np.float32, mesh, entries)


def positions(mesh: Mesh) -> list[tuple[jax.Device, dict[str, int]]]:
    """Every device with its position along every mesh axis."""
    indices = itertools.product(*(range(size) for size in mesh.devices.shape))
    return [(mesh.devices[index], dict(zip(mesh.axis_names, index, strict=True))) for index in indices]


# -- sizes -------------------------------------------------------------------------------------------------------


def test_a_slab() -> None:
    layout = Layout.of((16, 6), np.complex64, make_mesh("8"), P("x"))
    assert layout.spec == (("x",), ())
    assert layout.parts == (8, 1)
    assert layout.chunk_shape == (2, 6)
    assert layout.stored_shape == layout.shape == (16, 6)
    assert (layout.rank, layout.size, layout.chunk_size, layout.chunk_bytes) == (2, 96, 12, 96)
    assert layout.is_even
    assert layout.device_count == 8
    assert layout.chunked_axes == (0,)
    assert layout.unused_names == ()


def test_padding_makes_equal_chunks() -> None:
    layout = Layout.of((10, 7), np.float32, make_mesh("2x4"), P("b", "a"))
    assert layout.padding == (2, 1)
    assert layout.stored_shape == (12, 8)
    assert layout.chunk_shape == (3, 4)
    assert not layout.is_even
    assert layout.chunk_slices({"a": 1, "b": 3}) == (slice(9, 10), slice(4, 7))


def test_fewer_rows_than_devices_leave_empty_chunks() -> None:
    layout = Layout.of((3,), np.float32, make_mesh("8"), P("x"))
    assert layout.chunk_shape == (1,)
    assert [layout.chunk_slices({"x": x}) for x in (0, 2, 3, 7)] == [
        (slice(0, 1),),
        (slice(2, 3),),
        (slice(3, 3),),
        (slice(3, 3),),
    ]


def test_several_mesh_axes_on_one_array_axis() -> None:
    mesh = make_mesh("2x4")
    slow_a = Layout.of((16,), np.float32, mesh, P(("a", "b")))
    slow_b = Layout.of((16,), np.float32, mesh, P(("b", "a")))
    assert slow_a.parts == slow_b.parts == (8,)
    assert slow_a.chunk_slices({"a": 1, "b": 2}) == (slice(12, 14),)
    assert slow_b.chunk_slices({"a": 1, "b": 2}) == (slice(10, 12),)
    assert slow_a != slow_b


def test_replicated_and_size_one_axes() -> None:
    layout = Layout.of((6, 8), np.float32, make_mesh("4x1x2"), P("one", "b"))
    assert layout.parts == (1, 2)
    assert layout.chunked_axes == (1,)
    assert layout.unused_names == ("a",)
    assert layout.simplified().spec == ((), ("b",))
    assert layout.simplified().chunk_shape == layout.chunk_shape
    assert layout.device_count_along(("a", "b")) == 8


def test_no_spec_is_row_chunked_over_all_mesh_axes() -> None:
    mesh = make_mesh("2x4")
    assert Layout.of((16, 2), np.float32, mesh).spec == (("a", "b"), ())
    assert row_chunked(2, mesh) == P(("a", "b"))
    assert Layout.of((), np.float32, mesh).chunk_shape == ()
    assert row_chunked(0, mesh) == P()


@pytest.mark.parametrize("axis_type", [AxisType.Auto, AxisType.Explicit])
def test_only_shape_and_names_of_the_mesh_matter(axis_type: AxisType) -> None:
    real = jax.make_mesh((2, 4), ("a", "b"), axis_types=(axis_type,) * 2)
    abstract = AbstractMesh((2, 4), ("a", "b"))
    for mesh in (real, abstract):
        layout = Layout.of((10, 3), np.int16, mesh, P(("b", "a")))
        assert (layout.chunk_shape, layout.chunk_bytes, layout.padding) == ((2, 3), 12, (6, 0))
        assert isinstance(layout.sharding, NamedSharding)


def test_sizes_beyond_32_bits() -> None:
    layout = Layout.of((2**33, 2**20), np.complex128, make_mesh("8"), P("x"))
    assert layout.size == 2**53
    assert layout.chunk_bytes == 2**54
    assert layout.chunk_slices({"x": 7})[0] == slice(7 * 2**30, 2**33)


def test_equal_layouts_are_equal_and_hash_alike() -> None:
    mesh = make_mesh("2x4")
    one, same = (Layout.of((8, 4), np.complex64, mesh, spec) for spec in (P("a"), P("a", None)))
    assert one == same
    assert hash(one) == hash(same)
    assert one != Layout.of((8, 4), np.complex128, mesh, P("a"))
    assert one != Layout.of((8, 4), np.complex64, mesh, P("b"))


def test_helpers() -> None:
    assert [ceil_div(a, b) for a, b in ((0, 3), (1, 3), (3, 3), (4, 3), (2**62 + 1, 2))] == [0, 1, 1, 2, 2**61 + 1]
    assert mesh_size(make_mesh("2x4"), ("a", "b")) == 8
    assert mesh_size(make_mesh("2x4"), ()) == 1
    assert format_spec((("x",), (), ("a", "b"))) == "P('x', None, ('a', 'b'))"


# -- against JAX -----------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(layouts(largest=6))
def test_chunk_slices_are_where_jax_puts_the_elements(layout: Layout) -> None:
    stored = np.arange(math.prod(layout.stored_shape), dtype=np.int32).reshape(layout.stored_shape)
    real = stored[tuple(slice(0, size) for size in layout.shape)]
    placed = jax.device_put(stored, layout.sharding)
    shards = {shard.device: np.asarray(shard.data) for shard in placed.addressable_shards}
    for device, position in positions(layout.mesh):  # type: ignore[arg-type]
        here = shards[device]
        assert here.shape == layout.chunk_shape
        expected = real[layout.chunk_slices(position)]
        np.testing.assert_array_equal(here[tuple(slice(0, size) for size in expected.shape)], expected)


@settings(max_examples=60, deadline=None)
@given(layouts())
def test_chunks_cover_every_element_once(layout: Layout) -> None:
    counts = np.zeros(layout.shape, int)
    for _, position in positions(layout.mesh):  # type: ignore[arg-type]
        counts[layout.chunk_slices(position)] += 1
    assert np.all(counts == mesh_size(layout.mesh, layout.unused_names))


@settings(max_examples=60, deadline=None)
@given(layouts())
def test_padding_is_the_least(layout: Layout) -> None:
    for axis, (size, parts, pad) in enumerate(zip(layout.shape, layout.parts, layout.padding, strict=True)):
        assert 0 <= pad < parts
        assert (size + pad) % parts == 0
        assert layout.chunk_shape[axis] == ceil_div(size, parts)
        assert layout.least_padding(axis) == pad
        assert layout.least_padding(axis, ()) == 0
        whole = tuple(layout.mesh.axis_names)
        assert (size + layout.least_padding(axis, whole)) % layout.device_count == 0


@settings(max_examples=60, deadline=None)
@given(layouts(even=True))
def test_the_sharding_is_the_layout(layout: Layout) -> None:
    assert layout.sharding.shard_shape(layout.stored_shape) == layout.chunk_shape
    again = Layout.of(layout.shape, layout.dtype, layout.mesh, layout.sharding.spec)
    assert again == layout
    assert layout.partition_spec == P(*layout.partition_spec)
    assert not layout.partition_spec or layout.partition_spec[-1] is not None


# -- changes ---------------------------------------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(layouts(), st.data())
def test_a_move_there_and_back(layout: Layout, data: st.DataObject) -> None:
    movable = [axis for axis in range(layout.rank) if layout.spec[axis]]
    if layout.rank < 2 or not movable:
        return
    source = data.draw(st.sampled_from(movable))
    target = data.draw(st.sampled_from([axis for axis in range(layout.rank) if axis != source]))
    first = data.draw(st.integers(0, len(layout.spec[source]) - 1))
    names = layout.spec[source][first:]
    padded = layout.with_axis(target, padding=layout.least_padding(target, layout.spec[target] + names))
    moved = padded.move(names, source, target)
    assert moved.spec[source] == layout.spec[source][:first]
    assert moved.spec[target] == layout.spec[target] + names
    assert moved.shape == layout.shape
    assert moved.stored_shape == padded.stored_shape
    assert moved.chunk_size == padded.chunk_size
    assert moved.move(names, target, source) == padded


def test_a_move_keeps_what_it_does_not_name() -> None:
    layout = Layout.of((8, 8, 3), np.float32, make_mesh("2x2x2"), P(("a", "b"), "c"))
    moved = layout.move(("b",), 0, 1)
    assert moved.spec == (("a",), ("c", "b"), ())
    assert moved.chunk_shape == (4, 2, 3)


@settings(max_examples=60, deadline=None)
@given(layouts(), st.data())
def test_an_axis_comes_and_goes(layout: Layout, data: st.DataObject) -> None:
    axis = data.draw(st.integers(0, layout.rank))
    wider = layout.insert_axis(axis, 5)
    assert wider.shape == (*layout.shape[:axis], 5, *layout.shape[axis:])
    assert wider.chunk_size == 5 * layout.chunk_size
    assert wider.remove_axis(axis) == layout


def test_with_axis_changes_one_axis() -> None:
    layout = Layout.of((8, 6), np.float32, make_mesh("8"), P("x"))
    assert layout.with_axis(0, size=13, padding=3).chunk_shape == (2, 6)
    assert layout.with_axis(1, size=4).shape == (8, 4)
    assert layout.with_axis(0, names=()).parts == (1, 1)
    assert layout.with_axis(0) == layout


def test_text() -> None:
    layout = Layout.of((9, 4), np.complex64, make_mesh("2x4"), P("b", "a"))
    assert str(layout) == "complex64 (9, 4) on mesh a=2, b=4, chunked P('b', 'a'), padded to (12, 4)"
    assert layout.describe() == "mesh a=2, b=4, chunked P('b', 'a')"
    assert str(Layout.of((8,), np.float32, make_mesh("8"))) == "float32 (8,) on mesh x=8, chunked P('x')"


# -- errors ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("x", "spec='x' is no PartitionSpec; give one like P('x', None)"),
        (P("x", None, "y"), f"spec={P('x', None, 'y')} has 3 entries, but the array has 2 axes"),
        (P("q"), f"spec={P('q')} names the mesh axis 'q'; the mesh has ('x', 'y')"),
        (P("x", ("y", "x")), f"spec={P('x', ('y', 'x'))} uses the mesh axis 'x' twice; each may split one array axis"),
        (P(3), f"spec={P(3)} has the entry 3; an entry is None, a name, or a tuple of names"),
        ([("x", 1)], "spec=[('x', 1)] has the entry ('x', 1); an entry is None, a name, or a tuple of names"),
    ],
)
def test_spec_errors(spec: object, message: str) -> None:
    mesh = AbstractMesh((2, 4), ("x", "y"))
    with pytest.raises(LayoutError) as caught:
        Layout.of((8, 8), np.float32, mesh, spec)  # type: ignore[arg-type]
    assert str(caught.value) == message
    with pytest.raises(LayoutError) as caught:
        normalize_spec(spec, 2, mesh, argument="out_spec")  # type: ignore[arg-type]
    assert str(caught.value) == message.replace("spec=", "out_spec=", 1)


@pytest.mark.parametrize("wrong", [NamedSharding(AbstractMesh((8,), ("x",)), P("x")), 3, AbstractMesh((8,), ("x",))])
def test_what_is_no_spec_is_not_advised_to_become_one(wrong: object) -> None:
    with pytest.raises(LayoutError) as caught:
        normalize_spec(wrong, 2, None)  # type: ignore[arg-type]
    assert str(caught.value).endswith(" is no PartitionSpec; give one like P('x', None)")


def test_trailing_entries_that_split_nothing_are_fine() -> None:
    mesh = AbstractMesh((8,), ("x",))
    assert normalize_spec(P("x", None, None), 1, mesh) == (("x",),)
    assert normalize_spec(P(None, ()), 2, mesh) == ((), ())
    assert normalize_spec([("x",), None], 3, mesh) == (("x",), (), ())
    assert normalize_spec(P("not checked yet"), 1, None) == (("not checked yet",),)


def test_layout_errors() -> None:
    mesh = AbstractMesh((2, 4), ("a", "b"))
    with pytest.raises(LayoutError) as caught:
        Layout((9,), np.dtype(np.float32), mesh, (("a", "b"),))
    assert str(caught.value) == (
        "axis 0 of length 9 does not divide into 8 chunks over the mesh axes ('a', 'b'); "
        "use a length that is a multiple of 8, or another spec"
    )
    with pytest.raises(LayoutError) as caught:
        Layout((8, 8), np.dtype(np.float32), mesh, ((),))
    assert str(caught.value) == "shape (8, 8), spec ((),) and padding (0, 0) differ in length"
    assert issubclass(LayoutError, ValueError)


def test_illegal_moves() -> None:
    layout = Layout.of((8, 4), np.float32, AbstractMesh((2, 4), ("a", "b")), P(("a", "b")))
    with pytest.raises(LayoutError) as caught:
        layout.move(("a",), 0, 1)
    assert str(caught.value) == "axis 0 is split over ('a', 'b'); ('a',) are not its last mesh axes"
    with pytest.raises(LayoutError) as caught:
        layout.move((), 0, 1)
    assert str(caught.value) == "axis 0 is split over ('a', 'b'); () are not its last mesh axes"
    with pytest.raises(LayoutError) as caught:
        layout.move(("b",), 0, 0)
    assert str(caught.value) == "axis 0 cannot be freed onto itself"
    with pytest.raises(LayoutError, match="axis 1 of length 4 does not divide into 8 chunks"):
        layout.move(("a", "b"), 0, 1)


def test_a_layout_is_not_a_tuple() -> None:
    layout = Layout.of((8,), np.float32, AbstractMesh((8,), ("x",)))
    with pytest.raises(TypeError, match=r"not iterable; use \.shape, \.spec or \.chunk_shape"):
        list(layout)
