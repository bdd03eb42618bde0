"""Derivatives at edges: kinks by convention, smooth functions by their limit, in both modes."""

import numpy as np
import pytest
import scipy.special as special
import wengert as wg

A = np.array
INF, NAN = np.inf, np.nan
norm = np.linalg.norm
X = A([[0.0, 0.0], [1.0, 2.0]])


def row(name, function, point, want):
    return pytest.param(function, point, want, id=name)


FIRST = [
    # conventions at kinks
    row("maximum_tie", lambda x: np.maximum(x, 1.0), 1.0, 0.5),
    row("minimum_tie", lambda x: np.minimum(x, 1.0), 1.0, 0.5),
    row("max_plus_min", lambda x: np.maximum(x, 1.0) + np.minimum(x, 1.0), 1.0, 1.0),
    row("max_ties", lambda x: np.max(x), A([2.0, 1.0, 2.0]), A([0.5, 0.0, 0.5])),
    row("min_ties", lambda x: np.min(x), A([2.0, 1.0, 1.0]), A([0.0, 0.5, 0.5])),
    row("max_minus_min_ties", lambda x: np.ptp(x), A([1.0, 1.0]), A([0.0, 0.0])),
    row("abs", np.abs, 0.0, 0.0),
    row("abs_is_max", lambda x: np.maximum(x, -x), 0.0, 0.0),
    row("where", lambda x: np.where(x > 0, x, 0.0), 0.0, 0.0),
    row("clip_edge", lambda x: np.clip(x, -1.0, 1.0), 1.0, 0.5),
    row("norm", norm, A([0.0, 0.0]), A([0.0, 0.0])),
    row("length", lambda x: np.sqrt(np.sum(x ** 2)), A([0.0, 0.0]), A([0.0, 0.0])),
    row("length_half", lambda x: np.sum(x * x) ** 0.5, A([0.0, 0.0]), A([0.0, 0.0])),
    row("hypot", lambda x: np.hypot(x[0], x[1]), A([0.0, 0.0]), A([0.0, 0.0])),
    row("root_of_square", lambda x: np.sum(np.sqrt(x ** 2)), A([0.0, 2.0, -2.0]), A([0, 1, -1.0])),
    # smooth, although a part is not
    row("sqrt_squared", lambda x: np.sqrt(x) ** 2, 0.0, 1.0),
    row("sqrt_squares", lambda x: np.sum(np.sqrt(x) ** 2), A([0.0, 1.0, 4.0]), A([1.0, 1.0, 1.0])),
    row("sqrt_times_sqrt", lambda x: np.sqrt(x) * np.sqrt(x), 0.0, 1.0),
    row("sqrt_fourth", lambda x: np.sqrt(x) ** 4, 0.0, 0.0),
    row("x_sqrt_x", lambda x: x * np.sqrt(x), 0.0, 0.0),
    row("x_power_half", lambda x: x * x ** 0.5, 0.0, 0.0),
    row("x_power_halves", lambda x: np.sum(x * x ** 0.5), A([0.0, 4.0]), A([0.0, 3.0])),
    row("norm_squared", lambda x: norm(x) ** 2, 0 * X, 0 * X),
    row("norm_times_norm", lambda x: norm(x) * norm(x), X, 2 * X),
    row("row_norms_squared", lambda x: np.sum(norm(x, axis=-1) ** 2), X, 2 * X),
    row("norm_cubed", lambda x: norm(x) ** 3, 0 * X, 0 * X),
    row("gaussian", lambda x: np.exp(-norm(x) ** 2), 0 * X, 0 * X),
    row("zero_times_sqrt", lambda x: np.sum(A([0.0, 1.0]) * np.sqrt(x)), A([0.0, 4.0]),
        A([0.0, 0.25])),
    # nowhere negative: where it is zero, whatever is differentiable has no slope
    row("std_of_constants", np.std, np.ones(4), np.zeros(4)),
    row("std_ddof", lambda x: np.std(x, ddof=1), np.ones(4), np.zeros(4)),
    row("root_mean_square", lambda x: np.sqrt(np.mean((x - 1.0) ** 2)), np.ones(3), np.zeros(3)),
    row("root_of_dot", lambda x: np.sqrt(x @ x) + np.sqrt(np.dot(x, x)), np.zeros(2), np.zeros(2)),
    row("root_of_vdot", lambda x: np.vdot(x, x) ** 0.5 + np.inner(x, x) ** 0.5, np.zeros(2),
        np.zeros(2)),
    row("root_of_einsum", lambda x: np.sum(np.sqrt(np.einsum("bi,bi->b", x, x))), 0 * X, 0 * X),
    row("root_of_tensordot", lambda x: np.sqrt(np.tensordot(x, x, 2)), 0 * X, 0 * X),
    row("root_of_product", lambda x: np.sqrt(x ** 2 * np.exp(x) * x ** 2), 0.0, 0.0),
    row("root_of_x_log1p", lambda x: np.sqrt(x ** 3 * np.log1p(x ** 3)), 0.0, 0.0),
    row("root_of_sixth", lambda x: ((x ** 2) ** 3) ** 0.5, -1.7, -3 * 1.7 ** 2),
    row("root_of_hypot", lambda x: np.sqrt(np.hypot(x, x)) ** 2 * x, 0.0, 0.0),
    row("square_to_the_3/4", lambda x: np.sum(x ** 2) ** 0.75, A([0.0, 0.0]), A([0.0, 0.0])),
    row("entropy_of_squares", lambda x: np.sum(special.entr(x ** 2)), A([0.0, 1.0]),
        A([0.0, -2.0])),
    row("thin_plate", lambda x: special.xlogy(np.sum(x ** 2), np.sum(x ** 2)), A([0.0, 0.0]),
        A([0.0, 0.0])),
    row("complex_length", lambda x: np.sqrt(np.sum(np.real((x + 0j) * np.conj(x + 0j)))),
        A([0.0, 0.0]), A([0.0, 0.0])),
    row("cube_root_cubed", lambda x: np.cbrt(x) ** 3, 0.0, 1.0),
    # zeros that a difference, a quotient or a selection makes
    row("x_minus_max", lambda x: np.sqrt(x[0] - np.maximum(x[0], x[1])), A([2.0, 1.0]),
        A([0.0, 0.0])),
    row("x_minus_choice", lambda x: np.sqrt(x - np.where(x > 1.0, x, 0.0)), 2.0, 0.0),
    row("x_minus_x", lambda x: np.sqrt(x - np.minimum(x, x)), 2.0, 0.0),
    row("x_over_x", lambda x: np.arcsin(x / x) * x, 2.0, np.pi / 2),
    row("never_less", lambda x: np.sqrt(np.where(x < x, x, x * x)) ** 2, 0.0, 0.0),
    row("absolute_plus_x", lambda x: np.sqrt((np.abs(x) + x) ** 3), -1.0, 0.0),
    row("length_of_one", lambda x: np.sum(np.sqrt((norm(x) + x) ** 3)), A([-1.0]), A([0.0])),
    row("min_of_absolute", lambda x: np.minimum(np.abs(x), x), 0.0, 1.0),
    row("masked_tanh", lambda x: np.sqrt(np.tanh((x > 1) * np.sqrt(x)) * x ** 3), 0.5, 0.0),
    row("masked_quotient", lambda x: np.sqrt(np.abs(np.where(x > 1, np.log(x), 0.0)) / x ** 3),
        0.5, 0.0),
    row("silu", lambda x: np.sum(x / (1 + np.exp(-x))), A([0.0, 800.0, -800.0]),
        A([0.5, 1.0, 0.0])),
    row("power_0", lambda x: x ** 0, 0.0, 0.0),
    row("power_1", lambda x: x ** 1.0, 0.0, 1.0),
    row("power_2", lambda x: x ** 2.0, -0.0, 0.0),
    row("power_traced_0", lambda p: p[0] ** p[1], A([0.0, 0.0]), A([0.0, 0.0])),
    row("power_traced_1", lambda p: p[0] ** p[1], A([0.0, 1.0]), A([1.0, 0.0])),
    row("power_traced_2", lambda p: p[0] ** p[1], A([0.0, 2.0]), A([0.0, 0.0])),
    row("zero_to_the_y", lambda y: 0.0 ** y, 2.0, 0.0),
    row("one_zero_prod", np.prod, A([0.0, 2.0, 3.0]), A([6.0, 0.0, 0.0])),
    row("two_zeros_prod", np.prod, A([0.0, 0.0, 3.0]), A([0.0, 0.0, 0.0])),
    row("zeros_cumprod", lambda x: np.sum(np.cumprod(x)), A([2.0, 0.0, 3.0]), A([1.0, 8.0, 0.0])),
    row("sinc", np.sinc, 0.0, 0.0),
    row("xlogy", lambda y: special.xlogy(0.0, y), 0.0, 0.0),
    row("xlogy_of_x", lambda x: special.xlogy(x, 2.0), 0.0, np.log(2.0)),
    # infinities
    row("logsumexp_inf", special.logsumexp, A([-INF, 0.0, 0.0]), A([0.0, 0.5, 0.5])),
    row("logsumexp_by_hand", lambda x: np.log(np.sum(np.exp(x))), A([-INF, 0.0, 0.0]),
        A([0.0, 0.5, 0.5])),
    row("logaddexp_inf", lambda x: np.logaddexp(x[0], x[1]), A([-INF, 1.0]), A([0.0, 1.0])),
    row("logaddexp_tie", lambda x: np.logaddexp(x[0], x[1]), A([0.0, 0.0]), A([0.5, 0.5])),
    row("logaddexp_far", lambda x: np.logaddexp(x[0], x[1]), A([1000.0, -1000.0]), A([1.0, 0.0])),
    row("sqrt", np.sqrt, 0.0, INF),
    row("arctan2_axis", lambda p: np.arctan2(p[0], p[1]), A([0.0, -2.0]), A([-0.5, 0.0])),
    row("arctan2_other_axis", lambda p: np.arctan2(p[0], p[1]), A([2.0, 0.0]), A([0.0, -0.5])),
    row("arctan2_tiny", lambda p: np.arctan2(p[0], p[1]), A([3e-200, 4e-200]),
        A([0.16e200, -0.12e200])),
    # clipped arguments
    row("arccos_of_clip", lambda x: np.arccos(np.clip(x, -1.0, 1.0)), 10.0, 0.0),
    row("arccos_of_clips", lambda x: np.sum(np.arccos(np.clip(x, -1.0, 1.0))),
        A([10.0, 0.0, -10.0]), A([0.0, -1.0, 0.0])),
    row("log_of_clip", lambda x: np.sum(np.log(np.clip(x, 0.0, 1.0) + 1e-300)), A([-1.0, 0.5]),
        A([0.0, 2.0])),
    # sigmoid and softplus as people write them
    row("sigmoid", lambda x: 1 / (1 + np.exp(-x)), 0.0, 0.25),
    row("sigmoid_far", lambda x: 1 / (1 + np.exp(-x)), -800.0, 0.0),
    row("sigmoid_far_right", lambda x: 1 / (1 + np.exp(-x)), 800.0, 0.0),
    row("sigmoid_other", lambda x: np.exp(x) / (np.exp(x) + 1), 800.0, 0.0),
    row("sigmoid_where", lambda x: np.sum(np.where(
        x > 0, 1 / (1 + np.exp(-x)), np.exp(x) / (1 + np.exp(x)))), A([0.0, 900.0, -900.0]),
        A([0.25, 0.0, 0.0])),
    row("log_sigmoid", lambda x: -np.log(1 + np.exp(-x)), -800.0, 1.0),
    row("softplus", lambda x: np.log(1 + np.exp(x)), 800.0, 1.0),
    row("softplus_stable", lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))), 0.0, 0.5),
    row("log_softmax", lambda x: np.log(np.exp(x) / np.sum(np.exp(x)))[0], A([0.0, 0.0]),
        A([0.5, -0.5])),
]

