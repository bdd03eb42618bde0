"""Figures from lessons on automatic differentiation, reproduced one by one.

Sources: a lesson with two tensor frameworks on build times of a book, a visual introduction to
forward and reverse mode, and a lecture on operator overloading. What those systems get wrong is
tested to be right here.
"""

import csv
import math
from pathlib import Path

import numpy as np
import pytest
import wengert as wg
from wengert.compiler.errors import InputTypeError, NonScalarOutputError
from wengert.compiler.graph import CAPTURED, CONSTANT, INPUT, reachable
from wengert.compiler.transforms import derive
from wengert.runtime.show import wengert_table

DATA = Path(__file__).resolve().parents[1] / "examples" / "data" / "builds.csv"


# -- A. a lesson with two frameworks --------------------------------------------------------------


def test_parabola():
    value, slope = wg.value_and_grad(lambda x: x ** 2 + 3 * x)(2.0)
    assert (value, slope) == (10.0, 7.0)


W, C = np.array([1.0, -2.0, 3.0]), np.array([4.0, 5.0, 6.0])


def loss(w, c):
    return np.sum((w * c) ** 2)


def test_gradient_of_a_product_squared():
    assert wg.grad(loss)(W, C).tolist() == [32.0, -100.0, 216.0]
    assert wg.grad(loss, "c")(W, C).tolist() == [8.0, 40.0, 108.0]


def test_only_what_is_asked_for_is_computed():
    both = wg.grad(loss, (0, 1)).specialize(W, C)
    one = wg.grad(loss).specialize(W, C)
    assert len(both.graph.outputs) == 2
    assert len(one.graph.outputs) == 1
    for program in (one, both):
        graph = program.graph
        needed = reachable([*graph.outputs, *graph.inputs])
        assert set(graph.nodes) == needed
    assert len(one.graph.nodes) < len(both.graph.nodes)


@pytest.mark.parametrize("function", [
    loss, lambda w, c: np.sum(np.tanh(np.outer(w, c)) @ c),
    lambda w, c: np.mean(np.where(w > 0.0, np.exp(w) * c, w)) + np.var(w / c)])
def test_every_statement_feeds_a_requested_output(function):
    source = wg.grad(function).specialize(W, C).source
    lines = [line.strip() for line in source.text.split("def ", 1)[1].splitlines()[1:]]
    code = [line for line in lines if line and not line.startswith("#")]
    for i, line in enumerate(code):
        name = line.partition(" = ")[0]
        if name.isidentifier():
            assert any(name in later for later in code[i + 1:]), line


def test_constants_receive_no_gradient_code():
    graph = wg.grad(lambda w: np.sum((w * C) ** 2)).specialize(W).graph
    work = [n for n in graph.nodes if n.op not in (INPUT, CONSTANT, CAPTURED)]
    assert len(work) <= 4


def test_a_value_used_twice_adds_both_contributions():
    def f(w):
        h = w + 1.0
        return np.sum(h * h)
    assert wg.grad(f)(W).tolist() == [4.0, -2.0, 8.0]


def test_non_scalar_results_are_refused_and_vjp_takes_a_seed():
    with pytest.raises(NonScalarOutputError, match=r"shape \(3,\).*jacobian.*vjp"):
        wg.grad(lambda w: w * C)(W)
    out, ct = wg.vjp(lambda w: w * C)(W, np.array([1.0, 0.0, 2.0]))
    assert out.tolist() == (W * C).tolist()
    assert ct.tolist() == [4.0, 0.0, 12.0]


def test_nothing_accumulates_between_calls():
    gradient = wg.grad(loss)
    first = gradient(W, C)
    second = gradient(W, C)
    assert first is not second
    assert first.tolist() == second.tolist() == [32.0, -100.0, 216.0]
    first[:] = 0.0
    assert gradient(W, C).tolist() == second.tolist()


def test_stop_gradient_gives_an_array_of_zeros():
    g = wg.grad(lambda w: np.sum(wg.stop_gradient(w) ** 2))(W)
    assert isinstance(g, np.ndarray)
    assert g.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("step", [np.round, np.floor, np.ceil, np.sign])
def test_steps_have_zero_derivative(step):
    for mode in ("forward", "reverse"):
        g = wg.grad(lambda w: np.sum(step(w)), mode=mode)(np.array([0.3, -1.2, 2.7]))
        assert isinstance(g, np.ndarray)
        assert g.dtype == np.float64
        assert g.tolist() == [0.0, 0.0, 0.0]


