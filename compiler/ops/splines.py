"""Piecewise polynomials of SciPy: B-splines on a line and on a grid, and power bases.

Each derivative is a spline of the next derivative order, which SciPy evaluates itself. All are
linear in the coefficients: a tangent of those meets the basis functions, the spline whose
coefficients are the identity matrix. Knots have no tangents.
"""

from typing import Any

import numpy as np
import scipy  # loads its submodules when they are first used

from ..arraytype import ArrayType
from ..errors import NotDifferentiableError, UnsupportedArgumentError
from .arithmetic import scale
from .row import General, Op, sample


def _refuse_knots(*tangents: Any) -> None:
    if any(t is not None for t in tangents):
        raise NotDifferentiableError(
            "A spline is differentiated with respect to its knots, which is not implemented.",
            "Build the spline outside of the function, or wrap its knots in "
            "wengert.stop_gradient.")


def _refuse_batch(*batched: bool) -> None:
    if any(batched):
        raise UnsupportedArgumentError("Splines whose knots differ within a batch are not "
                                       "supported.", "Loop over the batch.")


def _option(name: str, value: Any, neutral: Any) -> str:
    return "" if value == neutral else f", {name}={value!r}"


def _sum_of(*terms: Any) -> Any:
    terms = tuple(t for t in terms if t is not None)
    total = terms[0] if terms else None
    for t in terms[1:]:
        total = total + t
    return total


def _along(t: Any, out: Any) -> Any:
    """A tangent of x, lined up with the leading axes of the value."""
    return np.reshape(t, t.shape + (1,) * (out.ndim - t.ndim))


# -- BSpline: c has the axis of the basis functions first --------------------------------------

def basis(x: Any, t: Any, k: int, nu: int = 0) -> Any:
    """Values of all B-splines of the knots, or of their derivatives: shape (*x.shape, n)."""
    return bspline(x, t, np.eye(t.shape[0] - k - 1), k=k, nu=nu, extrapolate=True)


def _bspline_text(args: Any, params: Any, types: Any) -> str:
    x, t, c = args
    extrapolate = _option("extrapolate", params["extrapolate"], True)
    return f"interpolate.BSpline({t}, {c}, {params['k']})" \
           f"({x}{_option('nu', params['nu'], 0)}{extrapolate})"


def _trailing_type(x: ArrayType, c: ArrayType, n_leading: int) -> ArrayType:
    return ArrayType(x.shape + c.shape[n_leading:], np.result_type(c.dtype, float))


def _bspline_jvp(args: Any, tangents: Any, out: Any, k: int, nu: int, extrapolate: bool) -> Any:
    x, t, c = args
    tx, tt, tc = tangents
    _refuse_knots(tt)
    by_x = by_c = None
    if tx is not None and nu < k:
        slope = bspline(x, t, c, k=k, nu=nu + 1, extrapolate=extrapolate)
        by_x = scale(_along(tx, out), slope)
    if tc is not None:
        n = t.shape[0] - k - 1
        by_c = np.tensordot(bspline(x, t, np.eye(n), k=k, nu=nu, extrapolate=extrapolate),
                            tc[:n], axes=1)
    return _sum_of(by_x, by_c)


def _bspline_batch(args: Any, batched: Any, k: int, nu: int, extrapolate: bool) -> Any:
    x, t, c = args
    _refuse_batch(batched[1])
    if not batched[2]:
        return bspline(x, t, c, k=k, nu=nu, extrapolate=extrapolate)
    weights = bspline(x, t, np.eye(t.shape[0] - k - 1), k=k, nu=nu, extrapolate=extrapolate)
    return _contract(weights, c[:, :t.shape[0] - k - 1], batched[0])


def _contract(weights: Any, c: Any, both: bool) -> Any:
    """Sum of basis functions times coefficients, for a batch of coefficients (or of both)."""
    if both:
        flat = np.reshape(c, (*c.shape[:2], -1))
        rows = np.reshape(weights, (weights.shape[0], -1, weights.shape[-1]))
        return np.reshape(np.matmul(rows, flat), weights.shape[:-1] + c.shape[2:])
    return np.moveaxis(np.tensordot(weights, c, axes=((-1,), (1,))), weights.ndim - 1, 0)


_KNOTS = np.array([0.0, 0.0, 0.0, 0.0, 0.5, 1.2, 2.0, 2.0, 2.0, 2.0])
_LINEAR = np.array([-2.0, -2.0, 0.1, 1.0, 2.0, 2.0])
_CUBIC = np.array([-2.0, -2.0, -2.0, -2.0, 0.3, 2.0, 2.0, 2.0, 2.0])
_BREAKS = np.array([-2.0, -0.7, 0.6, 2.0])
_COEFFICIENTS = np.cos(np.arange(24.0)).reshape(4, 3, 2)

