"""Sums of two products with a common factor that have a better form.

The one that matters: with p = σ(z), the derivative of the logistic loss is
``y·σ(−z) − (1−y)·σ(z) = y − σ(z)``, whatever common factors surround it.
"""

from typing import Any, NamedTuple

from ..graph import Node
from ..ops import arithmetic, transcendental
from .pattern import constant_number

_MAX_FACTORS = 12


class Product(NamedTuple):
    """``coefficient · Π numerators / Π denominators``."""

    coefficient: float
    numerators: tuple[Node, ...]
    denominators: tuple[Node, ...]


def factorize(node: Node) -> Product | None:
    """A node as a product; None if it has too many factors."""
    coefficient = 1.0
    numerators: list[Node] = []
    denominators: list[Node] = []
    stack = [(node, False)]
    while stack:
        n, below = stack.pop()
        number = constant_number(n)
        if number is not None and isinstance(number, (int, float)) and number and not below:
            coefficient *= float(number)
        elif n.op in (arithmetic.mul, arithmetic.scale) and not below:
            stack += [(n.args[0], below), (n.args[1], below)]
        elif n.op is arithmetic.neg:
            coefficient = -coefficient
            stack.append((n.args[0], below))
        elif n.op is arithmetic.div and not below:
            stack += [(n.args[0], False), (n.args[1], True)]
        else:
            (denominators if below else numerators).append(n)
        if len(numerators) + len(denominators) > _MAX_FACTORS:
            return None
    return Product(coefficient, tuple(numerators), tuple(denominators))


def _may_match(node: Node) -> bool:
    """A cheap test: is there a sigmoid among the nearest factors?"""
    stack, steps = [node], 0
    while stack and steps < 2 * _MAX_FACTORS:
        n = stack.pop()
        steps += 1
        if n.op is transcendental.expit:
            return True
        if n.op in (arithmetic.mul, arithmetic.scale, arithmetic.neg):
            stack += n.args
        elif n.op is arithmetic.div:
            stack.append(n.args[0])
    return False


def sum_of_products(s: Any, x: Node, y: Node, sign: float) -> Node | None:
    """``x + sign·y`` by the rule of the logistic loss, if it has that form."""
    if not (_may_match(x) and _may_match(y)):
        return None
    first, second = factorize(x), factorize(y)
    if first is None or second is None:
        return None
    if first.coefficient != -sign * second.coefficient or \
            sorted(map(id, first.denominators)) != sorted(map(id, second.denominators)):
        return None
    common, rest1, rest2 = _split(list(first.numerators), list(second.numerators))
    if len(rest1) != 2 or len(rest2) != 2:
        return None
    for (a, b), flip in (((rest1, rest2), 1.0), ((rest2, rest1), -1.0)):
        found = _labels_and_logits(a, b)
        if found is not None:
            labels, p = found
            return _rebuild(s, flip * first.coefficient, common, first.denominators, labels, p)
    return None


def _split(a: list[Node], b: list[Node]) -> tuple[list[Node], list[Node], list[Node]]:
    common = []
    for node in list(a):
        if node in b:
            a.remove(node)
            b.remove(node)
            common.append(node)
    return common, a, b


def _labels_and_logits(a: list[Node], b: list[Node]) -> tuple[Node, Node] | None:
    """``y`` and ``σ(z)`` if a = {y, σ(−z)} and b = {1 − y, σ(z)}."""
    for labels, q in (a, a[::-1]):
        if q.op is not transcendental.expit:
            continue
        for rest, p in (b, b[::-1]):
            if p.op is transcendental.expit and _opposite(p.args[0], q.args[0]) and \
                    rest.op is arithmetic.sub and constant_number(rest.args[0]) == 1 and \
                    rest.args[1] is labels:
                return labels, p
    return None


def _opposite(z: Node, w: Node) -> bool:
    return (z.op is arithmetic.neg and z.args[0] is w) or \
        (w.op is arithmetic.neg and w.args[0] is z)


def _rebuild(s: Any, coefficient: float, common: list[Node], denominators: tuple[Node, ...],
             labels: Node, p: Node) -> Node:
    order = (labels, p) if coefficient > 0 else (p, labels)
    out: Node = s.make(arithmetic.sub, order)
    for node in common:
        out = s.make(arithmetic.scale, (out, node))
    if abs(coefficient) != 1.0:
        out = s.make(arithmetic.scale, (s.builder.constant(abs(coefficient)), out))
    for node in denominators:
        out = s.make(arithmetic.div, (out, node))
    return out
