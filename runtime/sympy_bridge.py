"""To SymPy and back: the formula of a graph, and a NumPy function of an expression.

SymPy is loaded at the first use.
"""

import functools
import importlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.special as special

from ..compiler.errors import CustomRuleError, UnsupportedFunctionError
from ..compiler.graph import CAPTURED, CONSTANT, INPUT, Graph
from ..compiler.ops import arithmetic, comparison, control, layout
from .sympy_functions import TO_SYMPY, Meaning

_LARGEST_DENOMINATOR = 10 ** 6


@functools.cache
def load_sympy() -> Any:
    """The module."""
    return importlib.import_module("sympy")


# -- graph to expression --------------------------------------------------------------------------

@functools.cache
def _known_numbers() -> dict[float, Any]:
    """Floats that stand for irrational numbers, and their neighbours: roundings differ."""
    s = load_sympy()
    roots = [s.pi, s.sqrt(s.pi), s.sqrt(2 * s.pi), s.sqrt(s.pi / 2), s.sqrt(2 / s.pi), s.sqrt(2),
             s.sqrt(s.S.Half), s.E, s.log(2), s.log(10), s.pi / 180, s.pi ** 2]
    factors = [s.Rational(p, q) for p in (1, 2, 3, 4) for q in (1, 2, 3, 4, 8, 60, 3600)]
    found: dict[float, Any] = {}
    for root in roots:
        for value in (root, 1 / root):
            for factor in factors:
                number = float(factor * value)
                for near in (number, math.nextafter(number, 0), math.nextafter(number, math.inf)):
                    found.setdefault(near, factor * value)
    return found


def exact_number(value: Any) -> Any:
    """The number a float was meant to be: a short fraction, or a multiple of π and the like.

    >>> exact_number(0.25), exact_number(1 / 3), exact_number(math.pi / 2)
    (1/4, 1/3, pi/2)
    """
    s = load_sympy()
    if isinstance(value, (bool, np.bool_)):
        return s.true if value else s.false
    if isinstance(value, (complex, np.complexfloating)):
        return exact_number(float(value.real)) + s.I * exact_number(float(value.imag))
    if isinstance(value, (int, np.integer)):
        return s.Integer(int(value))
    value = float(value)
    if not math.isfinite(value):
        return s.nan if math.isnan(value) else s.oo if value > 0 else -s.oo
    known = _known_numbers().get(abs(value))
    if known is not None:
        return known if value > 0 else -known
    fraction = s.Rational(value).limit_denominator(_LARGEST_DENOMINATOR)
    if float(fraction) == value:
        return fraction
    whole = round(1.0 / value) if abs(value) < 0.5 else 0
    if whole and 1.0 / whole == value:
        return s.Rational(1, whole)
    return s.Float(value, 17)


def to_sympy(graph: Graph, symbols: Sequence[Any] | None = None,
             functions: Mapping[str, Meaning] = TO_SYMPY) -> list[Any]:
    """Formulas of the outputs of a graph of numbers.

    Args:
        graph: of scalars; array operators have no formula.
        symbols: for the inputs; by default real symbols of their names.
        functions: meaning of each operator, as ``(sympy, *operands)``.

    Raises:
        UnsupportedFunctionError: at an operator that SymPy has no function for.

    >>> import numpy as np, wengert as wg
    >>> wg.to_sympy(wg.trace(lambda x, y: np.log(x) + x * y - np.sin(y))(2.0, 5.0))
    [x*y + log(x) - sin(y)]
    """
    s = load_sympy()
    values: dict[Any, Any] = {}
    for i, node in enumerate(graph.inputs):
        name = node.origin.name if node.origin and node.origin.name else f"x{i}"
        values[node] = symbols[i] if symbols is not None else s.Symbol(name, real=True)
    for node in graph.nodes:
        if node.op is INPUT:
            continue
        args = [values[a] for a in node.args]
        if node.op.bodies:
            raise UnsupportedFunctionError(
                f"{node.op.name} has no formula in SymPy.",
                "Convert a graph of numbers and elementwise functions.", node.origin)
        if node.type.dtype != bool and node.op is not comparison.where:
            args = [s.Piecewise((1, v), (0, True)) if a.type.dtype == bool else v
                    for a, v in zip(node.args, args, strict=True)]
        if node.type.shape != ():
            values[node] = None
        elif node.op in (CONSTANT, CAPTURED):
            values[node] = exact_number(np.asarray(node.value).item())
        elif node.op in (arithmetic.convert, arithmetic.as_float, control.stop_gradient,
                         layout.reshape, layout.broadcast_to):
            values[node] = args[0]
        else:
            meaning = functions.get(node.op.name)
            values[node] = None if meaning is None else meaning(s, *args)
        if values[node] is None:
            raise UnsupportedFunctionError(
                f"{node.op.name} of {node.type} has no formula in SymPy.",
                "Convert a graph of numbers and elementwise functions.", node.origin)
    return [values[node] for node in graph.outputs]