bspline = Op("bspline", lambda x, t, c, k, nu, extrapolate:
                 scipy.interpolate.BSpline(t, c, k)(x, nu, extrapolate),
             lambda x, t, c, k, nu, extrapolate: _trailing_type(x, c, 1),
             General(_bspline_jvp), params=("k", "nu", "extrapolate"), batch=_bspline_batch,
             python=_bspline_text, fixed=(1,),
             samples=(sample((3,), _KNOTS, (6,), k=3, nu=0, extrapolate=True),
                      sample((), _KNOTS, (6, 2), k=3, nu=1, extrapolate=True),
                      sample((2, 2), _LINEAR, (4,), k=1, nu=0, extrapolate=True)))


# -- splev --------------------------------------------------------------------------------------

def _splev_text(args: Any, params: Any, types: Any) -> str:
    x, t, c = args
    return f"interpolate.splev({x}, ({t}, {c}, {params['k']})" \
           f"{_option('der', params['der'], 0)}{_option('ext', params['ext'], 0)})"


def _splev_basis(x: Any, t: Any, k: int, der: int, ext: int) -> Any:
    """Basis functions; with ``ext=1`` they vanish outside of the knots."""
    values = basis(x, t, k, der)
    if ext != 1:
        return values
    inside = (x >= t[k]) & (x <= t[t.shape[0] - k - 1])
    return np.where(inside[..., None], values, 0.0)


def _splev_jvp(args: Any, tangents: Any, out: Any, k: int, der: int, ext: int) -> Any:
    x, t, c = args
    tx, tt, tc = tangents
    _refuse_knots(tt)
    by_x = by_c = None
    if tx is not None and der < k:
        by_x = scale(tx, splev(x, t, c, k=k, der=der + 1, ext=ext))
    if tc is not None:
        by_c = np.matmul(_splev_basis(x, t, k, der, ext), tc[:t.shape[0] - k - 1])
    return _sum_of(by_x, by_c)


def _splev_batch(args: Any, batched: Any, k: int, der: int, ext: int) -> Any:
    x, t, c = args
    _refuse_batch(batched[1])
    if not batched[2]:
        return splev(x, t, c, k=k, der=der, ext=ext)
    return _contract(_splev_basis(x, t, k, der, ext), c[:, :t.shape[0] - k - 1], batched[0])


splev = Op("splev", lambda x, t, c, k, der, ext:
               scipy.interpolate.splev(x, (t, c, k), der, ext),
           lambda x, t, c, k, der, ext: ArrayType(x.shape, np.dtype(float)), General(_splev_jvp),
           params=("k", "der", "ext"), batch=_splev_batch, python=_splev_text, fixed=(1,),
           samples=(sample((3,), _KNOTS, (6,), k=3, der=0, ext=0),
                    sample((), _KNOTS, (6,), k=3, der=1, ext=1),
                    sample((2, 2), _LINEAR, (6,), k=1, der=0, ext=0)))


# -- bisplev: values on the grid of x and y, less axes of length one -----------------------------

def _bisplev_text(args: Any, params: Any, types: Any) -> str:
    x, y, tx, ty, c = args
    return f"interpolate.bisplev({x}, {y}, ({tx}, {ty}, {c}, {params['kx']}, {params['ky']})" \
           f"{_option('dx', params['dx'], 0)}{_option('dy', params['dy'], 0)})"


def _grid_shape(x: Any, y: Any) -> tuple[int, ...]:
    m, n = (v.shape[-1] if v.shape else 1 for v in (x, y))
    if m > 1:
        return (m, n)
    return (n,) if n > 1 else ()


def tensor_product(x: Any, y: Any, tx: Any, ty: Any, c: Any, kx: int, ky: int, dx: int, dy: int
                   ) -> Any:
    """The same values by the basis functions of both axes; right at every derivative order."""
    left, right = basis(x, tx, kx, dx), basis(y, ty, ky, dy)
    matrix = np.reshape(c, (tx.shape[0] - kx - 1, ty.shape[0] - ky - 1))
    rows = np.reshape(left, (-1, left.shape[-1]))
    columns = np.reshape(right, (-1, right.shape[-1]))
    return np.reshape(rows @ matrix @ columns.T, _grid_shape(x, y))


