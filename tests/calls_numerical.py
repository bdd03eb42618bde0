"""Calls of numerical functions: differences, integrals, statistics, signals, interpolation."""

import numpy as np
import scipy.integrate
import scipy.interpolate
import scipy.signal
import scipy.special as special
from calls import M, W, a, call, cplx, into, mask, of, positive, whole

X = np.array([0.0, 0.4, 1.0, 1.7, 2.5])
X6 = np.array([0.0, 0.4, 1.0, 1.7, 2.5, 2.7])
KNOTS = np.array([-2.0, -1.1, 0.2, 0.9, 2.0])
SPLINE = scipy.interpolate.splrep(KNOTS, np.cos(KNOTS))
SURFACE = scipy.interpolate.RectBivariateSpline(KNOTS, KNOTS, np.cos(np.add.outer(KNOTS, KNOTS)))


def gap(x, n=7):
    """Some elements replaced by NaN."""
    return np.where(np.arange(x.size).reshape(x.shape) % n == 1, np.nan, x)


def signal(name, *args, **kwargs):
    function = getattr(scipy.signal, name)
    return call(function, *args, **kwargs)._replace(
        function=lambda positional, keywords: getattr(scipy.signal, name)(
            *positional, **dict(zip(kwargs, keywords, strict=True))))


def integral(name, *args, **kwargs):
    function = getattr(scipy.integrate, name)
    return call(function, *args, **kwargs)._replace(
        function=lambda positional, keywords: getattr(scipy.integrate, name)(
            *positional, **dict(zip(kwargs, keywords, strict=True))))


CALCULUS = [
    call(np.diff, a(5)), call(np.diff, a(5), n=2), call(np.diff, a(2, 4), axis=0),
    call(np.diff, a(2, 4), prepend=0.5), call(np.diff, a(2, 3), append=a(2, 1)),
    call(np.diff, a(2, 3), n=0), call(np.diff, whole(4)), call(np.diff, mask(4)),
    call(np.diff, a(3), n=3), call(np.diff, [1.0, 2.0, 4.0], prepend=a()),
    call(np.ediff1d, a(2, 3)), call(np.ediff1d, a(4), to_begin=a(2), to_end=1.0),
    call(np.gradient, a(5)), call(np.gradient, a(5), 0.5), call(np.gradient, a(5), positive()),
    call(np.gradient, a(5), X), call(np.gradient, a(5), X, edge_order=2),
    call(np.gradient, a(5), edge_order=2), call(np.gradient, a(5), positive(), edge_order=2),
    of(np.gradient, lambda y, h: np.gradient(y, np.cumsum(h)), a(5), positive(5)),
    of(np.gradient, lambda y, h: np.gradient(y, np.cumsum(h), edge_order=2), a(4), positive(4)),
    call(np.gradient, a(3, 4)), call(np.gradient, a(3, 4), axis=1), call(np.gradient, a(3), 2),
    call(np.gradient, a(3, 5), 2.0, X), call(np.gradient, a(3, 4), 2.0, axis=(0,)),
    call(np.gradient, whole(4)), call(np.gradient, cplx(3)),
    of(np.unwrap, lambda x: np.unwrap(3.0 * x), a(6)),
    of(np.unwrap, lambda x: np.unwrap(3.0 * x, axis=0, period=2.0), a(4, 2)),
    of(np.unwrap, lambda x: np.unwrap(5.0 * x, discont=4.0), a(5)),
    call(np.unwrap, whole(5), period=3), call(np.unwrap, whole(5), period=2),
    call(np.cumulative_sum, a(4)), call(np.cumulative_sum, a(2, 3), axis=1, include_initial=True),
    call(np.cumulative_prod, a(4)), call(np.cumulative_prod, a(2, 3), axis=0,
                                         include_initial=True),
    call(np.trapezoid, a(5)), call(np.trapezoid, a(5), X), call(np.trapezoid, a(5), dx=positive()),
    call(np.trapezoid, a(2, 5), X), call(np.trapezoid, a(5, 2), X, axis=0),
    call(np.trapezoid, a(2, 3), a(2, 3)), call(np.trapezoid, [0.0, 1.0, 4.0], a(3)),
    integral("trapezoid", a(5), X), integral("trapezoid", a(2, 3), dx=0.5, axis=0),
    integral("cumulative_trapezoid", a(5)), integral("cumulative_trapezoid", a(2, 5), X),
    integral("cumulative_trapezoid", a(4, 2), dx=2.0, axis=0, initial=0),
    integral("cumulative_trapezoid", a(2, 3), a(2, 3)),
    integral("simpson", a(5)), integral("simpson", a(5), X), integral("simpson", a(6), X6),
    integral("simpson", a(6), dx=positive()), integral("simpson", a(2), a(2)),
    integral("simpson", a(2, 5), X), integral("simpson", a(6, 2), X6, axis=0),
    of(scipy.integrate.simpson, lambda y, h: scipy.integrate.simpson(y, np.cumsum(h)), a(5),
       positive(5)),
    of(scipy.integrate.simpson, lambda y, h: scipy.integrate.simpson(y, np.cumsum(h)), a(6),
       positive(6)),
]

