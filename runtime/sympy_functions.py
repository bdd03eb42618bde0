"""What each elementwise row is in SymPy: ``TO_SYMPY[name](sympy, *operands)``."""

from collections.abc import Callable
from typing import Any

Meaning = Callable[..., Any]


def _same(name: str) -> Meaning:
    return lambda s, *args: getattr(s, name)(*args)


def _of_truth(name: str) -> Meaning:
    """Bits are truth values here; those of integers have no formula."""
    def meaning(s: Any, *args: Any) -> Any:
        is_truth = all(isinstance(a, s.logic.boolalg.Boolean) and not a.is_Symbol for a in args)
        return getattr(s, name)(*args) if is_truth else None
    return meaning


def _of_order(name: str, order: int) -> Meaning:
    return lambda s, x: getattr(s, name)(order, x)


def _gauss(s: Any, x: Any) -> Any:
    """Distribution function of the normal distribution."""
    return s.erfc(-x / s.sqrt(2)) / 2


def _trunc(s: Any, x: Any) -> Any:
    return s.Piecewise((s.floor(x), x >= 0), (s.ceiling(x), True))


def _ndtri(s: Any, y: Any) -> Any:
    return -s.sqrt(2) * s.erfcinv(2 * y)


def _log_or_zero(s: Any, x: Any, y: Any) -> Any:
    return x * s.log(y)


def _beta(s: Any, a: Any, b: Any) -> Any:
    return s.gamma(a) * s.gamma(b) / s.gamma(a + b)


