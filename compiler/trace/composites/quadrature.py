"""``scipy.integrate.quad``: QUADPACK chooses the subdivision, the trace sums over it.

The integrand is first integrated on plain values. The subdivision found there becomes static;
the traced result is the sum of Gauss-Kronrod rules over it, with the integrand traced at every
node, and the error estimate of QUADPACK becomes a guard: arguments for which the subdivision is
too coarse lead to a new trace with one of their own. (Piessens, de Doncker-Kapenga, Überhuber,
Kahaner: "QUADPACK", 1983.)
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import scipy  # loads its submodules when they are first used

from ...errors import LOSSES, NotDifferentiableError
from ..locate import locate
from ..registry import stands_for_late
from ..tracer import Tracer
from .common import as_array, call_user, refuse
from .creation import current_builder


class Rule(NamedTuple):
    """Nodes on [−1, 1], Kronrod weights, and Gauss weights (0 at the nodes Kronrod added)."""

    nodes: Any
    kronrod: Any
    gauss: Any


def _rule(nodes: list[float], kronrod: list[float], gauss: list[float]) -> Rule:
    """The whole rule from its non-negative half, largest node first."""
    spread = [0.0] * len(nodes)
    spread[1::2] = gauss
    return Rule(np.array([-x for x in nodes] + nodes[-2::-1]),
                np.array(kronrod + kronrod[-2::-1]), np.array(spread + spread[-2::-1]))


_G10_K21 = _rule(
    [0.9956571630258081, 0.9739065285171717, 0.9301574913557082, 0.8650633666889845,
     0.7808177265864169, 0.6794095682990244, 0.5627571346686047, 0.4333953941292472,
     0.2943928627014602, 0.14887433898163122, 0.0],
    [0.011694638867371874, 0.032558162307964725, 0.054755896574351995, 0.07503967481091996,
     0.0931254545836976, 0.10938715880229764, 0.12349197626206584, 0.13470921731147334,
     0.14277593857706009, 0.1477391049013385, 0.1494455540029169],
    [0.06667134430868814, 0.1494513491505806, 0.21908636251598204, 0.26926671930999635,
     0.29552422471475287])
_G7_K15 = _rule(
    [0.9914553711208126, 0.9491079123427585, 0.8648644233597691, 0.7415311855993945,
     0.5860872354676911, 0.4058451513773972, 0.20778495500789848, 0.0],
    [0.022935322010529224, 0.06309209262997856, 0.10479001032225019, 0.14065325971552592,
     0.1690047266392679, 0.19035057806478542, 0.20443294007529889, 0.20948214108472782],
    [0.1294849661688697, 0.27970539148927664, 0.3818300505051189, 0.4179591836734694])


def _is_traced(value: Any) -> bool:
    return isinstance(value, Tracer) and not value.builder.is_constant(value.node)


def _plain(value: Any) -> Any:
    return value.builder.concrete(value.node) if isinstance(value, Tracer) else value


@contextmanager
def _unrecorded(builder: Any) -> Iterator[None]:
    """What is decided meanwhile is not recorded; the nodes are dead and will be removed."""
    n_guards, decided = len(builder.guards), set(builder.decided)
    try:
        yield
    finally:
        del builder.guards[n_guards:]
        builder.decided = decided


@stands_for_late("scipy.integrate", "quad", creates=True)
def quad(func: Callable[..., Any], a: Any, b: Any, args: Any = (), full_output: Any = 0,
         epsabs: float = 1.49e-8, epsrel: float = 1.49e-8, limit: int = 50, points: Any = None,
         weight: Any = None, wvar: Any = None, wopts: Any = None, maxp1: int = 50,
         limlst: int = 50, complex_func: bool = False) -> Any:
    """Integral of a function of one variable, and an estimate of its error."""
    args = args if isinstance(args, tuple) else (args,)
    builder = current_builder()
    traced = any(map(_is_traced, (a, b, *args)))

    def on_values(x: float, *rest: Any) -> Any:
        nonlocal traced
        value = call_user(func, x, *rest)
        traced = traced or _is_traced(value)
        return _plain(value)
    low, high = float(_plain(a)), float(_plain(b))
    with _unrecorded(builder):
        integrate: Any = scipy.integrate.quad
        answer = integrate(
            on_values, low, high, tuple(map(_plain, args)), 1, epsabs, epsrel, limit, points,
            weight, wvar, wopts, maxp1, limlst, complex_func)
    if not traced:
        if full_output:
            return answer
        _warn(answer)
        return answer[:2]
    refuse("quad", weight=(weight, None), complex_func=(complex_func, False),
           full_output=(full_output, 0))
    _warn(answer)
    return _sum(func, a, b, args, (low, high), answer, max(epsabs, epsrel * abs(answer[0])))


def _warn(answer: Any) -> None:
    if len(answer) > 3:
        warnings.warn(answer[3], scipy.integrate.IntegrationWarning, stacklevel=4)


def _sum(func: Any, a: Any, b: Any, args: Any, limits: tuple[float, float], answer: Any,
         tolerance: float) -> Any:
    """The traced sum that agrees with QUADPACK's answer, guarded by its error estimate."""
    value, error, info = answer[:3]
    n = info["last"]
    order = np.argsort(info["alist"][:n])
    left, right = info["alist"][order], info["blist"][order]
    low, high = limits
    sums: list[Callable[[], tuple[Any, Any]]]
    if not np.all(np.isfinite(limits)):
        sums = [lambda: _over_infinite(func, a, b, limits, args, left, right)]
    else:                       # as shares of the interval, which moves with its limits
        left, right = ((left - low) / (high - low), (right - low) / (high - low)) \
            if low != high else (np.zeros(1), np.ones(1))
        sums = [lambda: _over_pieces(func, a, b, args, left, right)]
        singular_end = min(right[0], 1.0 - left[-1]) < 0.01
        by_ends = [lambda h=h: _towards_ends(func, a, b, args, limits, h)
                   for h in (0.125, 0.0625, 0.03125)]
        sums = [*by_ends, *sums] if singular_end else [*sums, *by_ends]
    found = None
    for attempt in sums:
        total, estimate = attempt()
        found = float(_plain(total))
        if abs(found - value) <= max(10.0 * error, 1e-13 * abs(value)):
            break
    else:
        raise NotDifferentiableError(
            f"The integral is {value!r}, but the sum over its subdivision {found!r}: the "
            "integrand is singular.", "Substitute a variable that makes the integrand smooth.",
            locate())
    allowed = max(tolerance, 10.0 * float(_plain(estimate)))
    if not estimate <= allowed:
        raise AssertionError("the estimate was just computed")
    return total, estimate


