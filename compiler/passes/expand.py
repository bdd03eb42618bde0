"""Operators that only carry a derivative rule give way to what they stand for."""

from typing import Any

from ..graph import INPUT, PICK, Graph, Guard, Node, keep_leaf
from ..ops.row import Op
from ..trace.tracer import TraceBuilder, Tracer, wrap


def expand(graph: Graph) -> Graph:
    """The graph with every operator that has an ``expand`` rule written in terms of others.

    What the rule records may hold such operators again, so the pass repeats until none is left.
    Calls of the same function of the user's (by reference) with the same operands become one.
    """
    if all(node.op.expand is None and node.op.reference is None for node in graph.nodes):
        return graph
    graph = _expand_once(graph)
    while any(node.op.expand is not None for node in graph.nodes):
        graph = _expand_once(graph)
    return graph


def _expand_once(graph: Graph) -> Graph:
    builder = TraceBuilder(graph.name)
    new: dict[Node, Node] = {node: keep_leaf(builder, node) for node in graph.inputs}
    several: dict[Node, tuple[Tracer, ...]] = {}
    called: dict[Any, Op] = {}
    for node in graph.nodes:
        if node.op is INPUT:
            continue
        builder.origin = node.origin
        if node.op is PICK and node.args[0] in several:
            new[node] = several[node.args[0]][node.params[0]].node
        elif node.op.expand is not None:
            args = [wrap(builder, new[a]) for a in node.args]
            out: Any = node.op.expand(*args, **node.settings)
            if isinstance(out, tuple):
                several[node] = out
            else:
                new[node] = _named(out.node, node)
        elif node.args:
            op = node.op
            if op.reference is not None:
                op = called.setdefault(op.reference, op)
            new[node] = builder.emit(op, tuple([new[a] for a in node.args]), node.params)
        else:
            new[node] = keep_leaf(builder, node)
    builder.origin = None
    guards = [Guard(new[g.node], g.expected, g.origin) for g in graph.guards]
    builder.guards = list(dict.fromkeys([*builder.guards, *guards]))
    builder.closed = True
    return builder.graph([new[n] for n in graph.outputs])


def _named(made: Node, original: Node) -> Node:
    """What stands for an application takes its variable's name, if it has none of its own."""
    if original.origin and original.origin.name and made.args and not (
            made.origin and made.origin.name):
        made.origin = original.origin
    return made
