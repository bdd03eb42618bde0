"""``vmap`` against the loop it stands for: programs, axes, derivatives, and what it refuses."""

import pickle
import threading
from typing import NamedTuple

import numpy as np
import pytest
import wengert as wg
from programs import PROGRAMS
from wengert.compiler.arraytype import ArrayType
from wengert.compiler.errors import (
    BatchAxisError,
    BatchedBranchError,
    MutationError,
    UnsupportedArgumentError,
)
from wengert.compiler.graph import reachable
from wengert.compiler.trace.stage import is_traceable
from wengert.compiler.trace.tree import flatten, unflatten

RNG = np.random.default_rng(7)
X = RNG.uniform(0.5, 1.5, (5, 3))
W = RNG.standard_normal((3, 4))


def decides(program):
    """Whether a program decides on values of the arguments that the batch runs over."""
    graph = wg.trace(program.function)(*program.args)
    owners = [i for i, a in enumerate(program.args) for v in flatten(a)[0] if is_traceable(v)]
    mapped = {n for n, i in zip(graph.inputs, owners, strict=True) if i in program.argnums}
    return any(mapped & reachable([guard.node]) for guard in graph.guards)


SELECTING = {"boolean_mask_of_values", "masked_loss"}          # by masks of such values
BRANCHING = {p.name for p in PROGRAMS if decides(p)} - SELECTING


def stacked(results):
    """A list of results, each nested alike, as one with a leading axis."""
    leaves = [flatten(r)[0] for r in results]
    return unflatten(flatten(results[0])[1],
                     [np.stack([np.asarray(v) for v in column])
                      for column in zip(*leaves, strict=True)])


