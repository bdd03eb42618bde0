"""Sparsity of a Jacobian, from the graph of its tangents.

The tangents of the results depend on those of the inputs through a linear graph. One pass over it
carries, for each node, which elements of the input tangents each of its elements depends on. That
is the pattern of exactly what is evaluated later, whatever rule it comes from, for all values of
the inputs: an entry is left out only where no operator connects the two elements, or where a
constant of the graph is zero. (Index-set propagation after Griewank and Walther, *Evaluating
Derivatives*, 2nd ed. 2008, section 7.1; carried by whole arrays.)
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arraytype import ArrayType
from ..errors import PatternTooLargeError
from ..graph import CAPTURED, INPUT, PICK, Graph, Node
from ..interpret import compute
from ..ops.flow import elements, everything
from .pattern import LIMIT, TOO_LARGE, Pattern, empty, follow, identity, stack, union


@dataclass
class Constants:
    """Values of nodes that no input reaches, computed when asked for.

    ``consulted`` collects the captured arrays among what they depend on.
    """

    varies: dict[Node, bool] = field(default_factory=dict)
    values: dict[Node, Any] = field(default_factory=dict)
    consulted: list[Any] = field(default_factory=list)

    def mark(self, node: Node) -> None:
        """Note whether a node can change; its operands have been noted."""
        self.varies[node] = node.op is INPUT or any(self.varies[a] for a in node.args)

    def __call__(self, node: Node) -> Any:
        """The node's value, or None if it can change."""
        if self.varies[node]:
            return None
        stack = [node]
        with np.errstate(all="ignore"):
            while stack:
                top = stack[-1]
                missing = [a for a in top.args if a not in self.values]
                if missing:
                    stack += missing
                    continue
                stack.pop()
                if top not in self.values:
                    self.values[top] = compute(top, [self.values[a] for a in top.args])
                    if top.op is CAPTURED:
                        self.consulted.append(top.value)
        return self.values[node]


@dataclass(frozen=True)
class Sparsity:
    """What a pass has found.

    Attributes:
        outputs: pattern of each output; its columns are the elements of all tangents in order.
        consulted: captured arrays whose zeros were made use of.
    """

    outputs: tuple[Pattern, ...]
    consulted: tuple[Any, ...]


def sparsity(graph: Graph, tangents: Sequence[int]) -> Sparsity:
    """Patterns of a graph's outputs in some of its inputs, in which it is linear.

    Args:
        graph: such as that of ``jvp``.
        tangents: positions of these inputs.

    Raises:
        PatternTooLargeError: at more than ``pattern.LIMIT`` non-zeros, naming the user's line.
    """
    n_columns = sum(graph.inputs[i].type.size for i in tangents)
    constants = Constants()
    found: dict[Node, Any] = {}          # patterns of nodes that depend on a tangent
    first = 0
    for i in tangents:
        node = graph.inputs[i]
        found[node] = identity(node.type.size, first, n_columns)
        first += node.type.size
    last = _last_uses(graph)
    for position, node in enumerate(graph.nodes):
        constants.mark(node)
        if any(a in found for a in node.args):
            try:
                found[node] = _through(node, found, constants, n_columns)
            except PatternTooLargeError as error:
                raise PatternTooLargeError(error.what, error.instead, node.origin) from None
        for a in node.args:              # patterns are large: let go of them
            if last[a] == position:
                found.pop(a, None)
    patterns = tuple(found.get(n) or empty(n.type.size, n_columns) for n in graph.outputs)
    return Sparsity(patterns, tuple(constants.consulted))


def _last_uses(graph: Graph) -> dict[Node, int]:
    last = {a: position for position, node in enumerate(graph.nodes) for a in node.args}
    return last | dict.fromkeys(graph.outputs, len(graph.nodes))


def _through(node: Node, found: dict[Node, Any], constants: Constants, n_columns: int) -> Any:
    """Pattern of one application; for several results a tuple."""
    if node.op is PICK:
        return found[node.args[0]][node.params[0]]
    types = tuple(a.type for a in node.args)
    if not isinstance(node.type, ArrayType):
        return tuple(_merged(node, found, n_columns, out.size, lambda i, n=out.size: everything(
            types[i].size, n)) for out in node.type)
    out = node.type
    if out.size > LIMIT:                 # the numbers of its elements alone would take too much
        raise PatternTooLargeError(
            f"{out.size:,} elements depend on the argument here, and a sparsity pattern may have "
            f"{LIMIT:,} non-zeros.", TOO_LARGE)

    def flow(i: int) -> Any:
        if node.op.flow is not None:
            return node.op.flow(i, types, out, lambda j: constants(node.args[j]), **node.settings)
        if node.op.batch is None:
            return elements(i, types, out, None)
        return everything(types[i].size, out.size)
    return _merged(node, found, n_columns, out.size, flow)


def _merged(node: Node, found: dict[Node, Any], n_columns: int, size: int, flow: Any) -> Pattern:
    total = empty(size, n_columns)
    for i, arg in enumerate(node.args):
        if arg in found:
            total = union(total, follow(found[arg], flow(i), size))
    return total


def jacobian_pattern(pushed: Sparsity, outputs: Sequence[int], n_columns: int) -> Pattern:
    """Pattern of some outputs, one below the other."""
    return stack([pushed.outputs[o] for o in outputs], n_columns)
