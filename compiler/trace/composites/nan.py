"""Reductions that leave NaN out: a NaN is replaced before it meets anything.

The replacement is a selection, so a NaN contributes exactly zero to the derivative.
"""

from typing import Any

import numpy as np

from ...errors import UnsupportedArgumentError
from .. import mutation
from ..locate import locate
from ..registry import stands_for
from .common import as_array, floating

_NO = np._NoValue


def _replaced(a: Any, value: Any) -> tuple[Any, Any]:
    """The array with its NaN replaced, and where they were (None if there can be none)."""
    a = as_array(a)
    if a.dtype.kind not in "fc":
        return a, None
    missing = np.isnan(a)
    return np.where(missing, value, a), missing


def _sum_like(total: Any, neutral: float) -> Any:
    def reduce(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = _NO,
               initial: Any = _NO, where: Any = _NO) -> Any:
        a, _ = _replaced(a, neutral)
        return total(a, axis=axis, dtype=dtype, out=out, keepdims=keepdims, initial=initial,
                     where=where)
    return reduce


nansum = stands_for(np.nansum)(_sum_like(np.sum, 0.0))
nanprod = stands_for(np.nanprod)(_sum_like(np.prod, 1.0))


def _running(total: Any, neutral: float) -> Any:
    def running(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        return total(_replaced(a, neutral)[0], axis=axis, dtype=dtype, out=out)
    return running


nancumsum = stands_for(np.nancumsum)(_running(np.cumsum, 0.0))
nancumprod = stands_for(np.nancumprod)(_running(np.cumprod, 1.0))


def _count(a: Any, missing: Any, where: Any, axis: Any, keepdims: Any) -> Any:
    """How many elements take part."""
    taken = np.ones(a.shape, bool) if missing is None else ~missing
    if where is not _NO and where is not True:
        taken = taken & where
    return np.sum(taken, axis=axis, keepdims=keepdims)


@stands_for(np.nanmean)
def nanmean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = _NO, *,
            where: Any = _NO) -> Any:
    """Mean of the elements that are not NaN."""
    a, missing = _replaced(floating(a), 0.0)
    count = _count(a, missing, where, axis, keepdims)
    total = np.sum(a, axis=axis, dtype=dtype, keepdims=keepdims, where=where)
    return mutation.write_out(total / count.astype(np.real(total).dtype), out)


@stands_for(np.nanvar)
def nanvar(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0,
           keepdims: Any = _NO, *, where: Any = _NO, mean: Any = _NO, correction: Any = _NO
           ) -> Any:
    """Variance of the elements that are not NaN; NaN where there are too few."""
    if correction is not _NO:
        ddof = correction
    a, missing = _replaced(floating(a), 0.0)
    if mean is _NO:
        total = np.sum(a, axis=axis, dtype=dtype, keepdims=True, where=where)
        mean = total / _count(a, missing, where, axis, keepdims=True).astype(np.real(total).dtype)
    deviation = a - mean
    if missing is not None:
        deviation = np.where(missing, 0.0, deviation)
    square = np.real(deviation * np.conj(deviation)) if a.dtype.kind == "c" else \
        deviation * deviation
    total = np.sum(square, axis=axis, dtype=dtype, keepdims=keepdims, where=where)
    degrees = _count(a, missing, where, axis, keepdims).astype(total.dtype) - ddof
    result = np.where(degrees <= 0, np.nan, total / np.where(degrees <= 0, 1.0, degrees))
    return mutation.write_out(result, out)


@stands_for(np.nanstd)
def nanstd(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0,
           keepdims: Any = _NO, *, where: Any = _NO, mean: Any = _NO, correction: Any = _NO
           ) -> Any:
    """Standard deviation of the elements that are not NaN."""
    square = nanvar(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean,
                    correction=correction)
    # Zero is a corner of the root; its derivative there is taken as zero, as that of a norm is.
    result = np.where(square == 0, 0.0, np.sqrt(np.where(square == 0, 1.0, square)))
    return mutation.write_out(result, out)


def _extremum(pick: Any, neutral: float) -> Any:
    def extremum(a: Any, axis: Any = None, out: Any = None, keepdims: Any = _NO,
                 initial: Any = _NO, where: Any = _NO) -> Any:
        a, missing = _replaced(a, neutral)
        result = pick(a, axis=axis, keepdims=keepdims, initial=initial, where=where)
        if missing is not None:         # a slice of nothing but NaN has no extremum
            empty = np.all(missing, axis=axis, keepdims=keepdims)
            result = np.where(empty, np.nan, result)
        return mutation.write_out(result, out)
    return extremum


nanmax = stands_for(np.nanmax)(_extremum(np.max, -np.inf))
nanmin = stands_for(np.nanmin)(_extremum(np.min, np.inf))


def _position(find: Any, neutral: float) -> Any:
    def position(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = _NO) -> Any:
        a, missing = _replaced(a, neutral)
        if missing is not None and np.any(np.all(missing, axis=axis)):
            raise ValueError("All-NaN slice encountered")
        return find(a, axis=axis, out=out, keepdims=keepdims)
    return position


nanargmax = stands_for(np.nanargmax)(_position(np.argmax, -np.inf))
nanargmin = stands_for(np.nanargmin)(_position(np.argmin, np.inf))


@stands_for(np.trim_zeros)
def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    """Without leading and trailing zeros; how many there are is a decision on values."""
    a = as_array(filt)
    if a.ndim != 1:
        raise UnsupportedArgumentError("np.trim_zeros of several dimensions is not supported on "
                                       "traced values.", "Select the part by slices.", locate())
    used = np.ravel(a) != 0
    if not np.any(used):
        return a[:0]
    start = int(np.argmax(used)) if "f" in trim.lower() else 0
    stop = a.size - int(np.argmax(used[::-1])) if "b" in trim.lower() else a.size
    return a[start:stop]
