"""What one application costs, by shapes alone: arithmetic, memory of its own, and time.

Arithmetic is counted in operations; an elementary function counts as the additions that take as
long. The figures are NumPy's: four for ``exp`` and its like, as many as a row says elsewhere.
"""

import math
from typing import Any

from .arraytype import ArrayType
from .graph import CAPTURED, CONSTANT, INPUT, PICK, Graph, Node
from .ops.row import Elementwise

FUNCTION = 4.0             # additions that one value of an elementary function takes
_CALL = 1e-6               # seconds that a call of a NumPy function takes by itself
_OPERATION = 0.25e-9       # seconds an operation, vectorized
_BYTE = 0.1e-9             # seconds a byte that is read or written
_LEAVES = (INPUT, CONSTANT, CAPTURED, PICK)


def elements(kind: Any) -> int:
    """Elements of a value, or of all results of an operator with several."""
    return kind.size if isinstance(kind, ArrayType) else sum(t.size for t in kind)


def nbytes(kind: Any) -> int:
    """Bytes of a value's elements, or of all results of an operator with several."""
    return kind.nbytes if isinstance(kind, ArrayType) else sum(t.nbytes for t in kind)


def flops(node: Node, trips: int = 1) -> float:
    """Arithmetic operations of one application; those of bodies once for each step.

    The number of steps is ``trips`` where it is not known.

    >>> from wengert import trace
    >>> graph = trace(lambda a, b: a @ b)(__import__("numpy").ones((2, 3)), [1.0, 1.0, 1.0])
    >>> flops(graph.outputs[0])
    12.0
    """
    op = node.op
    if op in _LEAVES:
        return 0.0
    if op.bodies:
        return _steps(node, trips) * math.fsum(total_flops(body, trips) for body in node.bodies)
    if callable(op.work):
        return float(op.work(*[a.type for a in node.args], **node.settings))
    if not op.fresh:
        return 0.0                                             # a view, or a value as it is
    size = max([elements(node.type), *[elements(a.type) for a in node.args]])
    if op.work is not None:
        return op.work * size
    costly = isinstance(op.derivative, Elementwise) and op.infix is None and any(
        callable(p) for p in op.derivative.partials)
    return (FUNCTION if costly else 1.0) * size


def _steps(node: Node, trips: int) -> int:
    """How often the bodies of a node run; once, if it is no loop."""
    length: int | None = node.settings.get("length", 1)
    return trips if length is None else length


def total_flops(graph: Graph, trips: int = 1) -> float:
    """Operations of all nodes."""
    return math.fsum(flops(node, trips) for node in graph.nodes)


def workspace(node: Node) -> int:
    """Bytes that an operator takes beside its operands and results while it is computed."""
    if node.op.workspace is None:
        return 0
    return int(node.op.workspace(*[a.type for a in node.args], **node.settings))


def seconds(graph: Graph, trips: int = 1) -> float:
    """A rough estimate of the time that a graph's nodes take: calls, arithmetic and traffic.

    ``trips`` is the number of steps of loops for which it is not known.
    """
    total = 0.0
    for node in graph.nodes:
        if node.op in _LEAVES:
            continue
        if node.op.bodies:
            total += _steps(node, trips) * sum(seconds(body, trips) for body in node.bodies)
            continue
        total += _CALL + _OPERATION * flops(node)
        if node.op.fresh:
            total += _BYTE * (nbytes(node.type) + sum(nbytes(a.type) for a in node.args))
    return total