QUANTILES = (0.3, 0.0, 1.0, [0.25, 0.6], [[0.1, 0.5], [0.75, 1.0]])
METHODS = ("interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased", "normal_unbiased",
           "lower", "higher", "nearest", "midpoint")

STATISTICS = [
    *[call(np.median, x, **options) for x in (a(5, 4), a(4, 3)) for options in (
        {}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"axis": (0, 1)},
        {"axis": (1, 0), "keepdims": True})],
    call(np.median, whole(4)), call(np.median, a(2, 3, 3), axis=(0, 2)),
    into(np.median, (3,), a(5, 3), axis=0),
    *[call(np.quantile, a(7), q) for q in QUANTILES],
    *[call(np.quantile, a(5, 4), q, axis=0) for q in QUANTILES],
    *[call(np.quantile, a(6), 0.37, method=m) for m in METHODS],
    *[call(np.quantile, a(6, 2), [0.2, 0.9], axis=0, method=m) for m in METHODS],
    call(np.quantile, a(3, 4), 0.4, axis=(0, 1), keepdims=True),
    call(np.quantile, a(3, 4), [0.4, 0.5], axis=1, keepdims=True), call(np.quantile, a(1), 0.7),
    of(np.quantile, lambda x, q: np.quantile(x, 0.2 + q / 6.0), a(7), positive()),
    of(np.quantile, lambda x, q: np.quantile(x, 0.2 + q / 6.0, axis=0), a(7, 2), positive(2)),
    call(np.percentile, a(7), 30), call(np.percentile, a(4, 3), [10, 55.5], axis=1),
    call(np.percentile, a(4, 3), 99, axis=(0, 1)), call(np.percentile, whole(6), 40),
    call(np.cov, a(3, 5)), call(np.cov, a(5)), call(np.cov, a(5), a(5)),
    call(np.cov, a(5, 3), rowvar=False), call(np.cov, a(3, 5), bias=True),
    call(np.cov, a(3, 5), ddof=0), call(np.cov, a(2, 4), aweights=positive(4)),
    call(np.cov, a(2, 4), fweights=[1, 2, 1, 3]), call(np.cov, cplx(2, 4)),
    call(np.cov, a(2, 4), fweights=[1, 2, 1, 3], aweights=positive(4), ddof=0),
    call(np.cov, a(2, 4), aweights=positive(4), bias=True), call(np.cov, whole(2, 5)),
    call(np.corrcoef, a(3, 5)), call(np.corrcoef, a(5), a(5)), call(np.corrcoef, a(4)),
    call(np.corrcoef, a(5, 2), rowvar=False), call(np.corrcoef, cplx(2, 4)),
    call(np.bincount, whole(6)), call(np.bincount, whole(6), minlength=5),
    call(np.bincount, [0, 3, 1, 3], weights=a(4)), call(np.bincount, whole(4), weights=a(4)),
    call(np.histogram, a(9)), call(np.histogram, a(9), bins=4, range=(-1.0, 1.0)),
    call(np.histogram, a(9), bins=KNOTS), call(np.histogram, a(9), bins=4, weights=a(9)),
    call(np.histogram, a(9), bins=KNOTS, density=True),
    call(np.histogram, a(9), bins=3, weights=positive(9), density=True),
    call(np.histogram, np.zeros(3), bins=2, weights=a(3)),
    call(np.histogram_bin_edges, a(9), bins=4),
    call(np.histogram2d, a(9), a(9), bins=3), call(np.histogram2d, a(9), a(9), bins=[2, KNOTS]),
    call(np.histogram2d, a(9), a(9), bins=KNOTS, weights=a(9)),
    call(np.histogram2d, a(9), a(9), bins=[2, 3], range=[[-1, 1], [-2, 2]], density=True),
    call(np.histogramdd, a(8, 3), bins=2), call(np.histogramdd, a(8, 2), bins=[2, 3],
                                                weights=a(8)),
]

