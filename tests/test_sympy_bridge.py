"""Graphs as SymPy's formulas, and SymPy's expressions as functions to differentiate."""

import math

import numpy as np
import pytest
import sympy
import wengert as wg
from wengert.compiler.errors import CustomRuleError, UnsupportedFunctionError
from wengert.runtime.sympy_bridge import exact_number, from_sympy, to_sympy

X, Y = sympy.symbols("x y", real=True)


@pytest.mark.parametrize(("function", "formula"), [
    (lambda x, y: np.log(x) + x * y - np.sin(y), sympy.log(X) + X * Y - sympy.sin(Y)),
    (lambda x, y: np.where(x > y, x, y ** 2), sympy.Piecewise((X, X > Y), (Y ** 2, True))),
    (lambda x, y: (x > 0) * y + 0.5, sympy.Piecewise((1, X > 0), (0, True)) * Y + sympy.S.Half),
    (lambda x, y: math.pi * x / 3 + y * 0.1, sympy.pi * X / 3 + Y / 10),
])
def test_formula_of_a_graph(function, formula):
    (found,) = to_sympy(wg.trace(function)(1.0, 2.0))
    assert sympy.simplify(found - formula) == 0


def test_formula_of_a_derivative():
    program = wg.grad(lambda x: np.sin(x) ** 2).specialize(1.0)
    (found,) = to_sympy(program.graph)
    assert sympy.simplify(found - sympy.sin(2 * X)) == 0


def test_a_graph_of_arrays_has_no_formula():
    with pytest.raises(UnsupportedFunctionError, match=r"broadcast_to of f64.3. has no formula"):
        to_sympy(wg.trace(lambda x, n: np.sum(np.full(3, x)) * n)(1.0, 2.0))


@pytest.mark.parametrize(("value", "exact"), [
    (0.5, sympy.S.Half), (1 / 3, sympy.Rational(1, 3)), (-math.pi, -sympy.pi),
    (2, sympy.Integer(2)),
    (1 / 518918400, sympy.Rational(1, 518918400)), (math.inf, sympy.oo), (True, sympy.true),
    (2j, 2 * sympy.I), (math.sqrt(2 * math.pi), sympy.sqrt(2 * sympy.pi))])
def test_exact_number(value, exact):
    assert exact_number(value) == exact


def test_a_float_that_is_nothing_special_keeps_its_value():
    assert float(exact_number(0.7390851332151607)) == 0.7390851332151607


@pytest.mark.parametrize("expression", [
    X ** 2 * sympy.sin(Y), sympy.exp(-X) / (1 + Y), sympy.Piecewise((X * Y, X > 0), (Y, True)),
    sympy.sqrt(X) * sympy.log(Y), sympy.Max(X, Y) + sympy.Abs(X - Y),
    sympy.erf(X) * sympy.gamma(Y)])
def test_gradient_of_an_expression(expression):
    f = from_sympy(expression, [X, Y])
    point = (1.3, 0.7)
    at = dict(zip((X, Y), point, strict=True))
    assert float(f(*point)) == pytest.approx(float(expression.subs(at)), rel=1e-14)
    slopes = [float(sympy.diff(expression, v).subs(at)) for v in (X, Y)]
    np.testing.assert_allclose(wg.grad(f, (0, 1))(*point), slopes, rtol=1e-13)


def test_expressions_work_on_arrays_and_matrices():
    f = from_sympy(X * Y ** 2, [X, Y])
    np.testing.assert_array_equal(f(np.array([1.0, 2.0]), 3.0), [9.0, 18.0])
    g = from_sympy(sympy.Matrix([[X, Y], [X * Y, 1]]), [X, Y])
    np.testing.assert_array_equal(g(2.0, 3.0), [[2.0, 3.0], [6.0, 1.0]])
    np.testing.assert_array_equal(wg.jacobian(g)(2.0, 3.0), [[1.0, 0.0], [3.0, 0.0]])


def test_a_symbol_that_is_not_listed_is_refused():
    with pytest.raises(CustomRuleError, match="contains y"):
        from_sympy(X * Y, [X])
