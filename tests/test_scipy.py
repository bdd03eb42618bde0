"""SciPy's solvers take compiled derivatives as they are, and need fewer evaluations with them.

Each test solves a problem twice, with differences and with exact derivatives, compares both with a
known solution, and counts how often the solver evaluated the function.
"""

import pickle

import numpy as np
import pytest
import wengert as wg
from scipy import integrate, optimize
from scipy.sparse.linalg import LinearOperator, cg, eigsh, lsqr
from wengert.compiler.errors import InputTypeError, ShapeError, TangentError


class Counted:
    """A function that counts its calls."""

    def __init__(self, function):
        self.function = function
        self.calls = 0

    def __call__(self, *args):
        self.calls += 1
        return self.function(*args)


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


START = np.array([-1.2, 1.0, -0.5, 0.8])


# -- minimize -----------------------------------------------------------------------------------

def plain(method="BFGS"):
    return optimize.minimize(rosenbrock, START, method=method)


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "CG", "SLSQP", "TNC"])
def test_minimize_with_gradient(method):
    found = optimize.minimize(rosenbrock, START, method=method, jac=wg.grad(rosenbrock))
    np.testing.assert_allclose(found.x, np.ones(4), atol=2e-3)
    assert found.nfev < plain(method).nfev


def test_minimize_with_value_and_gradient_at_once():
    both = Counted(wg.value_and_grad(rosenbrock))
    found = optimize.minimize(both, START, method="BFGS", jac=True)
    np.testing.assert_allclose(found.x, np.ones(4), atol=1e-5)
    assert both.calls < plain().nfev


@pytest.mark.parametrize("second", [{"hess": wg.hessian(rosenbrock)},
                                    {"hessp": wg.hvp(rosenbrock)},
                                    {"hessp": wg.hessp(rosenbrock)}], ids=["hess", "hvp", "hessp"])
@pytest.mark.parametrize("method", ["Newton-CG", "trust-ncg", "trust-krylov"])
def test_minimize_with_second_derivatives(method, second):
    gradient = Counted(wg.grad(rosenbrock))
    found = optimize.minimize(rosenbrock, START, method=method, jac=gradient, **second,
                              options={"maxiter": 500})
    np.testing.assert_allclose(found.x, np.ones(4), atol=1e-4)
    assert found.nfev < plain().nfev
    if method == "Newton-CG":                    # else it takes differences of gradients
        without = Counted(wg.grad(rosenbrock))
        optimize.minimize(rosenbrock, START, method=method, jac=without)
        assert gradient.calls < without.calls


def weighted(x, k, target):
    return k * np.sum((x - target) ** 4) + np.sum(x ** 2)


def test_vector_of_the_product_stands_second_where_scipy_passes_arguments():
    args, x, p = (2.0, np.array([1.0, -1.0])), np.array([0.3, 0.4]), np.array([1.0, 2.0])
    np.testing.assert_allclose(wg.hessp(weighted)(x, p, *args),
                               wg.hessian(weighted)(x, *args) @ p, rtol=1e-13)
    found = optimize.minimize(weighted, x, args=args, method="Newton-CG", jac=wg.grad(weighted),
                              hessp=wg.hessp(weighted))
    other = optimize.minimize(weighted, x, args=args, method="BFGS")
    np.testing.assert_allclose(found.x, other.x, atol=1e-4)
    assert found.nfev < other.nfev
    with pytest.raises(TangentError):            # the plain product takes the vector last
        wg.hvp(weighted)(x, p, 2.0)


def test_trust_constr():
    def circle(x):
        return np.array([x[0] ** 2 + x[1] ** 2, x[0] * x[1]])

    def objective(x):
        return np.exp(x[0]) + (x[1] - 1.0) ** 2

    def solve(f, **derivatives):
        bounds = {"lb": [-np.inf, -0.2], "ub": [1.0, 0.2]}
        counted = Counted(circle)
        constraint = optimize.NonlinearConstraint(counted, **bounds, **derivatives.pop("c", {}))
        return optimize.minimize(f, np.array([0.5, 0.5]), method="trust-constr",
                                 constraints=[constraint], options={"gtol": 1e-8, "xtol": 1e-10},
                                 **derivatives), counted.calls
    exact, exact_calls = solve(
        objective, jac=wg.grad(objective), hess=wg.hessian(objective),
        c={"jac": wg.jacobian(circle), "hess": wg.hessian(lambda x, v: np.dot(v, circle(x)))})
    without, without_calls = solve(objective)
    np.testing.assert_allclose(exact.x, without.x, atol=1e-4)
    assert exact.constr_violation < 1e-8
    assert exact.nfev < without.nfev
    assert exact_calls < without_calls


