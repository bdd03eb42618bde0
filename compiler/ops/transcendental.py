"""Exponentials, logarithms, trigonometric and hyperbolic functions, powers of one operand."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.special as special

from .arithmetic import power_in_c, ratio
from .row import Linear, Op, elementwise, elementwise_type

_LN2, _LN10 = math.log(2.0), math.log(10.0)
UNIT = ((-0.95, 0.95),)
POSITIVE = ((0.2, 3.0),)

def taylor(x: Any, coefficients: Sequence[float]) -> Any:
    """The polynomial with these coefficients, lowest first; differentiable to all orders."""
    total: Any = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        total = total * x + c
    return total


exp = elementwise("exp", np.exp, lambda x, out: out, c="exp{f}({0})")
exp2 = elementwise("exp2", np.exp2, lambda x, out: out * _LN2, c="exp2{f}({0})")
expm1 = elementwise("expm1", np.expm1, lambda x, out: np.exp(x), c="expm1{f}({0})")
log = elementwise("log", np.log, lambda x, out: 1.0 / x, domain=POSITIVE, c="log{f}({0})")
log2 = elementwise("log2", np.log2, lambda x, out: 1.0 / (x * _LN2), domain=POSITIVE,
                   c="log2{f}({0})")
log10 = elementwise("log10", np.log10, lambda x, out: 1.0 / (x * _LN10), domain=POSITIVE,
                    c="log10{f}({0})")
log1p = elementwise("log1p", np.log1p, lambda x, out: 1.0 / (1.0 + x), domain=POSITIVE,
                    c="log1p{f}({0})")
sqrt = elementwise("sqrt", np.sqrt, lambda x, out: 0.5 / out, domain=POSITIVE, c="sqrt{f}({0})")
# The square root of what is a sum of squares: a length, which has a corner at zero.
root = elementwise("root", np.sqrt, lambda x, out: ratio(0.5, out), domain=POSITIVE,
                   python="np.sqrt", expand=lambda x: np.sqrt(x), c="sqrt{f}({0})")
cbrt = elementwise("cbrt", np.cbrt, lambda x, out: 1.0 / (3.0 * out * out), domain=POSITIVE,
                   c="cbrt{f}({0})")
square = elementwise("square", np.square, lambda x, out: 2.0 * x, c="{0} * {0}")
reciprocal = elementwise("reciprocal", np.reciprocal, lambda x, out: -out * out, domain=POSITIVE,
                         c="1 / {0}")

sin = elementwise("sin", np.sin, lambda x, out: np.cos(x), c="sin{f}({0})",
                  work=30.0)
cos = elementwise("cos", np.cos, lambda x, out: -np.sin(x), c="cos{f}({0})",
                  work=30.0)
tan = elementwise("tan", np.tan, lambda x, out: 1.0 + out * out, domain=((-1.2, 1.2),),
                  c="tan{f}({0})")
arcsin = elementwise("arcsin", np.arcsin, lambda x, out: 1.0 / np.sqrt((1.0 - x) * (1.0 + x)),
                     domain=UNIT, c="asin{f}({0})")
arccos = elementwise("arccos", np.arccos, lambda x, out: -1.0 / np.sqrt((1.0 - x) * (1.0 + x)),
                     domain=UNIT, c="acos{f}({0})")
arctan = elementwise("arctan", np.arctan, lambda x, out: 1.0 / (1.0 + x * x), c="atan{f}({0})")
sinh = elementwise("sinh", np.sinh, lambda x, out: np.cosh(x), c="sinh{f}({0})")
cosh = elementwise("cosh", np.cosh, lambda x, out: np.sinh(x), c="cosh{f}({0})")
tanh = elementwise("tanh", np.tanh, lambda x, out: 1.0 - out * out, c="tanh{f}({0})")
arcsinh = elementwise("arcsinh", np.arcsinh, lambda x, out: 1.0 / (
    np.sqrt(1.0 + x * x) if x.dtype.kind == "c" else np.hypot(x, 1.0)), c="asinh{f}({0})")
arccosh = elementwise("arccosh", np.arccosh,
                      lambda x, out: 1.0 / (np.sqrt(x - 1.0) * np.sqrt(x + 1.0)),
                      domain=((1.1, 3.0),), c="acosh{f}({0})")
arctanh = elementwise("arctanh", np.arctanh, lambda x, out: 1.0 / ((1.0 - x) * (1.0 + x)),
                      domain=UNIT, c="atanh{f}({0})")
deg2rad = elementwise("deg2rad", np.deg2rad, math.pi / 180.0,
                      c="{0} * ({t})(3.141592653589793 / 180)")
rad2deg = elementwise("rad2deg", np.rad2deg, 180.0 / math.pi,
                      c="{0} * ({t})(180 / 3.141592653589793)")
radians = elementwise("radians", np.radians, math.pi / 180.0,
                      c="{0} * ({t})(3.141592653589793 / 180)")
degrees = elementwise("degrees", np.degrees, 180.0 / math.pi,
                      c="{0} * ({t})(180 / 3.141592653589793)")

# x/h twice rather than x/(x² + y²): neither overflows nor underflows.
arctan2 = elementwise("arctan2", np.arctan2,
                      lambda y, x, out: x / np.hypot(x, y) / np.hypot(x, y),
                      lambda y, x, out: -(y / np.hypot(x, y)) / np.hypot(x, y),
                      domain=((0.2, 2.0), (-2.0, 2.0)), c="atan2{f}({0}, {1})")
hypot = elementwise("hypot", np.hypot,
                    lambda x, y, out: ratio(x, out), lambda x, y, out: ratio(y, out),
                    domain=((0.2, 2.0), (-2.0, 2.0)), c="hypot{f}({0}, {1})")
logaddexp = elementwise("logaddexp", np.logaddexp,
                        lambda x, y, out: special.expit(x - y),
                        lambda x, y, out: special.expit(y - x), commutative=True,
                        c="logaddexp{f}({0}, {1})")
logaddexp2 = elementwise("logaddexp2", np.logaddexp2,
                         lambda x, y, out: special.expit(_LN2 * (x - y)),
                         lambda x, y, out: special.expit(_LN2 * (y - x)), commutative=True,
                         c="logaddexp2{f}({0}, {1})")
ldexp = elementwise("ldexp", np.ldexp, lambda x, n, out: np.ldexp(np.ones_like(x), n), None,
                    domain=((-2.0, 2.0), (-3, 4)))
float_power = elementwise("float_power", np.float_power,
                          lambda x, y, out: y * np.float_power(x, np.where(y == 0, 1, y - 1)),
                          lambda x, y, out: out * np.log(np.where(x == 0, 1.0, x)),
                          domain=((0.3, 2.0), (-2.0, 2.0)), c=power_in_c)


_SINC_SERIES = tuple((-1) ** k * (2 * k + 2) / math.factorial(2 * k + 3) for k in range(9))


def _sinc_derivative(x: Any, out: Any) -> Any:
    # (cos πx − sinc x)/x cancels near 0; there the Taylor series is exact to rounding, and so
    # are its own derivatives.
    z = (math.pi * x) ** 2
    series = taylor(z, _SINC_SERIES)
    small = np.abs(x) < 0.35
    safe = np.where(small, 1.0, x)
    return np.where(small, -math.pi ** 2 * x * series,
                    (np.cos(math.pi * safe) - np.sinc(safe)) / safe)


sinc = elementwise("sinc", np.sinc, _sinc_derivative, c="sinc{f}({0})")

expit = elementwise("expit", special.expit, lambda x, out: out * special.expit(-x),
                    python="special.expit", c="expit{f}({0})")
log_expit = elementwise("log_expit", special.log_expit, lambda x, out: special.expit(-x),
                        python="special.log_expit", c="log_expit{f}({0})")
logit = elementwise("logit", special.logit, lambda x, out: 1.0 / (x * (1.0 - x)),
                    python="special.logit", domain=((0.05, 0.95),), c="logit{f}({0})")


def _complex_part(name: Any, call: Any, transpose: Any) -> Any:
    return Op(name, call, elementwise_type(call), Linear(transpose), python=f"np.{name}",
              fresh=False)


# A cotangent stands for the row (∂/∂x, ∂/∂y) as ∂/∂x − i·∂/∂y; it is never conjugated.
real = _complex_part("real", np.real, lambda ct, x: ct)
imag = _complex_part("imag", np.imag, lambda ct, x: -1j * ct if x.dtype.kind == "c" else 0.0 * ct)
conj = _complex_part("conj", np.conjugate, lambda ct, x: np.conj(ct))
