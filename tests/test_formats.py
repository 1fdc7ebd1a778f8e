"""Files as bytes and slices: what is read and written, and what is refused, and that nothing is ever half there."""

import errno
import os
import resource
import stat
import struct
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from tpufft.errors import FileFormatError
from tpufft.formats import FORMATS, AtomicFile, NpyReader, NpyWriter, format_of

DTYPES = ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16", ">i2", ">f8", ">c8"]


def sample(shape, dtype):
    values = np.random.default_rng(0).integers(0, 100, shape)
    return (values + 1j * values[..., ::-1] if np.dtype(dtype).kind == "c" else values).astype(dtype)


def listing(folder):
    return sorted(os.listdir(folder))


# -- reading ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_reads_any_part_in_native_byte_order(tmp_path, dtype, order):
    array = np.asarray(sample((6, 5, 4), dtype), order=order)
    np.save(tmp_path / "a.npy", array)
    with NpyReader(tmp_path / "a.npy") as reader:
        assert reader.shape == (6, 5, 4)
        assert reader.dtype == array.dtype.newbyteorder("=")
        assert reader.slow_axes == ((0, 1, 2) if order == "C" else (2, 1, 0))
        part = reader.read((slice(1, 4), slice(0, 5), slice(2, 3)))
    assert part.dtype.isnative
    assert part.flags.c_contiguous
    assert part.flags.owndata
    assert type(part) is np.ndarray
    np.testing.assert_array_equal(part, array[1:4, :, 2:3])


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (7,)])
def test_reads_and_writes_scalars_and_empty_arrays(tmp_path, shape):
    array = np.full(shape, 3.5, np.float32)
    everything = tuple(slice(0, size) for size in shape)
    with NpyWriter(tmp_path / "a.npy", shape, array.dtype) as writer:
        writer.write(everything, array)
        writer.commit()
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), array, strict=True)
    with NpyReader(tmp_path / "a.npy") as reader:
        np.testing.assert_array_equal(reader.read(everything), array, strict=True)


def test_reads_format_version_2_and_ignores_bytes_behind_the_array(tmp_path):
    with open(tmp_path / "a.npy", "wb") as file:
        np.lib.format.write_array(file, np.arange(5.0), version=(2, 0))
        file.write(b"more")
    with NpyReader(tmp_path / "a.npy") as reader:
        np.testing.assert_array_equal(reader.read((slice(1, 3),)), [1.0, 2.0])


def header(text, version=1):
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H", len(text)) + text.encode()


def bad_files():
    good = header("{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }\n")
    yield "empty", b"", "the file is empty"
    yield "text", b"1.0, 2.0\n", "no .npy file: it starts with"
    yield "archive", b"PK\x03\x04....", "it looks like a .npz archive"
    yield "magic only", b"\x93NUMPY", "damaged .npy header"
    yield "half a header", good[:30], "damaged .npy header"
    yield "no data", good, "truncated: the header promises 84 bytes"
    yield "a byte short", good + bytes(15), "truncated"
    yield (
        "huge",
        header("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999), }\n"),
        "truncated",
    )
    yield "negative", header("{'descr': '<f4', 'fortran_order': False, 'shape': (-4,), }\n"), r"shape \(-4,\)"
    yield "no dict", header("[1, 2]\n"), "damaged .npy header"
    yield "no syntax", header("{'descr': (((\n"), "damaged .npy header"
    yield "code", header("__import__('os')\n"), "damaged .npy header"
    yield "unknown version", header("{}", 9), r"format version \(9, 0\)"


@pytest.mark.parametrize(("content", "message"), [pytest.param(c, m, id=i) for i, c, m in bad_files()])
def test_refuses_what_is_no_whole_npy_file(tmp_path, content, message):
    path = tmp_path / "a.npy"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=message) as caught:
        NpyReader(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array([1, "a", None], object), "holds Python objects"),
        (np.array(["a"]), "dtype <U1 is not supported, only float16"),
        (np.zeros(2, [("a", "f4")]), "not supported"),
        (np.zeros(2, "M8[s]"), "not supported"),
        (np.zeros(2, "V2"), "not supported"),
        (np.zeros(2, np.longdouble), "not supported"),
    ],
    ids=["object", "text", "records", "dates", "raw bytes", "long double"],
)
def test_refuses_elements_that_are_no_plain_numbers(tmp_path, array, message):
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(FileFormatError, match=message):
        NpyReader(tmp_path / "a.npy")
    if array.dtype != object:
        with pytest.raises(FileFormatError, match=message):
            NpyWriter(tmp_path / "b.npy", array.shape, array.dtype)
    assert listing(tmp_path) == ["a.npy"]


