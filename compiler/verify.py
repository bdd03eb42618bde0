"""The rules every graph obeys, checked after every pass in the test-suite."""

from .errors import VerifyError
from .graph import CAPTURED, CONSTANT, INPUT, Graph, Node, infer
from .text import format_excerpt


def verify(graph: Graph) -> Graph:
    """Return the graph if it is well formed.

    Rules: operands come before their users; every input is listed, once, and no other node is
    an input; outputs and guards are nodes of the graph; stored types are those the type rules
    give; parameters are as many as the row names; only constants have values; bodies are well
    formed themselves, and have no guards.

    Raises:
        VerifyError: with the neighbourhood of the offending node.
    """
    seen: set[Node] = set()
    for position, node in enumerate(graph.nodes):
        problem = _problem(node, seen)
        if problem:
            raise VerifyError(f"node {position}: {problem}\n{format_excerpt(graph, position)}")
        seen.add(node)
        for body in node.bodies:
            if verify(body).guards:
                raise VerifyError(f"node {position}: a body has guards.")
    inputs = [node for node in graph.nodes if node.op is INPUT]
    if set(inputs) != set(graph.inputs) or len(inputs) != len(graph.inputs):
        raise VerifyError("The listed inputs are not the input nodes of the graph.")
    for node in (*graph.outputs, *(guard.node for guard in graph.guards)):
        if node not in seen:
            raise VerifyError(f"An output or guard, {node}, is not in the graph.")
    return graph


def _problem(node: Node, seen: set[Node]) -> str | None:
    if node in seen:
        return "the node is listed twice"
    if node.op in (INPUT, CONSTANT, CAPTURED):
        has_value = node.value is not None
        return None if has_value == (node.op is not INPUT) else "a value is missing or misplaced"
    for arg in node.args:
        if arg not in seen:
            return f"operand {arg} comes later or is missing"
    if len(node.params) != len(node.op.params):
        return f"parameters {node.params} do not fit {node.op.params}"
    expected = infer(node.op, tuple(a.type for a in node.args), node.params)
    if expected != node.type:
        return f"type {node.type} is stored, the type rule gives {expected}"
    return None
