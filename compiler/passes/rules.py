"""The rewrite rows. Each is tested in its class at special values.

``scale(t, p)`` is a product inside derivative code, whose rounding is nobody's contract; rows
on it may merge constants. Rows on the user's own arithmetic keep its bits or improve them.
Conditions keep integers out, whose signs and sums wrap around and whose quotients are floats,
and complex numbers where branch cuts, infinities or signed zeros forbid the rewrite.
"""

from ..graph import CONSTANT, Node
from .pattern import Bindings, Rule, constant_number, rule
from .range import is_nonnegative


def _all_real(bound: Bindings) -> bool:
    return all(node.type.dtype.kind != "c" for node in bound.values())


def _all_floats(bound: Bindings) -> bool:
    return all(_is_of(node, "f") for node in bound.values())


def _all_inexact(bound: Bindings) -> bool:
    return all(_is_of(node, "fc") for node in bound.values())


def _is_of(node: Node, kinds: str) -> bool:
    """Whether a node is of these kinds; a plain number takes the kind of what it meets."""
    return node.type.dtype.kind in kinds or (node.type.weak and node.op is CONSTANT)


def _is_real(node: Node) -> bool:
    return bool(node.type.dtype.kind == "f")


def _x_is_nonnegative(bound: Bindings) -> bool:
    return _is_real(bound["x"]) and is_nonnegative(bound["x"])


def _t_is_no_number(bound: Bindings) -> bool:
    return constant_number(bound["t"]) is None


def _x_is_no_number(bound: Bindings) -> bool:
    return constant_number(bound["x"]) is None


EXACT: tuple[Rule, ...] = (
    rule("EXACT", "x + x -> scale(2, x)", _all_real),
    rule("EXACT", "x * 1 -> x", _all_real),
    rule("EXACT", "x / 1 -> x", _all_real),
    rule("EXACT", "x ** 1 -> x", _all_real),
    rule("EXACT", "x - 0 -> x"),
    rule("EXACT", "x + -0.0 -> x", _all_real),
    rule("EXACT", "x * -1 -> -x", _all_real),
    rule("EXACT", "x / -1 -> -x", _all_real),
    rule("EXACT", "neg(neg(x)) -> x"),
    rule("EXACT", "x + neg(y) -> x - y", _all_inexact),
    rule("EXACT", "x - neg(y) -> x + y", _all_inexact),
    rule("EXACT", "neg(x) * neg(y) -> x * y", _all_inexact),
    rule("EXACT", "neg(x) / neg(y) -> x / y", _all_floats),
    rule("EXACT", "neg(x) * y -> neg(x * y)", _all_floats),
    rule("EXACT", "neg(x) / y -> neg(x / y)", _all_floats),
    rule("EXACT", "x / neg(y) -> neg(x / y)", _all_floats),
    rule("EXACT", "scale(x, 1) -> x"),
    rule("EXACT", "scale(1, x) -> x"),
    rule("EXACT", "scale(x, -1) -> -x", _all_inexact),
    rule("EXACT", "scale(-1, x) -> -x", _all_inexact),
    rule("EXACT", "maximum(x, x) -> x"),
    rule("EXACT", "minimum(x, x) -> x"),
    rule("EXACT", "conj(conj(x)) -> x"),
    rule("EXACT", "conj(x) -> x", _all_floats),
)

