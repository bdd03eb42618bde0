"""Rewriting functions: what they leave, and that they leave the values as they were."""

import numpy as np
import pytest
import wengert as wg
from scipy import special
from wengert.compiler.interpret import interpret
from wengert.compiler.passes.dead import remove_dead
from wengert.compiler.passes.pipeline import run
from wengert.compiler.passes.select import disjoint
from wengert.compiler.passes.simplify import simplify
from wengert.compiler.transforms.vjp import vjp

V, W = np.array([1.5, -2.0, 0.5]), np.array([0.25, 3.0, -1.0])
M = np.arange(6.0).reshape(2, 3) - 2.0
C = V > 0


def _stored(x, *pairs):
    y = x.copy()
    for index, value in pairs:
        y[index] = value
    return y


# name: function, arguments, how often operators are left
CASES = {
    "reshape of reshape": (lambda x: x.reshape(3, 2).reshape(6), (M,), {"reshape": 1}),
    "reshape to the same": (lambda x: x.reshape(3, 2).reshape(2, 3), (M,), {"reshape": 0}),
    "transposes that cancel": (lambda x: x.T.T, (M,), {"transpose": 0}),
    "transposes that combine": (lambda x: np.transpose(x.T.reshape(3, 2, 1), (2, 0, 1)), (M,),
                                {"transpose": 2}),
    "transpose of a product": (lambda x, y: (x @ y.T).T, (M, M), {"transpose": 1}),
    "element of a transpose": (lambda x: x.T[:, 1], (M,), {"transpose": 0}),
    "slices of a transpose": (lambda x: np.transpose(x.reshape(1, 2, 3), (2, 0, 1))[1:, 0], (M,),
                              {"transpose": 1}),
    "transpose of a stack": (lambda x, y: np.stack([x, y], axis=1).T, (V, W), {"transpose": 0}),
    "transpose of a stack, others too": (lambda x, y: np.stack([x, y], axis=1).T, (M, M),
                                         {"transpose": 1}),
    "transpose of a sum of transposes": (lambda x, y: (np.sin(x.T) * 2.0 + y.T).T, (M, M),
                                         {"transpose": 0}),
    "transpose of a sum": (lambda x, y: (x.T + y[0, :2]).T, (M, M), {"transpose": 2}),
    "broadcast of broadcast": (lambda x: np.broadcast_to(np.broadcast_to(x, (2, 3)), (4, 2, 3)),
                               (V,), {"broadcast_to": 1}),
    "broadcast that is absorbed": (lambda x, y: np.broadcast_to(x, (2, 3)) * y, (V, M),
                                   {"broadcast_to": 0}),
    "broadcast that is delayed": (lambda x: np.sin(np.broadcast_to(x, (2, 3))), (V,),
                                  {"broadcast_to": 1}),
    "broadcast of both operands": (lambda x, y: np.broadcast_to(x, (5, 3)) * np.broadcast_to(
        y, (5, 3)), (V, W), {"broadcast_to": 1}),
    "new axes in front": (lambda x, y: x[None, :] * y, (V, M), {"reshape": 0, "getitem": 0}),
    "new axes by reshaping": (lambda x: x[:, None] * 2.0, (V,), {"reshape": 1, "getitem": 0}),
    "new axes and a slice": (lambda x: x[None, 1:, None], (V,), {"reshape": 1, "getitem": 1}),
    "sum of a broadcast": (lambda x: np.sum(np.broadcast_to(x, (4, 3))), (V,),
                           {"broadcast_to": 0, "sum": 1}),
    "sum of a broadcast along it": (lambda x: np.sum(np.broadcast_to(x, (4, 3)), axis=0), (V,),
                                    {"broadcast_to": 0, "sum": 0}),
    "sum of a broadcast across it": (lambda x: np.sum(np.broadcast_to(x, (4, 3)), axis=1), (V,),
                                     {"broadcast_to": 1, "sum": 1}),
    "sum of a broadcast, axes kept": (lambda x: np.sum(np.broadcast_to(
        x[:, None], (2, 3, 4)), axis=(0, 2), keepdims=True), (V,), {"sum": 0}),
    "sum over no axis": (lambda x: np.sum(x, axis=()), (V,), {"sum": 0}),
    "sum of nothing": (lambda x: np.sum(np.broadcast_to(x, (0, 3)), axis=0), (V,), {}),
    "sum of the negated": (lambda x: np.sum(-x), (V,), {"sum": 1, "neg": 1}),
    "sum of the reshaped": (lambda x: np.sum(x.reshape(3, 2)), (M,), {"reshape": 0}),
    "product of the negated": (lambda x, y: (-x) @ (-y.T), (M, M), {"neg": 0}),
    "conversion to the same": (lambda x: x.astype(float), (V,), {"convert": 0}),
    "conversion of integers": (lambda x, n: x * n.astype(float), (V, np.array([1, 2, 3])),
                               {"convert": 0}),
    "conversion that matters": (lambda x, n: x * n.astype(np.float32),
                                (V, np.array([1, 2, 2 ** 25 + 1])), {"convert": 1}),
    "scalars in einsum": (lambda x, y: np.einsum(",ij->ji", x, y), (2.0, M),
                          {"einsum": 0, "transpose": 1}),
    "both branches alike": (lambda x: np.where(x > 0, x, x), (V,), {"where": 0}),
    "the same question twice": (lambda x: np.where(x > 0, 1.0, np.where(x > 0, x, 2.0)), (V,),
                                {"where": 1}),
    "questions that exclude each other": (
        lambda x, y: np.where(x < y, np.where(x == y, 1.0, x), y), (V, W), {"where": 1}),
    "questions that do not": (
        lambda x, y: np.where(x <= y, np.where(x == y, 1.0, x), y), (V, W), {"where": 2}),
    "selections added": (lambda x, y: np.where(x > 0, x, 0.0) + np.where(x > 0, 0.0, y), (V, W),
                         {"where": 1, "add": 0}),
    "selections subtracted": (lambda x, y: np.where(x > 0, x, 0.0) - np.where(x > 0, y, 0.0),
                              (V, W), {"where": 1, "sub": 1}),
    "element of a stack": (lambda x: np.stack([x, x * 2])[1], (V,), {"stack": 0, "getitem": 0}),
    "element that was stored": (lambda x: _stored(x, (0, 7.0 * x[1]))[0], (V,), {"setitem": 0}),
    "element beside what was stored": (lambda x: _stored(x, (0, 7.0))[1], (V,), {"setitem": 0}),
    "slice over what was stored": (lambda x: _stored(x, (0, 7.0))[:2], (V,), {"setitem": 1}),
    "stored twice": (lambda x: _stored(x, (1, 7.0), (1, x[0])), (V,), {"setitem": 1}),
    "stored as it was": (lambda x: _stored(x, (1, x[1])), (V,), {"setitem": 0}),
    "stored everywhere": (lambda x: _stored(x, (slice(None), x * 2)), (V,), {"setitem": 0}),
    "assembled": (lambda x: _stored(np.zeros_like(x), (0, x[1]), (1, x[2]), (2, x[0])), (V,),
                  {"setitem": 0, "stack": 1}),
    "not quite assembled": (lambda x: _stored(np.zeros_like(x), (0, x[1]), (2, x[0])), (V,),
                            {"setitem": 2, "stack": 0}),
    "log of a sum of exponentials": (lambda x: np.log(np.sum(np.exp(x), axis=1)), (M,),
                                     {"exp": 0, "logsumexp": 1}),
    "a power of zero": (lambda x: np.sum(x ** 0), (V,), {"power": 0}),
    "nothing added": (lambda x: x + np.zeros_like(x), (V,), {"add": 0}),
    "nothing added that widens": (lambda x: x + np.zeros_like(M), (V,), {}),
    "a difference turned round": (lambda x, y: -(x - y), (V, W), {"neg": 0, "sub": 1}),
    "a difference that is needed": (lambda x, y: (x - y, -(x - y)), (V, W), {"neg": 1}),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rewrite(name, dtype):
    f, args, counts = CASES[name]
    args = [a.astype(dtype) if getattr(a, "dtype", None) == np.float64 else a for a in args]
    traced = wg.trace(f)(*args)
    final = run(traced)
    for before, after in zip(interpret(traced, *args), interpret(final, *args), strict=True):
        np.testing.assert_allclose(after, before, rtol=4 * np.finfo(dtype).eps)
        assert np.asarray(after).dtype == np.asarray(before).dtype
        assert np.shape(after) == np.shape(before)
    if dtype is np.float64:      # a rewrite that would change float32 to float64 is refused
        assert {op: final.count(op) for op in counts} == counts
    assert [n.type.strong for n in final.outputs] == [n.type.strong for n in traced.outputs]


def test_stack_is_only_assembled_if_the_chain_is_not_read_before():
    def f(x):
        y = np.zeros_like(x)
        y[0] = x[1]
        z = np.sin(y)
        y[1] = x[0]
        y[2] = x[2]
        return y, z
    found = wg.compile(f)(V)
    np.testing.assert_array_equal(found[0], [-2.0, 1.5, 0.5])
    np.testing.assert_array_equal(found[1], np.sin([-2.0, 0.0, 0.0]))


@pytest.mark.parametrize(("a", "b", "expected"), [
    ((0,), (1,), True), ((1,), (1,), False),
    ((("s", 0, 5, 1),), (("s", 5, 9, 1),), True),
    ((("s", 0, 9, 2),), (("s", 1, 9, 2),), True),
    ((("s", 0, 100, 2),), (("s", 1, 100, 2),), False),       # told apart for few elements only
    ((("s", 99, 49, -1),), (("s", 0, 50, 1),), True),
    ((("s", 99, 48, -1),), (("s", 0, 50, 1),), False),
    ((0, ("s", 0, 3, 1)), (1, ("s", 0, 3, 1)), True),
    ((("s", 4, None, -1),), (("s", 4, 6, 1),), False),
    ((("a",),), (("s", 4, 6, 1),), False),
])
def test_disjoint_indices(a, b, expected):
    assert disjoint(a, b) is expected


@pytest.mark.parametrize("seed", range(25))
def test_disjoint_is_never_wrong(seed):
    """Indices called disjoint have no element in common."""
    rng = np.random.default_rng(seed)
    for _ in range(40):
        n = int(rng.integers(1, 120))
        parts = []
        for _ in range(2):
            start, stop = sorted(rng.integers(0, n + 1, 2).tolist())
            step = int(rng.integers(1, 5)) * int(rng.choice([-1, 1]))
            chosen = range(n)[start:stop][::step]
            if not chosen:
                chosen = range(1)
            stop = chosen[-1] + (1 if step > 0 else -1)
            parts.append((("s", chosen[0], None if stop < 0 else stop, step), set(chosen)))
        (p, first), (q, second) = parts
        if disjoint((p,), (q,)):
            assert not first & second


# -- the logistic loss ---------------------------------------------------------------------------


def _sigmoid(z):
    return 1 / (1 + np.exp(-z))


def _by_hand(x, y, p):
    return -np.mean(y * np.log(p) + (1 - y) * np.log(1 - p))


LOSSES = {
    "negated mean": _by_hand,
    "mean of the negated": lambda x, y, p: np.mean(-(y * np.log(p) + (1 - y) * np.log(1 - p))),
    "mean of a difference": lambda x, y, p: np.mean(-y * np.log(p) - (1 - y) * np.log(1 - p)),
    "commuted": lambda x, y, p: -np.mean(np.log(p) * y + np.log(1 - p) * (1 - y)),
    "two means": lambda x, y, p: -np.mean(y * np.log(p)) - np.mean((1 - y) * np.log(1 - p)),
    "sum over n": lambda x, y, p: -np.sum(y * np.log(p) + (1 - y) * np.log(1 - p)) / len(y),
    "sum times 1/n": lambda x, y, p: -(1 / len(y)) * np.sum(
        y * np.log(p) + (1 - y) * np.log(1 - p)),
    "divided inside": lambda x, y, p: np.sum(
        -(y * np.log(p) + (1 - y) * np.log(1 - p)) / len(y)),
    "factored": lambda x, y, p: -np.mean((1 - y) * np.log(1 - p) + y * np.log(p)),
    "(y − 1) log(1 − p)": lambda x, y, p: np.mean((y - 1) * np.log(1 - p) - y * np.log(p)),
    "log1p": lambda x, y, p: -np.mean(y * np.log(p) + (1 - y) * np.log1p(-p)),
    "where": lambda x, y, p: np.mean(np.where(y == 1, -np.log(p), -np.log(1 - p))),
    "negated where": lambda x, y, p: -np.mean(np.where(y == 1, np.log(p), np.log(1 - p))),
    "log of where": lambda x, y, p: -np.mean(np.log(np.where(y == 1, p, 1 - p))),
    "dot products": lambda x, y, p: -(y @ np.log(p) + (1 - y) @ np.log(1 - p)) / len(y),
}
SIGMOIDS = {
    "1/(1 + exp(−z))": _sigmoid,
    "1.0/(1.0 + exp(−z))": lambda z: 1.0 / (1.0 + np.exp(-z)),
    "exp(z)/(1 + exp(z))": lambda z: np.exp(z) / (1 + np.exp(z)),
    "(1 + exp(−z))**-1": lambda z: (1 + np.exp(-z)) ** -1,
    "1/(1 + 1/exp(z))": lambda z: 1 / (1 + 1 / np.exp(z)),
    "0.5 (1 + tanh(z/2))": lambda z: 0.5 * (1 + np.tanh(z / 2)),
}
X = np.array([[1.0, 2.0], [2.0, -1.0], [-1.0, -3.0], [0.5, 0.5]])
WEIGHTS, BIAS = np.array([0.3, -0.2]), 0.1


def _gradient(loss, sigmoid, y, w, b):
    def f(w, b):
        return loss(X, y, sigmoid(X @ w + b))
    compiled = wg.value_and_grad(f, (0, 1))
    return compiled(w, b), compiled


@pytest.mark.parametrize("labels", [float, int])
@pytest.mark.parametrize("sigmoid", ["1/(1 + exp(−z))", "1.0/(1.0 + exp(−z))",
                                     "exp(z)/(1 + exp(z))"])
@pytest.mark.parametrize("loss", LOSSES)
def test_logistic_gradient_is_p_minus_y(loss, sigmoid, labels):
    y = np.array([1, 0, 0, 1], labels)
    (value, (dw, db)), _ = _gradient(LOSSES[loss], SIGMOIDS[sigmoid], y, WEIGHTS, BIAS)
    p = 1 / (1 + np.exp(-(X @ WEIGHTS + BIAS)))
    assert value == pytest.approx(0.867068, abs=1e-6)
    np.testing.assert_allclose(dw, X.T @ (p - y) / 4, rtol=1e-13)
    np.testing.assert_allclose(dw, [0.022982, -0.934574], atol=1e-6)
    assert db == pytest.approx(0.086767, abs=1e-6)
    alone = wg.grad(lambda w: LOSSES[loss](X, y, SIGMOIDS[sigmoid](X @ w + BIAS)))
    alone(WEIGHTS)
    assert alone.graph.count("log", "log_expit", "log1p", "logaddexp", "exp") == 0


@pytest.mark.parametrize("sigmoid", ["1/(1 + exp(−z))", "exp(z)/(1 + exp(z))"])
@pytest.mark.parametrize("loss", LOSSES)
def test_logistic_loss_is_finite_far_out(loss, sigmoid):
    y = np.array([1.0, 0.0, 0.0, 1.0])
    for w in (np.array([1000.0, 0.0]), np.array([-1000.0, 500.0])):
        (value, (dw, db)), _ = _gradient(LOSSES[loss], SIGMOIDS[sigmoid], y, w, 0.0)
        z = X @ w
        assert value == pytest.approx(np.mean(np.logaddexp(0, z) - y * z), rel=1e-12)
        expected = X.T @ (special.expit(z) - y) / 4
        np.testing.assert_allclose(dw, expected, atol=1e-12)
        assert np.isfinite(db)


@pytest.mark.parametrize("sigmoid", SIGMOIDS)
def test_every_spelling_of_the_sigmoid(sigmoid):
    y = np.array([1.0, 0.0, 0.0, 1.0])
    for w in (WEIGHTS, 1000 * WEIGHTS):
        (_, (dw, _)), compiled = _gradient(_by_hand, SIGMOIDS[sigmoid], y, w, 0.0)
        np.testing.assert_allclose(dw, X.T @ (special.expit(X @ w) - y) / 4, rtol=1e-13)
        assert compiled.graph.count("exp", "tanh", "log") == 0


def test_labels_get_their_own_derivative():
    y = np.array([0.9, 0.2, 0.1, 0.7])
    z = X @ WEIGHTS
    found = wg.grad(lambda y: _by_hand(X, y, _sigmoid(z)))(y)
    np.testing.assert_allclose(found, -z / 4, rtol=1e-13)


@pytest.mark.parametrize("weights", [np.array([1.0, 2.0, 0.5, 0.0])])
def test_weighted_logistic_loss(weights):
    y = np.array([1.0, 0.0, 0.0, 1.0])

    def f(w):
        p = _sigmoid(X @ w)
        return -np.sum(weights * (y * np.log(p) + (1 - y) * np.log(1 - p)))
    compiled = wg.grad(f)
    p = 1 / (1 + np.exp(-X @ WEIGHTS))
    np.testing.assert_allclose(compiled(WEIGHTS), X.T @ (weights * (p - y)), rtol=1e-13)
    assert compiled.graph.count("log", "log_expit", "exp") == 0
    assert np.all(np.isfinite(compiled(np.array([1000.0, 1000.0]))))


def test_what_only_looks_like_the_logistic_loss_is_left_alone():
    y, q = np.array([1.0, 0.0, 0.0, 1.0]), np.array([0.9, 0.8, 0.4, 0.3])

    def f(w):        # labels of the two terms differ
        p = _sigmoid(X @ w)
        return -np.mean(y * np.log(p) + (1 - q) * np.log(1 - p))
    p = 1 / (1 + np.exp(-X @ WEIGHTS))
    np.testing.assert_allclose(wg.grad(f)(WEIGHTS), X.T @ ((1 - q) * p - y * (1 - p)) / 4,
                               rtol=1e-12)

    def g(w):        # two different logits
        p, r = _sigmoid(X @ w), _sigmoid(X @ (2 * w))
        return -np.mean(y * np.log(p) + (1 - y) * np.log(1 - r))
    r = 1 / (1 + np.exp(-2 * X @ WEIGHTS))
    np.testing.assert_allclose(wg.grad(g)(WEIGHTS), X.T @ (2 * (1 - y) * r - y * (1 - p)) / 4,
                               rtol=1e-12)


# -- the pipeline ----------------------------------------------------------------------------------


def test_simplifying_twice_changes_nothing():
    for f, args, _ in CASES.values():
        once = remove_dead(simplify(wg.trace(f)(*args)))
        assert str(remove_dead(simplify(once))) == str(once)


def test_stop_after_names_a_pass():
    graph = wg.trace(lambda x: np.sum(x * 1.0))(V)
    assert run(graph, stop_after="simplify").count("mul") == 0
    assert run(graph, passes=()) is graph


def test_seed_of_a_scalar_leaves_no_multiplication_by_one():
    graph = run(vjp(wg.trace(lambda x, y: np.sum(x * y))(V, W), [0, 1], unit=True))
    assert graph.count("mul") == 1
    assert graph.count("broadcast_to") == 0


# -- shifts that cancel ----------------------------------------------------------------------------

LOGITS = np.array([[1.0, 3.0, -2.0], [1000.0, 998.0, -1000.0]])
SHIFTED = {
    "softmax": lambda x: _shifted_exp(x) / np.sum(_shifted_exp(x), axis=1, keepdims=True),
    "log softmax": lambda x: _shift(x) - np.log(np.sum(np.exp(_shift(x)), axis=1, keepdims=True)),
    "logsumexp": lambda x: np.log(np.sum(np.exp(_shift(x)), axis=1)) + np.max(x, axis=1),
    "logsumexp, axes kept": lambda x: np.max(x, axis=1, keepdims=True) + np.log(
        np.sum(np.exp(_shift(x)), axis=1, keepdims=True)),
    "logsumexp, axis dropped": lambda x: np.log(np.sum(np.exp(_shift(x)), axis=1)) + np.max(
        x, axis=1, keepdims=True)[:, 0],
}


def _shift(x):
    return x - np.max(x, axis=1, keepdims=True)


def _shifted_exp(x):
    return np.exp(_shift(x))


@pytest.mark.parametrize("name", [n for n in SHIFTED if n != "logsumexp"])
def test_the_shift_of_a_softmax_is_not_differentiated(name):
    f = SHIFTED[name]
    compiled = wg.vjp(f)
    ct = np.random.default_rng(0).standard_normal(np.shape(f(LOGITS)))
    out, found = compiled(LOGITS, ct)
    assert compiled.graph.count("equal", "count_nonzero") == 0    # no derivative of the maximum
    np.testing.assert_allclose(out, f(LOGITS), rtol=1e-14)
    np.testing.assert_allclose(found, _by_reference(name, ct), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", SHIFTED)
def test_derivatives_of_softmaxes(name):
    f = SHIFTED[name]
    ct = np.random.default_rng(1).standard_normal(np.shape(f(LOGITS)))
    for mode in ("forward", "reverse"):
        found = wg.grad(lambda x: np.sum(ct * f(x)), mode=mode)(LOGITS)
        np.testing.assert_allclose(found, _by_reference(name, ct), rtol=1e-12, atol=1e-14)


def _by_reference(name, ct):
    """Textbook cotangents, from a softmax computed apart."""
    p = special.softmax(LOGITS, axis=1)
    if name == "softmax":
        return p * (ct - np.sum(ct * p, axis=1, keepdims=True))
    if name == "log softmax":
        return ct - p * np.sum(ct, axis=1, keepdims=True)
    return p * np.reshape(ct, (-1, 1))


def test_a_shift_that_does_not_cancel_keeps_its_derivative():
    def f(x, m):
        z = x - m
        e = np.exp(z)
        return np.sum(e / np.sum(e) * x) + np.sum(z ** 2)
    x, m = np.array([0.5, 1.5, -1.0]), 0.3
    found = wg.grad(f, 1)(x, m)
    assert found == pytest.approx(-2 * np.sum(x - m), rel=1e-13)

    def g(x, m):      # constant along the wrong axis
        e = np.exp(x - m)
        return np.sum(e / np.sum(e, axis=0, keepdims=True) * x)
    X2, m2 = np.arange(6.0).reshape(2, 3) / 3, np.array([[0.1], [0.4]])
    step = 1e-6
    expected = [(g(X2, m2 + step * u) - g(X2, m2 - step * u)) / (2 * step)
                for u in (np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]]))]
    np.testing.assert_allclose(wg.grad(g, 1)(X2, m2)[:, 0], expected, rtol=1e-8)


