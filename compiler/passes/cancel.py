"""Products in which a root cancels.

The chain rule multiplies ``2·√x`` by ``0.5/√x``: at x = 0 that is 0 · ∞, although the product is
1 everywhere else. Here the factors of both operands are collected as powers of common bases, and
where a base under a root has both a positive and a negative exponent the powers are joined. What
remains is shorter as well as finite: ``x·(0.5/√x) = 0.5·√x``. The sign of a number is its own
inverse in the same way: the second derivative of ``f(|x|)`` multiplies f″ by sign(x) twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..graph import CONSTANT, Node
from ..ops import arithmetic, comparison, layout, transcendental
from ..ops.row import Op
from .pattern import constant_number
from .range import is_nonnegative, replaces_zero
from .rewriter import Rewriter, filled, is_zero

_MAX_FACTORS = 12
_MAX_TERMS = 4              # levels of sums and selections that are looked into
_ROOTS = ("norm", "root", "hypot")
WITH_ROOTS = frozenset((*_ROOTS, "sqrt", "power", "slope", "abs"))
_SUMS = (arithmetic.add, arithmetic.sub, comparison.where)


@dataclass
class Monomial:
    """``Π base ** exponent`` times factors that are left alone."""

    exponents: dict[Node, float] = field(default_factory=dict)
    rooted: set[Node] = field(default_factory=set)      # bases that stand under a root

    def multiply(self, base: Node, exponent: float, rooted: bool) -> None:
        """One more factor."""
        self.exponents[base] = self.exponents.get(base, 0.0) + exponent
        if rooted:
            self.rooted.add(base)


def _power_of(node: Node) -> tuple[Node, float, bool]:
    """A factor as ``(base, exponent, whether under a root)``."""
    if node.op is transcendental.sqrt:
        return node.args[0], 0.5, True
    if node.op is transcendental.square:
        base, exponent, rooted = _power_of(node.args[0])
        return base, 2.0 * exponent, rooted
    if node.op is arithmetic.power:
        number = constant_number(node.args[1])
        if isinstance(number, (int, float)) and np.isfinite(number):
            base, exponent, rooted = _power_of(node.args[0])
            if number % 1 != 0 and exponent % 2 == 0:      # (x²)**1.5 is |x|³
                return node.args[0], float(number), True
            return base, exponent * float(number), rooted or number % 1 != 0
    if node.op.name in _ROOTS or node.op is comparison.slope:
        return node, 1.0, True
    guarded = replaces_zero(node)
    if guarded is not None:
        return guarded, 1.0, True
    return node, 1.0, False


def factors(node: Node) -> Monomial | None:
    """A node as a product of powers; None if it has too many factors."""
    out = Monomial()
    stack = [(node, 1.0)]
    n_factors = 0
    while stack:
        n, sign = stack.pop()
        if n.op in (arithmetic.mul, arithmetic.scale):
            stack += [(n.args[0], sign), (n.args[1], sign)]
        elif n.op in (arithmetic.div, arithmetic.ratio):
            stack += [(n.args[0], sign), (n.args[1], -sign)]
        elif n.op is arithmetic.neg:
            stack.append((n.args[0], sign))
        elif n.op is not CONSTANT:
            base, exponent, rooted = _power_of(n)
            out.multiply(base, sign * exponent, rooted)
        n_factors += 1
        if n_factors > _MAX_FACTORS:
            return None
    return out


def cancel(s: Rewriter, c: Node, p: Node) -> Node | None:
    """``c · p`` with roots that occur above and below the line joined, or None."""
    if not s.roots or c.type.dtype.kind != "f" or p.type.dtype.kind != "f":
        return None
    for mine, other in ((p, c), (c, p)):
        found = factors(mine)
        if found is None:
            continue
        for base, exponent in found.exponents.items():
            if not _may_cancel(base, exponent, base in found.rooted, other):
                continue
            absorbed = _absorb(s, other, base, exponent, _MAX_TERMS)
            if absorbed is not None:
                return s.make(arithmetic.scale, (_without(s, mine, base), absorbed))
    return None


def _may_cancel(base: Node, exponent: float, rooted: bool, other: Node) -> bool:
    """Whether to look for the inverse of a factor in the other operand."""
    if base.op is comparison.slope:
        return exponent == 1.0
    if exponent < 0.0:
        return rooted
    # A power of a length may cancel in the terms of a sum.
    return base.op.name in _ROOTS and other.op in _SUMS


def _absorb(s: Rewriter, node: Node, base: Node, exponent: float, depth: int) -> Node | None:
    """``node · base ** exponent`` if a positive power of the base in the node allows it."""
    if is_zero(node):
        return node
    if depth == 0:
        return None
    if node.op in (arithmetic.add, arithmetic.sub):
        parts: list[Node | None] = [_absorb(s, a, base, exponent, depth - 1) for a in node.args]
        if any(parts) and (base.op is comparison.slope or exponent > 0.0):
            factor = _raised(s, base, exponent)
            parts = [s.make(arithmetic.scale, (a, factor)) if part is None else part
                     for part, a in zip(parts, node.args, strict=True)]
        return _joined(s, node.op, parts)
    if node.op is comparison.where:
        parts = [_absorb(s, a, base, exponent, depth - 1) for a in node.args[1:]]
        return _joined(s, node.op, [node.args[0], *parts])
    if node.op is layout.broadcast_to and base.type.shape == ():
        part = _absorb(s, node.args[0], base, exponent, depth - 1)
        return None if part is None else s.make(node.op, (part,), node.params)
    if node.op in (arithmetic.mul, arithmetic.scale):
        whole = _monomial(s, node, base, exponent)
        if whole is not None:
            return whole
        for i in (0, 1):
            part = _absorb(s, node.args[i], base, exponent, depth - 1)
            if part is not None:
                return s.make(arithmetic.scale, (part, node.args[1 - i]))
        return None
    if node.op is arithmetic.neg:
        part = _absorb(s, node.args[0], base, exponent, depth)
        return None if part is None else s.make(arithmetic.neg, (part,))
    if node.op in (arithmetic.div, arithmetic.ratio):
        whole = _monomial(s, node, base, exponent)
        if whole is not None:
            return whole
        part = _absorb(s, node.args[0], base, exponent, depth - 1)
        return None if part is None else s.make(node.op, (part, node.args[1]))
    return _monomial(s, node, base, exponent)


def _joined(s: Rewriter, op: Op, parts: Sequence[Node | None]) -> Node | None:
    found = tuple(part for part in parts if part is not None)
    return s.make(op, found) if len(found) == len(parts) else None


def _monomial(s: Rewriter, node: Node, base: Node, exponent: float) -> Node | None:
    found = factors(node)
    if found is None:
        return None
    mine = found.exponents.get(base, 0.0)
    total = mine + exponent
    is_sign = base.op is comparison.slope
    if mine <= 0.0 if is_sign else mine * exponent >= 0.0 or total < 0.0:
        return None
    rest = _without(s, node, base)
    if is_sign:
        return rest
    joined = _raised(s, base, total)
    out: Node = s.make(arithmetic.scale, (rest, joined))
    if total % 1 == 0 and base.op.name not in _ROOTS and not is_nonnegative(base):
        # Below zero the root, and so the product, is NaN.
        domain = s.make(comparison.greater_equal, (base, s.builder.constant(0)))
        out = s.make(comparison.where, (domain, out, s.builder.constant(float("nan"))))
    return out


def _raised(s: Rewriter, base: Node, exponent: float) -> Node:
    if exponent == 0.0:
        return s.builder.constant(1.0)
    if exponent == 0.5:
        return s.make(transcendental.sqrt, (base,))
    if exponent == 1.0:
        return base
    number = int(exponent) if exponent % 1 == 0 else exponent
    return s.make(arithmetic.power, (base, s.builder.constant(number)))


def _without(s: Rewriter, node: Node, base: Node) -> Node:
    """A product without the powers of a base."""
    if node.op in (arithmetic.mul, arithmetic.scale, arithmetic.div, arithmetic.ratio,
                   arithmetic.neg):
        parts = tuple(_without(s, a, base) for a in node.args)
        return s.make(node.op, parts) if parts != node.args else node
    if node.op is not CONSTANT and _power_of(node)[0] is base:
        if node.type.shape == ():
            return s.builder.constant(1.0)
        return filled(s, s.builder.constant(node.type.dtype.type(1)), node.type.shape)
    return node

