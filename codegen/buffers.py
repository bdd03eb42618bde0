"""Which values are computed in the memory of an operand that nobody reads any more.

A large array that is made anew costs memory, and time: its pages are fresh, and the caches hold
other ones. NumPy itself computes ``a * b + c`` in the memory of the product (it *elides* the
temporary); here the same is planned for all elementwise functions and for values with names.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..compiler.arraytype import ArrayType
from ..compiler.graph import CAPTURED, CONSTANT, INPUT, PICK, Graph, Node
from ..compiler.ops import arithmetic, comparison, contraction, indexing, layout
from .expression import POWER
from .structured_source import owns_result

LARGE = 256 * 1024       # bytes, from which on NumPy elides temporaries
NEVER = math.inf         # position of the last read of what is returned
Roots = dict[Node, frozenset[Node]]
STORES = (indexing.setitem, indexing.scatter_add)


@dataclass(frozen=True)
class Plan:
    """What happens to the memory of large values.

    Attributes:
        into: position of the operand in whose memory a node is computed.
        released: large values that are given up before a node is computed, since keeping them
            would raise the peak of memory.
        stores: assignments of elements that are the last to read the array they change.
        roots: the values in whose memory a value may lie.
    """

    into: Mapping[Node, int]
    released: Mapping[Node, tuple[Node, ...]]
    stores: frozenset[Node]
    roots: Roots


def plan(graph: Graph, uses: Mapping[Node, int], threshold: int = LARGE) -> Plan:
    """Decide for every node, in the order of the graph.

    Args:
        graph: lowered; its nodes are evaluated in order.
        uses: how often each value is used.
        threshold: size in bytes from which on a value is large.
    """
    last = last_reads(graph)
    order = layouts(graph)
    roots = memory_roots(graph)
    into: dict[Node, int] = {}
    for position, node in enumerate(graph.nodes):
        if is_large(node, threshold) and is_ufunc(node):
            dying = [i for i, a in enumerate(node.args)
                     if last[a] == position and may_take(a, node) and order[a] == order[node]
                     and not any(b is not a and a in roots[b] for b in node.args)]
            found = min(dying, key=lambda i: _rank(node, i, uses), default=None)
            if found is not None and (_is_augmented(node, found) or can_call(node)):
                into[node] = found
    stores = frozenset(node for position, node in enumerate(graph.nodes)
                       if node.op in STORES and last[node.args[0]] == position)
    return Plan(into, _released(graph, last, into, stores, threshold), stores, roots)


def is_large(node: Node, threshold: int) -> bool:
    """Whether this is an array of at least so many bytes."""
    kind = node.type
    return isinstance(kind, ArrayType) and kind.ndim > 0 and not kind.weak and \
        kind.size * kind.dtype.itemsize >= max(threshold, 1)


def is_ufunc(node: Node) -> bool:
    """Whether NumPy computes this element by element and takes ``out=``."""
    call = node.op.call
    return isinstance(call, np.ufunc) and call.signature is None and node.op.reference is None


def elides(node: Node, position: int) -> bool:
    """Whether NumPy computes the node in the memory of this operand by itself if it has no name."""
    infix = node.op.infix
    if infix is None or infix.symbol not in ("+", "-", "*", "/"):
        return False
    others = [a.type for i, a in enumerate(node.args) if i != position]
    return (position == 0 or infix.symbol in "+*") and all(
        kind.shape in ((), node.type.shape) and np.can_cast(kind.dtype, node.type.dtype)
        for kind in others)                    # a Python float is double precision to NumPy here


def _is_augmented(node: Node, position: int) -> bool:
    """Whether ``a *= b`` says it, with this operand on the left.

    The factors of a complex product do not commute: with fused operations, the last bit differs.
    """
    infix = node.op.infix
    return infix is not None and len(node.args) == 2 and infix.precedence > 1 and (
        position == 0 or infix.symbol == "+"
        or (infix.symbol == "*" and node.type.dtype.kind != "c"))


def can_call(node: Node) -> bool:
    """Whether ``np.f(a, b, out=a)`` gives the same; ``**`` has short cuts that power lacks."""
    return isinstance(node.op.python, str) and not (
        node.op.infix is not None and node.op.infix.precedence == POWER)


def augmented_symbol(node: Node, position: int) -> str | None:
    """The operator of ``a *= b`` where this is how the node is computed in an operand's memory."""
    infix = node.op.infix
    return infix.symbol if infix is not None and _is_augmented(node, position) else None


def _rank(node: Node, position: int, uses: Mapping[Node, int]) -> tuple[bool, bool, int]:
    """What NumPy elides comes first, since it needs no statement; then ``a *= b``."""
    free = elides(node, position) and uses.get(node.args[position], 0) == 1
    return not free, not _is_augmented(node, position), position


