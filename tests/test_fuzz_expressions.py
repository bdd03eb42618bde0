"""Random programs at edges: where the function is differentiable, the gradient is right.

The oracle knows nothing of derivatives: it evaluates the program with mpmath at 150 digits and
takes one-sided difference quotients along the axes and along two more directions. Where both
sides agree, converge and are linear in the direction, the function is differentiable, and both
modes must give that gradient to 1e-9, relative to the size of what was added up.

Two things are beyond a chain rule. At a tie of max or min between operands that have a corner right
there, as in ``min(x, max(x, y)) = x``, conventions do not add up. And a root of what is zero because
two spellings of one value are subtracted may be NaN, though never a wrong number.
"""

import random

import mpmath
import numpy as np
import pytest
import wengert as wg
from mpmath import mpf

POINTS = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 1.0, 0.0, 1e-5, -1e-5, 1e4, 0.3, -1.7)
STEPS = (mpf(10) ** -50, mpf(10) ** -60)
UNARY = ("sqrt_square", "sqrt", "log", "exp", "abs", "square", "cube", "root_abs", "sin", "cos",
         "tanh", "neg", "relu", "clip", "safe_log", "safe_root", "reciprocal", "expm1", "log1p",
         "half", "power0", "power_half", "power_three_halves", "soft", "norm", "norm_square",
         "cumsum", "prod", "logsumexp", "maximum_entry", "arctan", "shift", "masked_root",
         "filled")
BINARY = ("add", "sub", "mul", "mul", "mul", "div", "maximum", "minimum", "where_positive",
          "where_less", "hypot")


class Numbers:
    """The operations on lists of mpmath numbers."""

    @staticmethod
    def each(f, *args):
        return [f(*items) for items in zip(*args, strict=True)]

    def __call__(self, name, *args):
        (x, *rest) = args
        if name in ("norm", "norm_square", "maximum_entry", "prod", "logsumexp"):
            return [self.reduce(name, x)] * len(x)
        if name == "cumsum":
            return [mpmath.fsum(x[:i + 1]) for i in range(len(x))]
        return self.each(getattr(self, name), x, *rest)

    @staticmethod
    def reduce(name, x):
        if name == "norm":
            return mpmath.sqrt(mpmath.fsum(v * v for v in x))
        if name == "norm_square":
            return mpmath.fsum(v * v for v in x)
        if name == "maximum_entry":
            return max(x)
        if name == "prod":
            return mpmath.fprod(x)
        return mpmath.log(mpmath.fsum(mpmath.exp(v) for v in x))

    sqrt_square = staticmethod(lambda x: real_root(x) ** 2)
    sqrt = staticmethod(lambda x: real_root(x))
    log = staticmethod(lambda x: real_log(x))
    exp = staticmethod(lambda x: mpmath.exp(x) if x < 700 else undefined())
    abs = staticmethod(abs)
    square = staticmethod(lambda x: x * x)
    cube = staticmethod(lambda x: x ** 3)
    root_abs = staticmethod(lambda x: abs(x))
    sin = staticmethod(lambda x: mpmath.sin(x) if abs(x) < 1e3 else undefined())
    cos = staticmethod(lambda x: mpmath.cos(x) if abs(x) < 1e3 else undefined())
    tanh = staticmethod(mpmath.tanh)
    neg = staticmethod(lambda x: -x)
    relu = staticmethod(lambda x: max(x, mpf(0)))
    clip = staticmethod(lambda x: min(max(x, mpf(-1)), mpf(1)))
    safe_log = staticmethod(lambda x: mpmath.log(x) if x > 0 else mpf(0))
    safe_root = staticmethod(lambda x: mpmath.sqrt(x) if x > 0 else mpf(0))
    reciprocal = staticmethod(lambda x: 1 / x if x else undefined())
    expm1 = staticmethod(lambda x: mpmath.expm1(x) if x < 700 else undefined())
    log1p = staticmethod(lambda x: real_log(1 + x))
    half = staticmethod(lambda x: x / 2)
    power0 = staticmethod(lambda x: mpf(1))
    power_half = staticmethod(lambda x: real_root(x))
    power_three_halves = staticmethod(lambda x: real_root(x) ** 3)
    soft = staticmethod(lambda x: mpmath.log1p(mpmath.exp(x)) if x < 700 else undefined())
    arctan = staticmethod(mpmath.atan)
    shift = staticmethod(lambda x: x + 1)
    masked_root = staticmethod(lambda x: mpmath.sqrt(x) if x > mpf(1) / 4 else mpf(0))
    filled = staticmethod(lambda x: mpmath.log(x) if x > mpf(1) / 2 else mpf(0))
    add = staticmethod(lambda x, y: x + y)
    sub = staticmethod(lambda x, y: x - y)
    mul = staticmethod(lambda x, y: x * y)
    div = staticmethod(lambda x, y: x / y if y else undefined())
    maximum = staticmethod(max)
    minimum = staticmethod(min)
    where_positive = staticmethod(lambda x, y: x if y > 0 else y)
    where_less = staticmethod(lambda x, y: x if x < y else y * y)
    hypot = staticmethod(mpmath.hypot)