def test_slsqp_constraints():
    def objective(x):
        return (x[0] - 2.0) ** 2 + (x[1] - 1.0) ** 2

    def inside(x):
        return np.array([1.0 - x[0] ** 2 - x[1] ** 2, x[1] - x[0] ** 2])
    start = np.array([0.1, 0.1])
    counted, other = Counted(inside), Counted(inside)
    exact = optimize.minimize(objective, start, method="SLSQP", jac=wg.grad(objective),
                              constraints={"type": "ineq", "fun": counted,
                                           "jac": wg.jacobian(inside)})
    without = optimize.minimize(objective, start, method="SLSQP",
                                constraints={"type": "ineq", "fun": other})
    np.testing.assert_allclose(exact.x, without.x, atol=1e-6)
    assert counted.calls < other.calls


# -- equations and least squares ----------------------------------------------------------------

def powell(x):
    return np.array([1e4 * x[0] * x[1] - 1.0, np.exp(-x[0]) + np.exp(-x[1]) - 1.0001])


ROOT = np.array([1.098159e-5, 9.106146])


@pytest.mark.parametrize("method", ["hybr", "lm"])
def test_root(method):
    start = np.array([0.0, 1.0])
    exact = optimize.root(powell, start, method=method, jac=wg.jacobian(powell))
    without = optimize.root(powell, start, method=method)
    np.testing.assert_allclose(exact.x, ROOT, rtol=1e-4)
    assert exact.success
    assert exact.nfev < without.nfev
    jacobian = wg.jacobian(powell)
    both = optimize.root(lambda x: (powell(x), jacobian(x)), start, jac=True)
    np.testing.assert_allclose(both.x, ROOT, rtol=1e-4)


def test_fsolve_of_a_function_that_returns_a_list():
    def f(x, k):
        return [x[0] * np.cos(x[1]) - k, x[1] * x[0] - x[1] - 5.0]
    x, info, *_ = optimize.fsolve(f, [1.0, 1.0], args=(4.0,), fprime=wg.jacobian(f),
                                  full_output=True)
    other, without, *_ = optimize.fsolve(f, [1.0, 1.0], args=(4.0,), full_output=True)
    np.testing.assert_allclose(x, other, rtol=1e-7)
    np.testing.assert_allclose(f(x, 4.0), 0.0, atol=1e-9)
    assert info["nfev"] < without["nfev"]


def decay(p, t, y):
    return p[0] * np.exp(-p[1] * t) + p[2] - y


TIMES = np.linspace(0.0, 4.0, 30)
DATA = decay(np.array([2.5, 1.3, 0.5]), TIMES, 0.0)


@pytest.mark.parametrize("method", ["trf", "lm", "dogbox"])
def test_least_squares(method):
    counted, other = Counted(decay), Counted(decay)
    start = np.array([1.0, 0.2, 0.0])
    exact = optimize.least_squares(counted, start, jac=wg.jacobian(decay), args=(TIMES, DATA),
                                   method=method)
    without = optimize.least_squares(other, start, args=(TIMES, DATA), method=method)
    np.testing.assert_allclose(exact.x, [2.5, 1.3, 0.5], rtol=1e-6)
    np.testing.assert_allclose(without.x, exact.x, rtol=1e-5)
    assert counted.calls < other.calls


def curve(t, a, rate, offset):
    return a * np.exp(-rate * t) + offset