def test_cross_entropy_of_logits_is_p_minus_target():
    labels = np.array([1, 0])

    def loss(x):
        z = _shift(x)
        log_p = z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
        return -np.mean(log_p[np.arange(2), labels])
    expected = (special.softmax(LOGITS, axis=1) - np.eye(3)[labels]) / 2
    np.testing.assert_allclose(wg.grad(loss)(LOGITS), expected, rtol=1e-13, atol=1e-16)
    p = np.log([0.7, 0.2, 0.1])
    found = wg.grad(lambda x: -(x - special.logsumexp(x))[0])(p)
    np.testing.assert_allclose(found, [-0.3, 0.2, 0.1], rtol=1e-14)


def test_nearest_of_many():
    def cost(centroids, points):
        nearest = np.full(len(points), np.inf)
        for c in centroids:
            nearest = np.minimum(nearest, np.sum((points - c) ** 2, axis=1))
        return np.sum(nearest)
    rng = np.random.default_rng(5)
    points, centroids = rng.normal(size=(30, 3)), rng.normal(size=(4, 3))
    wg.check_grads(cost, (centroids, points), order=2)
    gradient = wg.grad(cost)
    gradient(centroids, points)
    # Two for each choice, and one that keeps infinite points out.
    assert gradient.graph.count("where") <= 3 * 4
    large = [n for n in gradient.graph.nodes if n.op.name == "mul" and n.type.shape == (30, 3)]
    assert len(large) == 4                      # the factor 2 goes to the distances' weights


