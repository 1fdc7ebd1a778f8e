"""The command: results against numpy, what it prints, and that every mistake is one line, a code, and no damage."""

import json
import os
import signal
import subprocess
import sys
import time

import jax
import numpy as np
import pytest

from tpufft.cli import main
from tpufft.cli.devices import make_mesh
from tpufft.cli.exits import StopSignals
from tpufft.errors import LayoutError

PATH = os.pathsep.join(sys.path)
CLEARED = ("NPROC", "XLA_FLAGS", "JAX_NUM_CPU_DEVICES")


def environment(**more):
    return {key: value for key, value in os.environ.items() if key not in CLEARED} | {"PYTHONPATH": PATH} | more


def tpufft(*arguments, cwd, code=0, **more):
    """Run the command in a fresh process; its standard output and standard error."""
    done = subprocess.run(
        [sys.executable, "-m", "tpufft", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=cwd,
        env=environment(JAX_PLATFORMS="cpu", **more),
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout, done.stderr


@pytest.fixture
def folder(tmp_path):
    """A folder with a volume of (16, 8, 24) float32, and an older output."""
    volume = np.random.default_rng(0).standard_normal((16, 8, 24)).astype(np.float32)
    np.save(tmp_path / "volume.npy", volume)
    (tmp_path / "out.npy").write_bytes(b"the older output")
    return tmp_path


@pytest.fixture
def here(folder, monkeypatch, capsys):
    """Call the command in this process and folder: its exit code, standard output and standard error."""
    monkeypatch.chdir(folder)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["tpufft", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        captured = capsys.readouterr()
        return end.value.code, captured.out, captured.err

    return call


def error_of(found, expected):
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)


def untouched(folder, names=("out.npy", "volume.npy")):
    return (folder / "out.npy").read_bytes() == b"the older output" and sorted(os.listdir(folder)) == sorted(names)


# -- what it does -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_main_job_from_file_to_file_with_summary_and_picture(folder):
    out, err = tpufft(
        *("transform", "volume.npy", "out.npy", "--axes", "0,1,2", "--devices", "8", "--plot", "plane.png"), cwd=folder
    )
    volume = np.load(folder / "volume.npy")
    result = np.load(folder / "out.npy")
    assert result.dtype == np.complex64
    assert error_of(result, np.fft.fftn(volume)) < 1e-6
    assert err == ""
    for part in (
        "fftn complex64 (16, 8, 24) on mesh x=8, chunked P('x', None, None), order natural",
        "exchange  x: axis 0",
        "read ",
        "Local ",
        "Exchange ",
        "write ",
        "million points/s",
        "peak of the process",
        "per device",
        "cycles per sample",
        "wrote out.npy and plane.png",
    ):
        assert part in out
    assert max(map(len, out.splitlines())) <= 120
    assert (folder / "plane.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(os.listdir(folder)) == ["out.npy", "plane.png", "volume.npy"]


@pytest.mark.slow
def test_double_precision_there_and_back_over_its_own_input(folder):
    array = np.random.default_rng(1).standard_normal((8, 12)) * (1 + 2j)
    np.save(folder / "a.npy", array)
    stdout, _ = tpufft("transform", "a.npy", "a.npy", "--norm", "ortho", "--devices", "4", "--json", cwd=folder)
    assert json.loads(stdout)["output"]["dtype"] == "complex128"
    assert error_of(np.load(folder / "a.npy"), np.fft.fftn(array, norm="ortho")) < 1e-14
    options = ("--norm", "ortho", "--devices", "4", "--inverse", "--quiet")
    out, err = tpufft("transform", "a.npy", "a.npy", *options, cwd=folder)
    assert (out, err) == ("", "")
    assert error_of(np.load(folder / "a.npy"), array) < 1e-14


@pytest.mark.parametrize(
    ("options", "reference"),
    [
        ("--axes 1", lambda x: np.fft.fft(x, axis=1)),
        ("--axes -1,0 --norm forward", lambda x: np.fft.fftn(x, axes=(-1, 0), norm="forward")),
        ("--mesh x=4,y=2 --spec x,y,None", np.fft.fftn),
        ("--mesh a=2,b=4 --spec -,-,a+b", np.fft.fftn),
        ("--devices 1 --inverse", np.fft.ifftn),
        ("--kernel matmul --method ring", np.fft.fftn),
        ("--order transposed --devices 4", np.fft.fftn),
    ],
)
def test_options_mean_what_numpy_means(here, folder, options, reference):
    code, out, err = here("transform", "volume.npy", "out.npy", "--json", *options.split())
    assert (code, err) == (0, "")
    json.loads(out)
    assert error_of(np.load(folder / "out.npy"), reference(np.load(folder / "volume.npy"))) < 1e-6


@pytest.mark.parametrize("dtype", ["bool", "int8", ">i2", "uint16", "float16", "complex64", ">f4"])
def test_every_narrow_type_becomes_complex64(here, folder, dtype):
    array = np.random.default_rng(2).integers(0, 2 if dtype == "bool" else 100, (8, 24)).astype(dtype)
    np.save(folder / "a.npy", np.asfortranarray(array))
    assert here("transform", "a.npy", "out.npy", "--quiet") == (0, "", "")
    result = np.load(folder / "out.npy")
    assert result.dtype == np.complex64
    assert error_of(result, np.fft.fftn(array.astype(np.complex128))) < 1e-6


@pytest.mark.parametrize(("spec", "order"), [("x,y,None", "transposed"), ("None,x,y", "transposed")])
def test_other_orders_come_back_through_files(here, folder, spec, order):
    options = ["--mesh", "x=2,y=4", "--spec", spec, "--order", order, "--quiet"]
    assert here("transform", "volume.npy", "out.npy", *options) == (0, "", "")
    assert here("transform", "out.npy", "back.npy", "--inverse", *options) == (0, "", "")
    assert error_of(np.load(folder / "back.npy"), np.load(folder / "volume.npy")) < 1e-6


def test_a_scrambled_signal_shows_its_line_and_comes_back(here, folder):
    t = np.arange(1024)
    np.save(folder / "signal.npy", np.cos(2 * np.pi * 100 * t / 1024).astype(np.float32))
    code, out, _ = here("transform", "signal.npy", "out.npy", "--order", "scrambled", "--json", "--plot", "line.svg")
    peak = json.loads(out)["peaks"][0]
    assert code == 0
    assert peak["frequency"] == [100 / 1024]
    assert peak["mirrored"]
    assert peak["magnitude"] == pytest.approx(512, rel=1e-5)
    assert abs(np.load(folder / "out.npy")[peak["index"][0]]) == pytest.approx(512, rel=1e-5)
    assert b"<svg" in (folder / "line.svg").read_bytes()
    assert here("transform", "out.npy", "back.npy", "--order", "scrambled", "--inverse", "--quiet") == (0, "", "")
    assert error_of(np.load(folder / "back.npy"), np.load(folder / "signal.npy")) < 1e-6


def test_the_json_summary_is_whole_and_adds_up(here):
    code, out, err = here("transform", "volume.npy", "out.npy", "--json")
    data = json.loads(out)
    assert (code, err) == (0, "")
    assert data["input"] == {"path": "volume.npy", "dtype": "float32", "shape": [16, 8, 24], "bytes": 4 * 3072}
    assert data["output"] == {"path": "out.npy", "dtype": "complex64", "shape": [16, 8, 24], "bytes": 8 * 3072}
    assert data["plan"]["mesh"] == {"x": 8}
    assert set(data["seconds_by_step_class"]) == {step["class"] for step in data["steps"]} >= {"Local", "Exchange"}
    assert sum(data["seconds_by_step_class"].values()) == pytest.approx(data["seconds"]["transform"])
    assert sum(data["seconds"].values()) - data["seconds"]["total"] < data["seconds"]["total"]
    assert data["throughput"]["points_per_second"] == pytest.approx(3072 / data["seconds"]["transform"])
    assert data["peak_memory_bytes"]["process"] > data["peak_memory_bytes"]["plan_per_device"] > 0
    assert len(data["peaks"]) == 5


def test_each_device_reads_its_part_and_each_shard_is_written_apart(here, monkeypatch):
    from tpufft.formats import NpyReader, NpyWriter

    sizes = {"read": [], "write": []}
    read, write = NpyReader.read, NpyWriter.write

    def counted_read(self, slices):
        block = read(self, slices)
        sizes["read"].append(block.size)
        return block

    def counted_write(self, slices, block):
        sizes["write"].append(block.size)
        write(self, slices, block)

    monkeypatch.setattr(NpyReader, "read", counted_read)
    monkeypatch.setattr(NpyWriter, "write", counted_write)
    assert here("transform", "volume.npy", "out.npy", "--quiet", "--plot", "plane.png")[0] == 0
    assert sizes == {"read": [3072 // 8] * 8, "write": [3072 // 8] * 8}


def test_version_and_help_by_example(here):
    assert here("--version")[:2] == (0, "tpufft 0.1.0\n")
    code, out, _ = here("transform", "--help")
    assert code == 0
    assert "tpufft transform volume.npy spectrum.npy --axes 0,1,2 --devices 8" in out
    assert "130 interrupted" in out


# -- what is wrong ------------------------------------------------------------------------------------------------

BAD_INPUT = {
    "no such axis": ("volume.npy out.npy --axes 0,3", "--axes 3: the file's array has 3 axes; they are 0 to 2"),
    "no such negative axis": ("volume.npy out.npy --axes -4", "--axes -4: the file's array has 3 axes"),
    "does not divide": (
        "volume.npy out.npy --devices 5",
        "axis 0 of length 16 does not divide evenly over the 5 devices",
    ),
    "does not divide elsewhere": ("volume.npy out.npy --mesh x=5 --spec -,-,x", "axis 2 of length 24 does not divide"),
    "unknown mesh axis": ("volume.npy out.npy --spec rows", "names the mesh axis 'rows'; the mesh has ('x',)"),
    "mesh axis twice": ("volume.npy out.npy --spec x,x", "uses the mesh axis 'x' twice"),
    "spec too long": ("volume.npy out.npy --spec -,-,-,x", "has 4 entries, but the array has 3 axes"),
    "scrambled needs one axis": ("volume.npy out.npy --order scrambled", "use --order transposed"),
    "more devices than exist": ("volume.npy out.npy --devices 16", "--devices 16 (mesh x=16): JAX has 8 cpu device(s)"),
    "no input": ("missing.npy out.npy", "missing.npy: No such file or directory"),
    "input is a folder": ("folder.npy out.npy", "folder.npy: Is a directory"),
    "input is no array": ("text.npy out.npy", "text.npy: no .npy file"),
    "input is truncated": ("short.npy out.npy", "short.npy: truncated"),
    "input has objects": ("objects.npy out.npy", "objects.npy: holds Python objects"),
    "input is a scalar": ("scalar.npy out.npy", "scalar.npy: shape () has no axis to transform"),
    "input is empty": ("empty.npy out.npy", "empty.npy: shape (0, 8) has no elements"),
    "unknown input format": ("volume.raw out.npy", "volume.raw: the suffix names no known file format; known are .npy"),
    "unknown output format": ("volume.npy out.raw", "out.raw: the suffix names no known file format; known are .npy"),
    "output is a folder": ("volume.npy folder.npy", "folder.npy: the output is a directory"),
    "no output folder": ("volume.npy missing/out.npy", "missing/out.npy: the output's directory"),
    "unknown picture format": ("volume.npy out.npy --plot a.xyz", "a.xyz: the suffix names no picture format"),
    "no picture folder": ("volume.npy out.npy --plot missing/a.png", "missing/a.png: the output's directory"),
}


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_is_one_line_and_code_1_and_changes_nothing(here, folder, case, monkeypatch):
    np.save(folder / "scalar.npy", np.float32(1))
    np.save(folder / "empty.npy", np.ones((0, 8), np.float32))
    np.save(folder / "objects.npy", np.array([None] * 8))
    (folder / "short.npy").write_bytes((folder / "volume.npy").read_bytes()[:-1])
    (folder / "text.npy").write_text("1, 2, 3")
    (folder / "folder.npy").mkdir()
    before = os.listdir(folder)

    def refuse(*_):
        raise AssertionError("no element may be read")

    monkeypatch.setattr("tpufft.formats.NpyReader.read", refuse)
    arguments, message = BAD_INPUT[case]
    code, out, err = here("transform", *arguments.split())
    assert (code, out) == (1, "")
    assert err.startswith("error: ")
    assert message in err
    assert err.count("\n") == 1
    assert untouched(folder, before)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("transform", "Missing argument"),
        ("transform volume.npy", "Missing argument"),
        ("transform volume.npy out.npy --axes a", "--axes 'a' is no list of axes"),
        ("transform volume.npy out.npy --devices 0", "--devices"),
        ("transform volume.npy out.npy --mesh x=4,x=2", "--mesh 'x=4,x=2' is no mesh"),
        ("transform volume.npy out.npy --mesh x", "--mesh 'x' is no mesh"),
        ("transform volume.npy out.npy --spec x,,1", "--spec 'x,,1' is no spec"),
        ("transform volume.npy out.npy --mesh x=4 --devices 8", "--mesh has 4 devices and --devices says 8"),
        ("transform volume.npy out.npy --norm best", "--norm 'best' is unknown; it is one of backward, ortho"),
        ("transform volume.npy out.npy --order random", "--order 'random' is unknown"),
        ("transform volume.npy out.npy --method guess", "--method 'guess' is unknown"),
        ("transform volume.npy out.npy --kernel none", "--kernel 'none' is unknown"),
        ("transform volume.npy out.npy --fast", "--fast"),
        ("transmute volume.npy out.npy", "transmute"),
    ],
)
def test_wrong_usage_is_code_2_and_changes_nothing(here, folder, arguments, message, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    code, out, err = here(*arguments.split())
    assert (code, out) == (2, "")
    assert message in err
    assert untouched(folder)


def test_more_devices_than_there_are_name_the_remedy():
    existing = len(jax.devices())
    with pytest.raises(LayoutError, match=rf"JAX has {existing} cpu device\(s\); ask for no more"):
        make_mesh({"x": existing + 1}, all_accelerators=False)


@pytest.mark.slow
def test_bad_input_in_a_fresh_process_has_no_traceback(folder):
    (folder / "short.npy").write_bytes((folder / "volume.npy").read_bytes()[:-1])
    out, err = tpufft("transform", "short.npy", "out.npy", cwd=folder, code=1)
    assert out == ""
    assert err.startswith("error: short.npy: truncated")
    assert err.count("\n") == 1
    assert untouched(folder, ["out.npy", "short.npy", "volume.npy"])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["typer", "rich"])
def test_without_the_jobs_extra_the_command_names_it(folder, name):
    code = f"import sys; sys.modules['{name}'] = None; from tpufft.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=environment(), check=False
    )
    assert done.returncode == 1
    assert done.stderr == "error: the command tpufft needs the extra 'jobs': pip install 'tpufft[jobs]'\n"


def test_a_picture_without_matplotlib_names_the_extra(here, folder, monkeypatch):
    for name in [name for name in sys.modules if name.startswith(("matplotlib", "tpufft.cli.plot"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delattr("tpufft.cli.plot", raising=False)
    code, _, err = here("transform", "volume.npy", "out.npy", "--plot", "a.png")
    assert (code, err) == (1, "error: --plot needs the extra 'jobs': pip install 'tpufft[jobs]'\n")
    assert untouched(folder)


@pytest.mark.parametrize("call", ["os.fsync", "os.replace", "tpufft.formats.NpyWriter.write"])
def test_a_write_that_fails_leaves_the_output_and_no_temporary(here, folder, monkeypatch, call):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(call, fail)
    code, _, err = here("transform", "volume.npy", "out.npy")
    assert code == 1
    assert err.endswith("No space left on device\n")
    assert err.count("\n") == 1
    assert untouched(folder)


@pytest.mark.slow
def test_a_full_disk_is_noticed_before_any_work(folder):
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192)); from tpufft.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "transform", "volume.npy", "out.npy"],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=folder,
        env=environment(JAX_PLATFORMS="cpu"),
        check=False,
    )
    assert done.returncode == 1
    assert "error: out.npy: cannot reserve 24704 bytes for the output" in done.stderr
    assert untouched(folder)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_job_leaves_the_output_and_no_temporary(folder, number, code):
    np.lib.format.open_memmap(folder / "large.npy", "w+", np.float32, (256, 128, 128)).flush()
    job = subprocess.Popen(
        [sys.executable, "-m", "tpufft", "transform", "large.npy", "out.npy"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=environment(JAX_PLATFORMS="cpu"),
    )
    try:
        # The temporary is there from before the first element is read until the end.
        deadline = time.monotonic() + 60
        while not list(folder.glob(".tpufft-*.tmp")) and job.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        job.send_signal(number)
        out, err = job.communicate(timeout=60)
    finally:
        job.kill()
    assert job.returncode == code, err
    assert "Traceback" not in err
    assert out == ""
    assert untouched(folder, ["large.npy", "out.npy", "volume.npy"])


def test_an_interrupt_is_code_130(here, folder, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("tpufft.formats.NpyReader.read", interrupt)
    assert here("transform", "volume.npy", "out.npy") == (130, "", "interrupted\n")
    assert untouched(folder)


@pytest.mark.parametrize(("number", "kind"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)])
def test_the_first_signal_waits_for_the_next_check_and_the_second_does_not(number, kind):
    previous = signal.getsignal(number)
    with StopSignals() as stop:
        stop.check()
        os.kill(os.getpid(), number)
        with pytest.raises(kind):
            stop.check()
        with pytest.raises(kind):
            os.kill(os.getpid(), number)
    assert signal.getsignal(number) is previous


def test_a_bug_is_not_hidden(here, folder, monkeypatch):
    def broken(*_):
        raise RuntimeError("a bug")

    monkeypatch.setattr("tpufft.formats.NpyReader.read", broken)
    with pytest.raises(RuntimeError, match="a bug"):
        here("transform", "volume.npy", "out.npy")
    assert untouched(folder)


# -- pictures and the demo's data ---------------------------------------------------------------------------------


def test_the_plane_is_drawn_with_zero_in_the_middle():
    from tpufft.cli.plot import draw
    from tpufft.jobs import SpectrumAxis

    values = np.full((4, 8, 16), 1e-3, np.complex64)
    values[0, 1, 2] = 100
    figure = draw(values, [SpectrumAxis(size) for size in values.shape], title="title")
    image = figure.axes[0].images[0]
    row, column = np.unravel_index(np.argmax(image.get_array()), (8, 16))
    left, right, bottom, top = image.get_extent()
    assert left + (column + 0.5) * (right - left) / 16 == pytest.approx(2 / 16)
    assert top + (row + 0.5) * (bottom - top) / 8 == pytest.approx(1 / 8)


@pytest.mark.parametrize("fill", [0.0, np.nan, np.inf])
def test_values_that_have_no_logarithm_are_drawn_too(fill, tmp_path):
    from tpufft.cli.plot import PictureFile, draw
    from tpufft.jobs import SpectrumAxis

    for shape in ((16,), (4, 4)):
        with PictureFile(tmp_path / "a.png") as picture:
            picture.save(draw(np.full(shape, fill, np.complex64), [SpectrumAxis(n) for n in shape], title=""))
        assert (tmp_path / "a.png").stat().st_size > 1000


def test_the_demo_data_is_a_volume_that_divides_by_eight(tmp_path):
    tool = os.path.join(os.path.dirname(__file__), os.pardir, "tools", "demo_data.py")
    target = tmp_path / "demo" / "volume.npy"
    done = subprocess.run([sys.executable, tool, target], capture_output=True, text=True, timeout=60, check=True)
    assert "MIT licence" in done.stdout
    volume = np.load(target)
    assert (volume.shape, volume.dtype) == ((24, 96, 128), np.float32)
    assert volume.std() > 100
    assert subprocess.run([sys.executable, tool], capture_output=True, timeout=60, check=False).returncode == 2


def test_info_tells_kernels_devices_and_what_is_missing(folder):
    out, complaint = tpufft("info", "--json", cwd=folder)
    data = json.loads(out)
    assert not complaint
    assert data["versions"]["jax"] == jax.__version__
    assert data["devices"] == [{"platform": "cpu", "kind": "cpu", "count": 1}]
    assert {one["name"]: one["missing"] for one in data["kernels"]}.keys() == {"xla", "matmul", "host"}
    text, _ = tpufft("info", cwd=folder)
    assert "kernel" in text
    assert "the compiler's FFT" in text
    assert "…" not in text


def test_info_says_why_a_kernel_is_missing():
    program = (
        "import sys; sys.modules['numba'] = None; sys.argv = ['tpufft', 'info']; from tpufft.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment(JAX_PLATFORMS="cpu"),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "numba is not installed" in done.stdout
