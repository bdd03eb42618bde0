"""The transforms on graphs, and what must hold where a part of a function is not smooth."""

import numpy as np
import pytest
import wengert as wg
from wengert.compiler.errors import ConversionError, NonlinearRuleError, NotDifferentiableError
from wengert.compiler.graph import Node
from wengert.compiler.interpret import interpret
from wengert.compiler.ops.row import General, Op, elementwise_type
from wengert.compiler.passes.pipeline import PIPELINE, PREPARE, run
from wengert.compiler.transforms import derive
from wengert.compiler.transforms.batch import batch
from wengert.compiler.transforms.jvp import jvp
from wengert.compiler.transforms.transpose import is_zero
from wengert.compiler.transforms.vjp import vjp

X = np.array([0.0, 1.0, 4.0, -2.0])

# name: function of an array, point, its exact gradient, its exact Hessian (None where it is zero)
UNSELECTED = {
    "log where positive":
        (lambda x: np.sum(np.where(x > 0, np.log(np.where(x > 0, x, 1.0)), 0.0)), X,
         [0.0, 1.0, 0.25, 0.0], [0.0, -1.0, -1 / 16, 0.0]),
    "log without an inner where":
        (lambda x: np.sum(np.where(x > 0, np.log(x), 0.0)), X,
         [0.0, 1.0, 0.25, 0.0], [0.0, -1.0, -1 / 16, 0.0]),
    "square root of the others":
        (lambda x: np.sum(np.where(x < 1, x, np.sqrt(x))), np.array([0.0, 4.0, -1.0]),
         [1.0, 0.25, 1.0], [0.0, -1 / 32, 0.0]),
    "square roots on both sides":
        (lambda x: np.sum(np.where(x >= 0, x, np.sqrt(-x))), np.array([0.0, 2.0, -4.0]),
         [1.0, 1.0, -0.25], [0.0, 0.0, -1 / 32]),
    "two selections added":
        (lambda x: np.sum(np.where(x > 2, np.log(x), 0.0) + np.where(x == 1, 3 * np.log(x), 0.0)),
         X, [0.0, 3.0, 0.25, 0.0], [0.0, -3.0, -1 / 16, 0.0]),
    "elements that are not used":
        (lambda x: np.log(x)[1] + np.log(x)[2] ** 2, X,
         [0.0, 1.0, np.log(4.0) / 2, 0.0], [0.0, -1.0, (1 - np.log(4.0)) / 8, 0.0]),
    "a slice":
        (lambda x: np.sum(np.sqrt(x)[1:3]), X, [0.0, 0.5, 0.25, 0.0], [0.0, -0.25, -1 / 32, 0.0]),
    "a gather":
        (lambda x: np.sum(np.sqrt(x)[np.array([1, 2, 1])]), X,
         [0.0, 1.0, 0.25, 0.0], [0.0, -0.5, -1 / 32, 0.0]),
    "a mask":
        (lambda x: np.sum(np.sqrt(x)[np.array([False, True, True, False])]), X,
         [0.0, 0.5, 0.25, 0.0], [0.0, -0.25, -1 / 32, 0.0]),
    "an overwritten element":
        (lambda x: np.sum(_overwrite(np.sqrt(x), slice(None, None, 3))), X,
         [0.0, 0.5, 0.25, 0.0], [0.0, -0.25, -1 / 32, 0.0]),
    "overwritten by list":
        (lambda x: np.sum(_overwrite(np.sqrt(x), np.array([0, 3]))), X,
         [0.0, 0.5, 0.25, 0.0], [0.0, -0.25, -1 / 32, 0.0]),
    "through reshape":
        (lambda x: np.sum(np.where(X > 0, np.log(x).reshape(2, 2).reshape(4), 0.0)), X,
         [0.0, 1.0, 0.25, 0.0], [0.0, -1.0, -1 / 16, 0.0]),
    "through reshape and transpose":
        (lambda x: np.sum(np.log(x).reshape(2, 2).T[1, :] * 2.0)
         - 2 * np.sum(np.log(x).reshape(2, 2).T[1, 1:]), X,
         [0.0, 2.0, 0.0, np.nan], None),
    "through a sum over a row":
        (lambda x: np.sum(np.where(np.array([False, True]), np.sum(np.log(np.abs(x)).reshape(
            2, 2).T, axis=1), 0.0)), np.array([0.0, 1.0, 0.0, -2.0]),
         [0.0, 1.0, 0.0, -0.5], [0.0, -1.0, 0.0, -0.25]),
    "clipped":
        (lambda x: np.sum(np.log(np.maximum(x, 0.5))), np.array([0.0, 1.0, 4.0, -2.0]),
         [0.0, 1.0, 0.25, 0.0], [0.0, -1.0, -1 / 16, 0.0]),
    "clipped by select":
        (lambda x: np.sum(np.select([x > 3, x > 0.5], [x, np.log(x)], 0.0)), X,
         [0.0, 1.0, 1.0, 0.0], [0.0, -1.0, 0.0, 0.0]),
    "scaled, negated and divided":
        (lambda x: np.sum(np.where(x > 0, -3.0 * np.log(x) / 2.0, 0.0)), X,
         [0.0, -1.5, -0.375, 0.0], [0.0, 1.5, 1.5 / 16, 0.0]),
    "joined":
        (lambda x: np.sum(np.concatenate([np.sqrt(x), x])[1:6] * np.array([1, 1, 0.0, 1, 1])),
         np.array([0.0, 1.0, 4.0, 9.0]), [1.0, 1.5, 0.25, 0.0], [0.0, -0.25, -1 / 32, 0.0]),
    "a norm that is not selected":
        (lambda x: np.where(np.sum(x) > 0, np.sqrt(np.sum(x * 0.0)) * x[0], x[1] ** 2),
         np.array([-1.0, 0.5]), [0.0, 1.0], [0.0, 2.0]),
}


