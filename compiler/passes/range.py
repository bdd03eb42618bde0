"""What is known of a value without computing it: its sign, and whether it may be infinite."""

import numpy as np

from ..graph import CAPTURED, CONSTANT, INPUT, Node
from ..ops import arithmetic, comparison, contraction, indexing, layout, reduction, transcendental
from .rewriter import Rewriter, is_zero

_DEPTH = 40                 # levels that are looked through; beyond, nothing is known

_TAME = frozenset((
    INPUT, CAPTURED, arithmetic.add, arithmetic.sub, arithmetic.mul, arithmetic.scale,
    arithmetic.neg, arithmetic.positive, arithmetic.convert, arithmetic.as_float,
    comparison.where, comparison.maximum, comparison.minimum, comparison.absolute,
    comparison.sign, comparison.slope, comparison.floor, comparison.ceil, comparison.rint,
    transcendental.sin, transcendental.cos, transcendental.tanh, transcendental.arctan,
    transcendental.expit,
    transcendental.exp, transcendental.exp2, transcendental.expm1, transcendental.sinh,
    transcendental.cosh, transcendental.hypot, transcendental.square, transcendental.root,
    arithmetic.ratio, reduction.norm, reduction.logsumexp, transcendental.real,
    transcendental.imag, transcendental.conj,
    layout.reshape, layout.transpose, layout.broadcast_to, layout.roll, layout.stack,
    layout.concatenate, layout.pad, layout.tril, layout.triu, indexing.getitem, indexing.setitem,
    indexing.scatter_add, reduction.sum, reduction.max, reduction.min, contraction.matmul,
    contraction.tensordot, contraction.einsum))


def may_be_infinite(s: Rewriter, node: Node, depth: int = 0) -> bool:
    """Whether finite inputs may make the value infinite or NaN, other than by overflow of sums."""
    found = s.infinite.get(node)
    if found is None:
        found = s.infinite[node] = _may_be_infinite(s, node, depth)
    return found


def _may_be_infinite(s: Rewriter, node: Node, depth: int) -> bool:
    if node.op is CONSTANT:
        return not np.all(np.isfinite(node.value))
    if node.type.dtype.kind not in "fc":
        return False
    if depth > _DEPTH:
        return True
    args = node.args
    if node.op is arithmetic.div and not is_nonzero(args[1]):
        return True
    if node.op is transcendental.sqrt and not is_nonnegative(args[0]):
        return True
    if node.op is arithmetic.power and not (
            args[1].op is CONSTANT and np.all(np.asarray(args[1].value) >= 0)
            and np.all(np.mod(args[1].value, 1) == 0)):
        return True
    if node.op not in _TAME and node.op not in (arithmetic.div, arithmetic.power,
                                                transcendental.sqrt):
        return True
    return any(may_be_infinite(s, a, depth + 1) for a in args)


# Rows that keep the sign of their operand, and vanish where it does.
_KEEP_SIGN = frozenset((
    "expm1", "log1p", "sinh", "tanh", "arctan", "arcsinh", "arcsin", "arctanh", "cbrt", "sign",
    "slope", "erf", "erfi", "positive", "convert", "as_float", "deg2rad", "rad2deg",
    "radians", "degrees"))


def is_nonnegative(node: Node, depth: int = 0) -> bool:
    """Whether the value is certainly not negative (NaN apart)."""
    if depth > 8 or node.type.dtype.kind == "c":
        return False
    args = node.args
    match node.op.name:
        case "constant":
            return bool(np.all(np.asarray(node.value) >= 0))
        case "abs" | "square" | "sqrt" | "exp" | "exp2" | "cosh" | "hypot" | "norm" | "expit" | \
                "root" | "flat" | "flat_power":
            return True
        case "power" if args[1].op is CONSTANT:
            even = bool(np.all(np.mod(args[1].value, 2) == 0))
            return even or is_nonnegative(args[0], depth + 1)
        case "add":
            x, y = args
            return exceeds(x, y) or exceeds(y, x) or all(
                is_nonnegative(a, depth + 1) for a in args)
        case "sub":
            return exceeds(*args)
        case "stack" | "concatenate":
            return all(is_nonnegative(a, depth + 1) for a in args)
        case "mul" | "scale" | "div" | "neg":
            return _has_no_sign(node, depth)
        case "sum" | "broadcast_to" | "reshape" | "transpose" | "getitem" | "max" | "min" | \
                "cumsum" | "prod" | "reciprocal":
            return is_nonnegative(args[0], depth + 1)
        case "real" if args[0].op in (arithmetic.mul, arithmetic.scale):
            z, conjugate = args[0].args
            return conjugate.op is transcendental.conj and conjugate.args[0] is z
        case "matmul" | "tensordot" | "einsum":
            return _is_sum_of_squares(node) or all(is_nonnegative(a, depth + 1) for a in args)
        case "maximum":
            return any(is_nonnegative(a, depth + 1) for a in args)
        case "minimum":
            return all(is_nonnegative(a, depth + 1) for a in args)
        case "where":
            return all(is_nonnegative(a, depth + 1) for a in args[1:])
    return node.op.name in _KEEP_SIGN and is_nonnegative(args[0], depth + 1)


