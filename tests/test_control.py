"""Loops and branches that stay what they are: meaning, derivatives, batches, errors, source."""

import itertools
import pickle

import numpy as np
import pytest
import wengert as wg
from check import check_derivatives, check_source
from programs import PROGRAMS
from scipy import special
from wengert.compiler.errors import (
    BodyBranchError,
    BranchMismatchError,
    CarryError,
    MutationError,
    NotDifferentiableError,
    PredicateError,
    SnapshotsError,
    TripCountError,
    UnsupportedFunctionError,
)
from wengert.compiler.interpret import interpret
from wengert.compiler.passes.narrow import narrow
from wengert.compiler.passes.pipeline import PREPARE, run
from wengert.compiler.text import parse
from wengert.compiler.trace.tree import flatten
from wengert.compiler.transforms.batch import batch
from wengert.compiler.transforms.jvp import jvp
from wengert.compiler.transforms.vjp import vjp
from wengert.compiler.verify import verify

CONTROL = [p for p in PROGRAMS if p.function.__module__.endswith("control")]
X = np.array([0.3, -0.7, 1.1])
P = np.array([0.3, 0.7, 1.1])


def graph_of(function, *args):
    return verify(run(wg.trace(function)(*args), PREPARE))


# -- meaning ---------------------------------------------------------------------------------------


def test_without_a_trace_the_functions_run_in_python():
    steps = []

    def body(i, x):
        steps.append(i)
        return x * 2.0
    assert wg.fori_loop(2, 5, body, 1.0) == 8.0
    assert steps == [2, 3, 4]
    assert wg.while_loop(lambda x: x < 100.0, lambda x: 3.0 * x, 1.0) == 243.0
    last, (ys, zs) = wg.scan(lambda c, x: (c + x["a"], (c, -c)), 0.0, {"a": np.arange(1.0, 5.0)})
    assert (last, ys.tolist(), zs.tolist()) == (10.0, [0.0, 1.0, 3.0, 6.0], [-0.0, -1, -3, -6])
    assert wg.cond(True, lambda x: x + 1, lambda x: x - 1, 1) == 2
    assert wg.cond(np.array([False]), lambda x: x + 1, lambda x: x - 1, 1) == 0


def test_bodies_write_to_copies():
    start = np.zeros(3)

    def body(i, x):
        x[i] = i + 1.0
        return x
    assert wg.fori_loop(0, 3, body, start).tolist() == [1.0, 2.0, 3.0]
    assert start.tolist() == [0.0, 0.0, 0.0]
    assert wg.compile(lambda s: wg.fori_loop(0, 3, body, s))(start).tolist() == [1.0, 2.0, 3.0]
    assert start.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_any_number_of_steps(n):
    def counted(x):
        return np.sum(wg.fori_loop(0, n, lambda i, y: y * x + i, x))

    def scanned(x):
        last, rows = wg.scan(lambda c, i: (c * x, c[0] * i), x, np.arange(float(n)))
        return np.sum(last) + np.sum(rows)

    def at_run_time(x, n):
        return np.sum(wg.fori_loop(0, n, lambda i, y: y * x + i, x))
    np.testing.assert_allclose(wg.grad(at_run_time)(X, n), wg.grad(counted)(X), rtol=1e-14)
    for f in (counted, scanned):
        value, slope = wg.value_and_grad(f)(X)
        np.testing.assert_allclose(value, f(X), rtol=1e-14)
        steps = 1e-6 * np.eye(3)
        np.testing.assert_allclose(slope, [(f(X + h) - f(X - h)) / 2e-6 for h in steps],
                                   rtol=1e-7, atol=1e-8)


def test_an_empty_scan_has_empty_rows():
    for f in (lambda c: wg.scan(lambda c, x: (c, (x * c, c > 0)), c, np.zeros((0, 2))),):
        for made in (f(1.5), wg.compile(f)(1.5)):
            last, (rows, signs) = made
            assert (last, rows.shape, rows.dtype) == (1.5, (0, 2), np.float64)
            assert (signs.shape, signs.dtype) == ((0,), np.bool_)


