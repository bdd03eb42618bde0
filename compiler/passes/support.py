"""Structural zeros: elements that are zero because they were not selected.

A cotangent (or tangent) may be zero by construction: where a condition does not hold, where an
array was overwritten, where an output was never touched. Such a zero annihilates any partial,
infinite or NaN. ``support`` is a mask of the other elements; ``scale``, the product of cotangent
and partial, is rewritten so that the partial is met by those only.
"""

import math
from typing import Any

import numpy as np

from ..arraytype import ArrayType
from ..graph import CONSTANT, Node
from ..ops import (
    arithmetic,
    comparison,
    contraction,
    indexing,
    layout,
    reduction,
    transcendental,
)
from ..ops.row import Op, broadcast_shapes
from .cancel import cancel
from .rewriter import Rewrite, Rewriter, constant_number, filled, is_true, is_zero, zeros
from .strong import both, essential, select_product, strong_product

_KNOWN = 1 << 18      # elements of a mask that is computed at once if it is constant
_NESTING = 4          # selections within selections through which a product is pushed

_KEPT = (arithmetic.neg, arithmetic.convert, transcendental.real, transcendental.imag,
         transcendental.conj)
_MOVED = (layout.reshape, layout.transpose, indexing.getitem, layout.roll, layout.pad)
_WRITTEN = (indexing.setitem, indexing.scatter_add)
_JOINED = (layout.concatenate, layout.stack)


def scale(s: Rewriter, args: tuple[Node, ...], params: tuple[Any, ...]) -> Node | None:
    """The product, moved into selections, so that structural zeros meet no infinity.

    Either factor may have them: at second order, a tangent is multiplied by a cotangent.
    """
    c, p = args
    if is_zero(c) or is_zero(p):
        kind = arithmetic.scale.type_rule(c.type, p.type)
        return zeros(s, kind.dtype, kind.shape)
    for mask, other in ((_truth(p), c), (_truth(c), p)):
        if mask is not None and other.type.dtype.kind in "fc":
            return s.make(comparison.where, (mask, other, s.builder.constant(0.0)))
    if not s.selects or (c, p) in s.guarded:
        return cancel(s, c, p)
    for zero_in, other in (args, args[::-1]):
        moved = _protect(s, zero_in, other)
        if moved is not None:
            return moved
    return cancel(s, c, p) or strong_product(s, c, p)


# What makes structural zeros, together with constants and conditions.
SELECTING = frozenset((comparison.where, *_WRITTEN, *_JOINED, layout.pad, layout.tril, layout.triu))


def selects(node: Node) -> bool:
    """Whether a node may be the origin of structural zeros; most functions have none."""
    if node.op is CONSTANT:
        return node.type.shape != () or not node.value
    return node.op in SELECTING or (isinstance(node.type, ArrayType)
                                    and node.type.dtype.kind == "b")


def _truth(node: Node) -> Node | None:
    """The condition behind a factor that is one where it holds and zero elsewhere."""
    if node.op is arithmetic.convert:
        (node,) = node.args
    return node if node.type.dtype.kind == "b" and node.op is not CONSTANT else None


def _protect(s: Rewriter, c: Node, p: Node) -> Node | None:
    """c·p where the structural zeros of c meet no p; None if there are none."""
    if c.op is CONSTANT:
        return None
    if _nesting(c) <= _NESTING:
        moved = _inwards(s, c, p, broadcast_shapes(c.type.shape, p.type.shape))
        if moved is not None:
            return moved
    if _is_finite(p):
        return None
    mask = support(s, c)
    if mask is None:
        return None
    return select_product(s, both(s, mask, essential(s, c, p)), c, p)


def _is_finite(node: Node) -> bool:
    """Whether a node is a constant without infinities and NaN."""
    return node.op is CONSTANT and bool(np.all(np.isfinite(node.value)))


def _nesting(node: Node) -> int:
    """How many selections with zeros are nested at the root."""
    for depth in range(_NESTING + 1):
        if _is_selection(node):
            node = node.args[2] if is_zero(node.args[1]) else node.args[1]
        elif node.op in (*_WRITTEN, layout.reshape, layout.transpose):
            node = node.args[0]
        else:
            return depth
    return _NESTING + 1


