"""First derivatives where eigenvalues or singular values coincide.

Let f(A) = h(w, v) be smooth in A, with A = v diag(w) vᴴ and some w equal. The chain rule through
the vectors divides by the gaps; h does not change when the vectors of equal values turn into each
other, so that zero is divided by zero. The matrices v diag(w + εδ) vᴴ have distinct eigenvalues,
and f's derivative there is Dh(w + εδ, v) applied to the tangents of w and v. The part of v's
tangent with vanishing gaps is t/ε with a finite t, the *turn*; as ε → 0 that part tends to the
mixed second derivative D²h(w, v)[δ, t], by L'Hôpital's rule. So a correction
D²h(w, v)[δ, turn(A)] is added to h before it is differentiated, in which all but the turn is held
constant. Its value is zero, its derivative what the chain rule leaves out (for v g(w) vᴴ the
diagonal blocks of the theorem of Daleckii and Krein, 1965).
"""

from collections.abc import Callable, Sequence
from typing import Any

from ..graph import PICK, Graph, Node, inline, keep_leaf
from ..ops.control import stop_gradient
from ..ops.decompositions import TIES
from ..ops.row import ZeroDerivative
from ..ops.ties import Ties, split_of
from ..trace.tracer import TraceBuilder, Tracer
from .zero import is_zero

Push = Callable[[Graph, Sequence[int]], Graph]


def with_limits(graph: Graph, wrt: Sequence[int], push: Push) -> tuple[Graph, Sequence[Node]]:
    """The graph, with what to differentiate in place of each output.

    Args:
        graph: of values.
        wrt: positions of the inputs to differentiate with respect to.
        push: ``jvp`` of a graph.
    """
    tied = _depending(graph, wrt) if any(node.op in TIES for node in graph.nodes) else []
    if not tied:
        return graph, graph.outputs
    builder = TraceBuilder(graph.name)
    builder.inputs += graph.inputs
    builder.nodes += graph.nodes
    builder.guards += graph.guards
    builder.memo.update({(node.op, node.args, node.params): node
                         for node in graph.nodes if node.args})
    outputs = list(graph.outputs)
    places = [i for i, node in enumerate(outputs) if node.type.differentiable]
    for node in tied:
        builder.origin = node.origin
        for i, correction in zip(places, _corrections(builder, graph, node, places, push),
                                 strict=True):
            if correction is not None:
                outputs[i] = (Tracer(builder, outputs[i]) + correction).node
    builder.closed = True
    return builder.graph(graph.outputs), outputs


def _depending(graph: Graph, wrt: Sequence[int]) -> list[Node]:
    """Applications at coinciding values that the inputs reach."""
    varied = {graph.inputs[i] for i in wrt}
    for node in graph.nodes:
        passes_on = node.op is PICK or not isinstance(node.op.derivative, ZeroDerivative)
        if passes_on and any(a in varied for a in node.args):
            varied.add(node)
    return [node for node in graph.nodes if node.op in TIES and node in varied]


def _corrections(builder: TraceBuilder, graph: Graph, node: Node, places: Sequence[int],
                 push: Push) -> list[Any]:
    """For each place among the outputs: D²h[δ, turn], or None where it is zero."""
    ties: Ties = TIES[node.op]
    after = _as_inputs(graph, node, places)
    n, k = len(places), len(graph.inputs)
    along = push(after, [k + ties.values])
    mixed = push(_outputs(along, n), [k + i for i in ties.vectors])
    if all(map(is_zero, mixed.outputs[n:])):
        return [None] * n
    picks = [Tracer(builder, builder.emit(PICK, (node,), (i,))) for i in range(len(node.type))]
    (a,) = [Tracer(builder, arg) for arg in node.args]
    fixed = tuple(map(stop_gradient, picks))
    turned = ties.turn(stop_gradient(a), a, fixed, node.settings)
    held = [*[stop_gradient(Tracer(builder, x)) for x in graph.inputs], *fixed]
    found = inline(builder, _outputs(mixed, n), [*[x.node for x in held], builder.lift(
        split_of(picks[ties.values])), *[t.node for t in turned]])
    return [None if is_zero(c) else Tracer(builder, c) for c in found]


def _outputs(pushed: Graph, n: int) -> Graph:
    """The tangents alone."""
    return Graph(pushed.name, pushed.inputs, pushed.outputs[n:], pushed.nodes)


def _as_inputs(graph: Graph, node: Node, places: Sequence[int]) -> Graph:
    """The function of the inputs and, after them, of the results of one application."""
    builder = TraceBuilder(graph.name)
    new = {leaf: keep_leaf(builder, leaf) for leaf in graph.inputs}
    results = [builder.input(type) for type in node.type]
    for old in graph.nodes:
        if old.op is PICK and old.args[0] is node:
            new[old] = results[old.params[0]]
        elif old not in new and old is not node:
            builder.origin = old.origin
            new[old] = builder.emit(old.op, tuple([new[a] for a in old.args]), old.params) \
                if old.args else keep_leaf(builder, old)
    builder.closed = True
    return builder.graph([new[graph.outputs[i]] for i in places])