NAN = [
    *[of(f, lambda x, f=f, options=options: getattr(np, f.__name__)(gap(x), **options), a(4, 3))
      for f in (np.nansum, np.nanprod, np.nanmean, np.nanvar, np.nanstd, np.nanmax, np.nanmin,
                np.nanmedian)
      for options in ({}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"axis": (0, 1)})],
    *[of(f, lambda x, f=f, options=options: getattr(np, f.__name__)(gap(x), **options), a(2, 3))
      for f in (np.nansum, np.nanprod, np.nanmean, np.nanvar, np.nanstd)
      for options in ({"where": M}, {"axis": 1, "where": M})],
    *[of(f, lambda x, f=f, options=options: getattr(np, f.__name__)(gap(x), **options), a(4, 3))
      for f in (np.nancumsum, np.nancumprod, np.nanargmax, np.nanargmin)
      for options in ({}, {"axis": 0}, {"axis": 1})],
    *[of(f, lambda x, f=f, options=options: getattr(np, f.__name__)(gap(x), **options), a(4, 3))
      for f in (np.nanvar, np.nanstd) for options in ({"ddof": 1}, {"axis": 0, "correction": 1})],
    *[call(f, whole(2, 3), axis=0) for f in (np.nansum, np.nanmean, np.nanvar, np.nanmax)],
    call(np.nansum, cplx(3)), call(np.nanvar, cplx(3)), call(np.nanmedian, a(4)),
    *[of(np.nanquantile, lambda x, q=q: np.nanquantile(gap(x), q), a(8)) for q in QUANTILES],
    *[of(np.nanquantile, lambda x, q=q: np.nanquantile(gap(x), q, axis=0), a(6, 3))
      for q in QUANTILES],
    *[of(np.nanquantile, lambda x, m=m: np.nanquantile(gap(x), 0.37, axis=0, method=m), a(6, 3))
      for m in METHODS],
    of(np.nanpercentile, lambda x: np.nanpercentile(gap(x), [20, 70], axis=1), a(3, 5)),
    of(np.trim_zeros, lambda x: np.trim_zeros(np.pad(x, 2)), a(3)),
    of(np.trim_zeros, lambda x: np.trim_zeros(np.pad(x, 2), "f"), a(3)),
    of(np.trim_zeros, lambda x: np.trim_zeros(0.0 * x), a(3)),
]

