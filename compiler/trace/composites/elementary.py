"""Elementwise functions that are combinations of operators."""

from typing import Any

import numpy as np

from ...ops import arithmetic, comparison, transcendental
from .. import mutation
from ..registry import stands_for
from ..tracer import Tracer
from .common import as_array
from .creation import cast

_NO = np._NoValue


@stands_for(np.clip, method="clip")
def clip(a: Any, a_min: Any = _NO, a_max: Any = _NO, out: Any = None, *, min: Any = _NO,
         max: Any = _NO, **_: Any) -> Any:
    """Limited to an interval."""
    low = a_min if a_min is not _NO else min
    high = a_max if a_max is not _NO else max
    result = as_array(a)
    if low is not _NO and low is not None:
        result = np.maximum(result, low)
    if high is not _NO and high is not None:
        result = np.minimum(result, high)
    return mutation.write_out(result, out)


@stands_for(np.round, np.around, method="round")
def round(a: Any, decimals: int = 0, out: Any = None) -> Any:
    """Rounded to decimals, halves to even."""
    a = as_array(a)
    if a.dtype.kind in "iu":
        scale = 10.0 ** -decimals
        result = a if decimals >= 0 else arithmetic.convert(
            comparison.rint(a / scale) * scale, dtype=a.dtype.name)
    elif decimals == 0:
        result = comparison.rint(a)
    elif decimals > 0:
        result = comparison.rint(a * 10.0 ** decimals) / 10.0 ** decimals
    else:
        result = comparison.rint(a / 10.0 ** -decimals) * 10.0 ** -decimals
    return mutation.write_out(result, out)


@stands_for(np.fix)
def fix(x: Any, out: Any = None) -> Any:
    """Rounded towards zero."""
    return mutation.write_out(comparison.trunc(as_array(x)), out)


@stands_for(np.real)
def real(val: Any) -> Any:
    """Real part (the value itself where it is real)."""
    x = as_array(val)
    if x.dtype.kind != "c":
        return x
    return _part(x, transcendental.real, lambda new, old: new + 1j * np.imag(old), np.real)


def _part(x: Any, row: Any, joined: Any, probe: Any) -> Any:
    """The real or imaginary part; of an array, a view that can be assigned into."""
    if not isinstance(x, Tracer) or not (x.shape or x.boxed):
        return row(x)

    def write(builder: Any, base: Any, new: Any) -> Any:
        out = joined(Tracer(builder, new), Tracer(builder, base))
        return cast(out, base.type.dtype).node
    return mutation.view_of(x, mutation.View(
        lambda builder, node: builder.emit(row, (node,)), write, probe))


@stands_for(np.imag)
def imag(val: Any) -> Any:
    """Imaginary part."""
    x = as_array(val)
    if x.dtype.kind != "c":
        return np.zeros_like(x)
    return _part(x, transcendental.imag, lambda new, old: np.real(old) + 1j * new, np.imag)


@stands_for(np.conjugate, method="conj")
def conj(x: Any, /) -> Any:
    """Complex conjugate (the value itself where it is real)."""
    x = as_array(x)
    return transcendental.conj(x) if x.dtype.kind == "c" else x


stands_for(method="conjugate")(conj)


@stands_for(np.angle)
def angle(z: Any, deg: bool = False) -> Any:
    """Phase of a complex number."""
    z = as_array(z)
    phase = np.arctan2(np.imag(z), np.real(z))
    return phase * (180.0 / np.pi) if deg else phase


@stands_for(np.divmod)
def divmod(x1: Any, x2: Any, /) -> Any:
    """Floor of the quotient, and the remainder."""
    return comparison.floor_divide(x1, x2), arithmetic.mod(x1, x2)


@stands_for(np.modf)
def modf(x: Any, /) -> Any:
    """Fractional and whole part."""
    whole = comparison.trunc(x)
    return x - whole, whole


@stands_for(np.frexp)
def frexp(x: Any, /) -> Any:
    """Mantissa and exponent of base two."""
    exponent = comparison.exponent(x)
    return np.ldexp(x, -exponent), exponent


@stands_for(np.nan_to_num)
def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None,
               neginf: Any = None) -> Any:
    """With NaN and infinities replaced by numbers."""
    x = as_array(x)
    if x.dtype.kind in "biu":
        return x.copy() if copy else x
    info = np.finfo(x.dtype)
    high = info.max if posinf is None else posinf
    low = info.min if neginf is None else neginf
    result = np.where(np.isnan(x), nan, x)
    result = np.where(x == np.inf, high, result)
    result = np.where(x == -np.inf, low, result)
    if not copy:
        mutation.assign(x, result.node)
        return x
    return result


@stands_for(np.sinc)
def sinc(x: Any) -> Any:
    """sin(πx)/(πx)."""
    return transcendental.sinc(as_array(x))


@stands_for(np.isposinf)
def isposinf(x: Any, out: Any = None) -> Any:
    """Whether elements are positive infinity."""
    return x == np.inf


@stands_for(np.isneginf)
def isneginf(x: Any, out: Any = None) -> Any:
    """Whether elements are negative infinity."""
    return x == -np.inf


@stands_for(np.isclose)
def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    """Whether elements agree within a tolerance."""
    a, b = as_array(a), as_array(b)
    close = (np.abs(a - b) <= atol + rtol * np.abs(b)) & np.isfinite(b) | (a == b)
    return close | (np.isnan(a) & np.isnan(b)) if equal_nan else close


@stands_for(np.allclose)
def allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> bool:
    """Whether all elements agree within a tolerance."""
    return bool(np.all(isclose(a, b, rtol, atol, equal_nan)))


@stands_for(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    """Whether shapes and all elements are equal."""
    a, b = as_array(a1), as_array(a2)
    if a.shape != b.shape:
        return False
    equal = (a == b) | np.isnan(a) & np.isnan(b) if equal_nan else a == b
    return bool(np.all(equal))


