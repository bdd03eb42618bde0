"""Interpolation: ``np.interp``, SciPy's splines, and interpolating objects that are called."""

from typing import Any

import numpy as np

from ...errors import UnsupportedArgumentError
from ...ops import splines
from ..locate import locate
from ..registry import stands_for, stands_for_late
from ..tracer import contains_tracer
from .common import as_array, floating
from .creation import cast, fresh

_MODULE = "scipy.interpolate"


def _clipped(x: Any, low: Any, high: Any) -> Any:
    return np.minimum(np.maximum(as_array(x), low), high)


@stands_for_late(_MODULE, "splev")
def splev(x: Any, tck: Any, der: int = 0, ext: int = 0) -> Any:
    """A spline of FITPACK, or a curve of several coordinates."""
    if not isinstance(tck, (tuple, list)):
        if ext != 0:
            raise ValueError(f"Extrapolation mode {ext} is not supported by BSpline.")
        return bspline(tck, x, der, extrapolate=True)
    t, c, k = tck
    if not (hasattr(c, "shape") or np.isscalar(c[0])) or np.ndim(c) > 1:
        return [splev(x, (t, part, k), der, ext) for part in c]
    if not 0 <= der <= k:
        raise ValueError(f"0<=der={der}<=k={k} must hold")
    t, c, x = as_array(t), as_array(c), as_array(x)
    if ext == 3 and der == 0:           # constant outside of the knots
        x = _clipped(x, t[k], t[t.shape[0] - k - 1])
    return fresh(splines.splev(x, t, c, k=int(k), der=int(der), ext=int(ext)))


@stands_for_late(_MODULE, "bisplev")
def bisplev(x: Any, y: Any, tck: Any, dx: int = 0, dy: int = 0) -> Any:
    """A spline of two variables on a grid; constant outside of its rectangle."""
    tx, ty, c, kx, ky = tck
    if not 0 <= dx < kx:
        raise ValueError(f"0 <= dx = {dx} < kx = {kx} must hold")
    if not 0 <= dy < ky:
        raise ValueError(f"0 <= dy = {dy} < ky = {ky} must hold")
    tx, ty, c = as_array(tx), as_array(ty), as_array(c)
    x = _clipped(x, tx[kx], tx[tx.shape[0] - kx - 1])
    y = _clipped(y, ty[ky], ty[ty.shape[0] - ky - 1])
    return splines.bisplev(x, y, tx, ty, c, kx=int(kx), ky=int(ky), dx=int(dx), dy=int(dy))


def _periodic(x: Any, low: Any, high: Any) -> Any:
    return low + (x - low) % (high - low)


def _axis_back(out: Any, x: Any, axis: int) -> Any:
    """The axes of the data put back where they were, the axes of x in their place."""
    if axis == 0:
        return out
    order = list(range(out.ndim))
    return np.transpose(out, order[x.ndim:x.ndim + axis] + order[:x.ndim]
                        + order[x.ndim + axis:])


