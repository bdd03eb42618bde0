"""Patterns written as expressions: ``"log(1 + x)"`` matches and builds graphs.

Single letters are variables; ``c``, ``d``, ``k`` match constant numbers only, ``p`` anything;
a repeated variable must be the same node. Numbers match constants of that value. Operators and
calls name rows of the table. Operands of commutative rows match in either order.
"""

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..graph import CAPTURED, CONSTANT, Builder, Node
from ..ops.row import Op
from ..ops.table import TABLE

Exactness = Literal["EXACT", "STABLE", "FAST"]
Bindings = dict[str, Node]
Make = Callable[[Op, tuple[Node, ...]], Node]

_OPERATORS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "power",
              ast.MatMult: "matmul"}
_CONSTANTS = frozenset("cdk")


@dataclass(frozen=True)
class Rule:
    """A rewrite ``pattern → replacement`` with its exactness class.

    EXACT: the same bits, NaN, infinities and −0 included. STABLE: never less accurate.
    FAST: reassociates.
    """

    pattern: ast.expr
    replacement: ast.expr
    exactness: Exactness
    text: str
    when: Callable[[Bindings], bool] | None = None

    @property
    def root(self) -> Op:
        """The operator at the pattern's root."""
        return _op_of(self.pattern)


def rule(exactness: Exactness, text: str, when: Callable[[Bindings], bool] | None = None) -> Rule:
    """A rule from ``"pattern -> replacement"``."""
    left, right = text.split("->")
    return Rule(_parse(left), _parse(right), exactness, text, when)


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


def match(expr: ast.expr, node: Node, bound: Bindings) -> bool:
    """Whether the node has the form of the pattern; fills ``bound``."""
    literal = _literal(expr)
    if literal is not None:
        value = constant_number(node)
        return value is not None and not np.iscomplexobj(value) and float(value) == literal and \
            bool(np.signbit(float(value)) == np.signbit(literal))
    if isinstance(expr, ast.Name):
        if expr.id in _CONSTANTS and constant_number(node) is None:
            return False
        return bound.setdefault(expr.id, node) is node
    op = _op_of(expr)
    if node.op is not op:
        return False
    operands = _operands(expr)
    orders = [node.args]
    if op.commutative and len(node.args) == 2:
        orders.append(node.args[::-1])
    for args in orders:
        trial = dict(bound)
        if all(match(e, a, trial) for e, a in zip(operands, args, strict=True)):
            bound.update(trial)
            return True
    return False


def build(expr: ast.expr, bound: Bindings, builder: Builder, make: Make) -> Node:
    """The node a replacement stands for."""
    literal = _literal(expr)
    if literal is not None:
        return builder.constant(literal)
    if isinstance(expr, ast.Name):
        return bound[expr.id]
    args = tuple(build(e, bound, builder, make) for e in _operands(expr))
    return make(_op_of(expr), args)


def is_leaf(node: Node) -> bool:
    """Whether the node is a constant or a captured array."""
    return node.op is CONSTANT or node.op is CAPTURED
