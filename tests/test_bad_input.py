"""What is wrong is refused before any device works, by an error that names the argument and what would be right."""

from __future__ import annotations

import re
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import AUTO, EXPLICIT, TRANSFORMS, Case, counted_work, mesh_of, put, random
from jax.sharding import AbstractMesh, NamedSharding
from jax.sharding import PartitionSpec as P
from numpy.exceptions import AxisError

import tpufft
from tpufft import LayoutError

ROWS = Case("x8", P("x"), (16, 6))
WORK = {"backend_compile_duration", "jaxpr_to_mlir_module_duration"}


def refused(
    call: Callable, kind: type[Exception], *words: str, axis_type=AUTO, case: Case = ROWS, before: set[str] = WORK
) -> None:
    """`call` of a chunked array raises exactly this kind, says these words, compiles nothing and spoils nothing."""
    x = put(random(case.shape), case, axis_type)
    with counted_work() as work, pytest.raises(kind) as caught:
        call(x)
    assert type(caught.value) is kind, type(caught.value)
    for word in words:
        assert re.search(word, str(caught.value)), f"{word!r} is not in: {caught.value}"
    assert not before & set(work), dict(work)
    assert not x.is_deleted()


ONE = ("fft", "ifft")
SEVERAL = ("fft2", "ifft2", "fftn", "ifftn")


def called(name: str, **options) -> Callable:
    return lambda x: getattr(tpufft, name)(x, overwrite_x=True, **options)


# -- axes and sizes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [2, -3, 100])
@pytest.mark.parametrize("name", ONE)
def test_an_axis_that_the_array_does_not_have(name, axis):
    refused(called(name, axis=axis), AxisError, f"{axis} is out of bounds", "dimension 2")


@pytest.mark.parametrize("axes", [(0, 2), (-3,), [5]])
@pytest.mark.parametrize("name", SEVERAL)
def test_axes_that_the_array_does_not_have(name, axes):
    wrong = next(axis for axis in axes if not -2 <= axis < 2)
    refused(called(name, axes=axes), AxisError, f"{wrong} is out of bounds", "dimension 2")


def test_axes_of_shifts_and_frequencies():
    refused(lambda x: tpufft.fftshift(x, axes=2), AxisError, "2 is out of bounds")
    refused(lambda x: tpufft.ifftshift(x, axes=(0, -3)), AxisError, "-3 is out of bounds")
    refused(lambda x: tpufft.fftshift(x, axes=0.5), TypeError, "0.5")
    refused(lambda x: tpufft.fftshift(x, axes="x"), TypeError, "x")


def test_the_axes_of_an_array_without_any():
    for name in ONE:
        with pytest.raises(AxisError):
            getattr(tpufft, name)(1.0)
    for name in ("fft2", "ifft2"):
        with pytest.raises(AxisError):
            getattr(tpufft, name)(np.ones(8))


@pytest.mark.parametrize("axis", [0.0, None, "x", (0,), [0]])
def test_an_axis_that_is_no_integer(axis):
    refused(called("fft", axis=axis), TypeError, "axis", re.escape(repr(axis)))


@pytest.mark.parametrize("axes", [1, 1.5])
@pytest.mark.parametrize("name", SEVERAL)
def test_axes_that_are_no_sequence(name, axes):
    refused(called(name, axes=axes), TypeError, f"axes={axes}", r"\(")


@pytest.mark.parametrize("n", [0, -1, -8])
@pytest.mark.parametrize("name", ONE)
def test_fewer_than_one_point(name, n):
    # In numpy n=-1 is refused as well; only s knows -1 as "as it is".
    refused(called(name, n=n), ValueError, rf"\bn\b.*{n}", "at least 1")


@pytest.mark.parametrize("s", [(0, 4), (4, 0), (-2, 4)])
@pytest.mark.parametrize("name", SEVERAL)
def test_fewer_than_one_point_along_an_axis(name, s):
    refused(called(name, s=s, axes=(0, 1)), ValueError, r"\bs\b", "at least 1")


def test_an_axis_of_no_points():
    refused(called("fft"), ValueError, "0 points", "axis 1", case=Case("x8", P("x"), (8, 0)))
    refused(called("fft2"), ValueError, "0 points", case=Case("x8", P("x"), (8, 0)))


