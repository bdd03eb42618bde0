"""Functions that do not change when a constant is added along an axis: softmax and its kin.

``z = x − max(x)`` keeps exponentials from overflowing, and cancels in ``exp(z)/Σ exp(z)``, in
``z − log Σ exp(z)`` and in ``log Σ exp(z) + max(x)``. The derivative with respect to the shift is
zero, but written out it is a difference of large sums. So the shift is marked as constant there,
and what a person would write remains: p − y.
"""

from collections.abc import Iterator, Mapping

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
    if node.op is arithmetic.sub:                                  # z − log Σ exp(z)
        summed = _summed_exponents(y)
        if summed is not None and summed[0] is x and _broadcasts(summed[1]):
            return _difference(x, summed[1])
    if node.op is arithmetic.add:                                  # log Σ exp(z) + shift
        for total, other in ((x, y), (y, x)):
            summed = _summed_exponents(total)
            if summed is not None:
                found = _difference(*summed)
                if found is not None and _same_values(other, found.args[1]):
                    return found
    return None


def is_shifted(z: Node, axis: tuple[int, ...]) -> bool:
    """Whether ``z`` is ``x − max(x)`` along these axes, so that exp(z) is at most 1."""
    if z.op is not arithmetic.sub:
        return False
    x, shift = z.args
    while shift.op in (control.stop_gradient, layout.reshape):
        (shift,) = shift.args
    return shift.op is reduction.max and shift.args == (x,) and shift.params[0] == axis


def _summed_exponents(node: Node) -> tuple[Node, Node] | None:
    """z, and the reduction itself, where a node is log Σ exp(z)."""
    if node.op is reduction.logsumexp:
        return node.args[0], node
    if node.op is transcendental.log and node.args[0].op is reduction.sum and \
            node.args[0].args[0].op is transcendental.exp:
        return node.args[0].args[0].args[0], node.args[0]
    return None


def _reduces(node: Node, op: Op, x: Node) -> bool:
    """Whether a node is a reduction of ``x`` that broadcasts against it along the same axes."""
    return node.op is op and node.args == (x,) and _broadcasts(node)


def _broadcasts(reduced: Node) -> bool:
    return bool(reduced.params[1]) or reduced.type.shape == ()


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
    return any(shift in level or difference in level for level in _levels(node))


def _levels(node: Node) -> Iterator[tuple[Node, ...]]:
    """Operands, and first operands of theirs: log, sum and exp stand between at most."""
    yield node.args
    for a in node.args:
        for _ in range(2):
            if a.args:
                yield a.args[:1]
                a = a.args[0]
