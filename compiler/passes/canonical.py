"""Last forms before source is printed: plain products, and arrays from their elements."""

from collections.abc import Mapping

import numpy as np

from ..graph import CONSTANT, PICK, Builder, Graph, Node, rebuild
from ..ops import arithmetic, comparison, indexing, layout
from ..ops.decompositions import ALONE
from ..transforms.transpose import is_zero
from .pattern import constant_number
from .simplify import FOLD_LIMIT


def lower_products(graph: Graph) -> Graph:
    """Structural zeros have done their work: ``scale`` is a product, constant choices constants.

    A number is multiplied with the smaller factor: c·(x·y) = (c·x)·y if y is the larger one.
    """
    uses = _uses(graph)

    def change(builder: Builder, node: Node, args: tuple[Node, ...]) -> Node:
        if node.op is arithmetic.scale:
            number, product = args
            if constant_number(number) is not None and product.op is arithmetic.mul and \
                    node.args[1].op is arithmetic.scale and len(uses[node.args[1]]) == 1:
                x, y = product.args
                if x.type.size < y.type.size:
                    return builder.emit(arithmetic.mul, (
                        builder.emit(arithmetic.mul, (number, x)), y))
            return builder.emit(arithmetic.mul, args)
        if node.op is comparison.where and all(a.op is CONSTANT for a in args) and \
                node.type.size <= FOLD_LIMIT:
            return builder.constant(np.where(*[a.value for a in args]).astype(node.type.dtype))
        return builder.again(node, args)
    return rebuild(graph, change)


def take_in_signs(graph: Graph) -> Graph:
    """−(x − y) = y − x and −(c·x) = (−c)·x, where what is negated is not needed itself."""
    if not any(n.op is arithmetic.neg and n.args[0].op in (arithmetic.sub, arithmetic.mul)
               for n in graph.nodes):
        return graph
    uses = _uses(graph)
    kept = {*graph.outputs, *[guard.node for guard in graph.guards]}

    def change(builder: Builder, node: Node, args: tuple[Node, ...]) -> Node:
        if node.op is arithmetic.neg:
            (old,), (new,) = node.args, args
            if old not in kept and len(uses[old]) == 1:
                if new.op is arithmetic.sub:
                    return builder.emit(arithmetic.sub, new.args[::-1])
                real_product = new.op is arithmetic.mul and new.type.dtype.kind == "f"
                number = constant_number(new.args[0]) if real_product else None
                if isinstance(number, (int, float, np.floating)):
                    factor = builder.constant(-number)
                    return builder.emit(arithmetic.mul, (factor, new.args[1]))
        return builder.again(node, args)
    return rebuild(graph, change)


def single_results(graph: Graph) -> Graph:
    """A factorization of which one result is used gives way to the row of that result alone."""
    used: dict[Node, set[int]] = {}
    for node in graph.nodes:
        if node.op is PICK:
            used.setdefault(node.args[0], set()).add(node.params[0])
    if not any(len(indices) == 1 for indices in used.values()):
        return graph

    def change(builder: Builder, node: Node, args: tuple[Node, ...]) -> Node:
        if node.op is PICK and len(used[node.args[0]]) == 1:
            whole = args[0]
            alone = ALONE.get((whole.op, node.params[0]))
            if alone is not None:
                return builder.emit(alone, whole.args, whole.params)
        return builder.again(node, args)
    return rebuild(graph, change)


def assemble(graph: Graph) -> Graph:
    """Chains that store every element of a row of zeros become ``stack`` nodes.

    ``x = zeros(3); x[0] = a; x[1] = b; x[2] = c`` is ``array([a, b, c])``.
    """
    uses = _uses(graph)
    elements = {node: found for node in graph.nodes
                if _is_store(node) and not _continues(node, uses)
                and (found := _elements(node, uses)) is not None}
    return _with_stacks(graph, elements) if elements else graph


def _is_store(node: Node) -> bool:
    return node.op in (indexing.setitem, indexing.scatter_add) and len(node.args) == 2 and \
        len(node.type.shape) == 1 and isinstance(node.params[0][0], int) and \
        len(node.params[0]) == 1


def _uses(graph: Graph) -> dict[Node, list[Node]]:
    uses: dict[Node, list[Node]] = {}
    for node in graph.nodes:
        for a in node.args:
            uses.setdefault(a, []).append(node)
    return uses


def _continues(node: Node, uses: Mapping[Node, list[Node]]) -> bool:
    users = uses.get(node, [])
    return len(users) == 1 and _is_store(users[0]) and users[0].args[0] is node


def _elements(node: Node, uses: Mapping[Node, list[Node]]) -> dict[int, Node] | None:
    """The last value stored in each place, if every place is stored to exactly once."""
    found: dict[int, Node] = {}
    while _is_store(node):
        place = node.params[0][0]
        if place in found:
            return None
        value = node.args[1]
        if value.type.shape != ():
            return None
        found[place] = value
        node = node.args[0]
        if _is_store(node) and len(uses.get(node, [])) != 1:
            return None
    if not is_zero(node) or len(found) != node.type.shape[0]:
        return None
    types = [found[i].type for i in range(len(found))]
    return found if layout.stack.type_rule(*types, axis=0) == node.type else None


def _with_stacks(graph: Graph, elements: Mapping[Node, dict[int, Node]]) -> Graph:
    new: dict[Node, Node] = {}

    def change(builder: Builder, node: Node, args: tuple[Node, ...]) -> Node:
        if node in elements:
            parts = elements[node]
            return builder.emit(layout.stack, tuple(new[parts[i]] for i in range(len(parts))), (0,))
        return builder.again(node, args)
    return rebuild(graph, change, new)
