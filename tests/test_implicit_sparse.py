"""Implicit functions with many unknowns: sparse Jacobians against dense ones and differences."""

import pickle
import tracemalloc

import numpy as np
import pytest
import wengert as wg
from test_implicit import differences
from wengert.compiler.errors import (
    BodyBranchError,
    ConvergenceError,
    InputTypeError,
    PatternTooLargeError,
    SingularSystemError,
)
from wengert.compiler.transforms import pattern

RNG = np.random.default_rng(5)


def poisson(u, k, load):
    """Bratu's equation on a square, zero at its edges."""
    p = np.pad(u, 1)
    around = p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2]
    return 4.0 * u - around + k * np.exp(u) - load


def rod(u, k):
    """The same on a line, by assignments."""
    out = 2.0 * u + k * u ** 3 - 1.0
    out[1:] -= u[:-1]
    out[:-1] -= u[1:]
    return out


def functional(root, n):
    def f(k, load):
        u = root(np.zeros((n, n)), k, load)
        return np.sum(u ** 2 * np.cos(u))
    return f


def test_ten_thousand_unknowns():
    n = 100
    load, d = RNG.random((n, n)), RNG.standard_normal((n, n))
    root = wg.implicit_root(poisson)
    f = functional(root, n)
    gradient = wg.grad(f, (0, 1))
    tracemalloc.start()
    by_k, by_load = gradient(0.3, load)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100e6                                # a dense Jacobian has 800 MB
    assert np.max(np.abs(poisson(root(np.zeros((n, n)), 0.3, load), 0.3, load))) < 1e-12
    np.testing.assert_allclose(by_k, differences(lambda k: f(float(k), load), 0.3), rtol=1e-7)
    np.testing.assert_allclose(np.sum(by_load * d), differences(
        lambda h: f(0.3, load + h * d), 0.0), rtol=1e-7)
    assert gradient.source.count("splu(") == 1
    assert "np.linalg" not in gradient.source


def agree(found, want):
    found, want = np.asarray(found), np.asarray(want)
    np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-10 * np.max(np.abs(want)))


def test_every_derivative_is_that_of_the_dense_system():
    n, results = 4, {}
    load = RNG.random((n, n))
    ks, loads = np.array([0.1, 0.2, 0.5]), np.stack([load, -load])
    for sparse in (True, False):
        root = wg.implicit_root(poisson, sparse=sparse)
        f = functional(root, n)

        def u_of(load, root=root):
            return root(np.zeros((n, n)), 0.1, load)
        results[sparse] = [
            f(0.1, load), *wg.grad(f, (0, 1))(0.1, load),
            *wg.grad(f, (0, 1), mode="forward")(0.1, load),
            *[block for row in wg.hessian(f, (0, 1))(0.1, load) for block in row],
            wg.hessian(f, 1, mode="reverse")(0.1, load), wg.hvp(f, 1)(0.1, load, load),
            wg.grad(wg.grad(wg.grad(f)))(0.1, load),
            wg.jacobian(u_of, mode="forward")(load), wg.jacobian(u_of, mode="reverse")(load),
            wg.jvp(u_of)(load, load)[1], wg.vmap(wg.grad(f), (0, None))(ks, load),
            wg.vmap(wg.grad(f, 1), (None, 0))(0.1, loads),
            wg.vmap(wg.hessian(f, 1), (None, 0))(0.1, loads),
            wg.grad(lambda ks, f=f: np.sum(wg.vmap(f, (0, None))(ks, load) ** 2))(ks)]
    for found, want in zip(results[True], results[False], strict=True):
        agree(found, want)


def test_second_derivatives_factor_once():
    root = wg.implicit_root(poisson, sparse=True)
    for derivative in (wg.hessian, wg.hvp):
        found = derivative(functional(root, 4), 1)
        load = np.ones((4, 4))
        found(0.1, load, *[load] * (derivative is wg.hvp))
        assert found.source.count("splu(") == 1
        assert "factors = sparse.linalg.splu(" in found.source
        assert "factors.solve(" in found.source
    wg.check_grads(lambda load: root(np.zeros((4, 4)), 0.1, load), (np.ones((4, 4)),), order=2)


