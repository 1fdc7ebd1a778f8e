"""Runs programs: the linear primitive, the one ``shard_map``, and the rules that carry out each step."""

from tpufft.execution.arguments import call_on, presented, run_stored
from tpufft.execution.bilinear import multiply, product_p
from tpufft.execution.dispatch import awaited, call, compiled_function, forget_programs, mesh_platform
from tpufft.execution.fixed import Fixed, run_fixed
from tpufft.execution.mapping import map_chunks, mapped
from tpufft.execution.operator import Bound, BoundProduct, Operator, layout_of, shown_layout, visible_layout
from tpufft.execution.primitive import apply, enter, transform_p
from tpufft.execution.rules import run

__all__ = [
    "Bound",
    "BoundProduct",
    "Fixed",
    "Operator",
    "apply",
    "awaited",
    "call",
    "call_on",
    "compiled_function",
    "enter",
    "forget_programs",
    "layout_of",
    "map_chunks",
    "mapped",
    "mesh_platform",
    "multiply",
    "presented",
    "product_p",
    "run",
    "run_fixed",
    "run_stored",
    "shown_layout",
    "transform_p",
    "visible_layout",
]