def test_one_program_for_every_number_of_steps_and_every_branch():
    @wg.grad
    def slope(x, n):
        y = wg.fori_loop(0, n, lambda i, y: y * x, 1.0)
        return wg.cond(y > 1.0, lambda: y ** 2, lambda: y)
    for n in range(1, 6):
        for x in (0.5, 2.0):
            expected = 2 * n * x ** (2 * n - 1) if x > 1 else n * x ** (n - 1)
            assert float(slope(x, n)) == pytest.approx(expected, rel=1e-14)
    assert len(slope.programs) == 1


def test_a_decision_on_outer_values_is_made_outside():
    @wg.grad
    def slope(x, sign):
        def body(i, y):
            return y * x if sign > 0 else y + x
        return wg.fori_loop(0, 3, body, x)
    assert (slope(2.0, 1.0), slope(2.0, -1.0)) == (32.0, 4.0)
    assert len(slope.programs) == 2


# -- derivatives -----------------------------------------------------------------------------------


@pytest.mark.slow            # test_programs.py does most of this
@pytest.mark.parametrize("program", CONTROL, ids=lambda p: p.name)
def test_derivatives_of_every_order_and_mode(program):
    """Forward against differences, reverse against forward; both again; the source of each."""
    rng = np.random.default_rng(5)
    graph = graph_of(program.function, *program.args)
    values = list(flatten(program.args)[0])
    wrt = [i for i, n in enumerate(graph.inputs) if n.type.differentiable]
    check_derivatives(graph, values, wrt, rng, program.name, order=program.order)


def third(function, x):
    """Three times the gradient, each of a scalar, in the order reverse, reverse, reverse."""
    for _ in range(3):
        function = wg.grad(function)
    return function(x)


@pytest.mark.parametrize(("looped", "plain"), [
    (lambda x: wg.fori_loop(0, 4, lambda i, y: np.sin(y) * x, x),
     lambda x: np.sin(np.sin(np.sin(np.sin(x) * x) * x) * x) * x),
    (lambda x: wg.scan(lambda c, a: (c * x + a, c ** 2), 1.0, np.array([0.5, -1.0]))[1].sum(),
     lambda x: 1.0 + (x + 0.5) ** 2),
    (lambda x: wg.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, np.exp(s[1]) * x), (0, x))[1],
     lambda x: np.exp(np.exp(np.exp(x) * x) * x) * x),
    (lambda x: wg.cond(x > 0, lambda: x ** 5, lambda: -x ** 3), lambda x: x ** 5)])
def test_third_derivative_is_that_of_the_formula(looped, plain):
    assert third(looped, 0.3) == pytest.approx(third(plain, 0.3), rel=1e-12)
    forward = wg.grad(wg.grad(wg.grad(looped, mode="forward")), mode="forward")(0.3)
    assert forward == pytest.approx(third(plain, 0.3), rel=1e-12)


def newton(step, a):
    """√a; the number of steps depends on a."""
    return step(lambda x: np.abs(x * x - a) > 1e-14 * a, lambda x: (x + a / x) / 2, a)


def bisection(step, a):
    """The zero of x³ − 2 in [0, a], by the bracket's ends alone."""
    def body(bracket):
        low, high = bracket
        middle = (low + high) / 2
        return (np.where(middle ** 3 < 2.0, middle, low), np.where(middle ** 3 < 2.0, high, middle))
    return step(lambda b: b[1] - b[0] > 1e-9, body, (0.0 * a, a))[0]


def adaptive(step, a):
    """y′ = −a·y² on [0, 1] by Heun's method with step control."""
    def body(state):
        t, h, y = state
        h = np.minimum(h, 1.0 - t)
        k = -a * y ** 2
        euler = y + h * k
        heun = y + h / 2 * (k - a * euler ** 2)
        error = np.abs(heun - euler)
        good = error < 0.01
        return (np.where(good, t + h, t), h * np.clip(0.9 * np.sqrt(0.01 / error), 0.3, 3.0),
                np.where(good, heun, y))
    return step(lambda s: s[0] < 1.0, body, (0.0 * a, 0.3 + 0.0 * a, 1.0 + 0.0 * a))[2]