def test_gradient_of_a_maximum_goes_to_the_largest():
    assert wg.grad(lambda w: np.max(w, axis=0))(W).tolist() == [0.0, 0.0, 1.0]
    assert wg.grad(np.max)(W).tolist() == [0.0, 0.0, 1.0]


def test_integers_are_refused_by_name():
    with pytest.raises(InputTypeError, match=r"argument w has dtype int64"):
        wg.grad(loss)(np.array([1, -2, 3]), C)


def test_tanh_agrees_with_central_differences():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 3)), rng.normal(size=(2, 3))

    def f(a, b):
        return np.sum(np.tanh(a * b))
    found = wg.grad(f)(a, b)
    h = 1e-6
    for place in np.ndindex(2, 3):
        up, down = a.copy(), a.copy()
        up[place] += h
        down[place] -= h
        assert abs(found[place] - (f(up, b) - f(down, b)) / (2 * h)) < 1e-8


@pytest.mark.parametrize("outer", ["forward", "reverse"])
@pytest.mark.parametrize("inner", ["forward", "reverse"])
def test_second_derivatives_in_all_modes(outer, inner):
    second = wg.grad(wg.grad(lambda x: x ** 3, mode=inner), mode=outer)
    assert second(2.0) == 12.0
    assert wg.grad(wg.grad(wg.grad(lambda x: x ** 4)))(2.0) == 48.0


# Regression of build times on pages.

def builds(n=52):
    with DATA.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 65
    pages = np.array([float(r["pages"]) for r in rows[:n]])
    seconds = np.array([float(r["build_seconds"]) for r in rows[:n]])
    return pages, seconds


def line_loss(p, x, y):
    return np.mean((p["w"] * x + p["b"] - y) ** 2)


def closed_form(x, y):
    w = np.sum((x - x.mean()) * (y - y.mean())) / np.sum((x - x.mean()) ** 2)
    return w, y.mean() - w * x.mean()


def descend(loss, p, rate, steps, *data):
    """Functional update loop: parameters are values, not objects with gradients inside."""
    gradient = wg.grad(loss)
    losses = {}
    for step in range(1, steps + 1):
        g = gradient(p, *data)
        p = {k: p[k] - rate * g[k] for k in p}
        if step in (1, 10, 100, 1000, 2000):
            losses[step] = loss(p, *data)
    return p, losses


def test_closed_form_and_its_loss():
    x, y = builds()
    w, b = closed_form(x, y)
    assert (f"{w:.6f}", f"{b:.6f}") == ("0.041707", "9.708880")
    assert f"{line_loss({'w': w, 'b': b}, x, y):.6f}" == "5.908583"
    g = wg.grad(line_loss)({"w": w, "b": b}, x, y)
    assert abs(g["w"]) < 1e-9
    assert abs(g["b"]) < 1e-11


def test_loss_and_gradient_at_the_origin():
    x, y = builds()
    value, g = wg.value_and_grad(line_loss)({"w": 0.0, "b": 0.0}, x, y)
    assert f"{value:.6f}" == "314.923077"
    assert f"{g['w']:.6f}" == "-6724.461538"
    assert f"{g['b']:.6f}" == "-34.769231"


def test_descent_diverges_at_a_large_rate():
    x, y = builds()
    p, losses = descend(line_loss, {"w": 0.0, "b": 0.0}, 3e-5, 1000, x, y)
    assert [f"{losses[k]:.3e}" for k in (1, 10, 1000)] == ["4.957e+02", "3.373e+04", "4.538e+207"]
    assert (f"{p['w']:.4e}", f"{p['b']:.4e}") == ("-3.4661e+101", "-1.6887e+99")


def test_descent_crawls_at_a_small_rate():
    x, y = builds()
    p, losses = descend(line_loss, {"w": 0.0, "b": 0.0}, 1e-5, 1000, x, y)
    assert [f"{losses[k]:.3e}" for k in (1, 10, 1000)] == ["3.354e+01", "1.565e+01", "1.561e+01"]
    assert (f"{p['w']:.4e}", f"{p['b']:.4e}") == ("8.8911e-02", "2.0477e-02")