@pytest.mark.parametrize(
    ("name", "options", "kind", "words"),
    [
        ("fft", {"n": 2.5}, TypeError, ("n", "2.5")),
        ("fft", {"n": "8"}, TypeError, ("n", "'8'")),
        ("fft", {"n": (8,)}, TypeError, ("n", r"\(8,\)")),
        ("fftn", {"s": 8}, TypeError, ("s=8", r"\(8,\)")),
        ("fftn", {"s": (8, 2.0)}, TypeError, ("s", "2.0")),
        ("fftn", {"s": (8,), "axes": (0, 1)}, ValueError, ("s=", "axes=", "different length")),
        ("fftn", {"s": (8, 8, 8)}, ValueError, ("s=", "3 sizes", "2 axes")),
        ("ifft2", {"s": (8, 8, 8)}, ValueError, ("s=", "axes=", "different length")),
    ],
    ids=str,
)
def test_sizes_that_are_none(name, options, kind, words):
    refused(called(name, **options), kind, *words)


# -- words -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize(
    ("argument", "right"),
    [("norm", "'ortho'"), ("method", "'exchange'"), ("kernel", "'matmul'"), ("order", "'natural'")],
)
def test_an_unknown_word(argument, right, name):
    refused(called(name, **{argument: "best"}), ValueError, f"{argument}='best'", right)
    refused(called(name, **{argument: 3}), ValueError, f"{argument}=3", right)
    refused(called(name, **{argument: ["natural"]}), ValueError, f"{argument}=", right)


def test_words_are_written_as_they_are():
    refused(called("fft", norm="Ortho"), ValueError, "norm='Ortho'")
    refused(called("fft", norm=""), ValueError, "norm=''")
    refused(called("fft", order=None), ValueError, "order=None")


def test_each_order_belongs_to_its_transforms():
    for name in ONE:
        refused(called(name, order="transposed"), ValueError, "order='transposed'", name, "'scrambled'")
    for name in SEVERAL:
        refused(called(name, order="scrambled"), ValueError, "order='scrambled'", name, "'transposed'")


def test_orders_that_have_no_place():
    line = Case("x8", P("x"), (64,))
    refused(called("fftn", order="transposed"), LayoutError, "two axes", "scrambled", case=line)
    refused(called("fft", axis=0, order="scrambled", method="ring"), LayoutError, "method='ring'")


@pytest.mark.parametrize(
    ("precision", "words"),
    [
        ("sharp", ("precision='sharp'", "'?highest")),
        (7, ("precision=7",)),
        ("float64_emulated", ("precision='float64_emulated'", "complex128")),
    ],
)
def test_an_unknown_precision(precision, words):
    refused(called("fft2", precision=precision), ValueError, *words)


def test_a_precision_where_the_kernel_has_none():
    refused(called("fft", precision="highest", kernel="xla"), ValueError, "precision='highest'", "kernel='matmul'")


def test_an_option_that_does_not_exist():
    for name in TRANSFORMS:
        refused(called(name, workers=2), TypeError, "workers")
    with pytest.raises(TypeError, match=r"workers.*"):
        tpufft.plan("fft", (8,), "complex64", mesh_of("x8"), workers=2)
    with pytest.raises(TypeError, match=r"axes"):
        tpufft.plan("fft", (8,), "complex64", mesh_of("x8"), axes=(0,))
    with pytest.raises(TypeError, match=r"norm"):
        tpufft.plan("fftshift", (8,), "complex64", mesh_of("x8"), norm="ortho")


# -- mesh and chunking -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*TRANSFORMS, "fftshift"])
@pytest.mark.parametrize("mesh", [8, "x", ("x",), P("x")], ids=str)
def test_a_mesh_that_is_none(name, mesh):
    refused(lambda x: getattr(tpufft, name)(x, mesh), TypeError, "mesh=", "jax.make_mesh")


def test_a_mesh_that_contradicts_the_array():
    reversed_mesh = jax.sharding.Mesh(np.array(jax.devices()[::-1]), ("x",))
    renamed = jax.sharding.Mesh(np.array(jax.devices()), ("y",))
    for mesh in (mesh_of("x4y2"), mesh_of("x1"), renamed, reversed_mesh):
        for name in ("fft", "ifftn", "fftshift"):
            refused(
                lambda x, name=name, mesh=mesh: getattr(tpufft, name)(x, mesh),
                LayoutError,
                "mesh=",
                "contradicts the array",
                r"Mesh\(x=8",
                "jax.device_put",
            )


