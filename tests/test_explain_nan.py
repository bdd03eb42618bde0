"""explain_nan names the operation, the generated statement and the user's line."""

import linecache

import numpy as np
import pytest
import wengert as wg

A = np.array


@pytest.fixture(autouse=True)
def _quiet():
    with np.errstate(all="ignore"):
        yield


def energy(x, scale=1.0):
    shifted = x - 1.0
    root = np.sqrt(shifted)
    return np.sum(root * scale)


def line_of(explanation):
    return linecache.getline(explanation.origin.file, explanation.origin.line).strip()


def test_infinity_of_the_derivative():
    slope = wg.grad(energy)
    found = wg.explain_nan(slope, A([2.0, 1.0, 3.0]))
    assert (found.part, found.operation, found.operands) == ("derivative", "div", (0.5, 0.0))
    assert found.value == np.inf
    assert found.index == (1,)
    assert line_of(found) == "root = np.sqrt(shifted)"
    assert slope.source.splitlines()[found.line - 1].strip() == found.statement


def test_nan_of_the_function():
    slope = wg.value_and_grad(energy)
    found = wg.explain_nan(slope, A([2.0, 0.5, 3.0]))
    assert (found.part, found.operation, found.operands) == ("function", "sqrt", (-0.5,))
    assert np.isnan(found.value)
    assert found.statement == "root = np.sqrt(shifted)"
    assert slope.source.splitlines()[found.line - 1].strip() == found.statement


def test_input_that_is_not_finite():
    found = wg.explain_nan(wg.grad(energy), A([2.0, np.nan, 3.0]))
    assert (found.part, found.operation, found.index) == ("input", "x", (1,))
    assert str(found) == "The input x is nan at element [1]."


def test_a_harmless_infinity_is_not_blamed():
    def f(x):
        y = np.where(x > 0, np.log(x), 0.0)         # log(0), not selected
        return np.sum(y / (x - 2.0))
    found = wg.explain_nan(wg.grad(f), A([0.0, 2.0, 3.0]))
    assert found.operation == "div"
    assert found.index == (1,)
    assert found.part == "function"


def test_branch_of_the_call():
    def f(x):
        if x > 1.0:
            return np.log(x - 2.0)
        return 1.0 / x
    slope = wg.grad(f)
    assert wg.explain_nan(slope, 2.0).operation in ("log", "div")
    assert line_of(wg.explain_nan(slope, 0.0)) == "return 1.0 / x"
    assert line_of(wg.explain_nan(slope, 2.0)) == "return np.log(x - 2.0)"


def test_element_of_a_matrix_product():
    def f(x):
        return np.sum(np.log(A([[1.0, -1.0], [2.0, 1.0]]) @ x))
    found = wg.explain_nan(wg.grad(f), A([1.0, 1.0]))
    assert found.operation in ("div", "log")
    assert found.index == (0,)


def test_text_names_line_statement_and_user():
    slope = wg.grad(energy)
    text = str(wg.explain_nan(slope, A([2.0, 1.0, 3.0])))
    first, second, third = text.splitlines()
    assert first == "div(0.5, 0) is inf at element [1], in the derivative."
    assert second.startswith("Generated code, line ")
    assert third.endswith("root = np.sqrt(shifted)")
    assert "test_explain_nan.py:" in third


def test_several_results():
    def f(x):
        return x[0], np.log(x[1])
    found = wg.explain_nan(wg.jacobian(f), A([1.0, 0.0]))
    assert found.part == "function"
    assert found.operation in ("div", "log", "where")


def test_scalar_code():
    def f(x, y):
        a = x * y
        b = a - 1.0
        c = np.sqrt(b)
        return c * x + y
    slope = wg.grad(f)
    found = wg.explain_nan(slope, 1.0, 1.0)
    assert found.operation == "div"
    assert line_of(found) == "c = np.sqrt(b)"
    assert found.line is not None


def test_finite_results_are_refused():
    with pytest.raises(ValueError, match="All results are finite"):
        wg.explain_nan(wg.grad(energy), A([2.0, 3.0]))


def test_the_function_itself_is_explained():
    slope = wg.compile(energy)
    slope(A([2.0]))
    assert wg.explain_nan(slope, A([0.0])).operation == "sqrt"
