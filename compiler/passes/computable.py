"""What a fused kernel can compute: which nodes, in which dtype, by which expression."""

from functools import cache, lru_cache
from typing import Any

import numpy as np

from ..arraytype import ArrayType, python_number
from ..graph import CONSTANT, Node
from ..ops import arithmetic, comparison, indexing, layout, reduction
from ..ops.row import Op

DTYPES = frozenset(map(np.dtype, ("bool", "int8", "int16", "int32", "int64", "float32",
                                  "float64")))
VIEWS = (layout.reshape, layout.transpose, layout.broadcast_to)
ARRANGING = (layout.roll, layout.pad, layout.concatenate, layout.stack, layout.tril, layout.triu,
             indexing.getitem, indexing.setitem, indexing.scatter_add)
REDUCTIONS = (reduction.sum, reduction.prod, reduction.max, reduction.min, reduction.any,
              reduction.all, reduction.count_nonzero, reduction.norm, reduction.logsumexp)
CONVERSIONS = (arithmetic.convert, arithmetic.as_float)
_LOGICAL = ("&", "|", "^", "==", "!=", "<", "<=", ">", ">=")


def is_view(node: Node) -> bool:
    """Whether NumPy gives this without computing or copying anything."""
    return node.op in VIEWS or (node.op is indexing.getitem and len(node.args) == 1)


@cache
def _common(kinds: tuple[tuple[np.dtype[Any], bool], ...]) -> np.dtype[Any]:
    return np.result_type(*[python_number(1, d) if weak else d for d, weak in kinds])


def computing_dtype(node: Node) -> np.dtype[Any]:
    """The dtype to which NumPy converts an elementwise function's operands."""
    if node.type.dtype.kind != "b" or node.op is comparison.where:
        dtype: np.dtype[Any] = node.type.dtype
        return dtype
    return _common(tuple((a.type.dtype, a.type.weak) for a in node.args))


def template(op: Op, kind: str, values: tuple[Any, ...]) -> str | None:
    """The row's expression in C for operands of a kind; None if it has none."""
    return _template(op, kind, values if callable(op.c) else ())


@lru_cache(1024)
def _template(op: Op, kind: str, values: tuple[Any, ...]) -> str | None:
    text = op.c(kind, values) if callable(op.c) else op.c
    if text is None:
        return None
    symbol = op.infix.symbol if text == "infix" and op.infix is not None else ""
    if kind == "i" and ("{f}" in text or "/" in text or symbol == "/"):
        return None
    if kind == "f" and symbol in ("&", "|", "^"):
        return None
    logical = symbol in _LOGICAL if symbol else any(s in text for s in ("&&", "||", "!", "?"))
    if kind == "b" and (not logical or "-" in text):
        return None
    return text


def constants(node: Node) -> tuple[Any, ...]:
    """Values of the operands that are constant numbers, as far as the row's expression cares."""
    if not callable(node.op.c):
        return ()
    return tuple(np.asarray(a.value).item() if a.op is CONSTANT and a.type.shape == () else None
                 for a in node.args)


def is_elementwise(node: Node) -> bool:
    """Whether the node is an elementwise function that C can compute."""
    return node.op.c is not None and template(
        node.op, computing_dtype(node).kind, constants(node)) is not None


def is_computable(node: Node) -> bool:
    """Whether a kernel can compute the node."""
    op = node.op
    types = [node.type, *[a.type for a in node.args]]
    if not all(isinstance(t, ArrayType) and t.dtype in DTYPES and t.size for t in types):
        return False
    if op in (indexing.getitem, indexing.setitem, indexing.scatter_add):
        return not any(isinstance(part, tuple) and part[0] == "m" for part in node.params[0])
    if op in REDUCTIONS:
        floating = node.type.dtype.kind == "f" and node.args[0].type.dtype.kind == "f"
        return floating or op in (reduction.any, reduction.all, reduction.count_nonzero) or (
            op is reduction.sum and node.type.dtype.kind in "if")
    return op in VIEWS or op in ARRANGING or op in CONVERSIONS or is_elementwise(node)


def as_range(node: Node) -> tuple[int, int] | None:
    """Start and step of a constant that counts: whole numbers at equal distances along one axis."""
    value = node.value if node.op is CONSTANT else None
    if not isinstance(value, np.ndarray) or value.dtype.kind != "i" or value.size < 2 or \
            value.size != max(value.shape):
        return None
    flat = value.ravel()
    start, step = int(flat[0]), int(flat[1]) - int(flat[0])
    return (start, step) if np.array_equal(flat, start + step * np.arange(len(flat))) else None
