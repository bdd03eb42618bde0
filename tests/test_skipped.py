"""Loops that are left out where a condition does not hold: the same bits, and only where legal."""

import numpy as np
import pytest
import wengert as wg
from wengert.codegen.clusters import fused
from wengert.codegen.kernel import Const, Loop, walk
from wengert.codegen.kernel_interpret import interpret_kernel
from wengert.codegen.kernel_text import format_kernel, format_statement, parse_kernel
from wengert.codegen.kernel_verify import verify_kernel
from wengert.codegen.names import Names
from wengert.codegen.skipped import skipped


def nearest(points, centroids):
    best = np.full(len(points), np.inf)
    for c in centroids:
        best = np.minimum(best, np.sum((points - c) ** 2, axis=1))
    return np.sum(best)


def chosen(points, weights):
    """By the sign of each row, one of two weights."""
    positive = np.sum(points, axis=1, keepdims=True) > 0.0
    return np.sum(np.where(positive, points * weights[0], -points / weights[1]))


def kept(points, weights):
    """Rows that a test on them lets through; both branches of it."""
    total = np.sum(points, axis=1, keepdims=True)
    return np.sum(np.where(total > 0.0, 0.0, points * weights[0]) * np.exp(weights[1]))


CASES = {"nearest": (nearest, 20, 9, 4), "chosen": (chosen, 80, 16, 2), "kept": (kept, 70, 20, 2)}


def case(name):
    """A function, and arguments with rows of zeros of both signs, ties and what is not finite."""
    f, n, m, k = CASES[name]
    rng = np.random.default_rng(3)
    points = rng.normal(size=(n, m))
    points[0], points[1], points[2, :3] = 0.0, -0.0, (np.inf, -np.inf, np.nan)
    weights = rng.normal(size=(k, m))
    weights[-1] = weights[0]
    return f, (points, weights)


def kernels(f, args):
    """The kernels of the gradient by the second argument."""
    return [k for _, k in fused(wg.grad(f, argnums=1).specialize(*args).graph)[1]]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("tiny", [False, True])
def test_bits_stay_the_same(name, tiny, monkeypatch):
    f, args = case(name)
    if tiny:
        monkeypatch.setattr("wengert.codegen.chunks.CHUNK_WORK", 1)
        monkeypatch.setattr("wengert.codegen.chunks.GRAIN", 1)
    (with_tests,) = kernels(f, args)
    monkeypatch.setattr("wengert.codegen.chunks.skipped", lambda statements, *_: statements)
    (without,) = kernels(f, args)
    verify_kernel(with_tests)
    text = format_kernel(with_tests)
    assert " when " in text
    assert " when " not in format_kernel(without)
    assert format_kernel(parse_kernel(text)) == text
    by_name = dict(zip(["points", "weights"], args, strict=True))
    order = [by_name.get(b.name, args[1]) for b in with_tests.having("in")]
    for a, b in zip(interpret_kernel(with_tests, order), interpret_kernel(without, order),
                    strict=True):
        assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_numpy(name):
    f, args = case(name)
    native = wg.grad(f, argnums=1, target="native")(*args)
    with np.errstate(all="ignore"):
        expected = wg.grad(f, argnums=1)(*args)
    np.testing.assert_allclose(native, expected, rtol=1e-12)
    np.testing.assert_array_equal(np.signbit(native), np.signbit(expected))


HEAD = """kernel f
  x: f64[32] in
  yes: bool scalar
  total: f64[32] out
  other: f64[32] out
  nest work 1
"""
ZEROS = {"total": Const(0.0, np.dtype(float)), "other": Const(0.0, np.dtype(float))}
ONE = """    for i in 0..32
      t: f64 = mul(2.0:f64, x[i])
      t_1: f64 = where(yes:bool, t:f64, 0.0:f64)
      total[i] <- add t_1:f64
"""


def parts(text, zeros=ZEROS):
    """Lines of what a loop becomes."""
    (nest,) = parse_kernel(HEAD + text).nests
    made = skipped(nest.body, zeros, Names(["t", "t_1", "t_2", "t_3"]))
    return [line for s in made for line in format_statement(s)], made


def test_a_loop_runs_where_the_condition_holds():
    lines, _ = parts(ONE)
    assert lines == ["for i in 0..32 when yes:bool", "  t: f64 = mul(2.0:f64, x[i])",
                     "  total[i] <- add t:f64"]


def test_a_condition_is_turned_round():
    lines, _ = parts(ONE.replace("t:f64, 0.0:f64)", "0.0:f64, t:f64)"))
    assert lines[0].endswith("= logical_not(yes:bool)")
    assert lines[1].startswith("for i in 0..32 when t")


def test_the_rest_of_a_loop_stays():
    lines, made = parts(ONE + "      other[i] <- add t:f64\n")
    assert [s.when is None for s in made] == [True, False]
    assert lines[1:3] == ["  t: f64 = mul(2.0:f64, x[i])", "  other[i] <- add t:f64"]


@pytest.mark.parametrize("text", [
    ONE.replace("32\n", "7\n", 1),                                  # too short to pay
    ONE.replace("0.0:f64)", "1.0:f64)"),                            # something is added anyway
    ONE.replace("add t_1", "mul t_1").replace("total[i] <-", "x_1[i] <-"),   # no sum
    ONE.replace("<- add", "="),                                     # stored, not added
    ONE.replace("mul(2.0:f64, x[i])", "mul(2.0:f64, total[i])"),    # reads what it stores
    ONE + "      other[i] = t_1:f64\n",                             # needed elsewhere, too
    ONE.replace("yes:bool", "t_2:bool").replace("      t:", "      t_2: bool = less(x[i], 1.0:f64)\n"
                                            "      t:"),            # another at each iteration
])
def test_other_loops_are_left_alone(text):
    (nest,) = parse_kernel(HEAD + text).nests
    _, made = parts(text)
    assert made == list(nest.body)


def test_dear_values_are_not_computed_twice():
    shared = ONE.replace("mul(2.0:f64, x[i])", "exp(x[i])") + "      other[i] <- add t:f64\n"
    _, made = parts(shared)
    assert not any(isinstance(s, Loop) and s.when for s in walk(tuple(made)))


def test_only_what_began_with_the_zero_counts():
    _, made = parts(ONE, {"other": ZEROS["other"]})
    assert [s.when for s in made] == [None]
