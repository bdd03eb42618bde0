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


def _far(v: Any, x: Any, out: Any) -> Any:
    """Partial of eˣ K_v(x), and at −x of e⁻ˣ I_v(x), for large x; it does not cancel.

    The logarithmic derivative is (h − ½)/x with the continued fraction h of Temme, J. Comput.
    Phys. 19, 1975; of I up to e⁻²ˣ.
    """
    h: Any = 0.0
    for n in range(11, 0, -1):
        h = ((n - 0.5) * (n - 0.5) - v * v) / (2.0 * (x + n) - h)
    return out * (h - 0.5) / x


def _scaled(near: Any, sign: float) -> Any:
    """The partial of a scaled function, by ``near`` but for large x."""
    def partial(v: Any, x: Any, out: Any) -> Any:
        _sign(x)
        is_far = np.abs(x) > 25.0 + v * v
        far = np.where(is_far, sign * np.abs(x), sign * 25.0)
        return np.where(is_far, sign * np.sign(x) * _far(v, far, out), near(v, x, out))
    return partial


def _scaled_of(order: int, near: Any, sign: float) -> Any:
    partial = _scaled(lambda v, x, out: near(x, out), sign)
    return lambda x, out: partial(float(order), x, out)


# The sum and difference of both neighbours (10.6.1, 10.29.1) is regular at 0.
jv: Op = _of_order("jv", lambda v, x, out: 0.5 * (jv(v - 1, x) - jv(v + 1, x)))
yv: Op = _of_order("yv", lambda v, x, out: 0.5 * (yv(v - 1, x) - yv(v + 1, x)))
iv: Op = _of_order("iv", lambda v, x, out: 0.5 * (iv(v - 1, x) + iv(v + 1, x)))
kv: Op = _of_order("kv", lambda v, x, out: -0.5 * (kv(v - 1, x) + kv(v + 1, x)))
ive: Op = _of_order("ive", _scaled(
    lambda v, x, out: 0.5 * (ive(v - 1, x) + ive(v + 1, x)) - _sign(x) * out, -1.0))
kve: Op = _of_order("kve", _scaled(
    lambda v, x, out: out - 0.5 * (kve(v - 1, x) + kve(v + 1, x)), 1.0))
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
i0e = _row("i0e", _scaled_of(0, lambda x, out: i1e(x) - _sign(x) * out, -1.0))
i1e: Op = _row("i1e", _scaled_of(
    1, lambda x, out: 0.5 * (i0e(x) + ive(2, x)) - _sign(x) * out, -1.0))
k0 = _row("k0", lambda x, out: -k1(x), domain=POSITIVE)
k1: Op = _row("k1", lambda x, out: -k0(x) - out / x, domain=POSITIVE)
k0e = _row("k0e", _scaled_of(0, lambda x, out: out - k1e(x), 1.0), domain=POSITIVE)
k1e: Op = _row("k1e", _scaled_of(1, lambda x, out: out - k0e(x) - out / x, 1.0), domain=POSITIVE)
