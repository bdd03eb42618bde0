"""SciPy functions that are not ufuncs, have several results, or are NumPy's under another name."""

from typing import Any

import numpy as np
import scipy.special as scipy_special

from ...errors import UnsupportedArgumentError
from ...ops import bessel, special
from ...ops.lambertw import lambertw as lambertw_row
from ..locate import locate
from ..registry import stands_for
from .common import as_array


@stands_for(np.i0)
def i0(x: Any) -> Any:
    """Modified Bessel function of order zero."""
    return bessel.i0(as_array(x))


@stands_for(scipy_special.zeta)
def zeta(x: Any, q: Any = None, out: Any = None) -> Any:
    """Hurwitz zeta function."""
    if q is None:
        raise UnsupportedArgumentError("scipy.special.zeta of one traced argument is not "
                                       "supported.", "Use zeta(x, 1.0), for x > 1.", locate())
    return special.zeta(x, q)


@stands_for(scipy_special.polygamma)
def polygamma(n: Any, x: Any) -> Any:
    """The n-th derivative of digamma."""
    return special.polygamma(n, as_array(x))


@stands_for(scipy_special.lambertw)
def lambertw(z: Any, k: Any = 0, tol: float = 1e-8) -> Any:
    """Branch k of the inverse of w·exp(w); complex."""
    return lambertw_row(as_array(z), k=int(k), tol=tol)


@stands_for(scipy_special.sici)
def sici(x: Any, /) -> Any:
    """Sine and cosine integral."""
    return special.sine_integral(x), special.cosine_integral(x)


@stands_for(scipy_special.shichi)
def shichi(x: Any, /) -> Any:
    """Hyperbolic sine and cosine integral."""
    return special.sinh_integral(x), special.cosh_integral(x)


@stands_for(scipy_special.fresnel)
def fresnel(z: Any, /) -> Any:
    """Fresnel integrals."""
    return special.fresnel_s(z), special.fresnel_c(z)


# SciPy's own versions of NumPy's functions
for _ours, _original in ((np.expm1, scipy_special.expm1), (np.log1p, scipy_special.log1p),
                         (np.exp2, scipy_special.exp2), (np.cbrt, scipy_special.cbrt)):
    stands_for(_original)(_ours)
