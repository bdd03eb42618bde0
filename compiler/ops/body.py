"""What the structured operators share: running a body, and small surgery on it."""

from collections.abc import Sequence
from typing import Any

from ..arraytype import ArrayType, python_number
from ..errors import ShapeError
from ..graph import INPUT, Builder, Graph, Node, inline
from ..interpret import interpret
from . import layout


def as_type(value: Any, type: ArrayType) -> Any:
    """A value as what the type says: a plain number, a NumPy scalar or an array."""
    if type.weak:
        return python_number(value, type.dtype)
    if type.shape == ():
        return type.dtype.type(value)
    return value


def run_body(body: Graph, values: Sequence[Any]) -> list[Any]:
    """The outputs of a body."""
    return interpret(body, *[as_type(v, n.type)
                             for v, n in zip(values, body.inputs, strict=True)])


def check_types(inputs: Sequence[Node], types: Sequence[ArrayType]) -> None:
    """Operands fit a body's inputs; plain numbers may be given for NumPy's, and vice versa."""
    for node, type in zip(inputs, types, strict=True):
        if node.type[:2] != type[:2]:
            raise ShapeError(f"A body takes {node.type}, not {type}.")


def batched_type(type: ArrayType, size: int) -> ArrayType:
    """The type with a batch axis."""
    return ArrayType((size, *type.shape), type.dtype)


def spread(graph: Graph, has_axis: Sequence[bool], wanted: Sequence[bool], size: int) -> Graph:
    """The graph with the batch axis added to outputs that are to have it and do not."""
    if all(b or not w for b, w in zip(has_axis, wanted, strict=True)):
        return graph
    builder = Builder(graph.name)
    inputs = [builder.input(n.type, n.origin.name if n.origin else None) for n in graph.inputs]
    outputs = [builder.emit(layout.broadcast_to, (out,), (batched_type(out.type, size).shape,))
               if w and not b else out
               for out, b, w in zip(inline(builder, graph, inputs), has_axis, wanted, strict=True)]
    return builder.graph(outputs)


def with_inputs(graph: Graph, inputs: Sequence[Node | ArrayType]) -> Graph:
    """The graph with its inputs in another order, and with inputs it does not read."""
    nodes = [Node(INPUT, (), (), n) if isinstance(n, ArrayType) else n for n in inputs]
    body = [n for n in graph.nodes if n.op is not INPUT]
    return Graph(graph.name, tuple(nodes), graph.outputs, (*nodes, *body), graph.guards)


def with_outputs(graph: Graph, positions: Sequence[int]) -> Graph:
    """The graph with some of its outputs, in another order."""
    return Graph(graph.name, graph.inputs, tuple(graph.outputs[i] for i in positions),
                 graph.nodes, graph.guards)