SECOND = [
    row("square_of_norm", lambda x: norm(x) ** 2, A([0.0, 0.0]), 2 * np.eye(2)),
    row("row_norms_squared", lambda x: np.sum(norm(x, axis=-1) ** 2), X,
        2 * np.eye(4).reshape(2, 2, 2, 2)),
    row("norm_cubed", lambda x: norm(x) ** 3, A([0.0, 0.0]), np.zeros((2, 2))),
    row("gaussian", lambda x: np.exp(-norm(x) ** 2), A([0.0, 0.0]), -2 * np.eye(2)),
    row("root_of_fourth", lambda x: np.sqrt(x ** 4), 0.0, 2.0),
    row("abs_squared", lambda x: np.abs(x) ** 2, 0.0, 2.0),
    row("abs_cubed", lambda x: np.sum(np.abs(x) ** 3), A([0.0, 2.0, -2.0]), np.diag([0, 12.0, 12])),
    row("cos_of_abs", lambda x: np.cos(np.abs(x)), 0.0, -1.0),
    row("sinc", np.sinc, 0.0, -np.pi ** 2 / 3),
    row("prod", np.prod, A([0.0, 0.0, 3.0]), A([[0, 3, 0], [3, 0, 0], [0, 0, 0.0]])),
    row("power", lambda x: x ** 2, 0.0, 2.0),
    row("power_1", lambda x: x ** 1, 0.0, 0.0),
    row("softplus", lambda x: np.log(1 + np.exp(x)), 0.0, 0.25),
    row("safe_sqrt", lambda x: np.where(x > 0, np.sqrt(np.where(x > 0, x, 1)), 0), 0.0, 0.0),
    row("unsafe_sqrt", lambda x: np.where(x > 0, np.sqrt(x), 0), 0.0, 0.0),
]


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize(("function", "point", "want"), FIRST)
def test_first_derivative(function, point, want, mode):
    with np.errstate(all="ignore"):
        found = wg.grad(function, mode=mode)(point)
    np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize(("function", "point", "want"), SECOND)
