"""Python expressions with their precedence, so that parentheses stand only where needed."""

from typing import Any, NamedTuple

import numpy as np

ATOM = 10.0
UNARY = 6.0
POWER = 7.0
COMPARISON = 1.0


class Expression(NamedTuple):
    """Source text and the precedence of its outermost operator."""

    text: str
    precedence: float = ATOM

    def within(self, precedence: float) -> str:
        """The text, in parentheses if it binds less tightly than its surroundings."""
        return f"({self.text})" if self.precedence < precedence else self.text


def infix(symbol: str, precedence: float, left: Expression, right: Expression) -> Expression:
    """A binary operator applied to two expressions."""
    if symbol == "**":          # binds to the right, and tighter than a sign on its left
        return Expression(f"{left.within(POWER + 1)} ** {right.within(UNARY)}", POWER)
    if symbol in "+-" and right.precedence == UNARY and right.text.startswith("-"):
        symbol = "-" if symbol == "+" else "+"              # x + (−y) is x − y
        right = Expression(right.text[1:], ATOM if right.text[1:].isalnum() else UNARY)
    low = precedence + 0.5 if precedence == COMPARISON else precedence
    right_text = right.within(precedence + 0.5)
    if right_text.startswith("-"):
        right_text = f"({right_text})"
    return Expression(f"{left.within(low)} {symbol} {right_text}", precedence)


def prefix(symbol: str, operand: Expression) -> Expression:
    """A sign in front of an expression."""
    text = operand.within(UNARY)
    return Expression(f"{symbol}({text})" if text.startswith(symbol) else f"{symbol}{text}", UNARY)


def bare(text: str) -> str:
    """The text without parentheses around the whole of it."""
    depth = 0
    for i, c in enumerate(text):
        depth += (c in "([{") - (c in ")]}")
        if depth == 0 and i < len(text) - 1:
            return text
    return text[1:-1] if text.startswith("(") else text


def number(value: Any) -> Expression:
    """A Python number, exactly: every float reads back as itself."""
    if isinstance(value, np.ndarray):
        value = value[()]
    if isinstance(value, (bool, np.bool_)):
        return Expression(str(bool(value)))
    if isinstance(value, np.clongdouble) and complex(value) != value:
        return infix("+", 4, number(value.real), infix("*", 5, Expression("1j"),
                                                       number(value.imag)))
    if isinstance(value, np.longdouble) and float(value) != value and not np.isnan(value):
        return Expression(f'np.longdouble("{value}")')
    if isinstance(value, (complex, np.complexfloating)):
        value = complex(value)
        plain = np.isfinite(value) and np.copysign(1.0, value.real) > 0
        return Expression(f"({value!r})" if plain and not repr(value).startswith("(")
                          else repr(value) if plain
                          else f"complex({number(value.real).text}, {number(value.imag).text})")
    if isinstance(value, (int, np.integer)):
        return Expression(str(int(value)), UNARY if value < 0 else ATOM)
    value = float(value)
    if np.isnan(value):
        return Expression("np.nan")
    if np.isinf(value):
        return Expression("np.inf" if value > 0 else "-np.inf", ATOM if value > 0 else UNARY)
    return Expression(repr(value), UNARY if np.signbit(value) else ATOM)
