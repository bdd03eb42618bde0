"""Splines, interpolating objects and quadrature of SciPy; modules that load during a trace."""

import math
import subprocess
import sys

import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate
import wengert as wg
from agreement import assert_agrees, difference_jacobian
from scipy.integrate import quad
from scipy.interpolate import bisplev, splev
from scipy.special import lambertw
from wengert.compiler.errors import NotDifferentiableError, UnsupportedArgumentError

X = np.linspace(0.0, 3.0, 8)
Y = np.sin(X) + 0.3 * X * X
INSIDE = np.array([0.1, 1.27, 2.9])
BEYOND = np.array([-0.4, 1.27, 3.3])
TCK = scipy.interpolate.splrep(X, Y)
LINE = scipy.interpolate.splrep(X, Y, k=1)
GRID = np.cos(np.add.outer(X, 0.5 * X[:6]))
SURFACE = scipy.interpolate.RectBivariateSpline(X, X[:6], GRID)
SURFACE_TCK = (*SURFACE.tck, *SURFACE.degrees)
FLAT = ([0.0, 0.0, 1.0, 3.0, 3.0], [0.0, 0.0, 1.0, 1.0], [1.0, 2.0, 3.0, 4.0, 5.0, 7.0], 1, 1)
FLAT = (np.array(FLAT[0]), np.array(FLAT[1]), np.array(FLAT[2]), 1, 1)


def check(function, *args, argnum=0):
    """Values, both modes, and both modes of the gradient of a weighted sum."""
    assert_agrees(function, *args, argnum=argnum, exact=False)

    def total(*operands):
        out = function(*operands)
        return np.sum(np.cos(np.arange(out.size)).reshape(out.shape) * out ** 2)
    gradient = wg.grad(total, argnum)
    want = difference_jacobian(gradient, args, argnum)
    for mode in ("reverse", "forward"):
        got = wg.jacobian(gradient, argnum, mode=mode)(*args)
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)


# -- splev and bisplev ----------------------------------------------------------------------------


@pytest.mark.parametrize("der", [0, 1, 2])
@pytest.mark.parametrize("ext", [0, 1, 3])
def test_splev(der, ext):
    check(lambda x: splev(x, TCK, der=der, ext=ext), BEYOND)


def test_splev_of_a_number_and_of_an_array_of_rank_two():
    check(lambda x: splev(x, TCK), np.array(1.3))
    check(lambda x: splev(x, TCK), INSIDE[:2].reshape(2, 1))


def test_splev_of_degree_one_has_the_slope_of_the_segment():
    check(lambda x: splev(x, LINE), INSIDE)
    third = wg.grad(wg.grad(lambda x: splev(x, LINE)[()]))
    assert third(1.27) == 0.0


def test_splev_in_its_coefficients():
    t, c, k = TCK
    for der, ext in ((0, 0), (1, 0), (0, 1), (0, 3), (2, 1)):
        check(lambda c, der=der, ext=ext: splev(BEYOND, (t, c, k), der, ext), c.copy())
    check(lambda x: splev(x, (t, np.cos(x[0]) * c, k)), INSIDE)


def test_splev_of_a_curve_gives_one_array_a_coordinate():
    t, c, k = TCK
    curve = (t, [c, 2.0 * c], k)
    check(lambda x: np.stack(splev(x, curve)), INSIDE)


def test_splev_raises_where_scipy_does():
    with pytest.raises(ValueError, match="not in the domain"):
        wg.grad(lambda x: np.sum(splev(x, TCK, ext=2)))(BEYOND)
    with pytest.raises(ValueError, match="must hold"):
        wg.grad(lambda x: np.sum(splev(x, TCK, der=4)))(INSIDE)


def test_a_derivative_in_the_knots_is_refused():
    t, c, k = TCK
    with pytest.raises(NotDifferentiableError, match="knots"):
        wg.grad(lambda t: np.sum(splev(INSIDE, (t, c, k))))(t)


def test_source_of_splev_shows_the_derivative():
    g = wg.grad(lambda x: splev(x, TCK)[()])
    g(1.0)
    assert "interpolate.splev(x, (" in g.source
    assert "der=1" in g.source
    assert "from scipy import interpolate" in g.source