def sources(sparse, n, residual, *parameters):
    root = wg.implicit_root(residual, sparse=sparse)
    gradient = wg.grad(lambda *p: np.sum(root(np.zeros(n), *p)))
    gradient(*parameters)
    return gradient.source


def test_choice():
    def full(u, k):
        return 3.0 * u + k * np.mean(u) - 1.0
    for sparse, n, residual, is_sparse in [
            ("auto", 199, rod, False), ("auto", 200, rod, True), (True, 3, rod, True),
            (False, 300, rod, False), ("auto", 220, full, False), (True, 220, full, True)]:
        assert ("splu" in sources(sparse, n, residual, 0.5)) == is_sparse
    with pytest.raises(InputTypeError, match="sparse='yes'"):
        wg.implicit_root(rod, sparse="yes")


def test_pattern_beyond_the_limit(monkeypatch):
    monkeypatch.setattr(pattern, "LIMIT", 700)
    assert "splu" not in sources("auto", 250, rod, 0.5)
    with pytest.raises(PatternTooLargeError, match="more than the limit"):
        sources(True, 250, rod, 0.5)


def test_captured_index_is_never_stale():
    n = 210
    idx, b = np.roll(np.arange(n), 1), RNG.random(n)

    def chain(x, a):
        return 3.0 * x - a * x[idx] - b
    root, dense = wg.implicit_root(chain), wg.implicit_root(chain, sparse=False)
    gradients = [wg.grad(lambda a, r=r: r(np.zeros(n), a) @ b ** 2) for r in (root, dense)]
    before = gradients[0](0.5)
    agree(before, gradients[1](0.5))
    idx[:] = RNG.integers(0, n, n)
    assert abs(gradients[1](0.5) - before) > 1e-3
    agree(gradients[0](0.5), gradients[1](0.5))
    agree(wg.compile(gradients[0])(0.5), gradients[1](0.5))
    assert "splu" in gradients[0].source


def test_inside_of_loops():
    n, idx = 210, np.roll(np.arange(210), 1)
    plain = wg.implicit_root(lambda x, a: 3.0 * x - a * np.roll(x, 1) - 1.0)

    def looped(a, root=plain):
        return wg.fori_loop(0, 3, lambda i, a: 0.9 * a + 0.01 * np.sum(root(np.zeros(n), a)), a)
    np.testing.assert_allclose(wg.grad(looped)(0.3), differences(lambda a: looped(float(a)), 0.3),
                               rtol=1e-8)
    capturing = wg.implicit_root(lambda x, a: 3.0 * x - a * x[idx] - 1.0)
    with pytest.raises(BodyBranchError, match="rests on what is in an array") as caught:
        wg.grad(lambda a: looped(a, capturing))(0.3)
    assert caught.value.where.file == __file__
    dense = wg.implicit_root(lambda x, a: 3.0 * x - a * x[idx] - 1.0, sparse=False)
    agree(wg.grad(lambda a: looped(a, dense))(0.3), wg.grad(looped)(0.3))


def test_branches_have_patterns_of_their_own():
    n = 205

    def either(x, a):
        if a > 0:
            return 3.0 * x - np.sin(a * np.roll(x, 1)) - 1.0
        return 3.0 * x - np.sin(a * np.roll(x, -2)) - np.arange(n)
    root, dense = (wg.implicit_root(either, sparse=s) for s in ("auto", False))
    slopes = [wg.grad(lambda a, r=r: np.sum(r(np.zeros(n), a) ** 2)) for r in (root, dense)]
    for a in (0.5, -0.5, 1.0):
        agree(slopes[0](a), slopes[1](a))