SIGNAL = [
    *[call(f, a(n), a(m), mode=mode) for f in (np.convolve, np.correlate)
      for n, m in ((5, 3), (3, 5), (4, 2), (2, 4), (4, 4), (3, 1)) for mode in
      ("full", "same", "valid")],
    call(np.convolve, a(5), [0.2, 0.5, 0.3]), call(np.correlate, cplx(4), cplx(3), "full"),
    call(np.correlate, cplx(2), cplx(3), "full"), call(np.convolve, a(), a(2)),
    call(np.convolve, whole(4), whole(2)),
    *[signal(f, a(4, 3), a(2, 2), mode=mode) for f in (
        "convolve", "correlate", "fftconvolve", "convolve2d", "correlate2d")
      for mode in ("full", "same", "valid")],
    *[signal(f, a(5, 4), a(3, 2), mode=mode, boundary=boundary) for f in (
        "convolve2d", "correlate2d")
      for mode in ("full", "same") for boundary in ("wrap", "symm")],
    *[signal("convolve2d", a(3, 3), W, mode=mode, fillvalue=2.0) for mode in ("full", "same")],
    *[signal(f, a(2, 3), a(2, 4), mode="full") for f in ("convolve", "correlate")],
    signal("correlate", a(2, 2), a(3, 3), mode="valid"), signal("convolve", a(5), a(3)),
    signal("correlate2d", a(2, 2), a(3, 3), mode="valid"),
    signal("oaconvolve", a(5), a(3)), signal("correlate", cplx(4), cplx(2)),
    signal("lfilter", a(3), [1.0], a(6)), signal("lfilter", [1.0, 0.5], [2.0], a(3, 4), axis=0),
    call(np.lib.stride_tricks.sliding_window_view, a(6), 3)._replace(
        function=lambda args, _: np.lib.stride_tricks.sliding_window_view(*args).copy()),
    of(np.lib.stride_tricks.sliding_window_view,
       lambda x: np.lib.stride_tricks.sliding_window_view(x, (2, 3)) * 1.0, a(3, 4)),
    of(np.lib.stride_tricks.sliding_window_view,
       lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, axis=0) * 1.0, a(3, 2)),
]

POLYNOMIALS = [
    call(np.polyval, a(4), a(3)), call(np.polyval, [1.0, -2.0, 3.0], a()),
    call(np.polyval, a(3), 2.0), call(np.polyval, a(1), a(2)),
    call(np.vander, a(3)), call(np.vander, a(3), 2), call(np.vander, a(2), 4, increasing=True),
    call(np.vander, a(2), 0),
    call(np.polyadd, a(3), a(2)), call(np.polysub, a(2), a(4)), call(np.polymul, a(3), a(2)),
    call(np.polyder, a(4)), call(np.polyder, a(4), 2), call(np.polyint, a(3)),
    call(np.polyint, a(3), 2, k=a(2)), call(np.polyint, a(3), 2, k=1.5),
    of(np.polydiv, lambda u, v: np.polydiv(u, v), a(4), positive(2)),
    call(np.polydiv, a(2), [1.0, 2.0, 3.0]),
    call(np.poly, a(3)), call(np.polyfit, X, a(5), 2), call(np.polyfit, X, a(5, 2), 1),
    call(np.polyfit, X, a(5), 1, w=positive(5)),
    of(np.polyfit, lambda h, y: np.polyfit(np.cumsum(h), y, 1), positive(4), a(4)),
]

