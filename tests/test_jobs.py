"""Files onto meshes and back, and what is shown of a spectrum: against plain numpy, shard by shard."""

import errno
import math
import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

from tpufft.errors import FileFormatError, LayoutError
from tpufft.formats import NpyReader
from tpufft.jobs import Peak, SpectrumAxis, create, largest_peaks, load, maxima_plane, save, write_shards
from tpufft.jobs.blocks import blocks, extent


def mesh_of(shape, names, axis_type=AxisType.Auto):
    return jax.make_mesh(shape, names, axis_types=(axis_type,) * len(names), devices=jax.devices()[: math.prod(shape)])


@pytest.fixture
def volume(tmp_path):
    """A file of shape (8, 16, 4) and its path."""
    array = np.random.default_rng(1).standard_normal((8, 16, 4)).astype(np.float32)
    np.save(tmp_path / "volume.npy", array)
    return tmp_path / "volume.npy", array


MESHES = {
    "rows": ((8,), ("x",), None),
    "columns": ((8,), ("x",), P(None, "x")),
    "pencil": ((4, 2), ("x", "y"), P("x", "y")),
    "both on one axis": ((2, 4), ("x", "y"), P(None, ("y", "x"))),
    "replicated": ((4, 2), ("x", "y"), P(None, None, "x")),
    "not split": ((8,), ("x",), P()),
    "size one": ((1, 8), ("a", "x"), P("a", "x")),
    "one device": ((1,), ("x",), P("x")),
}


# -- load ---------------------------------------------------------------------------------------------------------


