"""Batching: a graph for one example becomes a graph for many, along a leading axis."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arraytype import ArrayType
from ..errors import BatchAxisError, BatchedBranchError, Origin, WengertError
from ..graph import INPUT, PICK, Graph, Guard, Node, inline, keep_leaf
from ..ops import indexing, layout
from ..ops.row import Structured
from ..ops.ties import coincide
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
        try:
            new[node] = _batched_node(builder, node, [wrap(builder, a) for a in args], flags, size)
        except WengertError as error:
            error.where = error.where or node.origin
            raise
    builder.origin = None
    for guard in graph.guards:
        if guard.node in has_axis and guard.node.op is coincide:      # in any example
            of = new[guard.node.args[0]]
            builder.guards.append(Guard(builder.emit(coincide, (of,), guard.node.params),
                                        guard.expected, guard.origin))
            continue
        if guard.node in has_axis:
            raise batched_branch(guard.origin, guard.node.op is layout.is_contiguous)
        builder.guards.append(Guard(new[guard.node], guard.expected, guard.origin))
    builder.closed = True
    return (builder.graph([new[n] for n in graph.outputs]),
            [n in has_axis for n in graph.outputs])


HOW.batch = batch


def _inline(anchor: Tracer, graph: Graph, args: Sequence[Tracer]) -> list[Tracer]:
    builder = anchor.builder
    return [Tracer(builder, n) for n in inline(builder, graph, [builder.lift(a) for a in args])]


HOW.inline = _inline


def batched_branch(where: Origin | None, on_memory: bool = False) -> BatchedBranchError:
    """The error for a decision that may come out differently for each example."""
    if on_memory:
        return BatchedBranchError(
            "Whether this array is a view, so that assigning into it changes another one, depends "
            "on how each example of the batch lies in memory.",
            "Copy it: x.reshape(...).copy().", where)
    return BatchedBranchError(
        "A decision (if, while, int() or the like) depends on a value that differs within the "
        "batch, so no one path is right for all examples.",
        "Write it with np.where, np.minimum, np.maximum or np.clip, or loop over the batch: "
        "np.stack([f(x) for x in xs]).", where)


def batch_along(graph: Graph, size: int, in_axes: Sequence[int | None],
                out_axes: Sequence[int | None], name: str | None = None) -> Graph:
    """Batched graph with the batch axis anywhere.

    Args:
        graph: the function of one example.
        size: length of the batch axis.
        in_axes: position of the batch axis in each input, counted from the front; None for an
            input that all examples share.
        out_axes: where the batch axis of each output goes; None for an output that must not have
            one, which is then returned once.
        name: of the new graph.

    Raises:
        BatchAxisError: if an output with ``None`` differs from example to example.
    """
    many, has_axis = batch(graph, size, [axis is not None for axis in in_axes], name)
    builder = TraceBuilder(many.name)
    args = []
    for node, axis in zip(many.inputs, in_axes, strict=True):
        if axis is None or axis == 0:
            args.append(keep_leaf(builder, node))
            continue
        shape = [*node.type.shape[1:axis + 1], size, *node.type.shape[axis + 1:]]
        whole = builder.input(node.type._replace(shape=tuple(shape)),
                              node.origin.name if node.origin else None)
        args.append(_moved(builder, whole, axis, 0))
    outputs = []
    for i, (node, is_batched, axis) in enumerate(zip(
            inline(builder, many, args), has_axis, out_axes, strict=True)):
        if axis is None:
            if is_batched:
                which = "The result" if len(out_axes) == 1 else f"Result {i}"
                raise BatchAxisError(
                    f"{which} differs from example to example, but its out_axes is None.",
                    "Give it the position of the batch axis, such as 0.")
            outputs.append(node)
            continue
        if not is_batched:
            node = builder.emit(layout.broadcast_to, (node,), ((size, *node.type.shape),))
        outputs.append(_moved(builder, node, 0, axis) if axis else node)
    builder.closed = True
    return builder.graph(outputs)


def _moved(builder: TraceBuilder, node: Node, source: int, destination: int) -> Node:
    stored = _moved_stores(builder, node, destination) if source == 0 else None
    if stored is not None:
        return stored
    value: Any = Tracer(builder, node)
    moved: Node = np.moveaxis(value, source, destination).node
    return moved


def _moved_stores(builder: TraceBuilder, node: Node, axis: int) -> Node | None:
    """An array to whose zeros elements are assigned one by one, made with its axes in place.

    None if the node is anything else.
    """
    chain = []
    while node.op is indexing.setitem and len(node.args) == 2 and node.args[1].type.ndim <= 1:
        first, *places = node.params[0]
        if not all(isinstance(p, int) for p in places) or first != ("s", 0, node.type.shape[0], 1):
            return None
        chain.append((node.args[1], (*places[:axis], first, *places[axis:])))
        node = node.args[0]
    zero, (size, *shape) = node, node.type.shape or (0,)
    while zero.op is layout.broadcast_to:
        zero = zero.args[0]
    if not chain or zero.type.shape:
        return None
    out = builder.emit(layout.broadcast_to, (zero,), ((*shape[:axis], size, *shape[axis:]),))
    for value, index in reversed(chain):
        out = builder.emit(indexing.setitem, (out, value), (index,))
    return out


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