def test_standardised_pages_converge():
    x, y = builds()
    z = (x - x.mean()) / x.std()
    p, _ = descend(line_loss, {"w": 0.0, "b": 0.0}, 0.1, 100, z, y)
    assert (f"{p['w']:.6f}", f"{p['b']:.6f}") == ("2.605694", "17.384615")
    w = p["w"] / x.std()
    b = p["b"] - w * x.mean()
    assert (f"{w:.6f}", f"{b:.6f}") == ("0.041707", "9.708880")
    gap = max(abs(w - closed_form(x, y)[0]), abs(b - closed_form(x, y)[1]))
    assert 1e-10 < gap < 1e-8


def test_the_same_in_single_precision():
    x, y = builds()
    z = ((x - x.mean()) / x.std()).astype(np.float32)
    start = {"w": np.float32(0), "b": np.float32(0)}
    p, _ = descend(line_loss, start, np.float32(0.1), 100, z, y.astype(np.float32))
    assert p["w"].dtype == p["b"].dtype == np.float32
    g = wg.grad(line_loss)(start, z, y.astype(np.float32))
    assert {v.dtype for v in g.values()} == {np.dtype(np.float32)}
    assert 1e-7 < abs(float(p["b"]) - 17.384615384615) < 1e-5


def test_quadratic_fit():
    x, y = builds()
    z = (x - x.mean()) / x.std()

    def quadratic(p, z, y):
        return np.mean((p["a"] * z ** 2 + p["b"] * z + p["c"] - y) ** 2)
    p, losses = descend(quadratic, {"a": 0.0, "b": 0.0, "c": 0.0}, 0.05, 2000, z, y)
    assert [f"{losses[k]:.6f}" for k in (1, 100, 2000)] == ["208.415392", "5.952060", "5.899971"]
    assert [f"{p[k]:.6f}" for k in "abc"] == ["-0.096816", "2.603830", "17.481431"]


X = np.array([[1.0, 2.0], [2.0, -1.0], [-1.0, -3.0], [0.5, 0.5]])
Y = np.array([1.0, 0.0, 0.0, 1.0])


def logistic_loss(w, b, x, y):
    p = 1 / (1 + np.exp(-(x @ w + b)))
    return np.mean(-(y * np.log(p) + (1 - y) * np.log(1 - p)))


def test_logistic_loss_and_its_gradient_by_hand():
    w, b = np.array([0.3, -0.2]), 0.1
    value, (dw, db) = wg.value_and_grad(logistic_loss, (0, 1))(w, b, X, Y)
    assert f"{value:.6f}" == "0.867068"
    assert [f"{v:.6f}" for v in dw] == ["0.022982", "-0.934574"]
    assert f"{db:.6f}" == "0.086767"
    p = 1 / (1 + np.exp(-(X @ w + b)))
    np.testing.assert_allclose(dw, X.T @ (p - Y) / 4, rtol=1e-14)


def test_the_compiler_finds_the_gradient_by_hand():
    program = wg.grad(logistic_loss).specialize(np.array([0.3, -0.2]), 0.1, X, Y)
    graph = program.graph
    assert graph.count("expit") == 1            # p, once
    assert graph.count("matmul") == 2           # x @ w and (p − y) @ x
    assert graph.count("log", "exp", "log1p", "log_expit", "logaddexp") == 0
    assert graph.count("sub") == 1              # p − y
    assert graph.count("mul", "div") == 1       # / n


@pytest.mark.parametrize("scale", [1000.0, -1000.0])
def test_the_logistic_gradient_stays_finite_at_extremes(scale):
    w = np.array([scale, 0.0])
    value, (dw, db) = wg.value_and_grad(logistic_loss, (0, 1))(w, 0.0, X, Y)
    p = (np.sign(X @ w) + 1) / 2
    assert np.isfinite(value)
    np.testing.assert_allclose(dw, X.T @ (p - Y) / 4, atol=1e-12)
    assert np.isfinite(db)


# The companion tape library's functions.

