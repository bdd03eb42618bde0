"""Decisions on traced values: right for every input, few programs, honest where slope is lost."""

import math
import warnings

import numpy as np
import pytest
import wengert as wg
from wengert.compiler.errors import (
    ConstantResultWarning,
    ConversionError,
    EqualityBranchError,
    SpecializationWarning,
    WengertError,
)
from wengert.runtime.executable import Compiled
from wengert.runtime.options import Options

RNG = np.random.default_rng(7)


def three_paths(x):
    if x < -0.5:
        return x ** 2
    if x > 0.5:
        return math.exp(x)
    return 3.0 * x


def slope_of_three_paths(x):
    return 2 * x if x < -0.5 else math.exp(x) if x > 0.5 else 3.0


def test_three_paths_make_three_programs():
    f = wg.value_and_grad(three_paths)
    for x in RNG.uniform(-1.5, 1.5, 1000):
        value, slope = f(float(x))
        assert value == pytest.approx(three_paths(x), rel=1e-15)
        assert slope == pytest.approx(slope_of_three_paths(x), rel=1e-15)
    assert len(f.programs) == 3


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_paths_by_several_inputs_and_loops(mode):
    def f(x, n):
        total = 0.0
        for i in range(int(n)):
            if x[i] > 0:
                total += x[i] ** (i + 1)
            else:
                total -= np.sin(x[i])
        return total * n

    g = wg.jacobian(f, mode=mode)
    for _ in range(60):
        x, n = RNG.standard_normal(3), float(RNG.uniform(1, 4))
        expected = [n * ((i + 1) * v ** i if v > 0 else -np.cos(v)) if i < int(n) else 0.0
                    for i, v in enumerate(x)]
        np.testing.assert_allclose(g(x, n), expected, rtol=1e-12)


def limited(function, limit):
    compiled = wg.grad(function)
    return Compiled(function, compiled.request, Options(max_specializations=limit))