def test_a_mesh_that_contradicts_the_type_under_jit():
    refused(
        jax.jit(lambda x: tpufft.fft2(x, mesh_of("x4y2", EXPLICIT))),
        LayoutError,
        "contradicts the array",
        axis_type=EXPLICIT,
    )


@pytest.mark.parametrize("argument", ["spec", "out_spec"])
@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (P("y"), ("mesh axis 'y'", r"\('x',\)")),
        (P(None, ("x", "rows")), ("mesh axis 'rows'", r"\('x',\)")),
        (P("x", "x"), ("'x' twice",)),
        (P(("x", "x")), ("'x' twice",)),
        (P(None, None, "x"), ("3 entries", "2 axes")),
        ("x", ("no PartitionSpec", r"P\('x'")),
        (3, ("no PartitionSpec", r"P\(")),
        ((None, 3), ("entry 3",)),
    ],
    ids=str,
)
def test_a_spec_that_does_not_fit(spec, words, argument):
    def known(x):  # the mesh is named
        return tpufft.fft2(x, mesh_of("x8"), overwrite_x=True, **{argument: spec})

    refused(known, LayoutError, rf"\b{argument}=", *words)
    refused(called("fft2", **{argument: spec}), LayoutError, rf"\b{argument}=", *words)


def test_a_spec_that_does_not_fit_a_shift():
    refused(lambda x: tpufft.fftshift(x, spec=P("y")), LayoutError, "spec=", "mesh axis 'y'")


def test_order_and_out_spec_together():
    refused(
        called("fft", order="scrambled", out_spec=P("x")), LayoutError, "out_spec=", "order='scrambled'", "give one"
    )
    refused(called("ifftn", order="transposed", out_spec=P("x")), LayoutError, "out_spec=", "order='transposed'")


def test_an_out_spec_over_other_mesh_axes_than_the_arrays():
    """A transform moves chunks between array axes; it neither gathers nor slices."""
    replicated = Case("x8", P(), (16, 8))
    refused(called("fft2", out_spec=P("x")), LayoutError, "out_spec=", "spec=|device_put", case=replicated)
    refused(called("fft2", out_spec=P()), LayoutError, "out_spec=", "spec=|device_put")
    pencil = Case("x4y2", P("x", "y"), (8, 8))
    refused(called("fft2", out_spec=P("x")), LayoutError, "out_spec=", "spec=|device_put", case=pencil)


def test_under_jit_without_a_mesh():
    """Tracing may pass, since eagerly derived functions are traced as well; nothing is compiled."""
    before = {"backend_compile_duration"}
    for name in (*TRANSFORMS, "fftshift"):
        refused(jax.jit(getattr(tpufft, name)), LayoutError, name, "mesh=", "jax.set_mesh", before=before)
    refused(jax.jit(lambda x: tpufft.fft(x, spec=P("x"))), LayoutError, "mesh=", "jax.set_mesh", before=before)


def test_inside_of_manual_axes():
    for name in (*TRANSFORMS, "fftshift", "ifftshift"):
        body = jax.shard_map(getattr(tpufft, name), mesh=mesh_of("x8"), in_specs=P("x"), out_specs=P("x"))
        refused(jax.jit(body), LayoutError, f"tpufft.{name} ", "shard_map", r"tpufft\.spmd\.")


# -- arrays ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "x",
    [np.array(["a", "b"]), np.array([object()]), np.array([b"a"]), np.array(["2020-01-01"], "datetime64[D]")],
    ids=lambda x: str(x.dtype),
)
@pytest.mark.parametrize("name", ["fft", "fftn", "fftshift"])
def test_an_array_of_no_numbers(name, x):
    with counted_work() as work, pytest.raises(TypeError, match=re.escape(str(x.dtype))):
        getattr(tpufft, name)(x)
    assert not WORK & set(work)


def test_a_ragged_list():
    with pytest.raises(ValueError, match="inhomogeneous"):
        tpufft.fft([[1, 2], [3]])


def test_a_key_of_random_numbers():
    with pytest.raises(TypeError, match="key"):
        tpufft.fft(jax.random.split(jax.random.key(0), 8))


