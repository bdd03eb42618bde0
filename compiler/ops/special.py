"""Special functions: error functions, gamma and beta, entropies, exponential integrals, ….

Formulas are those of the NIST Digital Library of Mathematical Functions (chapter and equation
in the comments) unless they are elementary.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.special as special

from ..errors import NotDifferentiableError
from .row import DerivativeNotImplemented, Op, elementwise, piecewise_constant
from .transcendental import taylor

POSITIVE = ((0.3, 3.0),)
UNIT = ((0.05, 0.95),)
_TWO_OVER_ROOT_PI = 2.0 / math.sqrt(math.pi)
_ROOT_TWO_PI = math.sqrt(2.0 * math.pi)
_DEGREE = math.pi / 180.0


def _row(name: str, *partials: Any, **fields: Any) -> Op:
    return elementwise(name, fields.pop("call", None) or getattr(special, name), *partials,
                       python=fields.pop("python", f"special.{name}"), **fields)


def _no(what: str) -> DerivativeNotImplemented:
    return DerivativeNotImplemented(f"The derivative with respect to {what} has no simple form.")


def _near_zero(x: Any, radius: float, coefficients: Sequence[float], formula: Any) -> Any:
    """A Taylor polynomial where the formula cancels or is 0/0, the formula elsewhere."""
    small = np.abs(x) < radius
    return np.where(small, taylor(np.where(small, x, 0.0), coefficients),
                    formula(np.where(small, 1.0, x)))


# -- error functions (7.2) ------------------------------------------------------------------------


def _gauss_tail(x: Any, sign: float) -> Any:
    """−Σ sign^k (2k+1)!!/(2x²)^(k+1), to rounding for |x| > 10 (7.12.1, differentiated)."""
    u = 0.5 / x / x
    return -u * taylor(u, [sign ** k * math.prod(range(1, 2 * k + 2, 2)) for k in range(16)])


def _erfcx_partial(x: Any, out: Any) -> Any:
    far = x > 10.0 if x.dtype.kind == "f" else np.real(x) > 10.0
    return np.where(far, _TWO_OVER_ROOT_PI * _gauss_tail(np.where(far, x, 10.0), -1.0),
                    2.0 * x * out - _TWO_OVER_ROOT_PI)


def _dawsn_partial(x: Any, out: Any) -> Any:
    far = np.abs(x) > 10.0
    return np.where(far, _gauss_tail(np.where(far, x, 10.0), 1.0), 1.0 - 2.0 * x * out)


erf = _row("erf", lambda x, out: _TWO_OVER_ROOT_PI * np.exp(-x * x), c="erf{f}({0})")
erfc = _row("erfc", lambda x, out: -_TWO_OVER_ROOT_PI * np.exp(-x * x), c="erfc{f}({0})")
erfcx = _row("erfcx", _erfcx_partial)
erfi = _row("erfi", lambda x, out: _TWO_OVER_ROOT_PI * np.exp(x * x), domain=((-1.5, 1.5),))
dawsn = _row("dawsn", _dawsn_partial)
erfinv = _row("erfinv", lambda y, out: np.exp(out * out) / _TWO_OVER_ROOT_PI,
              domain=((-0.9, 0.9),))
erfcinv = _row("erfcinv", lambda y, out: -np.exp(out * out) / _TWO_OVER_ROOT_PI,
               domain=((0.1, 1.9),))
ndtr = _row("ndtr", lambda x, out: np.exp(-0.5 * x * x) / _ROOT_TWO_PI)
# φ(x)/Φ(x) without cancellation in either tail
log_ndtr = _row("log_ndtr", lambda x, out: math.sqrt(2.0 / math.pi) / erfcx(-x * math.sqrt(0.5)))
ndtri = _row("ndtri", lambda y, out: _ROOT_TWO_PI * np.exp(0.5 * out * out), domain=UNIT)
ndtri_exp = _row("ndtri_exp",
                 lambda y, out: math.sqrt(0.5 * math.pi) * erfcx(-out * math.sqrt(0.5)),
                 domain=((-3.0, -0.1),))
fresnel_s = _row("fresnel_s", lambda x, out: np.sin(0.5 * math.pi * x * x),
                 call=lambda x: special.fresnel(x)[0],
                 python=lambda args, params, types: f"special.fresnel({args[0]})[0]")
fresnel_c = _row("fresnel_c", lambda x, out: np.cos(0.5 * math.pi * x * x),
                 call=lambda x: special.fresnel(x)[1],
                 python=lambda args, params, types: f"special.fresnel({args[0]})[1]")
owens_t = _row("owens_t",
               lambda h, a, out: np.exp(-0.5 * h * h) / (-2.0 * _ROOT_TWO_PI) * erf(
                   a * h * math.sqrt(0.5)),
               lambda h, a, out: np.exp(-0.5 * h * h * (1.0 + a * a)) / (
                   2.0 * math.pi * (1.0 + a * a)))

# -- gamma, beta and relatives (5.2) --------------------------------------------------------------


def _digamma_partial(x: Any, out: Any) -> Any:
    if x.dtype.kind == "c":
        raise NotDifferentiableError("The derivative of digamma at complex numbers is not "
                                     "implemented.", "Use real arguments.")
    return zeta(2, x)                                                     # ψ′(x) = ζ(2, x), 5.15.1


def _rgamma_partial(x: Any, out: Any) -> Any:
    # 1/Γ(x) = sin(πx) Γ(1−x)/π is smooth at the poles of Γ.
    left = np.real(x) < 0.5
    y = 1.0 - np.where(left, x, 0.0)
    reflected = gamma(y) * (np.cos(math.pi * (1.0 - y))
                            - np.sin(math.pi * (1.0 - y)) * digamma(y) / math.pi)
    return np.where(left, reflected, -out * digamma(np.where(left, 1.0, x)))


zeta: Op = _row("zeta", _no("the exponent"), lambda s, q, out: -s * zeta(s + 1, q),
                domain=((1.5, 4.0), (0.3, 3.0)))                              # Σ (q + k)^−s, 25.11
digamma = _row("psi", _digamma_partial, domain=POSITIVE)
polygamma: Op = _row("polygamma", _no("the order"), lambda n, x, out: polygamma(n + 1, x),
                     domain=((0, 3), (0.3, 3.0)))
gammaln = _row("gammaln", lambda x, out: digamma(x), domain=POSITIVE)
loggamma = _row("loggamma", lambda x, out: digamma(x), domain=POSITIVE)
gamma = _row("gamma", lambda x, out: out * digamma(x), domain=POSITIVE)
rgamma = _row("rgamma", _rgamma_partial, domain=((-2.0, 3.0),))
beta = _row("beta", lambda a, b, out: out * (digamma(a) - digamma(a + b)),
            lambda a, b, out: out * (digamma(b) - digamma(a + b)), domain=POSITIVE * 2,
            commutative=True)
betaln = _row("betaln", lambda a, b, out: digamma(a) - digamma(a + b),
              lambda a, b, out: digamma(b) - digamma(a + b), domain=POSITIVE * 2,
              commutative=True)
binom = _row("binom", lambda n, k, out: out * (digamma(n + 1.0) - digamma(n - k + 1.0)),
             lambda n, k, out: out * (digamma(n - k + 1.0) - digamma(k + 1.0)),
             domain=((3.0, 6.0), (0.5, 2.5)))
poch = _row("poch", lambda z, m, out: out * (digamma(z + m) - digamma(z)),
            lambda z, m, out: out * digamma(z + m), domain=POSITIVE * 2)


def _gamma_density(a: Any, x: Any) -> Any:
    """x^(a−1) e^−x / Γ(a)."""
    return np.exp(xlogy(a - 1.0, x) - x - gammaln(a))


def _beta_density(a: Any, b: Any, x: Any) -> Any:
    """x^(a−1) (1−x)^(b−1) / B(a, b)."""
    return np.exp(xlogy(a - 1.0, x) + xlog1py(b - 1.0, -x) - betaln(a, b))


_SHAPE = _no("the shape parameter")
gammainc = _row("gammainc", _SHAPE, lambda a, x, out: _gamma_density(a, x), domain=POSITIVE * 2)
gammaincc = _row("gammaincc", _SHAPE, lambda a, x, out: -_gamma_density(a, x),
                 domain=POSITIVE * 2)
gammaincinv = _row("gammaincinv", _SHAPE, lambda a, y, out: 1.0 / _gamma_density(a, out),
                   domain=POSITIVE + UNIT)
gammainccinv = _row("gammainccinv", _SHAPE, lambda a, y, out: -1.0 / _gamma_density(a, out),
                    domain=POSITIVE + UNIT)
betainc = _row("betainc", _SHAPE, _SHAPE, lambda a, b, x, out: _beta_density(a, b, x),
               domain=POSITIVE * 2 + UNIT)
betaincc = _row("betaincc", _SHAPE, _SHAPE, lambda a, b, x, out: -_beta_density(a, b, x),
                domain=POSITIVE * 2 + UNIT)
betaincinv = _row("betaincinv", _SHAPE, _SHAPE,
                  lambda a, b, y, out: 1.0 / _beta_density(a, b, out),
                  domain=POSITIVE * 2 + UNIT)

# -- entropies ------------------------------------------------------------------------------------


def _ratio(x: Any, y: Any) -> Any:
    """x/y, and 0 where both are 0: x log y and its like vanish there for every y."""
    return x / np.where((x == 0) & (y == 0), 1.0, y)


xlogy = _row("xlogy", lambda x, y, out: np.log(y), lambda x, y, out: _ratio(x, y),
             domain=((-2.0, 2.0), (0.3, 3.0)), c="xlogy{f}({0}, {1})")
xlog1py = _row("xlog1py", lambda x, y, out: np.log1p(y), lambda x, y, out: _ratio(x, 1.0 + y),
               domain=((-2.0, 2.0), (-0.7, 3.0)), c="xlog1py{f}({0}, {1})")
entr = _row("entr", lambda x, out: -np.log(x) - 1.0, domain=POSITIVE)
rel_entr = _row("rel_entr", lambda x, y, out: np.log(x / y) + 1.0,
                lambda x, y, out: -_ratio(x, y), domain=POSITIVE * 2)
kl_div = _row("kl_div", lambda x, y, out: np.log(x / y), lambda x, y, out: 1.0 - _ratio(x, y),
              domain=POSITIVE * 2)

# -- power transforms -----------------------------------------------------------------------------


def _exprel_derivative(u: Any) -> Any:
    """d/du (eᵘ − 1)/u."""
    return _near_zero(u, 0.7, [k / math.factorial(k + 1) for k in range(1, 20)],
                      lambda v: (v * np.exp(v) - np.expm1(v)) / (v * v))


def _log1prel_derivative(w: Any) -> Any:
    """d/dw log(1 + w)/w."""
    # With s = w/(2 + w), log(1 + w) = 2 artanh(s) and w/(1 + w) = 2s/(1 + s).
    small = np.abs(w) < 0.4
    s = np.where(small, w / (2.0 + w), 0.0)
    rest = taylor(s * s, [1 / (2 * k + 3) for k in range(14)])
    near = -0.5 * (1.0 - s) * (1.0 - s) * (1.0 / (1.0 + s) + s * rest)
    far = np.where(small, 1.0, w)
    return np.where(small, near, (far / (1.0 + far) - np.log1p(far)) / (far * far))


exprel = _row("exprel", lambda x, out: _exprel_derivative(x))
boxcox = _row("boxcox", lambda x, p, out: x ** (p - 1.0),
              lambda x, p, out: np.log(x) ** 2 * _exprel_derivative(p * np.log(x)),
              domain=((0.3, 3.0), (-1.0, 2.0)))
boxcox1p = _row("boxcox1p", lambda x, p, out: (1.0 + x) ** (p - 1.0),
                lambda x, p, out: np.log1p(x) ** 2 * _exprel_derivative(p * np.log1p(x)),
                domain=((-0.5, 2.0), (-1.0, 2.0)))
inv_boxcox = _row("inv_boxcox", lambda y, p, out: out / (1.0 + p * y),
                  lambda y, p, out: out * y * y * _log1prel_derivative(p * y),
                  domain=((-1.0, 1.0), (-0.7, 0.7)))
inv_boxcox1p = _row("inv_boxcox1p", lambda y, p, out: (1.0 + out) / (1.0 + p * y),
                    lambda y, p, out: (1.0 + out) * y * y * _log1prel_derivative(p * y),
                    domain=((-1.0, 1.0), (-0.7, 0.7)))
powm1 = _row("powm1", lambda x, y, out: y * x ** (y - 1 + (y == 0)),
             lambda x, y, out: (1.0 + out) * np.log(np.where(x == 0, 1.0, x)),
             domain=((0.3, 3.0), (-2.0, 2.0)))

# -- losses ---------------------------------------------------------------------------------------


def _pseudo_huber_by_delta(delta: Any, r: Any, out: Any) -> Any:
    q = r / delta                                  # δ (s − 1)²/s, with s − 1 = q²/(1 + s)
    s = np.hypot(1.0, q)
    return delta * (q * q / (1.0 + s)) ** 2 / s


huber = _row("huber", lambda delta, r, out: np.where(np.abs(r) <= delta, 0.0, np.abs(r) - delta),
             lambda delta, r, out: np.where(np.abs(r) <= delta, r, delta * np.sign(r)),
             domain=((0.5, 1.5), (-2.0, 2.0)))
pseudo_huber = _row("pseudo_huber", _pseudo_huber_by_delta,
                    lambda delta, r, out: r / np.hypot(1.0, r / delta),
                    domain=((0.5, 1.5), (-2.0, 2.0)))

# -- exponential integrals (6.2), dilogarithm, Wright's function -----------------------


def _sinh_ratio(x: Any) -> Any:
    """sinh(x)/x."""
    small = np.abs(x) < 0.5
    safe = np.where(small, 1.0, x)
    series = taylor(np.where(small, x * x, 0.0), [1 / math.factorial(2 * k + 1) for k in range(9)])
    return np.where(small, series, np.sinh(safe) / safe)


def _log1p_ratio(u: Any) -> Any:
    """log(1 + u)/u."""
    return _near_zero(u, 0.1, [(-1) ** k / (k + 1) for k in range(19)], lambda v: np.log1p(v) / v)


def _expn_partial(n: Any, x: Any, out: Any) -> Any:
    n = np.trunc(n)                                            # as SciPy cuts it off
    lower = expn(np.maximum(n - 1, 0), x)
    return np.where(n > 0, -lower, -(np.exp(-x) + out) / x)                 # 8.19.13, 8.19.12


def _part(name: str, function: Any, index: int, partial: Any) -> Op:
    return _row(name, partial, call=lambda x: function(x)[index], domain=POSITIVE,
                python=lambda args, params, types:
                    f"special.{function.__name__}({args[0]})[{index}]")


exp1 = _row("exp1", lambda x, out: -np.exp(-x) / x, domain=POSITIVE)
expi = _row("expi", lambda x, out: np.exp(x) / x, domain=POSITIVE)
expn: Op = _row("expn", _no("the order"), _expn_partial, domain=((0, 4), (0.3, 3.0)))
sine_integral = _part("sine_integral", special.sici, 0, lambda x, out: np.sinc(x / math.pi))
cosine_integral = _part("cosine_integral", special.sici, 1, lambda x, out: np.cos(x) / x)
sinh_integral = _part("sinh_integral", special.shichi, 0, lambda x, out: _sinh_ratio(x))
cosh_integral = _part("cosh_integral", special.shichi, 1, lambda x, out: np.cosh(x) / x)
spence = _row("spence", lambda x, out: -_log1p_ratio(x - 1.0), domain=((0.3, 3.0),))
wrightomega = _row("wrightomega", lambda x, out: out / (1.0 + out))

# -- elliptic integrals (19.4) and hypergeometric functions (13.3, 15.5) --------------------------

_ELLIPTIC = [(math.comb(2 * k, k) / 4.0 ** k) ** 2 for k in range(40)]     # 2K/π = Σ c_k m^k


def _ellipk_derivative(m: Any) -> Any:
    series = [0.5 * math.pi * k * c for k, c in enumerate(_ELLIPTIC)][1:]
    return _near_zero(m, 0.3, series, lambda v: (
        ellipe(v) / (1.0 - v) - ellipk(v)) / (2.0 * v))                     # 19.4.1


ellipk = _row("ellipk", lambda m, out: _ellipk_derivative(m), domain=((-1.0, 0.9),))
ellipe: Op = _row("ellipe", lambda m, out: _near_zero(
    m, 0.3, [0.5 * math.pi * k * c / (1 - 2 * k) for k, c in enumerate(_ELLIPTIC)][1:],
    lambda v: (ellipe(v) - ellipk(v)) / (2.0 * v)), domain=((-1.0, 0.9),))  # 19.4.2


elliprd = _row("elliprd", *[_no("its arguments")] * 3, domain=POSITIVE * 3)


def _delta(phi: Any, m: Any) -> Any:
    return np.sqrt(1.0 - m * np.sin(phi) ** 2)


def _over_sines(power: int) -> Any:
    """∫ sin²/Δ^power from 0 to φ by Carlson's R_D, which does not cancel (19.25.9, 19.25.13)."""
    def within(s: Any, c2: Any, m: Any) -> Any:
        delta2 = 1.0 - m * s * s
        arguments = (delta2, 1.0) if power == 1 else (1.0, delta2)
        return s ** 3 * elliprd(c2, *arguments) / 3.0

    def of(phi: Any, m: Any) -> Any:
        turns = np.rint(phi / math.pi)
        rest = phi - turns * math.pi
        return 2.0 * turns * within(1.0, 0.0, m) + within(np.sin(rest), np.cos(rest) ** 2, m)
    return of