def test_a_loop_that_depends_on_the_data_is_right_beyond_the_limit():
    def halvings(x):
        n = 0
        while x > 1:
            x = x * 0.5
            n += 1
        return x * n
    line = halvings.__code__.co_firstlineno + 2
    g = limited(halvings, 4)
    points = [float(2 ** k) * 1.5 for k in range(12)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            for k, x in enumerate(points):
                assert g(x) == pytest.approx((k + 1) * 0.5 ** (k + 1), rel=1e-14)
    assert [w.category for w in caught] == [SpecializationWarning]
    assert f"{__file__}:{line}" in str(caught[0].message)
    assert "loop" in str(caught[0].message)
    assert len(g.programs) == 4


def test_a_result_through_comparisons_only_is_warned_about():
    def step(x):
        return 1.0 if x > 0 else 0.0
    with pytest.warns(ConstantResultWarning, match="only through comparisons"):
        assert wg.grad(step)(0.5) == 0.0

    def count(x, y):
        return y * len([v for v in x if v > 0])
    with pytest.warns(ConstantResultWarning, match="'x'"):
        np.testing.assert_array_equal(wg.grad(count)(np.array([1.0, -1.0]), 2.0), [0.0, 0.0])
    assert wg.grad(count, "y")(np.array([1.0, -1.0]), 2.0) == 1.0     # y: no warning


def test_a_branch_at_a_single_point_is_refused():
    def f(x):
        return 1.0 if x == 0 else np.sin(x) / x
    assert wg.grad(f)(0.5) == pytest.approx((0.5 * np.cos(0.5) - np.sin(0.5)) / 0.25)
    with pytest.raises(EqualityBranchError, match="exactly"):
        wg.grad(f)(0.0)


def test_a_single_point_between_two_branches_is_refused():
    def volume(h, length):
        total = 2.0 * (length if h >= length else h)
        if h > length:
            total += 2.0 * (h - length) - (h - length) ** 2
        return total
    g = wg.grad(volume, "length")
    with pytest.warns(ConstantResultWarning):
        assert g(0.5, 1.0) == 0.0
    assert g(1.5, 1.0) == 1.0
    with pytest.raises(EqualityBranchError, match="exactly"):
        g(1.0, 1.0)


def test_equality_of_two_arguments_is_refused_and_convergence_is_not():
    def f(x, y):
        return x * y if x == y else (x - y) ** 2
    for argnums in (0, 1, (0, 1)):
        with pytest.raises(EqualityBranchError):
            wg.grad(f, argnums)(2.0, 2.0)
    with pytest.raises(EqualityBranchError):
        wg.grad(lambda v: f(v[0], v[1]))(np.array([2.0, 2.0]))

    def square_root(a):
        x, before = a, 0.0
        while x != before:
            before, x = x, 0.5 * (x + a / x)
        return x
    assert wg.grad(square_root)(4.0) == pytest.approx(0.25, rel=1e-14)


# -- what code does with a value: the function, an argument and the right slope -----------------

def unpacks(x):
    (a, b), c = x[:2], x[2]
    return a * b * c


def sorts(x):
    ordered = sorted(x, reverse=True)
    return ordered[0] * 3 + ordered[1] * 2 + ordered[2]


def first_of_argsort(x):
    order = np.argsort(x)
    return x[order[0]] * 5 + x[int(order[-1])]


def dictionary_by_integer(x):
    table = {0: 2.0, 1: 3.0, 2: 5.0}
    return table[int(np.argmax(x))] * x.sum()


def text(x):
    label = f"{x[0]:.2f} {x[1]} {x!s:.10}"
    print(label, x, x[0])
    return x.sum() * len(label.split()[0])


def conversions(x):
    return x[0].item() * x[1:2].item() + x.item(2) + x.tolist()[0]


def types(x):
    assert isinstance(x, np.ndarray)
    assert isinstance(x[0], float)
    assert isinstance(x[0], np.floating)
    assert not isinstance(x[0], (int, np.ndarray))
    return x.sum()


def rounds(x):
    return round(x[0]) * x[0] + round(x[1], 1) + math.floor(x[2] + 1) * x[2] + divmod(x[0], 1)[1]


def caught_square_root(x):
    try:
        return math.sqrt(-x[0])
    except ValueError as error:
        return x[0] * len(str(error))


def caught_power(x):
    try:
        return math.pow(-x[0], 0.5)
    except ValueError:
        return x[0] * 7


@pytest.mark.parametrize(("function", "slope"), [
    (unpacks, [1.3 * 0.4, 0.7 * 0.4, 0.7 * 1.3]), (sorts, [2.0, 3.0, 1.0]),
    (first_of_argsort, [0.0, 1.0, 5.0]), (dictionary_by_integer, [3.0, 3.0, 3.0]),
    (text, [4.0, 4.0, 4.0]), (conversions, [2.3, 0.7, 1.0]), (types, [1.0, 1.0, 1.0]),
    (rounds, [2.0, 0.0, 1.0]), (caught_square_root, [17.0, 0.0, 0.0]),
    (caught_power, [7.0, 0.0, 0.0])])
def test_uses_of_a_value(function, slope, capsys):
    x = np.array([0.7, 1.3, 0.4])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(wg.grad(function)(x), slope, rtol=1e-14)
        assert wg.compile(function)(x) == pytest.approx(function(x), rel=1e-15)


@pytest.mark.parametrize("exception_path", [0.5, -0.5])
def test_domain_errors_take_the_path_of_the_plain_function(exception_path):
    def f(x):
        try:
            return math.log(x) + math.sqrt(x)
        except ValueError:
            return x * 3.0
    g = wg.grad(f)
    for x in (exception_path, -exception_path, exception_path):
        assert g(x) == pytest.approx(1 / x + 0.5 / math.sqrt(x) if x > 0 else 3.0, rel=1e-14)
    assert len(g.programs) == 2


def divided(x):
    try:
        return x / (x - 1.0)
    except ZeroDivisionError:
        return 5.0 * x


def divided_by_a_helper(x):
    def ratio(a, b):
        return a / b
    try:
        return ratio(x, x - 1.0)
    except ArithmeticError:
        return 5.0 * x


def negative_power(x):
    try:
        return (x - 1.0) ** -2
    except ZeroDivisionError:
        return 5.0 * x


def overflowing_power(x):
    try:
        return (x + 1e200 * (x == 1.0)) ** 3
    except OverflowError:
        return 5.0 * x


def remainder(x):
    try:
        return 3.0 * x + x % (x - 1.0)
    except ZeroDivisionError:
        return 5.0 * x


@pytest.mark.parametrize("function", [divided, divided_by_a_helper, negative_power,
                                      overflowing_power, remainder])
def test_arithmetic_errors_take_the_path_of_the_plain_function(function):
    f = wg.compile(function)
    with np.errstate(over="ignore"):
        for x in (3.0, 1.0, 2.0, 1.0):
            assert f(x) == pytest.approx(function(x), rel=1e-15)
    g = wg.grad(function)
    h = 1e-6
    assert g(3.0) == pytest.approx((function(3.0 + h) - function(3.0 - h)) / (2 * h), rel=1e-7)


def test_arithmetic_outside_of_try_is_numpys():
    f = wg.compile(lambda x: 1.0 / x)
    assert f(2.0) == 0.5
    with np.errstate(divide="ignore"):
        assert f(0.0) == np.inf
    assert not f.graph.guards


@pytest.mark.parametrize(("function", "words"), [
    (lambda x: sum(map(float, [x])) * 2, "Drop the conversion"),
    (lambda x: np.float64(x) * 2, "derivative would be lost"),
    (lambda x: sum(map(complex, [x])).real, "x \\+ 0j"),
    (lambda x: {x: 1.0}[x], "key of a dictionary")])
def test_conversions_are_refused_with_a_way_out(function, words):
    with pytest.raises((WengertError, TypeError), match=words):
        wg.grad(function)(1.5)


def test_a_swallowed_conversion_is_raised_again():
    def f(x):
        try:
            (y,) = map(float, [x])
        except TypeError:
            y = 0.0
        return y * x
    with pytest.raises(ConversionError):
        wg.grad(f)(1.5)


class Scaled:
    k = 3.0

    def loss(self, x):
        return float(x) * self.k


def nested_conversion(x):
    def square(v):
        return float(v) ** 2
    return 1.5 * sum([square(v) for v in [x, x]])


def formats(x):
    return 6.0 * x * len("%.1f" % x) / len(f"{x:.1f}") * len("{:.1f}".format(x)) / 3   # noqa: UP031, UP032


@pytest.mark.parametrize("function", [
    lambda x: float(x) * 6.0, lambda x: float(np.sum(np.array([x, 5.0 * x]))),
    lambda x: complex(3.0 * x, 1.0).real * 2, Scaled().loss, nested_conversion, formats,
    lambda x: float("6") * float(x) if isinstance(x, float) else float("nan")])
def test_calls_of_float(function):
    code = getattr(function, "__func__", function).__code__
    slope = wg.grad(function)(1.5)
    assert slope == pytest.approx((function(2.0) - function(1.0)), rel=1e-14)
    assert getattr(function, "__func__", function).__code__ is code
    assert type(wg.compile(lambda x: float(x))(np.float64(1.5))) is float


def test_constants_convert_freely():
    def f(x):
        y = np.zeros(3) + 1.0
        return float(y[0]) * int(y.sum()) * x
    assert wg.grad(f)(1.5) == 3.0


def test_guards_on_arrays():
    def f(x):
        if np.any(x > 1) and not (x < 0).all():
            return np.sum(x ** 2)
        if np.allclose(x, 0.5):
            return np.sum(x ** 3)
        return np.sum(x)
    g = wg.grad(f)
    for x, slope in (([2.0, 0.5], [4.0, 1.0]), ([0.5, 0.5], [0.75, 0.75]), ([0.1, 0.2], [1, 1])):
        np.testing.assert_allclose(g(np.array(x)), slope)


def test_masks_with_another_count_are_traced_anew():
    def f(x):
        y = x.copy()
        y[x > 0.5] = np.log(x[x > 0.5])
        return np.sum(y * np.arange(3))
    g = wg.grad(f)
    for x in (np.array([0.7, 0.2, 0.9]), np.array([0.1, 0.6, 0.9]), np.array([0.1, 0.2, 0.3])):
        expected = np.where(x > 0.5, 1 / x, 1.0) * np.arange(3)
        np.testing.assert_allclose(g(x), expected)


def test_nan_takes_the_path_it_takes():
    def f(x):
        return x ** 2 if x > 0 else 3.0 * x
    g = wg.grad(f)
    assert g(2.0) == 4.0
    assert g(float("nan")) == 3.0
    assert g(2.0) == 4.0


def test_an_element_that_only_decides_is_named():
    def bisection(p):
        low, high = 0.0, 10.0
        for _ in range(40):
            middle = (low + high) / 2
            if middle ** 3 > p[0]:
                high = middle
            else:
                low = middle
        return middle * p[1]
    with pytest.warns(ConstantResultWarning, match=r"'p\[0\]'"):
        gradient = wg.grad(bisection)(np.array([5.0, 2.0]))
    np.testing.assert_allclose(gradient, [0.0, 5.0 ** (1 / 3)])


def test_a_plain_array_is_indexed_by_integers_of_the_arguments():
    table = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])

    def loss(w, words):
        return np.sum(table[words] * w) + np.sum(table[words > 1, 0]) * w[0]
    gradient = wg.grad(loss)
    w = np.array([0.5, -1.0])
    for words in (np.array([0, 2, 2]), np.array([1, 1, 0]), np.array([0, 2, 2])):
        expected = table[words].sum(0) + np.array([table[words > 1, 0].sum(), 0.0])
        np.testing.assert_array_equal(gradient(w, words), expected)
    assert len(gradient.programs) == 2
