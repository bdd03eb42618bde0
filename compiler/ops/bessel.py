"""Bessel functions (DLMF chapter 10): derivatives with respect to the argument, not the order."""

from typing import Any

import numpy as np
import scipy.special as special

from ..errors import NotDifferentiableError
from .row import DerivativeNotImplemented, Op, elementwise

_ORDER = DerivativeNotImplemented("The derivative with respect to the order of a Bessel function "
                                  "has no simple form.")
POSITIVE = ((0.3, 3.0),)


def _row(name: str, *partials: Any, **fields: Any) -> Op:
    return elementwise(name, getattr(special, name), *partials, python=f"special.{name}", **fields)


def _of_order(name: str, partial: Any) -> Op:
    return _row(name, _ORDER, partial, domain=((0.5, 2.5), (0.3, 3.0)))


def _sign(x: Any) -> Any:
    """Sign of the argument in the factor exp(−|Re x|)."""
    if x.dtype.kind == "c":
        raise NotDifferentiableError("A Bessel function scaled by exp(-|Re x|) has no complex "
                                     "derivative.", "Use scipy.special.iv.")
    return np.sign(x)


# The sum and difference of both neighbours (10.6.1, 10.29.1) is regular at 0.
jv: Op = _of_order("jv", lambda v, x, out: 0.5 * (jv(v - 1, x) - jv(v + 1, x)))
yv: Op = _of_order("yv", lambda v, x, out: 0.5 * (yv(v - 1, x) - yv(v + 1, x)))
iv: Op = _of_order("iv", lambda v, x, out: 0.5 * (iv(v - 1, x) + iv(v + 1, x)))
kv: Op = _of_order("kv", lambda v, x, out: -0.5 * (kv(v - 1, x) + kv(v + 1, x)))
ive: Op = _of_order("ive", lambda v, x, out: 0.5 * (ive(v - 1, x) + ive(v + 1, x)) - _sign(x) * out)
kve: Op = _of_order("kve", lambda v, x, out: out - 0.5 * (kve(v - 1, x) + kve(v + 1, x)))
# SciPy cuts these orders off to whole numbers.
yn = _row("yn", _ORDER, lambda n, x, out: 0.5 * (yv(np.trunc(n) - 1, x) - yv(np.trunc(n) + 1, x)),
          domain=((0, 3), (0.3, 3.0)))
kn = _row("kn", _ORDER, lambda n, x, out: -0.5 * (kv(np.trunc(n) - 1, x) + kv(np.trunc(n) + 1, x)),
          domain=((0, 3), (0.3, 3.0)))

j0 = _row("j0", lambda x, out: -j1(x))
j1: Op = _row("j1", lambda x, out: 0.5 * (j0(x) - jv(2, x)))
y0 = _row("y0", lambda x, out: -y1(x), domain=POSITIVE)
y1: Op = _row("y1", lambda x, out: y0(x) - out / x, domain=POSITIVE)
i0 = _row("i0", lambda x, out: i1(x))
i1: Op = _row("i1", lambda x, out: 0.5 * (i0(x) + iv(2, x)))
i0e = _row("i0e", lambda x, out: i1e(x) - _sign(x) * out)
i1e: Op = _row("i1e", lambda x, out: 0.5 * (i0e(x) + ive(2, x)) - _sign(x) * out)
k0 = _row("k0", lambda x, out: -k1(x), domain=POSITIVE)
k1: Op = _row("k1", lambda x, out: -k0(x) - out / x, domain=POSITIVE)
k0e = _row("k0e", lambda x, out: out - k1e(x), domain=POSITIVE)
k1e: Op = _row("k1e", lambda x, out: out - k0e(x) - out / x, domain=POSITIVE)