STABLE: tuple[Rule, ...] = (
    # −0 is not kept
    rule("STABLE", "x + 0 -> x"),
    rule("STABLE", "0 - x -> -x"),
    # logarithms and exponentials that would overflow or cancel
    rule("STABLE", "log(exp(x)) -> x", _all_floats),
    rule("STABLE", "log(exp(x) + exp(y)) -> logaddexp(x, y)", _all_floats),
    rule("STABLE", "log(1 + exp(x)) -> logaddexp(0, x)", _all_floats),          # log(e⁰ + eˣ)
    rule("STABLE", "log1p(exp(x)) -> logaddexp(0, x)", _all_floats),
    rule("STABLE", "log(1 + x) -> log1p(x)", _all_floats),
    rule("STABLE", "exp(x) - 1 -> expm1(x)", _all_floats),
    rule("STABLE", "log(expit(x)) -> log_expit(x)", _all_floats),
    rule("STABLE", "1 / (1 + exp(neg(x))) -> expit(x)", _all_floats),
    rule("STABLE", "1 / (1 + exp(x)) -> expit(neg(x))", _all_floats),
    rule("STABLE", "exp(x) / (1 + exp(x)) -> expit(x)", _all_floats),
    rule("STABLE", "y / (1 + exp(neg(x))) -> y * expit(x)", _all_floats),
    rule("STABLE", "y / (1 + exp(x)) -> y * expit(neg(x))", _all_floats),
    rule("STABLE", "(1 + exp(neg(x))) ** -1 -> expit(x)", _all_floats),
    rule("STABLE", "0.5 * (1 + tanh(x / 2)) -> expit(x)", _all_floats),
    rule("STABLE", "0.5 * (1 + tanh(0.5 * x)) -> expit(x)", _all_floats),
    rule("STABLE", "(1 + tanh(x / 2)) / 2 -> expit(x)", _all_floats),
    rule("STABLE", "1 / exp(x) -> exp(neg(x))", _all_floats),
    rule("STABLE", "1 - expit(x) -> expit(neg(x))", _all_floats),            # 1 − σ(x) = σ(−x)
    rule("STABLE", "log1p(neg(expit(x))) -> log_expit(neg(x))", _all_floats),
    rule("STABLE", "neg(log_expit(neg(x))) -> logaddexp(0, x)", _all_floats), # −log σ(−x)
    rule("STABLE", "sqrt(x) * sqrt(x) -> x", _x_is_nonnegative),
    rule("STABLE", "sqrt(x) ** 2 -> x", _x_is_nonnegative),
    rule("STABLE", "cbrt(x) ** 3 -> x", _all_floats),
    # what is left of x above or below y
    rule("STABLE", "x - maximum(x, y) -> minimum(x - y, 0)", _all_floats),
    rule("STABLE", "x - minimum(x, y) -> maximum(x - y, 0)", _all_floats),
    rule("STABLE", "maximum(x, y) - x -> maximum(y - x, 0)", _all_floats),
    rule("STABLE", "minimum(x, y) - x -> minimum(y - x, 0)", _all_floats),
    rule("STABLE", "x - abs(x) -> 2 * minimum(x, 0)", _all_floats),
    rule("STABLE", "abs(x) - x -> -2 * minimum(x, 0)", _all_floats),
    rule("STABLE", "x + abs(x) -> 2 * maximum(x, 0)", _all_floats),
    # derivative products: signs and constants outwards, one division instead of two roundings
    rule("STABLE", "scale(neg(t), p) -> neg(scale(t, p))", _all_inexact),
    rule("STABLE", "scale(t, neg(p)) -> neg(scale(t, p))", _all_inexact),
    rule("STABLE", "scale(x * y, 1 / x) -> y"),
    rule("STABLE", "scale(t, 1 / p) -> t / p"),
    rule("STABLE", "scale(t, c / p) -> scale(c, t) / p"),
    rule("STABLE", "scale(1 / p, t) -> t / p"),
    rule("STABLE", "scale(p / c, q) -> scale(p, q) / c"),
    rule("STABLE", "scale(t, p / c) -> scale(t, p) / c"),
    rule("STABLE", "scale(c, scale(d, x)) -> scale(scale(c, d), x)"),
    rule("STABLE", "scale(c, scale(d, x) / y) -> scale(scale(c, d), x) / y"),
    rule("STABLE", "scale(c, scale(d / y, x)) -> scale(scale(c, d) / y, x)"),
    rule("STABLE", "scale(scale(c, x), d) -> scale(scale(c, d), x)"),
    rule("STABLE", "scale(c, d * x) -> scale(scale(c, d), x)"),
    rule("STABLE", "scale(t, c * x) -> scale(scale(c, t), x)", _t_is_no_number),
    rule("STABLE", "scale(x, c) -> scale(c, x)", _x_is_no_number),
)

SIMPLIFY = EXACT + STABLE
