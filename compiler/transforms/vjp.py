"""Reverse mode: values forward, then cotangents backward along the same list of nodes."""

from collections.abc import Mapping, Sequence

import numpy as np

from ..arraytype import ArrayType
from ..graph import PICK, Graph, Guard, Node, keep_leaf, reachable
from ..ops.row import ZeroDerivative
from ..trace.tracer import TraceBuilder, Tracer
from .bodies import HOW
from .jvp import fit_tangent, is_differentiable, zeros
from .transpose import Cotangents, accumulate, sweep


def vary(graph: Graph, wrt: Sequence[int]) -> set[Node]:
    """Nodes that depend differentiably on the chosen inputs."""
    varied = {graph.inputs[i] for i in wrt}
    for node in graph.nodes:
        if node.op is PICK:
            depends = node.args[0] in varied
        else:
            depends = is_differentiable(node.type) and any(a in varied for a in node.args) \
                and not isinstance(node.op.derivative, ZeroDerivative)
        if depends:
            varied.add(node)
    return varied


def vjp(graph: Graph, wrt: Sequence[int], seeded: Sequence[int] | None = None,
        unit: bool = False, name: str | None = None) -> Graph:
    """Graph of values and pulled-back cotangents.

    Inputs: those of the graph, then (unless ``unit``) a cotangent for each seeded output.
    Outputs: those of the graph, then the cotangent of each input in ``wrt``.

    Args:
        graph: the function.
        wrt: positions of the inputs to differentiate with respect to.
        seeded: positions of the outputs that have cotangents (default: all).
        unit: seed with ones, for the gradient of a scalar.
        name: of the new graph.
    """
    builder = TraceBuilder(name or f"{graph.name}_vjp")
    new = _copy(builder, graph)
    cts: Cotangents = {}
    for position in range(len(graph.outputs)) if seeded is None else seeded:
        node = graph.outputs[position]
        seed = _unit_seed(builder, node.type) if unit else _seed_input(builder, node, position)
        if node.type.differentiable:
            accumulate(builder, cts, node, seed)
    sweep(builder, graph.nodes, vary(graph, wrt), cts, new)
    found = []
    for position in wrt:
        node = graph.inputs[position]
        ct = cts.get(node)
        found.append((zeros(builder, node.type) if ct is None
                      else fit_tangent(ct, node.type)).node)
    return _without_tangents(builder, [new[n] for n in graph.outputs] + found)


def pull_body(graph: Graph, wrt: Sequence[int], seeded: Sequence[int], sums: Sequence[int] = (),
              filled: Sequence[int] = (), given: Sequence[int] = ()) -> tuple[Graph, list[int]]:
    """The cotangents alone, of those inputs that may have one or are to have it.

    Inputs: those of the graph, a cotangent for each seeded output, for each input in ``sums`` what
    its cotangent is added to, and the values of the outputs ``given``, which are not computed then.
    """
    builder = TraceBuilder(f"{graph.name}_vjp")
    known = {}
    for position in given:
        node = graph.outputs[position]
        known[node] = builder.input(node.type, node.origin.name if node.origin else None)
    late = list(builder.inputs)
    builder.inputs.clear()
    new = _copy(builder, graph, known)
    cts: Cotangents = {}
    for position in seeded:
        node = graph.outputs[position]
        accumulate(builder, cts, node, _seed_input(builder, node, position))
    for position in sums:
        node = graph.inputs[position]
        accumulate(builder, cts, node, _seed_input(builder, node, position))
    sweep(builder, graph.nodes, vary(graph, wrt), cts, new)
    outputs, found = [], []
    for position in wrt:
        node = graph.inputs[position]
        ct = cts.get(node)
        if ct is not None or position in filled:
            ct = zeros(builder, node.type) if ct is None else fit_tangent(ct, node.type)
            outputs.append(ct.node)
            found.append(position)
    builder.inputs += late
    return _without_tangents(builder, outputs), found


def _copy(builder: TraceBuilder, graph: Graph, known: Mapping[Node, Node] | None = None
          ) -> dict[Node, Node]:
    """Record the graph's own nodes, but for those that are known."""
    new = {node: keep_leaf(builder, node) for node in graph.inputs} | dict(known or {})
    for node in graph.nodes:
        if node in new:
            continue
        builder.origin = node.origin
        new[node] = keep_leaf(builder, node) if not node.args else builder.emit(
            node.op, tuple([new[a] for a in node.args]), node.params)
    builder.origin = None
    for guard in graph.guards:
        builder.guards.append(Guard(new[guard.node], guard.expected, guard.origin))
    return new


def _without_tangents(builder: TraceBuilder, outputs: list[Node]) -> Graph:
    builder.closed = True
    # The tangents of linearized operators are dropped here; nothing that is kept uses them.
    kept = reachable([*builder.inputs, *outputs, *[g.node for g in builder.guards]])
    return Graph(builder.name, tuple(builder.inputs), tuple(outputs),
                 tuple(n for n in builder.nodes if n in kept), tuple(builder.guards))


HOW.pull = pull_body


def _unit_seed(builder: TraceBuilder, type: ArrayType) -> Tracer:
    one = Tracer(builder, builder.constant(type.dtype.type(1)))
    return fit_tangent(one, type)  # type: ignore[no-any-return]


def _seed_input(builder: TraceBuilder, node: Node, position: int) -> Tracer:
    label = f"{node.origin.name}_bar" if node.origin and node.origin.name else \
        "ct" if position == 0 else f"ct{position}"
    type = node.type.strong if node.type.differentiable else \
        ArrayType(node.type.shape, np.dtype(float))
    return Tracer(builder, builder.input(type, label))
