"""Jacobians of small systems, element by element, before a batch axis is added.

The Jacobian of ``array([f(y), g(y)])`` is a sum of masked arrays; with a batch axis it stays one.
Where its elements are few formulas of their own, each of them becomes an array over the batch.
"""

import math
from collections.abc import Sequence

import numpy as np

from ..graph import CAPTURED, CONSTANT, INPUT, Builder, Graph, Node, inline, keep_leaf
from ..ops import indexing, layout
from ..transforms.transpose import is_zero
from .dead import remove_dead
from .scalarize import depends_on_basis, is_scalarizable, scalarize
from .simplify import simplify

_LIMIT = 4000                # elements of all values
_FREE = (INPUT, CONSTANT, CAPTURED, indexing.getitem, indexing.setitem, layout.stack,
         layout.reshape, layout.broadcast_to)


def by_elements(graph: Graph, batched: Sequence[bool]) -> Graph:
    """The graph in terms of numbers, if it holds a Jacobian and that takes no more operations.

    To be run only, not to be differentiated: elements have no conventions at ties or at the origin
    of a norm.

    Args:
        graph: of one example.
        batched: which inputs differ from example to example.
    """
    if not depends_on_basis(graph):
        return graph
    whole = _simplified(graph)
    if not is_scalarizable(whole, _LIMIT):
        return graph
    numbers = _simplified(scalarize(whole))
    if _count(numbers) > _count(whole):
        return graph
    builder = Builder(graph.name)
    args = [keep_leaf(builder, node) for node in numbers.inputs]
    outputs = inline(builder, numbers, args)
    differs = {arg for arg, one in zip(args, batched, strict=True) if one}
    for node in builder.nodes:
        if any(a in differs for a in node.args):
            differs.add(node)
    return remove_dead(builder.graph([_stored(builder, node, differs) for node in outputs]))


def _simplified(graph: Graph) -> Graph:
    return remove_dead(simplify(remove_dead(graph)))


def _count(graph: Graph) -> int:
    return sum(node.op not in _FREE for node in graph.nodes)


def _stored(builder: Builder, node: Node, differs: set[Node]) -> Node:
    """A stack of numbers as assignments into zeros, those that differ in the batch first."""
    stack = node.args[0] if node.op is layout.reshape else node
    if stack.op is not layout.stack or any(a.type.shape for a in stack.args):
        return node
    shape = node.type.shape
    filled = [i for i, a in enumerate(stack.args) if not is_zero(a)]
    if len(shape) < 2 and len(filled) == math.prod(shape):
        return node
    zero = builder.constant(node.type.dtype.type(0))
    out = builder.emit(layout.broadcast_to, (zero,), (shape,))
    for i in sorted(filled, key=lambda i: stack.args[i] not in differs):
        index = tuple(int(k) for k in np.unravel_index(i, shape))
        out = builder.emit(indexing.setitem, (out, stack.args[i]), (index,))
    return out
