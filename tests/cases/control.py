"""Branches on traced values."""

import numpy as np

from cases.case import A, case


@case(
    "JuliaDiff/ForwardDiff.jl#480",
    (1.0,),
    2.0,
    or_error=("if", "bool", "branch", "control", "concrete"),
)
def equality_branch(x):
    """x**2 with a measure-zero special case x == 1 -> 1: derivative by limits is 2, branch gives
    0."""
    return x * 0.0 + 1.0 if x == 1 else x**2


@case("HIPS/autograd#36", (A([-1.0, 0.5, 2.0]),), A([-2.0, 0.75, 1.0]))
def select_list(x):
    """np.select returned an object array: silent ZERO gradient with only a warning."""
    return np.sum(np.select([x < 0, x < 1], [x**2, x**3], default=x))


@case(
    "sympy/sympy#28585",
    (A([-4.0, 9.0]),),
    A([-0.25, 1 / 6.0]),
    or_error=("piecewise", "bool", "data-dependent"),
)
def piecewise_lambdas(x):
    """np.piecewise evaluates each lambda only where its condition holds (no NaN from sqrt of
    negatives)."""
    return np.sum(np.piecewise(x, [x > 0, x <= 0], [lambda t: np.sqrt(t), lambda t: np.sqrt(-t)]))


@case(
    "jax-ml/jax#2783",
    (2.5,),
    2.0,
    or_error=("int", "concrete", "tracer", "convert"),
    args2=(7.5,),
    expected2=7.0,
)
def int_of_traced(x):
    """int(x) * x: int() is piecewise constant; baked-in 2 must not be reused at x = 7.5."""
    return int(x) * x


@case("HIPS/autograd#190", (3.0, 2.0), 6.0, or_error=("pow", "abs"))
def builtin_pow_abs_max(x, y):
    """builtins pow(x, y) and abs(x) on traced values (TypeError: a float is required)."""
    return pow(x, 2) * abs(y) / 2.0
