"""Forward mode: tangents beside values, by each row's one derivative slot."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arraytype import ArrayType, python_number
from ..errors import NotDifferentiableError
from ..graph import INPUT, PICK, Graph, Guard, Node, keep_leaf
from ..ops import arithmetic, layout
from ..ops.row import (
    DerivativeNotImplemented,
    Elementwise,
    General,
    Linear,
    Multilinear,
    NoDerivative,
    Partial,
    Pullback,
    Structured,
    ZeroDerivative,
)
from ..trace.tracer import TraceBuilder, Tracer, wrap
from .bodies import HOW
from .ties import with_limits

Tangent = Any   # a tracer, or None for zero


def linear_operands(derivative: Linear, n_args: int) -> tuple[int, ...]:
    """Positions of the operands a jointly linear operator is linear in."""
    return tuple(range(n_args)) if derivative.operands is None else derivative.operands


def refuse(node: Node, derivative: Any = None) -> NotDifferentiableError:
    """The error for a derivative through an operator (or its operand) that has none."""
    derivative = derivative or node.op.derivative
    assert isinstance(derivative, (NoDerivative, DerivativeNotImplemented))
    what = "has no derivative" if isinstance(derivative, NoDerivative) \
        else "has a derivative that is not implemented"
    return NotDifferentiableError(f"{node.op.name} {what}: {derivative.reason}",
                                  "Wrap its operand in wengert.stop_gradient, or declare a rule "
                                  "with wengert.custom_jvp.", node.origin)


def product(t: Any, partial: Any) -> Any:
    """Tangent or cotangent times a partial derivative."""
    if type(partial) in (int, float):
        if partial == 1:
            return t
        if partial == -1:
            return -t
    return arithmetic.scale(t, partial)


def evaluate_partial(partial: Partial, args: Sequence[Tracer], out: Tracer) -> Any:
    """A partial derivative at the operands and the result, in the result's precision.

    ``np.log(2.0)`` is double precision, although in ``2.0 ** x`` the number 2.0 is not: Python
    numbers take the result's dtype before a partial computes with them alone.
    """
    if not callable(partial):
        return partial
    narrow = _NARROW.get(out.dtype)
    if narrow is not None:
        args = [arithmetic.convert(a, dtype=narrow) if a.type.weak and a.dtype.kind == "f" else a
                for a in args]
    return partial(*args, out)


_NARROW = {np.dtype(np.float16): "float16", np.dtype(np.float32): "float32",
           np.dtype(np.complex64): "float32"}


def zeros(builder: TraceBuilder, type: ArrayType) -> Tracer:
    """Zeros of a type, as a traced value."""
    node = builder.constant(python_number(0, type.dtype) if type.weak else type.dtype.type(0))
    if type.shape:
        node = builder.emit(layout.broadcast_to, (node,), (type.shape,))
    return Tracer(builder, node)


def fit_tangent(t: Tangent, type: ArrayType) -> Tangent:
    """A tangent in the shape and dtype of its value."""
    if t is None:
        return None
    if t.shape != type.shape:
        t = layout.broadcast_to(t, shape=type.shape)
    if t.dtype != type.dtype:
        if t.dtype.kind == "c" and type.dtype.kind == "f":
            t = np.real(t)
        if t.dtype != type.dtype:
            t = arithmetic.convert(t, dtype=type.dtype.name)
    return t


def tangent_of(builder: TraceBuilder, node: Node, args: Sequence[Tracer],
               tangents: Sequence[Tangent], out: Any) -> Tangent:
    """Tangent of one application, from its operands' values and tangents."""
    derivative = node.op.derivative
    match derivative:
        case ZeroDerivative():
            return None
        case Elementwise(partials):
            total = None
            for partial, t in zip(partials, tangents, strict=True):
                if t is None or partial is None:
                    continue
                if isinstance(partial, DerivativeNotImplemented):
                    raise refuse(node, partial)
                term = product(t, evaluate_partial(partial, args, out))
                total = term if total is None else total + term
            return total
        case Linear():
            operands = linear_operands(derivative, len(args))
            if all(tangents[i] is None for i in operands):
                return None
            filled = list(args)
            for i in operands:
                t = tangents[i]
                filled[i] = zeros(builder, args[i].type) if t is None else t
            return node.op(*filled, **node.settings)
        case Multilinear():
            total = None
            for i, t in enumerate(tangents):
                if t is not None:
                    term = node.op(*args[:i], t, *args[i + 1:], **node.settings)
                    total = term if total is None else total + term
            return total
        case General(rule):
            return rule(tuple(args), tuple(tangents), out, **node.settings)
        case Pullback():
            return derivative.push(tuple(args), tuple(tangents), out, **node.settings)
        case _:
            raise refuse(node)