TO_SYMPY: dict[str, Meaning] = {
    **{name: _same(own) for name, own in {
        "exp": "exp", "log": "log", "sqrt": "sqrt", "sin": "sin", "cos": "cos", "tan": "tan",
        "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "sinh": "sinh",
        "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh", "arccosh": "acosh",
        "arctanh": "atanh", "abs": "Abs", "fabs": "Abs", "sign": "sign", "slope": "sign",
        "floor": "floor",
        "ceil": "ceiling", "maximum": "Max", "minimum": "Min", "fmax": "Max", "fmin": "Min",
        "less": "Lt", "less_equal": "Le", "greater": "Gt", "greater_equal": "Ge", "equal": "Eq",
        "not_equal": "Ne", "logical_and": "And", "logical_or": "Or", "logical_not": "Not",
        "real": "re", "imag": "im", "conj": "conjugate",
        "erf": "erf", "erfc": "erfc", "erfi": "erfi", "erfinv": "erfinv", "erfcinv": "erfcinv",
        "gamma": "gamma", "gammaln": "loggamma", "loggamma": "loggamma", "psi": "digamma",
        "polygamma": "polygamma", "zeta": "zeta", "expi": "Ei", "expn": "expint",
        "sine_integral": "Si", "cosine_integral": "Ci", "sinh_integral": "Shi",
        "cosh_integral": "Chi", "fresnel_s": "fresnels", "fresnel_c": "fresnelc",
        "ellipk": "elliptic_k", "ellipe": "elliptic_e",
        "ellipkinc": "elliptic_f", "ellipeinc": "elliptic_e", "jv": "besselj", "yv": "bessely",
        "iv": "besseli", "kv": "besselk", "yn": "bessely", "kn": "besselk"}.items()},
    **{name: _of_order(own, n) for name, own, n in (
        ("j0", "besselj", 0), ("j1", "besselj", 1), ("y0", "bessely", 0), ("y1", "bessely", 1),
        ("i0", "besseli", 0), ("i1", "besseli", 1), ("k0", "besselk", 0), ("k1", "besselk", 1),
        ("exp1", "expint", 1))},
    # arithmetic
    "add": lambda s, x, y: x + y, "sub": lambda s, x, y: x - y, "mul": lambda s, x, y: x * y,
    "scale": lambda s, x, y: x * y, "div": lambda s, x, y: x / y,
    "ratio": lambda s, x, y: x / y, "root": lambda s, x: s.sqrt(x),
    "power": lambda s, x, y: x ** y, "float_power": lambda s, x, y: x ** y,
    "neg": lambda s, x: -x, "positive": lambda s, x: x, "reciprocal": lambda s, x: 1 / x,
    "gap": lambda s, x: 1 / x, "flat": lambda s, x: x, "flat_power": lambda s, x, y: x ** y,
    "square": lambda s, x: x ** 2, "cbrt": lambda s, x: s.cbrt(x),
    "mod": lambda s, x, y: x - y * s.floor(x / y),
    "fmod": lambda s, x, y: x - y * _trunc(s, x / y),
    "floor_divide": lambda s, x, y: s.floor(x / y), "trunc": _trunc,
    "heaviside": lambda s, x, h: s.Piecewise((0, x < 0), (h, s.Eq(x, 0)), (1, True)),
    "copysign": lambda s, x, y: s.Abs(x) * s.Piecewise((-1, y < 0), (1, True)),
    "nextafter": lambda s, x, y: x, "ldexp": lambda s, x, n: x * s.Integer(2) ** n,
    "where": lambda s, c, x, y: s.Piecewise((x, c), (y, True)),
    "ones_like": lambda s, x: s.S.One,
    **{name: _of_truth(own) for name, own in (("bitwise_and", "And"), ("bitwise_or", "Or"),
                                              ("bitwise_xor", "Xor"), ("invert", "Not"))},
    # exponentials, logarithms, trigonometry
    "exp2": lambda s, x: s.Integer(2) ** x, "exp10": lambda s, x: s.Integer(10) ** x,
    "expm1": lambda s, x: s.exp(x) - 1, "log1p": lambda s, x: s.log(1 + x),
    "log2": lambda s, x: s.log(x) / s.log(2), "log10": lambda s, x: s.log(x) / s.log(10),
    "hypot": lambda s, x, y: s.sqrt(x ** 2 + y ** 2),
    "logaddexp": lambda s, x, y: s.log(s.exp(x) + s.exp(y)),
    "logaddexp2": lambda s, x, y: s.log(2 ** x + 2 ** y) / s.log(2),
    "deg2rad": lambda s, x: x * s.pi / 180, "radians": lambda s, x: x * s.pi / 180,
    "rad2deg": lambda s, x: x * 180 / s.pi, "degrees": lambda s, x: x * 180 / s.pi,
    "sinc": lambda s, x: s.sin(s.pi * x) / (s.pi * x), "cosm1": lambda s, x: s.cos(x) - 1,
    "sindg": lambda s, x: s.sin(s.pi * x / 180), "cosdg": lambda s, x: s.cos(s.pi * x / 180),
    "tandg": lambda s, x: s.tan(s.pi * x / 180), "cotdg": lambda s, x: s.cot(s.pi * x / 180),
    "radian": lambda s, d, m, sec: (d + m / 60 + sec / 3600) * s.pi / 180,
    "expit": lambda s, x: 1 / (1 + s.exp(-x)), "log_expit": lambda s, x: -s.log(1 + s.exp(-x)),
    "logit": lambda s, x: s.log(x / (1 - x)), "powm1": lambda s, x, y: x ** y - 1,
    # error functions
    "erfcx": lambda s, x: s.exp(x ** 2) * s.erfc(x), "ndtr": _gauss,
    "dawsn": lambda s, x: s.sqrt(s.pi) / 2 * s.exp(-x ** 2) * s.erfi(x),
    "log_ndtr": lambda s, x: s.log(_gauss(s, x)), "ndtri": _ndtri,
    "ndtri_exp": lambda s, y: _ndtri(s, s.exp(y)),
    # gamma and beta
    "rgamma": lambda s, x: 1 / s.gamma(x), "beta": _beta,
    "poch": lambda s, z, m: s.gamma(z + m) / s.gamma(z),
    "betaln": lambda s, a, b: s.loggamma(a) + s.loggamma(b) - s.loggamma(a + b),
    "binom": lambda s, n, k: s.gamma(n + 1) / (s.gamma(k + 1) * s.gamma(n - k + 1)),
    "gammainc": lambda s, a, x: s.lowergamma(a, x) / s.gamma(a),
    "gammaincc": lambda s, a, x: s.uppergamma(a, x) / s.gamma(a),
    "betainc": lambda s, a, b, x: s.betainc_regularized(a, b, 0, x),
    "betaincc": lambda s, a, b, x: 1 - s.betainc_regularized(a, b, 0, x),
    # entropies, power transforms, losses
    "xlogy": _log_or_zero, "xlog1py": lambda s, x, y: x * s.log(1 + y),
    "entr": lambda s, x: -x * s.log(x), "rel_entr": lambda s, x, y: x * s.log(x / y),
    "kl_div": lambda s, x, y: x * s.log(x / y) - x + y,
    "exprel": lambda s, x: (s.exp(x) - 1) / x, "boxcox": lambda s, x, p: (x ** p - 1) / p,
    "boxcox1p": lambda s, x, p: ((1 + x) ** p - 1) / p,
    "inv_boxcox": lambda s, y, p: (1 + p * y) ** (1 / p),
    "inv_boxcox1p": lambda s, y, p: (1 + p * y) ** (1 / p) - 1,
    "huber": lambda s, d, r: s.Piecewise((r ** 2 / 2, s.Abs(r) <= d),
                                         (d * (s.Abs(r) - d / 2), True)),
    "pseudo_huber": lambda s, d, r: d ** 2 * (s.sqrt(1 + (r / d) ** 2) - 1),
    # integrals and hypergeometric functions
    "spence": lambda s, x: s.polylog(2, 1 - x), "wrightomega": lambda s, x: s.LambertW(s.exp(x)),
    "sines_over_delta": lambda s, phi, m: (s.elliptic_f(phi, m) - s.elliptic_e(phi, m)) / m,
    "sines_over_cube": lambda s, phi, m: (
        (s.elliptic_e(phi, m) - m * s.sin(phi) * s.cos(phi) / s.sqrt(1 - m * s.sin(phi) ** 2))
        / (1 - m) - s.elliptic_f(phi, m)) / m,
    "ellipkm1": lambda s, p: s.elliptic_k(1 - p),
    "hyp0f1": lambda s, b, z: s.hyper([], [b], z),
    "hyp1f1": lambda s, a, b, z: s.hyper([a], [b], z),
    "hyp2f1": lambda s, a, b, c, z: s.hyper([a, b], [c], z),
    # Bessel functions with a scale
    "ive": lambda s, v, x: s.exp(-s.Abs(x)) * s.besseli(v, x),
    "kve": lambda s, v, x: s.exp(x) * s.besselk(v, x),
    "i0e": lambda s, x: s.exp(-s.Abs(x)) * s.besseli(0, x),
    "i1e": lambda s, x: s.exp(-s.Abs(x)) * s.besseli(1, x),
    "k0e": lambda s, x: s.exp(x) * s.besselk(0, x), "k1e": lambda s, x: s.exp(x) * s.besselk(1, x),
}