class Undefined(ArithmeticError):
    """The program has no finite value here."""


def undefined():
    raise Undefined


def real_root(x):
    return mpmath.sqrt(x) if x >= 0 else undefined()


def real_log(x):
    return mpmath.log(x) if x > 0 else undefined()


def filled(x):
    y = np.log(x)
    y[x <= 0.5] = 0.0
    return y


ARRAYS = {
    "sqrt_square": lambda x: np.sqrt(x) ** 2, "sqrt": np.sqrt, "log": np.log, "exp": np.exp,
    "abs": np.abs, "square": lambda x: x ** 2, "cube": lambda x: x ** 3,
    "root_abs": lambda x: np.sqrt(x * x), "sin": np.sin, "cos": np.cos, "tanh": np.tanh,
    "neg": np.negative, "relu": lambda x: np.maximum(x, 0.0),
    "clip": lambda x: np.clip(x, -1.0, 1.0),
    "safe_log": lambda x: np.where(x > 0, np.log(np.where(x > 0, x, 1.0)), 0.0),
    "safe_root": lambda x: np.where(x > 0, np.sqrt(x), 0.0), "reciprocal": lambda x: 1.0 / x,
    "expm1": np.expm1, "log1p": np.log1p, "half": lambda x: x / 2, "power0": lambda x: x ** 0,
    "power_half": lambda x: x ** 0.5, "power_three_halves": lambda x: x ** 1.5,
    "soft": lambda x: np.log(1.0 + np.exp(x)),
    "norm": lambda x: np.linalg.norm(x) * np.ones_like(x),
    "norm_square": lambda x: np.linalg.norm(x) ** 2 * np.ones_like(x), "cumsum": np.cumsum,
    "prod": lambda x: np.prod(x) * np.ones_like(x),
    "logsumexp": lambda x: np.log(np.sum(np.exp(x))) * np.ones_like(x),
    "maximum_entry": lambda x: np.max(x) * np.ones_like(x), "arctan": np.arctan,
    "shift": lambda x: x + 1.0, "masked_root": lambda x: (x > 0.25) * np.sqrt(x),
    "filled": filled,
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
    "maximum": np.maximum, "minimum": np.minimum,
    "where_positive": lambda x, y: np.where(y > 0, x, y),
    "where_less": lambda x, y: np.where(x < y, x, y * y), "hypot": np.hypot,
}
NUMBERS = Numbers()


def make_program(rng):
    """A list of (operation, operand positions); position 0 is the input."""
    program = []
    for _ in range(rng.randint(5, 40)):
        last = len(program)
        near = rng.random() < 0.8
        first, second = (rng.randint(max(0, last - 3) if near else 0, last) for _ in "ab")
        if rng.random() < 0.55:
            program.append((rng.choice(UNARY), (first,)))
        else:
            program.append((rng.choice(BINARY), (first, second)))
    return program


def run_program(program, apply, x):
    values = [x]
    for name, operands in program:
        values.append(apply(name, *[values[i] for i in operands]))
    return values


def usable(program, x):
    """The longest beginning of the program whose values are defined and neither huge nor
    ill-conditioned, so that float64 follows the exact values."""
    for n in range(len(program), 0, -1):
        try:
            exact = run_program(program[:n], NUMBERS, [mpf(v) for v in x])
        except (Undefined, OverflowError, ZeroDivisionError):
            continue
        values = run_program(program[:n], lambda name, *a: ARRAYS[name](*a), np.array(x))
        if all(map(close_values, exact, values)) and decided(program[:n], exact):
            return program[:n]
    return []


def close_values(exact, values):
    return all(np.isfinite(v) and abs(v) < 1e60 and abs(e - mpf(float(v))) <= 1e-12 * abs(e)
               for e, v in zip(exact, values, strict=True))


