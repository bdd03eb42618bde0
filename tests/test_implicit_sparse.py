"""Implicit functions of many unknowns: sparse Jacobians against dense ones and differences."""

import pickle
import tracemalloc

import numpy as np
import pytest
import wengert as wg
from wengert.compiler.errors import ConvergenceError, CustomRuleError, SingularSystemError
from wengert.runtime.linearized import SPARSE_FROM, damped_newton


def membrane(u, k, load):
    """−Δu + exp(k u) = load on a square, u = 0 on its border."""
    padded = np.pad(u, 1)
    neighbours = padded[2:, 1:-1] + padded[:-2, 1:-1] + padded[1:-1, 2:] + padded[1:-1, :-2]
    return (len(u) + 1) ** 2 * (4.0 * u - neighbours) + np.exp(k * u) - load


def deflection(n, **options):
    root = wg.implicit_root(membrane, **options)
    return lambda k, load: np.mean(root(np.zeros((n, n)), k, load) ** 2)


def test_gradient_of_many_unknowns_by_the_adjoint():
    f, load, k, h = deflection(60), np.full((60, 60), 3.0), 0.7, 1e-4
    gradient = wg.grad(f, (0, 1))
    by_k, by_load = gradient(k, load)
    assert "sparse.linalg.splu(" in gradient.source
    assert by_k == pytest.approx((f(k + h, load) - f(k - h, load)) / (2 * h), rel=1e-7)
    direction = np.random.default_rng(1).normal(size=load.shape)
    difference = (f(k, load + h * direction) - f(k, load - h * direction)) / (2 * h)
    assert np.vdot(by_load, direction) == pytest.approx(difference, rel=1e-7)
    tracemalloc.start()
    gradient(k, load)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.05 * 8 * load.size ** 2          # a dense Jacobian has that many bytes


@pytest.mark.parametrize("n", [3, 12])
def test_sparse_and_dense_agree(n):
    load = np.linspace(1.0, 4.0, n * n).reshape(n, n)
    sparse, dense = deflection(n, sparse=True), deflection(n, sparse=False)
    for make in (lambda f: wg.grad(f, (0, 1)), lambda f: wg.grad(f, (0, 1), mode="forward"),
                 lambda f: wg.grad(wg.grad(f)), lambda f: wg.hessian(f, 0),
                 lambda f: wg.grad(lambda k, load: np.sum(wg.grad(f, 1)(k, load) ** 2))):
        pairs = [make(f)(0.5, load) for f in (sparse, dense)]
        for a, b in zip(*[r if isinstance(r, tuple) else (r,) for r in pairs], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-14)
    many = np.stack([load, 2.0 * load])
    np.testing.assert_allclose(wg.vmap(wg.grad(sparse), (None, 0))(0.5, many),
                               [wg.grad(dense)(0.5, p) for p in many], rtol=1e-10)


def test_few_unknowns_and_full_matrices_are_dense():
    few, many = (wg.grad(deflection(n)) for n in (3, 12))
    assert SPARSE_FROM <= 144
    few(0.5, np.ones((3, 3)))
    many(0.5, np.ones((12, 12)))
    assert "splu" not in few.source
    assert "splu" in many.source
    coupled = wg.implicit_root(lambda x, a: x + np.sum(np.sin(x)) / 1000.0 - a)
    full = wg.grad(lambda a: np.sum(coupled(np.zeros(144), a)))
    a = np.linspace(0.0, 1.0, 144)
    found, x = full(a), coupled(np.zeros(144), a)
    assert "splu" not in full.source
    matrix = np.eye(144) + np.cos(x) / 1000.0
    np.testing.assert_allclose(found, np.linalg.solve(matrix.T, np.ones(144)), rtol=1e-12)


def test_fixed_point():
    def smoothed(x, a):
        return 0.25 * (np.roll(x, 1) + np.roll(x, -1)) + a * np.cos(x)
    sparse, dense = (wg.implicit_fixed_point(smoothed, sparse=s) for s in ("auto", False))
    a = np.linspace(0.1, 0.4, 150)
    gradients = [wg.grad(lambda a, p=p: np.sum(p(np.zeros(150), a) ** 2)) for p in (sparse, dense)]
    found, expected = (g(a) for g in gradients)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert "splu" in gradients[0].source