def _inwards(s: Rewriter, c: Node, p: Node, shape: tuple[int, ...]) -> Node | None:
    """c·p with the product inside the selection that c is."""
    if _is_selection(c):
        condition, *branches = c.args
        return s.make(comparison.where, (condition, *[
            b if is_zero(b) else s.make(arithmetic.scale, (b, p)) for b in branches]))
    if support(s, c) is None:
        return None
    if c.op in _WRITTEN and c.type.shape == shape:
        base, value, *arrays = c.args
        outside = s.make(arithmetic.scale, (base, p))
        inside = s.make(arithmetic.scale, (value, _element(s, p, arrays, c)))
        if outside.type.dtype == inside.type.dtype == c.type.dtype:
            return s.make(c.op, (outside, inside, *arrays), c.params)
    if constant_number(p) is not None:      # numbers move outwards from all else
        return None
    if c.op is arithmetic.neg:
        return s.make(arithmetic.neg, (s.make(arithmetic.scale, (c.args[0], p)),))
    if c.op is arithmetic.scale and constant_number(c.args[0]) is not None:
        return s.make(arithmetic.scale, (c.args[0], s.make(arithmetic.scale, (c.args[1], p))))
    if c.op is arithmetic.div and constant_number(c.args[1]) is not None:
        return s.make(arithmetic.div, (s.make(arithmetic.scale, (c.args[0], p)), c.args[1]))
    if c.op is layout.broadcast_to:
        return filled(s, s.make(arithmetic.scale, (c.args[0], p)), shape)
    if c.op in (layout.reshape, layout.transpose) and _is_selection(c.args[0]):
        return s.make(arithmetic.scale, (_selection_of(s, c), p))
    if c.type.shape != shape or constant_number(p) is not None:
        return None
    if c.op is layout.reshape and p.type.shape in ((), shape):
        (x,) = c.args
        back = p if p.type.shape == () else s.make(layout.reshape, (p,), (x.type.shape,))
        return s.make(layout.reshape, (s.make(arithmetic.scale, (x, back)),), c.params)
    if c.op is layout.transpose and p.type.shape in ((), shape):
        (x,), (axes,) = c.args, c.params
        back = p if p.type.shape == () else s.make(
            layout.transpose, (p,), (layout.inverse_permutation(axes),))
        return s.make(layout.transpose, (s.make(arithmetic.scale, (x, back)),), c.params)
    return None


def _is_selection(node: Node) -> bool:
    return node.op is comparison.where and any(map(is_zero, node.args[1:]))


def _selection_of(s: Rewriter, node: Node) -> Node:
    """A rearranged selection as a selection of what is rearranged."""
    (chosen,) = node.args
    parts = [s.make(node.op, (filled(s, a, chosen.type.shape),), node.params) for a in chosen.args]
    return s.make(comparison.where, tuple(parts))


def _element(s: Rewriter, p: Node, arrays: list[Node], c: Node) -> Node:
    """The partial at the elements that were written."""
    if p.type.shape == ():
        return p
    return s.make(indexing.getitem, (filled(s, p, c.type.shape), *arrays), c.params)


def matmul(s: Rewriter, args: tuple[Node, ...], params: tuple[Any, ...]) -> Node | None:
    """What meets structurally zero rows only is zero as well, lest it be infinite or NaN.

    Rows that were chosen by an index, not by a condition: whether a hidden unit is active says
    nothing about its inputs.
    """
    x, y = args
    if not _is_finite(x) and _by_index(support(s, y)):
        rows = y.type.ndim - 2 if y.type.ndim > 1 else 0
        masked = _masked(s, _kept_along(s, y, rows), x)
        if masked is not x:
            return s.builder.emit(contraction.matmul, (masked, y))
    if not _is_finite(y) and _by_index(support(s, x)):
        kept = _kept_along(s, x, x.type.ndim - 1)
        if y.type.ndim > 1 and not is_true(kept):
            kept = s.make(layout.reshape, (kept,), ((kept.type.size, 1),))
        masked = _masked(s, kept, y)
        if masked is not y:
            return s.builder.emit(contraction.matmul, (x, masked))
    return None


def _by_index(mask: Node | None) -> bool:
    """Whether a mask comes from an index."""
    while mask is not None and mask.op in _MOVED:
        mask = mask.args[0]
    return mask is not None and (mask.op is CONSTANT or mask.op is indexing.setitem)


def _kept_along(s: Rewriter, node: Node, axis: int) -> Node:
    """Along one axis: where any element of the others is no structural zero."""
    mask = support(s, node)
    assert mask is not None
    full = _full(s, mask, node.type.shape)
    others = tuple(a for a in range(node.type.ndim) if a != axis)
    if not others:
        return full
    params = (others, False)
    return _folded(s, reduction.any, (full,), params) or s.make(reduction.any, (full,), params)