def assert_same(found, expected, rtol=1e-12):
    assert flatten(found)[1] == flatten(expected)[1]
    for a, b in zip(flatten(found)[0], flatten(expected)[0], strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        tol = 1e-5 if a.dtype == np.float32 else rtol
        scale = max(1.0, float(np.max(np.abs(b), initial=0.0, where=np.isfinite(b))))
        np.testing.assert_allclose(a, b, rtol=tol, atol=tol * scale)


def examples(tree, size=3):
    """Several arguments beside a given one, near enough to be as valid."""
    leaves, spec = flatten(tree)
    rng = np.random.default_rng(3)

    def another(leaf):
        value = np.asarray(leaf)
        if value.dtype.kind != "f":
            return value[()]
        # Positive, sorted and symmetric values stay so.
        return np.asarray(value * rng.uniform(0.9, 1.0), value.dtype)[()]
    return [tree, *[unflatten(spec, [another(v) for v in leaves]) for _ in range(size - 1)]]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_program_equals_a_loop(program):
    f = program.function
    many = list(zip(*[examples(a) if i in program.argnums else [a] * 3
                      for i, a in enumerate(program.args)], strict=True))
    axes = tuple(0 if i in program.argnums else None for i in range(len(program.args)))
    args = [stacked([m[i] for m in many]) if axis == 0 else many[0][i]
            for i, axis in enumerate(axes)]
    derived = wg.vjp(f, program.argnums)
    ct = f(*program.args)
    calls = [(f, axes, args, [f(*m) for m in many])]
    if program.order > 1:
        calls.append((derived, (*axes, None), [*args, ct], [derived(*m, ct) for m in many]))
    for function, in_axes, values, expected in calls:
        refusal = BatchedBranchError if program.name in BRANCHING else \
            UnsupportedArgumentError if program.name in SELECTING else None
        if refusal is None:
            assert_same(wg.vmap(function, in_axes)(*values), stacked(expected))
            continue
        with pytest.raises(refusal, match=r"np\.where") as caught:
            wg.vmap(function, in_axes)(*values)
        assert caught.value.where.line > 0


# -- axes and arguments -------------------------------------------------------------------------

@pytest.mark.parametrize("in_axis", range(-3, 3))
@pytest.mark.parametrize("out_axis", range(-2, 2))
def test_any_axis_in_and_out(in_axis, out_axis):
    a = RNG.standard_normal((2, 3, 4))
    n = a.shape[in_axis]
    expected = np.stack([np.cumsum(np.take(a, i, in_axis) @ np.ones(
        np.take(a, i, in_axis).shape[1])) for i in range(n)], axis=out_axis)
    found = wg.vmap(lambda m: np.cumsum(m @ np.ones(m.shape[1])), in_axis, out_axis)(a)
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    assert found.flags.owndata or found.base is None or not np.shares_memory(found, a)


def test_nested_axes():
    def f(model, pair, name, k):
        first, second = pair
        return {"out": model["w"] @ first + second, "k": k * 2.0, "n": float(len(name))}
    model = {"w": RNG.standard_normal((3, 2, 5)), "b": [1.0]}
    pair = (RNG.standard_normal((2, 5)), 2.0)
    mapped = wg.vmap(f, ({"w": 2, "b": None}, (1, None), None, None),
                     {"out": 1, "k": None, "n": 0})
    found = mapped(model, pair, "abc", 4.0)
    rows = [f({"w": model["w"][:, :, i], "b": [1.0]}, (pair[0][:, i], 2.0), "abc", 4.0)
            for i in range(5)]
    np.testing.assert_allclose(found["out"], np.stack([r["out"] for r in rows], 1), rtol=1e-14)
    assert found["k"] == 8.0
    np.testing.assert_array_equal(found["n"], np.full(5, 3.0))
    assert mapped(model, pair, "abcd", 4.0)["n"][0] == 4.0


class Pair(NamedTuple):
    a: object
    b: object


@pytest.mark.parametrize("axes", [(Pair(0, None),), ((0, None),)])
def test_axes_of_a_named_tuple(axes):
    found = wg.vmap(lambda p: p.a + p.b, axes)(Pair(np.arange(3.0), 1.0))
    np.testing.assert_array_equal(found, [1.0, 2.0, 3.0])


def test_keywords():
    def f(x, scale=1.0, *, shift=0.0):
        return scale * x + shift
    x, s = np.arange(3.0), np.array([1.0, 10.0, 100.0])
    np.testing.assert_array_equal(wg.vmap(f, (0, None))(x, scale=2.0), 2.0 * x)
    np.testing.assert_array_equal(wg.vmap(f, (0, 0))(x, scale=s), s * x)
    np.testing.assert_array_equal(wg.vmap(f)(x, shift=s), x + s)
    by_name = wg.vmap(f, {"x": 0})
    np.testing.assert_array_equal(by_name(x, shift=5.0), x + 5.0)
    np.testing.assert_array_equal(by_name(x=x, scale=3.0, shift=5.0), 3.0 * x + 5.0)
    np.testing.assert_array_equal(wg.vmap(f, {"shift": 0})(2.0, shift=s), 2.0 + s)
    np.testing.assert_array_equal(wg.vmap(lambda *xs: xs[0] + xs[1], (None, 0))(1.0, x), x + 1)


@pytest.mark.parametrize(("in_axes", "args", "kwargs", "message"), [
    (0, (np.ones(3), np.ones(4)), {}, r"x has 3 along axis 0, y has 4 along axis 0"),
    (0, (np.ones(3), 2.0), {}, r"argument y is a single number.*in_axes=\(0, None\)"),
    ((0, 1), (np.ones(3), np.ones(3)), {}, r"y has shape \(3,\), so it has no axis 1"),
    ((0, -3), (np.ones(3), np.ones((3, 3))), {}, r"it has no axis -3"),
    (None, (np.ones(3), 1.0), {}, "no argument to map over"),
    ((0,), (np.ones(3), 1.0), {}, "in_axes has 1 entries, the call has 2"),
    ((0, 0, 0), (np.ones(3), 1.0), {}, "in_axes has 3 entries, the call has 2"),
    ("x", (np.ones(3), 1.0), {}, "in_axes='x' is not understood"),
    ((0, {"a": 0}), (np.ones(3), {"b": np.ones(3)}), {}, r"\{'a': 0\} for the argument y"),
    ((0, (0, 0)), (np.ones(3), np.ones(3)), {}, "which has another structure"),
    ((True, 0), (np.ones(3), np.ones(3)), {}, "True for the argument x"),
    ({"z": 0}, (np.ones(3), 1.0), {}, "in_axes names 'z'"),
    ((0, None), (np.ones(3), 1.0), {"key": 2.0}, "nothing of the keyword argument key"),
    (0, ({"a": np.ones(3), "b": np.ones(2)}, np.ones(3)), {}, r"x\['b'\] has 2"),
])
def test_axes_that_do_not_fit(in_axes, args, kwargs, message):
    def f(x, y, **others):
        return x
    with pytest.raises(BatchAxisError, match=message) as caught:
        wg.vmap(f, in_axes)(*args, **kwargs)
    assert caught.value.where.file == __file__


@pytest.mark.parametrize(("out_axes", "message"), [
    (None, "differs from example to example"), (2, "out of range: .* has 2 axes"),
    (-3, "out of range"), ({"a": 0}, "another structure"), ((0, 0), "another structure")])
def test_out_axes_that_do_not_fit(out_axes, message):
    with pytest.raises(BatchAxisError, match=message) as caught:
        wg.vmap(lambda x: 2.0 * x, 0, out_axes)(np.ones((3, 2)))
    assert caught.value.where.file == __file__


def test_shared_results():
    found = wg.vmap(lambda x, y: (x + y, np.sin(y), 3.0), (0, None))(np.arange(2.0), 1.0)
    assert_same(found, (np.array([1.0, 2.0]), np.full(2, np.sin(1.0)), np.full(2, 3.0)))
    one = wg.vmap(lambda x, y: np.sin(y), (0, None), None)(np.arange(2.0), 1.0)
    assert one == np.sin(1.0)


@pytest.mark.parametrize("f", [np.sin, lambda x: np.sum(x) * x, wg.grad(lambda x: np.sum(x ** 2)),
                               lambda x: np.linalg.norm(x)])
def test_empty_batch(f):
    x = np.zeros((0, 3))
    one = np.asarray(f(np.ones(3)))
    assert wg.vmap(f)(x).shape == (0, *one.shape)
    assert wg.vmap(f)(x.astype(np.float32)).dtype == np.float32
    with pytest.raises(BatchedBranchError, match=r"np\.where"):
        wg.vmap(lambda x: x if x[0] > 0 else -x)(x)


def test_empty_batch_of_an_opaque_function():
    @wg.custom_jvp(opaque=True)
    def pair(x):
        return float(np.sum(x)), np.array([x[0], x[1]])
    first, second = wg.vmap(pair)(np.zeros((0, 3)))
    assert (first.shape, second.shape) == ((0,), (0, 2))
    assert_same(wg.vmap(pair)(X), (X.sum(1), X[:, :2]))


def test_examples_of_no_elements_and_of_one():
    assert wg.vmap(lambda x: np.sum(x))(np.zeros((4, 0))).tolist() == [0.0] * 4
    assert wg.vmap(lambda x: x * x)(np.array([3.0])).tolist() == [9.0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, complex, np.int64, bool])
