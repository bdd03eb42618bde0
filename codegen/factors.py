"""Parts of the work that several applications share, such as the factorization of a matrix.

They are no values of the graph: SuperLU's factors, say, are no array. The statement that computes
them stands in front of the first application.
"""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..compiler.graph import Graph, Node
from .expression import Expression

if TYPE_CHECKING:
    from .numpy_source import NumpyPrinter


class Factors:
    """The parts of one graph: by how many applications they are used, and how they are called."""

    def __init__(self, graph: Graph) -> None:
        self.uses = Counter(_key(node) for node in graph.nodes if node.op.factor)
        self.known: dict[Any, Expression] = {}


def _key(node: Node) -> Any:
    """What applications with the same part have in common."""
    return (node.op, *[node.args[i] for i in node.op.factor[0]]) if node.op.factor else None


def with_factor(printer: "NumpyPrinter", node: Node, args: Sequence[Expression]
                ) -> list[Expression]:
    """The operands with the part in the place of those that it is made from."""
    assert node.op.factor is not None
    positions, text = node.op.factor
    factors, key = printer.factors, _key(node)
    found = factors.known.get(key)
    if found is None:
        found = Expression(text([a.text for a in args], node.settings,
                                [a.type for a in node.args]))
        if factors.uses[key] > 1:
            printer.flush()
            printer.comment(node)
            name = printer.names.unique("factors")
            printer.lines.append(f"{name} = {found.text}")
            found = factors.known[key] = Expression(name)
    return [found, *[a for i, a in enumerate(args) if i not in positions]]