def _overwrite(y, index):
    y[index] = 1.0
    return y


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("name", [n for n, case in UNSELECTED.items() if case[3] is not None])
def test_an_element_that_is_not_selected_contributes_no_nan(name, mode):
    f, x, gradient, curvature = UNSELECTED[name]
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(wg.grad(f, mode=mode)(x), gradient, rtol=1e-14, atol=1e-15)
        hessian = wg.hessian(f, mode=mode)(x)
        product = wg.hvp(f)(x, np.arange(1.0, 1.0 + len(x)))
    np.testing.assert_allclose(np.diag(hessian), curvature, rtol=1e-14, atol=1e-15)
    assert np.all(np.isfinite(hessian))
    np.testing.assert_allclose(product, hessian @ np.arange(1.0, 1.0 + len(x)), rtol=1e-13)


def test_rows_that_are_not_selected_take_no_part_in_products():
    features = np.array([[1.0, 2.0], [np.nan, np.inf], [3.0, -1.0]])
    y = np.array([1.0, np.nan, 2.0])

    def loss(w):
        return np.sum(((features @ w - y)[~np.isnan(y)]) ** 2)
    w = np.array([0.5, -0.5])
    kept = features[[0, 2]]
    expected = 2 * kept.T @ (kept @ w - y[[0, 2]])
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(wg.grad(loss)(w), expected, rtol=1e-14)
        np.testing.assert_allclose(wg.grad(loss, mode="forward")(w), expected, rtol=1e-14)
        np.testing.assert_allclose(wg.hessian(loss)(w), 2 * kept.T @ kept, rtol=1e-14)

    def hidden(x):
        return np.sum((np.log(x) @ w)[np.array([0, 2])])
    x = np.array([[1.0, 2.0], [0.0, -1.0], [3.0, 4.0]])
    with np.errstate(all="ignore"):
        found = wg.grad(hidden)(x)
    expected = [[0.5, -0.25], [0.0, 0.0], [1 / 6, -0.125]]
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_masked_loss_is_free_of_nan_in_all_arguments():
    y, x = np.array([0.5, np.nan, 2.0]), np.array([1.0, 2.0, 3.0])

    def by_mask(x, y):
        return np.sum(((x - y) ** 2)[~np.isnan(y)])

    def by_where(x, y):
        return np.sum(np.where(np.isnan(y), 0.0, (x - y) ** 2))
    for f in (by_mask, by_where):
        for mode in ("forward", "reverse"):
            gx, gy = wg.grad(f, (0, 1), mode=mode)(x, y)
            np.testing.assert_array_equal(gx, [1.0, 0.0, 2.0])
            np.testing.assert_array_equal(gy, [-1.0, 0.0, -2.0])
        np.testing.assert_array_equal(wg.hessian(f)(x, y), np.diag([2.0, 0.0, 2.0]))


