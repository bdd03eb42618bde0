"""Sums, means, extrema, norms, cumulative operations and sorting."""

from typing import Any

import numpy as np
import scipy.special as special

from ...ops import reduction
from .. import mutation
from ..registry import FUNCTIONS, stands_for
from .common import as_array, axes_of, one_axis, refuse
from .creation import cast
from .layout import ravel

_NO = np._NoValue


def _keep(keepdims: Any) -> bool:
    return bool(keepdims) if keepdims is not _NO else False


def _masked(a: Any, where: Any, neutral: float) -> Any:
    return a if where is _NO or where is True else np.where(where, a, neutral)


def _with_initial(result: Any, initial: Any, combine: Any) -> Any:
    return result if initial is _NO or initial is None else combine(result, initial)


@stands_for(np.sum, (np.add, "reduce"), method="sum")
def sum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = _NO,
        initial: Any = _NO, where: Any = _NO) -> Any:
    """Sum of elements."""
    a = cast(_masked(as_array(a), where, 0.0), dtype)
    result = cast(reduction.sum(a, axis=axes_of(axis, a.ndim), keepdims=_keep(keepdims)), dtype)
    return mutation.write_out(_with_initial(result, initial, np.add), out)


FUNCTIONS[(np.add, "reduce")] = lambda array, axis=0, dtype=None, out=None, keepdims=False, \
    initial=_NO, where=True: sum(array, axis, dtype, out, keepdims, initial, where)


@stands_for(np.prod, method="prod")
def prod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = _NO,
         initial: Any = _NO, where: Any = _NO) -> Any:
    """Product of elements."""
    a = cast(_masked(as_array(a), where, 1.0), dtype)
    result = cast(reduction.prod(a, axis=axes_of(axis, a.ndim), keepdims=_keep(keepdims)), dtype)
    return mutation.write_out(_with_initial(result, initial, np.multiply), out)


FUNCTIONS[(np.multiply, "reduce")] = lambda array, axis=0, dtype=None, out=None, keepdims=False, \
    initial=_NO, where=True: prod(array, axis, dtype, out, keepdims, initial, where)


def _extremum(row: Any, combine: Any, neutral: float) -> Any:
    def extremum(a: Any, axis: Any = None, out: Any = None, keepdims: Any = _NO,
                 initial: Any = _NO, where: Any = _NO) -> Any:
        a = _masked(as_array(a), where, neutral)
        axes = axes_of(axis, a.ndim)
        if 0 in [a.shape[i] for i in axes] and initial is _NO:
            raise ValueError(f"zero-size array to reduction operation {combine.__name__} "
                             "which has no identity")
        result = row(a, axis=axes, keepdims=_keep(keepdims))
        return mutation.write_out(_with_initial(result, initial, combine), out)
    return extremum


max = stands_for(np.max, np.amax, method="max")(_extremum(reduction.max, np.maximum, -np.inf))
min = stands_for(np.min, np.amin, method="min")(_extremum(reduction.min, np.minimum, np.inf))
FUNCTIONS[(np.maximum, "reduce")] = lambda array, axis=0, dtype=None, out=None, keepdims=False, \
    initial=_NO, where=_NO: max(array, axis, out, keepdims, initial, where)
FUNCTIONS[(np.minimum, "reduce")] = lambda array, axis=0, dtype=None, out=None, keepdims=False, \
    initial=_NO, where=_NO: min(array, axis, out, keepdims, initial, where)


def _logical(row: Any) -> Any:
    def logical(a: Any, axis: Any = None, out: Any = None, keepdims: Any = _NO, *,
                where: Any = _NO) -> Any:
        a = as_array(a)
        if where is not _NO and where is not True:
            a = np.where(where, a.astype(bool), row is reduction.all)
        result = row(a, axis=axes_of(axis, a.ndim), keepdims=_keep(keepdims))
        return mutation.write_out(result, out)
    return logical


any = stands_for(np.any, method="any")(_logical(reduction.any))
all = stands_for(np.all, method="all")(_logical(reduction.all))


