"""A graph as Graphviz text: one box a node, one arrow an operand.

The text needs no package; ``dot -Tsvg`` (or any Graphviz viewer) draws it.
"""

from .graph import CAPTURED, CONSTANT, INPUT, Graph, Node
from .text import setting_text, type_text, value_text

_SHORT = 24          # characters of a constant that are shown


def to_dot(graph: Graph, types: bool = True) -> str:
    """Graphviz text of a graph.

    Args:
        graph: to draw. Inputs are ellipses, outputs have a double border, guards dashed arrows.
        types: whether shapes and dtypes stand below the operators.

    >>> import wengert as wg
    >>> print(to_dot(wg.trace(lambda x: x * x)(1.0), types=False))
    digraph f {
      rankdir=TB; node [shape=box];
      n0 [label="x", shape=ellipse];
      n1 [label="mul", peripheries=2];
      n0 -> n1;
      n0 -> n1;
    }
    """
    index = {node: i for i, node in enumerate(graph.nodes)}
    outputs = set(graph.outputs)
    lines = [f"digraph {graph.name} {{", "  rankdir=TB; node [shape=box];"]
    for node, i in index.items():
        style = ", shape=ellipse" if node.op is INPUT else \
            ", shape=plaintext" if node.op in (CONSTANT, CAPTURED) else ""
        border = ", peripheries=2" if node in outputs else ""
        lines.append(f'  n{i} [label="{_label(node, types)}"{style}{border}];')
    for node, i in index.items():
        lines += [f"  n{index[a]} -> n{i};" for a in node.args]
    for k, guard in enumerate(graph.guards):
        lines.append(f'  g{k} [label="is {_escape(repr(guard.expected))}", shape=diamond];')
        lines.append(f"  n{index[guard.node]} -> g{k} [style=dashed];")
    return "\n".join([*lines, "}"])


def _label(node: Node, types: bool) -> str:
    if node.op is INPUT:
        text = node.origin.name if node.origin and node.origin.name else "input"
    elif node.op in (CONSTANT, CAPTURED):
        text = value_text(node)
        text = text if len(text) <= _SHORT else f"{text[:_SHORT]}…"
    else:
        settings = ", ".join(f"{k}={setting_text(v)}" for k, v in node.settings.items())
        text = f"{node.op.name}({settings})" if settings else node.op.name
        if node.origin and node.origin.name:
            text = f"{node.origin.name} = {text}"
    shown = _escape(text)
    return f"{shown}\\n{_escape(type_text(node.type))}" if types else shown


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
