"""Runs programs: the linear primitive, the one ``shard_map``, and the rules that carry out each step."""

from tpufft.execution.arguments import presented, run_stored
from tpufft.execution.dispatch import call, compiled_function, mesh_platform
from tpufft.execution.operator import Bound, Operator, layout_of, shown_layout, visible_layout
from tpufft.execution.primitive import apply, enter, transform_p
from tpufft.execution.rules import run

__all__ = [
    "Bound",
    "Operator",
    "apply",
    "call",
    "compiled_function",
    "enter",
    "layout_of",
    "mesh_platform",
    "presented",
    "run",
    "run_stored",
    "shown_layout",
    "transform_p",
    "visible_layout",
]
