"""The ``math`` module on traced values: Python floats in and out, errors where Python raises.

Python's functions raise where NumPy's give NaN or infinity. The condition under which they do
is decided on the values of the call and becomes a guard, so that ``try``/``except`` in user code
takes the path it would take, and the compiled code never silently returns what the plain
function would not.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as special

from ..ops import arithmetic
from .conversions import as_float
from .tracer import Tracer


def _plain(x: Any) -> Any:
    """A Python float: size-one arrays are unpacked, as ``__float__`` does."""
    return as_float(x) if isinstance(x, Tracer) else float(x)


def _result(x: Any) -> Any:
    return arithmetic.as_float(x) if isinstance(x, Tracer) else float(x)


def _require(holds: Any, error: Exception) -> None:
    """Decide a condition; raise as Python would where it does not hold."""
    if not holds:
        raise error


def _domain() -> ValueError:
    return ValueError("math domain error")


def _overflow() -> OverflowError:
    return OverflowError("math range error")


def _unary(function: Callable[[Any], Any], domain: Callable[[Any], Any] | None = None,
           error: Callable[[], Exception] = _domain) -> Callable[[Any], Any]:
    def apply(x: Any, /) -> Any:
        x = _plain(x)
        if domain is not None:
            _require(domain(x), error())
        return _result(function(x))
    return apply


def _exponential(function: Callable[[Any], Any], limit: float, both: bool = False
                 ) -> Callable[[Any], Any]:
    if both:
        return _unary(function, lambda x: np.abs(x) <= limit, _overflow)
    return _unary(function, lambda x: x <= limit, _overflow)


_LOG_MAX = math.log(np.finfo(float).max)


def _log(x: Any, base: Any = None, /) -> Any:
    x = _plain(x)
    _require(x > 0, _domain())
    if base is None:
        return _result(np.log(x))
    base = _plain(base)
    _require(base > 0, _domain())
    return _result(np.log(x) / np.log(base))


def _pow(x: Any, y: Any, /) -> Any:
    x, y = _plain(x), _plain(y)
    is_traced = isinstance(x, Tracer)
    if is_traced:
        _require(x > 0 or x == 0 or bool(y == np.floor(y)), _domain())
        _require(not (x == 0 and y < 0), _domain())
    return _result(x ** y)


def _fmod(x: Any, y: Any, /) -> Any:
    x, y = _plain(x), _plain(y)
    _require(y != 0, _domain())
    return _result(np.fmod(x, y))


def _binary(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda x, y, /: _result(function(_plain(x), _plain(y)))


def _hypot(*coordinates: Any) -> Any:
    values = [_plain(c) for c in coordinates]
    total = abs(values[0]) if values else 0.0
    for v in values[1:]:
        total = np.hypot(total, v)
    return _result(total)


def _dist(p: Any, q: Any, /) -> Any:
    return _hypot(*[a - b for a, b in zip(p, q, strict=True)])


def _fsum(seq: Any, /) -> Any:
    total: Any = 0.0
    for v in seq:
        total = total + v
    return total


def _prod(iterable: Any, /, *, start: Any = 1) -> Any:
    for v in iterable:
        start = start * v
    return start


def _isclose(a: Any, b: Any, *, rel_tol: float = 1e-9, abs_tol: float = 0.0) -> bool:
    a, b = _plain(a), _plain(b)
    return bool(abs(a - b) <= np.maximum(rel_tol * np.maximum(abs(a), abs(b)), abs_tol))


def _truth(function: Callable[[Any], Any]) -> Callable[[Any], bool]:
    return lambda x, /: bool(function(_plain(x)))


def _modf(x: Any, /) -> tuple[Any, Any]:
    x = _plain(x)
    whole = np.trunc(x)
    return _result(x - whole), _result(whole)


def _ldexp(x: Any, i: Any, /) -> Any:
    return _result(_plain(x) * 2.0 ** int(i))


def _frexp(x: Any, /) -> tuple[Any, int]:
    x = _plain(x)
    if x == 0:
        return x, 0
    exponent = int(np.floor(np.log2(abs(x)))) + 1
    return _result(x / 2.0 ** exponent), exponent



FUNCTIONS: dict[Any, Callable[..., Any]] = {
    # Of infinity these raise in Python; NaN, which NumPy gives, is as plain.
    math.sin: _unary(np.sin), math.cos: _unary(np.cos), math.tan: _unary(np.tan),
    math.asin: _unary(np.arcsin, lambda x: np.abs(x) <= 1),
    math.acos: _unary(np.arccos, lambda x: np.abs(x) <= 1),
    math.atan: _unary(np.arctan),
    math.sinh: _exponential(np.sinh, _LOG_MAX + math.log(2.0), both=True),
    math.cosh: _exponential(np.cosh, _LOG_MAX + math.log(2.0), both=True),
    math.tanh: _unary(np.tanh),
    math.asinh: _unary(np.arcsinh), math.acosh: _unary(np.arccosh, lambda x: x >= 1),
    math.atanh: _unary(np.arctanh, lambda x: np.abs(x) < 1),
    math.exp: _exponential(np.exp, _LOG_MAX), math.expm1: _exponential(np.expm1, _LOG_MAX),
    math.exp2: _exponential(np.exp2, 1024.0),
    math.log: _log, math.log2: _unary(np.log2, lambda x: x > 0),
    math.log10: _unary(np.log10, lambda x: x > 0),
    math.log1p: _unary(np.log1p, lambda x: x > -1),
    math.sqrt: _unary(np.sqrt, lambda x: x >= 0), math.cbrt: _unary(np.cbrt),
    math.pow: _pow, math.fmod: _fmod, math.atan2: _binary(np.arctan2),
    math.copysign: _binary(np.copysign), math.hypot: _hypot, math.dist: _dist,
    math.fabs: _unary(np.abs), math.degrees: _unary(np.degrees),
    math.radians: _unary(np.radians),
    math.erf: _unary(special.erf), math.erfc: _unary(special.erfc),
    math.gamma: _unary(special.gamma, lambda x: x > 0 or bool(x != np.floor(x))),
    math.lgamma: _unary(special.gammaln, lambda x: x > 0 or bool(x != np.floor(x))),
    math.fsum: _fsum, math.prod: _prod, math.isclose: _isclose,
    math.isnan: _truth(np.isnan), math.isinf: _truth(np.isinf),
    math.isfinite: _truth(np.isfinite), math.modf: _modf, math.ldexp: _ldexp,
    math.frexp: _frexp,
    math.floor: lambda x, /: int(np.floor(_plain(x))),
    math.ceil: lambda x, /: int(np.ceil(_plain(x))),
    math.trunc: lambda x, /: int(_plain(x)),
    math.remainder: lambda x, y, /: _result(_plain(x) - _plain(y) * np.rint(_plain(x) / _plain(y))),
}
