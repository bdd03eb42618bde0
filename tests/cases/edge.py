"""Points where a function is smooth, or has a conventional slope, and naive rules give NaN."""

import numpy as np
import scipy.special as sp

from cases.case import A, case


@case("HIPS/autograd#570", (A([0.0, 0.0, 0.0]),), A([0.0, 0.0, 0.0]))
def norm_sq_at_zero(x):
    """||x||**2 is smooth with gradient 2x = 0, peers give NaN (0 * inf from the norm)."""
    return np.linalg.norm(x) ** 2


@case("HIPS/autograd#617", (A([[0.0, 0.0], [3.0, 4.0]]),), A([[0.0, 0.0], [6.0, 8.0]]))
def norm_rows_one_zero(x):
    """one zero row: NaN in that row although the squared norm is smooth."""
    return np.sum(np.linalg.norm(x, axis=-1) ** 2)


@case("HIPS/autograd#581", (0.0,), 0.0, accept=[("nan", np.nan)])
def x_times_sqrt_x_at_zero(x):
    """x * x**0.5 = x**1.5, one-sided derivative 0 at 0; product rule gives 0*inf = NaN."""
    return x * x**0.5


@case("tensorflow/tensorflow#5562", (0.0,), 1.0, accept=[("nan", np.nan)])
def sqrt_squared_at_zero(x):
    """sqrt(x)**2 = x; one-sided derivative 1, naive chain rule gives 0*inf = NaN."""
    return np.sqrt(x) ** 2


@case("jax-ml/jax#18450", (0.0, 0.0), 0.0)
def pow_zero_exponent_zero_base(x, k):
    """d/dx x**k with k = 0 is 0 everywhere (constant 1); k * x**(k-1) = 0*inf gave NaN under
    jit."""
    return x**k


@case("jax-ml/jax#14397", (1.0,), 1.0)
def poly_by_arange_at_one(z):
    """sum(z**arange(2)) = 1 + z; integer-array exponent containing 0 gave derivative 2."""
    return np.sum(z ** np.arange(0, 2))


@case("jax-ml/jax#14397", (0.0,), 1.0)
def poly_by_arange_at_zero(z):
    """sum(z**arange(4)) at z=0: the z**0 and z**1 terms need 0*0**-1 = 0 and 1*0**0 = 1."""
    return np.sum(z ** np.arange(4))


@case("jax-ml/jax#5798", (0.0,), 1.0)
def where_sqrt_untaken(x):
    """where(x < 1, x, sqrt(x)) at 0: NaN from the branch not taken."""
    return np.where(x < 1.0, x, np.sqrt(x))


@case("HIPS/autograd#802", (A([1.0, 2.0]),), A([1.0, 1.0]))
def where_sqrt_of_negative_untaken(x):
    """where(x >= 0, x, sqrt(-x)): untaken sqrt of a negative poisons the gradient."""
    return np.sum(np.where(x >= 0, x, np.sqrt(-x)))


@case("tensorflow/tensorflow#20355", (A([1.0, -1.0]),), A([0.5, 0.25]))
def where_log_division_untaken(x):
    """where(x < 0, 1/(1-x), log(x+1)) at +-1: division by zero / log 0 in the dead branch."""
    return np.sum(np.where(x < 0, 1.0 / (1.0 - x), np.log(x + 1.0)))


@case("coin-or/CppAD#120", (0.0, 1.0), 1.0)
def arctan2_on_axis(y, x):
    """d/dy arctan2(y, x) at y=0, x=1 is 1; a sign/ratio based formula gave 0."""
    return np.arctan2(y, x)


@case(
    "ml-explore/mlx#2451",
    (A([1.0, 1.0, -1.0, -2.0]), A([2.0, -3.0, -3.0, 1.0])),
    A([2 / 5.0, -3 / 10.0, -3 / 10.0, 1 / 5.0]),
)
def arctan2_quadrants(y, x):
    """d/dy = x/(x**2+y**2) in all quadrants (a peer used 1/(x**2+y**2))."""
    return np.sum(np.arctan2(y, x))


