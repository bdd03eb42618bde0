"""How accurate the derivative of every elementwise function is, against mpmath.

Inputs span 1e-300 to 1e300 in magnitude, the neighbourhood of domain edges and moderate numbers.
An error is counted in units in the last place (ulp) of the exact derivative, beyond what one ulp
of the input changes in it: no formula can do better than that on a rounded input. Results below the
smallest normal number may be flushed to zero. Some derivatives are computed from the function's
value on purpose, such as 1 − tanh²; they are measured against what one ulp of that value changes
(marked ``value``).

Run ``python benchmarks/accuracy.py [inputs a row] [row ...]``; it prints one line a row and exits
with 1 if any row is worse than 8 ulp.
"""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
import scipy.special as special
import wengert as wg
from mpmath import mp, mpf

LIMIT = 8.0
EPSILON = mpf(2) ** -52
DIGITS = 60
SMALLEST_NORMAL = mpf(2) ** -1022


@dataclass(frozen=True)
class Row:
    """A function, its exact partial derivatives and where its operands live.

    ``domains`` are ``all``, ``positive``, ``unit`` (−1 to 1), ``probability`` (0 to 1),
    ``above_one``, ``moderate`` (up to some hundreds) or ``tail`` (up to 30).
    """

    name: str
    function: Callable[..., Any]
    exact: tuple[Callable[..., Any], ...]
    domains: tuple[str, ...] = ("all",)
    slow: bool = False
    allowed: Callable[..., Any] | None = None     # what an ulp of the function's value changes


def cosine_integral_slope(x: Any) -> Any:
    """Derivative of sin(πx)/(πx)."""
    if abs(x) < mpf(10) ** -20:
        return -mp.pi ** 2 * x / 3
    return mp.cos(mp.pi * x) / x - mp.sin(mp.pi * x) / (mp.pi * x * x)


def logistic(x: Any) -> Any:
    """1/(1 + e⁻ˣ) without overflow."""
    return 1 / (1 + mp.exp(-x)) if x > 0 else mp.exp(x) / (1 + mp.exp(x))


def exp_(x: Any) -> Any:
    """Exponential, zero far below the smallest number."""
    return mp.exp(x) if x > -1e6 else mpf(0)


def square_of_sech(x: Any) -> Any:
    """1/cosh²."""
    return 4 * exp_(-2 * abs(x)) / (1 + exp_(-2 * abs(x))) ** 2


def scaled_erfc(x: Any) -> Any:
    """exp(x²)·erfc(x)."""
    return mp.exp(x * x) * mp.erfc(x) if x < 1e3 else 1 / (x * mp.sqrt(mp.pi)) * (
        1 - 1 / (2 * x * x) + 3 / (4 * x ** 4) - 15 / (8 * x ** 6))


def density(x: Any) -> Any:
    """Of the normal distribution."""
    return exp_(-x * x / 2) / mp.sqrt(2 * mp.pi)


def first(power: int, x: Any, y: Any) -> Any:
    """Partials of arctan2 and hypot: x/(x² + y²)**(power/2)."""
    return x / mp.sqrt(x * x + y * y) ** power


def exponent_rounding(x: Any, y: Any) -> Any:
    """What rounding the exponent y − 1 changes in y·x**(y−1)."""
    return abs(y * x ** (y - 1) * mp.log(x)) * (abs(y) + 1)