def _masked(s: Rewriter, kept: Node, node: Node) -> Node:
    if is_true(kept):
        return node
    zero = s.builder.constant(node.type.dtype.type(0))
    return s.make(comparison.where, (kept, node, zero))


def support(s: Rewriter, node: Node) -> Node | None:
    """A mask that is False at structural zeros only, or None if there are none.

    The mask's shape broadcasts to the node's. Masks are kept, so that the work over a whole
    graph is linear.
    """
    known = s.supports
    if node in known:
        return known[node]
    stack = [node]
    while stack:
        n = stack[-1]
        if n not in known:
            relevant = () if is_zero(n) else n.args[_RELEVANT.get(n.op, _NONE)]
            missing = [a for a in relevant if a not in known]
            if missing:
                stack += missing
                continue
            mask = _mask(s, n, [known[a] for a in relevant])
            known[n] = None if mask is not None and is_true(mask) else mask
        stack.pop()
    return known[node]


# The operands whose structural zeros may be zeros of the result.
_NONE = slice(0, 0)
_RELEVANT = {comparison.where: slice(1, None)} | dict.fromkeys(
    (*_WRITTEN, arithmetic.add, arithmetic.sub, arithmetic.mul, arithmetic.scale), slice(2)
) | dict.fromkeys((*_KEPT, *_MOVED, layout.broadcast_to, arithmetic.div), slice(1)
) | dict.fromkeys(_JOINED, slice(None))


def _mask(s: Rewriter, node: Node, masks: list[Node | None]) -> Node | None:
    """The mask of a node, given those of its relevant operands."""
    op = node.op
    if masks.count(None) == len(masks) and op is not layout.pad:
        if not is_zero(node):
            return None
        small = node.type.size <= _KNOWN
        return s.builder.constant(np.zeros(node.type.shape, bool) if small else np.bool_(False))
    if op in (arithmetic.mul, arithmetic.scale):
        return _all_of(s, [m for m in masks if m is not None])
    if op in (arithmetic.add, arithmetic.sub):
        first, second = masks
        return None if first is None or second is None else _any_of(s, first, second)
    true = s.builder.constant(np.bool_(True))
    wide = [true if m is None else m for m in masks]

    def apply(*operands: Node) -> Node:
        return _folded(s, op, operands, node.params) or s.make(op, operands, node.params)
    if op is comparison.where:
        return apply(node.args[0], *wide)
    if op in _KEPT or op in (layout.broadcast_to, arithmetic.div):
        return wide[0]
    relevant = node.args[_RELEVANT.get(op, _NONE)]
    full = [_full(s, m, a.type.shape) for m, a in zip(wide, relevant, strict=True)]
    if op is indexing.scatter_add:
        # Added to an element that may be in use already: the union of both.
        op = indexing.setitem
        return apply(full[0], true, *node.args[2:])
    if op is indexing.setitem:
        return apply(*full, *node.args[2:])
    if op in _JOINED:
        return apply(*full)
    return apply(full[0], *node.args[1:])


def _full(s: Rewriter, mask: Node, shape: tuple[int, ...]) -> Node:
    """A mask in the whole shape, as a constant if it is one and not too large."""
    if mask.op is CONSTANT and math.prod(shape) <= _KNOWN:
        return s.builder.constant(np.broadcast_to(mask.value, shape).copy()) \
            if mask.type.shape != shape else mask
    return filled(s, mask, shape)


def _folded(s: Rewriter, op: Op, args: tuple[Node, ...], params: tuple[Any, ...]) -> Node | None:
    """The value of a mask that does not depend on any input."""
    if not all(a.op is CONSTANT for a in args):
        return None
    settings = dict(zip(op.params, params, strict=True))
    return s.builder.constant(np.asarray(op.call(*[a.value for a in args], **settings)))


def _all_of(s: Rewriter, masks: list[Node]) -> Node:
    if len(masks) == 1 or masks[0] is masks[1]:
        return masks[0]
    return s.make(comparison.logical_and, (masks[0], masks[1]))


def _any_of(s: Rewriter, first: Node, second: Node) -> Node:
    if first is second:
        return first
    return s.make(comparison.logical_or, (first, second))




REWRITES: tuple[tuple[Op, Rewrite], ...] = (
    (arithmetic.scale, scale), (contraction.matmul, matmul))
