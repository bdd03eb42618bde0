"""Order statistics, covariances and counts.

An order statistic is the largest of the elements that do not exceed it: the value is exact, and
its derivative is shared evenly by the elements that have it, as that of ``np.max`` is.
"""

from typing import Any

import numpy as np

from ...errors import UnsupportedArgumentError
from ...ops import indexing
from .. import mutation
from ..locate import locate
from ..registry import stands_for
from ..tracer import Tracer, contains_tracer
from .common import as_array, axes_of, floating, of_dtype, refuse

_NO = np._NoValue


class Sample:
    """Slices of an array along some axes, brought last and sorted, NaN at the end.

    Attributes:
        values: the slices as they are, shape (*kept, n).
        ordered: the same, sorted.
        valid: how many elements of each slice are no NaN; n unless ``skips_nan``.
        spoiled: which slices have no result, because of a NaN or for want of elements.
    """

    def __init__(self, a: Any, axis: Any, skips_nan: bool = False) -> None:
        a = as_array(a)
        if a.dtype.kind == "c":
            raise TypeError("a must be an array of real numbers")
        self.axes = axes_of(axis, a.ndim)
        self.ndim = a.ndim
        kept = [i for i in range(a.ndim) if i not in self.axes]
        a = np.transpose(a, [*kept, *self.axes])
        self.values = np.reshape(a, (*a.shape[:len(kept)], -1)) if a.size else \
            np.reshape(a, (*a.shape[:len(kept)], int(np.prod(a.shape[len(kept):]))))
        self.size = self.values.shape[-1]
        self.ordered = np.sort(self.values, axis=-1)
        self.valid: Any = self.size
        self.spoiled: Any = False
        if a.dtype.kind == "f" and skips_nan:
            self.valid = np.sum(~np.isnan(self.values), axis=-1)
            self.spoiled = self.valid == 0
        elif a.dtype.kind == "f" and self.size:
            self.spoiled = np.isnan(self.ordered[..., -1])

    def at(self, k: Any) -> Any:
        """The k-th smallest element of each slice, counted from 0."""
        if np.ndim(k) == 0 and not isinstance(k, Tracer):
            value = self.ordered[..., int(k)]
        elif np.ndim(k) == 0:
            value = np.take(self.ordered, k, axis=-1)
        else:
            value = np.take_along_axis(self.ordered, k[..., None], axis=-1)[..., 0]
        if not isinstance(self.values, Tracer):
            return value
        low = -np.inf if value.dtype.kind == "f" else np.iinfo(value.dtype).min \
            if value.dtype.kind != "b" else False
        return np.max(np.where(self.values <= value[..., None], self.values, low), axis=-1)

    def finish(self, out: Any, keepdims: Any, n_leading: int = 0) -> Any:
        """NaN where a slice has no result; the reduced axes back if they are to be kept."""
        if self.spoiled is not False:
            out = np.where(self.spoiled, np.nan, out)
        if keepdims is not _NO and keepdims:
            kept = iter(out.shape[n_leading:])
            out = np.reshape(out, out.shape[:n_leading] + tuple(
                1 if i in self.axes else next(kept) for i in range(self.ndim)))
        return out


