"""Lambert's W function."""

from typing import Any

import numpy as np
import scipy.special as special

from ..arraytype import ArrayType
from .arithmetic import scale
from .row import General, Op, sample


def _jvp(args: Any, tangents: Any, out: Any, k: int, tol: float) -> Any:
    # W e^W = x gives W′ = e^{−W}/(1 + W), which is smooth at x = 0, unlike W/(x(1 + W)).
    (t,) = tangents
    return scale(t, np.exp(-out) / (1.0 + out))


def _type(x: ArrayType, k: int, tol: float) -> ArrayType:
    return ArrayType(x.shape, np.dtype(complex))


def _text(args: Any, params: Any, types: Any) -> str:
    branch = f", {params['k']}" if params["k"] else ""
    tol = f", tol={params['tol']!r}" if params["tol"] != 1e-8 else ""
    return f"special.lambertw({args[0]}{branch}{tol})"


def _batch(args: Any, batched: Any, k: int, tol: float) -> Any:
    return lambertw(args[0], k=k, tol=tol)


lambertw = Op("lambertw", lambda x, k, tol: special.lambertw(x, k, tol), _type, General(_jvp),
              params=("k", "tol"), python=_text, domain=((0.3, 3.0),), batch=_batch,
              samples=(sample((3,), k=0, tol=1e-8), sample((), k=-1, tol=1e-8)))
