"""Agreement of a compiled function and its derivatives with NumPy and with differences."""

import copy

import numpy as np
import wengert as wg

STEPS = (4e-3, 2e-3, 1e-3)


def difference_jacobian(function, args, argnum=0):
    """Central differences, twice extrapolated (Richardson), of shape out + in."""
    x = np.array(args[argnum], dtype=float)
    columns = []
    for i in range(x.size):
        rows = []
        for h in STEPS:
            sides = []
            for sign in (1.0, -1.0):
                moved = x.copy()
                moved.flat[i] += sign * h
                new = list(copy.deepcopy(args))
                new[argnum] = moved if isinstance(args[argnum], np.ndarray) else float(moved)
                sides.append(np.asarray(function(*new), dtype=float))
            rows.append((sides[0] - sides[1]) / (2 * h))
        once = [(4 * rows[k + 1] - rows[k]) / 3 for k in range(2)]
        columns.append((16 * once[1] - once[0]) / 15)
    return np.stack(columns, axis=-1).reshape(columns[0].shape + x.shape) if columns else \
        np.zeros(np.shape(function(*copy.deepcopy(args))) + x.shape)


def same(a, b):
    """Bitwise equal values of the same shape and dtype (all NaN are the same)."""
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and a.dtype == b.dtype and np.array_equal(
        a, b, equal_nan=a.dtype.kind in "fc") and np.array_equal(np.signbit(a[a == 0].real),
                                                               np.signbit(b[b == 0].real))


def assert_agrees(function, *args, argnum=0, tol=1e-7, exact=True):
    """Value as NumPy's; forward = reverse = differences; the arguments are left alone."""
    expected = function(*copy.deepcopy(args))
    got = wg.compile(function)(*copy.deepcopy(args))
    if exact:
        assert same(got, expected), (got, expected)
    else:
        np.testing.assert_allclose(got, expected, rtol=1e-13)
    given = copy.deepcopy(args)
    reverse = wg.jacobian(function, argnum, mode="reverse")(*given)
    forward = wg.jacobian(function, argnum, mode="forward")(*given)
    for before, after in zip(args, given, strict=True):
        np.testing.assert_equal(after, before)
    np.testing.assert_allclose(forward, reverse, rtol=1e-12, atol=1e-13)
    want = difference_jacobian(function, args, argnum)
    assert np.shape(reverse) == want.shape
    np.testing.assert_allclose(reverse, want, rtol=tol, atol=tol)
    return reverse