def test_other_forms_of_the_same_function():
    f, load = deflection(12), np.ones((12, 12))
    root = wg.implicit_root(membrane, sparse=True)
    again = pickle.loads(pickle.dumps(root))
    assert again.linearized.sparse is True
    np.testing.assert_array_equal(again(np.zeros((3, 3)), 0.5, np.ones((3, 3))),
                                  root(np.zeros((3, 3)), 0.5, np.ones((3, 3))))
    assert wg.grad(f)(0.5, load.astype(np.float32)) == pytest.approx(wg.grad(f)(0.5, load), rel=1e-5)
    with pytest.raises(ValueError, match="sparse='no'"):
        wg.implicit_root(membrane, sparse="no")


def test_a_stiff_start_needs_damping():
    """Full Newton steps from zero overshoot exp and do not come back."""
    def arctan(x, a):
        return np.arctan(50.0 * (x - a)) + 0.01 * (x - np.roll(x, 1))
    root = wg.implicit_root(arctan, sparse=True)
    a = np.linspace(1.0, 2.0, 120)
    np.testing.assert_allclose(arctan(root(np.zeros(120), a), a), 0.0, atol=1e-12)
    # Undamped, the iteration for one unknown diverges from |x - a| > 1.39 / 50.
    x = np.zeros(1)
    for _ in range(3):
        x = x - np.arctan(50.0 * (x - 1.0)) * (1.0 + (50.0 * (x - 1.0)) ** 2) / 50.0
    assert abs(x[0]) > 1e3
    found = damped_newton(lambda x: np.arctan(50.0 * (x - 1.0)),
                          lambda x: np.diag(50.0 / (1.0 + (50.0 * (x - 1.0)) ** 2)), np.zeros(1))
    assert found[0] == pytest.approx(1.0, abs=1e-12)


# -- errors -------------------------------------------------------------------------------------

@pytest.mark.parametrize(("residual", "message"), [
    (lambda x, a: np.concatenate([x[1:] - a, [0.0]]), "equation 119 depends on no unknown"),
    (lambda x, a: np.concatenate([x[:-1] - a, x[:1] - a]), "unknown 119 is in no equation"),
    (lambda x, a: x - np.roll(x, 1) + 0.0 * a, "singular"),
    (lambda x, a: (x - a) ** 2, "equation 0 depends on no unknown"),
    (lambda x, a: (x - a - 1e-9) ** 2, "singular|multiple root"),
])
def test_singular_systems_are_named(residual, message):
    with pytest.raises(SingularSystemError, match=message):
        wg.implicit_root(residual, sparse=True, solver=lambda f, x0: np.full(120, 0.5))(
            np.full(120, 0.4), 0.5)


def test_badly_conditioned_is_not_singular():
    """Units do not matter: equations and unknowns of very different size."""
    scale = 10.0 ** np.linspace(-12, 12, 120)
    root = wg.implicit_root(lambda x, a: scale * (x * scale[::-1] ** 2 - a), sparse=True)
    np.testing.assert_allclose(root(np.zeros(120), 2.0), 2.0 / scale[::-1] ** 2, rtol=1e-12)


def test_no_root():
    with pytest.raises(ConvergenceError):
        wg.implicit_root(lambda x, a: x ** 2 + a, sparse=True)(np.full(120, 0.3), 1.0)


def test_a_captured_array_with_other_zeros_is_noticed():
    weights = np.zeros(120)
    root = wg.implicit_root(lambda x, a: x + weights * np.roll(x, 1) - a, sparse=True)
    gradient = wg.grad(lambda a: np.sum(root(np.zeros(120), a)))
    np.testing.assert_array_equal(gradient(np.ones(120)), np.ones(120))
    weights[:] = 0.5
    with pytest.raises(CustomRuleError, match="other zeros"):
        gradient(np.ones(120))