def test_dtypes_are_those_of_a_loop(dtype):
    x = np.array([1, 0, 1]).astype(dtype)
    for f in (lambda v: v * 2, lambda v: v + 1.5, lambda v: np.sin(v), lambda v: v + v):
        assert_same(wg.vmap(f)(x), np.stack([f(v) for v in x]))


# -- branches -----------------------------------------------------------------------------------

def step(x, k):
    if k > 0:
        return x * k
    return -x


def test_branch_on_what_all_examples_share():
    mapped = wg.vmap(step, (0, None))
    for k in (2.0, -1.0, 3.0):
        np.testing.assert_array_equal(mapped(X, k), np.stack([step(x, k) for x in X]))
    assert len(mapped.programs) == 2
    g = wg.grad(lambda x, k: np.sum(wg.vmap(step, (0, None))(x, k) ** 2))
    np.testing.assert_allclose(g(X, 2.0), 8.0 * X)
    np.testing.assert_allclose(g(X, -2.0), 2.0 * X)


@pytest.mark.parametrize("f", [lambda x: x if x > 0 else -x, lambda x: x * int(x),
                               lambda x: x * max(x, 0.5), lambda x: [x, 2 * x][x > 1.0]])
def test_branch_within_the_batch_is_refused(f):
    for function in (wg.vmap(f), lambda x: wg.grad(lambda y: np.sum(wg.vmap(f)(y)))(x),
                     wg.vmap(wg.grad(f))):
        with pytest.raises(BatchedBranchError, match=r"np\.where.*np\.stack") as caught:
            function(np.array([0.3, 0.4]))
        assert caught.value.where.file == __file__
        assert caught.value.where.line > 0


