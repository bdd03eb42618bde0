"""Elementwise functions of the user's own, from the text of an expression.

The text is read twice: by NumPy, for values and for the code it expands to, and by SymPy, which
differentiates it. SymPy is loaded when the first function is declared.
"""

import ast
import functools
import inspect
import linecache
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.special as special

from ..compiler.errors import CustomRuleError
from ..compiler.ops.row import Elementwise, Op, elementwise_type
from ..compiler.ops.table import TABLE, register
from ..compiler.trace.tracer import deepest, enter
from .compile import Request
from .executable import Compiled
from .options import Options
from .sympy_bridge import load_sympy, numpy_of

# What an expression may call: NumPy's meaning, and SymPy's as a function of (sympy, *operands).
_FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    **{name: (getattr(np, name), functools.partial(lambda own, s, x: getattr(s, own)(x), own))
       for name, own in {"exp": "exp", "log": "log", "sqrt": "sqrt", "sin": "sin", "cos": "cos",
                         "tan": "tan", "arcsin": "asin", "arccos": "acos", "arctan": "atan",
                         "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh",
                         "arccosh": "acosh", "arctanh": "atanh", "sign": "sign", "abs": "Abs",
                         "floor": "floor", "ceil": "ceiling"}.items()},
    **{name: (getattr(special, name), functools.partial(lambda own, s, x: getattr(s, own)(x), own))
       for name, own in {"erf": "erf", "erfc": "erfc", "gamma": "gamma",
                         "gammaln": "loggamma", "digamma": "digamma"}.items()},
    "log1p": (np.log1p, lambda s, x: s.log(1 + x)),
    "expm1": (np.expm1, lambda s, x: s.exp(x) - 1),
    "log2": (np.log2, lambda s, x: s.log(x) / s.log(2)),
    "log10": (np.log10, lambda s, x: s.log(x) / s.log(10)),
    "exp2": (np.exp2, lambda s, x: s.Integer(2) ** x),
    "square": (np.square, lambda s, x: x ** 2),
    "expit": (special.expit, lambda s, x: 1 / (1 + s.exp(-x))),
    "arctan2": (np.arctan2, lambda s, y, x: s.atan2(y, x)),
    "hypot": (np.hypot, lambda s, x, y: s.sqrt(x ** 2 + y ** 2)),
    "maximum": (np.maximum, lambda s, x, y: s.Max(x, y)),
    "minimum": (np.minimum, lambda s, x, y: s.Min(x, y)),
    "where": (np.where, lambda s, c, x, y: s.Piecewise((x, c), (y, True))),
}
_CONSTANTS = {"pi": math.pi, "e": math.e}

_ALLOWED = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.Call, ast.Name, ast.Load, ast.Constant,
            ast.Compare, ast.operator, ast.unaryop, ast.cmpop)
_REFUSED = (ast.BitXor, ast.BitAnd, ast.BitOr, ast.LShift, ast.RShift, ast.FloorDiv, ast.Mod,
            ast.MatMult, ast.Not, ast.Invert, ast.In, ast.NotIn, ast.Is, ast.IsNot)


def _operands(name: str, text: str, args: Sequence[str] | None) -> tuple[str, ...]:
    """Names of the operands, in the order given or of appearance, after checking the text."""
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError as error:
        raise CustomRuleError(f"{text!r}, the expression of {name}, is not a Python expression: "
                              f"{error.msg}.") from None
    called = set()
    found: dict[str, None] = {}
    for node in _in_order(tree):
        if isinstance(node, _REFUSED) or not isinstance(node, _ALLOWED):
            hint = "Powers are written with **." if isinstance(node, ast.BitXor) else \
                "Use arithmetic, comparisons and calls of known functions."
            raise CustomRuleError(f"{type(node).__name__} is not allowed in {text!r}.", hint)
        if isinstance(node, ast.Compare) and len(node.ops) > 1:
            raise CustomRuleError(f"A chained comparison is not allowed in {text!r}.",
                                  "Use where(a < x, where(x < b, ..., ...), ...).")
        if isinstance(node, ast.Call):
            if not isinstance(node.func, ast.Name) or node.func.id not in _FUNCTIONS \
                    or node.keywords:
                raise CustomRuleError(
                    f"{ast.unparse(node)} in {text!r} is not a call that is known.",
                    f"Known functions are {', '.join(sorted(_FUNCTIONS))}.")
            called.add(node.func)
        elif isinstance(node, ast.Name) and node not in called:
            found.setdefault(node.id)
    if args is None:
        return tuple(n for n in found if n not in _CONSTANTS)
    missing = [n for n in found if n not in args and n not in _CONSTANTS]
    if missing or len(set(args)) != len(args):
        raise CustomRuleError(f"args={tuple(args)!r} does not list every operand of {text!r} "
                              f"once{f'; {missing[0]!r} is missing' if missing else ''}.")
    return tuple(args)