@pytest.mark.parametrize("x", [np.array(1.3), np.array([0.5, 1.0, 2.5])])
@pytest.mark.parametrize("y", [np.array(0.7), np.array([0.2, 1.4])])
def test_bisplev(x, y):
    check(lambda x, y: np.asarray(bisplev(x, y, SURFACE_TCK)), x, y)
    check(lambda x, y: np.asarray(bisplev(x, y, SURFACE_TCK)), x, y, argnum=1)
    check(lambda x, y: np.asarray(bisplev(x, y, SURFACE_TCK, dx=1, dy=2)), x, y)


def test_bisplev_of_degree_one_and_in_its_coefficients():
    tx, ty, c, kx, ky = FLAT
    check(lambda x: np.asarray(bisplev(x, 0.3, FLAT)), np.array(1.7))
    check(lambda y: np.asarray(bisplev([0.3, 1.7], y, FLAT)), np.array(0.6))
    check(lambda c: np.asarray(bisplev([0.3, 1.7], [0.2, 0.9], (tx, ty, c, kx, ky))), c)


def test_bisplev_is_constant_outside_of_its_rectangle():
    for mode in ("reverse", "forward"):
        g = wg.grad(lambda x: bisplev(x, 0.5, FLAT), mode=mode)
        assert g(3.5) == 0.0
        assert g(-1.0) == 0.0
        assert g(2.0) != 0.0


# -- objects --------------------------------------------------------------------------------------

