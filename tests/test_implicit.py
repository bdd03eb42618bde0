"""Implicit functions against differences, closed forms and hand-derived linear systems."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sparse
import wengert as wg
from scipy import optimize
from wengert.compiler.errors import (
    ConvergenceError,
    CustomRuleError,
    InputTypeError,
    SaveError,
    ShapeError,
    SingularSystemError,
    UnsupportedArgumentError,
)

A = np.array([[4.0, 0.5, -0.3], [0.2, 3.0, 0.7], [-0.6, 0.1, 5.0]])
B = np.array([1.0, -2.0, 0.5])


def cubic(x, a):
    return x ** 3 + x - a


def system(x, matrix, b):
    return matrix @ x + 0.1 * x ** 3 - b


CUBIC = wg.implicit_root(cubic)
SYSTEM = wg.implicit_root(system)


def differences(f, p, h=1e-3):
    """Five-point differences of a scalar function of an array."""
    p, out = np.asarray(p, float), np.zeros(np.shape(p))
    for i in np.ndindex(np.shape(p)):
        e = np.zeros(np.shape(p))
        e[i] = h
        out[i] = (8 * (f(p + e) - f(p - e)) - (f(p + 2 * e) - f(p - 2 * e))) / (12 * h)
    return out


# -- values and derivatives ---------------------------------------------------------------------

def test_number():
    x = CUBIC(1.0, 3.0)
    assert x ** 3 + x == pytest.approx(3.0, rel=1e-15)
    slope = 1.0 / (3.0 * x ** 2 + 1.0)
    for mode in ("forward", "reverse"):
        assert wg.grad(CUBIC, 1, mode=mode)(1.0, 3.0) == pytest.approx(slope, rel=1e-13)
    assert wg.grad(wg.grad(CUBIC, 1), 1)(1.0, 3.0) == pytest.approx(-6 * x * slope ** 3, rel=1e-12)
    third = wg.grad(wg.grad(wg.grad(CUBIC, 1), 1), 1)(1.0, 3.0)
    second = wg.grad(wg.grad(CUBIC, 1), 1)
    assert third == pytest.approx(differences(lambda a: second(1.0, float(a)), 3.0), rel=1e-7)
    assert wg.grad(CUBIC)(1.0, 3.0) == 0.0           # by the guess


def loss(matrix, b):
    return np.sum(np.sin(SYSTEM(np.zeros(3), matrix, b)))


def test_gradients_agree_with_differences():
    for mode in ("forward", "reverse"):
        by_matrix, by_b = wg.grad(loss, (0, 1), mode=mode)(A, B)
        np.testing.assert_allclose(by_matrix, differences(lambda m: loss(m, B), A), atol=1e-7 / 10)
        np.testing.assert_allclose(by_b, differences(lambda b: loss(A, b), B), atol=1e-7 / 10)
    hessian = wg.hessian(loss, 1)(A, B)
    for i in range(3):
        row = differences(lambda b, i=i: wg.grad(loss, 1)(A, b)[i], B)
        np.testing.assert_allclose(hessian[i], row, atol=1e-8)
    np.testing.assert_allclose(hessian, hessian.T, atol=1e-14)
    wg.check_grads(loss, (A, B))


def test_jacobian_is_the_inverse():
    x = SYSTEM(np.zeros(3), A, B)
    expected = np.linalg.inv(A + np.diag(0.3 * x ** 2))
    for mode in ("forward", "reverse"):
        found = wg.jacobian(lambda b: SYSTEM(np.zeros(3), A, b), mode=mode)(B)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    t = np.array([1.0, 2.0, 3.0])
    value, pushed = wg.jvp(lambda b: SYSTEM(np.zeros(3), A, b))(B, t)
    np.testing.assert_allclose(value, x, rtol=1e-14)
    np.testing.assert_allclose(pushed, expected @ t, rtol=1e-12)


def test_the_solver_runs_once_for_value_and_gradient():
    calls = []

    def solver(f, x0):
        calls.append(1)
        return optimize.brentq(f, -10.0, 10.0, xtol=1e-13)
    root = wg.implicit_root(cubic, solver=solver)
    both = wg.value_and_grad(lambda a: np.exp(root(0.0, a)))
    both(2.0)
    del calls[:]
    assert both(2.0) == (pytest.approx(np.e, rel=1e-13), pytest.approx(np.e / 4, rel=1e-13))
    assert len(calls) == 1
    third = wg.grad(wg.grad(wg.grad(lambda a: root(0.0, a))))
    third(2.0)
    del calls[:]
    third(2.0)
    assert len(calls) == 1


def test_nested_parameters_and_an_unknown_of_any_shape():
    def equation(x, p, name, k):
        assert name == "q"
        return p["m"] @ x @ p["m"] + k * x - p["c"][0]

    root = wg.implicit_root(equation)
    m, c = A[:2, :2], np.array([[1.0, 2.0], [3.0, 4.0]])

    def f(p):
        return np.sum(root(np.zeros((2, 2)), p, "q", 2) ** 2)
    p = {"m": m, "c": [c]}
    x = root(np.zeros((2, 2)), p, "q", 2)
    np.testing.assert_allclose(m @ x @ m + 2 * x, c, atol=1e-13)
    found = wg.grad(f)(p)
    np.testing.assert_allclose(found["m"], differences(lambda v: f({"m": v, "c": [c]}), m),
                               atol=1e-8)
    np.testing.assert_allclose(found["c"][0], differences(lambda v: f({"m": m, "c": [v]}), c),
                               atol=1e-8)


def test_implicit_function_of_an_implicit_function():
    outer = wg.implicit_root(lambda y, a: y + CUBIC(1.0, y) ** 2 - a)
    f = wg.value_and_grad(lambda a: outer(1.0, a))
    value, slope = f(2.0)
    x = CUBIC(1.0, value)
    assert value + x ** 2 == pytest.approx(2.0, rel=1e-14)
    assert slope == pytest.approx(1.0 / (1.0 + 2.0 * x / (3.0 * x ** 2 + 1.0)), rel=1e-12)


def test_branches_in_the_equation_are_guards():
    def kinked(x, a):
        if x > 0:
            return x ** 3 - a
        return 2.0 * x - a
    root = wg.implicit_root(kinked, solver=lambda f, x0: optimize.brentq(f, -10, 10, xtol=1e-13))
    slope = wg.grad(lambda a: root(1.0, a))
    for a in (8.0, -8.0, 1.0):
        assert slope(a) == pytest.approx(1 / (3 * a ** (2 / 3)) if a > 0 else 0.5, rel=1e-12)
    assert len(slope.programs) == 2


def test_captured_values_are_never_stale():
    k = 1.0
    root = wg.implicit_root(lambda x, a: k * x - a)
    f = wg.value_and_grad(lambda a: root(1.0, a))
    assert f(2.0) == (2.0, 1.0)
    k = 4.0
    assert f(2.0) == (0.5, 0.25)


def test_traced_value_of_an_enclosing_function_is_refused():
    with pytest.raises(CustomRuleError, match="Pass the value as a parameter") as caught:
        wg.grad(lambda a: wg.implicit_root(lambda x: x ** 2 - a)(1.0))(2.0)
    assert caught.value.where.file == __file__


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_precision(dtype):
    x0, b = np.zeros(3, dtype), B.astype(dtype)
    f = wg.grad(lambda b: np.sum(SYSTEM(x0, A.astype(dtype), b) ** 2))
    found = f(b)
    assert found.dtype == dtype
    exact = wg.grad(lambda b: np.sum(SYSTEM(np.zeros(3), A, b) ** 2))(B)
    np.testing.assert_allclose(found, exact, rtol=1e-12 if dtype == np.float64 else 1e-5)
    assert SYSTEM(x0, A.astype(dtype), b).dtype == dtype
    assert isinstance(CUBIC(1, 2.0), float)              # an integer as the guess


# -- batches, pickles, saving ---------------------------------------------------------------------

def test_batches():
    many = np.stack([B, 2.0 * B, -B, B[::-1]])
    for function in (lambda b: SYSTEM(np.zeros(3), A, b), wg.grad(lambda b: loss(A, b)),
                     wg.hessian(lambda b: loss(A, b)),
                     wg.jacobian(lambda b: SYSTEM(np.zeros(3), A, b), mode="reverse")):
        np.testing.assert_allclose(wg.vmap(function)(many), np.stack([function(b) for b in many]),
                                   rtol=1e-11, atol=1e-14)
    slopes = wg.vmap(wg.grad(CUBIC, 1), (None, 0))(1.0, np.array([1.0, 2.0]))
    np.testing.assert_allclose(slopes, [wg.grad(CUBIC, 1)(1.0, a) for a in (1.0, 2.0)], rtol=1e-13)
    total = wg.grad(lambda bs: np.sum(wg.vmap(lambda b: loss(A, b))(bs)))(many)
    np.testing.assert_allclose(total, np.stack([wg.grad(loss, 1)(A, b) for b in many]), rtol=1e-11)
    assert wg.vmap(lambda b: SYSTEM(np.zeros(3), A, b))(np.zeros((0, 3))).shape == (0, 3)


def total_of_root(b):
    return np.sum(SYSTEM(np.zeros(3), A, b))


GRADIENT = wg.grad(total_of_root)


def test_pickle_and_save(tmp_path):
    again = pickle.loads(pickle.dumps(SYSTEM))
    np.testing.assert_array_equal(again(np.zeros(3), A, B), SYSTEM(np.zeros(3), A, B))
    expected = GRADIENT(B)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(GRADIENT))(B), expected)
    plain = wg.grad(lambda b: total_of_root(b))
    plain(B)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(plain))(B), expected)
    with pytest.raises(SaveError, match=r"system_root as it is .*the solver of an implicit one"):
        plain.save(tmp_path / "implicit")


def test_source_solves_one_transposed_system():
    gradient = wg.grad(lambda b: np.sum(SYSTEM(np.zeros(3), A, b) ** 2))
    gradient(B)
    assert gradient.source.count("np.linalg.solve") == 1
    assert gradient.source.count("system_root(") == 1
    slope = wg.grad(CUBIC, 1)
    slope(1.0, 2.0)
    assert slope.source.rstrip().endswith("return 1.0 / (3 * cubic_root(x, a) ** 2 + 1.0)")


# -- refusals -------------------------------------------------------------------------------------

@pytest.mark.parametrize(("residual", "x0", "solver", "kind", "message"), [
    (lambda x, a: x ** 2 + a, 1.0, None, ConvergenceError, "found no root of"),
    (lambda x, a: np.exp(x) + a, 1.0, None, ConvergenceError, "found no root"),
    (cubic, 1.0, lambda f, x0: x0 + 7.0, None, ""),          # Newton's method gets there
    (lambda x, a: np.tanh(x) - a / 10, 0.0, lambda f, x0: 30.0, ConvergenceError, "Newton step"),
    (cubic, 1.0, lambda f, x0: np.nan, ConvergenceError, "found no root"),
    (cubic, 1.0, lambda f, x0: np.ones(2), ShapeError, r"returned an array of shape \(2,\)"),
    (lambda x, a: (x - a) ** 2, 1.0, None, SingularSystemError, "singular|multiple root"),
    (lambda x, a: x[:1] - a, np.ones(2), None, ShapeError, r"residual has shape \(1,\)"),
    (lambda x, a: np.array([x[0] - a, 2 * x[0] - 2 * a]), np.ones(2), None, SingularSystemError,
     "unknown 1 is in no equation"),
    (lambda x, a: np.array([x[0] + x[1] - a, 2 * x[0] + 2 * x[1] - 2 * a]), np.ones(2), None,
     SingularSystemError, "is singular at the solution"),
    (lambda x, a: np.array([x[0] + x[1] - a, a - 2.0]), np.ones(2), None, SingularSystemError,
     "equation 1 depends on no unknown"),
    (cubic, 1j, None, InputTypeError, "real unknowns"),
])
def test_what_is_no_solution_is_refused(residual, x0, solver, kind, message):
    root = wg.implicit_root(residual, solver=solver)
    if kind is None:
        assert wg.grad(root, 1)(x0, 2.0) == pytest.approx(0.25, rel=1e-13)
        return
    with pytest.raises(kind, match=message) as caught:
        root(x0, 2.0)
    assert caught.value.where.file == __file__
    with pytest.raises(kind, match=message), np.errstate(all="ignore"):
        wg.jacobian(root, 1)(x0, 2.0)


def test_convergence_is_checked_whenever_compiled_code_runs():
    root = wg.implicit_root(lambda x, a: x ** 2 - a)
    slope = wg.grad(lambda a: root(1.0, a))
    assert slope(4.0) == pytest.approx(0.25)
    with pytest.raises(ConvergenceError):
        slope(-4.0)
    assert slope(9.0) == pytest.approx(1 / 6)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_units_do_not_matter(scale):
    root = wg.implicit_root(lambda x, a: np.array([x[0] ** 2 / scale - a * scale,
                                                   (x[1] - x[0]) * scale ** 2]))
    x0 = np.array([1.5, 1.5]) * scale
    found = wg.jacobian(lambda a: root(x0, a))(4.0)
    np.testing.assert_allclose(root(x0, 4.0), [2 * scale, 2 * scale], rtol=1e-13)
    np.testing.assert_allclose(found, [scale / 4, scale / 4], rtol=1e-12)


def test_root_at_zero():
    root = wg.implicit_root(lambda x, a: np.sin(x) * (1.0 + a))
    assert root(0.5, 1.0) == pytest.approx(0.0, abs=1e-15)
    assert wg.grad(lambda a: root(0.5, a))(1.0) == pytest.approx(0.0, abs=1e-14)
    shifted = wg.implicit_root(lambda x, a: np.array([x[0] - (a - 0.3), x[1] + x[0]]))
    np.testing.assert_allclose(shifted(np.ones(2), 0.1 + 0.2), 0.0, atol=1e-15)


# -- fixed points -----------------------------------------------------------------------------------

def test_fixed_point():
    calls = []

    def g(x, a):
        if not hasattr(x, "builder"):
            calls.append(1)
        return np.cos(a * x)
    point = wg.implicit_fixed_point(g)
    x = point(0.5, 0.9)
    assert x == pytest.approx(np.cos(0.9 * x), rel=1e-15)
    slope = -x * np.sin(0.9 * x) / (1 + 0.9 * np.sin(0.9 * x))
    for mode in ("forward", "reverse"):
        assert wg.grad(point, 1, mode=mode)(0.5, 0.9) == pytest.approx(slope, rel=1e-12)
    assert len(calls) > 10


def test_fixed_point_that_repels_is_refused():
    with pytest.raises(ConvergenceError, match="found no root"), np.errstate(all="ignore"):
        wg.implicit_fixed_point(lambda x, a: x ** 2 + a, max_iterations=50)(5.0, 1.0)
    with pytest.raises(SingularSystemError):
        wg.implicit_fixed_point(lambda x, a: x + 0.0 * a)(1.0, 1.0)


def test_equilibrium_layer():
    """A fixed point of tanh(W x + b): differentiated through the iteration as well."""
    w = 0.2 * A

    def layer(x, w, b):
        return np.tanh(w @ x + b)

    def unrolled(w, b):
        x = np.zeros(3)
        for _ in range(200):
            x = layer(x, w, b)
        return np.sum(x ** 2)
    point = wg.implicit_fixed_point(layer)
    found = wg.grad(lambda w, b: np.sum(point(np.zeros(3), w, b) ** 2), (0, 1))(w, B)
    for a, b in zip(found, wg.grad(unrolled, (0, 1))(w, B), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


# -- sparse systems -----------------------------------------------------------------------------------

def laplacian(n):
    return sparse.diags_array([np.full(n - 1, -1.0), np.full(n, 2.5), np.full(n - 1, -1.0)],
                              offsets=[-1, 0, 1])


def dense_of(data, pattern):
    places = pattern.tocoo()
    out = np.zeros(pattern.shape)
    np.add.at(out, (places.row, places.col), data)
    return out


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("columns", [(), (2,)])
def test_sparse_solve_agrees_with_the_dense_one(form, columns):
    pattern = laplacian(6).asformat(form)
    rng = np.random.default_rng(0)
    data = pattern.data + 0.1 * rng.standard_normal(pattern.nnz)
    b, weights = rng.standard_normal((2, 6, *columns))

    def f(data, b):
        return np.sum(weights * wg.sparse_solve(data, pattern, b) ** 2)

    def g(matrix, b):
        return np.sum(weights * np.linalg.solve(matrix, b) ** 2)
    matrix = dense_of(data, pattern)
    np.testing.assert_allclose(wg.sparse_solve(data, pattern, b), np.linalg.solve(matrix, b),
                               rtol=1e-12)
    by_data, by_b = wg.grad(f, (0, 1))(data, b)
    by_matrix, same_by_b = wg.grad(g, (0, 1))(matrix, b)
    places = pattern.tocoo()
    np.testing.assert_allclose(by_data, by_matrix[places.row, places.col], rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(by_b, same_by_b, rtol=1e-11)
    wg.check_grads(f, (data, b))


def test_sparse_solve_with_repeated_entries():
    places = np.array([0, 1, 1, 0]), np.array([0, 1, 1, 1])
    pattern = sparse.coo_array((np.ones(4), places), shape=(2, 2))
    data = np.array([2.0, 1.0, 3.0, 0.5])
    np.testing.assert_allclose(wg.sparse_solve(data, pattern, np.array([3.0, 8.0])), [1.0, 2.0])
    wg.check_grads(lambda d: wg.sparse_solve(d, pattern, np.array([3.0, 8.0])), (data,))


def test_sparse_solve_batches_and_saves(tmp_path):
    pattern = laplacian(5).tocsr()
    b = np.random.default_rng(1).standard_normal((3, 5))

    def f(data, b):
        return np.sum(wg.sparse_solve(data, pattern, b) ** 2)
    many = np.stack([pattern.data * k for k in (1.0, 2.0, 3.0)])
    gradient = wg.grad(f)
    for axes, args in [((0, 0), (many, b)), ((None, 0), (pattern.data, b)),
                       ((0, None), (many, b[0]))]:
        expected = [gradient(*[a if axis is None else a[i] for a, axis in zip(
            args, axes, strict=True)]) for i in range(3)]
        np.testing.assert_allclose(wg.vmap(gradient, axes)(*args), expected, rtol=1e-11)
    expected = gradient(pattern.data, b[0])
    space = {"__file__": str(tmp_path / "solve.py")}
    exec(gradient.save(tmp_path / "solve").read_text(), space)      # needs SciPy only
    np.testing.assert_array_equal(space["f_grad"](pattern.data, b[0]), expected)
    assert "sparse.linalg.splu(" in gradient.source


@pytest.mark.parametrize(("call", "kind", "message"), [
    (lambda p: wg.sparse_solve(np.ones(3), np.eye(3), np.ones(3)), UnsupportedArgumentError,
     "pattern is ndarray"),
    (lambda p: wg.sparse_solve(np.ones(3), p, np.ones(5)), ShapeError, r"data has shape \(3,\)"),
    (lambda p: wg.sparse_solve(p.data, p, np.ones(4)), ShapeError, r"right-hand side \(4,\)"),
    (lambda p: wg.sparse_solve(p.data[:5], p[:2], np.ones(2)), ShapeError, r"shape \(2, 5\)"),
    (lambda p: wg.sparse_solve(np.ones(1), sparse.csr_array(([1.0], ([0], [1])), (2, 2)),
                               np.ones(2)), SingularSystemError, "no entry in row 1"),
    (lambda p: wg.sparse_solve(np.ones(2), sparse.csr_array(([1.0, 1.0], ([0, 1], [1, 1])), (2, 2)),
                               np.ones(2)), SingularSystemError, "no entry in column 0"),
    (lambda p: wg.sparse_solve(0.0 * p.data, p, np.ones(5)), SingularSystemError, "singular"),
])
def test_sparse_solve_refuses(call, kind, message):
    with pytest.raises(kind, match=message) as caught:
        call(laplacian(5).tocsr())
    assert caught.value.where.file == __file__


def test_singular_sparse_matrix_in_compiled_code_is_loud():
    pattern = laplacian(4).tocsr()
    f = wg.grad(lambda d: np.sum(wg.sparse_solve(d, pattern, np.ones(4))))
    f(pattern.data)
    with pytest.raises(RuntimeError, match="singular"):
        f(0.0 * pattern.data)