@pytest.mark.parametrize("sigma", [None, 0.1 + TIMES])
def test_curve_fit(sigma):
    y = curve(TIMES, 2.5, 1.3, 0.5) + 0.01 * np.sin(37.0 * TIMES)
    counted, other = Counted(curve), Counted(curve)
    start = [1.0, 0.5, 0.0]
    found, covariance = optimize.curve_fit(counted, TIMES, y, start, sigma,
                                           jac=wg.curve_jacobian(curve))
    without, other_covariance = optimize.curve_fit(other, TIMES, y, start, sigma)
    np.testing.assert_allclose(found, without, rtol=1e-5)
    np.testing.assert_allclose(covariance, other_covariance, rtol=1e-3)
    assert counted.calls < other.calls


# -- scalar equations ---------------------------------------------------------------------------

def kepler(e, m, eccentricity):
    return e - eccentricity * np.sin(e) - m


FIRST = wg.grad(kepler)
SECOND = wg.grad(wg.grad(kepler))


def test_newton_of_a_number():
    args = (1.0, 0.6)
    _, secant = optimize.newton(kepler, 2.5, args=args, full_output=True)
    x, newton = optimize.newton(kepler, 2.5, fprime=FIRST, args=args, full_output=True)
    y, halley = optimize.newton(kepler, 2.5, fprime=FIRST, fprime2=SECOND, args=args,
                                full_output=True)
    assert abs(kepler(x, *args)) < 1e-12
    assert x == pytest.approx(y, rel=1e-12)
    assert newton.iterations < secant.iterations
    assert halley.iterations <= newton.iterations


def test_newton_of_an_array():
    m = np.linspace(0.2, 3.0, 7)
    axes = (0, 0, None)
    counted, other = Counted(kepler), Counted(kepler)
    x = optimize.newton(counted, m + 0.5, fprime=wg.vmap(FIRST, axes),
                        fprime2=wg.vmap(SECOND, axes), args=(m, 0.6))
    y = optimize.newton(other, m + 0.5, args=(m, 0.6))
    np.testing.assert_allclose(kepler(x, m, 0.6), 0.0, atol=1e-13)
    np.testing.assert_allclose(x, y, rtol=1e-7)
    assert counted.calls < other.calls


@pytest.mark.parametrize(("method", "options"), [("newton", {"fprime": FIRST}), (
    "halley", {"fprime": FIRST, "fprime2": SECOND})])
def test_root_scalar(method, options):
    found = optimize.root_scalar(kepler, args=(1.0, 0.6), x0=2.5, method=method, **options)
    without = optimize.root_scalar(kepler, args=(1.0, 0.6), x0=2.5, x1=2.6, method="secant")
    assert found.root == pytest.approx(without.root, rel=1e-9)
    assert found.iterations < without.iterations
    both = optimize.root_scalar(wg.value_and_grad(kepler), args=(1.0, 0.6), x0=2.5, fprime=True)
    assert both.root == pytest.approx(found.root, rel=1e-12)


# -- differential equations ---------------------------------------------------------------------

def robertson(t, y, a, b, c):
    slow, fast, mixed = a * y[0], b * y[1] ** 2, c * y[1] * y[2]
    return [mixed - slow, slow - mixed - fast, fast]


RATES = (0.04, 3e7, 1e4)
Y0 = np.array([1.0, 0.0, 0.0])


@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA"])
def test_solve_ivp(method):
    options = {"method": method, "rtol": 1e-7, "atol": 1e-10, "args": RATES}
    # The order of the arguments is SciPy's: J(t, y, *args).
    exact = integrate.solve_ivp(robertson, (0.0, 40.0), Y0, jac=wg.jacobian(robertson, 1),
                                **options)
    counted = Counted(robertson)            # SciPy's own count leaves its differences out
    without = integrate.solve_ivp(counted, (0.0, 40.0), Y0, **options)
    # Mazzia, Magherini: Test Set for IVP Solvers 2.4, 2008; Hairer, Wanner II, 1996.
    np.testing.assert_allclose(exact.y[:, -1], [0.7158270688, 9.185534765e-6, 0.2841637458],
                               rtol=2e-5)
    np.testing.assert_allclose(exact.y[:, -1], without.y[:, -1], rtol=2e-5)
    assert exact.nfev < counted.calls
    if method != "LSODA":
        assert exact.njev > 0


