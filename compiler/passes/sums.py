"""Rewrites of sums: signs, common factors, selections and products with a better form."""

from typing import Any

from ..graph import Node
from ..ops import arithmetic, comparison, reduction, transcendental
from ..ops.row import Op, broadcast_shapes
from .products import sum_of_products
from .rewriter import Rewrite, Rewriter, constant_number, filled, is_zero
from .select import sum_of_selections
from .shifts import is_shifted


def add(s: Rewriter, args: tuple[Node, ...], params: tuple[Any, ...]) -> Node | None:
    """x + 0 = x; x + (−c)·y = x − c·y; sums with a better form."""
    for x, y in (args, args[::-1]):
        if is_zero(y) and x.type.shape == broadcast_shapes(x.type.shape, y.type.shape):
            return x
    for x, y in (args, args[::-1]):
        positive = _without_sign(s, x, y)
        if positive is not None:
            return s.make(arithmetic.sub, (x, positive))
    return _combined(s, arithmetic.add, args)


def sub(s: Rewriter, args: tuple[Node, ...], params: tuple[Any, ...]) -> Node | None:
    """x − 0 = x; x − (−c)·y = x + c·y; differences with a better form."""
    x, y = args
    if is_zero(y) and x.type.shape == broadcast_shapes(x.type.shape, y.type.shape):
        return x
    positive = _without_sign(s, x, y)
    if positive is not None:
        return s.make(arithmetic.add, (x, positive))
    return _combined(s, arithmetic.sub, args)


def _combined(s: Rewriter, op: Op, args: tuple[Node, ...]) -> Node | None:
    x, y = args
    sign = 1.0 if op is arithmetic.add else -1.0
    return (sum_of_products(s, x, y, sign) or sum_of_selections(s, op, x, y)
            or _common_factor(s, op, x, y))


def _without_sign(s: Rewriter, x: Node, y: Node) -> Node | None:
    """c·z where ``y``, about to be added to ``x``, is −c·z in derivative code."""
    if y.op is not arithmetic.scale:
        return None
    number = constant_number(y.args[0])
    if number is None or isinstance(number, complex) or not number < 0:
        return None
    if number == -1 and x.type.dtype == y.type.dtype and x.type.shape == broadcast_shapes(
            x.type.shape, y.type.shape):
        return y.args[1]
    return s.make(arithmetic.scale, (s.builder.constant(-number), y.args[1]))


def _common_factor(s: Rewriter, op: Op, x: Node, y: Node) -> Node | None:
    """c·x ± c·y = c·(x ± y), in derivative code, for a number c."""
    if x.op is arithmetic.scale and y.op is arithmetic.scale and x.args[0] is y.args[0] and \
            constant_number(x.args[0]) is not None and x.type == y.type:
        inner = s.make(op, (x.args[1], y.args[1]))
        return s.make(arithmetic.scale, (x.args[0], inner))
    return None


def log(s: Rewriter, args: tuple[Node, ...], params: tuple[Any, ...]) -> Node | None:
    """log Σ exp(x) = logsumexp(x), unless x is safe; log of a choice of sigmoids, by branch."""
    (x,) = args
    if x.op is comparison.where and all(a.op is transcendental.expit for a in x.args[1:]):
        branches = [s.make(transcendental.log, (a,)) for a in x.args[1:]]
        return s.make(comparison.where, (x.args[0], *branches))
    if x.op is reduction.sum and x.args[0].op is transcendental.exp and \
            x.type.dtype.kind == "f" and not is_shifted(x.args[0].args[0], x.params[0]):
        return s.make(reduction.logsumexp, x.args[0].args, x.params)
    return None


def power(s: Rewriter, args: tuple[Node, ...], params: tuple[Any, ...]) -> Node | None:
    """x⁰ = 1, for NaN as well."""
    x, y = args
    if constant_number(y) == 0 and not (x.type.weak and y.type.weak):
        kind = arithmetic.power.type_rule(x.type, y.type)
        return filled(s, s.builder.constant(kind.dtype.type(1)), kind.shape)
    return None


REWRITES: tuple[tuple[Op, Rewrite], ...] = (
    (arithmetic.add, add), (arithmetic.sub, sub), (transcendental.log, log),
    (arithmetic.power, power))