# -- plans and frequencies ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "options", "kind", "words"),
    [
        (("dct", (8,)), {"type": 5}, ValueError, "type=5 of dct.*1, 2, 3, 4"),
        (("rfft", (8,), "complex64"), {}, TypeError, "x of rfft is complex64; it must be real"),
        (("FFT", (8,)), {}, ValueError, "transform='FFT'.*'fft'"),
        (("fft", 8), {}, TypeError, "shape=8"),
        (("fft", (8.5,)), {}, TypeError, "shape.*8.5"),
        (("fft", (-8,)), {}, ValueError, "shape.*-8"),
        (("fft", (-2, 8)), {"spec": P(None, "x")}, ValueError, "shape.*-2"),
        (("fft", (8,), "S4"), {}, TypeError, "S4"),
        (("fft", (8,), object), {}, TypeError, "object"),
        (("fft", (8,), "complex65"), {}, TypeError, "complex65"),
        (("fft", (8, 8)), {"axis": 2}, AxisError, "2 is out of bounds"),
        (("fft", (8, 8)), {"spec": P("y")}, LayoutError, "spec=.*mesh axis 'y'"),
        (("fftn", (8, 8)), {"order": "transposed", "out_spec": P("x")}, LayoutError, "out_spec=.*order="),
    ],
    ids=str,
)
def test_plans(arguments, options, kind, words):
    with counted_work() as work, pytest.raises(kind, match=words) as caught:
        tpufft.plan(*arguments, mesh=mesh_of("x8"), **options)
    assert type(caught.value) is kind
    assert not WORK & set(work)


def test_a_plan_called_with_another_array():
    plan = tpufft.plan("fft", (16,), "complex64", mesh_of("x8"))
    with pytest.raises(ValueError, match=r"\(16, 6\).*\(16,\)"):
        plan(put(random(ROWS.shape), ROWS))
    with pytest.raises(ValueError, match=r"\(8,\).*\(16,\)"):
        plan(np.ones(8))
    with pytest.raises(ValueError, match=r"\(16, 6\).*\(16,\)"):
        jax.jit(plan)(put(random(ROWS.shape), ROWS))


def test_a_plan_for_a_described_mesh_cannot_be_called():
    plan = tpufft.plan("fft", (64,), "complex64", AbstractMesh((8,), ("x",)))
    assert len(plan.steps) > 0
    with pytest.raises((ValueError, TypeError), match=r"(?i)mesh"):
        plan(np.ones(64))


@pytest.mark.parametrize(
    ("arguments", "options", "kind", "words"),
    [
        ((0,), {}, ValueError, "n=0"),
        ((-4,), {}, ValueError, "n=-4"),
        ((4.0,), {}, TypeError, "n=4.0"),
        (("4",), {}, TypeError, "n='4'"),
        ((8,), {"order": "transposed"}, ValueError, "order='transposed'.*'scrambled'"),
        ((8,), {"spec": P("x")}, ValueError, "spec=.*mesh="),
        ((8,), {"mesh": "x8", "spec": P("y")}, LayoutError, "mesh axis 'y'"),
        ((8, 0.0), {}, ValueError, "d=0"),
        ((8, "1"), {}, TypeError, "d='1'"),
    ],
    ids=str,
)
def test_fftfreq(arguments, options, kind, words):
    options = {key: mesh_of(value) if key == "mesh" else value for key, value in options.items()}
    with pytest.raises(kind, match=words):
        tpufft.fftfreq(*arguments, **options)


def test_a_layout_error_is_a_value_error():
    assert issubclass(LayoutError, ValueError)
    assert LayoutError is tpufft.LayoutError


def test_nothing_is_left_behind_by_a_mistake():
    """The next right call of the same kind works."""
    x = put(random(ROWS.shape), ROWS)
    with pytest.raises(ValueError, match="0 points"):
        tpufft.fft(x, axis=0, n=0)
    with pytest.raises(LayoutError):
        jax.jit(tpufft.fft)(x)
    assert tpufft.fft(x, axis=0, n=24).shape == (24, 6)
    with jax.set_mesh(mesh_of("x8")):
        assert jax.jit(tpufft.fft)(x).shape == x.shape
    deleted = x + jnp.zeros_like(x)
    deleted.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        tpufft.fft(deleted)
    moved = jax.device_put(x, NamedSharding(mesh_of("x8"), P()))
    assert tpufft.fft(moved).sharding.spec == P()