def _real(call: Any) -> Any:
    def of(*args: Any) -> Any:
        if any(map(np.iscomplexobj, args)):
            raise TypeError("Incomplete elliptic integrals are those of real numbers.")
        return call(*args)
    return of


_M_TWICE = _no("the parameter m, for the second time,")      # what is known of it cancels
sines_over_delta: Op = elementwise(
    "sines_over_delta", _real(_over_sines(1)),
    lambda phi, m, out: np.sin(phi) ** 2 / _delta(phi, m),
    _M_TWICE, python="", expand=_over_sines(1), domain=((-1.0, 1.0), (-1.0, 0.9)))
sines_over_cube: Op = elementwise(
    "sines_over_cube", _real(_over_sines(3)),
    lambda phi, m, out: np.sin(phi) ** 2 / _delta(phi, m) ** 3, _M_TWICE,
    python="", expand=_over_sines(3), domain=((-1.0, 1.0), (-1.0, 0.9)))
ellipkinc: Op = _row("ellipkinc", lambda phi, m, out: 1.0 / _delta(phi, m),
                     lambda phi, m, out: 0.5 * sines_over_cube(phi, m),
                     domain=((-1.0, 1.0), (-1.0, 0.9)))
ellipeinc = _row("ellipeinc", lambda phi, m, out: _delta(phi, m),
                 lambda phi, m, out: -0.5 * sines_over_delta(phi, m),
                 domain=((-1.0, 1.0), (-1.0, 0.9)))
