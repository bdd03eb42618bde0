"""Differences, sums and integrals of sampled functions."""

from typing import Any

import numpy as np

from ..registry import stands_for, stands_for_late
from .common import as_array, axes_of, floating, of_dtype, one_axis, slices
from .creation import fresh

_NO = np._NoValue


@stands_for(np.diff)
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = _NO, append: Any = _NO) -> Any:
    """Differences of neighbours, ``n`` times over."""
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    a = as_array(a)
    if n == 0:
        return a
    if a.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    axis = one_axis(axis, a.ndim)
    ends = [None if v is _NO else _end(v, a, axis) for v in (prepend, append)]
    parts = [v for v in (ends[0], a, ends[1]) if v is not None]
    a = np.concatenate(parts, axis=axis) if len(parts) > 1 else a
    for _ in range(n):
        later, earlier = (a[slices(a.ndim, axis, part)]
                          for part in (slice(1, None), slice(None, -1)))
        a = later != earlier if a.dtype == bool else later - earlier
    return fresh(a) if hasattr(a, "builder") else a


def _end(value: Any, a: Any, axis: int) -> Any:
    value = as_array(value)
    if value.ndim == 0:
        return np.broadcast_to(value, (*a.shape[:axis], 1, *a.shape[axis + 1:]))
    return value


@stands_for(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Differences of neighbours in the flattened array, with values put before and after."""
    a = np.ravel(ary)
    middle = a[1:] - a[:-1]
    parts = [middle if v is middle else of_dtype(np.ravel(v), a.dtype)
             for v in (to_begin, middle, to_end) if v is not None]
    return np.concatenate(parts) if len(parts) > 1 else middle


@stands_for(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Slope by central differences, one-sided at the edges."""
    f = floating(f)
    axes = axes_of(axis, f.ndim)
    if edge_order not in (1, 2):
        raise ValueError("'edge_order' greater than 2 not supported")
    if len(varargs) == 0:
        spacings: Any = [1.0] * len(axes)
    elif len(varargs) == 1 and np.ndim(varargs[0]) == 0:
        spacings = list(varargs) * len(axes)
    elif len(varargs) == len(axes):
        spacings = list(varargs)
    else:
        raise TypeError("invalid number of arguments")
    out = tuple(_slope(f, h, a, edge_order) for h, a in zip(spacings, axes, strict=True))
    return out[0] if len(axes) == 1 else out


def _spacing(h: Any, f: Any, axis: int) -> Any:
    """A number, or the distances of neighbours along the axis, lined up with it."""
    if np.ndim(h) == 0:
        return h
    h = floating(h)
    if h.ndim != 1:
        raise ValueError("distances must be either scalars or 1d")
    if h.shape[0] != f.shape[axis]:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    h = np.diff(h)
    if not hasattr(h, "builder") and np.all(h == h[0]):
        return h[0]
    return np.reshape(h, [-1 if i == axis else 1 for i in range(f.ndim)])


def _slope(f: Any, h: Any, axis: int, edge_order: int) -> Any:
    if f.shape[axis] < edge_order + 1:
        raise ValueError("Shape of array too small to calculate a numerical gradient, at least "
                         "(edge_order + 1) elements are required.")
    h = _spacing(h, f, axis)

    def at(v: Any, start: Any, stop: Any) -> Any:
        return v[slices(f.ndim, axis, slice(start, stop))]
    if np.ndim(h) == 0:
        inner = (at(f, 2, None) - at(f, None, -2)) / (2.0 * h)
        first, last = (h, h), (h, h)
    else:
        h1, h2 = at(h, None, -1), at(h, 1, None)
        inner = -h2 / (h1 * (h1 + h2)) * at(f, None, -2) \
            + (h2 - h1) / (h1 * h2) * at(f, 1, -1) + h1 / (h2 * (h1 + h2)) * at(f, 2, None)
        first = at(h, 0, 1), at(h, 1, 2)
        last = at(h, -1, None), at(h, -2, -1)
    if edge_order == 1:
        left = (at(f, 1, 2) - at(f, 0, 1)) / first[0]
        right = (at(f, -1, None) - at(f, -2, -1)) / last[0]
    else:
        left = _edge(at(f, 0, 1), at(f, 1, 2), at(f, 2, 3), *first)
        right = -_edge(at(f, -1, None), at(f, -2, -1), at(f, -3, -2), *last)
    return of_dtype(np.concatenate([left, inner, right], axis=axis), f.dtype)


def _edge(f0: Any, f1: Any, f2: Any, h1: Any, h2: Any) -> Any:
    """Slope at the first of three points by the parabola through them."""
    if h1 is h2:
        return -1.5 / h1 * f0 + 2.0 / h1 * f1 + -0.5 / h1 * f2
    return -(2.0 * h1 + h2) / (h1 * (h1 + h2)) * f0 + (h1 + h2) / (h1 * h2) * f1 \
        + -h1 / (h2 * (h1 + h2)) * f2


@stands_for(np.unwrap)
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * np.pi) -> Any:
    """Jumps of more than half a period taken out; the number of periods is locally constant."""
    p = as_array(p)
    axis = one_axis(axis, p.ndim)
    step = np.diff(p, axis=axis)
    whole = p.dtype.kind in "iu" and isinstance(period, int)
    high: Any = period // 2 if whole else period / 2
    wrapped = (step + high) % period - high
    if not whole or period % 2 == 0:
        wrapped = np.where((wrapped == -high) & (step > 0), high, wrapped)
    correction = np.where(np.abs(step) < (period / 2 if discont is None else discont), 0,
                          wrapped - step)
    first, rest = p[slices(p.ndim, axis, slice(0, 1))], p[slices(p.ndim, axis, slice(1, None))]
    return np.concatenate([first, rest + np.cumsum(correction, axis=axis)], axis=axis)


