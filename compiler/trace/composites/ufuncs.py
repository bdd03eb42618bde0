"""Methods of ufuncs: outer, reduce, accumulate, reduceat; and ufuncs made from Python functions."""

from typing import Any

import numpy as np

from ...errors import UnsupportedArgumentError
from ...ops.table import BY_FUNCTION
from .. import mutation
from ..locate import locate
from ..registry import FUNCTIONS
from ..tracer import Tracer
from .common import as_array, call_user, one_axis, slices
from .creation import array, cast
from .reduction import logsumexp

_NO = np._NoValue


def _outer(ufunc: Any) -> Any:
    def outer(a: Any, b: Any, /, out: Any = None, dtype: Any = None) -> Any:
        a, b = as_array(a), as_array(b)
        result = ufunc(np.reshape(a, a.shape + (1,) * b.ndim), b)
        return mutation.write_out(cast(result, dtype), out)
    return outer


def _pairwise_scan(ufunc: Any) -> Any:
    """Running results of an associative operation, in log n steps (Hillis and Steele, 1986)."""
    def accumulate(array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        a = cast(as_array(array), dtype)
        axis = one_axis(axis, a.ndim)
        shift = 1
        while shift < a.shape[axis]:
            start, rest, moved = (a[slices(a.ndim, axis, part)] for part in
                                  (slice(0, shift), slice(shift, None), slice(0, -shift)))
            a = np.concatenate([start, ufunc(moved, rest)], axis=axis)
            shift *= 2
        return mutation.write_out(a, out)
    return accumulate


def _left_fold(ufunc: Any) -> Any:
    def reduce(array: Any, axis: Any = 0, dtype: Any = None, out: Any = None,
               keepdims: bool = False, initial: Any = _NO, where: Any = True) -> Any:
        if where is not True or isinstance(axis, tuple):
            raise UnsupportedArgumentError(
                f"np.{ufunc.__name__}.reduce with where= or several axes is not supported on "
                "traced values.", "Reduce one axis after the other.", locate())
        a = cast(as_array(array), dtype)
        if axis is None and a.ndim > 1:
            raise ValueError(f"reduction operation '{ufunc.__name__}' is not reorderable, so at "
                             "most one axis may be specified")
        axis = one_axis(0 if axis is None else axis, a.ndim)
        parts = list(np.moveaxis(a, axis, 0))
        if initial is not _NO:
            parts.insert(0, initial)
        if not parts:
            raise ValueError(f"zero-size array to reduction operation {ufunc.__name__} which has "
                             "no identity")
        result = parts[0]
        for part in parts[1:]:
            result = ufunc(result, part)
        return mutation.write_out(np.expand_dims(result, axis) if keepdims else result, out)
    return reduce


def _reduceat(ufunc: Any) -> Any:
    def reduceat(array: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None
                 ) -> Any:
        a = cast(as_array(array), dtype)
        axis = one_axis(axis, a.ndim)
        starts = [int(i) for i in as_array(indices)]
        stops = [*starts[1:], a.shape[axis]]
        parts = []
        for start, stop in zip(starts, stops, strict=True):
            part = a[slices(a.ndim, axis, slice(start, max(stop, start + 1)))]
            parts.append(FUNCTIONS[ufunc, "reduce"](part, axis=axis))
        return mutation.write_out(np.stack(parts, axis=axis), out)
    return reduceat


def _truth(function: Any) -> Any:
    def reduce(array: Any, axis: Any = 0, dtype: Any = None, out: Any = None,
               keepdims: bool = False, initial: Any = _NO, where: Any = True) -> Any:
        if initial is not _NO or where is not True:
            raise UnsupportedArgumentError(
                "np.logical_or.reduce and np.logical_and.reduce with initial= or where= are not "
                "supported on traced values.", "Use np.any and np.all.", locate())
        return function(array, axis=axis, out=out, keepdims=keepdims)
    return reduce


def _logaddexp_reduce(array: Any, axis: Any = 0, dtype: Any = None, out: Any = None,
                      keepdims: bool = False, initial: Any = _NO, where: Any = True) -> Any:
    a = cast(as_array(array), dtype)
    if where is not True:
        a = np.where(where, a, -np.inf)
    result = logsumexp(a, axis=axis, keepdims=keepdims)
    return mutation.write_out(result if initial is _NO else np.logaddexp(initial, result), out)


FUNCTIONS[np.logaddexp, "reduce"] = _logaddexp_reduce
FUNCTIONS[np.logical_or, "reduce"] = _truth(np.any)
FUNCTIONS[np.logical_and, "reduce"] = _truth(np.all)
_ufunc: Any
for _ufunc in (np.subtract, np.divide, np.hypot, np.fmax, np.fmin, np.logaddexp2):
    FUNCTIONS[_ufunc, "reduce"] = _left_fold(_ufunc)
for _ufunc in (np.maximum, np.minimum, np.fmax, np.fmin, np.logaddexp, np.logaddexp2):
    FUNCTIONS[_ufunc, "accumulate"] = _pairwise_scan(_ufunc)
for _ufunc in (np.add, np.multiply, np.maximum, np.minimum):
    FUNCTIONS[_ufunc, "reduceat"] = _reduceat(_ufunc)
for _ufunc in list(BY_FUNCTION):
    if isinstance(_ufunc, np.ufunc) and _ufunc.nin == 2 and _ufunc.nout == 1 \
            and _ufunc.signature is None:
        FUNCTIONS[_ufunc, "outer"] = _outer(_ufunc)


def _of_objects(ufunc: Any, *args: Any) -> Any:
    """A ufunc made by ``np.frompyfunc``: the user's function, called element by element."""
    def elements(a: Any) -> Any:
        if not isinstance(a, Tracer):
            return a
        made = np.empty(a.shape, object)
        for index in np.ndindex(a.shape):
            made[index] = a[index] if index else a
        return made
    out = call_user(ufunc, *map(elements, args))
    return tuple(map(array, out)) if isinstance(out, tuple) else array(out)


FUNCTIONS[np.frompyfunc, "__call__"] = _of_objects