def test_second_derivative(function, point, want, mode):
    with np.errstate(all="ignore"):
        found = wg.hessian(function, mode=mode)(point)
    np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize(("function", "point"), [
    (lambda x: np.sqrt(x) ** 2, -1.0), (lambda x: np.sqrt(x) * np.sqrt(x), -1.0),
    (lambda x: x * np.sqrt(x), -1.0)])
def test_a_root_that_cancels_keeps_its_domain(function, point, mode):
    with np.errstate(all="ignore"):
        assert np.isnan(wg.grad(function, mode=mode)(point))


@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_curvature_at_a_corner_is_not_a_number(mode):
    # The gradient of a length at zero is zero by convention; cos(|x|) has curvature −1 there,
    # which no local rule sees: the answer must not be a number.
    with np.errstate(all="ignore"):
        found = wg.hessian(lambda x: np.cos(norm(x)), mode=mode)(A([0.0, 0.0]))
    assert not np.isfinite(np.diag(found)).any()


@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_one_row_that_is_not_a_number(mode):
    def rows(x):
        return np.stack([np.mean(x), np.mean(x ** 2), np.mean(np.sqrt(x))])
    with np.errstate(all="ignore"):
        found = wg.jacobian(rows, mode=mode)(A([-1.0, -2.0]))
    np.testing.assert_array_equal(found, [[0.5, 0.5], [-1.0, -2.0], [NAN, NAN]])


@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_an_infinite_element_of_a_jacobian_stays_alone(mode):
    with np.errstate(all="ignore"):
        found = wg.jacobian(np.log, mode=mode)(A([0.0, 2.0]))
    np.testing.assert_array_equal(found, [[INF, 0.0], [0.0, 0.5]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("function", [
    lambda x: norm(x) ** 2, lambda x: np.sum(np.sqrt(x) ** 2), lambda x: np.sum(np.sqrt(x * x)),
    lambda x: np.sum(x * np.sqrt(x)), lambda x: np.sum((x > 0) * np.sqrt(x))])
def test_dtypes_are_kept(function, dtype):
    with np.errstate(all="ignore"):
        found = wg.grad(function)(np.array([0.0, 4.0], dtype))
    assert found.dtype == dtype
    assert np.isfinite(found).all()