def test_an_equal_pair_shares_the_derivative_in_both_modes():
    x, y = np.array([1.0, 2.0, 2.0, np.inf]), np.array([2.0, 1.0, 2.0, np.inf])
    for function, first in ((np.minimum, [1.0, 0.0, 0.5, 0.5]), (np.maximum, [0.0, 1.0, 0.5, 0.5]),
                            (np.fmin, [1.0, 0.0, 0.5, 0.5]), (np.fmax, [0.0, 1.0, 0.5, 0.5])):
        for mode in ("forward", "reverse"):
            got = wg.jacobian(function, argnums=(0, 1), mode=mode)(x, y)
            np.testing.assert_array_equal(np.diag(got[0]), first)
            np.testing.assert_array_equal(np.diag(got[1]), 1.0 - np.array(first))


def test_elements_that_were_not_written_are_read_from_before():
    def f(x, d):
        rows, columns = np.triu_indices(3, 1)
        diagonal = np.arange(3)
        y = np.zeros((3, 3))
        y[rows, columns] = x
        y[diagonal, diagonal] = np.exp(d)
        return y[rows, columns] * 2.0, np.where(np.tri(3, k=0, dtype=bool).T, y, 0.0)
    compiled = wg.compile(f)
    x, d = np.array([1.0, 2.0, 3.0]), np.zeros(3)
    first, second = compiled(x, d)
    expected = f(x, d)
    np.testing.assert_array_equal(first, expected[0])
    np.testing.assert_array_equal(second, expected[1])
    assert compiled.graph.count("where") == 0        # the rest is zero by construction
    before = {n.args[0].op.name for n in compiled.graph.nodes if n.op.name == "getitem"}
    assert before <= {"input", "setitem"}


