"""Structural zeros far from the product that they annihilate.

:mod:`support` knows the zeros of selections and rearranges the product around them. Where the
other factor may be infinite at finite inputs, zeros further away count too: behind a sum or a
contraction, and the zeros of constants, among them the unit vectors that seed a Jacobian. Such
masks cost something, so other products do without.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ..graph import CONSTANT, Node, infer
from ..ops import arithmetic, comparison, contraction, indexing, layout, reduction, transcendental
from ..ops.row import Elementwise, Op
from .range import may_be_infinite
from .rewriter import Rewriter, constant_number, filled, is_zero, zeros

Support = Node | bool       # a boolean node, or one answer for all elements

_KNOWN = 4096               # elements of a mask that is written out
_FOLDED = 1 << 16          # elements of a mask that is computed at once if it is constant
_DEPTH = 40                 # levels that are looked through; beyond, nothing is known


def support(s: Rewriter, node: Node, depth: int = 0) -> Support:
    """Where a value may differ from zero; True if everywhere, False if nowhere."""
    memo: dict[Node, Support] = s.far_supports
    found = memo.get(node)
    if found is None:
        rule = _SUPPORT.get(node.op) or (_of_operand if _vanishes_at_zero(node.op) else None)
        if is_zero(node):
            found = False
        elif node.type.dtype.kind == "b" and node.op is not CONSTANT:
            found = node
        elif rule is None or depth > _DEPTH or node.type.dtype.kind not in "fcb":
            found = True
        else:
            found = rule(s, node, depth + 1)
        memo[node] = found
    return found


@cache
def _vanishes_at_zero(op: Op) -> bool:
    """Whether an elementwise function of one operand is zero where that is."""
    if not isinstance(op.derivative, Elementwise) or len(op.derivative.partials) != 1 or \
            op.reference is not None or op.expand is not None:
        return False
    with np.errstate(all="ignore"):
        return bool(op.call(np.float64(0.0)) == 0)


def _mask(s: Rewriter, node: Node, depth: int) -> Support:
    """Support of an operand, in its whole shape if it is a node."""
    return _whole(s, support(s, node, depth), node.type.shape)


def _whole(s: Rewriter, found: Support, shape: tuple[int, ...]) -> Support:
    if isinstance(found, bool) or found.type.shape == shape:
        return found
    return filled(s, found, shape)


def _filled(s: Rewriter, found: Support, shape: tuple[int, ...]) -> Node:
    """A support as a node of the whole shape; a constant if it is small."""
    if isinstance(found, bool):
        small = math.prod(shape) <= _KNOWN
        found = s.builder.constant(np.full(shape, found) if small else np.bool_(found))
    whole = _whole(s, found, shape)
    assert isinstance(whole, Node)
    return whole


def _applied(s: Rewriter, op: Op, args: tuple[Node, ...], params: tuple[Any, ...]) -> Support:
    """An operator applied to masks (and indices); at once if they depend on no input."""
    kind = infer(op, tuple([a.type for a in args]), params)
    values = [_value(a) for a in args]
    if kind.size > _FOLDED or any(v is None for v in values):
        return s.make(op, args, params)
    mask = np.asarray(op.call(*values, **dict(zip(op.params, params, strict=True))))
    if mask.all() or not mask.any():
        return bool(mask.all())
    return s.builder.constant(mask)


def _value(node: Node) -> Any:
    """The value of a constant, or of one that is stretched; else None."""
    if node.op is layout.broadcast_to and node.args[0].op is CONSTANT:
        return np.broadcast_to(node.args[0].value, node.type.shape)
    return node.value if node.op is CONSTANT else None


def either(s: Rewriter, x: Support, y: Support) -> Support:
    """Where one or the other may differ from zero."""
    if x is y:
        return x
    if isinstance(x, bool):
        return True if x else y
    if isinstance(y, bool):
        return True if y else x
    return s.make(comparison.logical_or, (x, y))


def both(s: Rewriter, x: Support, y: Support) -> Support:
    """Where both may differ from zero."""
    if x is y:
        return x
    if isinstance(x, bool):
        return y if x else False
    if isinstance(y, bool):
        return x if y else False
    return s.make(comparison.logical_and, (x, y))


def _of_constant(s: Rewriter, node: Node, depth: int) -> Support:
    if node.op is CONSTANT and np.all(node.value):
        return True
    if node.type.dtype.kind == "b":
        return node
    return s.builder.emit(
        comparison.not_equal, (node, s.builder.constant(0)))


def _of_where(s: Rewriter, node: Node, depth: int) -> Support:
    condition, x, y = node.args
    if condition.type.dtype.kind != "b":
        condition = s.make(comparison.not_equal, (condition, s.builder.constant(0)))
    chosen = support(s, x, depth)
    other = support(s, y, depth)
    if chosen is other:
        return chosen
    negated = s.make(comparison.logical_not, (condition,)) if chosen is False or other is True \
        else condition
    if chosen is False:
        return both(s, negated, other)
    if other is False:
        return both(s, condition, chosen)
    if chosen is True:
        return either(s, condition, other)
    if other is True:
        return either(s, negated, chosen)
    return s.make(comparison.where, (condition, chosen, other))


def _of_operand(s: Rewriter, node: Node, depth: int) -> Support:
    return _mask(s, node.args[0], depth)


def _of_product(s: Rewriter, node: Node, depth: int) -> Support:
    return both(s, support(s, node.args[0], depth), support(s, node.args[1], depth))


def _of_power(s: Rewriter, node: Node, depth: int) -> Support:
    number = constant_number(node.args[1])
    is_positive = isinstance(number, (int, float)) and number > 0
    return _mask(s, node.args[0], depth) if is_positive else True


def _of_sum(s: Rewriter, node: Node, depth: int) -> Support:
    return either(s, support(s, node.args[0], depth), support(s, node.args[1], depth))


def _of_extremum(s: Rewriter, node: Node, depth: int) -> Support:
    """max(x, 0) differs from zero where x is not at most 0."""
    beyond = comparison.less_equal if node.op is comparison.maximum else comparison.greater_equal
    for x, zero in (node.args, node.args[::-1]):
        if support(s, zero, depth) is False:
            within = s.make(beyond, (x, s.builder.constant(0.0)))
            return s.make(comparison.logical_not, (within,))
    return _of_sum(s, node, depth)


def _moved(s: Rewriter, node: Node, depth: int) -> Support:
    """The same rearrangement of the support."""
    found = _mask(s, node.args[0], depth)
    if isinstance(found, bool):
        return found
    return _applied(s, node.op, (found, *node.args[1:]), node.params)


def _masked_layout(s: Rewriter, node: Node, depth: int) -> Support:
    """Padding and triangles add zeros of their own."""
    found = _filled(s, support(s, node.args[0], depth), node.args[0].type.shape)
    return s.make(node.op, (found,), node.params)


def _joined(s: Rewriter, node: Node, depth: int) -> Support:
    found = [support(s, a, depth) for a in node.args]
    if all(f is found[0] for f in found) and isinstance(found[0], bool):
        return found[0]
    parts = tuple(_filled(s, f, a.type.shape) for f, a in zip(found, node.args, strict=True))
    return s.make(node.op, parts, node.params)


def _reduced(s: Rewriter, node: Node, depth: int) -> Support:
    found = _mask(s, node.args[0], depth)
    return found if isinstance(found, bool) else _applied(s, reduction.any, (found,), node.params)


def _accumulated(s: Rewriter, node: Node, depth: int) -> Support:
    found = _mask(s, node.args[0], depth)
    if isinstance(found, bool):
        return found
    count = s.make(node.op, (found,), node.params)
    return s.make(comparison.greater, (count, s.builder.constant(0)))


def _contracted(s: Rewriter, node: Node, depth: int) -> Support:
    """A contraction of zeros and ones counts the products that may differ from zero."""
    found = [support(s, a, depth) for a in node.args]
    if any(f is False for f in found):
        return False
    if all(f is True for f in found):
        return True
    if node.op is contraction.matmul and True in found and \
            [a.type.ndim for a in node.args] == [2, 2]:
        # All rows (columns) of the product are alike.
        i = found.index(True) ^ 1
        mask = _filled(s, found[i], node.args[i].type.shape)
        return _applied(s, reduction.any, (mask,), ((1 - i,), True))
    ones = tuple(s.make(arithmetic.convert, (_filled(s, f, a.type.shape),), ("float32",))
                 for f, a in zip(found, node.args, strict=True))
    count = s.make(node.op, ones, node.params)
    return s.make(comparison.greater, (count, s.builder.constant(0)))


def _stored(s: Rewriter, node: Node, depth: int) -> Support:
    base, value, *arrays = node.args
    found = support(s, base, depth), support(s, value, depth)
    if found[0] is found[1] and isinstance(found[0], bool):
        return found[0]
    if found[0] is True and node.op is indexing.scatter_add:
        return True
    parts = (_filled(s, found[0], base.type.shape), _filled(s, found[1], value.type.shape))
    return _applied(s, node.op, (*parts, *arrays), node.params)


_SUPPORT: dict[Op, Callable[[Rewriter, Node, int], Support]] = {
    CONSTANT: _of_constant, comparison.where: _of_where, indexing.setitem: _stored,
    indexing.scatter_add: _stored, reduction.sum: _reduced, reduction.cumsum: _accumulated,
    layout.pad: _masked_layout, layout.tril: _masked_layout, layout.triu: _masked_layout,
    arithmetic.add: _of_sum, arithmetic.sub: _of_sum, arithmetic.mul: _of_product,
    arithmetic.scale: _of_product, arithmetic.div: _of_operand, arithmetic.ratio: _of_operand,
    arithmetic.power: _of_power, transcendental.hypot: _of_sum, comparison.maximum: _of_extremum,
    comparison.minimum: _of_extremum, arithmetic.convert: _of_operand,
    arithmetic.as_float: _of_operand,
}
for _op in (transcendental.real, transcendental.imag, transcendental.conj, transcendental.root,
            comparison.absolute, comparison.sign, comparison.slope):
    _SUPPORT[_op] = _of_operand
for _op in (reduction.norm, reduction.max, reduction.min):
    _SUPPORT[_op] = _reduced
for _op in (layout.reshape, layout.transpose, layout.broadcast_to, layout.roll, indexing.getitem):
    _SUPPORT[_op] = _moved
for _op in (layout.stack, layout.concatenate):
    _SUPPORT[_op] = _joined
for _op in (contraction.matmul, contraction.tensordot, contraction.einsum):
    _SUPPORT[_op] = _contracted


_ROOTS = (transcendental.sqrt, transcendental.root, transcendental.cbrt, arithmetic.power)


def essential(s: Rewriter, c: Node, p: Node) -> Support:
    """Where neither factor is zero that would meet an infinite one in ``c · p``."""
    found: Support = True
    for factor, other in ((c, p), (p, c)):
        if may_be_infinite(s, other):
            found = both(s, found, support(s, factor))
            if other.op in (arithmetic.div, arithmetic.ratio) and other.args[1].op in _ROOTS:
                # The slope of a root, infinite where its operand is zero: if that is zero by
                # construction, then so is the root, and it has none.
                found = both(s, found, support(s, other.args[1]))
    return found


def strong_product(s: Rewriter, c: Node, p: Node) -> Node | None:
    """``c · p`` where both may differ from zero, and zero elsewhere; None if that is all over."""
    if (c, p) in s.guarded:
        return None
    found = essential(s, c, p)
    return None if found is True else select_product(s, found, c, p)


def select_product(s: Rewriter, mask: Support, c: Node, p: Node) -> Node:
    """The product where the mask holds, zero elsewhere."""
    if isinstance(mask, bool):
        kind = arithmetic.scale.type_rule(c.type, p.type)
        return zeros(s, kind.dtype, kind.shape)
    s.guarded.add((c, p))
    product = s.make(arithmetic.scale, (c, p))
    zero = s.builder.constant(product.type.dtype.type(0))
    return s.make(comparison.where, (mask, product, zero))