@pytest.mark.each_value
@pytest.mark.parametrize("axis_type", [AxisType.Auto, AxisType.Explicit], ids=["auto", "explicit"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("case", MESHES)
def test_every_device_gets_its_part(volume, case, order, axis_type):
    path, array = volume
    np.save(path, np.asarray(array, order=order))
    shape, names, spec = MESHES[case]
    mesh = mesh_of(shape, names, axis_type)
    x = load(path, mesh, spec)
    assert x.sharding.is_equivalent_to(NamedSharding(mesh, P(names) if spec is None else spec), 3)
    assert x.dtype == np.float32
    for shard in x.addressable_shards:
        np.testing.assert_array_equal(shard.data, array[shard.index])


def test_reads_each_part_of_the_file_once_and_no_more(volume, monkeypatch):
    path, array = volume
    read = NpyReader.read
    seen = np.zeros(array.shape, int)

    def counted(self, slices):
        seen[slices] += 1
        assert math.prod(extent(slices)) <= array.size // 4
        return read(self, slices)

    monkeypatch.setattr(NpyReader, "read", counted)
    progress = []
    load(path, mesh_of((4, 2), ("x", "y")), P(None, "x"), progress=lambda *done: progress.append(done))
    assert (seen == 1).all()
    assert progress == [(array.nbytes * k // 4, array.nbytes) for k in (1, 2, 3, 4)]


def test_default_mesh_is_the_one_in_context_else_all_devices(volume):
    path, array = volume
    x = load(path)
    assert x.sharding.mesh.axis_names == ("x",)
    assert x.sharding.mesh.size == jax.device_count()
    with jax.set_mesh(mesh_of((4,), ("rows",))):
        y = load(path)
    assert y.sharding.mesh.axis_names == ("rows",)
    np.testing.assert_array_equal(y, array)


@pytest.mark.parametrize("stored", ["?", "i1", ">i2", "u4", "f2", "f4", "c8", ">f4"])
def test_promotes_to_complex_only_where_asked(tmp_path, stored):
    array = np.arange(16).reshape(8, 2).astype(stored)
    np.save(tmp_path / "a.npy", array)
    mesh = mesh_of((8,), ("x",))
    assert load(tmp_path / "a.npy", mesh).dtype == array.dtype.newbyteorder("=")
    promoted = load(tmp_path / "a.npy", mesh, dtype=jnp.complex64)
    assert promoted.dtype == np.complex64
    np.testing.assert_array_equal(promoted, array.astype(np.complex64))


def test_64_bit_files_follow_x64(tmp_path):
    mesh = mesh_of((8,), ("x",))
    array = np.arange(8) + 1e-12
    np.save(tmp_path / "a.npy", array)
    with jax.enable_x64(False):
        assert load(tmp_path / "a.npy", mesh).dtype == np.float32
        with pytest.raises(ValueError, match=r"dtype=complex128 needs .*jax_enable_x64"):
            load(tmp_path / "a.npy", mesh, dtype="complex128")
    with jax.enable_x64(True):
        np.testing.assert_array_equal(load(tmp_path / "a.npy", mesh), array, strict=True)
        assert load(tmp_path / "a.npy", mesh, dtype="complex128").dtype == np.complex128


def test_integers_that_would_wrap_and_imaginary_parts_that_would_vanish_are_refused(tmp_path):
    mesh = mesh_of((8,), ("x",))
    np.save(tmp_path / "a.npy", np.array([0, 0, 0, 0, 0, 0, 0, 2**31]))
    with jax.enable_x64(False), pytest.raises(ValueError, match=r"reach 2147483648, beyond int32; switch on"):
        load(tmp_path / "a.npy", mesh)
    np.save(tmp_path / "a.npy", np.ones(8, np.complex64))
    with pytest.raises(ValueError, match=r"dtype=float32 would drop the imaginary part"):
        load(tmp_path / "a.npy", mesh, dtype="float32")


@pytest.mark.parametrize(
    ("shape", "names", "spec", "message"),
    [
        ((8,), ("x",), P(None, None, "x"), r"axis 2 of length 4 does not divide evenly over the 8 devices of P\(None"),
        ((8,), ("x",), P("rows"), r"names the mesh axis 'rows'; the mesh has \('x',\)"),
        ((4, 2), ("x", "y"), P("x", "x"), "twice"),
        ((8,), ("x",), P(None, None, None, "x"), "has 4 entries, but the array has 3 axes"),
    ],
)
def test_what_does_not_fit_is_a_layout_error(volume, shape, names, spec, message):
    with pytest.raises(LayoutError, match=message):
        load(volume[0], mesh_of(shape, names), spec)


@pytest.mark.parametrize("shape", [(), (0,), (8, 0)])
def test_scalars_and_empty_arrays_go_there_and_back(tmp_path, shape):
    np.save(tmp_path / "a.npy", np.ones(shape, np.float32))
    x = load(tmp_path / "a.npy", mesh_of((8,), ("x",)))
    save(tmp_path / "b.npy", x)
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), np.ones(shape, np.float32), strict=True)


# -- save ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", MESHES)
def test_shards_make_the_whole_file(tmp_path, volume, case):
    _, array = volume
    shape, names, spec = MESHES[case]
    spec = P(names) if spec is None else spec
    progress = []
    x = jax.device_put(array, NamedSharding(mesh_of(shape, names), spec))
    save(tmp_path / "out.npy", x, progress=lambda *done: progress.append(done))
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), array, strict=True)
    assert progress[-1] == (array.nbytes, array.nbytes)
    assert len(progress) == len({str(shard.index) for shard in x.addressable_shards})


@pytest.mark.parametrize("values", [np.arange(6.0).reshape(2, 3).T, jnp.ones((2, 2), jnp.complex64), 3.0])
def test_arrays_that_are_not_sharded_are_saved_too(tmp_path, values):
    save(tmp_path / "out.npy", values)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), np.asarray(values), strict=True)


def test_types_that_npy_cannot_hold_and_unknown_suffixes_are_refused(tmp_path):
    with pytest.raises(FileFormatError, match="dtype bfloat16 is not supported"):
        save(tmp_path / "out.npy", jnp.ones(4, jnp.bfloat16))
    with pytest.raises(FileFormatError, match="names no known file format"):
        save(tmp_path / "out.bin", jnp.ones(4))
    assert os.listdir(tmp_path) == []