def test_companion_library():
    x = np.array([1.0, 2.0, 4.0])
    y = np.array([1.0, 3.0, 2.0])
    np.testing.assert_allclose(wg.grad(np.mean)(x), np.full(3, 1 / 3), rtol=1e-15)
    np.testing.assert_allclose(wg.grad(np.var)(x), 2 * (x - x.mean()) / 3, rtol=1e-15)
    np.testing.assert_allclose(wg.grad(lambda a: np.mean((a - y) ** 2))(x), 2 * (x - y) / 3,
                               rtol=1e-15)

    def fit(x, y):
        w = np.sum((x - np.mean(x)) * (y - np.mean(y))) / np.sum((x - np.mean(x)) ** 2)
        return w, np.mean(y) - w * np.mean(x)
    wg.check_grads(fit, (x, y))
    assert wg.jacobian(fit, "y")(x, y)[0].shape == (3,)


# -- C. a visual introduction ---------------------------------------------------------------------


def test_forward_differences_are_at_best_half_exact():
    def f(x):
        return x ** 3 - 2 * x

    def error(h):
        return abs((f(2.0 + h) - f(2.0)) / h - 10.0)
    errors = {k: error(10.0 ** -k) for k in range(1, 17)}
    best = min(errors, key=errors.get)
    assert best in (7, 8, 9)
    assert 1e-10 < errors[best] < 1e-6
    assert all(errors[k] > errors[k + 1] for k in range(1, 7))
    assert errors[14] > 100 * errors[best]
    assert errors[16] == 10.0                       # the difference itself is 0
    assert wg.grad(f)(2.0) == 10.0


@pytest.mark.parametrize("product", ["loop", "np.prod"])
def test_a_product_of_n_factors_takes_3n_multiplications(product):
    n = 1024
    rng = np.random.default_rng(0)
    x = rng.uniform(0.9, 1.1, n)

    def loop(x):
        out = x[0]
        for i in range(1, len(x)):
            out = out * x[i]
        return out
    f = loop if product == "loop" else np.prod
    program = wg.grad(f).specialize(x)
    np.testing.assert_allclose(wg.grad(f)(x), np.prod(x) / x, rtol=1e-12)
    multiplications = sum(
        np.size(np.empty(node.type.shape)) for node in program.graph.nodes
        if node.op.name in ("mul", "scale", "div"))
    multiplications += sum(max(node.args[0].type.size - 1, 0) for node in program.graph.nodes
                           if node.op.name in ("prod", "cumprod"))
    by_hand = n * (n - 2)
    assert 2 * n - 3 <= multiplications <= 3 * n - 2
    assert by_hand / (3 * n - 2) == pytest.approx(341, abs=1)


def test_carried_values_of_both_modes():
    table = wengert_table(lambda x: (2 * x + 3) ** 2, 2.0, tangents=(1.0,))
    assert [r.value for r in table.rows] == [2.0, 4.0, 7.0, 49.0]
    assert [r.tangent for r in table.rows] == [1.0, 2.0, 2.0, 28.0]
    assert [r.adjoint for r in reversed(table.rows)] == [1.0, 14.0, 14.0, 28.0]


def test_two_paths_add():
    def f(x):
        return x ** 2 * (x + 1)
    assert wg.grad(f)(2.0) == 16.0
    first = wg.grad(lambda x: x ** 2 * (wg.stop_gradient(x) + 1))(2.0)
    second = wg.grad(lambda x: wg.stop_gradient(x) ** 2 * (x + 1))(2.0)
    assert (first, second) == (12.0, 4.0)


def _kept(f, *args):
    """Bytes of the values that the reverse part of the pulled-back graph reads."""
    graph = wg.vjp(f).specialize(*args, np.ones_like(f(*args))).graph
    ct = graph.inputs[-1]
    backward = {n for n in graph.nodes if ct in reachable([n])}
    read = {a for n in backward for a in n.args if a not in backward and a.op is not CONSTANT}
    return sum(n.type.nbytes for n in read)


@pytest.mark.parametrize(("f", "operands", "kept"), [
    (lambda x: x + 1.0, 1, 0),
    (lambda x: x ** 2, 1, 8 * 64),                       # its input
    (lambda x: np.where(x > 0.0, x, 0.0), 1, 64),         # a mask: one byte an element here
])
def test_what_a_reverse_rule_keeps(f, operands, kept):
    assert _kept(f, np.linspace(-1, 1, 64)) == kept


def test_a_product_keeps_both_operands():
    def f(p):
        return p[0] * p[1]
    a, b = np.linspace(-1, 1, 64), np.linspace(0, 1, 64)
    assert _kept(f, [a, b]) == 2 * 8 * 64