def test_long_chains_of_selections_are_linear_work_and_free_of_nan():
    def f(x):
        y = x
        for _ in range(300):
            y = np.where(x > 0, np.log(y) + 1.0, 0.0)
        return np.sum(y)
    x = np.array([1.0, -1.0, 0.0])
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(wg.grad(f)(x), [1.0, 0.0, 0.0], rtol=1e-12)


# -- the transforms themselves ---------------------------------------------------------------


def prepared(f, *args):
    return run(wg.trace(f)(*args), PREPARE)


def test_unused_inputs_have_zero_derivatives_of_their_own_type():
    graph = prepared(lambda x, y: np.sum(x), np.ones(2), np.ones((2, 3), np.float32))
    pulled = run(vjp(graph, [0, 1], unit=True))
    _, gx, gy = interpret(pulled, np.ones(2), np.ones((2, 3), np.float32))
    np.testing.assert_array_equal(gx, np.ones(2))
    np.testing.assert_array_equal(gy, np.zeros((2, 3)))
    assert gy.dtype == np.float32
    assert is_zero(pulled.outputs[2])


def test_only_what_is_asked_for_is_computed():
    graph = prepared(lambda w, c: np.sum((w * c) ** 2), np.ones(3), np.ones(3))
    one = run(vjp(graph, [0], unit=True))
    both = run(vjp(graph, [0, 1], unit=True))
    assert len(one.outputs) == 2
    assert len(one.nodes) < len(both.nodes)


def test_a_value_used_twice_adds_both_contributions():
    np.testing.assert_array_equal(wg.grad(lambda w: np.sum((w + 1) * (w + 1)))(
        np.array([1.0, -2.0, 3.0])), [4.0, -2.0, 8.0])


def test_gradient_of_a_product_needs_about_three_multiplications_a_factor():
    n = 64

    def chain(x):
        out = x[0]
        for i in range(1, n):
            out = out * x[i]
        return out
    graph = run(vjp(prepared(chain, np.ones(n)), [0], unit=True))
    assert graph.count("mul") <= 3 * n - 2


def test_jvp_has_no_node_for_a_constant():
    graph = run(jvp(prepared(lambda x: x * 2.0 + np.sin(3.0), 1.0), [0]))
    assert graph.count("cos") == 0


@pytest.mark.parametrize(("outputs", "expected"), [(5, "reverse"), (1, "reverse"), (9, "forward")])
def test_sweeps_go_along_the_shorter_side(outputs, expected):
    graph = prepared(lambda x: np.concatenate([x, x])[:outputs] * 1.0, np.ones(6))
    assert derive.sweeps(graph, [0], [0], "auto") == expected
    assert derive.sweeps(graph, [0], [0], "forward") == "forward"


def test_batch_of_what_does_not_vary_stays_single():
    graph = prepared(lambda x, y: (x * y, np.sin(y)), np.ones(3), np.ones(3))
    many, has_axis = batch(graph, 4, [True, False])
    assert has_axis == [True, False]
    first, second = interpret(many, np.ones((4, 3)), np.full(3, 2.0))
    assert first.shape == (4, 3)
    assert second.shape == (3,)


def test_batch_agrees_with_a_loop():
    rng = np.random.default_rng(0)

    def f(A, x, b):
        y = A @ x + b
        return np.sum(np.maximum(y, 0.1) ** 2 / (1 + np.exp(-x[:3])))
    A, x, b = rng.standard_normal((5, 3, 4)), rng.standard_normal((5, 4)), rng.standard_normal(3)
    graph = vjp(prepared(f, A[0], x[0], b), [0, 1], unit=True)
    many, has_axis = batch(graph, 5, [True, True, False])
    assert has_axis == [True, True, True]
    found = interpret(run(many), A, x, b)
    for i in range(5):
        for one, expected in zip(found, interpret(graph, A[i], x[i], b), strict=True):
            np.testing.assert_allclose(one[i], expected, rtol=1e-12)


def test_batch_refuses_a_branch_that_differs_within_it():
    graph = prepared(lambda x: x if x > 0 else -x, 1.0)
    with pytest.raises(NotDifferentiableError, match=r"differs within the batch.*\n?.*np\.where"):
        batch(graph, 3, [True])


