"""Derivatives of special functions where formulas cancel, overflow or are 0/0."""

import math

import mpmath
import numpy as np
import pytest
import scipy.special as special
import wengert as wg
from wengert.compiler.errors import NotDifferentiableError


def _slopes(function, *args):
    """Partial derivatives by both modes, which must agree."""
    argnums = tuple(range(len(args)))
    with np.errstate(all="ignore"):
        reverse = wg.grad(function, argnums)(*args)
        forward = wg.grad(function, argnums, mode="forward")(*args)
    np.testing.assert_allclose(forward, reverse, rtol=1e-14)
    return reverse


POINTS = [
    (special.xlogy, (0.0, 2.0), (math.log(2), 0.0)),
    (lambda y: special.xlogy(0.0, y), (0.0,), (0.0,)),
    (special.xlog1py, (0.0, 1.0), (math.log(2), 0.0)),
    (special.xlog1py, (2.0, 1e-300), (1e-300, 2.0)),
    (special.rel_entr, (2.0, 3.0), (math.log(2 / 3) + 1, -2 / 3)),
    (lambda y: special.rel_entr(0.0, y), (3.0,), (0.0,)),
    (lambda y: special.rel_entr(0.0, y), (0.0,), (0.0,)),
    (lambda y: special.kl_div(0.0, y), (0.0,), (1.0,)),
    (lambda x: special.polygamma(0, x), (-16.5,), (9.810797812993576,)),
    (lambda x: special.polygamma(1, x), (0.5,), (-14 * 1.2020569031595942,)),
    (special.gammaln, (-0.5,), (0.03648997397857652,)),
    (special.gamma, (5.0,), (24 * 1.5061176684318003,)),
    (special.rgamma, (0.0,), (1.0,)), (special.rgamma, (-1.0,), (-1.0,)),
    (special.rgamma, (-4.0,), (24.0,)),
    (special.logit, (1e-300,), (1e300,)), (special.logit, (1 - 2.0 ** -53,), (2.0 ** 53,)),
    (special.expit, (-745.0,), (math.exp(-745.0),)), (special.expit, (800.0,), (0.0,)),
    (special.log_expit, (-1e3,), (1.0,)), (special.log_expit, (1e3,), (0.0,)),
    (special.erfcx, (1e8,), (-1e-16 / math.sqrt(math.pi),)),
    (special.erfcx, (24.999,), (-0.0009006173394365072,)),
    (special.erfcx, (25.001,), (-0.0009004735960499475,)),
    (special.erfcx, (0.0,), (-2 / math.sqrt(math.pi),)),
    (special.dawsn, (1e8,), (-0.5e-16,)), (special.dawsn, (-1e8,), (-0.5e-16,)),
    (special.log_ndtr, (-1e4,), (10000.0001,)), (special.log_ndtr, (1e3,), (0.0,)),
    (special.boxcox, (2.0, 0.0), (0.5, math.log(2) ** 2 / 2)),
    (special.boxcox, (2.0, 1e-14), (0.5, math.log(2) ** 2 / 2)),
    (special.boxcox1p, (1.0, 0.0), (0.5, math.log(2) ** 2 / 2)),
    (special.inv_boxcox, (2.0, 0.0), (math.exp(2), -2 * math.exp(2))),
    (special.exprel, (0.0,), (0.5,)), (special.exprel, (1e-9,), (0.5 + 1e-9 / 3,)),
    (special.spence, (1.0,), (-1.0,)),
    (lambda x: special.sici(x)[0], (0.0,), (1.0,)),
    (lambda x: special.shichi(x)[0], (0.0,), (1.0,)),
    (special.j1, (0.0,), (0.5,)), (special.i1, (0.0,), (0.5,)), (special.i1e, (0.0,), (0.5,)),
    (special.ellipk, (0.0,), (math.pi / 8,)), (special.ellipe, (0.0,), (-math.pi / 8,)),
    (lambda x: special.expn(0, x), (2.0,), (-math.exp(-2.0) * 0.75,)),
    (special.pseudo_huber, (1.0, 1e-6), (2.5e-25, 1e-6)),
    (special.huber, (1.0, 3.0), (2.0, 1.0)),
    (special.powm1, (0.0, 2.0), (0.0, 0.0)),
    (np.i0, (0.0,), (0.0,)), (special.cosm1, (1e-9,), (-1e-9,)),
]


