"""Dead code: what feeds neither an output nor a guard is dropped."""

from ..graph import Graph, needed, reachable
from ..ops.ties import GAPS, coincide


def remove_dead(graph: Graph) -> Graph:
    """The graph without dead nodes; inputs stay, since they are the signature."""
    kept = needed(graph.nodes, [*graph.outputs, *[g.node for g in graph.guards], *graph.inputs])
    return Graph(graph.name, graph.inputs, graph.outputs, kept, graph.guards)


def settle_ties(graph: Graph) -> Graph:
    """Whether eigenvalues coincide matters only to what is divided by their gaps.

    Branches on it that nothing depends on go; the others come before any division.
    """
    if not any(guard.node.op is coincide for guard in graph.guards):
        return graph
    divided = reachable([n for n in reachable(graph.outputs) if n.op in GAPS])
    guards = tuple(g for g in graph.guards
                   if g.node.op is not coincide or g.node.args[0] in divided)
    first = {g.node.args[0]: g.node for g in guards if g.node.op is coincide}
    nodes = []
    for node in graph.nodes:
        if node not in first.values():
            nodes.append(node)
        if node in first:
            nodes.append(first[node])
    return Graph(graph.name, graph.inputs, graph.outputs, tuple(nodes), guards)
