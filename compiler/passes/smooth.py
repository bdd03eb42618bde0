"""Before differentiation: functions that are smooth, although a part of them is not.

``√(x²+y²)**2`` is a polynomial, but its chain rule meets the corner of the length. Here squares of
lengths become sums of squares, and the root of one square an absolute value. What cannot be
negative has its minimum where it is zero, and so has its root: wherever the root is differentiable
there, its derivative is zero. The root of what cannot be negative therefore becomes a
:data:`root`, whose gradient at zero is zero, like that of ``|x|``.
All are STABLE: at least as accurate as what they replace.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..graph import Builder, Graph, Guard, Node, keep_leaf
from ..ops import (
    arithmetic,
    comparison,
    control,
    layout,
    reduction,
    special,
    transcendental,
)
from ..ops.row import Op
from .pattern import constant_number
from .range import exceeds, is_nonnegative, is_nonzero
from .simplify import Simplifier

Rewrite = Callable[[Builder, tuple[Node, ...], Any], Node | None]


def smooth(graph: Graph) -> Graph:
    """The graph with lengths and their squares in the form that differentiates well."""
    if not any(node.op in _REWRITES for node in graph.nodes):
        return graph
    builder = Builder(graph.name)
    narrow = any(np.dtype(node.type.dtype) == np.float32 for node in graph.nodes
                 if hasattr(node.type, "dtype"))
    simplifier = Simplifier(builder, (), narrow)
    new: dict[Node, Node] = {node: keep_leaf(builder, node) for node in graph.inputs}
    for node in graph.nodes:
        if node in new:
            continue
        if not node.args:
            new[node] = keep_leaf(builder, node)
            continue
        builder.origin = node.origin
        args = tuple([new[a] for a in node.args])
        rewrite = _REWRITES.get(node.op)
        made = rewrite(builder, args, node.params) if rewrite is not None else None
        if made is None or not simplifier.fits(made.type, node.type):
            made = builder.again(node, args)
        new[node] = made
    builder.origin = None
    guards = [Guard(new[g.node], g.expected, g.origin) for g in graph.guards]
    builder.guards = guards
    return builder.graph([new[n] for n in graph.outputs])


def _even_power(node: Node) -> tuple[Node, int] | None:
    """``(u, 2k)`` if the node is u to an even power."""
    if node.type.dtype.kind != "f":
        return None
    if node.op in (arithmetic.mul, arithmetic.scale) and node.args[0] is node.args[1]:
        return node.args[0], 2
    if node.op is transcendental.square:
        return node.args[0], 2
    if node.op is arithmetic.power:
        number = constant_number(node.args[1])
        if isinstance(number, (int, float)) and number > 0 and number % 1 == 0:
            if number % 2 == 0:
                return node.args[0], int(number)
            inner = _even_power(node.args[0])
            return None if inner is None else (inner[0], inner[1] * int(number))
    return None


def _square(builder: Builder, node: Node) -> Node | None:
    """The square of a length as a sum of squares."""
    if node.type.dtype.kind != "f":
        return None
    if node.op is transcendental.root:
        return node.args[0]
    if node.op is comparison.absolute and node.args[0].type.dtype.kind == "f":
        return builder.emit(arithmetic.mul, (node.args[0], node.args[0]))
    if node.op is transcendental.hypot:
        return builder.emit(arithmetic.add, tuple(
            builder.emit(arithmetic.mul, (a, a)) for a in node.args))
    if node.op is reduction.norm and node.args[0].type.dtype.kind == "f":
        (x,) = node.args
        return builder.emit(reduction.sum, (builder.emit(arithmetic.mul, (x, x)),), node.params)
    return None


def _raise(builder: Builder, node: Node, exponent: float) -> Node:
    if exponent == 1:
        return node
    if exponent == 2:
        return builder.emit(arithmetic.mul, (node, node))
    number = int(exponent) if exponent % 1 == 0 else exponent
    return builder.emit(arithmetic.power, (node, builder.constant(number)))


def _of_sqrt(builder: Builder, args: tuple[Node, ...], params: Any) -> Node | None:
    """√(u²) = |u|, √(u⁴) = u²; √(u² + v²) is a length, and so is the root of any such q ≥ 0."""
    (x,) = args
    if x.type.dtype.kind != "f":
        return None
    single = _even_power(x)
    if single is not None:
        base, exponent = single
        half = exponent // 2
        if half % 2 == 1 and not is_nonnegative(base):
            base = builder.emit(comparison.absolute, (base,))
        return _raise(builder, base, half)
    return builder.emit(transcendental.root, args) if _has_minima(x) else None


def _of_power(builder: Builder, args: tuple[Node, ...], params: Any) -> Node | None:
    """r**2k = (r²)**k for a length r; (u²)**c = |u|**2c."""
    base, exponent = args
    number = constant_number(exponent)
    if not isinstance(number, (int, float)) or number <= 0:
        return None
    if number == 0.5:
        return _of_sqrt(builder, (base,), params)
    if number % 2 == 0:
        square = _square(builder, base)
        return None if square is None else _raise(builder, square, number // 2)
    single = _even_power(base)
    if single is not None and number % 1 != 0:
        size = builder.emit(comparison.absolute, (single[0],))
        return _raise(builder, size, single[1] * number)
    if 0 < number < 1 and _has_minima(base):
        return builder.emit(arithmetic.flat_power, (base, exponent))
    return None


def _has_minima(node: Node) -> bool:
    """Whether a value may be zero but not negative: where it is smooth, zero has no slope."""
    return node.type.dtype.kind == "f" and is_nonnegative(node) and not is_nonzero(node)


def _of_entropy(op: Op) -> Rewrite:
    """x log x, whose slope is infinite at zero, of what has none there."""
    def rewrite(builder: Builder, args: tuple[Node, ...], params: Any) -> Node | None:
        flat = tuple([builder.emit(arithmetic.flat, (a,)) if _has_minima(a) else a for a in args])
        return None if flat == args else builder.emit(op, flat)
    return rewrite


def _of_product(builder: Builder, args: tuple[Node, ...], params: Any) -> Node | None:
    """r·r = r² for a length r."""
    return _square(builder, args[0]) if args[0] is args[1] else None


def _of_square(builder: Builder, args: tuple[Node, ...], params: Any) -> Node | None:
    return _square(builder, args[0])


def _of_absolute(builder: Builder, args: tuple[Node, ...], params: Any) -> Node | None:
    """|q| = q where q cannot be negative."""
    return args[0] if is_nonnegative(args[0]) else None


def _of_maximum(builder: Builder, args: tuple[Node, ...], params: Any) -> Node | None:
    """max(x, −x) = |x| and max(x, |x|) = |x|."""
    for x, y in (args, args[::-1]):
        if y.op is arithmetic.neg and y.args[0] is x and x.type.dtype.kind == "f":
            return builder.emit(comparison.absolute, (x,))
        if exceeds(y, x):
            return y
    return None


def _of_minimum(builder: Builder, args: tuple[Node, ...], params: Any) -> Node | None:
    """min(x, |x|) = x."""
    for x, y in (args, args[::-1]):
        if exceeds(y, x):
            return x
    return None


def _constant(builder: Builder, op: Op, x: Node) -> Node:
    """x − x or x / x: its value, infinite or NaN perhaps, and no derivative."""
    held = builder.emit(control.stop_gradient, (x,))
    return builder.emit(op, (held, held))


def _of_difference(builder: Builder, args: tuple[Node, ...], params: Any) -> Node | None:
    """x − x, and x − where(c, x, y) = where(c, x − x, x − y)."""
    x, y = args
    if x is y:
        return _constant(builder, arithmetic.sub, x)
    for choice in (x, y):
        if choice.op is comparison.where:
            branches = [(a, y) if choice is x else (x, a) for a in choice.args[1:]]
            if any(a is b for a, b in branches):
                return builder.emit(comparison.where, (choice.args[0], *[
                    _constant(builder, arithmetic.sub, a) if a is b
                    else builder.emit(arithmetic.sub, (a, b)) for a, b in branches]))
    return None


def _of_quotient(builder: Builder, args: tuple[Node, ...], params: Any) -> Node | None:
    """x / x is constant."""
    return _constant(builder, arithmetic.div, args[0]) if args[0] is args[1] else None


def _of_norm(builder: Builder, args: tuple[Node, ...], params: Any) -> Node | None:
    """The length of a single number is its absolute value."""
    (x,), kind = args, reduction.norm.type_rule(args[0].type, *params)
    if x.type.dtype.kind != "f" or x.type.size != kind.size or not kind.size:
        return None
    size = builder.emit(comparison.absolute, (x,))
    return size if kind.shape == x.type.shape else builder.emit(layout.reshape, (size,),
                                                                (kind.shape,))


_REWRITES: dict[Op, Rewrite] = {
    op: _of_entropy(op) for op in (special.entr, special.xlogy, special.rel_entr)}
_REWRITES |= {arithmetic.sub: _of_difference, arithmetic.div: _of_quotient,
             reduction.norm: _of_norm, transcendental.sqrt: _of_sqrt, arithmetic.power: _of_power,
             arithmetic.mul: _of_product, transcendental.square: _of_square,
             comparison.absolute: _of_absolute, comparison.maximum: _of_maximum,
             comparison.minimum: _of_minimum}
