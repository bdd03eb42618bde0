"""Exponentials, logarithms, trigonometric and hyperbolic functions, powers of one operand."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.special as special

from .arithmetic import ratio
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


exp = elementwise("exp", np.exp, lambda x, out: out)
exp2 = elementwise("exp2", np.exp2, lambda x, out: out * _LN2)
expm1 = elementwise("expm1", np.expm1, lambda x, out: np.exp(x))
log = elementwise("log", np.log, lambda x, out: 1.0 / x, domain=POSITIVE)
log2 = elementwise("log2", np.log2, lambda x, out: 1.0 / (x * _LN2), domain=POSITIVE)
log10 = elementwise("log10", np.log10, lambda x, out: 1.0 / (x * _LN10), domain=POSITIVE)
log1p = elementwise("log1p", np.log1p, lambda x, out: 1.0 / (1.0 + x), domain=POSITIVE)
sqrt = elementwise("sqrt", np.sqrt, lambda x, out: 0.5 / out, domain=POSITIVE)
# The square root of what is a sum of squares: a length, which has a corner at zero.
root = elementwise("root", np.sqrt, lambda x, out: ratio(0.5, out), domain=POSITIVE,
                   python="np.sqrt", expand=lambda x: np.sqrt(x))
cbrt = elementwise("cbrt", np.cbrt, lambda x, out: 1.0 / (3.0 * out * out), domain=POSITIVE)
square = elementwise("square", np.square, lambda x, out: 2.0 * x)
reciprocal = elementwise("reciprocal", np.reciprocal, lambda x, out: -out * out, domain=POSITIVE)

sin = elementwise("sin", np.sin, lambda x, out: np.cos(x), work=30.0)
cos = elementwise("cos", np.cos, lambda x, out: -np.sin(x), work=30.0)
tan = elementwise("tan", np.tan, lambda x, out: 1.0 + out * out, domain=((-1.2, 1.2),))
arcsin = elementwise("arcsin", np.arcsin, lambda x, out: 1.0 / np.sqrt((1.0 - x) * (1.0 + x)),
                     domain=UNIT)
arccos = elementwise("arccos", np.arccos, lambda x, out: -1.0 / np.sqrt((1.0 - x) * (1.0 + x)),
                     domain=UNIT)
arctan = elementwise("arctan", np.arctan, lambda x, out: 1.0 / (1.0 + x * x))
sinh = elementwise("sinh", np.sinh, lambda x, out: np.cosh(x))
cosh = elementwise("cosh", np.cosh, lambda x, out: np.sinh(x))
tanh = elementwise("tanh", np.tanh, lambda x, out: 1.0 - out * out)
arcsinh = elementwise("arcsinh", np.arcsinh, lambda x, out: 1.0 / (
    np.sqrt(1.0 + x * x) if x.dtype.kind == "c" else np.hypot(x, 1.0)))
arccosh = elementwise("arccosh", np.arccosh,
                      lambda x, out: 1.0 / (np.sqrt(x - 1.0) * np.sqrt(x + 1.0)),
                      domain=((1.1, 3.0),))
arctanh = elementwise("arctanh", np.arctanh, lambda x, out: 1.0 / ((1.0 - x) * (1.0 + x)),
                      domain=UNIT)
deg2rad = elementwise("deg2rad", np.deg2rad, math.pi / 180.0)
rad2deg = elementwise("rad2deg", np.rad2deg, 180.0 / math.pi)
radians = elementwise("radians", np.radians, math.pi / 180.0)
degrees = elementwise("degrees", np.degrees, 180.0 / math.pi)

# x/h twice rather than x/(x² + y²): neither overflows nor underflows.
arctan2 = elementwise("arctan2", np.arctan2,
                      lambda y, x, out: x / np.hypot(x, y) / np.hypot(x, y),
                      lambda y, x, out: -(y / np.hypot(x, y)) / np.hypot(x, y),
                      domain=((0.2, 2.0), (-2.0, 2.0)))
hypot = elementwise("hypot", np.hypot,
                    lambda x, y, out: ratio(x, out), lambda x, y, out: ratio(y, out),
                    domain=((0.2, 2.0), (-2.0, 2.0)))
logaddexp = elementwise("logaddexp", np.logaddexp,
                        lambda x, y, out: special.expit(x - y),
                        lambda x, y, out: special.expit(y - x), commutative=True)
logaddexp2 = elementwise("logaddexp2", np.logaddexp2,
                         lambda x, y, out: special.expit(_LN2 * (x - y)),
                         lambda x, y, out: special.expit(_LN2 * (y - x)), commutative=True)
ldexp = elementwise("ldexp", np.ldexp, lambda x, n, out: np.ldexp(np.ones_like(x), n), None,
                    domain=((-2.0, 2.0), (-3, 4)))
float_power = elementwise("float_power", np.float_power,
                          lambda x, y, out: y * np.float_power(x, np.where(y == 0, 1, y - 1)),
                          lambda x, y, out: out * np.log(np.where(x == 0, 1.0, x)),
                          domain=((0.3, 2.0), (-2.0, 2.0)))


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


sinc = elementwise("sinc", np.sinc, _sinc_derivative)

expit = elementwise("expit", special.expit, lambda x, out: out * special.expit(-x),
                    python="special.expit")
log_expit = elementwise("log_expit", special.log_expit, lambda x, out: special.expit(-x),
                        python="special.log_expit")
logit = elementwise("logit", special.logit, lambda x, out: 1.0 / (x * (1.0 - x)),
                    python="special.logit", domain=((0.05, 0.95),))


def _complex_part(name: Any, call: Any, transpose: Any) -> Any:
    return Op(name, call, elementwise_type(call), Linear(transpose), python=f"np.{name}",
              fresh=False)


# A cotangent stands for the row (∂/∂x, ∂/∂y) as ∂/∂x − i·∂/∂y; it is never conjugated.
real = _complex_part("real", np.real, lambda ct, x: ct)
imag = _complex_part("imag", np.imag, lambda ct, x: -1j * ct if x.dtype.kind == "c" else 0.0 * ct)
conj = _complex_part("conj", np.conjugate, lambda ct, x: np.conj(ct))