def test_a_rule_that_is_not_linear_is_found_out():
    wrong = Op("wrong", np.sin, elementwise_type(np.sin),
               General(lambda args, tangents, out: tangents[0] * tangents[0]))
    with pytest.raises(NonlinearRuleError, match="wrong"):
        vjp(wg.trace(lambda x: np.sum(wrong(x)))(np.ones(3)), [0], unit=True)


def test_zeros_beside_the_diagonal_of_a_jacobian_stay_zero():
    x = np.array([0.0, 4.0])
    with np.errstate(all="ignore"):
        for mode in ("forward", "reverse"):
            found = wg.jacobian(np.sqrt, mode=mode)(x)
            np.testing.assert_array_equal(found, [[np.inf, 0.0], [0.0, 0.25]])
            np.testing.assert_array_equal(
                wg.jacobian(lambda x: np.cos(x) * x, mode=mode)(np.array([np.nan, 0.0])),
                [[np.nan, 0.0], [0.0, 1.0]])


def test_hessian_modes_agree_with_hvp_and_are_symmetric():
    def f(x):
        return np.sum(np.exp(x[:2]) * np.sin(x[1:])) + np.prod(x)
    x = np.array([0.3, -0.7, 1.1])
    graph = prepared(f, x)
    (forward,) = interpret(run(derive.hessian(graph, [0], mode="forward")), x)
    (reverse,) = interpret(run(derive.hessian(graph, [0], mode="reverse")), x)
    np.testing.assert_allclose(forward, reverse, rtol=1e-13)
    np.testing.assert_allclose(forward, forward.T, rtol=1e-13)
    for i in range(3):
        (column,) = interpret(run(derive.hvp(graph, [0])), x, np.eye(3)[i])
        np.testing.assert_allclose(column, forward[i], rtol=1e-13)


def test_higher_orders():
    f = np.sin
    for order in range(1, 7):
        f = wg.grad(f)
        expected = [np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x), np.sin][(order - 1) % 4]
        assert f(0.7) == pytest.approx(expected(0.7), rel=1e-14)


def test_transforms_leave_their_graph_as_it_was():
    graph = prepared(lambda x: np.sum(np.where(x > 0, np.log(x), x ** 2)), X)
    before = str(graph)
    vjp(graph, [0], unit=True)
    jvp(graph, [0])
    derive.hessian(graph, [0])
    batch(graph, 2, [True])
    run(graph, PIPELINE)
    assert str(graph) == before
    assert all(isinstance(node, Node) for node in graph.nodes)


# -- inner derivatives at plain numbers ------------------------------------------------------------

@pytest.mark.parametrize(("function", "slope"), [
    (lambda x: x * wg.grad(lambda y: x + y)(1.0), 1.0),
    (lambda x: x * wg.grad(lambda y: x * y * y)(3.0), 24.0),
    (lambda x: wg.grad(lambda y: x**2 * wg.grad(lambda z: x * z**2 * y)(3.0))(1.5), 72.0),
    (lambda x: wg.grad(lambda y: x * y**3 if y > 1 else x * y)(2.0), 12.0),
    (lambda x: wg.compile(lambda y: x * y)(3.0), 3.0),
    (lambda x: np.sum(wg.jacobian(lambda y: x**3 * y)(np.ones(2))), 24.0),
])
def test_inner_derivative_at_a_number_uses_the_outer_variable(function, slope):
    gradient = wg.grad(function)
    assert gradient(2.0) == pytest.approx(slope, rel=1e-14)
    assert gradient(2.0) == gradient(np.float64(2.0))


def test_guard_that_always_holds_is_not_printed():
    gradient = wg.grad(lambda x: wg.grad(lambda y: x * y**3 if y > 1 else x * y)(2.0))
    assert gradient(2.0) == 12.0
    assert "other_branch" not in gradient.source


def test_compiled_function_cannot_write_a_traced_value_into_a_captured_array():
    buffer = np.zeros(2)

    @wg.compile
    def fill(target, x):
        target[0] = x * x
        return x * 3.0
    with pytest.raises(ConversionError, match="assigned into a plain array"):
        wg.grad(lambda x: fill(buffer, x) + buffer[0])(2.0)
