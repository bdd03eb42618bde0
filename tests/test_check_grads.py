"""``check_grads`` accepts what is right and finds what is wrong, and where."""

import numpy as np
import pytest
import wengert as wg
from wengert.compiler.errors import ArgnumsError, GradientMismatchError

X = np.array([0.5, 2.0, 0.0, np.pi / 2])


def sine_with(slope):
    @wg.custom_jvp
    def sine(x):
        return np.sin(x)
    sine.defjvp(lambda p, t: (sine(*p), slope(p[0]) * t[0]))
    return sine


@pytest.mark.parametrize(("function", "args", "order"), [
    (lambda x: np.sin(x) / x, (np.array([0.5, 2.0]),), 2),
    (lambda x: x ** 3, (2.0,), 4),
    (np.log, (1e-3,), 2),                                  # steps that leave the domain
    (lambda x: np.sqrt(x), (np.array([0.01, 4.0]),), 2),
    (lambda x: 1e8 * x ** 2 + 1e-8, (3.0,), 2),
    (lambda x, n: x ** n, (1.5, 3), 2),                   # the integer is not checked
    (lambda p, y: {"a": np.exp(p["w"] * y), "b": [np.tanh(y) * p["b"]]},
     ({"w": np.ones((2, 3)), "b": 2.0}, np.linspace(0.1, 1, 3)), 2),
    (lambda x: x * np.float32(2) + np.sin(x), (np.array([0.5, 2.0], np.float32),), 2),
    (lambda x: np.exp(1j * x), (0.3,), 2),
    (lambda x: np.abs(x), (np.array([-1.0, 1e-3]),), 2),  # a kink nearby
    (lambda x: 0.0 * x, (1.0,), 2),
    (lambda x: np.where(x > 0, x ** 2, 0.0), (np.array([-1.0, 1.0]),), 2),
])
def test_right_derivatives_pass(function, args, order):
    assert wg.check_grads(function, args, order=order) is None


@pytest.mark.parametrize("modes", [("forward",), ("reverse",)])
@pytest.mark.parametrize(("slope", "place", "count"), [
    (lambda x: np.cos(x) * (1 + 1e-5), "x[0]", "3 of 4"),
    (lambda x: np.where(x == 2.0, 0.0, np.cos(x)), "x[1]", "1 of 4"),
    (lambda x: np.where(np.abs(x) < 0.1, 1.001, np.cos(x)), "x[2]", "1 of 4"),
    (lambda x: np.cos(x) + np.where(x == X[3], 1e-9, 0.0), "x[3]", "1 of 4"),   # beside zero
    (lambda x: np.where(x == 0.5, np.nan, np.cos(x)), "x[0]", "1 of 4"),
])
def test_wrong_rules_are_found(modes, slope, place, count):
    with pytest.raises(GradientMismatchError) as caught:
        wg.check_grads(sine_with(slope), (X,), modes=modes)
    assert f"worst is {place}: " in str(caught.value)
    assert f"wrong in {count} elements" in str(caught.value)
    assert f"The {modes[0]} derivative of order 1 of sine" in str(caught.value)


def test_an_error_in_the_second_derivative_only():
    @wg.custom_jvp
    def cosine(x):
        return np.cos(x)
    cosine.defjvp(lambda p, t: (cosine(*p), -1.01 * np.sin(p[0]) * t[0]))
    sine = sine_with(cosine)
    wg.check_grads(sine, (X,), order=1)
    with pytest.raises(GradientMismatchError, match=r"forward over forward derivative of order 2"):
        wg.check_grads(sine, (X,))


def test_an_error_in_one_mode_only():
    """Each mode is checked by itself: this operation is right in forward mode only."""
    @wg.custom_vjp
    def clipped(x):
        return x ** 2
    clipped.defvjp(lambda x: (x ** 2, x), lambda x, ct: (2 * x * np.clip(ct, -0.1, 0.1),))
    with pytest.raises(GradientMismatchError, match="reverse derivative of order 1"):
        wg.check_grads(clipped, (X,), modes=("reverse",))


def test_nested_places_are_named():
    bad = sine_with(lambda x: 1.1 * np.cos(x))

    def f(weights, y):
        return weights["a"][0] * y + bad(weights["a"][1])
    with pytest.raises(GradientMismatchError, match=r"worst is weights\['a'\]\[1\]\[0, 1\]: "):
        wg.check_grads(f, ({"a": [1.0, np.array([[np.pi / 2, 0.3]])]}, 2.0))


def test_compensating_errors_do_not_cancel():
    """Every element of the result has a weight of its own."""
    @wg.custom_jvp
    def pair(x):
        return np.array([x, x])
    pair.defjvp(lambda p, t: (pair(*p), np.array([0.5 * t[0], 1.5 * t[0]])))
    with pytest.raises(GradientMismatchError):
        wg.check_grads(pair, (1.0,))


@pytest.mark.parametrize(("function", "x", "place"), [
    (np.abs, 0.0, "x"), (np.floor, 1.0, "x"), (np.sqrt, 0.0, "x"),
    (lambda x: np.sum(np.maximum(x, 0.0) ** 2 * np.sign(x)), np.array([1.0, 0.0]), r"x\[1\]"),
])
def test_points_that_are_not_smooth_are_refused(function, x, place):
    def f(x):
        return function(x)
    with pytest.raises(GradientMismatchError, match=f"{place} cannot be checked|is wrong"):
        wg.check_grads(f, (x,))


def test_tolerances():
    sine = sine_with(lambda x: np.cos(x) * (1 + 1e-5))
    wg.check_grads(sine, (X,), order=1, rtol=1e-4)
    wg.check_grads(sine, (X,), order=1, atol=1e-4)
    with pytest.raises(GradientMismatchError):
        wg.check_grads(sine, (X,), order=1, rtol=1e-6)


def test_argnums():
    bad = sine_with(lambda x: 1.1 * np.cos(x))

    def f(x, y):
        return np.exp(x) * bad(y)
    wg.check_grads(f, (0.3, 0.4), argnums=0)
    wg.check_grads(f, (0.3, 0.4), argnums=(-2,))
    with pytest.raises(GradientMismatchError, match="worst is y"):
        wg.check_grads(f, (0.3, 0.4))
    with pytest.raises(ArgnumsError, match="does not fit a call with 2 arguments"):
        wg.check_grads(f, (0.3, 0.4), argnums=2)
    with pytest.raises(ArgnumsError, match="nothing to check"):
        wg.check_grads(lambda n: n, (3,))


def test_arguments_are_left_alone():
    def f(x):
        x *= 2.0
        return np.sum(x ** 2)
    x = np.array([1.0, 2.0])
    wg.check_grads(f, (x,))
    assert x.tolist() == [1.0, 2.0]


def test_misuse():
    with pytest.raises(TypeError, match=r"as a tuple: check_grads\(f, \(x, y\)\)"):
        wg.check_grads(np.sin, 1.0)
    with pytest.raises(ValueError, match="must be at least 1"):
        wg.check_grads(np.sin, (1.0,), order=0)
    with pytest.raises(ValueError, match="'forward' and 'reverse'"):
        wg.check_grads(np.sin, (1.0,), modes=("backward",))
    with pytest.raises(GradientMismatchError, match="returns no floating-point number"):
        wg.check_grads(lambda x: np.argmax(x), (X,))
