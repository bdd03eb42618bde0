"""Arithmetic of truth values: NumPy's says whether, Python's counts, sums count."""

import itertools

import numpy as np
import pytest
import wengert as wg

X = np.array([1.0, -2.0, 3.0, 0.5])
FACTORS = (
    "{a} + {b}", "{a} * {b}", "{a} | {b}", "{a} & {b}", "{a} ^ {b}", "np.maximum({a}, {b})",
    "np.add({a}, {b})", "np.multiply({a}, {b})", "{a} + {b} * 2", "{a} * 1 + {b}",
    "{a}.astype(int) + {b}", "{a}.astype(int) * {b}", "{a} + 1.0 * {b}", "{a} == {b}", "{a} < {b}",
    "np.where({a}, {b}, {a})", "np.where({a}, 2, {b})", "np.sum({a}) + {b}", "np.mean({a}) + {b}",
    "np.cumsum({a}) + {b}", "np.prod({a}) + {b}", "np.dot({a}, {b})", "np.dot({a} * 1, {b})",
    "np.max({a}) + {b}", "np.any({a}) + {b}", "np.count_nonzero({a}) * {b}", "np.sum({a} + {b})",
    "np.sum({a} * {b})", "np.cumprod({a}) * {b}", "np.stack([{a}, {b}]).sum(0)", "~{a} + {b}",
    "np.concatenate([{a}, {b}])[:4] + 1", "({a} * 3) % 2 + {b}", "np.outer({a}, {b}).sum(0)",
    "np.einsum('i,i->i', {a} * 1, {b})", "np.round({a} * 3) + {b}")
OPTIONS = ({"lane": "scalar"}, {"lane": "array"}, {})


def has_counterpart(f):
    """Whether plain Python can compute it."""
    try:
        wg.compile(f, lane="scalar")(X)
    except ValueError as error:
        if "lane=" in str(error):
            return False
        raise
    return True


@pytest.mark.parametrize("factor", FACTORS)
def test_arrays(factor):
    for a, b in itertools.permutations(("(x > 0)", "(x > 0.7)", "(x < 2.5)"), 2):
        text = factor.format(a=a, b=b)
        f = eval(f"lambda x: x * ({text})", {"np": np})
        slope = np.asarray(eval(text, {"np": np, "x": X}), float) * np.ones(4)
        for options in OPTIONS:
            if options.get("lane") == "scalar" and not has_counterpart(f):
                continue
            found = wg.compile(f, **options)(X)
            np.testing.assert_array_equal(found, f(X), err_msg=text)
            for mode in ("forward", "reverse"):
                gradient = wg.grad(lambda x, f=f: np.sum(f(x)), mode=mode, **options)
                np.testing.assert_array_equal(gradient(X), slope, err_msg=text)


@pytest.mark.parametrize("f", [
    lambda p: p * ((p > 0) + (p > -1)), lambda p: p * ((p > 0) * (p > -1)),
    lambda p: p * (True + (p > 0)), lambda p: p * sum([p > 0, p > -1, p > 5]),
    lambda p: p * np.add(p > 0, p > -1), lambda p: p * (-(p > 0) * 1.0) if type(p) is float else -p,
    lambda p: p / ((p > 0) + (p > -1)), lambda p: p * np.sum([p > 0, p > -1]),
    lambda p: p * ((p > 0) * 3 - (p > 5)), lambda p: p * ((p > 0) + 0) ** 2])
@pytest.mark.parametrize("p", [2.0, np.float64(2.0), np.array(2.0)], ids=["float", "scalar", "0-d"])
def test_numbers(f, p):
    """Of Python's numbers as Python has it, of NumPy's as NumPy has it."""
    for options in ({}, {"lane": "array"}, {"target": "native"}):
        assert wg.compile(f, **options)(p) == f(p)
        assert wg.grad(f, **options)(p) == pytest.approx(f(p) / 2.0)        # each is p times a number


def test_short_sums_have_their_dtype():
    x = np.array([100, 100, 100], np.int8)
    for target in ("numpy", "native"):
        for f in (np.sum, np.prod, np.cumsum, lambda x: np.sum(x[:2] + x[1:])):
            found = wg.compile(f, target=target)(x)
            np.testing.assert_array_equal(found, f(x))
            assert found.dtype == f(x).dtype


@pytest.mark.parametrize("dtype", ["int64", "int8", "uint16", "float32", "float64"])
def test_rounding_keeps_whole_numbers(dtype):
    x = np.array([0, 1, 3]).astype(dtype)
    for f in (lambda x: np.round(x), lambda x: x.round(), lambda x: np.around(x, 1), lambda x: np.round(x, -1),
              lambda x: np.rint(x), lambda x: np.floor(x), lambda x: np.trunc(x)):
        found, expected = wg.compile(f)(x), f(x)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