HIGHER_ORDER = [
    of(np.apply_along_axis, lambda x: np.apply_along_axis(np.sum, 0, x ** 2), a(2, 3)),
    of(np.apply_along_axis, lambda x: np.apply_along_axis(
        lambda row: np.outer(row, row), 1, x), a(2, 3)),
    of(np.apply_along_axis, lambda x: np.apply_along_axis(
        lambda row, n: row[:n] * 2, 1, x, 2), a(2, 3, 2)),
    of(np.apply_along_axis, lambda x: np.apply_along_axis(np.sort, -1, x), a(3)),
    of(np.apply_over_axes, lambda x: np.apply_over_axes(np.sum, x ** 2, (0, 2)), a(2, 3, 2)),
    call(np.block, [[a(2, 2), a(2, 1)], [a(1, 2), a(1, 1)]]), call(np.block, [a(2), a()]),
    call(np.block, a(2)),
    of(np.fromiter, lambda x: np.fromiter((v * v for v in x), float), a(3)),
    of(np.fromiter, lambda x: np.fromiter((v * v for v in x), float, count=2), a(3)),
    call(np.real_if_close, cplx(3)), call(np.real_if_close, a(3)),
    of(np.real_if_close, lambda x: np.real_if_close(x + 1e-20j), a(3)),
    call(np.isin, a(4), [0.0, 1.0]), call(np.isin, whole(4), [1], invert=True),
    of(np.common_type, lambda x: np.zeros(2, np.common_type(x)) + x, a(2)),
    of(np.tril_indices_from, lambda x: x[np.tril_indices_from(x)], a(3, 3)),
    of(np.triu_indices_from, lambda x: x[np.triu_indices_from(x, 1)], a(3, 4)),
    of(np.diag_indices_from, lambda x: x[np.diag_indices_from(x)], a(3, 3)),
    of(np.partition, lambda x: np.partition(x, 2)[..., 2], a(2, 5)),
    of(np.argpartition, lambda x: np.argpartition(x, 2, axis=0)[2], a(5, 2)),
    call(np.iscomplex, cplx(3)), call(np.isreal, cplx(3)), call(np.isreal, a(3)),
    call(np.array_equiv, a(2, 3), a(3)), call(np.array_equiv, a(2), a(3)),
    of(np.array_equiv, lambda x: np.array_equiv(x, np.broadcast_to(x, (2, 3))), a(3)),
    call(np.sort_complex, a(3)), call(np.sort_complex, cplx(3)), call(np.astype, a(3), np.float32),
    call(np.lexsort, [a(4), whole(4)]), call(np.lexsort, [a(3, 2), whole(3, 2)], axis=0),
]

UFUNCS = [
    *[call(f.outer, a(2), a(3)) for f in (np.fmod, np.logaddexp, np.copysign, np.hypot)],
    *[call(f.accumulate, a(7)) for f in (
        np.maximum, np.minimum, np.fmax, np.fmin, np.logaddexp, np.logaddexp2)],
    call(np.maximum.accumulate, a(2, 5), axis=1), call(np.minimum.accumulate, a(3, 2)),
    call(np.logaddexp.reduce, a(4)), call(np.logaddexp.reduce, a(2, 3), axis=1, keepdims=True),
    *[call(f.reduce, positive(2, 4), axis=1) for f in (np.subtract, np.divide, np.hypot,
                                                       np.fmin, np.fmax, np.logaddexp2)],
    call(np.hypot.reduce, positive(3), initial=2.0), call(np.subtract.reduce, a(3), axis=None),
    call(np.logical_or.reduce, mask(2, 3), axis=1), call(np.logical_and.reduce, mask(2, 3)),
    call(np.add.reduceat, a(6), [0, 3, 1, 4]), call(np.add.reduceat, a(2, 4), [0, 2], axis=1),
    call(np.maximum.reduceat, a(6), [0, 3]), call(np.minimum.reduceat, a(6), [0, 3]),
    call(np.multiply.reduceat, a(5, 2), [1, 2]),
]

INTERPOLATION = [
    call(np.interp, a(6), KNOTS, a(5)), call(np.interp, a(), KNOTS, a(5)),
    of(np.interp, lambda x, h, f: np.interp(x, np.cumsum(h) - 1.0, f), a(4), positive(4), a(4)),
    call(np.interp, [-3.0, 0.1, 2.5], KNOTS, a(5), left=a(), right=7.0),
    call(np.interp, a(2, 3), KNOTS, a(5), period=3.3), call(np.interp, a(3), [0.5], a(1)),
    of(np.interp, lambda x, xp: np.interp(x, xp, KNOTS, period=1.7), a(4), a(5)),
    call(np.interp, a(4), KNOTS, cplx(5)), call(np.interp, KNOTS, KNOTS, a(5)),
    call(np.i0, a(4)), call(special.lambertw, positive(3)), call(special.lambertw, positive(), 1),
]

TABLE = (CALCULUS + STATISTICS + NAN + SIGNAL + POLYNOMIALS + HIGHER_ORDER + UFUNCS
         + INTERPOLATION)
