"""Patterns from the graph: exact where they can be, and never without a true non-zero."""

import tracemalloc

import numpy as np
import pytest
import wengert as wg
from wengert.compiler.errors import PatternTooLargeError
from wengert.compiler.ops.table import TABLE
from wengert.compiler.passes.pipeline import PREPARE, SIMPLE, run
from wengert.compiler.transforms import pattern as patterns
from wengert.compiler.transforms.derive import gradient
from wengert.compiler.transforms.jvp import jvp
from wengert.compiler.transforms.sparsity import sparsity

N = 6
SPARSE = np.zeros((N, N))
SPARSE[[0, 1, 1, 4], [2, 0, 5, 4]] = 1.0
SPARSE_2 = np.eye(N, k=1)


def found(function, x, second=False):
    """Pattern of the Jacobian, or of the Hessian, as a boolean array."""
    graph = run(wg.trace(function)(x), PREPARE)
    if second:
        graph = run(gradient(graph, [0]), SIMPLE)
    pushed = run(jvp(graph, [0]), SIMPLE)
    n = len(graph.outputs)
    (pattern,) = sparsity(pushed, [1]).outputs[n:]
    return pattern.dense()


def shift(k):
    return np.eye(N, k=k, dtype=bool)


EYE = np.eye(N, dtype=bool)
FULL = np.ones((N, N), bool)
LOWER = np.tri(N, dtype=bool)
EXACT = {
    "elementwise": (lambda x: np.sin(x) * x, EYE),
    "broadcast": (lambda x: np.ones((2, N)) * x ** 2, np.vstack([EYE, EYE])),
    "one element": (lambda x: x * x[2], EYE | (np.arange(N) == 2)),
    "reverse": (lambda x: x[::-1] ** 2, EYE[::-1]),
    "roll": (lambda x: np.roll(x, 1) * 3.0, np.roll(EYE, 1, axis=0)),
    "difference": (np.diff, (EYE | shift(1))[:-1]),
    "gradient": (lambda x: np.gradient(x), np.array([
        [j in {max(i - 1, 0), min(i + 1, N - 1)} or (i in (0, N - 1) and j == i)
         for j in range(N)] for i in range(N)])),
    "sum": (lambda x: np.sum(x ** 2)[None], FULL[:1]),
    "sum along an axis": (lambda x: np.sum((x ** 2).reshape(2, 3), axis=1),
                          np.kron(np.eye(2), np.ones((1, 3))) > 0),
    "running sum": (lambda x: np.cumsum(x ** 2), LOWER),
    "running product": (np.cumprod, LOWER),
    "matrix of constants": (lambda x: SPARSE @ (x ** 2), SPARSE != 0),
    "from the left": (lambda x: (x ** 2) @ SPARSE, SPARSE.T != 0),
    "two matrices": (lambda x: SPARSE @ (SPARSE_2 @ x), SPARSE @ SPARSE_2 != 0),
    "dot": (lambda x: np.atleast_1d(np.dot(SPARSE[1], x ** 2)), SPARSE[1:2] != 0),
    "einsum": (lambda x: np.einsum("ij,j->i", SPARSE, np.exp(x)), SPARSE != 0),
    "tensordot": (lambda x: np.tensordot(SPARSE, x ** 2, axes=(1, 0)), SPARSE != 0),
    "outer": (lambda x: np.outer(x[:2], x[2:4]).ravel(),
              np.array([[j in (a, 2 + b) for j in range(N)] for a in range(2) for b in range(2)])),
    "diagonal": (lambda x: np.diagonal(np.outer(x, x)), EYE),
    "scaled by zeros": (lambda x: x ** 2 * np.array([1.0, 0, 0, 2, 0, 1]),
                        EYE & np.array([1, 0, 0, 1, 0, 1], bool)),
    "fixed choice": (lambda x: np.where(np.arange(N) < 3, x ** 2, 0.0),
                     EYE & (np.arange(N) < 3)),
    "choice by value": (lambda x: np.where(x > 0, x ** 2, np.roll(x, 1)),
                        EYE | np.roll(EYE, 1, axis=0)),
    "convolution": (lambda x: np.convolve(x, [1.0, 0.0, 2.0], "same"), shift(1) | shift(-1)),
    "of both": (lambda x: np.convolve(x[:2], x[2:4]),
                np.array([[j in row for j in range(N)]
                          for row in ({0, 2}, {0, 1, 2, 3}, {1, 3})])),
    "gather": (lambda x: x[[3, 3, 0]] ** 2, EYE[[3, 3, 0]]),
    "mask": (lambda x: x[np.arange(N) % 2 == 0] ** 2, EYE[::2]),
    "sorting": (np.sort, FULL),                             # which element comes where can change
    "maximum": (lambda x: np.maximum(x, x[0]), EYE | (np.arange(N) == 0)),
    "clip": (lambda x: np.clip(x, 0.0, 1.0), EYE),
    "norm": (lambda x: x / np.linalg.norm(x), FULL),
    "fourier": (lambda x: np.fft.irfft(np.fft.rfft(x)), FULL),
    "constant": (lambda x: np.floor(x) + np.arange(N), EYE & False),
    "linear algebra": (lambda x: np.linalg.solve(np.eye(N) + np.diag(x), np.ones(N)), FULL),
    "stacks": (lambda x: np.linalg.solve(np.stack([np.eye(3), 2 * np.eye(3)]),
                                         x.reshape(2, 3, 1)).ravel(),
               np.kron(np.eye(2), np.ones((3, 3))) > 0),
    "rank": (lambda x: np.repeat(np.linalg.det(np.eye(2) * x.reshape(3, 1, 2)), 2),
             np.kron(np.eye(3), np.ones((2, 2))) > 0),
}