def _over_pieces(func: Any, a: Any, b: Any, args: Any, left: Any, right: Any) -> tuple[Any, Any]:
    """Gauss and Kronrod on each piece of a finite interval; pieces are shares of it."""
    places = (0.5 * (left + right))[:, None] + (0.5 * (right - left))[:, None] * _G10_K21.nodes
    half = 0.5 * (right - left) * (b - a)
    values = np.reshape(_at(func, a + (b - a) * places.ravel(), args), places.shape)
    return np.sum(values @ _G10_K21.kronrod * half), np.sum(_error(values, half, _G10_K21))


def _over_infinite(func: Any, a: Any, b: Any, limits: tuple[float, float], args: Any, left: Any,
                   right: Any) -> tuple[Any, Any]:
    """Gauss and Kronrod on each piece of (0, 1], to which QUADPACK maps an infinite interval."""
    half = 0.5 * (right - left)
    places = (0.5 * (left + right))[:, None] + half[:, None] * _G7_K15.nodes
    values = np.reshape(_on_infinite(func, a, b, limits, places.ravel(), args), places.shape)
    return np.sum(values @ _G7_K15.kronrod * half), np.sum(_error(values, half, _G7_K15))


def _towards_ends(func: Any, a: Any, b: Any, args: Any, limits: tuple[float, float], h: float
                  ) -> tuple[Any, Any]:
    """The double exponential rule, whose nodes crowd at the ends of a finite interval.

    It is accurate although the integrand, or its derivative, is singular there. (Takahasi and
    Mori: "Double exponential formulas for numerical integration", 1974.)
    """
    low, high = limits
    nearest = max(1e-15, 8.0 * np.finfo(float).eps * max(abs(low), abs(high)) / abs(high - low))
    n = int(np.arcsinh(np.log(1.0 / nearest) / np.pi) / h) // 2 * 2
    t = h * np.arange(-n, n + 1)
    share = 1.0 / (1.0 + np.exp(np.pi * np.sinh(np.abs(t))))      # distance from the nearer end
    weights = h * np.pi * np.cosh(t) * share * (1.0 - share)
    length = b - a
    x = np.concatenate([a + length * share[:n + 1], b - length * share[n + 1:]])
    terms = _at(func, x, args) * weights
    total = length * np.sum(terms)
    return total, np.abs(total - 2.0 * length * np.sum(terms[::2]))


