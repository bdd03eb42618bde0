"""Sparse derivatives by formulas: what is computed, and where sweeps are taken instead."""

import numpy as np
import pytest
import wengert as wg
from sparse_agreement import check
from wengert.compiler.ops import flow
from wengert.runtime import sparse

N = 6
A, B, D = 3.4, 1.0, 0.72


def reaction(u, v):
    return B + u * u * v - (A + 1.0) * u, A * u - u * u * v


def by_roll(y):
    u, v = y.reshape(2, N, N)
    du, dv = reaction(u, v)
    for axis in (0, 1):
        for k in (1, -1):
            du = du + D * (np.roll(u, k, axis) - u)
            dv = dv + D * (np.roll(v, k, axis) - v)
    return np.concatenate([du.ravel(), dv.ravel()])


def by_slices(y):
    u, v = y.reshape(2, N, N)

    def laplacian(w):
        p = np.pad(w, 1, mode="edge")
        return p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4.0 * w
    du, dv = reaction(u, v)
    return np.stack([du + D * laplacian(u), dv + D * laplacian(v)]).ravel()


def in_place(y):
    u, v = y.reshape(2, N, N)
    out = np.zeros((2, N, N))
    for d, w in zip(out, (u, v), strict=True):
        d[1:] += w[:-1] - w[1:]
        d[:-1] += w[1:] - w[:-1]
        d[:, 1:] += w[:, :-1] - w[:, 1:]
        d[:, :-1] += w[:, 1:] - w[:, :-1]
        d *= D
    du, dv = reaction(u, v)
    out[0] += du
    out[1] += dv
    return out.ravel()


Y = np.linspace(0.3, 1.7, 2 * N * N)


@pytest.mark.parametrize(("rhs", "entries"), [(by_roll, 6), (by_slices, None), (in_place, None)])
def test_the_brusselator_in_three_spellings(rhs, entries):
    compiled = check(rhs, Y)
    assert "entries by formulas, without sweeps" in compiled.report()
    assert compiled.colors <= 12
    assert "u * u" in compiled.source
    assert "np.where" not in compiled.source
    if entries:
        assert compiled.pattern.nnz == entries * len(Y)


def test_constants_cost_nothing():
    """The Jacobian of a linear function is a constant: nothing is computed."""
    compiled = check(lambda x: np.diff(x, n=2, append=0.0) * 3.0 + x[:-1], np.linspace(0.0, 1.0, 9))
    assert [line for line in compiled.source.splitlines() if "return" in line] == \
        ["    return table.copy()"]


def test_equal_diagonals_are_computed_once():
    compiled = check(lambda x: np.exp(x)[:-2] + np.exp(x)[2:] * x[1:-1], np.linspace(0.1, 1.0, 9))
    assert compiled.source.count("= np.exp(x)\n") == 1


def test_nonlinear_diffusion():
    def heat(u):
        flow = np.zeros(len(u) + 1)
        flow[1:-1] = (1.0 + u[1:] ** 2) * (u[:-1] - u[1:])
        return flow[:-1] - flow[1:]
    compiled = check(heat, np.linspace(0.0, 1.0, 12))
    assert "by formulas" in compiled.report()


def test_sums_over_scattered_elements():
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, 20, (2, 60))

    def forces(x):
        out = np.zeros(20)
        pull = np.sin(x[i] - x[j])
        np.add.at(out, i, pull)
        np.subtract.at(out, j, pull)
        return out
    x = rng.normal(size=20)
    assert "by formulas" in check(forces, x).report()
    check(lambda x: np.sum(np.cos(x[i] - x[j])), x, wg.hessian)


def test_branches_by_value():
    check(lambda x: np.where(x[1:] > 0.5, x[1:] * x[:-1], np.sin(x[:-1])), np.linspace(0, 1, 12))
    check(lambda x: np.maximum(x[1:], x[:-1] ** 2).reshape(1, -1) * np.ones((3, 1)),
          np.linspace(0.1, 1, 12))


def test_what_has_no_formula_is_swept():
    compiled = check(lambda x: np.fft.fft((x ** 2).reshape(3, 4)).real.ravel(),
                     np.linspace(0.1, 1.0, 12))
    assert "4 forward sweeps" in compiled.report()