INCOMPLETE = [(phi, m) for phi in (1e-8, 0.3, math.pi / 2 - 1e-3, 2.0, -2.5, 20.0)
              for m in (0.0, 1e-12, -1e-5, 0.5, -30.0, 0.99)]


@pytest.mark.parametrize(("name", "exact"), [("ellipkinc", mpmath.ellipf),
                                             ("ellipeinc", mpmath.ellipe)])
def test_elliptic_integrals_by_their_parameter(name, exact):
    function = getattr(special, name)
    slope = wg.jvp(lambda m, phi: function(phi, m))
    phis, ms = map(np.array, zip(*INCOMPLETE, strict=True))
    _, found = slope(ms, phis, np.ones(len(ms)))
    with mpmath.workdps(40):
        wanted = [float(mpmath.diff(lambda m, phi=phi: exact(mpmath.mpf(phi), m), mpmath.mpf(m)))
                  for phi, m in INCOMPLETE]
    np.testing.assert_allclose(found, wanted, rtol=2e-14)


@pytest.mark.parametrize(("name", "exact"), [
    ("i0e", lambda x: mpmath.besseli(0, x) * mpmath.exp(-x)),
    ("i1e", lambda x: mpmath.besseli(1, x) * mpmath.exp(-x)),
    ("k0e", lambda x: mpmath.besselk(0, x) * mpmath.exp(x)),
    ("k1e", lambda x: mpmath.besselk(1, x) * mpmath.exp(x)),
    ("ive", lambda x: mpmath.besseli(2.5, x) * mpmath.exp(-x)),
    ("kve", lambda x: mpmath.besselk(2.5, x) * mpmath.exp(x))])
def test_scaled_bessel_functions_far_out(name, exact):
    function = getattr(special, name)
    order = (2.5,) if name in ("ive", "kve") else ()
    gradient = wg.grad(lambda x: function(*order, x))
    for x in (25.5, 32.0, 60.0, 1e3):
        with mpmath.workdps(40):
            wanted = float(mpmath.diff(exact, mpmath.mpf(x)))
        assert gradient(x) == pytest.approx(wanted, rel=1e-15 if x > 32 else 1e-13)
    assert order or gradient(1e300) == 0.0                  # SciPy's ive(1e300) is NaN


@pytest.mark.parametrize(("function", "args", "slopes"), POINTS)
def test_derivative_at_a_hard_point(function, args, slopes):
    np.testing.assert_allclose(_slopes(function, *args), slopes, rtol=2e-12, atol=1e-300)


@pytest.mark.parametrize(("function", "x", "second"), [
    (special.exprel, 0.0, 1 / 3), (special.spence, 1.0, 0.5), (special.erfcx, 0.0, 2.0),
    (lambda x: special.shichi(x)[0], 1e-9, 1e-9 / 3), (special.ellipk, 0.0, 9 * math.pi / 64),
    (special.rgamma, 0.0, 2 * 0.5772156649015329), (special.erfcx, 1e8, 2e-24 / math.sqrt(math.pi)),
    (lambda p: special.boxcox(2.0, p), 0.0, math.log(2) ** 3 / 3),
])
def test_second_derivative_at_a_hard_point(function, x, second):
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(wg.hessian(function)(x), second, rtol=1e-10)


def test_second_derivatives_of_elliptic_integrals():
    for function in (special.ellipkinc, special.ellipeinc):
        hessian = wg.hessian(lambda phi, function=function: function(phi, 0.3))(0.7)
        step = [wg.grad(lambda phi, function=function: function(phi, 0.3))(0.7 + h)
                for h in (1e-5, -1e-5)]
        assert hessian == pytest.approx((step[0] - step[1]) / 2e-5, rel=1e-8)
        with pytest.raises(NotDifferentiableError, match="second time"):
            wg.hessian(lambda m, function=function: function(0.7, m))(0.3)


@pytest.mark.parametrize("function", [
    lambda a: special.gammainc(a, 1.5), lambda a: special.betainc(a, 1.0, 0.5),
    lambda v: special.jv(v, 1.5), lambda s: special.zeta(s, 1.5),
    lambda a: special.hyp1f1(1.0, a, 0.5)])
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_an_operand_without_a_rule_is_refused_by_name(function, mode):
    with pytest.raises(NotDifferentiableError, match="not implemented: The derivative with resp"):
        wg.grad(function, mode=mode)(2.5)
