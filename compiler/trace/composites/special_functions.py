"""Special functions that are Python functions in NumPy and SciPy, not ufuncs."""

from typing import Any

import numpy as np
import scipy.special as special

from ...errors import UnsupportedArgumentError
from ...ops import lambertw as lambert
from ...ops import special as rows
from ..locate import locate
from ..registry import stands_for
from .common import as_array, floating


@stands_for(special.lambertw)
def lambertw(z: Any, k: int = 0, tol: float = 1e-8) -> Any:
    """Lambert's W: the solution w of w·exp(w) = z on a branch."""
    return lambert.lambertw(as_array(z), k=int(k), tol=float(tol))


@stands_for(np.i0)
def i0(x: Any) -> Any:
    """Modified Bessel function of the first kind, order 0."""
    return special.i0(floating(x))


@stands_for(special.zeta)
def zeta(x: Any, q: Any = None, out: Any = None) -> Any:
    """Hurwitz zeta function."""
    if q is None:
        raise UnsupportedArgumentError("scipy.special.zeta of one traced argument is not "
                                       "supported.", "Use zeta(x, 1.0), for x > 1.", locate())
    return rows.zeta(x, q)


@stands_for(special.polygamma)
def polygamma(n: Any, x: Any) -> Any:
    """The n-th derivative of digamma."""
    return rows.polygamma(n, as_array(x))


@stands_for(special.multigammaln)
def multigammaln(a: Any, d: int) -> Any:
    """Logarithm of the gamma function of dimension d, for a > (d − 1)/2."""
    d = int(d)
    a = floating(a)
    if not np.all(a > 0.5 * (d - 1)):
        raise ValueError(f"condition a ({a}) > 0.5 * (d-1) ({0.5 * (d - 1)}) not met")
    return sum((special.gammaln(a - 0.5 * j) for j in range(1, d)),
               special.gammaln(a) + d * (d - 1) * 0.25 * np.log(np.pi))


@stands_for(special.sici)
def sici(x: Any, /) -> Any:
    """Sine and cosine integral."""
    return rows.sine_integral(x), rows.cosine_integral(x)


@stands_for(special.shichi)
def shichi(x: Any, /) -> Any:
    """Hyperbolic sine and cosine integral."""
    return rows.sinh_integral(x), rows.cosh_integral(x)


@stands_for(special.fresnel)
def fresnel(z: Any, /) -> Any:
    """Fresnel integrals."""
    return rows.fresnel_s(z), rows.fresnel_c(z)


# SciPy's own versions of NumPy's functions
for _ours, _original in ((np.expm1, special.expm1), (np.log1p, special.log1p),
                         (np.exp2, special.exp2), (np.cbrt, special.cbrt)):
    stands_for(_original)(_ours)