ROWS = (
    Row("exp", np.exp, (mp.exp,), ("moderate",)),
    Row("exp2", np.exp2, (lambda x: mp.ln(2) * mpf(2) ** x,), ("moderate",)),
    Row("expm1", np.expm1, (mp.exp,), ("moderate",)),
    Row("log", np.log, (lambda x: 1 / x,), ("positive",)),
    Row("log2", np.log2, (lambda x: 1 / (x * mp.ln(2)),), ("positive",)),
    Row("log10", np.log10, (lambda x: 1 / (x * mp.ln(10)),), ("positive",)),
    Row("log1p", np.log1p, (lambda x: 1 / (1 + x),), ("above_minus_one",)),
    Row("sqrt", np.sqrt, (lambda x: 1 / (2 * mp.sqrt(x)),), ("positive",)),
    Row("cbrt", np.cbrt, (lambda x: 1 / (3 * mp.cbrt(abs(x)) ** 2),)),
    Row("square", np.square, (lambda x: 2 * x,)),
    Row("reciprocal", np.reciprocal, (lambda x: -1 / (x * x),)),
    Row("sin", np.sin, (mp.cos,)),
    Row("cos", np.cos, (lambda x: -mp.sin(x),)),
    Row("tan", np.tan, (lambda x: 1 / mp.cos(x) ** 2,)),
    Row("arcsin", np.arcsin, (lambda x: 1 / mp.sqrt(1 - x * x),), ("unit",)),
    Row("arccos", np.arccos, (lambda x: -1 / mp.sqrt(1 - x * x),), ("unit",)),
    Row("arctan", np.arctan, (lambda x: 1 / (1 + x * x),)),
    Row("sinh", np.sinh, (mp.cosh,), ("moderate",)),
    Row("cosh", np.cosh, (mp.sinh,), ("moderate",)),
    Row("tanh", np.tanh, (square_of_sech,), allowed=lambda x: 2 * mp.tanh(x) ** 2),
    Row("arcsinh", np.arcsinh, (lambda x: 1 / mp.sqrt(1 + x * x),)),
    Row("arccosh", np.arccosh, (lambda x: 1 / mp.sqrt((x - 1) * (x + 1)),), ("above_one",)),
    Row("arctanh", np.arctanh, (lambda x: 1 / ((1 - x) * (1 + x)),), ("unit",)),
    Row("deg2rad", np.deg2rad, (lambda x: mp.pi / 180,)),
    Row("rad2deg", np.rad2deg, (lambda x: 180 / mp.pi,)),
    Row("sinc", np.sinc, (cosine_integral_slope,), ("angle",)),
    Row("absolute", np.abs, (mp.sign,)),
    Row("expit", special.expit, (lambda x: logistic(x) * logistic(-x),), ("moderate",)),
    Row("log_expit", special.log_expit, (lambda x: logistic(-x),), ("moderate",)),
    Row("logit", special.logit, (lambda x: 1 / (x * (1 - x)),), ("probability",)),
    Row("divide", np.divide, (lambda x, y: 1 / y, lambda x, y: -x / (y * y)), ("all", "all")),
    Row("power", np.power, (lambda x, y: y * x ** (y - 1), lambda x, y: x ** y * mp.log(x)),
        ("positive", "tail"), allowed=exponent_rounding),
    Row("float_power", np.float_power,
        (lambda x, y: y * x ** (y - 1), lambda x, y: x ** y * mp.log(x)), ("positive", "tail"),
        allowed=exponent_rounding),
    Row("arctan2", np.arctan2, (lambda y, x: first(2, x, y), lambda y, x: -first(2, y, x)),
        ("all", "all")),
    Row("hypot", np.hypot, (lambda x, y: first(1, x, y), lambda x, y: first(1, y, x)),
        ("all", "all")),
    Row("logaddexp", np.logaddexp, (lambda x, y: logistic(x - y), lambda x, y: logistic(y - x)),
        ("moderate", "moderate")),
    Row("logaddexp2", np.logaddexp2,
        (lambda x, y: logistic((x - y) * mp.ln(2)), lambda x, y: logistic((y - x) * mp.ln(2))),
        ("moderate", "moderate")),
    Row("sigmoid", lambda x: 1 / (1 + np.exp(-x)), (lambda x: logistic(x) * logistic(-x),),
        ("moderate",)),
    Row("softplus", lambda x: np.log(1 + np.exp(x)), (logistic,), ("moderate",)),
    Row("erf", special.erf, (lambda x: 2 / mp.sqrt(mp.pi) * exp_(-x * x),), ("tail",)),
    Row("erfc", special.erfc, (lambda x: -2 / mp.sqrt(mp.pi) * exp_(-x * x),), ("tail",)),
    Row("erfcx", special.erfcx, (lambda x: 2 * x * scaled_erfc(x) - 2 / mp.sqrt(mp.pi),),
        ("upper_tail",), allowed=lambda x: 4 * abs(x) * scaled_erfc(x)),
    Row("ndtr", special.ndtr, (density,), ("tail",)),
    Row("log_ndtr", special.log_ndtr, (lambda x: density(x) / mp.ncdf(x),), ("tail",), slow=True),
    Row("xlogy", special.xlogy, (lambda x, y: mp.log(y), lambda x, y: x / y),
        ("positive", "positive")),
    Row("gammaln", special.gammaln, (mp.digamma,), ("shape",), slow=True),
)