OBJECTS = {
    "CubicSpline": scipy.interpolate.CubicSpline(X, Y),
    "natural": scipy.interpolate.CubicSpline(X, Y, bc_type="natural", extrapolate=False),
    "periodic": scipy.interpolate.CubicSpline(X, np.r_[Y[:-1], Y[0]], bc_type="periodic"),
    "Pchip": scipy.interpolate.PchipInterpolator(X, Y),
    "Akima": scipy.interpolate.Akima1DInterpolator(X, Y),
    "vector": scipy.interpolate.CubicSpline(X, np.stack([Y, Y ** 2], axis=1)),
    "axis": scipy.interpolate.CubicSpline(X, np.stack([Y, Y ** 2]), axis=1),
    "BSpline": scipy.interpolate.BSpline(*TCK),
    "vectors": scipy.interpolate.make_interp_spline(X, np.stack([Y, Y ** 2], axis=1)),
    "Univariate": scipy.interpolate.UnivariateSpline(X, Y, s=0.1),
    "Interpolated": scipy.interpolate.InterpolatedUnivariateSpline(X, Y, ext="const"),
    "derivative": scipy.interpolate.CubicSpline(X, Y).derivative(),
    "linear": scipy.interpolate.interp1d(X, Y, fill_value="extrapolate"),
    "columns": scipy.interpolate.interp1d(X, np.stack([Y, Y ** 2]), fill_value="extrapolate"),
    "quadratic": scipy.interpolate.interp1d(X, Y, kind="quadratic"),
    "filled": scipy.interpolate.interp1d(X, Y, bounds_error=False, fill_value=(-1.0, 2.0)),
    "Krogh": scipy.interpolate.KroghInterpolator(X[:4], Y[:4]),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_that_interpolate(name):
    interpolant = OBJECTS[name]
    check(lambda x: interpolant(x), INSIDE)
    check(lambda x: np.asarray(interpolant(x)) * 1.0, np.array(1.27))


@pytest.mark.parametrize("name", ["CubicSpline", "periodic", "BSpline", "Univariate", "linear",
                                  "Interpolated", "filled", "Pchip"])
def test_objects_beyond_their_data(name):
    check(lambda x: OBJECTS[name](x), BEYOND)


@pytest.mark.parametrize("name", ["CubicSpline", "BSpline", "Univariate"])
def test_derivatives_of_objects_as_an_argument(name):
    check(lambda x: OBJECTS[name](x, 1), INSIDE)


def test_bivariate_objects():
    x, y = INSIDE, np.array([0.3, 1.1, 2.0])
    check(lambda x: SURFACE(x, y), x)
    check(lambda y: SURFACE(x, y, grid=False), y)
    check(lambda x: SURFACE.ev(x, y), x)
    check(lambda x: SURFACE(x, y, dx=1, grid=False), x)


@pytest.mark.parametrize("method", ["linear", "cubic", "slinear", "quintic"])
def test_regular_grids(method):
    grid = scipy.interpolate.RegularGridInterpolator((X, X[:6]), GRID, method=method)
    points = np.array([[0.2, 0.3], [1.3, 1.9], [2.2, 0.9]])
    check(lambda p: grid(p), points)
    check(lambda p: grid((p, 0.5)), np.array([0.3, 1.7]))


def test_regular_grids_beyond_their_data():
    inside = scipy.interpolate.RegularGridInterpolator((X, X[:6]), GRID)
    filled = scipy.interpolate.RegularGridInterpolator((X, X[:6]), GRID, bounds_error=False,
                                                       fill_value=5.0)
    extended = scipy.interpolate.RegularGridInterpolator((X, X[:6]), GRID, bounds_error=False,
                                                         fill_value=None)
    points = np.array([[0.2, 0.3], [3.3, 1.9]])
    with pytest.raises(ValueError, match="out of bounds"):
        wg.grad(lambda p: np.sum(inside(p)))(points)
    check(lambda p: filled(p), points)
    check(lambda p: extended(p), points)


def test_interp1d_raises_beyond_its_data():
    interpolant = scipy.interpolate.interp1d(X, Y)
    g = wg.grad(lambda x: interpolant(x)[()])
    assert np.isfinite(g(1.3))
    with pytest.raises(ValueError, match="above the interpolation range"):
        g(3.5)


def test_what_is_not_supported_is_refused():
    nearest = scipy.interpolate.NearestNDInterpolator([[0.0, 0.0], [1.0, 1.0]], [0.0, 1.0])
    with pytest.raises(UnsupportedArgumentError, match="NearestNDInterpolator"):
        wg.grad(lambda x: nearest(x, 0.5)[()])(0.3)
    steps = scipy.interpolate.interp1d(X, Y, kind="previous")
    with pytest.raises(UnsupportedArgumentError, match="previous"):
        wg.grad(lambda x: steps(x)[()])(0.3)
    with pytest.raises(wg.WengertError):
        wg.grad(lambda y: scipy.interpolate.CubicSpline(X, y)(0.3)[()])(Y)


def test_classes_are_as_before_after_a_trace():
    before = vars(scipy.interpolate.BSpline)["__call__"]
    check(lambda x: OBJECTS["BSpline"](x), INSIDE)
    assert vars(scipy.interpolate.BSpline)["__call__"] is before
    assert OBJECTS["BSpline"](1.0) == scipy.interpolate.BSpline(*TCK)(1.0)


def test_modules_that_load_during_the_trace():
    program = """
import sys, numpy as np, wengert as wg
assert not {"scipy.interpolate", "scipy.integrate", "scipy.signal"} & set(sys.modules)
def f(x):
    from scipy.interpolate import splev
    from scipy.integrate import quad
    t = np.array([0.0, 0.0, 1.0, 1.0])
    return splev(x, (t, np.array([1.0, 3.0]), 1))[()] * quad(lambda s: s * x, 0.0, 1.0)[0]
assert abs(wg.grad(f)(0.5) - (2 * 0.25 + 2.0 * 0.5)) < 1e-12, wg.grad(f)(0.5)
from scipy.interpolate import splev
assert splev.__module__.startswith("scipy")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# -- lambertw -------------------------------------------------------------------------------------


def test_lambertw():
    check(lambda x: lambertw(x).real, np.array([-0.2, 0.0, 0.5, 3.0, 40.0]))
    check(lambda x: lambertw(x, -1).real, np.array([-0.3, -0.1, -1e-1]))
    assert wg.grad(lambda x: lambertw(x).real)(0.0) == 1.0
    assert wg.grad(wg.grad(lambda x: lambertw(x).real))(0.0) == pytest.approx(-2.0)


# -- quadrature -----------------------------------------------------------------------------------


def test_quad_in_limits_arguments_and_closures():
    def in_arguments(p):
        return quad(lambda x, a, b: np.exp(-a * x) * np.cos(b * x), p[0], p[1], (p[2], p[3]))[0]

    def in_a_closure(p):
        return quad(lambda x: np.exp(-p[2] * x) * np.cos(p[3] * x), p[0], p[1])[0]
    p = np.array([0.3, 2.0, 0.7, 1.1])
    for function in (in_arguments, in_a_closure):
        check(lambda p, f=function: np.asarray(f(p)), p)


def test_quad_against_formulas():
    area = wg.value_and_grad(lambda a: quad(lambda x: np.exp(-a * x), 0.0, np.inf)[0])(2.0)
    np.testing.assert_allclose(area, (0.5, -0.25), rtol=1e-9)
    tail = wg.value_and_grad(lambda b: quad(lambda x: np.exp(x), -np.inf, b)[0])(0.3)
    np.testing.assert_allclose(tail, (np.exp(0.3), np.exp(0.3)), rtol=1e-9)
    bell = wg.value_and_grad(lambda a: quad(lambda x: np.exp(-a * x * x), -np.inf, np.inf)[0])(1.3)
    np.testing.assert_allclose(bell, (np.sqrt(np.pi / 1.3), -0.5 * np.sqrt(np.pi) / 1.3 ** 1.5),
                               rtol=1e-8)
    back = wg.value_and_grad(lambda b: quad(lambda x: x * x, b, 1.0)[0])(2.0)
    np.testing.assert_allclose(back, (-7.0 / 3.0, -4.0), rtol=1e-13)
    nothing = wg.value_and_grad(lambda b: quad(lambda x: x * x, 2.0, b)[0])(2.0)
    np.testing.assert_allclose(nothing, (0.0, 4.0), atol=1e-13)
    head = wg.value_and_grad(lambda a: quad(lambda x: np.exp(-x), np.inf, a)[0])(0.5)
    np.testing.assert_allclose(head, (-np.exp(-0.5), np.exp(-0.5)), rtol=1e-9)


def test_quad_of_functions_of_math_and_with_branches():
    def kink(a):
        return quad(lambda x: math.exp(x) if x < 1.0 else math.e * a, 0.0, 2.0, points=[1.0])[0]
    np.testing.assert_allclose(wg.value_and_grad(kink)(0.5), (math.e - 1 + math.e / 2, math.e),
                               rtol=1e-12)


def test_quad_of_plain_values_is_scipys():
    def f(x):
        return x * quad(lambda s: np.sqrt(s), 0.0, 1.0)[0]
    assert wg.compile(f)(1.0) == quad(lambda s: np.sqrt(s), 0.0, 1.0)[0]
    full = wg.compile(lambda x: x * quad(np.cos, 0.0, 1.0, full_output=1)[0])
    assert full(1.0) == quad(np.cos, 0.0, 1.0)[0]


def test_a_subdivision_that_is_too_coarse_is_not_used():
    def f(a):
        return quad(lambda x: 1.0 / (1.0 + a * x * x), -1.0, 1.0)[0]
    g = wg.value_and_grad(f)
    for a in (0.1, 0.2, 1e4, 0.1):
        root = np.sqrt(a)
        value = 2.0 * np.arctan(root) / root
        slope = 1.0 / (a * (1.0 + a)) - np.arctan(root) / a ** 1.5
        np.testing.assert_allclose(g(a), (value, slope), rtol=1e-7)
    assert 2 <= len(g.programs) <= 3


def test_integrands_that_are_singular_at_an_end():
    # ∫₀ᴿ √(R² − x²) dx = πR²/4, and d/dp ∫₀ᵃ √(x + p) dx = √a at p = 0.
    disc = wg.value_and_grad(lambda r: quad(lambda x: np.sqrt(r * r - x * x), 0.0, r)[0])(2.0)
    np.testing.assert_allclose(disc, (np.pi, np.pi), rtol=1e-9)
    shifted = wg.value_and_grad(lambda p: quad(lambda x: np.sqrt(x + p), 0.0, 4.0)[0])(0.0)
    np.testing.assert_allclose(shifted, (16.0 / 3.0, 2.0), rtol=1e-6)


def test_singular_integrands_are_refused():
    def f(a):
        return quad(lambda x: a * np.log(np.abs(x - 0.3)) ** 2 / np.sqrt(np.abs(x - 0.3)), 0, 1)[0]
    with pytest.raises(NotDifferentiableError, match="singular"):
        wg.grad(f)(1.0)


def test_quad_with_weights_is_refused():
    with pytest.raises(UnsupportedArgumentError, match="weight"):
        wg.grad(lambda a: quad(lambda x: a * x, 0.0, 1.0, weight="cos", wvar=2.0)[0])(1.0)


def test_dblquad():
    def f(p):
        return scipy.integrate.dblquad(lambda y, x: p[0] * x * y, 0.0, p[1], 0.0,
                                       lambda x: p[2] * x)[0]
    p = np.array([1.3, 2.0, 0.7])            # p0 p2² p1⁴/8
    value = p[0] * p[2] ** 2 * p[1] ** 4 / 8
    got = wg.value_and_grad(f)(p)
    np.testing.assert_allclose(got[0], value, rtol=1e-12)
    np.testing.assert_allclose(got[1], value * np.array([1, 4, 2]) / p, rtol=1e-10)