def _cumulative(total: Any, neutral: float) -> Any:
    def cumulative(x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None,
                   include_initial: bool = False) -> Any:
        x = as_array(x)
        if axis is None:
            if x.ndim != 1:
                raise ValueError("For arrays which have more than one dimension ``axis`` argument "
                                 "is required.")
            axis = 0
        axis = one_axis(axis, x.ndim)
        if include_initial:
            shape = (*x.shape[:axis], 1, *x.shape[axis + 1:])
            x = np.concatenate([np.full(shape, neutral, x.dtype), x], axis=axis)
        return total(x, axis=axis, dtype=dtype, out=out)
    return cumulative


cumulative_sum = stands_for(np.cumulative_sum)(_cumulative(np.cumsum, 0))
cumulative_prod = stands_for(np.cumulative_prod)(_cumulative(np.cumprod, 1))


def _widths(x: Any, dx: Any, y: Any, axis: int) -> Any:
    """Distances of neighbouring samples, lined up with the axis."""
    if x is None:
        return dx
    x = as_array(x)
    if x.ndim == 1:
        return np.reshape(np.diff(x), [-1 if i == axis else 1 for i in range(y.ndim)])
    return np.diff(x, axis=axis)


def _trapezia(y: Any, x: Any, dx: Any, axis: int) -> Any:
    later, earlier = (y[slices(y.ndim, axis, part)]
                      for part in (slice(1, None), slice(None, -1)))
    return _widths(x, dx, y, axis) * (later + earlier) / 2.0


@stands_for(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """Integral by the trapezoidal rule."""
    y = as_array(y)
    axis = one_axis(axis, y.ndim)
    return np.sum(_trapezia(y, x, dx, axis), axis=axis)


@stands_for_late("scipy.integrate", "trapezoid")
def scipy_trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """Integral by the trapezoidal rule, in the dtype of ``y``."""
    y = floating(y)
    return of_dtype(trapezoid(y, x, dx, axis), y.dtype)


@stands_for_late("scipy.integrate", "cumulative_trapezoid")
def cumulative_trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1,
                         initial: Any = None) -> Any:
    """Running integral by the trapezoidal rule."""
    y = as_array(y)
    axis = one_axis(axis, y.ndim)
    if initial is not None and initial != 0:
        raise ValueError("`initial` must be `None` or `0`.")
    return np.cumulative_sum(_trapezia(y, x, dx, axis), axis=axis,
                             include_initial=initial is not None)


@stands_for_late("scipy.integrate", "simpson")
def simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Any:
    """Integral by Simpson's rule; an even number of samples is corrected after Cartwright."""
    y = as_array(y)
    axis = one_axis(axis, y.ndim)
    n = y.shape[axis]
    y = np.moveaxis(y, axis, -1)
    h: Any = dx
    if x is not None:
        x = as_array(x)
        h = np.diff(x if x.ndim == 1 else np.moveaxis(x, axis, -1))
    if n == 2:
        return 0.5 * (h if np.ndim(h) == 0 else h[..., 0]) * (y[..., 1] + y[..., 0])
    if x is not None:
        h = of_dtype(h, float)
    if n % 2:
        return _parabolas(y, h)
    last = h if np.ndim(h) == 0 else h[..., -1]
    before = h if np.ndim(h) == 0 else h[..., -2]
    last, before = of_dtype(last, float), of_dtype(before, float)
    total = _parabolas(y[..., :-1], h if np.ndim(h) == 0 else h[..., :-1])
    both = 6.0 * (last + before)
    return total + (2.0 * last ** 2 + 3.0 * before * last) / both * y[..., -1] \
        + (last ** 2 + 3.0 * before * last) / (6.0 * before) * y[..., -2] \
        - last ** 3 / (before * both) * y[..., -3]


def _parabolas(y: Any, h: Any) -> Any:
    """Integral by a parabola through each three samples."""
    first, middle, last = y[..., :-2:2], y[..., 1:-1:2], y[..., 2::2]
    if np.ndim(h) == 0:
        return np.sum(first + 4.0 * middle + last, axis=-1) * (h / 3.0)
    h0, h1 = h[..., ::2], h[..., 1::2]
    width = h0 + h1
    return np.sum(width / 6.0 * (first * (2.0 - h1 / h0) + middle * (width * (width / (h0 * h1)))
                                 + last * (2.0 - h0 / h1)), axis=-1)
