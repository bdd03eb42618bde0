"""What the table of calls does not say of signals, polynomials and functions of functions."""

import cmath

import numpy as np
import pytest
import scipy.signal
import wengert as wg
from agreement import assert_agrees, difference_jacobian
from wengert.compiler.errors import UnsupportedArgumentError, UnsupportedFunctionError

A = np.array([0.3, -1.2, 0.7, 2.0])
V = np.array([0.5, 0.25, -1.0])


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_second_derivatives_of_convolutions(mode):
    def energy(a):
        return np.sum(np.convolve(a, np.sin(a[:2]), mode) ** 2)
    want = difference_jacobian(wg.grad(energy), (A,))
    for direction in ("reverse", "forward"):
        np.testing.assert_allclose(wg.hessian(energy, mode=direction)(A), want, rtol=1e-6,
                                   atol=1e-6)


def test_source_of_a_convolution_shows_it():
    g = wg.grad(lambda a: np.sum(np.convolve(a, V)))
    g(A)
    assert "np.convolve(" in g.source
    image = np.arange(12.0).reshape(3, 4)
    h = wg.grad(lambda a: np.sum(scipy.signal.convolve2d(a, a[:2, :2]) ** 2))
    h(image)
    assert "signal.convolve(" in h.source
    assert "from scipy import signal" in h.source


def _recursion(b, a, x):
    """The defining recursion, sample by sample."""
    y = []
    for n in range(x.shape[0]):
        total = sum(b[k] * x[n - k] for k in range(len(b)) if n >= k)
        total = total - sum(a[k] * y[n - k] for k in range(1, len(a)) if n >= k)
        y.append(total / a[0])
    return np.stack(y)


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize(("b", "a"), [([1.0], [1.0, -0.9]), ([0.5, 0.2, 0.1], [1.5, -0.7, 0.2]),
                                      ([0.5, 0.2, 0.1, 0.4, 0.2, 0.1, 0.7], [2.0, 0.3])])
def test_filters_with_feedback(b, a, mode):
    x = np.random.default_rng(2).normal(size=5)
    args = (np.array(b), np.array(a), x)
    found = wg.grad(lambda *v: np.sum(np.sin(scipy.signal.lfilter(*v))), (0, 1, 2), mode=mode)(
        *args)
    wanted = wg.grad(lambda *v: np.sum(np.sin(_recursion(*v))), (0, 1, 2))(*args)
    for f, w in zip(found, wanted, strict=True):
        np.testing.assert_allclose(f, w, rtol=1e-12, atol=1e-13)


def test_a_filter_with_feedback_along_another_axis():
    x = np.random.default_rng(2).normal(size=(4, 3))
    found = wg.grad(lambda x: np.sum(scipy.signal.lfilter([1.0], [1.0, -0.5], x, axis=0)[3]))(x)
    np.testing.assert_allclose(found, np.outer(0.5 ** np.arange(3, -1, -1), np.ones(3)))


def test_what_is_refused():
    with pytest.raises(UnsupportedArgumentError, match="zi"):
        wg.grad(lambda x: np.sum(scipy.signal.lfilter([1.0], [1.0, 0.5], x, zi=x[:1])[0]))(A)
    with pytest.raises(UnsupportedFunctionError, match="roots"):
        wg.grad(lambda x: np.sum(np.abs(np.roots(x))))(A)


def test_errors_of_numpy():
    with pytest.raises(ValueError, match="cannot be empty"):
        wg.grad(lambda a: np.sum(np.convolve(a, V)))(np.zeros(0))
    with pytest.raises(ValueError, match="valid"):
        wg.grad(lambda a: np.sum(scipy.signal.convolve(a, np.ones((2, 5)), "valid")))(
            np.ones((3, 3)))
    with pytest.raises(ValueError, match="too small"):
        wg.grad(lambda a: np.sum(np.gradient(a)))(np.ones(1))


def test_polynomials_of_the_polynomial_module():
    P = np.polynomial.polynomial
    C = np.polynomial.chebyshev
    assert_agrees(lambda c: P.polyval(np.array([0.5, 2.0]), c), V, exact=False)
    assert_agrees(lambda x: P.polyval(x, [1.0, 2.0, 3.0]), A, exact=False)
    assert_agrees(lambda c: P.polymul(c, c), V, exact=False)
    assert_agrees(lambda c: C.chebval(np.array([0.5, 0.2]), c), V, exact=False)