# -- expression to function -----------------------------------------------------------------------

def _piecewise(*branches: Any) -> Any:
    value: Any = np.nan
    for chosen, condition in reversed(branches):
        value = np.where(condition, chosen, value)
    return value


# SymPy's functions in NumPy. Steps are ½ where they jump, as ties are split evenly here.
_FROM_SYMPY: dict[str, Callable[..., Any]] = {
    "exp": np.exp, "log": np.log, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "Abs": np.abs, "sign": np.sign,
    "floor": np.floor, "ceiling": np.ceil, "erf": special.erf, "erfc": special.erfc,
    "gamma": special.gamma, "loggamma": special.gammaln, "digamma": special.digamma,
    "polygamma": special.polygamma,
    "Max": lambda *args: functools.reduce(np.maximum, args),
    "Min": lambda *args: functools.reduce(np.minimum, args),
    "Heaviside": lambda x, half=0.5: np.where(x == 0, half, np.where(x > 0, 1.0, 0.0)),
    "DiracDelta": lambda x, *_: 0.0,
    "Piecewise": _piecewise,
    "ExprCondPair": lambda value, condition: (value, condition),
    "StrictGreaterThan": np.greater, "StrictLessThan": np.less, "GreaterThan": np.greater_equal,
    "LessThan": np.less_equal, "Equality": np.equal, "Unequality": np.not_equal,
}


def numpy_of(expr: Any, values: dict[Any, Any]) -> Any:
    """Value of a SymPy expression in NumPy, from those of its symbols."""
    s = load_sympy()
    if expr in values:
        return values[expr]
    if expr.is_Integer:
        return int(expr)
    if expr.is_number and expr.is_real:
        return float(expr)
    if expr in (s.true, s.false):
        return bool(expr)
    numerator, denominator = s.fraction(expr) if expr.is_Mul or expr.is_Pow else (expr, s.S.One)
    if denominator != 1:
        return numpy_of(numerator, values) / numpy_of(denominator, values)
    args = [numpy_of(a, values) for a in expr.args]
    if expr.is_Add:
        return functools.reduce(lambda a, b: a + b, args)
    if expr.is_Mul:
        return functools.reduce(lambda a, b: a * b, args)
    if expr.is_Pow:
        half = expr.exp in (s.S.Half, s.Float(0.5))
        return np.sqrt(args[0]) if half else args[0] ** args[1]
    function = _FROM_SYMPY.get(type(expr).__name__)
    if function is None:
        raise CustomRuleError(f"{expr} is not supported in NumPy code.",
                              "Declare the function with wengert.custom_jvp.")
    return function(*args)


def from_sympy(expression: Any, symbols: Sequence[Any]) -> Callable[..., Any]:
    """A NumPy function of a SymPy expression, matrix or array, with the symbols as arguments.

    It is a plain function: call it, or give it to any transform.

    >>> import sympy, wengert as wg
    >>> x, y = sympy.symbols("x y")
    >>> f = wg.from_sympy(x ** 2 * sympy.sin(y), [x, y])
    >>> float(wg.grad(f)(3.0, float(sympy.pi) / 2))
    6.0
    """
    s = load_sympy()
    unknown = sorted(map(str, getattr(expression, "free_symbols", set()) - set(symbols)))
    if unknown:
        raise CustomRuleError(f"The expression contains {', '.join(unknown)}, which are not among "
                              "the symbols.", "List every symbol.")
    is_array = isinstance(expression, (s.MatrixBase, s.NDimArray))

    def function(*args: Any) -> Any:
        if len(args) != len(symbols):
            raise TypeError(f"{len(symbols)} arguments are needed, {len(args)} were given")
        values = dict(zip(symbols, args, strict=True))
        if not is_array:
            return numpy_of(s.sympify(expression), values)
        flat = np.array([numpy_of(e, values) for e in expression.reshape(
            math.prod(expression.shape), 1)]) if isinstance(expression, s.MatrixBase) else \
            np.array([numpy_of(e, values) for e in s.flatten(expression.tolist())])
        return np.reshape(flat, (*expression.shape, *flat.shape[1:]))
    return function