def test_a_sign_of_the_users_is_zero_at_zero():
    """Its square is no 1 there, as that of the slope of |x| in a second derivative is."""
    def f(x, y):
        return np.sum((1.5 * (np.sign(y) * x)) ** 2)
    y = np.array([0.0, -2.0, 3.0])
    np.testing.assert_array_equal(wg.grad(f)(np.ones(3), y), [0.0, 4.5, 4.5])
    np.testing.assert_array_equal(wg.hessian(f)(np.ones(3), y), np.diag([0.0, 4.5, 4.5]))
    np.testing.assert_array_equal(
        wg.hessian(lambda x: np.sum(np.cosh(np.abs(x))))(np.zeros(2)), np.eye(2))


def _last_stored(places, ct, shape):
    """What of ``ct`` belongs to values that are stored at places, the last one where they repeat."""
    owner = np.full(shape, -1)
    rows, columns = places
    for k, place in enumerate(zip(rows, columns, strict=True)):
        owner[place] = k
    out = np.zeros(len(rows))
    for place in np.ndindex(shape):
        if owner[place] >= 0:
            out[owner[place]] = ct[place]
    return out


@pytest.mark.parametrize("repeats", [False, True])
def test_what_is_stored_at_constant_places(repeats):
    def places():
        rows, columns = np.triu_indices(16, 1)
        if repeats:
            return np.concatenate([rows, rows[:3]]), np.concatenate([columns, columns[:3]])
        return rows, columns

    def f(x):
        whole = np.zeros((16, 16))
        whole[places()] = x
        return whole
    ct = np.arange(256.0).reshape(16, 16)
    pulled = wg.vjp(f)
    x = np.linspace(1.0, 2.0, len(places()[0]))
    np.testing.assert_array_equal(pulled(x, ct)[1], _last_stored(places(), ct, (16, 16)))
    assert ("==" in pulled.source) == repeats


