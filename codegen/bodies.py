"""What printing loops, branches and calls has in common: a body, its inputs and its outputs."""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..compiler.arraytype import ArrayType
from ..compiler.graph import CONSTANT, Graph, Node, infer, reachable
from ..compiler.ops import indexing, layout
from .expression import ATOM, Expression
from .plain_numbers import RAISING, weak_type
from .source import Event

if TYPE_CHECKING:
    from .numpy_source import NumpyPrinter

STORES = (indexing.setitem, indexing.scatter_add)


class Body(NamedTuple):
    """A printed body: statements, and the outputs' expressions."""

    lines: list[str]
    outputs: list[Expression]
    widened: set[Node]


def print_body(p: "NumpyPrinter", body: Graph, inputs: Sequence[Expression],
                widened: Sequence[Node] = (), owned: Sequence[Node] = (), repeats: bool = False
                ) -> Body:
    """Print a body whose inputs have these expressions.

    Args:
        p: printer of the graph around it.
        body: to print.
        inputs: expressions of its inputs.
        widened: inputs that are NumPy's although their type says a plain number.
        owned: inputs whose memory the body may overwrite.
        repeats: whether its statements stand in a loop of the function itself.
    """
    child = type(p)(body, p.annotate, around=p)
    for node, expression in zip(body.inputs, inputs, strict=True):
        child.expressions[node] = expression
    child.widened.update(widened)
    child.owner.update({n: child.expressions[n].text for n in owned})
    child.spread_widened()
    child.last_origin, child.repeats = p.last_origin, repeats
    child.print_nodes()
    if p.structured is not None:
        p.printed.setdefault(p.structured, []).append(child)
    return Body(child.lines, [typed(child.expressions[n], n, n.type) for n in body.outputs],
                 child.widened)


def typed(expression: Expression, node: Node, type: ArrayType) -> Expression:
    """A value as what its type says: NumPy's scalar, not a plain number."""
    if type.shape or type.weak or not (node.type.weak or node.op is CONSTANT):
        return expression
    return Expression(f"np.{type.dtype.name}({expression.text})")


def indented(lines: Sequence[str]) -> list[str]:
    """The statements of a block."""
    return [f"    {piece}" for line in lines for piece in line.split("\n")]


def reads(graph: Graph, node: Node) -> int:
    """How often a graph reads a node."""
    return sum(n.args.count(node) for n in graph.nodes) + graph.outputs.count(node)


def live(graph: Graph) -> Graph:
    """The graph without what its outputs do not need."""
    kept = reachable([*graph.outputs, *graph.inputs])
    return Graph(graph.name, graph.inputs, graph.outputs,
                 tuple(n for n in graph.nodes if n in kept))


def label(node: Node, otherwise: str) -> str:
    """The name of a value, if it has one."""
    return node.origin.name if node.origin and node.origin.name else otherwise


def picks_of(p: "NumpyPrinter", node: Node) -> dict[int, Node]:
    """The results of a node that are used, by their index."""
    return p.picks.get(node, {})


def named(p: "NumpyPrinter", expression: Expression, wish: str, node: Node) -> Expression:
    """The expression itself if it is a name, else a new name for it: that of a node's value."""
    if expression.text.isidentifier() and expression.text not in ("True", "False"):
        return expression
    name = p.names.unique(wish)
    p.lines.append(f"{name} = {expression.text}")
    p.trail.append(Event(node, name))
    return Expression(name)


def plain_will_do(graph: Graph, node: Node) -> bool:
    """Whether a NumPy scalar may as well be a plain number, wherever the graph uses it."""
    if node.type.shape:
        return True
    if node.type.dtype not in (np.float64, np.int64, np.bool_):
        return False
    for user in graph.nodes:
        if node in user.args:
            if user.op in RAISING or user.op.bodies:
                return False
            types = tuple([weak_type(a.type) if a is node or (
                a.op is CONSTANT and not a.type.shape) else a.type for a in user.args])
            found = infer(user.op, types, user.params)
            if found != user.type:
                return False
    return True


def assign(lines: list[str], names: Sequence[str], values: Sequence[Expression]) -> None:
    """Assign all at once, or one by one where no value reads what has been assigned."""
    pairs = [(n, v.text) for n, v in zip(names, values, strict=True) if n != v.text]
    for i, (name, _) in enumerate(pairs):
        if any(re.search(rf"(?<![\w.]){name}\b", text) for _, text in pairs[i + 1:]):
            lines.append(f"{', '.join(n for n, _ in pairs)} = {', '.join(t for _, t in pairs)}")
            return
    lines += [f"{n} = {t}" for n, t in pairs]


def overwritten(body: Graph, carried: Sequence[tuple[Node, int]], owns: Callable[[Node], bool]
                ) -> list[Node]:
    """Which of the carried arrays a body may assign into, instead of into a copy.

    An array qualifies if what the body gives for it is made by assignments into it, and if nothing
    else that the body gives may share its memory.

    Args:
        body: of a loop.
        carried: its inputs that are carried, and which outputs follow them.
        owns: whether a node's memory is certainly its own.
    """
    inputs = {node for node, _ in carried}
    found = []
    for node, position in carried:
        out = body.outputs[position]
        others = [n for i, n in enumerate(body.outputs) if i != position]
        base = out
        while base.op in STORES:
            base = base.args[0]
        if base is node and out is not node and node not in others and all(
                not n.type.shape or owns(n) or n in inputs for n in others) and out not in others:
            found.append(node)
    return found


def own_memory(p: "NumpyPrinter", node: Node) -> str:
    """The expression of an array, as a copy unless it is made anew where it is written."""
    expression = p.expressions[node]
    made = not expression.text.isidentifier() and (node.op.fresh or (
        node.op is layout.broadcast_to and node.args[0].type.shape == ()))
    return expression.text if made else f"{expression.within(ATOM)}.copy()"
