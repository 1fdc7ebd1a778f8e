"""Random calls of every transform, drawn whole, and the check of one against the definition.

A call is plain data: name, array, axes, sizes, mesh, chunking, order, method, kernel, how the argument is handed over,
eager or jitted. So it can be written down and repeated.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import asdict, dataclass, field
from typing import Any

import jax
import numpy as np
import oracle
from helpers import (
    AUTO,
    EXPLICIT,
    KERNELS,
    METHODS,
    NORMS,
    Case,
    check,
    check_result,
    context,
    mesh_of,
    place,
    random,
    result_dtype_of,
)
from hypothesis import strategies as st
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

import tpufft
from tpufft import LayoutError
from tpufft.layout import Layout

LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 16, 17, 24)
LARGEST = 1500
REAL_DTYPES = ("float32", "float64", "float16", "int32", "bool", "uint8")
COMPLEX_DTYPES = ("complex64", "complex128")
BACK = {"fft": "ifft", "fftn": "ifftn", "fft2": "ifft2", "rfft": "irfft", "rfftn": "irfftn", "rfft2": "irfft2"}
# Why an order may be refused: the words of the error.
REFUSED = r"do(es)? not divide|method='ring'|order='(transposed|scrambled)'"


# -- calls ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Call:
    """One call of a transform, as plain data."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    mesh: str
    spec: tuple[tuple[str, ...], ...]
    options: dict[str, Any] = field(default_factory=dict)
    explicit: bool = False
    order: str = "natural"
    method: str = "auto"
    kernel: str = "auto"
    argument: str = "placed"  # as `spec` says; or "numpy", "device": with the mesh alone; or "given": NumPy with `spec`
    jitted: bool = False

    @property
    def case(self) -> Case:
        return Case(self.mesh, P(*self.spec), self.shape)

    def text(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def parse(cls, text: str) -> Call:
        return cls(**{key: _tuples(value) for key, value in json.loads(text).items()})


def _tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _tuples(item) for key, item in value.items()}
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A mesh, lengths, and how the mesh's axes are spread over the array's."""
    mesh = draw(st.sampled_from(["x8", "x4y2", "x2y2z2", "x2a1z4", "x1"]))
    rank = draw(st.integers(1, 3))
    entries: list[tuple[str, ...]] = [()] * rank
    for name in draw(st.permutations(list(mesh_of(mesh).shape))):
        home = draw(st.integers(-1, rank - 1))  # -1: replicated over it
        if home >= 0:
            entries[home] += (name,)
    shape = draw(st.lists(st.sampled_from(LENGTHS), min_size=rank, max_size=rank))
    # Half of the lengths divide, as most of people's do.
    for axis, names in enumerate(entries):
        parts = math.prod(mesh_of(mesh).shape[name] for name in names)
        if draw(st.booleans()) and parts * shape[axis] <= 32:
            shape[axis] *= parts
    while math.prod(shape) > LARGEST:
        shape[shape.index(max(shape))] //= 2
    return Case(mesh, P(*entries), tuple(shape))


@st.composite
def calls(draw: st.DrawFn, names: tuple[str, ...] = oracle.NAMES) -> Call:
    """Any call that is legal; the points of every transformed axis are counted so that none is left without."""
    name, case = draw(st.sampled_from(names)), draw(cases())
    rank = len(case.shape)
    if name in oracle.TWO_AXES and rank == 1:
        name = name[:-1] + "n"
    options = draw(own_options(name))
    numbers = st.integers(-rank, rank - 1)
    if name in oracle.HANKEL:
        axes, one = [rank - 1], True
    elif name in oracle.ONE_AXIS:
        axes, one = [draw(numbers)], True
        options["axis"] = axes[0]
    else:
        one = False
        unique = (lambda axis: axis % rank) if name in oracle.SCIPYS else None
        axes = draw(st.none() | st.lists(numbers, min_size=1, max_size=3, unique_by=unique))
        if axes is not None:
            options["axes"] = tuple(axes)
        else:
            axes = [-2, -1] if name in oracle.TWO_AXES else list(range(rank))
    points = sizes_of(name, case.shape, axes)
    least = 2 if name in oracle.TRIGONOMETRIC and options["type"] == 1 else 1
    if name not in oracle.HANKEL and (min(points) < least or draw(st.integers(0, 2)) == 0):
        size = st.sampled_from([length for length in LENGTHS if length >= least])
        given_sizes = tuple(draw(size) for _ in axes)
        if not one and draw(st.booleans()):  # -1: as it is, the argument's own length
            given_sizes = tuple(
                -1 if case.shape[axis] >= least and draw(st.booleans()) else length
                for axis, length in zip(axes, given_sizes, strict=True)
            )
        options["n" if one else "s"] = given_sizes[0] if one else given_sizes
    real_only = name in oracle.REAL_TO_COMPLEX + oracle.HANKEL
    order = "natural"
    if name in BACK and draw(st.integers(0, 4)) == 0:
        order = "scrambled" if one else "transposed"
    argument = draw(st.sampled_from(["placed", "placed", "placed", "numpy", "device", "given"]))
    return Call(
        name,
        case.shape,
        draw(st.sampled_from(REAL_DTYPES if real_only else COMPLEX_DTYPES + REAL_DTYPES)),
        case.mesh,
        tuple(() if entry is None else (entry,) if isinstance(entry, str) else tuple(entry) for entry in case.spec),
        options,
        explicit=draw(st.booleans()),
        order=order,
        method=draw(st.sampled_from(METHODS)),
        kernel=draw(st.sampled_from(KERNELS)),
        argument=argument,
        jitted=argument in ("placed", "given") and draw(st.integers(0, 3)) == 0,
    )


@st.composite
def own_options(draw: st.DrawFn, name: str) -> dict[str, Any]:
    """The options that only this transform has, and the norm."""
    if name in oracle.HANKEL:
        numbers = st.sampled_from([0.0, 0.1, -0.2])
        mu = draw(st.sampled_from([0.0, 0.5, 1.5]))
        return {"dln": draw(st.sampled_from([0.1, 0.3])), "mu": mu, "offset": draw(numbers), "bias": draw(numbers)}
    options: dict[str, Any] = {"norm": draw(st.sampled_from(NORMS))}
    if name in oracle.TRIGONOMETRIC:
        options |= {"type": draw(st.integers(1, 4)), "orthogonalize": draw(st.sampled_from([None, True, False]))}
    return options


def sizes_of(name: str, shape: tuple[int, ...], axes: list[int]) -> list[int]:
    """The points of each transformed axis where no size is given."""
    points = [shape[axis] for axis in axes]
    if name in oracle.COMPLEX_TO_REAL:
        points[-1] = 2 * (points[-1] - 1)
    return points


# -- the check of one -------------------------------------------------------------------------------------------------


def check_call(call: Call) -> str:
    """Value, dtype, kind and chunking of what comes back; the word says what was checked, or why nothing was."""
    mesh = mesh_of(call.mesh, EXPLICIT if call.explicit else AUTO)
    x = random(call.shape, call.dtype)
    want = oracle.transform(call.name, x if x.dtype.kind == "c" else x.astype(np.float64), **call.options)
    options = {**call.options, "method": call.method, "kernel": call.kernel}
    if call.order != "natural":
        return check_order(call, x, want, mesh, options)
    dtype, times = result_dtype_of(call.name, call.dtype), 4.0
    if call.name in oracle.HANKEL:
        times = 16 * oracle.hankel_condition(call.name, call.shape[-1], **call.options)
    with context(mesh):
        got = called(call, argument_of(call, x), mesh, options)
    if call.argument in ("numpy", "device"):
        rows = P(tuple(mesh.axis_names))
        even = all(Layout.of(shape, dtype, mesh, rows).is_even for shape in (call.shape, want.shape))
        check(got, want, dtype, mesh, rows if even else P(), times=times)
    else:
        check_result(got, want, dtype, mesh, call.case.spec, times=times)
    return "jitted" if call.jitted else call.argument


def argument_of(call: Call, x: np.ndarray) -> Any:
    if call.argument == "placed":
        return place(x, call.case, EXPLICIT if call.explicit else AUTO)
    return jax.device_put(x, jax.devices()[-1]) if call.argument == "device" else x


def called(call: Call, argument: Any, mesh: Mesh, options: dict[str, Any]) -> Any:
    function = getattr(tpufft, call.name)
    if call.jitted:
        return jax.jit(lambda v: function(v, mesh, spec=call.case.spec, **options))(argument)
    if call.argument == "placed":
        return function(argument, **options)
    if call.argument == "given":
        return function(argument, mesh, spec=call.case.spec, **options)
    return function(argument, mesh, **options)


def check_order(call: Call, x: np.ndarray, want: np.ndarray, mesh: Mesh, options: dict[str, Any]) -> str:
    """The contract of an order: what the plan says is stored where, and the inverse takes it back."""
    spec, case = call.case.spec, call.case
    try:
        plan = tpufft.plan(call.name, call.shape, call.dtype, mesh, spec=spec, order=call.order, **options)
    except LayoutError as error:
        if re.search(REFUSED, str(error)) is None:
            raise
        return f"{call.order}: refused"
    function = getattr(tpufft, call.name)
    argument = place(x, case, EXPLICIT if call.explicit else AUTO)
    with context(mesh):
        got = function(argument, mesh, spec=spec, order=call.order, **options)
    dtype = result_dtype_of(call.name, call.dtype)
    if call.order == "scrambled":
        axis = call.options["axis"] % x.ndim
        points = call.options.get("n", call.shape[axis])
        bins = np.rint(np.asarray(plan.frequencies(axis)) * points).astype(int) % points
        want = np.take(want, bins, axis=axis)
    check_result(got, want, dtype, mesh, plan.out_layout.partition_spec, times=4)
    axes = call.options.get("axes", ())
    if {"n", "s"} & set(call.options) or len({axis % x.ndim for axis in axes}) < len(axes):
        return call.order
    sizes: dict[str, Any] = {}
    if call.name in oracle.REAL_TO_COMPLEX and call.name in oracle.ONE_AXIS:
        sizes = {"n": call.shape[call.options["axis"]]}
    elif call.name in oracle.REAL_TO_COMPLEX:
        chosen = axes or ((-2, -1) if call.name in oracle.TWO_AXES else range(x.ndim))
        sizes = {"axes": tuple(chosen), "s": tuple(call.shape[axis] for axis in chosen)}
    back = getattr(tpufft, BACK[call.name])
    with context(mesh):
        again = back(got, mesh, spec=spec, order=call.order, **{**options, **sizes})
    check_result(again, x.astype(np.float64) if x.dtype.kind != "c" else x, again.dtype, mesh, spec, times=4)
    return f"{call.order}, there and back"