@stands_for(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Number of elements that are not zero."""
    a = as_array(a)
    return reduction.count_nonzero(a, axis=axes_of(axis, a.ndim), keepdims=keepdims)


@stands_for(np.mean, method="mean")
def mean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = _NO, *,
         where: Any = _NO) -> Any:
    """Arithmetic mean."""
    a = as_array(a)
    a = cast(a, dtype if dtype is not None else None if a.dtype.kind in "fc" else float)
    if where is not _NO and where is not True:
        total = sum(a, axis, keepdims=keepdims, where=where)
        return mutation.write_out(total / _selected(a, axis, keepdims, where), out)
    total = reduction.sum(a, axis=axes_of(axis, a.ndim), keepdims=_keep(keepdims))
    return mutation.write_out(total / _count(a, axis), out)


_mean = mean                           # for functions with a parameter of that name


def _count(a: Any, axis: Any) -> int:
    n = 1
    for i in axes_of(axis, a.ndim):
        n *= a.shape[i]
    return n


def _selected(a: Any, axis: Any, keepdims: Any, where: Any) -> Any:
    """How many elements a mask selects, in the dtype of the sums."""
    count = np.sum(np.broadcast_to(where, a.shape), axis=axis, keepdims=_keep(keepdims))
    return count.astype(a.real.dtype)


@stands_for(np.average)
def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *,
            keepdims: Any = _NO) -> Any:
    """Weighted mean."""
    a = as_array(a)
    if weights is None:
        result = mean(a, axis, keepdims=keepdims)
        total = result.dtype.type(_count(a, axis))
    else:
        w = as_array(weights)
        common = np.result_type(a.dtype, w.dtype, *[] if a.dtype.kind in "fc" else [float])
        a, w = a.astype(common), w.astype(common)
        if w.shape != a.shape:
            shape = [1] * a.ndim
            shape[one_axis(axis, a.ndim)] = w.shape[0]
            w = np.broadcast_to(np.reshape(w, shape), a.shape)
        total = np.sum(w, axis=axis, keepdims=_keep(keepdims))
        result = sum(a * w, axis, keepdims=keepdims) / total
    return (result, np.broadcast_to(total, result.shape)) if returned else result


@stands_for(np.var, method="var")
def var(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0,
        keepdims: Any = _NO, *, where: Any = _NO, mean: Any = _NO, correction: Any = _NO) -> Any:
    """Variance."""
    a = as_array(a)
    if correction is not _NO:
        ddof = correction
    centre = _mean(a, axis, dtype, keepdims=True, where=where) if mean is _NO else mean
    deviation = a - centre
    square = np.real(deviation * np.conj(deviation)) if a.dtype.kind == "c" else deviation ** 2
    total = sum(square, axis, dtype, keepdims=keepdims, where=where)
    count = _count(a, axis) if where is _NO or where is True else \
        _selected(square, axis, keepdims, where)
    return mutation.write_out(total / (count - ddof), out)


@stands_for(np.std, method="std")
def std(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0,
        keepdims: Any = _NO, *, where: Any = _NO, mean: Any = _NO, correction: Any = _NO) -> Any:
    """Standard deviation."""
    result = np.sqrt(var(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean,
                         correction=correction))
    return mutation.write_out(result, out)


@stands_for(np.ptp)
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = _NO) -> Any:
    """Largest minus smallest element."""
    return mutation.write_out(max(a, axis, keepdims=keepdims) - min(a, axis, keepdims=keepdims),
                              out)


def _running(row: Any) -> Any:
    def running(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        a = cast(as_array(a), dtype)
        if axis is None:
            a, axis = ravel(a), 0
        return mutation.write_out(cast(row(a, axis=one_axis(axis, a.ndim)), dtype), out)
    return running


cumsum = stands_for(np.cumsum, method="cumsum")(_running(reduction.cumsum))
cumprod = stands_for(np.cumprod, method="cumprod")(_running(reduction.cumprod))
FUNCTIONS[(np.add, "accumulate")] = lambda array, axis=0, dtype=None, out=None: \
    cumsum(array, axis, dtype, out)
FUNCTIONS[(np.multiply, "accumulate")] = lambda array, axis=0, dtype=None, out=None: \
    cumprod(array, axis, dtype, out)


def _position(row: Any) -> Any:
    def position(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = _NO) -> Any:
        a = as_array(a)
        flat = axis is None
        ndim = a.ndim
        if flat:
            a, axis = ravel(a), 0
        axis = one_axis(axis, a.ndim)
        result = row(a, axis=axis)
        if _keep(keepdims):
            result = np.reshape(result, (1,) * ndim) if flat else np.expand_dims(result, axis)
        return mutation.write_out(result, out)
    return position


argmax = stands_for(np.argmax, method="argmax")(_position(reduction.argmax))
argmin = stands_for(np.argmin, method="argmin")(_position(reduction.argmin))


@stands_for(np.argsort, method="argsort")
def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *,
            stable: Any = None) -> Any:
    """Indices that sort (ties in order of appearance)."""
    a = as_array(a)
    if axis is None:
        a, axis = ravel(a), 0
    return reduction.argsort(a, axis=one_axis(axis, a.ndim))


@stands_for(np.sort)
def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *,
         stable: Any = None) -> Any:
    """Sorted copy; the permutation is locally constant."""
    a = as_array(a)
    if axis is None:
        a, axis = ravel(a), 0
    return np.take_along_axis(a, argsort(a, axis), axis)


@stands_for(method="sort")
def sort_method(a: Any, axis: Any = -1, **_: Any) -> None:
    """Sort in place."""
    mutation.assign(a, sort(a, axis).node)


@stands_for(special.logsumexp)
def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False,
              return_sign: bool = False) -> Any:
    """Logarithm of a sum of exponentials."""
    refuse("logsumexp", return_sign=(return_sign, False))
    a = as_array(a)
    if b is not None:
        top = np.max(a, axis=axis, keepdims=True)
        top = np.where(np.isfinite(top), top, 0.0)
        total = np.sum(b * np.exp(a - top), axis=axis, keepdims=True)
        out = np.log(total) + top
        return out if keepdims else np.squeeze(out, axis=axis)
    return reduction.logsumexp(a, axis=axes_of(axis, a.ndim), keepdims=keepdims)


@stands_for(special.log_softmax)
def log_softmax(x: Any, axis: Any = None) -> Any:
    """Logarithm of the softmax."""
    return x - logsumexp(x, axis, keepdims=True)


@stands_for(special.softmax)
def softmax(x: Any, axis: Any = None) -> Any:
    """Exponentials that sum to one along the axis."""
    return np.exp(log_softmax(x, axis))


@stands_for(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Vector and matrix norms."""
    x = as_array(x)
    if x.dtype.kind not in "fc":
        x = cast(x, float)
    if axis is None and (ord is None or x.ndim == 1):
        axis = tuple(range(x.ndim))
        if ord in (None, 2, "fro") or (x.ndim == 1 and ord == 2):
            return _euclidean(x, axis, keepdims)
    if axis is None:
        axis = tuple(range(x.ndim))
    axes = axes_of(axis, x.ndim)
    if len(axes) == 1:
        return _vector_norm(x, ord, axes, keepdims)
    return _matrix_norm(x, ord, axes, keepdims)


def _euclidean(x: Any, axes: Any, keepdims: bool) -> Any:
    return reduction.norm(x, axis=axes, keepdims=keepdims)


def _vector_norm(x: Any, ord: Any, axes: Any, keepdims: bool) -> Any:
    if ord is None or ord == 2:
        return _euclidean(x, axes, keepdims)
    size = np.abs(x)
    if ord == np.inf:
        return np.max(size, axis=axes, keepdims=keepdims)
    if ord == -np.inf:
        return np.min(size, axis=axes, keepdims=keepdims)
    if ord == 0:
        return np.sum((x != 0).astype(size.dtype), axis=axes, keepdims=keepdims)
    if ord == 1:
        return np.sum(size, axis=axes, keepdims=keepdims)
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order {ord!r} for vectors")
    return np.sum(size ** ord, axis=axes, keepdims=keepdims) ** (1.0 / ord)


def _matrix_norm(x: Any, ord: Any, axes: Any, keepdims: bool) -> Any:
    rows, columns = axes
    if ord is None or ord == "fro":
        return _euclidean(x, axes, keepdims)
    if ord in (1, -1, np.inf, -np.inf):
        first, second = (rows, columns) if abs(ord) == 1 else (columns, rows)
        total = np.sum(np.abs(x), axis=first, keepdims=True)
        pick = np.max if ord > 0 else np.min
        out = pick(total, axis=second, keepdims=True)
    elif ord in (2, -2, "nuc"):
        values = np.linalg.svd(np.moveaxis(x, axes, (-2, -1)), compute_uv=False)
        reduce: Any = {2: np.max, -2: np.min, "nuc": np.sum}[ord]
        out = reduce(values, axis=-1)
        return np.reshape(out, tuple(1 if i in axes else n for i, n in enumerate(x.shape))) \
            if keepdims else out
    else:
        raise ValueError("Invalid norm order for matrices.")
    return out if keepdims else np.squeeze(out, axis=axes)


@stands_for(np.linalg.vector_norm)
def vector_norm(x: Any, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """Norm of vectors along axes."""
    x = as_array(x)
    axes = axes_of(axis, x.ndim)
    return _vector_norm(x, ord, axes, keepdims)