@case("jax-ml/jax#23842", (A([-np.inf, 0.0, 0.0]),), A([0.0, 0.5, 0.5]))
def logsumexp_some_neginf(x):
    """some entries -inf (masked): weights 0, not NaN."""
    return sp.logsumexp(x)


@case("jax-ml/jax#1624", (A([1.0, -1.0]),), A([1.0, 1.0]))
def logaddexp_neginf(x):
    """logaddexp(x, -inf) = x; inf - inf inside gave NaN."""
    return np.sum(np.logaddexp(x, -np.inf))


@case(
    "pytorch/pytorch#773",
    (A([[0.0, 3.0, 0.0], [1.0, 2.0, 4.0]]),),
    A([[0.0, 0.0, 0.0], [8.0, 4.0, 2.0]]),
)
def prod_two_zeros_axis(x):
    """two zeros in one row: all zeros there, other row unaffected."""
    return np.sum(np.prod(x, axis=-1))


@case("jax-ml/jax#23649", (10.0,), 0.0)
def arccos_of_clip_outside(x):
    """arccos(clip(x, -1, 1)) is constant around x=10; 0 * inf = NaN."""
    return np.arccos(np.clip(x, -1.0, 1.0))


@case("tensorflow/tensorflow#56873", (0.0, 1.0), np.log(2.0))
def xlog1py_wrt_x_at_zero(x, y):
    """d/dx xlog1py(x, 1) = log 2 also at x = 0 (TF returned 0 from its x == 0 special case)."""
    return sp.xlog1py(x, y)


@case("jax-ml/jax#37635", (-16.5,), 9.810797812993576, tol=1e-08)
def digamma_negative_half_integer(x):
    """trigamma(-16.5) = +9.81 (reflection needed); peer returned -0.0588."""
    return sp.digamma(x)


@case("EnzymeAD/Enzyme-JAX#2571", (A([-8.0, 8.0]),), A([1 / 12.0, 1 / 12.0]))
def cbrt_negative(x):
    """1/(3 cbrt(x)**2); pow(x, -2/3) is NaN for x < 0."""
    return np.sum(np.cbrt(x))


@case(
    "jax-ml/jax#8128",
    (A([np.nan, 1.0, 2.0, 3.0]),),
    A([0.0, -1 / np.sqrt(6.0), 0.0, 1 / np.sqrt(6.0)]),
)
def nanstd_with_nan(x):
    """NaN entries are ignored by the value but poisoned the gradient."""
    return np.nanstd(x)


@case("pytorch/pytorch#121416", (A([1.0, 2.0]), A([0.0, np.nan])), A([2.0, 0.0]))
def masked_mse_nan_target(x, y):
    """((x-y)**2)[~isnan(y)]: unselected NaN element leaks as 0*NaN into the gradient."""
    return np.sum(((x - y) ** 2)[~np.isnan(y)])


@case(
    "jax-ml/jax#14149",
    (A([-1.0, -2.0]),),
    A([[0.5, 0.5], [-1.0, -2.0], [np.nan, np.nan]]),
    want="jacobian",
)
def nan_in_one_output(x):
    """jacobian of (mean x, mean x**2, mean sqrt x) at negative x: NaN row must not poison the
    others (reverse mode multiplied NaN by 0)."""
    return np.stack([np.mean(x), np.mean(x**2), np.mean(np.sqrt(x))])


@case("jax-ml/jax#38001", (A([0.0, 3.0]),), A([4.0, 4.0]))
def ldexp_at_zero(x):
    """d/dx ldexp(x, 2) = 4 also at x = 0 (peer divided by x or special-cased 0)."""
    return np.sum(np.ldexp(x, 2))


@case("jax-ml/jax#11466", (-19.0, 3.0), 7.0, argnum=1)
def mod_wrt_divisor_negative(x, y):
    """d/dy mod(-19, y) = -floor(-19/y) = 7; peer gave 8 (mixed truncation and floor)."""
    return np.mod(x, y)