def decided(program, exact):
    """Whether no selection hangs on rounding, and no branch holds at this very point only."""
    for name, operands in program:
        sides = [exact[i] for i in operands]
        if name in ("where_positive", "safe_log", "safe_root"):
            sides = [sides[-1], [mpf(0)] * len(sides[-1])]
        if name in ("maximum", "minimum", "where_less", "where_positive"):
            for x, y in zip(*sides, strict=True):
                if abs(x - y) <= 1e-9 * (abs(x) + abs(y)) and (
                        x != y or (name.startswith("where") and operands[0] != operands[1])):
                    return False
        if name == "maximum_entry":
            top = max(sides[0])
            if any(x != top and top - x < 1e-9 * abs(top) for x in sides[0]):
                return False
        edge = {"clip": 1.0, "masked_root": 0.25, "filled": 0.5}.get(name)
        if edge is not None and any(0 < abs(abs(x) - edge) < 1e-9 for x in sides[0]):
            return False
        if name == "sub" and operands[0] == operands[1]:
            return False        # zero by cancellation, which no chain rule can see
    return True


def corner_at_tie(program, x, rng):
    """Whether max or min ties between operands that are not differentiable at that very point."""
    exact = run_program(program, NUMBERS, [mpf(v) for v in x])
    for name, operands in program:
        if name in ("relu", "clip", "abs", "root_abs", "maximum_entry", "maximum", "minimum"):
            sides = [exact[i] for i in operands]
            edges = {"relu": (0,), "clip": (-1, 1), "abs": (0,), "root_abs": (0,)}.get(name, ())
            tied = (len(sides) == 2 and any(a == b for a, b in zip(*sides, strict=True))) or any(
                a in edges for a in sides[0]) or (
                name == "maximum_entry" and sides[0].count(max(sides[0])) > 1)
            if tied and any(i and exact_gradient(program[:i], x, rng) is None for i in operands):
                return True
    return False


def total(program, x):
    return mpmath.fsum(run_program(program, NUMBERS, x)[-1])


def slope(program, x, direction):
    """The two-sided derivative along a direction, or None if there is none."""
    found = []
    base = total(program, x)
    for h in STEPS:
        for signed in (h, -h):
            try:
                moved = total(program, [v + signed * d for v, d in zip(x, direction, strict=True)])
            except (Undefined, OverflowError, ZeroDivisionError):
                return None
            found.append((moved - base) / signed)
    size = max(map(abs, found)) + mpf(10) ** -12
    return found[-1] if all(abs(s - found[-1]) < 1e-12 * size for s in found) else None


def exact_gradient(program, x, rng):
    """The gradient, or None where the function is not differentiable."""
    n = len(x)
    x = [mpf(v) for v in x]
    gradient = [slope(program, x, [mpf(i == j) for j in range(n)]) for i in range(n)]
    if any(g is None for g in gradient):
        return None
    for _ in range(2):
        direction = [mpf(rng.uniform(-1, 1)) for _ in range(n)]
        along = slope(program, x, direction)
        expected = mpmath.fsum(g * d for g, d in zip(gradient, direction, strict=True))
        if along is None or abs(along - expected) > 1e-10 * (1 + abs(expected)):
            return None
    return gradient


def check(seed):
    """One program at one point: "undefined", "kink", "tie" or "right"."""
    rng = random.Random(seed)
    x = [rng.choice(POINTS) for _ in range(rng.randint(1, 3))]
    if rng.random() < 0.4:
        x = [x[0]] * len(x)
    with mpmath.workdps(150), np.errstate(all="ignore"):
        program = usable(make_program(rng), x)
        if not program:
            return "undefined"
        expected = exact_gradient(program, x, rng)
        if expected is None or max(map(abs, expected)) > 1e80:
            return "kink"
        if corner_at_tie(program, x, rng):
            return "tie"
        tolerance = 1e-9 * max(1, *map(abs, expected))

        def f(v):
            return np.sum(run_program(program, lambda name, *a: ARRAYS[name](*a), v)[-1])
        for mode in ("reverse", "forward"):
            compiled = wg.grad(f, mode=mode)
            found = compiled(np.array(x))
            for g, e in zip(found, expected, strict=True):
                is_right = np.isfinite(g) and abs(mpf(float(g)) - e) <= tolerance
                assert is_right, (
                    f"{mode} mode, seed {seed}, x = {x}: {list(found)} for "
                    f"{[mpmath.nstr(v, 17) for v in expected]}\n{program}\n{compiled.source}")
    return "right"


def run_seeds(seeds):
    outcomes = [check(seed) for seed in seeds]
    assert outcomes.count("right") > 0.65 * len(outcomes)
    assert outcomes.count("tie") < 0.03 * len(outcomes)


def test_random_programs():
    run_seeds(range(400))


@pytest.mark.slow
def test_many_random_programs():
    run_seeds(range(1000, 4000))