ellipkm1 = _row("ellipkm1", lambda p, out: -_ellipk_derivative(1.0 - p), domain=((0.1, 2.0),))
hyp0f1: Op = _row("hyp0f1", _SHAPE, lambda b, z, out: hyp0f1(b + 1.0, z) / b,
                  domain=((0.5, 3.0), (-2.0, 2.0)))
hyp1f1: Op = _row("hyp1f1", _SHAPE, _SHAPE,
                  lambda a, b, z, out: a / b * hyp1f1(a + 1.0, b + 1.0, z),
                  domain=POSITIVE * 2 + ((-2.0, 2.0),))
hyp2f1: Op = _row("hyp2f1", _SHAPE, _SHAPE, _SHAPE, lambda a, b, c, z, out: a * b / c * hyp2f1(
    a + 1.0, b + 1.0, c + 1.0, z), domain=POSITIVE * 3 + ((-0.6, 0.6),))

# -- elementary functions of SciPy ----------------------------------------------------------------

cosm1 = _row("cosm1", lambda x, out: -np.sin(x))
exp10 = _row("exp10", lambda x, out: out * math.log(10.0))
sindg = _row("sindg", lambda x, out: _DEGREE * cosdg(x))
cosdg: Op = _row("cosdg", lambda x, out: -_DEGREE * sindg(x))
tandg = _row("tandg", lambda x, out: _DEGREE * (1.0 + out * out), domain=((-60.0, 60.0),))
cotdg = _row("cotdg", lambda x, out: -_DEGREE * (1.0 + out * out), domain=((30.0, 150.0),))
radian = _row("radian", _DEGREE, _DEGREE / 60.0, _DEGREE / 3600.0)
round = piecewise_constant("special_round", special.round, python="special.round")
