"""Arithmetic: the operators of Python, remainders, rounding-free elementwise basics."""

import numpy as np

from .row import Infix, Linear, Op, elementwise, elementwise_type


def _power_by_base(x, y, out):  # type: ignore[no-untyped-def]
    # Where y = 0 the exponent is 0, not −1, so that x**0 has derivative 0·1 at 0.
    return y * x ** (y - 1 + (y == 0))


def _power_by_exponent(x, y, out):  # type: ignore[no-untyped-def]
    return out * np.log(np.where(x == 0, 1.0, x))    # 0**y is constant for y > 0


add = elementwise("add", np.add, 1.0, 1.0, infix=Infix("+", 4), commutative=True)
sub = elementwise("sub", np.subtract, 1.0, -1.0, infix=Infix("-", 4), python="np.subtract")
mul = elementwise("mul", np.multiply, lambda x, y, out: y, lambda x, y, out: x,
                  infix=Infix("*", 5), commutative=True, python="np.multiply")
div = elementwise("div", np.true_divide, lambda x, y, out: 1.0 / y,
                  lambda x, y, out: -(out / y),
                  infix=Infix("/", 5), domain=((-2, 2), (0.5, 2)), python="np.divide")
power = elementwise("power", np.power, _power_by_base, _power_by_exponent,
                    infix=Infix("**", 7), domain=((0.3, 2), (-2, 2)))
neg = elementwise("neg", np.negative, -1.0, infix=Infix("-", 6), python="np.negative")
positive = elementwise("positive", np.positive, 1.0)
mod = elementwise("mod", np.mod, 1.0, lambda x, y, out: -np.floor(x / y),
                  infix=Infix("%", 5), domain=((-2, 2), (0.6, 2)))
fmod = elementwise("fmod", np.fmod, 1.0, lambda x, y, out: -np.trunc(x / y),
                   domain=((-2, 2), (0.6, 2)))

# ``scale(c, p)`` is the product of a cotangent (or tangent) with a partial derivative. It
# computes ``c * p``, but where c is a structural zero (an element that was not selected) the
# product is zero even if p is infinite or NaN; passes rely on that freedom.
scale = elementwise("scale", np.multiply, lambda c, p, out: p, lambda c, p, out: c,
                    infix=Infix("*", 5), python="np.multiply")


def _convert_call(x, dtype):  # type: ignore[no-untyped-def]
    return np.asarray(x).astype(dtype)[()]


def _convert_python(args, params, types):  # type: ignore[no-untyped-def]
    (kind,) = types
    if kind.ndim == 0:
        return f"np.{params['dtype']}({args[0]})"
    return f"{args[0]}.astype(np.{params['dtype']})"


def _convert_type(kind, dtype):  # type: ignore[no-untyped-def]
    return type(kind)(kind.shape, np.dtype(dtype))


def _convert_transpose(ct, x, dtype):  # type: ignore[no-untyped-def]
    return match_dtype(ct, x.dtype)


def match_dtype(ct, dtype):  # type: ignore[no-untyped-def]
    """The cotangent in the dtype of its primal; the real part where that is real."""
    if ct.dtype == dtype:
        return ct
    if ct.dtype.kind == "c" and dtype.kind == "f":
        ct = np.real(ct)
        if ct.dtype == dtype:
            return ct
    return convert(ct, dtype=dtype.name)


convert = Op("convert", _convert_call, _convert_type, Linear(_convert_transpose),
             params=("dtype",), python=_convert_python,
             batch=lambda args, batched, dtype: convert(args[0], dtype=dtype))