def test_equal_numbers_are_equal_and_not_a_number_is_not():
    x = np.array([1.0, np.nan])
    k = np.array([3, 4])
    assert wg.compile(lambda x: x == x)(x).tolist() == [True, False]
    same = wg.compile(lambda k: k == k)
    assert same(k).tolist() == [True, True]
    assert "k == k" not in same.source
    other = wg.compile(lambda x: np.where(np.arange(90) == np.arange(90)[::-1].copy(), x, 0.0))
    assert np.count_nonzero(other(np.ones(90))) == 0


@pytest.mark.parametrize("left", [False, True])
def test_zeros_behind_a_product_of_matrices(left):
    """A triangle of zeros times anything: rows of zeros meet an infinite slope and stay zeros."""
    def f(x, y):
        whole = np.zeros((12, 12))
        whole[np.triu_indices(12, 1)] = x
        product = whole @ y if left else y @ whole
        return np.sum(np.sqrt(product))
    x, y = np.linspace(1.0, 2.0, 66), np.ones((12, 12))
    with np.errstate(all="ignore"):
        slopes = wg.grad(f, argnums=(0, 1))(x, y)
    assert all(np.isfinite(s).all() for s in slopes)
    inside = (slice(11), slice(12)) if left else (slice(12), slice(1, 12))

    def kept(x, y):
        whole = np.zeros((12, 12))
        whole[np.triu_indices(12, 1)] = x
        return np.sum(np.sqrt((whole @ y if left else y @ whole)[inside]))
    for a, b in zip(slopes, wg.grad(kept, argnums=(0, 1))(x, y), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
