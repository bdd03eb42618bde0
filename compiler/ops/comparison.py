"""Comparison, logic, selection, sign and rounding.

Ties of max and min split evenly, and ``|x|′(0) = 0``, so that identities such as
``max(x, y) + min(x, y) = x + y`` and ``|x| = max(x, −x)`` keep their derivatives.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from .arithmetic import scale
from .flow import Gather, elements, numbers
from .row import (
    General,
    Infix,
    Linear,
    Op,
    elementwise,
    elementwise_type,
    piecewise_constant,
)

less = piecewise_constant("less", np.less, 2, infix=Infix("<", 1), c="infix")
less_equal = piecewise_constant("less_equal", np.less_equal, 2, infix=Infix("<=", 1), c="infix")
greater = piecewise_constant("greater", np.greater, 2, infix=Infix(">", 1), c="infix")
greater_equal = piecewise_constant("greater_equal", np.greater_equal, 2, infix=Infix(">=", 1),
                                   c="infix")
equal = piecewise_constant("equal", np.equal, 2, infix=Infix("==", 1), commutative=True, c="infix")
not_equal = piecewise_constant("not_equal", np.not_equal, 2, infix=Infix("!=", 1),
                               commutative=True, c="infix")

logical_and = piecewise_constant("logical_and", np.logical_and, 2, c="{0} && {1}")
logical_or = piecewise_constant("logical_or", np.logical_or, 2, c="{0} || {1}")
logical_xor = piecewise_constant("logical_xor", np.logical_xor, 2, c="!{0} != !{1}")
logical_not = piecewise_constant("logical_not", np.logical_not, c="!{0}")
BITS = ((0, 7),)
bitwise_and = piecewise_constant("bitwise_and", np.bitwise_and, 2, infix=Infix("&", 3),
                                 domain=BITS * 2, c="infix")
bitwise_or = piecewise_constant("bitwise_or", np.bitwise_or, 2, infix=Infix("|", 2),
                                domain=BITS * 2, c="infix")
bitwise_xor = piecewise_constant("bitwise_xor", np.bitwise_xor, 2, infix=Infix("^", 2.5),
                                 domain=BITS * 2, c="infix")
invert = piecewise_constant("invert", np.invert, infix=Infix("~", 6), domain=BITS)
left_shift = piecewise_constant("left_shift", np.left_shift, 2, infix=Infix("<<", 3.5),
                                domain=BITS * 2)
right_shift = piecewise_constant("right_shift", np.right_shift, 2, infix=Infix(">>", 3.5),
                                 domain=BITS * 2)
bitwise_count = piecewise_constant("bitwise_count", np.bitwise_count, domain=BITS)
gcd = piecewise_constant("gcd", np.gcd, 2, domain=BITS * 2)
lcm = piecewise_constant("lcm", np.lcm, 2, domain=BITS * 2)

isnan = piecewise_constant("isnan", np.isnan, c="{0} != {0}")
isinf = piecewise_constant("isinf", np.isinf, c="{0} == {0} && {0} - {0} != 0")
isfinite = piecewise_constant("isfinite", np.isfinite, c="{0} - {0} == 0")
signbit = piecewise_constant("signbit", np.signbit, c=lambda kind, values:
                             "signbit({0}) != 0" if kind == "f" else "{0} < 0")

floor = piecewise_constant("floor", np.floor, c="floor{f}({0})")
ceil = piecewise_constant("ceil", np.ceil, c="ceil{f}({0})")
trunc = piecewise_constant("trunc", np.trunc, c="trunc{f}({0})")
rint = piecewise_constant("rint", np.rint, c="rint{f}({0})")
floor_divide = piecewise_constant("floor_divide", np.floor_divide, 2, infix=Infix("//", 5),
                                  domain=((-2.0, 2.0), (0.6, 2.0)), c="floored{f}({0}, {1})")
exponent = piecewise_constant("exponent", lambda x: np.frexp(x)[1],
                              python=lambda args, params, types: f"np.frexp({args[0]})[1]")
spacing = piecewise_constant("spacing", np.spacing)


def _select_row(name: Any, call: Any, wins: Any, holds: Any, c: str) -> Any:
    """Row of a choice between two operands; ties take the mean.

    Args:
        name: of the row.
        call: NumPy's function.
        wins: where the first operand is the result and the second is not.
        holds: where the first operand is the result, ties included.
        c: the choice in C.
    """
    def half(x: Any, y: Any, t: Any) -> Any:
        return np.where(x == y, 0.5 * t, t)

    def of_first(t: Any, x: Any, y: Any) -> Any:
        return np.where(holds(x, y), half(x, y, t), 0.0)

    def of_second(t: Any, x: Any, y: Any) -> Any:
        return np.where(wins(x, y), 0.0, half(x, y, t))

    def jvp(args: Any, tangents: Any, out: Any) -> Any:
        (x, y), (tx, ty) = args, tangents
        if ty is None:
            return of_first(tx, x, y)
        if tx is None:
            return of_second(ty, x, y)
        return np.where(x == y, 0.5 * (tx + ty), np.where(wins(x, y), tx, ty))
    return Op(name, call, elementwise_type(call),
              General(jvp, transposes={0: of_first, 1: of_second}),
              python=f"np.{name}", domain=((-2.0, 2.0),) * 2, commutative=True, c=c)


maximum = _select_row("maximum", np.maximum, lambda x, y: x > y, lambda x, y: x >= y,
                      "{0} >= {1} || {0} != {0} ? {0} : {1}")
minimum = _select_row("minimum", np.minimum, lambda x, y: x < y, lambda x, y: x <= y,
                      "{0} <= {1} || {0} != {0} ? {0} : {1}")
# NaN loses in fmax and fmin.
fmax = _select_row("fmax", np.fmax, lambda x, y: (x > y) | np.isnan(y),
                   lambda x, y: (x >= y) | np.isnan(y),
                   "{0} >= {1} || {1} != {1} ? {0} : {1}")
fmin = _select_row("fmin", np.fmin, lambda x, y: (x < y) | np.isnan(y),
                   lambda x, y: (x <= y) | np.isnan(y),
                   "{0} <= {1} || {1} != {1} ? {0} : {1}")


def _absolute_jvp(args: Any, tangents: Any, out: Any) -> Any:
    (x,), (t,) = args, tangents
    if x.dtype.kind == "c":        # d|z| = Re(z̄ dz)/|z|
        return np.real(scale(t, np.conj(x) / np.where(out == 0, 1.0, out)))
    return scale(t, slope(x))


def _sign_jvp(args: Any, tangents: Any, out: Any) -> Any:
    (z,), (t,) = args, tangents
    if z.dtype.kind != "c":
        return None
    # d(z/|z|) = (dz − s·Re(s̄ dz))/|z|, with s = z/|z|: the part of dz across z
    return scale(t - out * np.real(scale(t, np.conj(out))), np.where(z == 0, 0.0, 1.0 / np.abs(z)))


sign = Op("sign", np.sign, elementwise_type(np.sign), General(_sign_jvp), python="np.sign",
          c="{0} > 0 ? 1 : {0} < 0 ? -1 : {0} == 0 ? 0 : {0}")
# The sign as the derivative of |x|: a row of its own, since its square is that of f(|x|)' slopes,
# the limit 1 even at zero, whereas the square of a sign in the user's function is zero there.
slope = replace(sign, name="slope")
absolute = Op("abs", np.absolute, elementwise_type(np.absolute, python_operator=True),
              General(_absolute_jvp), python="np.abs",
              c=lambda kind, values: "fabs{f}({0})" if kind == "f" else "{0} < 0 ? -{0} : {0}")
fabs = elementwise("fabs", np.fabs, lambda x, out: slope(x), c="fabs{f}({0})")
copysign = elementwise("copysign", np.copysign,
                       lambda x, y, out: np.copysign(1.0, x) * np.copysign(1.0, y), None,
                       c="copysign{f}({0}, {1})")
heaviside = elementwise("heaviside", np.heaviside, None, lambda x, y, out: x == 0,
                        c="{0} == 0 ? {1} : {0} < 0 ? 0 : {0} > 0 ? 1 : {0}")
nextafter = elementwise("nextafter", np.nextafter, 1.0, None, c="nextafter{f}({0}, {1})")


def _where_transpose(ct: Any, condition: Any, x: Any, y: Any) -> Any:
    return np.where(condition, ct, 0.0), np.where(condition, 0.0, ct)


def _where_flow(i: Any, types: Any, out: Any, known: Any) -> Any:
    condition = known(0)
    if condition is None or i == 0:
        return elements(i, types, out, known)
    taken = np.asarray(condition, bool) == (i == 1)
    return (Gather(np.where(np.broadcast_to(taken, out.shape),
                            np.broadcast_to(numbers(types[i].shape), out.shape), -1).ravel()),)


where = Op("where", np.where, elementwise_type(np.where), Linear(_where_transpose, (1, 2)),
           python="np.where", domain=((False, True), (-2.0, 2.0), (-2.0, 2.0)), flow=_where_flow,
           c="{0} ? {1} : {2}")
