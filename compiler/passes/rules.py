"""The rewrite rows. Each is tested in its class at special values.

``scale(t, p)`` is a product inside derivative code, whose rounding is nobody's contract; rows
on it may merge constants. Rows on the user's own arithmetic keep its bits or improve them.
"""

from .pattern import Rule, constant_number, rule

EXACT: tuple[Rule, ...] = (
    rule("EXACT", "x * 1 -> x"),
    rule("EXACT", "x / 1 -> x"),
    rule("EXACT", "x ** 1 -> x"),
    rule("EXACT", "x - 0 -> x"),
    rule("EXACT", "x + -0.0 -> x"),
    rule("EXACT", "x * -1 -> -x"),
    rule("EXACT", "x / -1 -> -x"),
    rule("EXACT", "neg(neg(x)) -> x"),
    rule("EXACT", "x + neg(y) -> x - y"),
    rule("EXACT", "x - neg(y) -> x + y"),
    rule("EXACT", "neg(x) * neg(y) -> x * y"),
    rule("EXACT", "neg(x) / neg(y) -> x / y"),
    rule("EXACT", "scale(x, 1) -> x"),
    rule("EXACT", "scale(1, x) -> x"),
    rule("EXACT", "scale(x, -1) -> -x"),
    rule("EXACT", "scale(-1, x) -> -x"),
    rule("EXACT", "maximum(x, x) -> x"),
    rule("EXACT", "minimum(x, x) -> x"),
    rule("EXACT", "conj(conj(x)) -> x"),
    rule("EXACT", "x + x -> scale(2, x)"),
)

STABLE: tuple[Rule, ...] = (
    # −0 is not kept
    rule("STABLE", "x + 0 -> x"),
    rule("STABLE", "0 - x -> -x"),
    rule("STABLE", "neg(x - y) -> y - x"),
    # logarithms and exponentials that would overflow or cancel
    rule("STABLE", "log(exp(x)) -> x"),
    rule("STABLE", "log(exp(x) + exp(y)) -> logaddexp(x, y)"),
    rule("STABLE", "log(1 + exp(x)) -> logaddexp(0, x)"),            # log(e⁰ + eˣ)
    rule("STABLE", "log1p(exp(x)) -> logaddexp(0, x)"),
    rule("STABLE", "log(1 + x) -> log1p(x)"),
    rule("STABLE", "exp(x) - 1 -> expm1(x)"),
    rule("STABLE", "log(expit(x)) -> log_expit(x)"),
    rule("STABLE", "1 / (1 + exp(neg(x))) -> expit(x)"),
    rule("STABLE", "1 / (1 + exp(x)) -> expit(neg(x))"),
    rule("STABLE", "exp(x) / (1 + exp(x)) -> expit(x)"),
    rule("STABLE", "1 - expit(x) -> expit(neg(x))"),                 # 1 − σ(x) = σ(−x)
    rule("STABLE", "log1p(neg(expit(x))) -> log_expit(neg(x))"),
    rule("STABLE", "neg(log_expit(neg(x))) -> logaddexp(0, x)"),     # −log σ(−x) = log(1 + eˣ)
    rule("STABLE", "sqrt(x) * sqrt(x) -> x", lambda b: _is_square_sum(b["x"])),
    rule("STABLE", "sqrt(x) ** 2 -> x", lambda b: _is_square_sum(b["x"])),
    # derivative products: signs and constants outwards, one division instead of two roundings
    rule("STABLE", "scale(neg(t), p) -> neg(scale(t, p))"),
    rule("STABLE", "scale(t, neg(p)) -> neg(scale(t, p))"),
    rule("STABLE", "scale(t, 1 / p) -> t / p"),
    rule("STABLE", "scale(t, c / p) -> scale(c, t) / p"),
    rule("STABLE", "scale(1 / c, p) -> p / c"),
    rule("STABLE", "scale(p / c, q) -> scale(p, q) / c"),
    rule("STABLE", "scale(t, p / c) -> scale(t, p) / c"),
    rule("STABLE", "scale(x * y, 1 / x) -> y"),
    rule("STABLE", "scale(c, scale(d, x)) -> scale(scale(c, d), x)"),
    rule("STABLE", "scale(scale(c, x), d) -> scale(scale(c, d), x)"),
    rule("STABLE", "scale(c, d * x) -> scale(scale(c, d), x)"),
    rule("STABLE", "scale(c, x * d) -> scale(scale(c, d), x)"),
    rule("STABLE", "scale(t, c * x) -> scale(scale(c, t), x)", lambda b: not _is_number(b["t"])),
    rule("STABLE", "scale(x, c) -> scale(c, x)", lambda b: not _is_number(b["x"])),
)


def _is_number(node):  # type: ignore[no-untyped-def]
    return constant_number(node) is not None


def _is_square_sum(node):  # type: ignore[no-untyped-def]
    """Whether a value is a square or a sum of squares, and so cannot be negative."""
    if node.op.name == "sum":
        return _is_square_sum(node.args[0])
    if node.op.name in ("mul", "scale"):
        return node.args[0] is node.args[1] and node.type.dtype.kind == "f"
    if node.op.name == "add":
        return all(_is_square_sum(a) for a in node.args)
    if node.op.name in ("square", "abs"):
        return node.type.dtype.kind == "f"
    return node.op.name == "power" and constant_number(node.args[1]) in (2, 4)


SIMPLIFY = EXACT + STABLE