def test_jacobian_of_a_right_hand_side_agrees_with_the_formula():
    y = np.array([0.7, 1e-5, 0.3])
    a, b, c = RATES
    expected = [[-a, c * y[2], c * y[1]], [a, -c * y[2] - 2 * b * y[1], -c * y[1]],
                [0.0, 2 * b * y[1], 0.0]]
    np.testing.assert_allclose(np.asarray(wg.jacobian(robertson, 1)(0.0, y, *RATES)), expected,
                               rtol=1e-14)


def bratu(x, y):
    return np.vstack((y[1], -np.exp(y[0])))


def ends(ya, yb):
    return np.array([ya[0], yb[0]])


def eigenproblem(x, y, p):
    out = np.zeros_like(y)
    out[0] = y[1]
    out[1] = -p[0] ** 2 * y[0]
    return out


def eigen_ends(ya, yb, p):
    return np.array([ya[0], yb[0], ya[1] - p[0]])


def test_solve_bvp():
    x = np.linspace(0.0, 1.0, 5)
    options = {"tol": 1e-8}
    counted, other, bc, other_bc = map(Counted, (bratu, bratu, ends, ends))
    exact = integrate.solve_bvp(counted, bc, x, np.zeros((2, 5)), fun_jac=wg.bvp_jacobian(bratu),
                                bc_jac=wg.jacobian(ends, argnums=(0, 1)), **options)
    without = integrate.solve_bvp(other, other_bc, x, np.zeros((2, 5)), **options)
    # u(x) = −2 ln(cosh((x − ½) θ/2) / cosh(θ/4)) with θ = √2 cosh(θ/4)
    theta = optimize.brentq(lambda t: t - np.sqrt(2.0) * np.cosh(t / 4.0), 1.0, 3.0)
    at = np.linspace(0.0, 1.0, 31)
    np.testing.assert_allclose(exact.sol(at)[0], -2.0 * np.log(
        np.cosh((at - 0.5) * theta / 2.0) / np.cosh(theta / 4.0)), atol=1e-9)
    assert exact.success
    assert without.success
    assert counted.calls < other.calls
    assert bc.calls < other_bc.calls


def test_solve_bvp_with_parameters():
    x = np.linspace(0.0, 1.0, 9)
    guess = np.vstack((np.sin(np.pi * x), np.pi * np.cos(np.pi * x)))
    counted, other = Counted(eigenproblem), Counted(eigenproblem)
    options = {"x": x, "y": guess, "p": [6.0], "tol": 1e-6}
    exact = integrate.solve_bvp(counted, eigen_ends, fun_jac=wg.bvp_jacobian(eigenproblem),
                                bc_jac=wg.jacobian(eigen_ends, argnums=(0, 1, 2)), **options)
    without = integrate.solve_bvp(other, eigen_ends, **options)
    assert exact.p[0] == pytest.approx(without.p[0], rel=1e-6)
    assert exact.p[0] / np.pi == pytest.approx(round(exact.p[0] / np.pi), rel=1e-6)
    assert counted.calls < other.calls
    by_y, by_p = wg.bvp_jacobian(eigenproblem)(x, guess, np.array([6.0]))
    assert (by_y.shape, by_p.shape) == ((2, 2, 9), (2, 1, 9))
    np.testing.assert_allclose(by_p[1, 0], -12.0 * guess[0], rtol=1e-14)


def test_bvp_jacobian_refuses_what_is_not_by_mesh_points():
    with pytest.raises(ShapeError, match=r"shape \(2,\) at a mesh of one point") as caught:
        wg.bvp_jacobian(lambda x, y: y[:, 0])(np.zeros(3), np.zeros((2, 3)))
    assert caught.value.where.file == __file__


# -- operators ----------------------------------------------------------------------------------

def strain(x):
    return np.concatenate([np.diff(x) ** 2, x[:2] * x[-1]])