def test_saving_under_jit_is_refused(tmp_path):
    @jax.jit
    def function(x):
        save(tmp_path / "out.npy", x)
        return x

    with pytest.raises(TypeError, match=r"under jax\.jit there are none yet"):
        function(jnp.ones(4))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left on device")])
def test_a_save_that_stops_half_way_leaves_the_target(tmp_path, error):
    np.save(tmp_path / "out.npy", np.arange(3))
    x = jax.device_put(np.ones((8, 4), np.float32), NamedSharding(mesh_of((8,), ("x",)), P("x")))

    def stop(done, total):
        if done * 2 >= total:
            raise error

    with pytest.raises(type(error)):
        save(tmp_path / "out.npy", x, progress=stop)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), np.arange(3))
    assert os.listdir(tmp_path) == ["out.npy"]


def test_a_file_can_be_replaced_by_what_was_read_from_it(volume):
    path, array = volume
    save(path, -load(path, mesh_of((8,), ("x",))))
    np.testing.assert_array_equal(np.load(path), -array)


def test_shards_need_a_file_of_their_shape(tmp_path):
    with (
        create(tmp_path / "out.npy", (4,), np.dtype("f4")) as writer,
        pytest.raises(LayoutError, match=r"shape \(5,\) does not fit a file of shape \(4,\)"),
    ):
        write_shards(writer, np.ones(5, np.float32))


# -- blocks -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("slow_axes", [(0, 1, 2), (2, 1, 0)])
@pytest.mark.parametrize("limit", [1, 7, 16, 60, 10**6])
def test_blocks_cover_a_part_once_within_the_limit(slow_axes, limit):
    index = (slice(1, 5), slice(0, 3), slice(2, 7))
    seen = np.zeros((6, 4, 8), int)
    for block in blocks(index, 1, slow_axes, limit):
        assert math.prod(extent(block)) <= limit
        seen[block] += 1
    assert (seen[index] == 1).all()
    assert seen.sum() == 60
    assert list(blocks((slice(0, 3), slice(2, 2)), 1, (0, 1))) == []


# -- peaks --------------------------------------------------------------------------------------------------------


def on_mesh(array, spec=None):
    return jax.device_put(array, NamedSharding(mesh_of((8,), ("x",)), spec or P("x")))


def test_tones_are_found_where_they_are_on_whatever_shard():
    n = 1024
    t = np.arange(n)
    signal = (
        3 * np.exp(2j * np.pi * 127 * t / n)
        + 2 * np.exp(-2j * np.pi * 128 * t / n)
        + np.exp(2j * np.pi * 511.5 * t / n)
    )
    y = on_mesh(np.fft.fft(signal).astype(np.complex64))
    first, second, third = largest_peaks(y, [SpectrumAxis(n)], 3)
    assert (first.index, first.frequency) == ((127,), (127 / n,))
    assert (second.index, second.frequency) == ((896,), (-128 / n,))
    assert third.index in {(511,), (512,)}
    assert first.magnitude == pytest.approx(3 * n, rel=1e-3)
    assert not first.mirrored


def test_a_broad_hill_is_one_peak_and_the_lists_grow_until_there_are_enough():
    values = np.full(4096, 1e-9) + 1000 * np.exp(-((np.arange(4096) - 1500.25) ** 2) / 2e5)
    values[[7, 4000]] = 50, 40
    peaks = largest_peaks(on_mesh(values.astype(np.float32)), [SpectrumAxis(4096)], 3)
    assert [peak.index for peak in peaks] == [(1500,), (7,), (4000,)]


@pytest.mark.parametrize("spec", [P("x"), P(None, "x"), P()])
def test_peaks_equal_those_of_a_plain_search(spec):
    values = np.abs(np.random.default_rng(2).standard_normal((16, 24))).astype(np.float32)
    around = [
        np.roll(values, shift, (0, 1))
        for shift in np.ndindex(3, 3)
        if shift != (1, 1)
        for shift in [(shift[0] - 1, shift[1] - 1)]
    ]
    is_peak = np.all([values > other for other in around], axis=0)
    expected = sorted(np.argwhere(is_peak).tolist(), key=lambda place: -values[tuple(place)])[:9]
    found = largest_peaks(on_mesh(values, spec), [SpectrumAxis(16), SpectrumAxis(24)], 9)
    assert [list(peak.index) for peak in found] == expected


