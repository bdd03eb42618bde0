"""Overflow, cancellation and tiny values."""

import numpy as np

from cases.case import A, case


@case("jax-ml/jax#777", (A([-800.0, 0.0]),), A([0.0, 0.25]))
def sigmoid_overflow(x):
    """1/(1+exp(-x)) at -800: exp overflows, derivative inf/inf = NaN instead of 0."""
    return np.sum(1.0 / (1.0 + np.exp(-x)))


@case("tracel-ai/burn#5373", (A([800.0, -800.0, 0.0]),), A([1.0, 0.0, 0.5]))
def softplus_large(x):
    """logaddexp(0, x): 1 and 0 in the tails, never NaN."""
    return np.sum(np.logaddexp(0.0, x))


@case("opveclib/opveclib#8", (1e-20,), -1.0, order=2)
def log1p_tiny(x):
    """d2/dx2 log1p = -1/(1+x)**2 near 0."""
    return np.log1p(x)


@case("jax-ml/jax#40634", (1e200,), 1e-200, rel=True, tol=1e-12)
def arccosh_huge(x):
    """1/sqrt(x**2-1): overflow -> exactly 0."""
    return np.arccosh(x)


@case("jax-ml/jax#4882", (A([3e200, 3e-200]), A([4e200, 4e-200])), A([0.6, 0.6]))
def hypot_huge(x, y):
    """x/hypot must not go through x**2 + y**2 (overflow / underflow)."""
    return np.sum(np.hypot(x, y))


@case(
    "jax-ml/jax#34139",
    (A([1e-06, 1e-09]),),
    -(np.pi**2) / 3 * A([1e-06, 1e-09]),
    rel=True,
    tol=1e-06,
)
def sinc_near_zero(x):
    """sinc'(x) ~ -pi**2 x/3; cos/x - sin/x**2 cancels to garbage (relative error 3u/x**2)."""
    return np.sum(np.sinc(x))