def test_view_that_depends_on_the_layout_is_refused():
    def f(x, copy):
        y = x.reshape(-1).copy() if copy else x.reshape(-1)
        y[0] = 1.0
        return np.sum(x.reshape(-1) * y)
    a = RNG.standard_normal((4, 2, 3))
    with pytest.raises(BatchedBranchError, match=r"is a view.*x\.reshape\(\.\.\.\)\.copy"):
        wg.vmap(f, (0, None))(a, None)
    assert_same(wg.vmap(f, (0, None))(a, "yes"), np.stack([f(x, "yes") for x in a]))


def test_index_that_differs_within_the_batch():
    table, i = RNG.standard_normal(6), np.array([5, 0, 2])
    with pytest.raises(BatchedBranchError):         # NumPy asks for the number
        wg.vmap(lambda k: table[k])(i)
    mapped = wg.vmap(lambda t, k: t[k] * t[k + 1], (None, 0))
    np.testing.assert_allclose(mapped(table, np.array([0, 2])), table[[0, 2]] * table[[1, 3]])


# -- assignments --------------------------------------------------------------------------------

def test_assignments_reach_the_callers_array_as_in_a_loop():
    def scale(x, y):
        x[0] = 0.0
        x *= y
        return np.sum(x)
    for axis in (0, 1):
        a, b = X.copy(), X.copy()
        y = np.arange(X.shape[axis], dtype=float)
        found = wg.vmap(scale, (axis, 0))(a, y)
        expected = [scale(np.moveaxis(b, axis, 0)[i], y[i]) for i in range(X.shape[axis])]
        np.testing.assert_allclose(found, expected, rtol=1e-14)
        np.testing.assert_array_equal(a, b)


def test_assignment_into_what_all_examples_share_is_refused():
    def add(total, x):
        total[0] += x
        return total[0]
    with pytest.raises(MutationError, match=r"total, which all examples .* share") as caught:
        wg.vmap(add, (None, 0))(np.zeros(1), np.arange(3.0))
    assert caught.value.where.file == __file__

    def copied(total, x):
        total = total.copy()
        total[0] += x
        return total
    np.testing.assert_array_equal(wg.vmap(copied, (None, 0))(np.ones(1), np.arange(3.0)),
                                  [[1.0], [2.0], [3.0]])


# -- together with derivatives ------------------------------------------------------------------

def layer(w, x):
    return np.tanh(x @ w)


def loss(w, x, y):
    return np.sum((layer(w, x) - y) ** 2)


Y = RNG.standard_normal((5, 4))


def test_per_sample_gradients():
    found = wg.vmap(wg.grad(loss), (None, 0, 0))(W, X, Y)
    assert_same(found, np.stack([wg.grad(loss)(W, x, y) for x, y in zip(X, Y, strict=True)]))
    both = wg.vmap(wg.value_and_grad(loss), (None, 0, 0))(W, X, Y)
    assert_same(both, stacked([wg.value_and_grad(loss)(W, x, y)
                               for x, y in zip(X, Y, strict=True)]))


def test_gradient_of_a_batched_loss():
    def total(w):
        return np.sum(wg.vmap(loss, (None, 0, 0))(w, X, Y))
    per_sample = wg.vmap(wg.grad(loss), (None, 0, 0))(W, X, Y)
    assert_same(wg.grad(total)(W), per_sample.sum(0))
    v = RNG.standard_normal(W.shape)
    one = sum(wg.hvp(lambda w, x=x, y=y: loss(w, x, y))(W, v) for x, y in zip(X, Y, strict=True))
    assert_same(wg.hvp(total)(W, v), one)
    wg.check_grads(total, (W,))