# -- functions of functions -----------------------------------------------------------------------


def test_vectorized_functions_branch_on_each_element():
    @np.vectorize
    def clipped(v, top):
        return v * v if v < top else 2.0 * top + 0.5 * v
    assert_agrees(lambda x: clipped(x, 1.0), A, exact=False)
    assert_agrees(lambda x: clipped(x[:, None], np.array([0.0, 1.5])), A, exact=False)
    assert_agrees(lambda x: np.vectorize(lambda v, k: k * v, excluded=["k"])(x, k=3.0), A)
    g = wg.grad(lambda x: np.sum(clipped(x, 1.0)))
    np.testing.assert_allclose(g(A), [0.6, -2.4, 1.4, 0.5])
    np.testing.assert_allclose(g(A[::-1].copy()), [0.5, 1.4, -2.4, 0.6])


def test_vectorized_functions_of_several_results():
    def f(x):
        s, c = np.vectorize(lambda v: (np.sin(v), v * v))(x)
        return s * c
    assert_agrees(f, A, exact=False)
    with pytest.raises(UnsupportedArgumentError, match="signature"):
        wg.grad(lambda x: np.sum(np.vectorize(np.sum, signature="(n)->()")(x)))(A)


def test_ufuncs_made_from_functions():
    square = np.frompyfunc(lambda v: v * v, 1, 1)
    add = np.frompyfunc(lambda u, v: u + 2.0 * v, 2, 1)
    assert_agrees(lambda x: square(x).astype(float), A)
    assert_agrees(lambda x: add(x, A).astype(float), A)
    assert wg.grad(lambda x: square(x))(3.0) == 6.0


def test_callbacks_are_user_code():
    def row(v):
        z = np.zeros(2)
        z[0] = v[0] * v[1]
        z[1] = np.array([v[1], v[0]])[1]
        return z
    assert_agrees(lambda x: np.apply_along_axis(row, 1, x), A.reshape(2, 2), exact=False)
    assert_agrees(lambda x: np.piecewise(x, [x > 0.5], [lambda v: np.array([u * u for u in v]),
                                                        1.0]), A, exact=False)
    with pytest.raises(wg.WengertError, match=r"test_signal.py:\d+"):
        wg.grad(lambda x: np.sum(np.apply_along_axis(
            lambda v: np.unique(v), 0, x)))(A)


def test_iterating_with_positions():
    def f(x):
        total = 0.0
        for index, value in np.ndenumerate(x):
            total = total + (1 + sum(index)) * value ** 2
        return np.asarray(total)
    assert_agrees(f, A.reshape(2, 2), exact=False)
    assert_agrees(lambda x: np.fromfunction(lambda i, j: x[0] * i + x[1] * j, (2, 3)), A,
                  exact=False)


@pytest.mark.parametrize("reduce", [np.logaddexp.reduce, np.hypot.reduce])
def test_reductions_of_few_elements(reduce):
    assert_agrees(lambda x: reduce(x), A[:1], exact=False)


# -- cmath ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sqrt", "exp", "log", "log10", "sin", "cos", "tan", "asin",
                                  "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh",
                                  "atanh", "phase"])
def test_functions_of_cmath(name):
    def f(x):
        z = getattr(cmath, name)(complex_of(x))
        return np.asarray(z.real + 2.0 * z.imag)

    def complex_of(x):
        return x * (1.3 + 0.4j) - 0.2
    assert_agrees(f, np.array(0.7), exact=False)


def test_cmath_of_other_shapes_and_results():
    def f(x):
        r, phi = cmath.polar(x[0] + 1j * x[1])
        w = cmath.rect(r * r, 2.0 * phi) + cmath.log(x[0], 3.0)
        assert cmath.isfinite(w)
        assert not cmath.isnan(w)
        assert not cmath.isinf(w)
        return np.array([w.real, w.imag])
    assert_agrees(f, np.array([0.7, 0.3]), exact=False)
    with pytest.raises(ValueError, match="domain"):
        wg.compile(lambda x: cmath.log(x).real)(0.0)
    assert wg.grad(lambda x: cmath.sqrt(x).imag)(-4.0) == pytest.approx(-0.25)