def draw(domain: str, n: int, rng: np.random.Generator) -> Any:
    """Inputs of a domain: all magnitudes, edges, and moderate numbers."""
    signs = rng.choice([-1.0, 1.0], n)
    tiny_to_huge = 10.0 ** rng.uniform(-300, 300, n)
    near = 10.0 ** rng.uniform(-16, 0, n)
    small = 10.0 ** rng.uniform(-300, 0, n)
    plain = rng.uniform(0.0, 10.0, n)
    kind = rng.integers(0, 3, n)
    match domain:
        case "all":
            out = signs * np.choose(kind, [tiny_to_huge, plain, 10.0 ** rng.uniform(-5, 5, n)])
        case "positive":
            out = np.choose(kind, [tiny_to_huge, plain, 1.0 + signs * near * 0.99])
        case "unit":
            out = signs * np.choose(kind, [small, rng.uniform(0, 1, n), 1.0 - near])
        case "probability":
            out = np.choose(kind, [small, rng.uniform(0, 1, n), 1.0 - near])
        case "angle":
            out = signs * np.choose(kind, [small, plain, rng.uniform(0, 1e3, n)])
        case "above_one":
            out = 1.0 + np.choose(kind, [10.0 ** rng.uniform(-15, 300, n), plain, near])
        case "above_minus_one":
            out = np.choose(kind, [signs * small, tiny_to_huge, near - 1.0])
        case "moderate":
            out = signs * np.choose(kind, [small, plain, rng.uniform(0, 700, n)])
        case "tail":
            out = signs * np.choose(kind, [small, plain, rng.uniform(0, 25, n)])
        case "upper_tail":
            out = np.choose(kind, [signs * small, plain - 3.0, 10.0 ** rng.uniform(0, 150, n)])
        case "shape":
            out = np.choose(kind, [10.0 ** rng.uniform(-300, 100, n), plain, 1 + plain])
        case _:
            raise AssertionError(domain)
    edges = {"unit": abs(out) < 1, "above_one": out > 1, "probability": (out > 0) & (out < 1),
             "above_minus_one": out > -1, "positive": out > 0, "shape": out > 0}
    return np.where(edges.get(domain, True), out, 0.5 if domain != "above_one" else 1.5)


def error_in_ulp(found: float, row: Row, exact: Callable[..., Any], at: tuple[float, ...]
                 ) -> float:
    """Units in the last place, beyond the change that one ulp of the operands makes."""
    point = [mpf(v) for v in at]
    try:
        want = exact(*point)
    except (OverflowError, ZeroDivisionError, ValueError):
        return 0.0
    rounded = float(want)
    if math.isinf(rounded):
        return 0.0 if found == rounded else math.inf
    if math.isnan(found):
        return math.inf
    if math.isinf(found):
        return 0.0 if abs(rounded) > 1.7e308 else math.inf
    unit = mpf(float(np.spacing(abs(rounded))))
    error = abs(mpf(found) - want) - SMALLEST_NORMAL
    if error <= LIMIT / 2 * unit:
        return float(error / unit)
    for i, v in enumerate(point):
        moved = list(point)
        moved[i] = v * (1 + EPSILON)
        error -= abs(exact(*moved) - want)
    if row.allowed is not None:
        error -= EPSILON * row.allowed(*point)
    return max(float(error / unit), 0.0)


def worst(row: Row, n: int, seed: int = 0) -> tuple[float, tuple[float, ...], int]:
    """The largest error of a row, where it is, and of which partial."""
    rng = np.random.default_rng(seed)
    n = max(n // 10, 50) if row.slow else n
    points = [draw(domain, n, rng) for domain in row.domains]
    result = (0.0, tuple(float(p[0]) for p in points), 0)
    for position, exact in enumerate(row.exact):
        with np.errstate(all="ignore"):
            push = wg.jvp(row.function, argnums=position)
            _, slopes = push(*points, np.ones(n))
        for i, found in enumerate(np.broadcast_to(slopes, n)):
            at = tuple(float(p[i]) for p in points)
            error = error_in_ulp(float(found), row, exact, at)
            if error > result[0]:
                result = (error, at, position)
    return result


def main(arguments: list[str]) -> int:
    """Print the table; 1 if a row fails."""
    n = int(arguments[0]) if arguments else 10_000
    wanted = arguments[1:]
    print(f"{'row':<14}{'worst ulp':>12}  {'':6}at")
    failed = 0
    with mpmath.workdps(DIGITS):
        for row in ROWS:
            if wanted and row.name not in wanted:
                continue
            error, at, position = worst(row, n)
            passed = error <= LIMIT
            failed += not passed
            where = ", ".join(f"{v:.17g}" for v in at)
            note = "FAIL" if not passed else "value" if row.allowed is not None else ""
            print(f"{row.name:<14}{error:>12.3g}  {note:<6}"
                  f"∂{position} at {where}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