def test_jacobians():
    def f(x):
        return np.array([x[0] * x[1], np.sin(x[2]), x[0] ** 2 / x[1]])
    rows = np.stack([wg.jacobian(f)(x) for x in X])
    for mode in ("forward", "reverse"):
        assert_same(wg.vmap(wg.jacobian(f, mode=mode))(X), rows)
        whole = wg.jacobian(wg.vmap(f), mode=mode)(X)
        assert whole.shape == (5, 3, 5, 3)
        expected = np.zeros_like(whole)
        for i in range(5):
            expected[i, :, i] = rows[i]
        assert_same(whole, expected)
    hessians = np.stack([wg.hessian(lambda x: np.sum(f(x)))(x) for x in X])
    assert_same(wg.vmap(wg.hessian(lambda x: np.sum(f(x))))(X), hessians)


def test_conventions_hold_for_derivatives_of_batched_jacobians():
    """A Jacobian that is printed by elements is differentiated as a whole."""
    @wg.custom_jvp
    def odd(x):
        return x ** 2

    @odd.defjvp
    def rule(primals, tangents):
        return odd(*primals), 7.0 * primals[0] * tangents[0]

    def f(x):
        return np.array([odd(x[0]) * x[1], wg.stop_gradient(x[0]) * x[1] ** 2, np.max(x) ** 2,
                         np.linalg.norm(x) ** 3])
    for point in (np.ones(3), np.array([2.0, 2.0, 0.0]), np.array([1.0, 2.0, 3.0])):
        many = np.stack([point, 2.0 * point])
        first = np.stack([wg.jacobian(f)(x) for x in many])
        assert_same(wg.vmap(wg.jacobian(f))(many), first)
        second = np.stack([wg.jacobian(wg.jacobian(f))(x) for x in many])
        assert_same(wg.vmap(wg.jacobian(wg.jacobian(f)))(many), second)
        whole = wg.jacobian(lambda x: wg.vmap(wg.jacobian(f))(x))(many)
        for i in range(2):
            np.testing.assert_allclose(whole[i, :, :, i], second[i], rtol=1e-12, atol=1e-12)


def test_small_jacobians_are_printed_by_elements():
    def f(x, k):
        return np.array([k * x[0] * x[1], np.sin(x[2]), 3.0 * x[0]])
    mapped = wg.vmap(wg.jacobian(f), (1, None), 2)
    assert_same(mapped(X.T, 2.0), np.stack([wg.jacobian(f)(x, 2.0) for x in X], axis=-1))
    assert mapped.source == """import numpy as np


def f_vmap(x, k):
    t = np.zeros((3, 3, 5))
    t[0, 0] = k * x[1]
    t[0, 1] = k * x[0]
    t[1, 2] = np.cos(x[2])
    t[2, 0] = 3.0
    return t
"""


@pytest.mark.parametrize("product", [wg.jvp, wg.vjp])
def test_products(product):
    t = RNG.standard_normal((6, 3))
    f = product(lambda x: x * np.sum(x))
    found = wg.vmap(f, (None, 0))(X[0], t)           # many tangents at one point
    assert_same(found, stacked([f(X[0], v) for v in t]))
    assert_same(wg.vmap(f)(X, t[:5]), stacked([f(x, v) for x, v in zip(X, t, strict=False)]))


def test_nested():
    def kernel(x, y):
        return np.exp(-np.sum((x - y) ** 2))
    gram = wg.vmap(wg.vmap(kernel, (None, 0)), (0, None))
    expected = np.array([[kernel(x, y) for y in X] for x in X])
    assert_same(gram(X, X), expected)
    other = wg.vmap(wg.vmap(kernel, (0, None)), (None, 0), 1)
    assert_same(other(X, X), expected)
    wg.check_grads(lambda x: np.sum(gram(x, x) ** 2), (X[:2],))

    def inner(x):                                   # a value of the enclosing function
        return wg.vmap(lambda y: np.dot(x, y))(X)
    assert_same(wg.vmap(inner)(X), X @ X.T)
    assert_same(wg.jacobian(inner)(X[0]), X)


