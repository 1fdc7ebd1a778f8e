"""Candidates, cost, choice, and the plan that comes of it."""

from tpufft.planning.calibrate import Calibration, calibrate
from tpufft.planning.catalogue import (
    HANKELS,
    KINDS,
    SHIFTS,
    TRANSFORMS,
    hankel_problem,
    samples_problem,
    shift_problem,
    transform_problem,
)
from tpufft.planning.frequencies import Bins, bins_of, frequencies
from tpufft.planning.orders import transposed_shape
from tpufft.planning.plan import Plan, make_plan
from tpufft.planning.problem import Problem
from tpufft.planning.products import ProductPlan, ProductRequest, check_schedule, product_spec
from tpufft.planning.request import Request, layouts_of
from tpufft.planning.running import run_request
from tpufft.planning.tune import Timing, Tuning, tune
from tpufft.planning.verify import Check, Verification, verify
from tpufft.planning.words import (
    METHODS,
    NORMS,
    asked_dtype,
    check_axis,
    check_precision,
    check_shape,
    check_word,
    computing_dtype,
    widest_float,
)

__all__ = [
    "HANKELS",
    "KINDS",
    "METHODS",
    "NORMS",
    "SHIFTS",
    "TRANSFORMS",
    "Bins",
    "Calibration",
    "Check",
    "Plan",
    "Problem",
    "ProductPlan",
    "ProductRequest",
    "Request",
    "Timing",
    "Tuning",
    "Verification",
    "asked_dtype",
    "bins_of",
    "calibrate",
    "check_axis",
    "check_precision",
    "check_schedule",
    "check_shape",
    "check_word",
    "computing_dtype",
    "frequencies",
    "hankel_problem",
    "layouts_of",
    "make_plan",
    "product_spec",
    "run_request",
    "samples_problem",
    "shift_problem",
    "transform_problem",
    "transposed_shape",
    "tune",
    "verify",
    "widest_float",
]