def _bisplev_jvp(args: Any, tangents: Any, out: Any, kx: int, ky: int, dx: int, dy: int) -> Any:
    x, y, tx, ty, c = args
    t_x, t_y, t_tx, t_ty, t_c = tangents
    _refuse_knots(t_tx, t_ty)

    def slope(dx: int, dy: int) -> Any:
        # SciPy refuses the last derivative, which is piecewise constant.
        evaluate = bisplev if dx < kx and dy < ky else tensor_product
        return evaluate(x, y, tx, ty, c, kx=kx, ky=ky, dx=dx, dy=dy)
    by_x = by_y = by_c = None
    if t_x is not None and dx < kx:
        t_rows = np.reshape(t_x, (-1, 1) if len(out.shape) == 2 else ())
        by_x = scale(t_rows, slope(dx + 1, dy))
    if t_y is not None and dy < ky:
        t_columns = np.reshape(t_y, (-1,) if len(out.shape) > 0 else ())
        by_y = scale(t_columns, slope(dx, dy + 1))
    if t_c is not None:
        by_c = tensor_product(x, y, tx, ty, t_c, kx, ky, dx, dy)
    return _sum_of(by_x, by_y, by_c)


def _bisplev_batch(args: Any, batched: Any, kx: int, ky: int, dx: int, dy: int) -> Any:
    x, y, tx, ty, c = args
    _refuse_batch(*batched[2:4])
    shape = _grid_shape(*(np.empty(v.shape[b:]) for v, b in zip((x, y), batched, strict=False)))
    left, right = basis(x, tx, kx, dx), basis(y, ty, ky, dy)
    left, right = (np.reshape(v, (*v.shape[:b], -1, v.shape[-1]))
                   for v, b in zip((left, right), batched, strict=False))
    matrix = np.reshape(c, (*c.shape[:batched[4]], tx.shape[0] - kx - 1, ty.shape[0] - ky - 1))
    out = np.matmul(np.matmul(left, matrix), np.swapaxes(right, -1, -2))
    return np.reshape(out, (out.shape[0], *shape))


def _bisplev_call(x: Any, y: Any, tx: Any, ty: Any, c: Any, kx: int, ky: int, dx: int, dy: int
                  ) -> Any:
    return scipy.interpolate.bisplev(x, y, (tx, ty, c, kx, ky), dx, dy)


bisplev = Op("bisplev", _bisplev_call,
             lambda x, y, tx, ty, c, **_: ArrayType(_grid_shape(x, y), np.dtype(float)),
             General(_bisplev_jvp), params=("kx", "ky", "dx", "dy"), batch=_bisplev_batch,
             python=_bisplev_text, fixed=(2, 3),
             samples=(sample((), (), _LINEAR, _CUBIC, (20,), kx=1, ky=3, dx=0, dy=1),
                      sample((1,), (), _CUBIC, _LINEAR, (20,), kx=3, ky=1, dx=0, dy=0),
                      sample((), (1,), _CUBIC, _CUBIC, (25,), kx=3, ky=3, dx=1, dy=2)))


# -- PPoly: c has the powers first, then the intervals -------------------------------------------

def _ppoly_text(args: Any, params: Any, types: Any) -> str:
    x, breakpoints, c = args
    extrapolate = _option("extrapolate", params["extrapolate"], True)
    return f"interpolate.PPoly({c}, {breakpoints})({x}{_option('nu', params['nu'], 0)}" \
           f"{extrapolate})"


def _ppoly_jvp(args: Any, tangents: Any, out: Any, nu: int, extrapolate: bool) -> Any:
    x, breakpoints, c = args
    tx, tb, tc = tangents
    _refuse_knots(tb)
    by_x = by_c = None
    if tx is not None and nu < c.shape[0] - 1:
        slope = ppoly(x, breakpoints, c, nu=nu + 1, extrapolate=extrapolate)
        by_x = scale(_along(tx, out), slope)
    if tc is not None:
        raise NotDifferentiableError(
            "A piecewise polynomial is differentiated with respect to its coefficients, which is "
            "not implemented.", "Use scipy.interpolate.BSpline, or np.interp.")
    return _sum_of(by_x, by_c)


def _ppoly_batch(args: Any, batched: Any, nu: int, extrapolate: bool) -> Any:
    _refuse_batch(*batched[1:])
    return ppoly(*args, nu=nu, extrapolate=extrapolate)


ppoly = Op("ppoly", lambda x, breakpoints, c, nu, extrapolate:
               scipy.interpolate.PPoly(c, breakpoints)(x, nu, extrapolate),
           lambda x, breakpoints, c, nu, extrapolate: _trailing_type(x, c, 2),
           General(_ppoly_jvp), params=("nu", "extrapolate"), batch=_ppoly_batch,
           python=_ppoly_text, fixed=(1, 2),
           samples=(sample((3,), _BREAKS, _COEFFICIENTS, nu=0, extrapolate=True),
                    sample((), _BREAKS, _COEFFICIENTS, nu=1, extrapolate=True),
                    sample((2, 2), _BREAKS, _COEFFICIENTS[2:, :, 0], nu=0, extrapolate=True)))
