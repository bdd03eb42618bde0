"""Reference evaluator: computes a graph node by node, with each row's NumPy callable.

Slow and obviously right; it is the oracle for the generated code and answers the tracer's
questions about concrete values.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .arraytype import python_number
from .errors import BranchError
from .graph import CAPTURED, CONSTANT, Graph, Node


def compute(node: Node, args: Sequence[Any]) -> Any:
    """Value of one node from the values of its operands."""
    if node.op is CONSTANT or node.op is CAPTURED:
        return node.value
    value = node.op.call(*args, **node.settings)
    if isinstance(value, tuple):
        return value
    if getattr(node.type, "weak", False):
        return python_number(value, node.type.dtype)
    if type(value) in (bool, int, float, complex):
        return node.type.dtype.type(value)
    return value


def evaluate(nodes: Iterable[Node], values: dict[Node, Any]) -> None:
    """Compute the nodes in order, adding to ``values``."""
    with np.errstate(all="ignore"):
        for node in nodes:
            if node not in values:
                values[node] = compute(node, [values[a] for a in node.args])


def interpret(graph: Graph, *args: Any) -> list[Any]:
    """Outputs of a graph at the given inputs.

    Raises:
        BranchError: when a guard does not hold.
    """
    values: dict[Node, Any] = dict(zip(graph.inputs, args, strict=True))
    evaluate(graph.nodes, values)
    for guard in graph.guards:
        if values[guard.node] != guard.expected:
            raise BranchError(f"The graph was traced for another branch (expected "
                              f"{guard.expected}).", where=guard.origin)
    return [values[node] for node in graph.outputs]
