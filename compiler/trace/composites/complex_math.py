"""The ``cmath`` module on traced values: complex numbers in and out."""

import cmath
from collections.abc import Callable
from typing import Any

import numpy as np

from ..registry import stands_for
from ..tracer import Tracer
from .common import of_dtype


def _number(x: Any) -> Any:
    """A complex scalar: arrays of one element are unpacked, as ``__complex__`` does."""
    if isinstance(x, Tracer) and x.shape:
        if x.size != 1:
            raise TypeError("only length-1 arrays can be converted to Python scalars")
        x = np.reshape(x, ())
    return of_dtype(x, complex)


def _of(function: Callable[..., Any], defined: Callable[[Any], Any] | None = None
        ) -> Callable[..., Any]:
    def apply(z: Any, /) -> Any:
        z = _number(z)
        if defined is not None and not defined(z):
            raise ValueError("math domain error")
        return function(z)
    return apply


for _original, _ours in (
        (cmath.sqrt, np.sqrt), (cmath.exp, np.exp), (cmath.sin, np.sin), (cmath.cos, np.cos),
        (cmath.tan, np.tan), (cmath.asin, np.arcsin), (cmath.acos, np.arccos),
        (cmath.sinh, np.sinh), (cmath.cosh, np.cosh), (cmath.tanh, np.tanh),
        (cmath.asinh, np.arcsinh), (cmath.acosh, np.arccosh), (cmath.phase, np.angle)):
    stands_for(_original)(_of(_ours))
stands_for(cmath.atan)(_of(np.arctan, lambda z: (z != 1j) & (z != -1j)))
stands_for(cmath.atanh)(_of(np.arctanh, lambda z: (z != 1.0) & (z != -1.0)))
stands_for(cmath.log10)(_of(np.log10, lambda z: z != 0))


@stands_for(cmath.log)
def log(z: Any, base: Any = None, /) -> Any:
    """Logarithm, natural or of a base."""
    natural = _of(np.log, lambda z: z != 0)
    return natural(z) if base is None else natural(z) / natural(base)


@stands_for(cmath.polar)
def polar(z: Any, /) -> tuple[Any, Any]:
    """Absolute value and phase."""
    z = _number(z)
    return np.abs(z), np.angle(z)


@stands_for(cmath.rect)
def rect(r: Any, phi: Any, /) -> Any:
    """The complex number of an absolute value and a phase."""
    return _number(r * np.cos(phi)) + 1j * (r * np.sin(phi))


@stands_for(cmath.isnan)
def isnan(z: Any, /) -> bool:
    """Whether any part is NaN; a decision on values."""
    return bool(np.isnan(_number(z)))


@stands_for(cmath.isinf)
def isinf(z: Any, /) -> bool:
    """Whether any part is infinite; a decision on values."""
    return bool(np.isinf(_number(z)))


@stands_for(cmath.isfinite)
def isfinite(z: Any, /) -> bool:
    """Whether both parts are finite; a decision on values."""
    return bool(np.isfinite(_number(z)))