@pytest.mark.parametrize(("n_out", "n_in", "direction", "n_sweeps"),
                         [(3, 2, "forward", 2), (4, 6, "reverse", 4), (1, 50, "reverse", 1)])
def test_jacobians_sweep_along_the_short_side(n_out, n_in, direction, n_sweeps):
    matrix = np.random.default_rng(0).normal(size=(n_out, n_in))

    def f(x):
        return np.tanh(matrix @ x)
    x = np.linspace(0.1, 1.0, n_in)
    graph = wg.trace(f)(x)
    assert derive.sweeps(graph, [0], [0], "auto") == direction
    jacobian = wg.jacobian(f)
    np.testing.assert_allclose(jacobian(x), (1 - f(x) ** 2)[:, None] * matrix, rtol=1e-13)
    counts = {}
    for mode in ("forward", "reverse"):
        derived = derive.jacobian(graph, [0], [0], mode)
        counts[mode] = max((len(n.value) for n in derived.nodes if n.op is CONSTANT
                            and n.type.ndim == 2 and n.type.shape[0] == n.type.shape[1]
                            and np.array_equal(n.value, np.eye(len(n.value)))), default=1)
    widths = {"forward": n_in, "reverse": n_out}
    assert counts[direction] == widths[direction] == n_sweeps
    assert counts[direction] <= min(counts.values())


@pytest.mark.parametrize("n", [10, 1000])
def test_a_scalar_loss_takes_one_sweep_whatever_n(n):
    def f(x):
        return np.sum(np.tanh(np.sin(x) * x + 1.0) ** 2)
    x = np.linspace(0, 1, n)
    forward = wg.compile(f).specialize(x).graph
    both = wg.value_and_grad(f).specialize(x).graph

    def elements(graph):
        return sum(max([node.type.size, *(a.type.size for a in node.args)])
                   for node in graph.nodes if node.args)
    assert elements(both) <= 4 * elements(forward)


def test_relu_at_zero():
    x = np.array([-1.0, 0.0, 2.0])
    assert wg.grad(lambda x: np.sum(np.where(x > 0, x, 0)))(x).tolist() == [0.0, 0.0, 1.0]
    assert wg.grad(lambda x: np.sum(x * (x > 0)))(x).tolist() == [0.0, 0.0, 1.0]
    assert wg.grad(lambda x: np.sum(np.maximum(x, 0)))(x).tolist() == [0.0, 0.5, 1.0]
    both = wg.grad(lambda x: np.sum(np.maximum(x, 0) + np.minimum(x, 0)))
    assert both(x).tolist() == [1.0, 1.0, 1.0]


def test_branches_are_recorded_and_seen_in_the_source():
    def f(x):
        if x > 1.0:
            return x ** 2
        return 3.0 * x
    g = wg.grad(f)
    assert (g(2.0), g(0.5), g(3.0)) == (4.0, 3.0, 6.0)
    assert any("other_branch" in p.source.text and "x > 1.0" in p.source.text
               for p in g.programs)


def test_a_step_function_is_warned_about():
    def step(x):
        return 1.0 if x > 0.0 else 0.0
    with pytest.warns(UserWarning, match="depends on 'x' only through comparisons"):
        assert wg.grad(step)(0.5) == 0.0


def test_a_smoothed_step_has_a_peak_of_its_width():
    for tau in (1.0, 0.1, 0.01):
        slope = wg.grad(lambda x, tau: 1 / (1 + np.exp(-x / tau)))
        peak = slope(0.0, tau)
        assert peak == pytest.approx(1 / (4 * tau), rel=1e-14)
        half = math.log(3 + 2 * math.sqrt(2))          # where the peak has half its height
        assert slope(half * tau, tau) == pytest.approx(peak / 2, rel=1e-12)
        assert np.isfinite(slope(-1e4, tau))