def _in_order(node: ast.AST) -> list[ast.AST]:
    out = [node]
    for child in ast.iter_child_nodes(node):
        out += _in_order(child)
    return out


def _read(name: str, text: str, operands: Sequence[str], names: dict[str, Any]) -> Any:
    """The expression as a function of its operands, in a given vocabulary."""
    filename = f"<elementwise {name}>"
    linecache.cache[filename] = (len(text), None, [text + "\n"], filename)
    code = compile(f"lambda {', '.join(operands)}: {text}", filename, "eval")
    return eval(code, {"__builtins__": {}, **names})   # checked node by node before


def _partials(name: str, text: str, operands: Sequence[str]) -> tuple[Callable[..., Any], ...]:
    """One derivative an operand, found by SymPy."""
    s = load_sympy()
    symbols = [s.Symbol(f"_{n}", real=True) for n in operands]
    vocabulary = {n: functools.partial(meaning, s) for n, (_, meaning) in _FUNCTIONS.items()}
    expr = s.sympify(_read(name, text, operands, {**vocabulary, "pi": s.pi, "e": s.E})(*symbols))

    def partial(symbol: Any) -> Callable[..., Any]:
        derivative = s.factor_terms(s.diff(expr, symbol))

        def rule(*args: Any) -> Any:
            return numpy_of(derivative, dict(zip(symbols, args, strict=True)))
        # In its most accurate form before it is differentiated further.
        stable = Compiled(rule, Request("compile"), Options())
        return lambda *args: stable(*args[:-1])
    return tuple(partial(symbol) for symbol in symbols)


def elementwise(name: str, expression: str, args: Sequence[str] | None = None,
                domain: Sequence[tuple[float, float]] | None = None) -> Callable[..., Any]:
    """An elementwise function from an expression; SymPy derives its partial derivatives.

    It becomes a row of the operator table and works on numbers, on arrays (broadcasting) and on
    traced values; generated code shows the expression itself. Where the expression has a more
    accurate form that the compiler knows (``log(1 + exp(x))``), it is evaluated in that form.

    Args:
        name: of the function, new in the table.
        expression: of NumPy's functions without ``np.``, operators and comparisons.
        args: the operands' names in order; by default in order of appearance.
        domain: interval of each operand from which tests draw.

    Raises:
        CustomRuleError: if the expression holds something unknown, or the name is taken.

    >>> import numpy as np, wengert as wg
    >>> softplus = wg.elementwise("softplus", "log(1 + exp(x))")
    >>> softplus(np.array([0.0, 1000.0]))
    array([6.93147181e-01, 1.00000000e+03])
    >>> wg.grad(softplus)(1000.0)
    1.0
    """
    if not name.isidentifier():
        raise CustomRuleError(f"{name!r} is not a name.")
    operands = _operands(name, expression, args)
    if not operands:
        raise CustomRuleError(f"{expression!r}, the expression of {name}, has no operand.")
    if domain is not None and len(domain) != len(operands):
        raise CustomRuleError(f"domain has {len(domain)} intervals for {len(operands)} operands "
                              f"({', '.join(operands)}).")
    if name in TABLE:
        raise CustomRuleError(f"There is an operator named {name} already.", "Choose another.")
    numpy = {n: function for n, (function, _) in _FUNCTIONS.items()}
    plain = _read(name, expression, operands, {**numpy, **_CONSTANTS})
    plain.__name__ = plain.__qualname__ = name
    compiled = Compiled(plain, Request("compile"), Options())
    row = register(Op(name, compiled, elementwise_type(plain),
                      Elementwise(_partials(name, expression, operands)), expand=plain,
                      domain=tuple(domain or [(-2.0, 2.0)] * len(operands)), python=name))

    def function(*args: Any) -> Any:
        if len(args) != len(operands):
            raise TypeError(f"{name} takes {len(operands)} operands ({', '.join(operands)}), "
                            f"not {len(args)}")
        builder = deepest(args)
        if builder is None:
            return compiled(*[np.asarray(a) if isinstance(a, (list, tuple)) else a for a in args])
        return enter(row, builder, args, {}, sys._getframe(1))
    function.__name__ = function.__qualname__ = name
    function.__signature__ = inspect.signature(plain)  # type: ignore[attr-defined]
    function.__doc__ = f"{name}({', '.join(operands)}) = {expression}"
    return function
