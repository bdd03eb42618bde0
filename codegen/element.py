"""Expressions on one element, in C and CUDA: rows' templates with parentheses where needed."""

import re
from typing import Any

import numpy as np

from ..compiler.ops import arithmetic, comparison
from ..compiler.passes.computable import template
from .dialect import C, Dialect
from .expression import ATOM, UNARY, Expression
from .kernel import Const, DType, Index, Let

_SYMBOLS = (("?", 1.0), ("||", 1.4), ("&&", 1.5), ("!=", 2.5), ("==", 2.5), (" < ", 3.0),
            (" - ", 4.0), (" + ", 4.0), (" * ", 5.0), (" / ", 5.0))
_INFIX = {"+": 4.0, "-": 4.0, "*": 5.0, "/": 5.0, "<": 3.0, "<=": 3.0, ">": 3.0, ">=": 3.0,
          "==": 2.5, "!=": 2.5, "&": 2.2, "^": 2.1, "|": 2.0}
_CALL = re.compile(r"\w+(\{f\})?\([^()]*\)$")
_PLACE = re.compile(r"\(?\{(\d)\}")


def literal(value: Any, dtype: DType, dialect: Dialect = C) -> Expression:
    """A number, exactly."""
    if dtype.kind == "b":
        return Expression("true" if value else "false")
    if dtype.kind == "i":
        if value == np.iinfo(np.int64).min:
            return Expression("(-9223372036854775807 - 1)")
        return Expression(str(int(value)), UNARY if value < 0 else ATOM)
    suffix = "f" if dtype == np.float32 else ""
    if np.isnan(value):
        return Expression(dialect.special["nan" + suffix])
    if np.isinf(value):
        text = dialect.special["inf" + suffix]
        return Expression(text if value > 0 else f"-{text}", ATOM if value > 0 else UNARY)
    text = str(dtype.type(value))
    if "e" not in text and "." not in text:
        text += ".0"
    return Expression(text + suffix, UNARY if np.signbit(value) else ATOM)


def index_expression(index: Index) -> str:
    """``2 * i + j - 1``."""
    parts = [n if k == 1 else f"-{n}" if k == -1 else f"{k} * {n}" for n, k in index.terms]
    parts.sort(key=lambda part: part.startswith("-"))
    if index.offset or not parts:
        parts.append(str(index.offset))
    return " + ".join(parts).replace("+ -", "- ")


def template_of(let: Let) -> str:
    """The row's template for these operands."""
    kind = let.args[1].dtype.kind if let.op is comparison.where else \
        let.args[0].dtype.kind if let.args else "f"
    values = tuple(a.value.item() if isinstance(a, Const) else None for a in let.args) \
        if callable(let.op.c) else ()
    found = template(let.op, kind, values)
    assert found is not None, let
    return found


def times_used(let: Let) -> list[int]:
    """How often each operand stands in the expression."""
    if let.op is arithmetic.convert:
        return [1]
    text = template_of(let)
    if text == "infix":
        return [1] * len(let.args)
    return [text.count(f"{{{i}}}") for i in range(len(let.args))]


def is_conditional(let: Let) -> bool:
    """Whether some operand may not be evaluated."""
    return let.op is not arithmetic.convert and any(
        s in template_of(let) for s in ("?", "&&", "||"))


def calls(let: Let) -> bool:
    """Whether the expression calls a function."""
    return let.op is not arithmetic.convert and "(" in template_of(let)


def express(let: Let, args: list[Expression], dialect: Dialect) -> Expression:
    """An application as an expression of its operands' expressions."""
    if let.op is arithmetic.convert:
        if let.dtype.kind == "b":
            return Expression(f"{args[0].within(3.0)} != 0", 2.5)
        return Expression(f"({dialect.types[let.dtype.name]}){args[0].within(UNARY + 0.5)}", UNARY)
    text = template_of(let)
    if text == "infix":
        assert let.op.infix is not None
        symbol = let.op.infix.symbol
        if len(args) == 1:
            return Expression(f"{symbol}{args[0].within(UNARY + 0.5)}", UNARY)
        return infix(symbol, args[0], args[1])
    if text == "{0}":
        return args[0]
    dtype = let.args[-1].dtype
    precedence = ATOM if _CALL.match(text) else next(
        (p for s, p in _SYMBOLS if s in text), UNARY if text[0] in "!-" else ATOM)

    def place(found: re.Match[str]) -> str:
        inside = args[int(found[1])]
        if found[0].startswith("("):
            return f"({inside.text}"
        after = text[found.end():found.end() + 1]
        before = text[max(0, found.start() - 2):found.start()]
        bare = after in (")", ",") and before == ", "
        return inside.text if bare else inside.within(UNARY + 0.5)
    text = _PLACE.sub(place, text.replace("{t}", dialect.types[dtype.name]).replace(
        "{f}", "f" if dtype == np.float32 else ""))
    return Expression(text, precedence)


def infix(symbol: str, left: Expression, right: Expression) -> Expression:
    """Two expressions joined by an operator."""
    p = _INFIX[symbol]
    text = right.within(p + 0.25)
    if text.startswith("-"):
        text = f"({text})"
    low = p if p >= 4.0 else p + 0.25
    if symbol in "&^|":
        low, text = ATOM, right.within(ATOM)
    return Expression(f"{left.within(low)} {symbol} {text}", p)