def test_missing_file_and_folder_are_plain_system_errors(tmp_path):
    with pytest.raises(FileNotFoundError):
        NpyReader(tmp_path / "a.npy")
    with pytest.raises(IsADirectoryError):
        NpyReader(tmp_path)


def test_reading_counts_only_the_part_as_memory(tmp_path):
    size = 96 << 20
    np.lib.format.open_memmap(tmp_path / "a.npy", "w+", np.uint8, (96, 1 << 20))[:] = 1
    code = f"""
        import resource
        from tpufft.formats import NpyReader
        with NpyReader({str(tmp_path / "a.npy")!r}) as reader:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            total = sum(int(reader.read((slice(k, k + 4), slice(0, 1 << 20))).sum()) for k in range(0, 96, 4))
            print(total, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    out = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, env=env, check=True
    )
    total, grown = map(int, out.stdout.split())
    assert total == size
    assert grown * (1 if sys.platform == "darwin" else 1024) < size // 2


# -- writing ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [d for d in DTYPES if not d.startswith(">")])
def test_parts_in_any_order_make_a_file_that_numpy_reads(tmp_path, dtype):
    array = sample((6, 4), dtype)
    with NpyWriter(tmp_path / "a.npy", array.shape, array.dtype) as writer:
        for rows in (slice(4, 6), slice(0, 2), slice(2, 4)):
            writer.write((rows, slice(0, 4)), array[rows])
        assert not (tmp_path / "a.npy").exists()
        writer.commit()
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), array, strict=True)
    assert listing(tmp_path) == ["a.npy"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_interrupted_write_leaves_the_target_and_no_temporary(tmp_path, error):
    np.save(tmp_path / "a.npy", np.arange(3))

    def write_half():
        with NpyWriter(tmp_path / "a.npy", (4,), np.dtype("f4")) as writer:
            writer.write((slice(0, 2),), np.ones(2))
            raise error

    with pytest.raises(error):
        write_half()
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), np.arange(3))
    assert listing(tmp_path) == ["a.npy"]


def test_without_commit_nothing_appears(tmp_path):
    with NpyWriter(tmp_path / "a.npy", (4,), np.dtype("f4")):
        pass
    writer = NpyWriter(tmp_path / "a.npy", (4,), np.dtype("f4"))
    writer.abort()
    writer.abort()
    assert listing(tmp_path) == []


@pytest.mark.parametrize("call", ["os.fsync", "os.replace"])
def test_a_commit_that_fails_leaves_the_target_and_no_temporary(tmp_path, monkeypatch, call):
    np.save(tmp_path / "a.npy", np.arange(3))

    def fail(*_):
        raise OSError(errno.EIO, "broken disk")

    def write():
        with NpyWriter(tmp_path / "a.npy", (4,), np.dtype("f4")) as writer:
            monkeypatch.setattr(call, fail)
            writer.commit()

    with pytest.raises(OSError, match="broken disk"):
        write()
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), np.arange(3))
    assert listing(tmp_path) == ["a.npy"]


def test_a_full_disk_is_an_error_before_any_work(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(3))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, hard))
    try:
        with pytest.raises(OSError, match="cannot reserve 4194432 bytes for the output") as caught:
            NpyWriter(tmp_path / "a.npy", (1 << 20,), np.dtype("f4"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.filename == str(tmp_path / "a.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), np.arange(3))
    assert listing(tmp_path) == ["a.npy"]


@pytest.mark.parametrize("code", [errno.EOPNOTSUPP, errno.EINVAL])
def test_file_systems_that_cannot_reserve_are_filled_instead(tmp_path, monkeypatch, code):
    def refuse(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("os.posix_fallocate", refuse, raising=False)
    with NpyWriter(tmp_path / "a.npy", (3 << 19,), np.dtype("u1")) as writer:
        assert os.stat(next(iter(tmp_path.iterdir()))).st_size == 128 + (3 << 19)
        writer.write((slice(5, 6),), np.ones(1))
        writer.commit()
    assert np.flatnonzero(np.load(tmp_path / "a.npy")) == [5]


def test_impossible_targets_are_errors_at_once(tmp_path):
    (tmp_path / "folder.npy").mkdir()
    os.mkfifo(tmp_path / "pipe.npy")
    for name, kind, message in [
        ("folder.npy", IsADirectoryError, "the output is a directory"),
        ("pipe.npy", OSError, "not a regular file"),
        ("missing/a.npy", FileNotFoundError, "missing does not exist; create it"),
    ]:
        with pytest.raises(kind, match=message):
            NpyWriter(tmp_path / name, (4,), np.dtype("f4"))
    assert listing(tmp_path) == ["folder.npy", "pipe.npy"]


def test_write_protection_is_respected(tmp_path, monkeypatch):
    np.save(tmp_path / "a.npy", np.arange(3))
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(PermissionError, match="write-protected"):
        NpyWriter(tmp_path / "a.npy", (4,), np.dtype("f4"))


def test_a_folder_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("os.open", refuse)
    with pytest.raises(PermissionError, match=r"cannot write into .* \(Permission denied\)") as caught:
        NpyWriter(tmp_path / "a.npy", (4,), np.dtype("f4"))
    assert caught.value.filename == str(tmp_path / "a.npy")


def test_permissions_are_those_of_any_new_file_or_of_the_replaced_one(tmp_path):
    def write():
        with AtomicFile(tmp_path / "a") as file:
            file.write(b"x")
            file.commit()
        return stat.S_IMODE((tmp_path / "a").stat().st_mode)

    (tmp_path / "plain").write_text("x")
    assert write() == stat.S_IMODE((tmp_path / "plain").stat().st_mode)
    (tmp_path / "a").chmod(0o640)
    assert write() == 0o640


def test_a_symbolic_link_stays_and_its_file_is_replaced(tmp_path):
    (tmp_path / "data").mkdir()
    np.save(tmp_path / "data" / "real.npy", np.arange(3))
    (tmp_path / "link.npy").symlink_to("data/real.npy")
    (tmp_path / "new.npy").symlink_to("data/later.npy")
    for name in ("link.npy", "new.npy"):
        with NpyWriter(tmp_path / name, (2,), np.dtype("f4")) as writer:
            writer.write((slice(0, 2),), np.ones(2))
            writer.commit()
        assert (tmp_path / name).is_symlink()
    for name in ("real.npy", "later.npy"):
        np.testing.assert_array_equal(np.load(tmp_path / "data" / name), np.ones(2, np.float32), strict=True)
    assert listing(tmp_path / "data") == ["later.npy", "real.npy"]


def test_a_file_is_replaced_while_it_is_read(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.arange(4.0))
    with NpyReader(path) as reader, NpyWriter(path, (4,), np.dtype("f8")) as writer:
        for half in (slice(0, 2), slice(2, 4)):
            writer.write((half,), -reader.read((half,)))
        writer.commit()
        np.testing.assert_array_equal(reader.read((slice(0, 4),)), np.arange(4.0))
    np.testing.assert_array_equal(np.load(path), -np.arange(4.0))


# -- the registry -------------------------------------------------------------------------------------------------


def test_formats_are_found_by_suffix_in_any_case():
    assert format_of("a/b.NPY").name == "NumPy array"
    for name in ("a.txt", "npy", "a.npy/b"):
        with pytest.raises(FileFormatError, match=r"known are \.npy \(NumPy array\)"):
            format_of(name)
    suffixes = [suffix for one in FORMATS for suffix in one.suffixes]
    assert len(set(suffixes)) == len(suffixes)
    assert all(suffix == suffix.lower() and suffix.startswith(".") for suffix in suffixes)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.npy")
    with pytest.raises(FileFormatError, match="pipe"):
        NpyReader(tmp_path / "pipe.npy")
