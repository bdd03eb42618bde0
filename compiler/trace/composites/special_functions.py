"""Special functions that are Python functions in NumPy and SciPy, not ufuncs."""

from typing import Any

import numpy as np
import scipy.special as special

from ...ops import lambertw as lambert
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