def _at(func: Any, x: Any, args: Any) -> Any:
    """The integrand at all points: by one call if that gives what single calls give."""
    builder = current_builder()
    with _unrecorded(builder):
        expected = [float(_plain(call_user(func, float(v), *map(_plain, args))))
                    for v in _plain(x)]
    n_guards, decided, n_losses = len(builder.guards), set(builder.decided), len(LOSSES.errors)
    try:
        values = as_array(call_user(func, x, *args))
        if values.shape == x.shape and np.allclose(_plain(values), expected, 1e-13, 0.0):
            return values
    except Exception:              # an integrand for single numbers may raise anything here;
        pass                       # a fault of its own is raised again by the calls below
    del builder.guards[n_guards:], LOSSES.errors[n_losses:]
    builder.decided = decided
    return np.array([call_user(func, v, *args)
                     for v in (x if isinstance(x, Tracer) else x.tolist())])


def _on_infinite(func: Any, a: Any, b: Any, limits: tuple[float, float], t: Any, args: Any) -> Any:
    """The integrand at (1 − t)/t from the finite limit (or on both sides of 0), times dx/dt."""
    low, high = limits
    distance = (1.0 - t) / t
    if np.isinf(low) and np.isinf(high):
        values = _at(func, distance, args) + _at(func, -distance, args)
    elif np.isinf(max(limits)):
        values = _at(func, (a if low < high else b) + distance, args)
    else:
        values = _at(func, (b if low < high else a) - distance, args)
    return values * ((1.0 if low <= high else -1.0) / t ** 2)


def _error(values: Any, half: Any, rule: Rule) -> Any:
    """QUADPACK's estimate of the error on each interval."""
    half = np.abs(half)
    kronrod = values @ rule.kronrod
    difference = np.abs(kronrod - values @ rule.gauss) * half
    spread = np.abs(values - 0.5 * kronrod[:, None]) @ rule.kronrod * half
    safe = np.where(spread == 0, 1.0, spread)
    scaled = spread * np.minimum(1.0, (200.0 * difference / safe) ** 1.5)
    rounding = 50.0 * np.finfo(float).eps * (np.abs(values) @ rule.kronrod * half)
    return np.maximum(np.where(spread == 0, difference, scaled), rounding)


@stands_for_late("scipy.integrate", "dblquad", creates=True)
def dblquad(func: Callable[..., Any], a: Any, b: Any, gfun: Any, hfun: Any, args: Any = (),
            epsabs: float = 1.49e-8, epsrel: float = 1.49e-8) -> Any:
    """Integral of a function of two variables: an integral of integrals."""
    def limit(bound: Any, x: Any) -> Any:
        return call_user(bound, x) if callable(bound) else bound

    def inner(x: Any, *rest: Any) -> Any:
        return quad(func, limit(gfun, x), limit(hfun, x), (x, *rest), epsabs=epsabs,
                    epsrel=epsrel)[0]
    return quad(inner, a, b, args, epsabs=epsabs, epsrel=epsrel)
