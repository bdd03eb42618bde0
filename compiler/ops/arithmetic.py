"""Arithmetic: the operators of Python, remainders, rounding-free elementwise basics."""

from typing import Any

import numpy as np

from ..arraytype import ArrayType
from .flow import elements, product
from .row import General, Infix, Linear, Op, elementwise, sample


def _power_by_base(x: Any, y: Any, out: Any) -> Any:
    # Where y = 0 the exponent is 0, not −1, so that x**0 has derivative 0·1 at 0.
    return y * x ** (y - 1 + (y == 0))


def _power_by_exponent(x: Any, y: Any, out: Any) -> Any:
    return out * np.log(np.where(x == 0, 1.0, x))    # 0**y is constant for y > 0


add = elementwise("add", np.add, 1.0, 1.0, infix=Infix("+", 4), commutative=True, c="infix")
sub = elementwise("sub", np.subtract, 1.0, -1.0, infix=Infix("-", 4), python="np.subtract",
                  c="infix")
mul = elementwise("mul", np.multiply, lambda x, y, out: y, lambda x, y, out: x,
                  infix=Infix("*", 5), commutative=True, python="np.multiply",
                  flow=product, c="infix")
div = elementwise("div", np.true_divide, lambda x, y, out: 1.0 / y,
                  lambda x, y, out: -(out / y),
                  infix=Infix("/", 5), domain=((-2.0, 2.0), (0.5, 2.0)), python="np.divide",
                  c="infix")

def _ratio_call(x: Any, r: Any) -> Any:
    return np.true_divide(x, np.where(np.equal(r, 0), np.inf, r))


# x/r, and zero where r is zero: the gradient of a length r at its corner, where |r|′(0) = 0. Its
# own derivative is that of the quotient, so that the curvature there is infinite or NaN, not 0.
ratio = elementwise("ratio", _ratio_call, lambda x, r, out: 1.0 / r,
                    lambda x, r, out: -(out / r),
                    python=lambda args, params, types: f"(({args[0]}) / "
                        f"np.where({args[1]} == 0, np.inf, {args[1]}))",
                    domain=((-2.0, 2.0), (0.5, 2.0)),
                    expand=lambda x, r: x / np.where(r == 0, np.inf, r))
# x itself, nowhere negative: where it is zero it has a minimum, and no slope.
flat = Op("flat", np.positive, lambda x: x,
          General(lambda args, tangents, out: np.where(args[0] == 0, 0.0, tangents[0])),
          expand=lambda x: x, fresh=False, domain=((0.3, 2.0),))


def power_in_c(kind: str, values: Any) -> str | None:
    """A product, quotient or root where the exponent is a small constant, else ``pow``."""
    exponent = values[1]
    small = {1: "{0}", 2: "{0} * {0}", 3: "{0} * {0} * {0}", 4: "({0} * {0}) * ({0} * {0})"}
    roots = {0: "1", 0.5: "sqrt{f}({0})", -1: "1 / {0}", -2: "1 / ({0} * {0})",
             -0.5: "1 / sqrt{f}({0})"}
    if exponent is not None and exponent in small:
        return small[exponent]
    if kind != "f":
        return None
    return roots.get(exponent, "pow{f}({0}, {1})")


power = elementwise("power", np.power, _power_by_base, _power_by_exponent,
                    infix=Infix("**", 7), domain=((0.3, 2.0), (-2.0, 2.0)), c=power_in_c)
# x**y for a number 0 < y < 1 where x is nowhere negative: zero has no slope, as for a length.
flat_power = elementwise("flat_power", lambda x, y: np.power(x, y),
                         lambda x, y, out: ratio(y * out, x),
                         _power_by_exponent, python="",
                         expand=lambda x, y: x ** y, domain=((0.3, 2.0), (0.2, 0.8)))
neg = elementwise("neg", np.negative, -1.0, infix=Infix("-", 6), python="np.negative", c="infix")
positive = elementwise("positive", np.positive, 1.0, c="{0}")
def _modulo(kind: str, values: tuple[Any, ...]) -> str | None:
    """Of whole numbers where the divisor is a positive constant, so that it cannot be zero."""
    if kind == "f":
        return "modulo{f}({0}, {1})"
    known = kind == "i" and isinstance(values[1], int) and values[1] > 0
    return "(({0} % {1} + {1}) % {1})" if known else None


mod = elementwise("mod", np.mod, 1.0, lambda x, y, out: -np.floor(x / y),
                  infix=Infix("%", 5), domain=((-2.0, 2.0), (0.6, 2.0)), c=_modulo)
fmod = elementwise("fmod", np.fmod, 1.0, lambda x, y, out: -np.trunc(x / y),
                   domain=((-2.0, 2.0), (0.6, 2.0)), c="fmod{f}({0}, {1})")

# ``scale(c, p)`` is the product of a cotangent (or tangent) with a partial derivative. It
# computes ``c * p``, but where c is a structural zero (an element that was not selected) the
# product is zero even if p is infinite or NaN; passes rely on that freedom.
scale = elementwise("scale", np.multiply, lambda c, p, out: p, lambda c, p, out: c,
                    infix=Infix("*", 5), python="np.multiply", flow=product, c="infix")


def _convert_call(x: Any, dtype: Any) -> Any:
    return np.asarray(x).astype(dtype)[()]


def _convert_python(args: Any, params: Any, types: Any) -> Any:
    (kind,) = types
    if kind.ndim == 0:
        return f"np.{params['dtype']}({args[0]})"
    return f"{args[0]}.astype(np.{params['dtype']})"


def _convert_type(kind: Any, dtype: Any) -> Any:
    return type(kind)(kind.shape, np.dtype(dtype))


def _convert_transpose(ct: Any, x: Any, dtype: Any) -> Any:
    return match_dtype(ct, x.dtype)


def match_dtype(ct: Any, dtype: Any) -> Any:
    """The cotangent in the dtype of its primal; the real part where that is real."""
    if ct.dtype == dtype:
        return ct
    if ct.dtype.kind == "c" and dtype.kind == "f":
        ct = np.real(ct)
        if ct.dtype == dtype:
            return ct
    return convert(ct, dtype=dtype.name)


convert: Op = Op("convert", _convert_call, _convert_type, Linear(_convert_transpose),
                 params=("dtype",), python=_convert_python,
                 samples=(sample((3,), dtype="float64"), sample((), dtype="float32"),
                          sample((2, 0), dtype="complex128"), sample((2, 3), dtype="int64"),
                          sample((), dtype="complex64"), sample((3,), dtype="bool")),
                 batch=lambda args, batched, dtype: convert(args[0], dtype=dtype), flow=elements)


def _as_float_type(x: Any) -> ArrayType:
    if x.shape:
        raise TypeError("only length-1 arrays can be converted to Python scalars")
    return ArrayType((), np.dtype(float), weak=True)


# A NumPy scalar as a plain Python float, which takes the dtype of the arrays it meets.
as_float = Op("as_float", float, _as_float_type,
              Linear(lambda ct, x: match_dtype(ct, x.dtype)), python="float",
              batch=lambda args, batched: args[0], samples=(sample(()),), flow=elements)
