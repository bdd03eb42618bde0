"""Truth values, whole numbers and floats mixed: results have NumPy's values and NumPy's kinds."""

import itertools

import numpy as np
import pytest
import wengert as wg

OPERANDS = ([True, False, True], [3, -2, 0], [0.5, -2.0, 4.0])
TEXTS = (
    "np.maximum(a, b)", "np.minimum(a, b)", "np.where(a > b, a, b)", "a.astype(bool)",
    "np.clip(a, 0, 1)", "np.fmod(a, b + 5)", "np.nan_to_num(a)", "np.abs(a) * b", "a * 1.0 / b",
    "(a + 1) * (b + 1)", "np.hypot(a, b)", "(a * 1.0) ** -1.0", "np.sum(a) + np.sum(b)",
    "np.where(a, 2, b)", "np.maximum(a, 0)", "np.float_power(a + 3, b)", "abs(a) ** (b + 2)")
OF_ARRAYS = ("np.concatenate([a, b])[:1]", "np.stack([a, b])[0]", "assigned(a, b)", "np.dot(a, b)",
             "np.prod(a) * np.prod(b)", "np.cumsum(a) + np.cumsum(b)")


def assigned(a, b):
    out = a.copy()
    out[1] = b[0]
    return out


def check(text, *args, targets=("numpy",)):
    f = eval(f"lambda a, b: {text}", {"np": np, "assigned": assigned})
    with np.errstate(all="ignore"):
        wanted = f(*args)
        for target in targets:
            found = wg.compile(f, target=target)(*args)
            assert np.asarray(found).dtype == np.asarray(wanted).dtype, (text, target, args)
            np.testing.assert_allclose(found, wanted, rtol=1e-14, err_msg=text)


@pytest.mark.parametrize("text", TEXTS)
def test_numbers(text):
    for xs, ys in itertools.product(OPERANDS, repeat=2):
        for i in range(2):
            check(text, np.array(xs)[i], np.array(ys)[-1 - i])


@pytest.mark.parametrize("text", TEXTS + OF_ARRAYS)
def test_arrays(text):
    for xs, ys in itertools.product(OPERANDS, repeat=2):
        check(text, np.array(xs), np.array(ys),
              targets=("numpy", "native") if xs is OPERANDS[1] else ("numpy",))


def test_numbers_that_become_infinite():
    for n in (np.int64(0), np.int64(4)):
        with np.errstate(all="ignore"):
            assert wg.compile(lambda n: 1.0 / n)(n) == 1.0 / n
            assert wg.compile(lambda n: np.where(n < 9, n, 0.5) ** -1.0)(n) == np.power(n, -1.0)


@pytest.mark.parametrize("function", [np.hypot, np.exp, np.copysign, np.tanh])
def test_a_function_named_like_one_of_math(function):
    args = [0.5] * function.nin
    assert wg.compile(function)(*args) == pytest.approx(function(*args), rel=1e-15)