def test_straight_through_and_gumbel_softmax():
    def straight(x):
        return np.sum((x + wg.stop_gradient(np.round(x) - x)) * np.array([1.0, 2.0, 3.0]))
    x = np.array([0.2, 0.7, 1.4])
    assert wg.compile(straight)(x) == 5.0
    assert wg.grad(straight)(x).tolist() == [1.0, 2.0, 3.0]

    def gumbel(logits, noise, tau):
        z = (logits + noise) / tau
        y = np.exp(z - np.max(z))
        soft = y / np.sum(y)
        hard = (soft == np.max(soft)).astype(float)
        return np.sum((soft + wg.stop_gradient(hard - soft)) * np.array([1.0, 2.0, 3.0]))
    logits, noise = np.array([0.1, 0.5, -0.3]), np.array([0.3, 0.0, 0.2])
    assert wg.compile(gumbel)(logits, noise, 0.5) == 2.0
    z = (logits + noise) / 0.5
    p = np.exp(z) / np.sum(np.exp(z))
    w = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(wg.grad(gumbel)(logits, noise, 0.5), p * (w - p @ w) / 0.5,
                               rtol=1e-13)


def test_overwritten_values_are_not_lost():
    def f(x):
        y = np.sin(x)
        z = y * y                  # needs y in the reverse sweep
        y[:] = 0.0
        y += x
        return np.sum(z) + np.sum(y)
    x = np.array([0.3, 0.9])
    np.testing.assert_allclose(wg.grad(f)(x), np.sin(2 * x) + 1.0, rtol=1e-14)
    assert x.tolist() == [0.3, 0.9]


# -- D. a lecture on operator overloading ---------------------------------------------------------


def lecture(x1, x2):
    v1 = np.log(x1)
    v2 = x1 * x2
    v3 = np.sin(x2)
    v4 = v1 + v2
    return v4 - v3


def test_lecture_function():
    value, (d1, d2) = wg.value_and_grad(lecture, (0, 1))(2.0, 5.0)
    assert (f"{value:.3f}", f"{d1:.1f}", f"{d2:.3f}") == ("11.652", "5.5", "1.716")
    _, forward = wg.jvp(lecture, (0, 1))(2.0, 5.0, (1.0, 0.0))
    assert forward == d1


def test_evaluation_trace_of_the_lecture():
    table = wengert_table(lecture, 2.0, 5.0)
    assert [f"{r.name} = {r.expression}" for r in table.rows] == [
        "v₋₁ = x1", "v₀ = x2", "v₁ = ln v₋₁", "v₂ = v₋₁·v₀", "v₃ = sin v₀", "v₄ = v₁ + v₂",
        "v₅ = v₄ − v₃"]
    adjoints = {r.name: float(r.adjoint) for r in table.rows}
    assert adjoints["v₅"] == adjoints["v₄"] == adjoints["v₂"] == adjoints["v₁"] == 1.0
    assert adjoints["v₃"] == -1.0
    assert adjoints["v₋₁"] == 5.5
    assert adjoints["v₀"] == pytest.approx(2.0 - math.cos(5.0), rel=1e-15)
    text = str(table)
    assert "v₅ = v₄ − v₃    11.6521" in text
    assert "v̄₋₁    5.5" in text
    assert "v̄₀     1.71634" in text
    first, second = text.split("\n\n")
    assert first.splitlines()[0].startswith("v₋₁")
    assert second.splitlines()[0].startswith("v̄₅")


def test_what_taping_cannot_do():
    hessian = wg.hessian(lambda x: lecture(x[0], x[1]))(np.array([2.0, 5.0]))
    np.testing.assert_allclose(hessian, [[-0.25, 1.0], [1.0, math.sin(5.0)]], rtol=1e-14)

    def root(a):                  # Newton's method: a while loop on the data
        x = a
        while abs(x * x - a) > 1e-14 * a:
            x = 0.5 * (x + a / x)
        return x
    for a in (2.0, 9.0, 1e4):
        assert wg.grad(root)(a) == pytest.approx(0.5 / math.sqrt(a), rel=1e-9)


def test_magnitude_of_a_fourier_transform():
    x = np.array([0.3, -1.2, 0.7, 2.0, -0.4])
    weights = np.array([1.0, -0.5, 2.0, 0.25, 3.0])

    def loss(v):
        return np.sum(weights * np.abs(np.fft.fft(v)))
    k = np.arange(5)
    dft = np.exp(-2j * np.pi * np.outer(k, k) / 5)
    spectrum = dft @ x
    expected = np.real(dft.T @ (weights * np.conj(spectrum) / np.abs(spectrum)))
    for mode in ("reverse", "forward"):
        np.testing.assert_allclose(wg.grad(loss, mode=mode)(x), expected, rtol=1e-12)
    wg.check_grads(loss, (x,))
