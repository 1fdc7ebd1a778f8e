"""Matrices chunked along rows or columns, and products of them that never gather."""

from typing import Any

from tpufft.chunked import register_operator
from tpufft.matrix.dft import dft_matrix
from tpufft.matrix.dft_operand import DFTMatrix
from tpufft.matrix.einsum import einsum, plan_einsum
from tpufft.matrix.indexing import getitem
from tpufft.matrix.product import matmul, plan_matmul
from tpufft.matrix.types import ColumnChunked, RowChunked

__all__ = [
    "ColumnChunked",
    "DFTMatrix",
    "RowChunked",
    "dft_matrix",
    "einsum",
    "matmul",
    "plan_einsum",
    "plan_matmul",
]


def _product(a: Any, b: Any) -> Any:
    """``a @ b`` of which one is chunked."""
    return NotImplemented if isinstance(a, DFTMatrix) or isinstance(b, DFTMatrix) else matmul(a, b)


register_operator("matmul", _product)
register_operator("getitem", getitem)
