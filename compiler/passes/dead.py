"""Dead code: what feeds neither an output nor a guard is dropped."""

from ..graph import Graph, needed


def remove_dead(graph: Graph) -> Graph:
    """The graph without dead nodes; inputs stay, since they are the signature."""
    kept = needed(graph.nodes, [*graph.outputs, *[g.node for g in graph.guards], *graph.inputs])
    return Graph(graph.name, graph.inputs, graph.outputs, kept, graph.guards)