@stands_for(np.median)
def median(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
           keepdims: Any = False) -> Any:
    """Middle element, or the mean of the two in the middle."""
    sample = Sample(a, axis)
    n = sample.size
    if n == 0:
        return np.mean(sample.values, axis=-1)
    middle = sample.at(n // 2) if n % 2 else (sample.at(n // 2 - 1) + sample.at(n // 2)) / 2.0
    return mutation.write_out(sample.finish(floating(middle), keepdims), out)


@stands_for(np.nanmedian)
def nanmedian(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
              keepdims: Any = _NO) -> Any:
    """Median of the elements that are not NaN."""
    sample = Sample(a, axis, skips_nan=True)
    if sample.size == 0:
        return np.mean(sample.values, axis=-1)
    low = sample.at(np.maximum(sample.valid - 1, 0) // 2)
    high = sample.at(np.minimum(sample.valid // 2, sample.size - 1))
    middle = np.where(sample.valid % 2 == 1, low, (low + high) / 2.0)
    return mutation.write_out(sample.finish(floating(middle), keepdims), out)


# Hyndman and Fan, "Sample quantiles in statistical packages" (1996): (alpha, beta) by method.
_PLOTTING_POSITIONS = {"interpolated_inverted_cdf": (0, 1), "hazen": (0.5, 0.5),
                       "weibull": (0, 0), "median_unbiased": (1 / 3.0, 1 / 3.0),
                       "normal_unbiased": (3 / 8.0, 3 / 8.0)}
_ROUNDED: dict[str, Any] = {"lower": np.floor, "higher": np.ceil, "nearest": np.around}


def _position(n: Any, q: Any, method: str) -> Any:
    """Where in the sorted elements the quantile is."""
    if method in _PLOTTING_POSITIONS:
        alpha, beta = _PLOTTING_POSITIONS[method]
        return n * q + (alpha + q * (1 - alpha - beta)) - 1
    position = (n - 1) * q
    if method in _ROUNDED:
        return _ROUNDED[method](position)
    if method == "midpoint":
        return 0.5 * (np.floor(position) + np.ceil(position))
    if method != "linear":
        raise UnsupportedArgumentError(
            f"The quantile method {method!r} is not supported on traced values.",
            'Use "linear", "hazen", "weibull" or another continuous method.', locate())
    return position


def _one_quantile(sample: Sample, q: Any, method: str, weak: bool) -> Any:
    position = _position(sample.valid, q, method)
    last = max(sample.valid - 1, 0) if isinstance(sample.valid, int) else np.maximum(
        sample.valid - 1, 0)
    position = np.minimum(np.maximum(position, 0), last)
    below = np.floor(position)
    index = below.astype(int) if hasattr(below, "astype") else int(below)
    low = sample.at(index)
    if method in _ROUNDED:
        return low
    high = sample.at(np.minimum(index + 1, last))
    weight = position - below
    if weak and not contains_tracer(weight):
        weight = float(weight)
    elif weak and low.dtype.kind == "f":
        weight = of_dtype(weight, low.dtype)
    rise = high - low
    return np.where(weight >= 0.5, high - rise * (1 - weight), low + rise * weight)


def _quantiles(a: Any, q: Any, axis: Any, out: Any, method: str, keepdims: Any, weights: Any,
               interpolation: Any, skips_nan: bool, weak: bool) -> Any:
    refuse("quantile", weights=(weights, None), interpolation=(interpolation, None))
    sample = Sample(a, axis, skips_nan)
    if not contains_tracer(q) and not np.all((np.asarray(q) >= 0) & (np.asarray(q) <= 1)):
        raise ValueError("Quantiles must be in the range [0, 1]")
    if sample.size == 0:
        raise IndexError("index -1 is out of bounds for axis 0 with size 0")
    q = as_array(q)
    parts = [_one_quantile(sample, one, method, weak) for one in np.ravel(q)]
    result = parts[0] if q.ndim == 0 else np.reshape(
        np.stack(parts), q.shape + parts[0].shape)
    return mutation.write_out(sample.finish(result, keepdims, q.ndim), out)


def _quantile(skips_nan: bool, hundredths: bool) -> Any:
    def quantile(a: Any, q: Any, axis: Any = None, out: Any = None,
                 overwrite_input: bool = False, method: str = "linear", keepdims: Any = _NO, *,
                 weights: Any = None, interpolation: Any = None) -> Any:
        weak = type(q) in (int, float)      # takes the dtype of the data
        if hundredths:
            q = as_array(q) / 100
        return _quantiles(a, q, axis, out, method, keepdims, weights, interpolation, skips_nan,
                          weak)
    return quantile


quantile = stands_for(np.quantile)(_quantile(skips_nan=False, hundredths=False))
percentile = stands_for(np.percentile)(_quantile(skips_nan=False, hundredths=True))
nanquantile = stands_for(np.nanquantile)(_quantile(skips_nan=True, hundredths=False))
nanpercentile = stands_for(np.nanpercentile)(_quantile(skips_nan=True, hundredths=True))


@stands_for(np.cov)
def cov(m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None,
        fweights: Any = None, aweights: Any = None, *, dtype: Any = None) -> Any:
    """Covariances of variables, one a row (or a column)."""
    x = _variables(m, rowvar, dtype)
    if y is not None:
        x = np.concatenate([x, _variables(y, rowvar, dtype)], axis=0)
    ddof = int(not bias) if ddof is None else ddof
    w = None
    for given in (fweights, aweights):
        if given is not None:
            w = floating(given) if w is None else w * given
    if w is None:
        mean, degrees = np.mean(x, axis=1), x.shape[1] - ddof
    else:
        total = np.sum(w)
        mean = np.sum(x * w, axis=1) / total
        lost = 0.0 if ddof == 0 else ddof if aweights is None \
            else ddof * np.sum(w * aweights) / total
        degrees = total - lost
    x = x - mean[:, None]
    weighted = x if w is None else x * w
    return np.squeeze(np.dot(x, np.conj(weighted.T)) * (1.0 / degrees))


def _variables(m: Any, rowvar: bool, dtype: Any) -> Any:
    m = as_array(m)
    if m.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    m = of_dtype(m, np.result_type(m.dtype, np.float64) if dtype is None else dtype)
    if m.ndim < 2:
        return np.reshape(m, (1, -1))
    return m if rowvar else m.T


@stands_for(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """Correlations of variables, one a row (or a column)."""
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    deviation = np.sqrt(np.real(np.diag(c)))
    c = c / deviation[:, None] / deviation[None, :]
    if c.dtype.kind == "c":
        return np.clip(np.real(c), -1, 1) + 1j * np.clip(np.imag(c), -1, 1)
    return np.clip(c, -1, 1)


@stands_for(np.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    """How often each number occurs, or the sum of its weights."""
    x = as_array(x)
    if x.dtype.kind not in "iub":
        raise TypeError("Cannot cast array data to dtype('int64') according to the rule 'safe'")
    n = max(int(np.max(x)) + 1 if x.size else 0, int(minlength))
    return _count(x, n, None if weights is None else of_dtype(as_array(weights), float))


def _count(index: Any, n: int, weights: Any) -> Any:
    """Sum of weights (or a count) for each index below ``n``; those equal to ``n`` are left out."""
    if weights is None:
        start, values = np.zeros(n + 1, np.intp), np.ones((), np.intp)
    else:
        values = as_array(weights)
        start = np.zeros(n + 1, values.dtype)
    return indexing.scatter_add(start, values, index, index=(("a",),))[:n]


def _edges(a: Any, bins: Any, limits: Any, like: Any = 0) -> Any:
    """Edges of the bins; evenly spaced between the extrema if only their number is given.

    They are in the dtype of the limits and of ``like``.
    """
    if isinstance(bins, str):
        raise UnsupportedArgumentError("Bins chosen by a rule are not supported on traced values.",
                                       "Give the number of bins or their edges.", locate())
    if np.ndim(bins):
        return as_array(bins)
    if limits is not None:
        low, high = limits
    elif a.size == 0:
        low, high = 0.0, 1.0
    else:
        low, high = np.min(a), np.max(a)
    dtype = np.result_type(low, high, like)
    if contains_tracer((low, high)):
        same = low == high
        low, high = np.where(same, low - 0.5, low), np.where(same, high + 0.5, high)
    elif low == high:
        low, high = low - 0.5, high + 0.5
    dtype = np.dtype(float) if dtype.kind in "biu" else dtype
    inner = np.linspace(low, high, int(bins) + 1, dtype=dtype)[:-1]
    last = of_dtype(np.reshape(high, (1,)), dtype)      # exactly: the largest is in the last bin
    return np.concatenate([inner, last])


def _bin(a: Any, edges: Any) -> Any:
    """Number of the bin of each element; the count of bins for those outside of all."""
    n = edges.shape[0] - 1
    index = np.searchsorted(edges, a, side="right") - 1
    index = np.where(a == edges[-1], n - 1, index)
    return np.where((a >= edges[0]) & (a <= edges[-1]), index, n)


@stands_for(np.histogram)
def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None,
              weights: Any = None) -> Any:
    """Counts (or sums of weights) in bins, and the edges of the bins."""
    a = np.ravel(a)
    edges = _edges(a, bins, range, like=a)
    weights = None if weights is None else np.ravel(weights)
    counts = _count(_bin(a, edges), edges.shape[0] - 1, weights)
    if density:
        counts = counts / of_dtype(np.diff(edges), float) / np.sum(counts)
    return counts, edges


@stands_for(np.histogram_bin_edges)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """Edges of the bins of a histogram."""
    a = np.ravel(a)
    return _edges(a, bins, range, like=a)


@stands_for(np.histogramdd)
def histogramdd(sample: Any, bins: Any = 10, range: Any = None, density: Any = None,
                weights: Any = None) -> Any:
    """Counts (or sums of weights) in boxes, and the edges of the boxes along each axis."""
    columns = [np.ravel(c) for c in (sample if isinstance(sample, (list, tuple))
                                  else np.atleast_2d(as_array(sample)).T)]
    d = len(columns)
    bins = list(bins) if hasattr(bins, "__len__") else [bins] * d
    limits = [None] * d if range is None else list(range)
    edges = [_edges(c, b, r) for c, b, r in zip(columns, bins, limits, strict=True)]
    shape = tuple(e.shape[0] - 1 for e in edges)
    index: Any = 0
    outside: Any = False
    for column, e, n in zip(columns, edges, shape, strict=True):
        place = _bin(column, e)
        outside = outside | (place == n)
        index = index * n + np.minimum(place, n - 1)
    n_boxes = int(np.prod(shape))
    counts = _count(np.where(outside, n_boxes, index), n_boxes, weights)
    counts = of_dtype(np.reshape(counts, shape), float)
    if density:
        for i, e in enumerate(edges):
            counts = counts / np.reshape(np.diff(e), [-1 if j == i else 1 for j in np.arange(d)])
        counts = counts / np.sum(_count(np.where(outside, n_boxes, index), n_boxes, weights))
    return counts, edges


@stands_for(np.histogram2d)
def histogram2d(x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None,
                weights: Any = None) -> Any:
    """Counts (or sums of weights) in rectangles, and the edges along both axes."""
    if hasattr(bins, "__len__") and len(bins) not in (1, 2):
        bins = [bins, bins]
    counts, edges = histogramdd([x, y], bins, range, density, weights)
    return counts, edges[0], edges[1]