def exceeds(length: Node, x: Node) -> bool:
    """Whether a length is at least as large as x, of either sign."""
    if length.op is layout.reshape and length.type.size == 1:
        (length,) = length.args
    if length.op not in (comparison.absolute, transcendental.hypot):
        return False
    bare = x.args[0] if x.op is arithmetic.neg else x
    return bare in length.args


def _is_sum_of_squares(node: Node) -> bool:
    """Whether a contraction multiplies each element of an array by itself."""
    if len(node.args) != 2 or node.args[0] is not node.args[1]:
        return False
    if node.op is contraction.matmul:
        return bool(node.type.shape == ())
    if node.op is contraction.tensordot:
        first, second = node.params[0]
        return bool(first == second and node.type.shape == ())
    first, second = node.params[0].split("->")[0].split(",")
    return bool(first == second)


def _has_no_sign(node: Node, depth: int) -> bool:
    """Whether the signs of a product's factors cancel: u·tanh(u) is nowhere negative."""
    stack, odd, positive, looked_at = [node], set[Node](), True, 0
    while stack:
        n = stack.pop()
        looked_at += 1
        if looked_at > 16:
            return False
        if n.op.name in ("mul", "scale", "div"):
            stack += n.args
        elif n.op.name == "neg":
            positive = not positive
            stack += n.args
        elif n.op.name in _KEEP_SIGN or (n.op is arithmetic.power and _is_odd(n.args[1])):
            stack.append(n.args[0])
        elif not is_nonnegative(n, depth + 1):
            if n.op is CONSTANT and np.all(np.asarray(n.value) <= 0):
                positive = not positive
            else:
                odd ^= {n}
    return positive and not odd


def _is_odd(exponent: Node) -> bool:
    return exponent.op is CONSTANT and bool(np.all(np.mod(exponent.value, 2) == 1))


def is_nonzero(node: Node, depth: int = 0) -> bool:
    """Whether the value is certainly not zero; a count has something to count."""
    if node.type.dtype.kind in "iu" and node.op is not CONSTANT:
        return True
    if depth > 8:
        return False
    args = node.args
    match node.op.name:
        case "constant":
            return bool(np.all(node.value))
        case "exp" | "exp2" | "cosh":
            return True
        case "hypot":
            return any(is_nonzero(a, depth + 1) for a in args)
        case "add":
            return all(is_nonnegative(a) for a in args) and any(
                is_nonzero(a, depth + 1) for a in args)
        case "mul" | "scale":
            return all(is_nonzero(a, depth + 1) for a in args)
        case "sum" | "max" | "min" | "prod":
            return is_nonnegative(args[0]) and is_nonzero(args[0], depth + 1)
        case "sqrt" | "abs" | "neg" | "square" | "broadcast_to" | "reshape" | "transpose" | \
                "getitem" | "convert":
            return is_nonzero(args[0], depth + 1)
        case "maximum":
            return any(is_nonnegative(a) and is_nonzero(a, depth + 1) for a in args)
        case "where":
            return is_nonzero(args[1], depth + 1) and (
                is_nonzero(args[2], depth + 1) or replaces_zero(node) is not None)
    return False


def replaces_zero(node: Node) -> Node | None:
    """``x`` if the node is ``where(x == 0, c, x)``."""
    if node.op is not comparison.where or node.args[0].op is not comparison.equal:
        return None
    condition, _, other = node.args
    return other if other in condition.args and any(map(is_zero, condition.args)) else None