def test_a_real_signal_lists_one_of_each_pair():
    n = 64
    t = np.arange(n)
    signal = 1 + 3 * np.cos(2 * np.pi * 5 * t / n) + 2 * np.cos(np.pi * t)
    y = on_mesh(np.fft.fft(signal).astype(np.complex64))
    peaks = largest_peaks(y, [SpectrumAxis(n)], 3, real_signal=True)
    assert [(peak.frequency, peak.mirrored) for peak in peaks] == [((-0.5,), False), ((5 / n,), True), ((0.0,), False)]


def test_scrambled_bins_and_untransformed_axes():
    n = 32
    bins = np.random.default_rng(3).permutation(n)
    spectrum = np.zeros((8, n), np.complex64)
    spectrum[3, 10], spectrum[3, 11], spectrum[4, 11] = 5, 4, 3
    y = on_mesh(spectrum[:, bins])
    axes = [SpectrumAxis(8, transformed=False), SpectrumAxis(n, bins=bins.__getitem__)]
    place = {int(k): i for i, k in enumerate(bins)}
    assert largest_peaks(y, axes, 5) == [
        Peak((3, place[10]), (None, 10 / n), 5.0),
        Peak((4, place[11]), (None, 11 / n), 3.0),
    ]


def test_what_is_not_finite_or_zero_is_no_peak():
    values = np.zeros(16, np.float32)
    assert largest_peaks(on_mesh(values), [SpectrumAxis(16)]) == []
    values[[2, 5, 9]] = np.nan, np.inf, 1
    assert [peak.index for peak in largest_peaks(on_mesh(values), [SpectrumAxis(16)])] == [(9,)]
    assert largest_peaks(on_mesh(np.full(16, np.nan, np.float32)), [SpectrumAxis(16)]) == []


# -- pictures -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", [P("x"), P(None, "x"), P(None, None, "x"), P()])
def test_the_plane_through_zero_is_shifted_as_numpy_does(spec):
    values = np.random.default_rng(4).standard_normal((8, 16, 24)).astype(np.float32)
    plane = maxima_plane(on_mesh(values, spec), [SpectrumAxis(size) for size in values.shape], (1, 2), 64)
    np.testing.assert_allclose(plane, np.abs(np.fft.fftshift(values[0])))


@pytest.mark.parametrize("n", [4096, 4104])
def test_a_line_survives_being_made_small(n):
    values = np.full(n, 1e-3, np.complex64)
    values[[1234, n - 3]] = 7, 5j
    drawn = maxima_plane(on_mesh(values), [SpectrumAxis(n)], (0,), 100)
    assert drawn.shape == (100,)
    assert drawn[(1234 + n // 2) * 100 // n] == 7
    assert drawn[(n // 2 - 3) * 100 // n] == 5
    assert np.sum(drawn > 1) == 2


def test_only_the_parts_that_meet_the_plane_are_read():
    values = np.ones((8, 4, 4), np.float32)
    values[1:] = np.nan
    assert (
        maxima_plane(on_mesh(values), [SpectrumAxis(size) for size in values.shape], (2, 1), 8).tolist()
        == [[1.0] * 4] * 4
    )


def test_scrambled_and_untransformed_axes_are_drawn_in_order():
    bins = np.random.default_rng(5).permutation(16)
    numbers = np.arange(16, dtype=np.float32)
    drawn = maxima_plane(on_mesh(numbers[bins]), [SpectrumAxis(16, bins=bins.__getitem__)], (0,), 16)
    np.testing.assert_array_equal(drawn, np.fft.fftshift(numbers))
    drawn = maxima_plane(on_mesh(numbers), [SpectrumAxis(16, transformed=False)], (0,), 16)
    np.testing.assert_array_equal(drawn, numbers)