@pytest.mark.parametrize("name", EXACT)
def test_pattern(name):
    function, expected = EXACT[name]
    x = np.linspace(0.3, 1.4, N)
    assert np.array_equal(found(function, x), expected)
    dense = wg.jacobian(function)(x)
    assert not np.any((dense.reshape(expected.shape) != 0) & ~expected)


def filled(x):
    out = np.zeros(N)
    out[1:-1] = x[2:] * x[:-2]
    out[[0, -1]] = x[2]
    return out


def added(x):
    out = np.zeros(N)
    np.add.at(out, [0, 0, 3], x[:3] ** 2)
    return out


def looped(x):
    out = np.zeros(N)
    for i in range(1, N):
        out[i] = x[i] * x[i - 1]
    return out


@pytest.mark.parametrize(("function", "rows"), [
    (filled, [{2}, {0, 2}, {1, 3}, {2, 4}, {3, 5}, {2}]),
    (added, [{0, 1}, set(), set(), {2}, set(), set()]),
    (looped, [set(), {0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}])])
def test_pattern_of_assignments(function, rows):
    pattern = found(function, np.linspace(0.3, 1.4, N))
    assert [set(np.flatnonzero(row).tolist()) for row in pattern] == rows


HESSIANS = {
    "separable": (lambda x: np.sum(np.exp(x)), EYE),
    "linear": (lambda x: np.sum(3.0 * x), EYE & False),
    "chain": (lambda x: np.sum((x[1:] - x[:-1] ** 2) ** 2), EYE | shift(1) | shift(-1)),
    "product": (lambda x: x[0] * x[3] + x[1], (np.outer(np.arange(N) == 0, np.arange(N) == 3)
                                              | np.outer(np.arange(N) == 3, np.arange(N) == 0))),
    "square of a sum": (lambda x: np.sum(x) ** 2, FULL),
    "quotient": (lambda x: x[0] / x[1], np.array([[i + j in (1, 2) and max(i, j) == 1
                                                   for j in range(N)] for i in range(N)])),
    "branch by value": (lambda x: np.sum(np.where(x > 0.5, x ** 2, x)), EYE),
}


@pytest.mark.parametrize("name", HESSIANS)
def test_pattern_of_a_hessian(name):
    function, expected = HESSIANS[name]
    assert np.array_equal(found(function, np.linspace(0.3, 1.4, N), second=True), expected)


def test_patterns_hold_for_all_values():
    """At the origin every product has derivative zero; the pattern must not say so."""
    def product(x):
        return x[1:] * x[:-1]
    at_zero = wg.jacobian(product, sparse=True)
    assert at_zero(np.zeros(N)).count_nonzero() == 0
    x = np.arange(1.0, N + 1.0)
    np.testing.assert_array_equal(at_zero(x).toarray(), wg.jacobian(product)(x))


def test_an_index_that_is_an_argument_can_be_any():
    jac = wg.jacobian(lambda x, i: x[i] ** 2, sparse=True)
    x = np.arange(1.0, N + 1.0)
    for i in ([0, 1, 2], [5, 5, 0]):
        found_there = jac(x, np.array(i)).toarray()
        np.testing.assert_array_equal(found_there, wg.jacobian(lambda x, i: x[i] ** 2)(
            x, np.array(i)))
    assert jac.pattern.nnz == 3 * N


def test_too_many_entries_name_the_line(monkeypatch):
    monkeypatch.setattr(patterns, "LIMIT", 1000)

    def coupled(x):
        y = np.sin(x)
        return np.sum(y) * y
    with pytest.raises(PatternTooLargeError, match=f"{__file__}:{coupled.__code__.co_firstlineno + 2}: "
                                                   "The sparsity pattern would have .* non-zeros"):
        wg.jacobian(coupled, sparse=True)(np.ones(40))


def test_running_sums_of_many_elements_are_refused_without_memory():
    with pytest.raises(PatternTooLargeError, match="Products with vectors"):
        wg.jacobian(lambda x: np.cumsum(x ** 2), sparse=True)(np.ones(20_000))


@pytest.mark.parametrize("name", sorted(n for n, row in TABLE.items() if row.copies))
def test_rows_that_copy_say_which_elements(name):
    """Element by element: the flow's steps from the operand's elements give the result."""
    row = TABLE[name]
    rng = np.random.default_rng(0)
    for one in row.samples:
        params = dict(one.params)
        args = [np.asarray(rng.uniform(1.0, 2.0, a) if isinstance(a, tuple) else a)
                for a in one.args]
        data = [i for i, a in enumerate(one.args) if isinstance(a, tuple)]
        total = 0.0
        out = np.asarray(row.call(*args, **params))
        types = tuple(wg.compiler.arraytype.type_of(a) for a in args)
        for i in data:
            flow = row.flow(i, types, wg.compiler.arraytype.type_of(out),
                            lambda j, known=args, data=data: None if j in data else known[j],
                            **params)
            total = total + weights_after(flow, args[i].ravel())
        np.testing.assert_allclose(total, out.ravel(), rtol=1e-14)


def weights_after(flow, values):
    for step in flow:
        if isinstance(step, wg.compiler.ops.flow.Collect):
            new = np.zeros(step.size)
            np.add.at(new, step.target[step.target >= 0], values[step.target >= 0])
        else:
            new = np.where(step.index >= 0, values[step.index], 0.0) if len(values) else \
                np.zeros(len(step.index))
        values = new
    return values


def test_large_values_are_refused_before_their_elements_are_numbered():
    tracemalloc.start()
    with pytest.raises(PatternTooLargeError, match="400,000,000 elements depend on the argument"):
        wg.jacobian(lambda x: np.sum(np.outer(x, x)), sparse=True).specialize(np.ones(20_000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 50e6
