"""Elements that are NaN contribute exactly zero, also where infinities are about."""

import numpy as np
import pytest
import wengert as wg

MODES = ["reverse", "forward"]
X = np.array([[1.5, np.nan, -0.5], [0.25, 2.0, np.nan]])
MISSING = np.isnan(X)
REDUCTIONS = (np.nansum, np.nanprod, np.nanmean, np.nanvar, np.nanstd, np.nanmax, np.nanmin,
              np.nanmedian)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("name", [f.__name__ for f in REDUCTIONS])
def test_missing_elements_have_no_derivative(name, axis, mode):
    def f(x):
        return np.sum(np.sin(getattr(np, name)(x, axis=axis)))
    g = wg.grad(f, mode=mode)(X)
    assert np.all(np.isfinite(g[~MISSING]))
    assert np.array_equal(g[MISSING], np.zeros(2))
    assert np.any(g != 0.0) or (name == "nanvar" and axis == 0) or name == "nanstd"


@pytest.mark.parametrize("mode", MODES)
def test_second_derivatives_leave_them_out_as_well(mode):
    x = X.ravel()
    h = wg.hessian(lambda x: np.nanprod(x) + np.nansum(x) ** 2 + np.nanvar(x), mode=mode)(x)
    missing = np.isnan(x)
    assert np.array_equal(h[missing], np.zeros((2, 6)))
    y = x[~missing]
    dense = wg.hessian(lambda y: np.prod(y) + np.sum(y) ** 2 + np.var(y))(y)
    np.testing.assert_allclose(h[np.ix_(~missing, ~missing)], dense, rtol=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_missing_and_infinite_at_once(mode):
    x = np.array([1.0, np.nan, np.inf, 2.0])
    np.testing.assert_array_equal(wg.grad(lambda x: np.nanmax(x), mode=mode)(x), [0, 0, 1, 0])
    np.testing.assert_array_equal(wg.grad(lambda x: np.nanmin(x), mode=mode)(x), [1, 0, 0, 0])
    np.testing.assert_array_equal(wg.grad(lambda x: np.nansum(1.0 / x), mode=mode)(x),
                                  [-1, 0, 0, -0.25])


def test_slices_of_nothing_but_nan():
    x = np.array([[np.nan, np.nan], [1.0, 2.0]])
    with np.errstate(all="ignore"):
        for name in ("nanmax", "nanmin", "nanmean", "nanvar", "nanmedian"):
            got = wg.compile(lambda x, name=name: getattr(np, name)(x, axis=1))(x)
            assert np.isnan(got[0]), name
            assert np.isfinite(got[1]), name
    with pytest.raises(ValueError, match="All-NaN"):
        wg.compile(lambda x: np.nanargmax(x, axis=1))(x)


def test_other_places_of_nan_need_no_new_trace():
    g = wg.grad(lambda x: np.nanmean(x ** 2))
    np.testing.assert_allclose(g(np.array([1.0, np.nan, 3.0])), [1.0, 0.0, 3.0])
    np.testing.assert_allclose(g(np.array([np.nan, 2.0, np.nan])), [0.0, 4.0, 0.0])
    assert len(g.programs) == 1
