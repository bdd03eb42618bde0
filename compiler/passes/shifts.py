"""Functions that do not change when a constant is added along an axis: softmax and its kin.

``z = x − max(x)`` keeps exponentials from overflowing, and cancels in ``exp(z)/Σ exp(z)``, in
``z − log Σ exp(z)`` and in ``log Σ exp(z) + max(x)``. The derivative with respect to the shift is
zero, but written out it is a difference of large sums. So the shift is marked as constant there,
and what a person would write remains: p − y.
"""

from collections.abc import Mapping

from ..graph import Builder, Graph, Node, rebuild
from ..ops import arithmetic, control, indexing, layout, reduction, transcendental
from ..ops.row import Op


def settle_shifts(graph: Graph) -> Graph:
    """The same values, with shifts that cancel as constants of the derivative."""
    shifted = {node: found for node in graph.nodes if (found := _shift(node)) is not None}
    if not shifted:
        return graph
    new: dict[Node, Node] = {}

    def change(builder: Builder, node: Node, args: tuple[Node, ...]) -> Node:
        if node in shifted:
            return _with_constant_shift(builder, node, shifted[node], new)
        return builder.again(node, args)
    return rebuild(graph, change, new)


def _shift(node: Node) -> Node | None:
    """The difference ``x − shift`` of whose shift the node's value does not depend."""
    if len(node.args) != 2:
        return None
    x, y = node.args
    if node.op is arithmetic.div and x.op is transcendental.exp and _reduces(y, reduction.sum, x):
        return _difference(x.args[0], y)                           # exp(z) / Σ exp(z)
    if node.op is arithmetic.sub and _reduces(y, reduction.logsumexp, x):
        return _difference(x, y)                                   # z − log Σ exp(z)
    if node.op is arithmetic.add:                                  # log Σ exp(z) + shift
        for total, other in ((x, y), (y, x)):
            if total.op is reduction.logsumexp:
                found = _difference(total.args[0], total)
                if found is not None and _same_values(other, found.args[1]):
                    return found
    return None


def _reduces(node: Node, op: Op, x: Node) -> bool:
    """Whether a node is a reduction of ``x`` that broadcasts against it along the same axes."""
    return node.op is op and node.args == (x,) and (node.params[1] or node.type.shape == ())


def _difference(z: Node, reduced: Node) -> Node | None:
    """``z`` if it is a difference whose second operand is constant along the reduced axes."""
    if z.op is not arithmetic.sub or z.args[1].op is control.stop_gradient or \
            z.type != z.args[0].type:
        return None
    shape = z.args[1].type.shape
    lengths = (1,) * (z.type.ndim - len(shape)) + shape
    return z if all(lengths[a] == 1 for a in reduced.params[0]) else None


def _same_values(node: Node, shift: Node) -> bool:
    """Whether a node is the shift itself, but for axes of length one."""
    return node is shift or (
        node.op in (layout.reshape, indexing.getitem) and node.args == (shift,)
        and node.type.size == shift.type.size and _keeps_order(node))


def _keeps_order(node: Node) -> bool:
    return node.op is layout.reshape or all(
        isinstance(p, int) or p is None or (p[0] == "s" and p[3] == 1) for p in node.params[0])


def _with_constant_shift(builder: Builder, node: Node, difference: Node,
                         new: Mapping[Node, Node]) -> Node:
    """The node computed from ``x − stop_gradient(shift)``."""
    x, shift = difference.args
    builder.origin = shift.origin
    constant = builder.emit(control.stop_gradient, (new[shift],))
    builder.origin = difference.origin
    moved = {difference: builder.emit(arithmetic.sub, (new[x], constant)), shift: constant}

    def again(n: Node) -> Node:
        if n not in moved:
            depends = n is not x and _leads_to(n, difference, shift)
            moved[n] = emit_again(n) if depends else new[n]
        return moved[n]

    def emit_again(n: Node) -> Node:
        operands = tuple([again(a) for a in n.args])
        builder.origin = n.origin
        return builder.emit(n.op, operands, n.params)
    return emit_again(node)


def _leads_to(node: Node, difference: Node, shift: Node) -> bool:
    """Whether an operand is built on the difference or the shift, a few levels up."""
    return any(a in (difference, shift) or (a.args and a.args[0] is difference)
               for a in node.args)
