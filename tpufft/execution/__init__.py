"""Runs programs: the linear primitive, the one ``shard_map``, and the rules that carry out each step."""

from tpufft.execution.dispatch import call, compiled_function, mesh_platform
from tpufft.execution.operator import Bound, Operator, visible_layout
from tpufft.execution.primitive import apply, enter, transform_p
from tpufft.execution.rules import run

__all__ = [
    "Bound",
    "Operator",
    "apply",
    "call",
    "compiled_function",
    "enter",
    "mesh_platform",
    "run",
    "transform_p",
    "visible_layout",
]