def test_inside_a_loop_and_beside_a_branch_of_the_caller():
    @wg.grad
    def f(x):
        total = 0.0
        for _ in range(2):
            total = total + np.sum(wg.vmap(lambda v: v ** 3)(x))
            x = 2.0 * x
        return total if total > 0 else -total
    np.testing.assert_allclose(f(X[0]), 27.0 * X[0] ** 2)
    np.testing.assert_allclose(f(-X[0]), -27.0 * X[0] ** 2)


def test_custom_rules_and_captured_values():
    @wg.custom_jvp
    def cube(x):
        return x ** 3

    @cube.defjvp
    def rule(primals, tangents):
        return cube(*primals), 30.0 * primals[0] ** 2 * tangents[0]
    np.testing.assert_allclose(wg.vmap(wg.grad(cube))(X[0]), 30.0 * X[0] ** 2)
    scale = 2.0
    mapped = wg.vmap(lambda x: scale * x)
    assert mapped(X[0])[0] == 2.0 * X[0, 0]
    scale = 3.0
    assert mapped(X[0])[0] == 3.0 * X[0, 0]


class Model:
    def __init__(self, k):
        self.k = k

    @wg.vmap
    def scaled(self, x):
        return self.k * np.sum(x)


def test_as_a_method_and_with_options():
    assert_same(Model(2.0).scaled(X), 2.0 * X.sum(1))

    @wg.vmap(in_axes=1, out_axes=-1)
    def columns(x):
        return 2.0 * x
    assert_same(columns(X), 2.0 * X)


@wg.vmap(in_axes=(0, None))
def module_level(x, k):
    return k * np.sum(x)


def test_pickle_save_and_threads(tmp_path):
    expected = 3.0 * X.sum(1)
    assert_same(pickle.loads(pickle.dumps(module_level))(X, 3.0), expected)
    anonymous = wg.vmap(lambda x: 3.0 * np.sum(x))
    anonymous(X)
    assert_same(pickle.loads(pickle.dumps(anonymous))(X), expected)
    path = anonymous.save(tmp_path / "batched")
    space = {}
    exec(path.read_text(), space)
    assert_same(space["f_vmap"](X), expected)
    found = []
    threads = [threading.Thread(target=lambda: found.append(module_level(X, 3.0)))
               for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one in found:
        assert_same(one, expected)


def test_specialized_by_types():
    mapped = wg.vmap(lambda x, k: k * np.sum(x), (0, None))
    mapped.specialize(ArrayType((5, 3), np.dtype(float)), 3.0)
    assert_same(mapped(X, 3.0), 3.0 * X.sum(1))
    assert len(mapped.programs) == 1


def test_values_are_never_views_of_arguments():
    a = X.copy()
    out = wg.vmap(lambda x: x)(a)
    out[...] = 0.0
    np.testing.assert_array_equal(a, X)


@pytest.mark.parametrize(("f", "axes", "args", "line"), [
    (lambda w, x: w @ x, (None, 0), (W.T, X), "return x @ w.T"),
    (lambda w, x: np.tanh(x @ w), (None, 0), (W, X), "return np.tanh(x @ w)"),
    (lambda x, y: x @ y, (0, 0), (X, X), "return np.sum(x * y, axis=1)"),
    (lambda x: x[0] * x[1], (1,), (X,), "return x[0] * x[1]"),
    (lambda x: np.sum(x ** 2) / 3.0, (0,), (X,), "return np.sum(x ** 2, axis=1) / 3.0"),
    (lambda x, y: np.exp(x) * y, (0, None), (X[0], 2.0), "return np.exp(x) * y"),
])
def test_source_is_what_one_would_write(f, axes, args, line):
    mapped = wg.vmap(f, axes)
    mapped(*args)
    assert mapped.source.rstrip().endswith(line)
