"""Candidates, cost, choice, and the plan that comes of it."""

from tpufft.planning.orders import transposed_shape
from tpufft.planning.plan import Plan, frequencies, make_plan
from tpufft.planning.problem import (
    TRANSFORMS,
    Problem,
    asked_dtype,
    check_axis,
    check_word,
    computing_dtype,
    shift_problem,
    transform_problem,
    widest_float,
)
from tpufft.planning.request import Request, default_mesh

__all__ = [
    "TRANSFORMS",
    "Plan",
    "Problem",
    "Request",
    "asked_dtype",
    "check_axis",
    "check_word",
    "computing_dtype",
    "default_mesh",
    "frequencies",
    "make_plan",
    "shift_problem",
    "transform_problem",
    "transposed_shape",
    "widest_float",
]