def is_differentiable(type: Any) -> bool:
    """Whether any part of a (possibly multiple) result has tangents."""
    if isinstance(type, ArrayType):
        return type.differentiable
    return any(t.differentiable for t in type)


def push_forward(builder: TraceBuilder, graph: Graph, new: dict[Node, Node],
                 tangents: dict[Node, Tangent]) -> None:
    """Copy the nodes of a graph, extending ``tangents`` from the inputs to all nodes."""
    several: dict[Node, Sequence[Tracer]] = {}      # the results of structured operators
    for node in graph.nodes:
        if node.op is INPUT:
            continue
        if not node.args:
            new[node] = keep_leaf(builder, node)
            continue
        builder.origin = node.origin
        if node.op is PICK and node.args[0] in several:
            index = node.params[0]
            _take(new, tangents, node, several[node.args[0]][index], tangents[node.args[0]][index])
            continue
        if isinstance(node.op.derivative, Structured):
            ts = [tangents.get(a) for a in node.args]
            if any(t is not None for t in ts) and is_differentiable(node.type):
                args = [wrap(builder, new[a]) for a in node.args]
                several[node], tangents[node] = node.op.derivative.push(
                    HOW, args, ts, **node.settings)
                new[node] = several[node][0].node.args[0]
                continue
        copy = builder.emit(node.op, tuple([new[a] for a in node.args]), node.params)
        new[node] = copy
        arg_tangents = [tangents.get(a) for a in node.args]
        if all(t is None for t in arg_tangents) or not is_differentiable(node.type):
            continue
        if node.origin and node.origin.name:
            builder.origin = node.origin._replace(name=f"{node.origin.name}_dot")
        tangents[node] = _node_tangent(builder, node, copy, arg_tangents)
    builder.origin = None
    for guard in graph.guards:
        builder.guards.append(Guard(new[guard.node], guard.expected, guard.origin))


def _take(new: dict[Node, Node], tangents: dict[Node, Tangent], node: Node, value: Tracer,
          tangent: Tangent) -> None:
    """One result of a structured operator and its tangent, under the user's name."""
    new[node] = value.node
    if tangent is not None:
        tangents[node] = fit_tangent(tangent, node.type)
    if node.origin and node.origin.name:
        value.node.origin = node.origin
        if tangent is not None and tangents[node].node.op is PICK:
            tangents[node].node.origin = node.origin._replace(name=f"{node.origin.name}_dot")


def _node_tangent(builder: TraceBuilder, node: Node, copy: Node, tangents: list[Tangent]
                  ) -> Tangent:
    if node.op is PICK:
        return tangents[0][node.params[0]]
    args = [wrap(builder, a) for a in copy.args]
    t = tangent_of(builder, node, args, tangents, wrap(builder, copy))
    if isinstance(node.type, ArrayType):
        return fit_tangent(t, node.type)
    return None if t is None else tuple(
        fit_tangent(part, type) for part, type in zip(t, node.type, strict=True))


def jvp(graph: Graph, wrt: Sequence[int], name: str | None = None) -> Graph:
    """Graph of values and tangents.

    Inputs: those of the graph, then one tangent for each position in ``wrt``. Outputs: those
    of the graph, then the tangent of each.
    """
    graph, outputs = with_limits(graph, wrt, jvp)
    return push_body(graph, wrt, range(len(graph.outputs)), name, outputs)[0]


def push_body(graph: Graph, wrt: Sequence[int], filled: Sequence[int] = (), name: str | None = None,
              outputs: Sequence[Node] | None = None) -> tuple[Graph, list[int]]:
    """The same with tangents of those outputs only that may have one, or are to have it.

    The tangents may be those of other nodes, ``outputs``, which have the same values.
    """
    builder = TraceBuilder(name or f"{graph.name}_jvp")
    new = {node: keep_leaf(builder, node) for node in graph.inputs}
    tangents: dict[Node, Tangent] = {}
    for position in wrt:
        node = graph.inputs[position]
        label = f"{node.origin.name}_dot" if node.origin and node.origin.name else None
        tangents[node] = Tracer(builder, builder.input(node.type.strong, label))
    push_forward(builder, graph, new, tangents)
    values = [new[n] for n in graph.outputs]
    out_tangents, found = [], []
    for position, node in enumerate(outputs or graph.outputs):
        t = tangents.get(node)
        if t is None and position not in filled:
            continue
        if t is None:
            t = zeros(builder, node.type if node.type.differentiable
                      else ArrayType(node.type.shape, np.dtype(float)))
        out_tangents.append(t.node)
        found.append(position)
    builder.closed = True
    return builder.graph(values + out_tangents), found


HOW.push = push_body