@stands_for_late(_MODULE, "BSpline.__call__")
def bspline(self: Any, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
    """A B-spline object."""
    extrapolate = self.extrapolate if extrapolate is None else extrapolate
    x = as_array(x)
    inner = x
    if extrapolate == "periodic":
        inner = _periodic(x, self.t[self.k], self.t[self.t.size - self.k - 1])
        extrapolate = False
    out = splines.bspline(inner, self.t, self.c, k=int(self.k), nu=int(nu),
                          extrapolate=bool(extrapolate))
    return _axis_back(fresh(out), x, self.axis)


@stands_for_late(_MODULE, "PPoly.__call__")
def ppoly(self: Any, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
    """A piecewise polynomial object: CubicSpline, PchipInterpolator, Akima1DInterpolator."""
    if not hasattr(self, "antiderivative") or type(self).__name__ == "BPoly":
        raise UnsupportedArgumentError(
            f"{type(self).__name__} is not supported on traced values.",
            "Convert it: scipy.interpolate.PPoly.from_bernstein_basis(p).", locate())
    extrapolate = self.extrapolate if extrapolate is None else extrapolate
    x = as_array(x)
    inner = x
    if extrapolate == "periodic":
        inner, extrapolate = _periodic(x, self.x[0], self.x[-1]), False
    out = splines.ppoly(inner, self.x, self.c, nu=int(nu), extrapolate=bool(extrapolate))
    return _axis_back(fresh(out), x, self.axis)


@stands_for_late(_MODULE, "UnivariateSpline.__call__")
def univariate_spline(self: Any, x: Any, nu: int = 0, ext: Any = None) -> Any:
    """A smoothing spline object."""
    names = {"extrapolate": 0, "zeros": 1, "raise": 2, "const": 3}
    ext = self.ext if ext is None else names.get(ext, ext)
    return splev(x, self._eval_args, nu, ext)


@stands_for_late(_MODULE, "RectBivariateSpline.__call__")
def bivariate_spline(self: Any, x: Any, y: Any, dx: int = 0, dy: int = 0, grid: bool = True
                     ) -> Any:
    """A smoothing spline of two variables, on a grid or at points."""
    tx, ty, c = self.tck
    kx, ky = self.degrees
    x = _clipped(x, tx[kx], tx[len(tx) - kx - 1])
    y = _clipped(y, ty[ky], ty[len(ty) - ky - 1])
    if grid:
        out = splines.tensor_product(x, y, tx, ty, c, kx, ky, dx, dy)
        return np.reshape(out, (x.size, y.size))
    x, y = np.broadcast_arrays(x, y)
    matrix = np.reshape(c, (len(tx) - kx - 1, len(ty) - ky - 1))
    return np.sum(splines.basis(x, tx, kx, dx) @ matrix * splines.basis(y, ty, ky, dy), axis=-1)


@stands_for_late(_MODULE, "RectBivariateSpline.ev")
def bivariate_points(self: Any, xi: Any, yi: Any, dx: int = 0, dy: int = 0) -> Any:
    """A smoothing spline of two variables at points."""
    return bivariate_spline(self, xi, yi, dx, dy, grid=False)


@stands_for(np.interp)
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
           ) -> Any:
    """Piecewise linear interpolation; at a point of the table the slope is that to its right."""
    x, xp, fp = floating(x), floating(xp), floating(fp)
    if period is not None:
        if not contains_tracer(period) and period == 0:
            raise ValueError("period must be a non-zero value")
        period = np.abs(period)
        left = right = None
        x, xp = x % period, xp % period
        order = np.argsort(xp)
        xp, fp = np.take(xp, order), np.take(fp, order)
        xp = np.concatenate([xp[-1:] - period, xp, xp[:1] + period])
        fp = np.concatenate([fp[-1:], fp, fp[:1]])
    n = xp.shape[0]
    if xp.ndim != 1 or fp.shape != (n,):
        raise ValueError("fp and xp are not of the same length.")
    if n == 0:
        raise ValueError("array of sample points is empty")
    if n == 1:
        inside = fp[0] + 0.0 * x
    else:
        base = np.clip(np.searchsorted(xp, x, side="right") - 1, 0, n - 1)
        segment = np.minimum(base, n - 2)
        run = np.take(xp, segment + 1) - np.take(xp, segment)
        rise = np.take(fp, segment + 1) - np.take(fp, segment)
        slope = rise / np.where(run == 0, 1.0, run)
        inside = slope * (x - np.take(xp, base)) + np.take(fp, base)
    out = np.where(x < xp[0], fp[0] if left is None else left,
                   np.where(x > xp[-1], fp[-1] if right is None else right, inside))
    return cast(out, complex if out.dtype.kind == "c" else float)


@stands_for_late(_MODULE, "interp1d.__call__")
def interp1d(self: Any, x: Any) -> Any:
    """An interpolating object of the legacy class, and its relatives."""
    kind = type(self).__name__
    if kind == "KroghInterpolator":
        return _krogh(self, as_array(x))
    method = getattr(getattr(self, "_call", None), "__name__", "")
    if method not in ("_call_linear", "_call_linear_np", "_call_spline"):
        raise UnsupportedArgumentError(
            f"{kind} of kind {getattr(self, '_kind', kind)!r} is not supported on traced values.",
            "Use a linear or spline interpolant, or np.interp.", locate())
    x = as_array(x)
    data = np.reshape(self._y, (self.x.shape[0], -1)) if self._y.ndim > 2 else self._y
    if method == "_call_spline":
        out = self._spline(x) if self._spline.c.ndim > 1 else self._spline(x)[..., None]
    else:
        slopes = np.diff(data, axis=0) / np.diff(self.x)[:, None]
        coefficients = np.stack([slopes, data[:-1]])
        out = splines.ppoly(x, self.x, coefficients, nu=0, extrapolate=True)
    if not self._extrapolate:
        low, high = x < self.x[0], x > self.x[-1]
        if self.bounds_error and np.any(low):
            raise ValueError("A value in x_new is below the interpolation range.")
        if self.bounds_error and np.any(high):
            raise ValueError("A value in x_new is above the interpolation range.")
        below, above = self._fill_value_below, self._fill_value_above
        if not self.bounds_error:
            out = np.where(low[..., None], below, np.where(high[..., None], above, out))
    return _data_axes(self, out, x)


def _data_axes(self: Any, out: Any, x: Any) -> Any:
    """The flattened data axes unfolded, and the axes of x put where the data's axis was."""
    out = np.reshape(out, x.shape + self._y_extra_shape)
    return _axis_back(out, x, self._y_axis)


def _krogh(self: Any, x: Any) -> Any:
    """Newton's form of the interpolating polynomial."""
    factor: Any = 1.0
    out = np.zeros((*x.shape, self.r), self.dtype)
    for k in range(self.n):
        out = out + factor * self.c[k]
        factor = factor * (x - self.xi[k])[..., None]
    return _data_axes(self, out, x)


@stands_for_late(_MODULE, "RegularGridInterpolator.__call__")
def regular_grid(self: Any, xi: Any, method: Any = None, *, nu: Any = None) -> Any:
    """Interpolation on a grid of any dimension, linear or by a spline."""
    method = self.method if method is None else method
    if method not in ("linear", "slinear", "cubic", "quintic") or nu is not None or \
            self.values.dtype.kind not in "fc":
        raise UnsupportedArgumentError(
            f"RegularGridInterpolator with the method {method!r} or nu= is not supported on "
            "traced values.", 'Use the method "linear" or "cubic".', locate())
    columns = [as_array(c) for c in xi] if isinstance(xi, tuple) else list(
        np.moveaxis(as_array(xi), -1, 0))
    columns = list(np.broadcast_arrays(*columns))
    low = [c < g[0] for c, g in zip(columns, self.grid, strict=True)]
    high = [c > g[-1] for c, g in zip(columns, self.grid, strict=True)]
    if self.bounds_error:
        for i, (below, above) in enumerate(zip(low, high, strict=True)):
            if np.any(below) or np.any(above):
                raise ValueError(f"One of the requested xi is out of bounds in dimension {i}")
    if method == "linear":
        out = _multilinear(self.grid, self.values, columns)
    else:
        spline = self._spline
        if method != self.method:
            raise UnsupportedArgumentError(
                "RegularGridInterpolator with another method than its own is not supported on "
                "traced values.", "Make it with that method.", locate())
        out = _tensor_spline(spline.t, spline.c, spline.k, columns)
    if not self.bounds_error and self.fill_value is not None:
        outside = np.any(np.stack(low + high), axis=0)
        outside = np.reshape(outside, outside.shape + (1,) * (out.ndim - outside.ndim))
        out = np.where(outside, self.fill_value, out)
    return out


def _multilinear(grid: Any, values: Any, columns: list[Any]) -> Any:
    """The mean of the corners of the cell, weighted by the distances from the opposite ones."""
    corners: list[tuple[Any, tuple[Any, ...]]] = [(1.0, ())]
    for x, g in zip(columns, grid, strict=True):
        i = np.clip(np.searchsorted(g, x) - 1, 0, len(g) - 2)
        start = np.take(g, i)
        share = (x - start) / (np.take(g, i + 1) - start)
        corners = [(w * s, (*places, i + step)) for w, places in corners
                   for s, step in ((1.0 - share, 0), (share, 1))]
    total: Any = 0.0
    shape = values.shape[:len(grid)]
    flat = np.reshape(values, (-1, *values.shape[len(grid):]))
    for weight, places in corners:
        index: Any = 0
        for place, n in zip(places, shape, strict=True):
            index = index * n + place
        corner = np.take(flat, index, axis=0)
        total = total + np.reshape(weight, weight.shape + (1,) * (corner.ndim - weight.ndim)) \
            * corner
    return total


def _tensor_spline(knots: Any, c: Any, degrees: Any, columns: list[Any]) -> Any:
    """A tensor product of B-splines at points: one axis of the coefficients after the other."""
    shape = columns[0].shape
    out: Any = None
    for x, t, k in zip(columns, knots, degrees, strict=True):
        weights = splines.basis(np.ravel(x), np.asarray(t), int(k))
        n = weights.shape[-1]
        if out is None:
            out = weights @ np.reshape(c[:n], (n, -1))
            rest = c.shape[1:]
            continue
        out = np.reshape(out, (weights.shape[0], n, -1))
        out = np.sum(weights[:, :, None] * out, axis=1)
        rest = rest[1:]
    return np.reshape(out, shape + rest)


@stands_for_late(_MODULE, "NearestNDInterpolator.__call__", "LinearNDInterpolator.__call__",
                 "CloughTocher2DInterpolator.__call__", "RBFInterpolator.__call__",
                 "BarycentricInterpolator.__call__", "NdPPoly.__call__", "NdBSpline.__call__",
                 "AAA.__call__")
def refused(self: Any, *args: Any, **kwargs: Any) -> Any:
    """Interpolants whose derivatives are not here."""
    raise UnsupportedArgumentError(f"{type(self).__name__} is not supported on traced values.",
                                   "Declare its derivative with wengert.custom_jvp.", locate())
