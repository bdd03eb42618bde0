"""Reductions in terms of the few that kernels know: sums, products and extrema."""

from typing import Any

import numpy as np

from ..compiler.graph import CAPTURED, CONSTANT, INPUT, Builder, Graph, Node, keep_leaf, rebuild
from ..compiler.ops import arithmetic, comparison, layout, reduction, transcendental

PLAIN = (reduction.sum, reduction.prod, reduction.max, reduction.min, reduction.any, reduction.all)


def decompose(graph: Graph) -> Graph:
    """The graph with ``norm``, ``logsumexp`` and the like taken apart.

    Results are nodes of their own: no input, no constant, and no two the same.
    """
    graph = rebuild(graph, _decomposed)
    nodes, outputs = list(graph.nodes), []
    for n in graph.outputs:
        if n.op in (INPUT, CONSTANT, CAPTURED) or n in outputs:
            n = Node(layout.reshape, (n,), (n.type.shape,), n.type.strong)
            nodes.append(n)
        outputs.append(n)
    return Graph(graph.name, graph.inputs, tuple(outputs), tuple(nodes), graph.guards)


def _decomposed(b: Builder, node: Node, args: tuple[Node, ...]) -> Node:
    if node.op in (INPUT, CONSTANT) or not args:
        return keep_leaf(b, node)
    op, params = node.op, node.params
    if op is reduction.norm:
        squares = b.emit(transcendental.square, args)
        return b.emit(transcendental.sqrt, (_reduced(b, reduction.sum, squares, params),))
    if op is reduction.logsumexp:
        return _logsumexp(b, args[0], *params)
    if op is reduction.count_nonzero:
        return _reduced(b, reduction.sum, _nonzero(b, args[0]), params)
    if op in (reduction.any, reduction.all):
        return _reduced(b, op, _nonzero(b, args[0]), params)
    if op in PLAIN:
        return _reduced(b, op, args[0], params)
    return b.emit(op, args, params)


def _nonzero(b: Builder, x: Node) -> Node:
    if x.type.dtype == bool:
        return x
    return b.emit(comparison.not_equal, (x, b.constant(0)))


def _reduced(b: Builder, op: Any, x: Node, params: tuple[Any, ...]) -> Node:
    """A reduction; of a single element each, only a conversion."""
    axis, _ = params
    if any(x.type.shape[a] != 1 for a in axis):
        return b.emit(op, (x,), params)
    kind = b.emit(op, (x,), params).type
    b.nodes.pop()
    b.memo.pop((op, (x,), params))
    if x.type.dtype != kind.dtype:
        x = b.emit(arithmetic.convert, (x,), (kind.dtype.name,))
    return x if x.type.shape == kind.shape else b.emit(layout.reshape, (x,), (kind.shape,))


def _logsumexp(b: Builder, x: Node, axis: Any, keepdims: Any) -> Node:
    top = _reduced(b, reduction.max, x, (axis, True))
    finite = b.emit(comparison.isfinite, (top,))
    zero = b.constant(np.zeros((), x.type.dtype)[()])
    shift = b.emit(comparison.where, (finite, top, zero))
    powers = b.emit(transcendental.exp, (b.emit(arithmetic.sub, (x, shift)),))
    total = b.emit(transcendental.log, (_reduced(b, reduction.sum, powers, (axis, keepdims)),))
    if shift.type.shape != total.type.shape:
        shift = b.emit(layout.reshape, (shift,), (total.type.shape,))
    return b.emit(arithmetic.add, (total, shift))
