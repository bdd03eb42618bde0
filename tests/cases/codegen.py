"""Names, literals, precedence and folding in the generated code."""

import numpy as np

from cases.case import A, case


@case(
    "sympy/sympy#7249",
    ({"lambda": 2.0, "in": 3.0, "\\alpha": 5.0, "x y": 7.0, "None": 11.0, "1st": 1.0},),
    {"lambda": 12.0, "in": 4.0, "\\alpha": 7.0, "x y": 5.0, "None": 1.0, "1st": 1.0},
)
def dict_keys_not_identifiers(p):
    """keys that are keywords / no identifiers turned into variable names: SyntaxError."""
    return p["lambda"] ** 2 * p["in"] + p["\\alpha"] * p["x y"] + p["None"] + p["1st"]


@case("sympy/sympy#18088", (2.0, 3.0, 5.0, 7.0), 35.0 + 6.0)
def arguments_named_like_builtins(sum, abs, len, math):
    """parameters called sum, abs, len, math shadow what the generated code calls."""
    return np.sum(np.abs(sum)) * len * math + abs * sum**2 * 0.5


@case("google/tangent#69", (2.0, 3.0, 5.0, 7.0), 8.0, argnum=1)
def arguments_named_like_adjoints(x, dx, bx, x_bar):
    """names a generator likes for itself: dx, bx, x_bar, t0, _tmp."""
    t0 = x * dx
    t1 = t0 + dx
    _tmp = t1 + 5.0 * dx
    grad = _tmp * 1.0
    g = grad + bx * x_bar
    return g  # noqa: RET504 (a name that a generator likes)


@case("JacquesCarette/Drasil#1454", (2.0, 3.0, 0.5), 3.0)
def unicode_parameter_names(ρ_W, θ, Δt):
    """Greek names, micro sign (NFKC-normalised by Python to mu), subscripts; not valid in every
    C compiler."""
    μ = ρ_W * θ
    return μ * Δt * 2.0


@case(
    "tensor-compiler/taco#448",
    (2.0,),
    1 / 3.0 + -8.121080628889542e-09 + (0.1 + 1e-17),
    rel=True,
    tol=2.5e-16,
)
def constants_full_precision(x):
    """constants printed with 6 or 15 digits."""
    return x * (1.0 / 3.0 + -8.121080628889542e-09 + (0.1 + 1e-17))


@case("inducer/loopy#845", (2.0,), float(np.float32(0.1)), tol=1e-07)
def float32_constant(x):
    """float32 scalar constant times a Python float: value is float32(0.1) or, under NEP 50
    rounding, within 1e-7."""
    return x * float(np.float32(0.1))


@case("numpy/numpy#26864", (A([1.0, 2.0]),), A([5.0, 5.0]))
def numpy_scalar_constants(x):
    """np.float64(2.5) / np.int64(2) / np.bool_ captured: NumPy 2 repr 'np.float64(2.5)' in the
    source."""
    return np.sum(np.float64(2.5) * x) * np.int64(2) * np.bool_(True)


@case("pytorch/pytorch#46848", (2.0,), -1.0)
def negative_zero_literal(x):
    """copysign(x, -0.0) = -x: the sign of a -0.0 constant got lost in the text form."""
    return np.copysign(x, -0.0)


@case("pytorch/pytorch#189799", (0.0,), np.pi, want="value")
def negative_zero_value(x):
    """arctan2(x*0.0 + 0.0, -0.0) with a -0.0 constant is pi, not 0."""
    return np.arctan2(x * 0.0 + 0.0, -0.0)


@case("posit-dev/orbital#108", (3.0,), -4.0)
def zero_minus_x_folding(x):
    """0 - x folded to x; also x - 0, 1*x, x/1, x**1 simplifications."""
    return (0.0 - x) * 4.0 + (x - 0.0) * 1.0 - x**1 / 1.0


@case("symengine/symengine#1357", (4.0,), 0.5 / 2.0 + 1.5 + 1 / 3.0)
def integer_division_literals(x):
    """x**(1/2) + (3/2)*x + x/3: '1/2' in C is 0."""
    return x ** (1 / 2) + 3 / 2 * x + x / 3


@case("sympy/sympy#16882", (2.0,), -4.0 - 12.0 - np.log(2.0) / 4 + 1.0 + 0.5 - 3.0 + 192.0)
def operator_precedence(x):
    """unary minus against power, nested minus and divide, right-assoc power: parentheses lost
    when printed."""
    return (
        -(x**2)
        + (-x) ** 3
        + 2.0 ** (-x)
        - (1.0 - (x - 3.0))
        + 1.0 / (2.0 / x)
        - x / (4.0 / (x * x))
        + (x**2) ** 3
    )


@case("jax-ml/jax#1938", (A([1.0, 2.0]),), A([2.0, 2.0]))
def string_and_none_defaults(x, a=None, s='it\'s """\n', f=np.sum):
    """default arguments None, a string with quotes and newline, a function object."""
    return f(x) * 2.0 if a is None and "\n" in s else 0.0


@case("sympy/sympy#8824", tuple(float(i) for i in range(300)), 299.0, argnum=299)
def many_arguments(*xs):
    """300 scalar parameters ('more than 255 arguments')."""
    s = 0.0
    for i, x in enumerate(xs):
        s = s + i * x
    return s