def unrolled(test, body, init):
    carry = init
    while test(carry):
        carry = body(carry)
    return carry


@pytest.mark.parametrize("method", [newton, bisection, adaptive])
@pytest.mark.parametrize("a", [1.7, 3.4])
def test_reverse_through_while_loop_is_the_unrolled_derivative(method, a):
    structured = wg.grad(lambda a: method(wg.while_loop, a))
    expected = wg.grad(lambda a: method(unrolled, a))(a)
    assert structured(a) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert "while " in structured.source
    assert wg.grad(lambda a: method(wg.while_loop, a), mode="forward")(a) == pytest.approx(
        expected, rel=1e-12, abs=1e-12)


def test_jacobians_of_a_loop_agree_with_differences_of_plain_python():
    A = np.array([[0.1, 0.5], [-0.4, 0.2]])

    def f(x):
        return wg.fori_loop(0, 20, lambda i, y: np.tanh(A @ y) + x, x)
    x = np.array([0.3, -0.2])
    expected = np.stack([(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(2)], axis=-1)
    for mode in ("forward", "reverse"):
        np.testing.assert_allclose(wg.jacobian(f, mode=mode)(x), expected, rtol=1e-8)


# -- what is not chosen contributes nothing -------------------------------------------------------


def test_the_branch_that_is_not_taken_contributes_no_nan():
    def f(x):
        return wg.cond(x > 0, lambda: np.sqrt(x) * np.log(x), lambda: 0.0 * x)
    for order, g in enumerate((f, wg.grad(f), wg.grad(wg.grad(f)), wg.grad(
            wg.grad(f), mode="forward"))):
        with np.errstate(all="raise"):              # not even computed
            assert float(wg.compile(g)(0.0)) == 0.0, order


def test_those_of_a_batch_that_are_done_contribute_no_nan():
    """Past its end a step would divide by zero, in the value and in the derivative."""
    def f(x, n):
        def body(state):
            i, y = state
            return i + 1, y * np.sqrt(n - 1.0 - i) + x
        return wg.while_loop(lambda s: s[0] < n, body, (0, x))[1]
    graph = graph_of(f, 2.0, 3)
    for derivative in (jvp(graph, [0]), vjp(graph, [0])):
        many, _ = batch(derivative, 3, [True, True, False])
        with np.errstate(all="ignore"):
            _, found = interpret(run(many), np.array([2.0, 3.0, 0.5]), np.array([1, 3, 2]), 1.0)
        one = [wg.grad(f)(x, n) for x, n in ((2.0, 1), (3.0, 3), (0.5, 2))]
        np.testing.assert_allclose(found, one, rtol=1e-13)


# -- batches ---------------------------------------------------------------------------------------

BATCHED = [
    (lambda x, a: wg.fori_loop(0, 3, lambda i, y: np.sin(y) * a + x[i], x), X, 0.7),
    (lambda x, a: wg.scan(lambda c, s: (c * s + a, c - s), a, x), X, 0.7),
    (lambda x, a: wg.while_loop(lambda y: np.sum(y ** 2) > a, lambda y: y * 0.7 * np.cos(y), x),
     X, 0.1),
    (lambda x, a: wg.cond(a > 0.3, lambda: np.sin(x) * a, lambda: x ** 2), X, 0.4),
    (lambda x, a: wg.cond(np.sum(x) > a, lambda y: (y, a), lambda y: (np.cos(y), 1.0 + 0 * a), x),
     X, 0.65),
    (lambda x, a: wg.fori_loop(0, 2, lambda i, y: wg.cond(
        y[0] > a, lambda: np.exp(y) * x, lambda: y + x), x), X, 0.2)]


@pytest.mark.parametrize(("function", "x", "a"), BATCHED)
@pytest.mark.parametrize("derive", [lambda g: g, lambda g: jvp(g, [0, 1]), lambda g: vjp(g, [0, 1]),
                                    lambda g: vjp(jvp(g, [0]), [0]), lambda g: jvp(vjp(g, [0]), [0])])
def test_batches_equal_a_loop_over_them(function, x, a, derive):
    graph = verify(derive(graph_of(function, x, a)))
    rng = np.random.default_rng(2)
    n = len(graph.inputs)
    single = [x, a, *[np.asarray(rng.uniform(0.5, 1.5, i.type.shape))[()]
                      for i in graph.inputs[2:]]]
    many = [np.stack([v * s for s in (1.0, 0.6, 1.4)]) for v in single]
    chosen = list(itertools.product((False, True), repeat=min(n, 3)))
    for flags in ([*f, *[f[-1]] * (n - len(f))] for f in chosen if any(f)):
        values = [m if b else v for m, v, b in zip(many, single, flags, strict=True)]
        batched, has_axis = batch(graph, 3, flags)
        found = interpret(run(verify(batched)), *values)
        check_source(batched, values, f"source for {flags}")
        rows = [interpret(graph, *[m[k] if b else v for m, v, b in zip(
            many, single, flags, strict=True)]) for k in range(3)]
        for out, one, is_batched in zip(found, zip(*rows, strict=True), has_axis, strict=True):
            wanted = np.stack(one) if is_batched else one[0]
            np.testing.assert_allclose(out, wanted, rtol=1e-11, atol=1e-12)


def chain(n, snapshots=None):
    def f(x):
        return np.sum(wg.fori_loop(0, n, lambda i, y: 0.9 * np.exp(-y) * x, x, snapshots=snapshots))
    return f


# -- source ----------------------------------------------------------------------------------------


def test_source_reads_as_a_person_would_write_it():
    def orbit(x, h):
        def step(i, state):
            q, p = state
            p = p - h * np.sin(q)
            return q + h * p, p
        q, p = wg.fori_loop(0, 1000, step, (x, 0.0 * x))
        return np.sum(q * p)
    gradient = wg.grad(orbit)
    gradient(X, 0.01)
    lines = [line for line in gradient.source.splitlines() if "#" not in line]
    assert "\n".join(lines[3:]) == '''\
def orbit_grad(x, h):
    q = x
    p = 0.0 * x
    states = []
    for _ in range(1000):
        states.append(q)
        p_1 = p - h * np.sin(q)
        q = q + h * p_1
        p = p_1
    x_bar = p
    p_bar = q
    for q_1 in reversed(states):
        p_bar_1 = p_bar + x_bar * h
        x_bar = x_bar - p_bar_1 * h * np.cos(q_1)
        p_bar = p_bar_1
    return x_bar'''


def test_source_is_as_short_for_many_steps():
    for n in (10, 1000, 1_000_000):
        for transform in (wg.grad, wg.hessian, wg.compile):
            compiled = transform(chain(n)).specialize(P)
            assert len(compiled.source.text.splitlines()) < 200


def test_a_carried_array_is_assigned_into_without_a_copy():
    def f(x):
        def step(i, y):
            y[i] = np.sin(y[i - 1]) * x
            return y
        return np.sum(wg.fori_loop(1, 9, step, np.ones(9)))
    source = wg.compile(f).specialize(0.5).source.text
    assert "y[i] = np.sin(y[i - 1]) * x" in source
    assert "copy" not in source
    assert wg.compile(f)(0.5) == f(0.5)


def test_a_carried_array_that_something_else_shares_is_copied():
    def f(x, start):
        def step(i, state):
            y, z, w = state
            before = y[2] * 1.0
            y[i] = z[0] * x + w[1]
            y[0] += before
            return y, y[::-1], z
        y, z, w = wg.fori_loop(0, 3, step, (start, start, start))
        return np.sum(y * np.arange(3.0) + 2.0 * z ** 2 - w)
    start = np.array([0.3, 0.6, -0.4])
    kept = start.copy()
    value, slopes = wg.value_and_grad(f, (0, 1))(0.7, start)
    assert start.tolist() == kept.tolist()
    assert value == pytest.approx(f(0.7, start), rel=1e-14)
    forward = wg.grad(f, (0, 1), mode="forward")(0.7, start)
    expected = (f(0.7 + 1e-6, start) - f(0.7 - 1e-6, start)) / 2e-6
    assert slopes[0] == pytest.approx(expected, rel=1e-8)
    np.testing.assert_allclose(np.hstack(slopes), np.hstack(forward), rtol=1e-12)


def test_saved_module_runs_on_its_own(tmp_path):
    compiled = wg.grad(chain(30, 4))
    expected = compiled(P)
    text = compiled.save(tmp_path / "chain_grad.py").read_text()
    assert "wengert" not in text
    module = {}
    exec(text, module)
    assert module["f_grad"](P).tolist() == expected.tolist()


def test_an_unused_result_costs_nothing():
    def f(x):
        q, _ = wg.fori_loop(0, 5, lambda i, s: (np.sin(s[0]), s[1] + np.exp(s[0])), (x, x))
        rows = wg.scan(lambda c, s: (c + s, (c * s, np.cosh(c))), 0.0, x)[1][0]
        chosen = wg.cond(np.sum(x) > 0, lambda: (x, np.tan(x)), lambda: (-x, x))[0]
        return q + rows + chosen
    source = wg.compile(f).specialize(X).source.text
    code = "\n".join(line for line in source.splitlines() if "#" not in line)
    assert not any(name in code for name in ("exp", "cosh", "tan"))
    graph = run(wg.trace(f)(X), PREPARE)
    assert str(narrow(graph)) == str(graph)


def test_numbers_move_into_the_body():
    def f(x):
        c = np.float64(2.0) * 3.0
        k = x * 0.0 + c if False else c
        return wg.fori_loop(0, 3, lambda i, y: y * k, x)
    assert "* 6.0" in wg.compile(f).specialize(1.0).source.text


def test_text_form_with_bodies_prints_and_parses():
    program = next(p for p in CONTROL if p.name == "branch_in_a_loop")
    graph = graph_of(program.function, *program.args)
    text = str(graph)
    assert "body1: graph " in text
    assert parse(text) == graph
    assert "body3: graph " in text
    assert (graph.count("sin"), graph.count("cond")) == (1, 1)


# -- the rest of the package -----------------------------------------------------------------------


def test_captured_arrays_are_read_anew():
    scale = np.array([1.0, 2.0, 3.0])

    def f(x):
        made = np.array([2.0, 2.0, 2.0])
        y = wg.fori_loop(0, 3, lambda i, y: y * scale + made, x)
        made[0] = 100.0                     # after the loop has run
        return np.sum(y)
    gradient = wg.grad(f)
    assert gradient(X).tolist() == [1.0, 8.0, 27.0]
    scale[0] = 2.0
    assert gradient(X).tolist() == [8.0, 8.0, 27.0]
    assert wg.compile(f)(X) == pytest.approx(f(X), rel=1e-14)


def test_complex_numbers():
    def looped(z):
        return wg.fori_loop(0, 3, lambda i, w: w * w + z, z)

    def plain(z):
        w = z
        for _ in range(3):
            w = w * w + z
        return w
    z = 0.3 + 0.2j
    assert wg.grad(looped, holomorphic=True)(z) == pytest.approx(
        wg.grad(plain, holomorphic=True)(z), rel=1e-14)

    def real(step):
        return lambda x: np.real(step(lambda i, w: np.exp(1j * w) * x, x + 0j))
    for mode in ("forward", "reverse"):
        assert wg.grad(real(lambda body, w: wg.fori_loop(0, 2, body, w)), mode=mode)(
            0.3) == pytest.approx(wg.grad(real(lambda body, w: body(1, body(0, w))))(0.3), rel=1e-14)


def test_programs_with_loops_pickle():
    program = wg.grad(chain(5)).specialize(P)
    again = pickle.loads(pickle.dumps(program))
    assert again.raw(P).tolist() == program.raw(P).tolist()
    assert again.graph == program.graph


def test_explain_nan_and_sympy_name_the_line():
    def f(x):
        return wg.fori_loop(0, 5, lambda i, y: np.log(y - 0.5), x)
    with np.errstate(all="ignore"):
        found = wg.explain_nan(wg.compile(f), 2.0)
    assert found.operation == "loop"
    assert found.origin.line == f.__code__.co_firstlineno + 1
    assert "is nan" in str(found)
    with pytest.raises(UnsupportedFunctionError, match="loop has no formula"):
        wg.to_sympy(wg.trace(f)(2.0))


# -- refusals --------------------------------------------------------------------------------------


def line_of(function, offset):
    return f"{__file__}:{function.__code__.co_firstlineno + offset}"


def grows(i, x):
    y = 2.0 * x
    return np.append(y, 1.0)


def decides(i, x):
    if x[0] > 0:
        return 2.0 * x
    return x


def narrows(i, x):
    return x.astype(np.float32)


def pairs(i, x):
    return x, x


@pytest.mark.parametrize(("body", "offset", "error", "words"), [
    (grows, 2, CarryError, "f64[3] and comes out of grows as f64[4]"),
    (narrows, 1, CarryError, "f64[3] and comes out of narrows as f32[3]"),
    (pairs, 0, CarryError, "comes out of pairs as"),
    (decides, 1, BodyBranchError, "wengert.cond"),
])
def test_body_errors_name_the_users_line(body, offset, error, words):
    with pytest.raises(error) as caught:
        wg.grad(lambda x: np.sum(wg.fori_loop(0, 3, body, x)))(X)
    assert words in str(caught.value)
    if offset:
        assert str(caught.value).startswith(line_of(body, offset))


def test_a_body_does_not_write_to_outer_arrays():
    def f(x):
        rows = np.zeros(3)

        def body(i, y):
            rows[i] = y
            return y * x
        return wg.fori_loop(0, 3, body, x) + np.sum(rows)
    with pytest.raises(MutationError, match="Carry the array"):
        wg.grad(f)(2.0)


@pytest.mark.parametrize(("function", "error", "words"), [
    (lambda x: wg.fori_loop(0, 3, lambda i, s: s + x[0], 0), CarryError, "Start from 0.0"),
    (lambda x: wg.fori_loop(0, 3, lambda i, s: s, "a"), CarryError, "of type str"),
    (lambda x: wg.scan(lambda c, y: c, x, x)[0], CarryError, "does not return a pair"),
    (lambda x: wg.scan(lambda c, y: (c, y), x), TripCountError, "not given"),
    (lambda x: wg.scan(lambda c, y: (c, y), x, x, length=2), TripCountError, "2, 3"),
    (lambda x: wg.fori_loop(0, 3, lambda i, y: y, x, snapshots=0), SnapshotsError, "is 0"),
    (lambda x: wg.scan(lambda c, y: (c, y), x, x, on_disk=1.5), SnapshotsError, "is 1.5"),
    (lambda x: wg.fori_loop(0, x[0] > 0, lambda i, y: y, x, on_disk=3), SnapshotsError, "traced"),
    (lambda x: wg.cond(x > 0, lambda: x, lambda: x), PredicateError, r"bool\[3\]"),
    (lambda x: wg.while_loop(lambda y: y > 0, lambda y: y - 1, x), PredicateError, r"bool\[3\]"),
    (lambda x: wg.cond(x[0] > 0, lambda: x, lambda: x[0]), BranchMismatchError, "different types"),
    (lambda x: wg.cond(x[0] > 0, lambda: x, lambda: (x,)), BranchMismatchError, "structures"),
])
def test_refusals(function, error, words):
    with pytest.raises(error, match=words):
        wg.compile(function)(X)


def test_operations_without_a_derivative_are_refused_inside_a_body():
    with pytest.raises(NotDifferentiableError, match="jv"):
        wg.grad(lambda x: wg.fori_loop(0, 2, lambda i, y: special.jv(y, 1.0), x))(0.5)
