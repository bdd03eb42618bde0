"""Batching: a graph for one example becomes a graph for many, along a leading axis."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arraytype import ArrayType
from ..errors import NotDifferentiableError
from ..graph import INPUT, PICK, Graph, Guard, Node, inline, keep_leaf
from ..ops.row import Structured
from ..trace.tracer import TraceBuilder, Tracer, wrap
from .bodies import HOW


def batch(graph: Graph, size: int, batched: Sequence[bool], name: str | None = None
          ) -> tuple[Graph, list[bool]]:
    """Batched graph, and which of its outputs have the batch axis.

    Args:
        graph: the function of one example.
        size: length of the batch axis.
        batched: which inputs have it, as their first axis.
        name: of the new graph.
    """
    builder = TraceBuilder(name or f"{graph.name}_batched")
    new: dict[Node, Any] = {}           # of an operator with several batched results: a tuple
    has_axis: set[Node] = set()
    for node, is_batched in zip(graph.inputs, batched, strict=True):
        if is_batched:
            type = ArrayType((size, *node.type.shape), node.type.dtype)
            new[node] = builder.input(type, node.origin.name if node.origin else None)
            has_axis.add(node)
        else:
            new[node] = keep_leaf(builder, node)
    for node in graph.nodes:
        if node.op is INPUT:
            continue
        if not node.args:
            new[node] = keep_leaf(builder, node)
            continue
        builder.origin = node.origin
        args = tuple([new[a] for a in node.args])
        flags = tuple(a in has_axis for a in node.args)
        if not any(flags):
            new[node] = builder.emit(node.op, args, node.params)
            continue
        has_axis.add(node)
        if node.op is PICK:
            new[node] = args[0][node.params[0]]
            continue
        new[node] = _batched_node(builder, node, [wrap(builder, a) for a in args], flags, size)
    builder.origin = None
    for guard in graph.guards:
        if guard.node in has_axis:
            raise NotDifferentiableError(
                "A branch depends on a value that differs within the batch.",
                "Use np.where, or a loop over the batch.", guard.origin)
        builder.guards.append(Guard(new[guard.node], guard.expected, guard.origin))
    builder.closed = True
    return (builder.graph([new[n] for n in graph.outputs]),
            [n in has_axis for n in graph.outputs])


HOW.batch = batch


def _inline(anchor: Tracer, graph: Graph, args: Sequence[Tracer]) -> list[Tracer]:
    builder = anchor.builder
    return [Tracer(builder, n) for n in inline(builder, graph, [builder.lift(a) for a in args])]


HOW.inline = _inline


def _batched_node(builder: TraceBuilder, node: Node, args: list[Tracer],
                  flags: tuple[bool, ...], size: int) -> Any:
    """The batched node, or a tuple of them for an operator with several results."""
    derivative = node.op.derivative
    if isinstance(derivative, Structured):
        out = derivative.batch(HOW, args, flags, size, **node.settings)
    elif node.op.batch is not None:
        out = node.op.batch(tuple(args), flags, **node.settings)
    else:
        out = node.op(*_align(args, flags, node.type.ndim), **node.settings)
    if isinstance(node.type, ArrayType):
        return _checked(builder, node, out, node.type, size)
    return tuple(_checked(builder, node, part, type, size)
                 for part, type in zip(out, node.type, strict=True))


def _checked(builder: TraceBuilder, node: Node, out: Any, type: ArrayType, size: int) -> Node:
    want = (size, *type.shape)
    assert out.shape == want, (node.op.name, out.shape, want)
    found: Node = builder.lift(out)   # a rule may know the answer without its operands
    return found


def _align(args: list[Tracer], flags: tuple[bool, ...], ndim: int) -> list[Any]:
    """Operands of an elementwise operator with all batch axes in the same place."""
    return [np.reshape(a, (a.shape[0], *(1,) * (ndim - (a.ndim - 1)), *a.shape[1:]))
            if is_batched and a.ndim - 1 < ndim else a
            for a, is_batched in zip(args, flags, strict=True)]
