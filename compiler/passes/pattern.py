"""Patterns written as expressions: ``"log(1 + x)"`` matches and builds graphs.

Single letters are variables; ``c``, ``d``, ``k`` match constant numbers only, ``p`` anything;
a repeated variable must be the same node. Numbers match constants of that value. Operators and
calls name rows of the table. Operands of commutative rows match in either order.
"""

import ast
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from ..graph import CAPTURED, CONSTANT, Builder, Node
from ..ops.row import Op
from ..ops.table import TABLE

Exactness = Literal["EXACT", "STABLE", "FAST"]
Bindings = dict[str, Node]
Make = Callable[[Op, tuple[Node, ...]], Node]
Matcher = Callable[[Node, Bindings], bool]
Maker = Callable[[Bindings, Builder, Make], Node]

_OPERATORS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "power",
              ast.MatMult: "matmul"}
_CONSTANTS = frozenset("cdk")


@dataclass(frozen=True, eq=False)
class Rule:
    """A rewrite ``pattern -> replacement`` with its exactness class; parsed when it is first used.

    EXACT: the same bits, NaN, infinities and −0 included. STABLE: never less accurate.
    FAST: reassociates.
    """

    exactness: Exactness
    text: str
    when: Callable[[Bindings], bool] | None = None

    @cached_property
    def pattern(self) -> ast.expr:
        """The left side."""
        return _parse(self.text.split("->")[0])

    @cached_property
    def matches(self) -> Callable[[tuple[Node, ...], Bindings], bool]:
        """Whether the operands of the root have the form of the pattern; fills the bindings."""
        return _match_operands(self.pattern)

    @cached_property
    def replacement(self) -> ast.expr:
        """The right side."""
        return _parse(self.text.split("->")[1])

    @cached_property
    def build(self) -> Maker:
        """Makes the replacement."""
        return _maker(self.replacement)

    @property
    def root(self) -> Op:
        """The operator at the pattern's root."""
        return _op_of(self.pattern)


def rule(exactness: Exactness, text: str, when: Callable[[Bindings], bool] | None = None) -> Rule:
    """A rule from ``"pattern -> replacement"``."""
    return Rule(exactness, text, when)


def _parse(text: str) -> ast.expr:
    return ast.parse(text.strip(), mode="eval").body


def _op_of(expr: ast.expr) -> Op:
    if isinstance(expr, ast.BinOp):
        return TABLE[_OPERATORS[type(expr.op)]]
    if isinstance(expr, ast.UnaryOp):
        return TABLE["neg"]
    assert isinstance(expr, ast.Call)
    assert isinstance(expr.func, ast.Name)
    return TABLE[expr.func.id]


def _operands(expr: ast.expr) -> list[ast.expr]:
    if isinstance(expr, ast.BinOp):
        return [expr.left, expr.right]
    if isinstance(expr, ast.UnaryOp):
        return [expr.operand]
    assert isinstance(expr, ast.Call)
    return expr.args


def _literal(expr: ast.expr) -> float | None:
    if isinstance(expr, ast.Constant):
        return float(expr.value)  # type: ignore[arg-type]
    if isinstance(expr, ast.UnaryOp) and isinstance(expr.operand, ast.Constant):
        return -float(expr.operand.value)  # type: ignore[arg-type]
    return None


def constant_number(node: Node) -> Any:
    """The value of a constant number, or None."""
    if node.op is CONSTANT and node.type.shape == ():
        return node.value
    return None


def first_operators(expr: ast.expr) -> tuple[Op | None, ...]:
    """For each operand of the root: the operator it must apply, or None for any."""
    out: list[Op | None] = []
    for operand in _operands(expr):
        if _literal(operand) is not None or (isinstance(operand, ast.Name)
                                             and operand.id in _CONSTANTS):
            out.append(CONSTANT)
        elif isinstance(operand, ast.Name):
            out.append(None)
        else:
            out.append(_op_of(operand))
    return tuple(out)


def _matcher(expr: ast.expr) -> Matcher:
    """A function that tells whether a node has the form of the pattern; it fills the bindings."""
    literal = _literal(expr)
    if literal is not None:
        return _match_literal(literal)
    if isinstance(expr, ast.Name):
        return _match_variable(expr.id, expr.id in _CONSTANTS)
    op, operands = _op_of(expr), _match_operands(expr)
    return lambda node, bound: node.op is op and operands(node.args, bound)


def _match_literal(literal: float) -> Matcher:
    sign = bool(np.signbit(literal))

    def matches(node: Node, bound: Bindings) -> bool:
        if node.op is not CONSTANT or node.type.shape != ():
            return False
        value = node.value
        return bool(value == literal) and not np.iscomplexobj(value) and \
            bool(np.signbit(float(value))) == sign
    return matches


def _match_variable(name: str, constant: bool) -> Matcher:
    def matches(node: Node, bound: Bindings) -> bool:
        if constant and constant_number(node) is None:
            return False
        return bound.setdefault(name, node) is node
    return matches


def _match_operands(expr: ast.expr) -> Callable[[tuple[Node, ...], Bindings], bool]:
    """Matches all operands of an application, in either order if that makes no difference."""
    parts = [_matcher(e) for e in _operands(expr)]
    if len(parts) == 1:
        (only,) = parts
        return lambda args, bound: only(args[0], bound)
    first, second = parts[:2]
    if len(parts) > 2 or not _op_of(expr).commutative:
        return lambda args, bound: all(p(a, bound) for p, a in zip(parts, args, strict=True))

    def matches(args: tuple[Node, ...], bound: Bindings) -> bool:
        before = bound.copy()
        x, y = args
        if first(x, bound) and second(y, bound):
            return True
        bound.clear()
        bound.update(before)
        return first(y, bound) and second(x, bound)
    return matches


def _maker(expr: ast.expr) -> Maker:
    """A function that builds the node a replacement stands for."""
    literal = _literal(expr)
    if literal is not None:
        return lambda bound, builder, make: builder.constant(literal)
    if isinstance(expr, ast.Name):
        name = expr.id
        return lambda bound, builder, make: bound[name]
    op, parts = _op_of(expr), [_maker(e) for e in _operands(expr)]
    return lambda bound, builder, make: make(op, tuple([p(bound, builder, make) for p in parts]))


def is_leaf(node: Node) -> bool:
    """Whether the node is a constant or a captured array."""
    return node.op is CONSTANT or node.op is CAPTURED