def test_fixed_point_and_solver_of_the_users():
    n, b = 250, RNG.random(250)

    def g(x, a):
        return 0.3 * np.cos(a * np.roll(x, 1)) + 0.2 * np.roll(x, -1) * b

    found = []
    for sparse in (True, False):
        point = wg.implicit_fixed_point(g, sparse=sparse)
        found.append(wg.value_and_grad(lambda a, p=point: np.sum(p(np.zeros(n), a) ** 3))(0.7))
    agree(*found)
    start = RNG.random(n)
    root = wg.implicit_root(rod, solver=lambda f, x0: start)     # Newton's method gets there
    agree(rod(root(np.zeros(n), 0.5), 0.5) + 1.0, np.ones(n))


def test_far_from_the_solution_steps_are_halved():
    n = 300
    root = wg.implicit_root(lambda x, a: np.arctan(x - a) + 0.01 * (np.roll(x, 1) - x))
    x = root(np.full(n, 40.0), 1.0)                              # plain steps go to infinity
    np.testing.assert_allclose(x, 1.0, rtol=1e-13)


@pytest.mark.parametrize("scale", [1e-10, 1.0, 1e10])
def test_units_do_not_matter(scale):
    units = 10.0 ** np.linspace(-8, 8, 240)
    root = wg.implicit_root(lambda x, a: units * rod(x / scale, a))
    slope = wg.grad(lambda a: np.sum(root(np.full(240, scale), a)) / scale)
    plain = wg.implicit_root(rod)
    agree(slope(0.5), wg.grad(lambda a: np.sum(plain(np.ones(240), a)))(0.5))


def test_precision_and_pickles():
    root = pickle.loads(pickle.dumps(wg.implicit_root(rod, sparse=True)))
    x0 = np.zeros(20, np.float32)
    gradient = wg.grad(lambda k: np.sum(root(x0, k)))
    assert root(x0, np.float32(0.5)).dtype == np.float32
    np.testing.assert_allclose(gradient(0.5), wg.grad(lambda k: np.sum(root(np.zeros(20), k)))(0.5),
                               rtol=1e-5)


N = 230


def three_for_two(x, a):
    """Three equations for the first two unknowns, one for the next two."""
    return np.concatenate([[x[0] + x[1] - a, 2.0 * x[0] - a, 2.0 * x[1] - a, x[2] + x[3] - a],
                           x[4:] - a])


@pytest.mark.parametrize(("residual", "kind", "message"), [
    (lambda x, a: np.append(x[:-1] - a, 0.0 * a), SingularSystemError,
     f"equation {N - 1} depends on no unknown"),
    (lambda x, a: np.append(x[:-1] - a, x[0] - a), SingularSystemError,
     f"unknown {N - 1} is in no equation"),
    (lambda x, a: 2.0 * x - np.roll(x, 1) - np.roll(x, -1), SingularSystemError,
     "is singular at the solution"),                             # constants are not determined
    (lambda x, a: (x - 1.1 * a) ** 2, SingularSystemError, "singular|multiple root"),
    (lambda x, a: x ** 2 + a, ConvergenceError, "found no root of"),
    (three_for_two, SingularSystemError, "the unknowns of equation [012] are determined by others"),
])
def test_what_is_no_solution_is_refused(residual, kind, message):
    for sparse in ("auto", False):
        root = wg.implicit_root(residual, sparse=sparse)
        with pytest.raises(kind, match=message) as caught, np.errstate(all="ignore"):
            root(np.ones(N), 2.0)
        assert caught.value.where.file == __file__
        with pytest.raises(kind, match=message), np.errstate(all="ignore"):
            wg.grad(lambda a, r=root: np.sum(r(np.ones(N), a)))(2.0)


def test_the_global_random_generator_is_left_alone():
    root = wg.implicit_root(lambda x, a: x + 0.1 * np.roll(x, 1) ** 3 - a, sparse=True)
    before = np.random.get_state()[1].copy()
    root(np.zeros(300), np.linspace(0.0, 1.0, 300))
    assert np.array_equal(np.random.get_state()[1], before)
