"""Derivatives of special functions where formulas cancel, overflow or are 0/0."""

import math

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


@pytest.mark.parametrize("function", [
    lambda a: special.gammainc(a, 1.5), lambda a: special.betainc(a, 1.0, 0.5),
    lambda v: special.jv(v, 1.5), lambda s: special.zeta(s, 1.5),
    lambda a: special.hyp1f1(1.0, a, 0.5)])
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_an_operand_without_a_rule_is_refused_by_name(function, mode):
    with pytest.raises(NotDifferentiableError, match="not implemented: The derivative with resp"):
        wg.grad(function, mode=mode)(2.5)