def test_linear_operator():
    x = np.linspace(0.5, 1.5, 6)
    J, dense = wg.linear_operator(strain, x), wg.jacobian(strain)(x)
    rng = np.random.default_rng(1)
    v, u = rng.standard_normal(6), rng.standard_normal(7)
    many, others = rng.standard_normal((6, 3)), rng.standard_normal((7, 2))
    assert isinstance(J, LinearOperator)
    assert J.shape == (7, 6)
    assert J.dtype == np.float64
    for found, expected in [(J @ v, dense @ v), (J.T @ u, dense.T @ u), (J.H @ u, dense.T @ u),
                            (J @ many, dense @ many), (J.T @ others, dense.T @ others),
                            (J @ v[:, None], dense @ v[:, None])]:
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)
    x[:] = 0.0                                        # it has its own copy
    np.testing.assert_allclose(J @ v, dense @ v, rtol=1e-12)
    np.testing.assert_allclose(lsqr(J, u, atol=1e-14, btol=1e-14)[0],
                               np.linalg.lstsq(dense, u, rcond=None)[0], rtol=1e-9)


def test_linear_operator_of_a_gradient_is_the_hessian():
    def energy(x, k):
        return np.sum(k * x ** 4) + np.sum(np.diff(x) ** 2)
    x, k = np.linspace(0.5, 1.5, 8), np.full(8, 2.0)
    H, dense = wg.linear_operator(wg.grad(energy), x, k), wg.hessian(energy)(x, k)
    b = np.ones(8)
    solved, failed = cg(H, b, rtol=1e-12)
    assert failed == 0
    np.testing.assert_allclose(solved, np.linalg.solve(dense, b), rtol=1e-9)
    np.testing.assert_allclose(eigsh(H, 2)[0], np.linalg.eigvalsh(dense)[-2:], rtol=1e-9)
    matrix = wg.linear_operator(lambda x: x.T @ x, np.arange(6.0).reshape(2, 3))
    assert matrix.shape == (9, 6)
    np.testing.assert_allclose(matrix @ np.eye(6), wg.jacobian(lambda x: x.T @ x)(
        np.arange(6.0).reshape(2, 3)).reshape(9, 6), rtol=1e-14)
    with pytest.raises(InputTypeError, match="real functions"):
        wg.linear_operator(lambda z: z * z, np.ones(2, complex))


# -- what SciPy passes, and does with what it gets ----------------------------------------------

def test_values_as_scipy_passes_them():
    J = wg.jacobian(lambda t, y: np.array([t * y[0], y[1]]), 1)
    y = np.array([1.0, 2.0])
    y.flags.writeable = False
    for t in (1.5, np.float64(1.5), np.array(1.5), np.float32(1.5)):
        np.testing.assert_array_equal(J(t, y), [[1.5, 0.0], [0.0, 1.0]])
    strided = np.arange(4.0)[::2]
    np.testing.assert_array_equal(J(2.0, strided), [[2.0, 0.0], [0.0, 1.0]])
    slope = wg.grad(lambda x: x ** 3)
    assert slope(2.0) == slope(np.float64(2.0)) == slope(np.array(2.0)) == 12.0


@pytest.mark.parametrize("f", [lambda x: np.array([[1.0, 2.0], [3.0, 4.0]]) @ x, lambda x: x,
                               lambda x: np.zeros(2), lambda x: x ** 2])
def test_results_are_the_callers_to_write_to(f):
    J = wg.jacobian(f)
    x = np.array([1.0, 2.0])
    first = J(x)
    kept = first.copy()
    first[...] = 7.0
    np.testing.assert_array_equal(J(x), kept)
    np.testing.assert_array_equal(x, [1.0, 2.0])


def test_captured_values_and_pickles():
    k = 2.0

    def f(x, y):
        return np.vstack((y[1], -k * y[0]))
    J = wg.bvp_jacobian(f)
    x, y = np.zeros(3), np.ones((2, 3))
    assert J(x, y)[1, 0, 0] == -2.0
    k = 3.0
    assert J(x, y)[1, 0, 0] == -3.0
    again = pickle.loads(pickle.dumps(wg.bvp_jacobian(bratu)))
    np.testing.assert_allclose(again(x, y)[1, 0], -np.exp(1.0), rtol=1e-14)
    columns = pickle.loads(pickle.dumps(wg.curve_jacobian(curve)))
    assert columns(TIMES, 1.0, 2.0, 3.0).shape == (30, 3)