def may_take(a: Node, node: Node) -> bool:
    """Whether a value is memory of the function's own, of the node's type."""
    made = is_ufunc(a) or a.op in (comparison.where, arithmetic.convert, contraction.matmul,
                                   layout.concatenate, layout.stack, *STORES)
    return made and owns(a) and a.type == node.type


def owns(node: Node) -> bool:
    """Whether the value is certainly memory of its own."""
    if node.op is PICK:
        return node.args[0].op.fresh or (bool(node.args[0].op.bodies) and owns_result(
            node.args[0], node.params[0], owns))
    if node.op is indexing.getitem and any(
            a.op in (CONSTANT, CAPTURED, INPUT) and a.type.shape for a in node.args[1:]):
        return True                       # reading by arrays copies, by an integer it may not
    return node.op.fresh and node.op not in (INPUT, CONSTANT, CAPTURED)


def memory_roots(graph: Graph) -> Roots:
    """The values in whose memory each value lies, or may lie if it may be a view."""
    roots: Roots = {}
    for node in graph.nodes:
        roots[node] = frozenset((node,)) if owns(node) or not node.args else \
            frozenset[Node]().union(*[roots[a] for a in node.args])
    return roots


def last_reads(graph: Graph) -> dict[Node, float]:
    """Position of the last node that reads a value, or a view of it; NEVER if it is returned."""
    last: dict[Node, float] = dict.fromkeys(graph.outputs, NEVER)
    for position in range(len(graph.nodes) - 1, -1, -1):
        node = graph.nodes[position]
        mine = last.setdefault(node, position)
        reaches = position if owns(node) else max(mine, position)
        for a in node.args:
            last[a] = max(last.get(a, -1), reaches)
    return last


IN_ROWS = frozenset[Node]()      # the order in memory that is C's, and that of short arrays


def layouts(graph: Graph) -> Roots:
    """The values on whose order in memory that of a value depends; none: it is certainly C's.

    Sums depend on the order, in the last digit. Elementwise functions keep it: with two axes, the
    result lies in columns if all operands do, else in rows.
    """
    found: Roots = {}
    for node in graph.nodes:
        axes = _long_axes(node.type)
        orders = [found[a] for a in node.args if _long_axes(a.type) > 1]
        if axes <= 1 or (node.op is contraction.matmul and node.type.ndim == 2):
            found[node] = IN_ROWS
        elif node.op in STORES:
            base = node.args[0]
            filled = base.op is layout.broadcast_to and base.args[0].type.shape == ()
            found[node] = IN_ROWS if filled or not found[base] else frozenset((node,))
        elif _keeps_order(node) and orders and (axes == 2 or len(set(orders)) == 1):
            found[node] = IN_ROWS if IN_ROWS in orders else frozenset[Node]().union(*orders)
        else:
            found[node] = frozenset((node,))
    return found


def _long_axes(kind: Any) -> int:
    return sum(n > 1 for n in kind.shape) if isinstance(kind, ArrayType) else 0


def _keeps_order(node: Node) -> bool:
    """Whether this is an elementwise function, or a conversion."""
    return node.op is arithmetic.convert or (
        node.op.batch is None and node.op.reference is None and node.op.expand is None)


def _released(graph: Graph, last: Mapping[Node, float], into: Mapping[Node, int],
              stores: frozenset[Node], threshold: int) -> dict[Node, tuple[Node, ...]]:
    """Dead values are given up just before memory would exceed the least possible peak."""
    ending: dict[float, list[Node]] = {}
    for node in graph.nodes:
        ending.setdefault(last[node], []).append(node)

    def run(limit: int) -> tuple[int, dict[Node, tuple[Node, ...]]]:
        """The peak, and what is given up, if dead values stay as long as the limit allows."""
        alive: dict[Node, int] = {}
        dead: list[Node] = []
        kept = total = peak = 0              # bytes: of dead values, of all, at most
        released = {}
        for position, node in enumerate(graph.nodes):
            size = 0
            if node in into or node in stores:
                size = alive.pop(node.args[into.get(node, 0)], 0)
            if not size and owns(node) and is_large(node, threshold):
                size = int(node.type.size * node.type.dtype.itemsize)
                total += size
                if dead and total > limit:
                    released[node] = tuple(dead)
                    total, kept, dead = total - kept, 0, []
            peak = max(peak, total)
            alive[node] = size
            for one in ending.get(position, ()):
                if alive.get(one):
                    dead.append(one)
                    kept += alive.pop(one)
        return peak, released

    least, _ = run(0)
    return run(least)[1]
