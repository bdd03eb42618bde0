"""Ties, missing values and staleness of order statistics; counts have zero derivative."""

import warnings

import numpy as np
import pytest
import wengert as wg
from agreement import assert_agrees

MODES = ["reverse", "forward"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("x", "expected"), [
    ([1.0, 3.0, 2.0], [0.0, 0.0, 1.0]),
    ([4.0, 1.0, 2.0, 3.0], [0.0, 0.0, 0.5, 0.5]),
    ([1.0, 2.0, 2.0, 3.0], [0.0, 0.5, 0.5, 0.0]),
    ([2.0, 2.0, 1.0, 3.0], [0.5, 0.5, 0.0, 0.0]),
    ([2.0, 5.0, 2.0, 2.0, 1.0], [1 / 3, 0.0, 1 / 3, 1 / 3, 0.0]),
    ([7.0], [1.0]), ([2.0, 2.0], [0.5, 0.5]),
])
def test_the_median_shares_its_derivative_among_ties(mode, x, expected):
    np.testing.assert_allclose(wg.grad(lambda x: np.median(x), mode=mode)(np.array(x)), expected,
                               rtol=1e-15)


@pytest.mark.parametrize("mode", MODES)
def test_quantiles_weigh_their_neighbours_at_their_places(mode):
    x = np.array([5.0, 1.0, 4.0, 2.0])                  # position 0.75 · 3 = 2.25: 0.75·4 + 0.25·5
    np.testing.assert_allclose(wg.grad(lambda x: np.quantile(x, 0.75), mode=mode)(x),
                               [0.25, 0.0, 0.75, 0.0])
    np.testing.assert_allclose(wg.grad(lambda x: np.percentile(x, 0.0), mode=mode)(x),
                               [0.0, 1.0, 0.0, 0.0])
    two = wg.jacobian(lambda x: np.quantile(x, [0.0, 1.0]), mode=mode)(x)
    np.testing.assert_allclose(two, [[0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]])


@pytest.mark.parametrize("mode", MODES)
def test_the_slope_of_a_quantile_in_its_share(mode):
    x = np.array([5.0, 1.0, 4.0, 2.0])
    assert wg.grad(lambda q: np.quantile(x, q), mode=mode)(0.8) == pytest.approx(3.0)
    assert wg.grad(lambda q: np.percentile(x, q), mode=mode)(80.0) == pytest.approx(0.03)


def test_another_order_of_the_data_needs_no_new_trace():
    g = wg.grad(lambda x: np.median(x) ** 2)
    np.testing.assert_array_equal(g(np.array([1.0, 3.0, 2.0])), [0.0, 0.0, 4.0])
    np.testing.assert_array_equal(g(np.array([3.0, 1.0, 7.0])), [6.0, 0.0, 0.0])
    assert len(g.programs) == 1


def test_second_derivatives_of_order_statistics():
    x = np.array([0.4, 1.9, 1.1, 0.7])
    weights = np.array([0.0, 0.0, 1.0, 1.0])
    for mode in MODES:
        h = wg.hessian(lambda x: np.median(x) ** 2, mode=mode)(x)
        np.testing.assert_allclose(h, 2.0 * np.outer(weights, weights) / 4.0)


def test_nan_makes_the_statistics_nan():
    x = np.array([[1.0, np.nan, 2.0], [4.0, 3.0, 5.0]])
    for f in (lambda x: np.median(x, axis=1), lambda x: np.quantile(x, 0.3, axis=1),
              lambda x: np.percentile(x, 30.0, axis=1)):
        np.testing.assert_array_equal(wg.compile(f)(x), f(x))


def test_empty_samples_behave_as_in_numpy():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.isnan(wg.compile(lambda x: np.median(x))(np.zeros(0)))
    with pytest.raises(IndexError):
        wg.grad(lambda x: np.quantile(x, 0.5))(np.zeros(0))
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        wg.grad(lambda x: np.quantile(x, 1.5))(np.ones(3))


@pytest.mark.parametrize("mode", MODES)
def test_counts_have_no_derivative_but_weights_and_edges_have(mode):
    x = np.array([0.1, 0.4, 0.35, 0.9])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")         # the result depends on x through counts only
        counts = wg.grad(lambda x: np.sum(np.histogram(x, [0.0, 0.5, 1.0])[0] * 1.0), mode=mode)(x)
    np.testing.assert_array_equal(counts, np.zeros(4))
    weights = wg.grad(lambda w: np.histogram(x, [0.0, 0.5, 1.0], weights=w)[0][0], mode=mode)(x)
    np.testing.assert_array_equal(weights, [1.0, 1.0, 1.0, 0.0])
    edge = wg.grad(lambda x: np.histogram(x, 4)[1][1], mode=mode)(x)
    np.testing.assert_allclose(edge, [0.75, 0.0, 0.0, 0.25])


def test_repeated_numbers_add_their_weights():
    assert_agrees(lambda w: np.bincount([2, 0, 2, 2], weights=w) ** 2, np.array([1.0, 2, 3, 4]))


def test_bincount_of_other_numbers_is_another_program():
    f = wg.compile(lambda k: np.bincount(k))
    np.testing.assert_array_equal(f(np.array([0, 2])), [1, 0, 1])
    np.testing.assert_array_equal(f(np.array([0, 4])), [1, 0, 0, 0, 1])


@pytest.mark.parametrize("mode", MODES)
def test_perfect_correlation_is_a_flat_maximum(mode):
    x = np.array([1.0, 2.0, 4.0])
    g = wg.grad(lambda y: np.corrcoef(x, y)[0, 1], mode=mode)(2.0 * x + 1.0)
    np.testing.assert_allclose(g, 0.0, atol=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_running_extrema_and_interpolation_at_a_point_of_the_table(mode):
    j = wg.jacobian(lambda x: np.maximum.accumulate(x), mode=mode)(np.array([1.0, 3.0, 2.0, 4.0]))
    np.testing.assert_array_equal(j, [[1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]])
    xp, fp = np.array([0.0, 1.0, 3.0]), np.array([0.0, 2.0, 3.0])
    g = wg.grad(lambda x: np.interp(x, xp, fp), mode=mode)
    assert [float(g(x)) for x in (-1.0, 0.0, 0.5, 1.0, 3.0, 4.0)] == [0.0, 2.0, 2.0, 0.5, 0.5, 0.0]


@pytest.mark.parametrize("function", [
    lambda x: np.sum(x, dtype=np.int32), lambda x: x.sum(dtype=np.int8),
    lambda x: np.sum(x > 2, dtype=np.int8), lambda x: np.sum(x, dtype=bool),
    lambda x: np.prod(x, dtype=np.int32), lambda x: np.cumsum(x, dtype=np.int32),
    lambda x: np.cumprod(x, dtype=np.int16), lambda x: np.add.accumulate(x, dtype=np.int32),
    lambda x: np.nansum(x, dtype=np.int32), lambda x: np.trace(np.outer(x, x), dtype=np.int32),
    lambda x: np.var(x, dtype=np.float32), lambda x: np.mean(x, dtype=np.float32),
    lambda x: np.sum(np.array([100, 100], np.int8), dtype=np.int8) + x])
def test_reductions_have_the_dtype_they_are_asked_for(function):
    x = np.array([1.5, 2.5, 3.7])
    wanted, found = function(x), wg.compile(function)(x)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