def test_running_sums(monkeypatch):
    def f(x):
        return np.cumsum((x ** 2).reshape(3, 4), axis=1).ravel() * x
    x = np.linspace(0.1, 1.0, 12)
    assert "by formulas" in check(f, x).report()
    monkeypatch.setattr(sparse, "is_cheap", lambda *_: True)
    assert "by formulas" in check(lambda x: np.sum(f(x) ** 2), x, wg.hessian).report()
    # Of more pairs than are looked at one by one, the flow says too much for a formula.
    monkeypatch.setattr(flow, "PAIRS", 10)
    assert "sweeps" in check(lambda x: np.cumsum(x[:3]), x[:5]).report()
    assert "4 forward sweeps" in check(f, x).report()


def test_constant_matrices(monkeypatch):
    monkeypatch.setattr(sparse, "is_cheap", lambda *_: True)
    matrix = np.diag(np.linspace(1.0, 2.0, 5), 1) + np.diag([2.0, 0.0, 1.0, 3.0, -1.0, 0.5])
    x = np.linspace(0.1, 1.0, 6)
    for function in (lambda x: np.sin(matrix @ x) * x, lambda x: (x ** 2) @ matrix,
                     lambda x: matrix @ (matrix @ x) * 2.0, lambda x: np.tensordot(matrix, x, 1),
                     lambda x: np.einsum("ij,j->i", matrix, np.exp(x)),
                     lambda x: (matrix[:3] @ (x ** 2).reshape(6, 1)).ravel()):
        assert "by formulas" in check(function, x).report()
    check(lambda x: np.exp(x) @ matrix @ x, x, wg.hessian)


def test_a_chosen_direction_is_swept():
    for mode in ("forward", "reverse"):
        assert f"{mode} sweeps" in check(by_slices, Y, mode=mode).report()


def test_an_element_that_reads_nothing():
    """Row 1 of the matrix is empty, so the products that it is made of are read by nobody."""
    matrix = np.zeros((8, 8))
    matrix[[0, 2, 7], [1, 3, 0]] = [1.0, -2.0, 0.5]

    def f(x):
        r = x * (matrix @ x)[1] + np.sin(x)
        return np.sum(r * np.roll(r, 1))
    check(f, np.arange(1.0, 9.0), wg.hessian)


# -- second derivatives ---------------------------------------------------------------------------

def test_rules_of_the_users_hold_at_second_order():
    @wg.custom_jvp
    def square(x):
        return x * x

    @square.defjvp
    def rule(primals, tangents):
        (x,), (t,) = primals, tangents
        return square(x), 3.0 * square(x) * t            # not that of the body

    def f(x):
        return np.sum(square(x) * np.roll(x, 1))
    x = np.array([1.0, 2.0, 3.0, 4.0])
    assert np.diag(wg.hessian(f)(x))[0] == 9.0 * x[0] ** 2 * x[3]
    for mode in ("auto", "forward", "reverse", "substitution"):
        found = wg.hessian(f, sparse=True, mode=mode)(x).toarray()
        np.testing.assert_allclose(found, wg.hessian(f)(x), rtol=1e-12)


def test_ties_are_split_at_second_order():
    matrix = np.tril(np.ones((8, 8)), -6) + 2.0 * np.eye(8)

    def f(x):
        v = np.linalg.solve(matrix + np.diag(x ** 2), x)
        return np.sum(np.maximum(x, 0.0) * v * np.arange(1.0, 9.0))
    x = np.array([0.0, -1.0, 1.0, 0.0, 0.0, 1.0, -1.0, 0.0])
    assert wg.hessian(f)(x)[0, 0] == 0.5                  # 2 · ½ · dv/dx
    check(f, x, wg.hessian)


def test_a_mask_of_rows_in_front_of_a_product():
    k = np.array([1.0, 0.0, 2.0, 0.0, -1.0, 0.5, 0.0, 3.0])
    matrix = np.zeros((8, 8))
    matrix[[0, 2, 3, 7], [1, 2, 0, 3]] = [1.0, 0.5, 1.5, -1.0]

    def f(x):
        row = (np.outer(x, k) @ matrix)[2]
        return (x[:, None] * np.logaddexp(row, row)) @ k

    def g(x):
        return np.sum(np.sin(f(x)) * f(x)[0])
    x = np.linspace(-1.0, 1.0, 8)
    check(f, x)
    check(g, x, wg.hessian)
    wg.check_grads(g, (x,), order=2)
