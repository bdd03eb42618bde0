"""Sensitivities of ODE solutions against closed forms, tight differences, and each other."""

import pickle

import numpy as np
import pytest
import wengert as wg
from wengert.compiler.errors import (
    ConvergenceError,
    CustomRuleError,
    InputTypeError,
    NotDifferentiableError,
    SaveError,
    ShapeError,
    TimesError,
)
from wengert.runtime import ode

TIGHT = {"rtol": 1e-11, "atol": 1e-13}
SLOW = pytest.mark.slow
BOTH = pytest.mark.parametrize("sensitivity", ["forward", "adjoint"])


def oscillator(t, y, p):
    return np.array([y[1], -p["k"] * y[0] - p["c"][0] * y[1]])


P = {"k": 4.0, "c": [0.3]}
START = np.array([1.0, 0.5])


def exact(t, y0, k, c):
    """The damped oscillator in closed form."""
    w, d = np.sqrt(k - c ** 2 / 4.0), c / 2.0
    b = (y0[1] + d * y0[0]) / w
    e = np.exp(-d * t)
    return np.stack([e * (y0[0] * np.cos(w * t) + b * np.sin(w * t)),
                     e * ((b * w - d * y0[0]) * np.cos(w * t) - (y0[0] * w + d * b) * np.sin(w * t))])


TIMES = np.array([0.5, 1.0, 2.5])
WEIGHTS = np.array([[1.0, -2.0, 0.5], [0.3, 0.7, -1.1]])


def test_states():
    solution = wg.ode_solution(oscillator, **TIGHT)
    np.testing.assert_allclose(solution((0.0, 2.5), START, P), exact(2.5, START, 4.0, 0.3),
                               rtol=1e-9)
    np.testing.assert_allclose(solution((0.0, 2.5), START, P, t_eval=TIMES),
                               exact(TIMES, START, 4.0, 0.3), rtol=1e-9)
    np.testing.assert_allclose(solution((2.5, 0.0), exact(2.5, START, 4.0, 0.3), P), START,
                               rtol=1e-9)
    np.testing.assert_array_equal(solution((1.0, 1.0), START, P), START)
    np.testing.assert_allclose(solution((0, 1), [1, 0], {"k": 4.0, "c": [0.0]}),
                               [np.cos(2.0), -2.0 * np.sin(2.0)], rtol=1e-9)


@BOTH
@pytest.mark.parametrize("method", ["DOP853", "LSODA", *[
    pytest.param(name, marks=SLOW) for name in ("RK45", "Radau", "BDF")]])
def test_gradients_by_everything(sensitivity, method):
    tight = {"rtol": 1e-9, "atol": 1e-11} if method in ("Radau", "BDF") else TIGHT
    solution = wg.ode_solution(oscillator, method=method, sensitivity=sensitivity, **tight)

    def loss(y0, p, times):
        return np.sum(WEIGHTS * solution((0.0, times[-1]), y0, p, t_eval=times))

    def closed(y0, p, times):
        return np.sum(WEIGHTS * exact(times, y0, p["k"], p["c"][0]))
    found = wg.grad(loss, (0, 1, 2), mode="reverse")(START, P, TIMES)
    wanted = wg.grad(closed, (0, 1, 2))(START, P, TIMES)
    tol = 1e-6 if method == "BDF" else 1e-7
    np.testing.assert_allclose(found[0], wanted[0], atol=tol)
    np.testing.assert_allclose([found[1]["k"], found[1]["c"][0]], [wanted[1]["k"], wanted[1]["c"][0]],
                               atol=tol)
    np.testing.assert_allclose(found[2], wanted[2], atol=tol)


@BOTH
def test_derivative_by_both_ends(sensitivity):
    solution = wg.ode_solution(oscillator, sensitivity=sensitivity, **TIGHT)

    def end(a, b):
        return np.sum(WEIGHTS[:, 0] * solution((a, b), START, P))

    def closed(a, b):
        return np.sum(WEIGHTS[:, 0] * exact(b - a, START, 4.0, 0.3))
    np.testing.assert_allclose(wg.grad(end, (0, 1), mode="reverse")(0.3, 1.7),
                               wg.grad(closed, (0, 1))(0.3, 1.7), atol=1e-8)
    backwards = wg.grad(end, (0, 1), mode="reverse")(1.7, 0.3)
    np.testing.assert_allclose(backwards, wg.grad(closed, (0, 1))(1.7, 0.3), atol=1e-8)


def test_forward_mode_and_higher_orders():
    solution = wg.ode_solution(oscillator, rtol=1e-9, atol=1e-11)

    def end(k, y):
        return solution((0.0, 1.5), np.stack([y, 0.5]), {"k": k, "c": [0.3]})

    def closed(k, y):
        return exact(1.5, [y, 0.5], k, 0.3)
    for transform in (wg.jacobian, lambda f, argnums: wg.jacobian(f, argnums, mode="reverse"),
                      lambda f, argnums: wg.jacobian(wg.jacobian(f, argnums), argnums),
                      lambda f, argnums: wg.hessian(lambda *a: np.sum(f(*a)), argnums),
                      lambda f, argnums: wg.jacobian(wg.jacobian(wg.jacobian(f)))):
        found = np.array(transform(end, (0, 1))(4.0, 1.0))
        np.testing.assert_allclose(found, np.array(transform(closed, (0, 1))(4.0, 1.0)), atol=1e-7)
    v = wg.hvp(lambda k, y: np.sum(end(k, y)))(4.0, 1.0, 2.0)
    assert v == pytest.approx(wg.hvp(lambda k, y: np.sum(closed(k, y)))(4.0, 1.0, 2.0), abs=1e-7)


# -- stiff ----------------------------------------------------------------------------------------

def robertson(t, y, k):
    return [-k[0] * y[0] + k[2] * y[1] * y[2],
            k[0] * y[0] - k[2] * y[1] * y[2] - k[1] * y[1] ** 2, k[1] * y[1] ** 2]


RATES = np.array([0.04, 3e7, 1e4])
STIFF_START = np.array([1.0, 0.0, 0.0])
STIFF_TIMES = np.array([0.4, 4.0, 40.0])
STIFF_WEIGHTS = np.array([[1.0, 2.0, 3.0], [1e4, 2e4, 3e4], [1.0, -1.0, 2.0]])


def stiff_loss(solution):
    return lambda k: np.sum(STIFF_WEIGHTS * solution((0.0, 40.0), STIFF_START, k,
                                                     t_eval=STIFF_TIMES))


@pytest.fixture(scope="module")
def tight_difference():
    """Five-point differences of a solution by another method, to 1e-11."""
    loss = stiff_loss(wg.ode_solution(robertson, method="Radau", rtol=1e-11, atol=1e-15))
    out = []
    for i in range(3):
        h = np.zeros(3)
        h[i] = 1e-3 * RATES[i]
        out.append((8.0 * (loss(RATES + h) - loss(RATES - h))
                    - (loss(RATES + 2 * h) - loss(RATES - 2 * h))) / (12.0 * h[i]))
    return np.array(out)


@BOTH
@pytest.mark.parametrize("method", ["LSODA", *[
    pytest.param(name, marks=SLOW) for name in ("Radau", "BDF")]])
def test_stiff_gradient_matches_a_tight_difference(sensitivity, method, tight_difference):
    rtol = 1e-10 if sensitivity == "adjoint" and method != "Radau" else 1e-8
    solution = wg.ode_solution(robertson, method=method, rtol=rtol, atol=1e-4 * rtol,
                               sensitivity=sensitivity)
    found = wg.grad(stiff_loss(solution), mode="reverse")(RATES)
    np.testing.assert_allclose(found, tight_difference, rtol=1e-5)


def test_many_parameters_by_the_adjoint():
    """One parameter an equation: a chain of reactions, against forward sensitivities."""
    def chain(t, y, k):
        flow = k * y
        return np.concatenate([-flow[:1], flow[:-1] - flow[1:]])
    k, y0, n = np.linspace(1.0, 3.0, 12), np.zeros(12), 12
    y0[0] = 1.0
    found = []
    for sensitivity in ("forward", "adjoint"):
        solution = wg.ode_solution(chain, rtol=1e-10, atol=1e-12, sensitivity=sensitivity)
        found.append(wg.grad(lambda k, s=solution: np.sum(np.arange(n) * s((0.0, 2.0), y0, k)),
                             mode="reverse")(k))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6, atol=1e-9)


# -- branches, captures, batches ------------------------------------------------------------------

@BOTH
def test_branch_in_the_right_hand_side(sensitivity):
    def rate(t, y, k):
        if t < 0.5:
            return -k * y
        return -2.0 * k * y
    solution = wg.ode_solution(rate, method="DOP853", sensitivity=sensitivity, **TIGHT)
    slope = wg.grad(lambda k: solution((0.0, 0.5), np.array([1.0]), k)[0], mode="reverse")(1.0)
    assert slope == pytest.approx(-0.5 * np.exp(-0.5), rel=1e-8)

    def saturating(t, y, k):
        if y[0] > 10.0:
            return k * y
        return 2.0 * k * y
    solution = wg.ode_solution(saturating, sensitivity=sensitivity, **TIGHT)
    end = wg.grad(lambda k, t: solution((0.0, t), np.array([1.0]), k)[0], (0, 1), mode="reverse")
    np.testing.assert_allclose(end(0.5, 1.0), [2.0 * np.e, np.e], rtol=1e-8)


@BOTH
def test_captured_values_are_never_stale(sensitivity):
    scale = 1.0
    solution = wg.ode_solution(lambda t, y, k: -scale * k * y, sensitivity=sensitivity, **TIGHT)
    f = wg.grad(lambda k: solution((0.0, 1.0), np.array([1.0]), k)[0], mode="reverse")
    assert f(1.0) == pytest.approx(-np.exp(-1.0), rel=1e-8)
    scale = 2.0
    assert f(1.0) == pytest.approx(-2.0 * np.exp(-2.0), rel=1e-8)
    scale = 1.0
    assert f(1.0) == pytest.approx(-np.exp(-1.0), rel=1e-8)


def test_traced_value_of_an_enclosing_function_is_refused():
    with pytest.raises(CustomRuleError, match="Pass the value as a parameter"):
        wg.grad(lambda k: wg.ode_solution(lambda t, y: -k * y)((0.0, 1.0), np.ones(1))[0])(1.0)


@BOTH
def test_batches(sensitivity):
    solution = wg.ode_solution(oscillator, sensitivity=sensitivity, **TIGHT)

    def loss(k, y0):
        return np.sum(solution((0.0, 1.5), y0, {"k": k, "c": [0.3]}) ** 2)
    gradient = wg.grad(loss, (0, 1), mode="reverse")
    ks, starts = np.array([1.0, 4.0]), np.stack([START, -2.0 * START])
    by_k, by_start = wg.vmap(gradient)(ks, starts)
    rows = [gradient(k, y0) for k, y0 in zip(ks, starts, strict=True)]
    np.testing.assert_allclose(by_k, [r[0] for r in rows], rtol=1e-9)
    np.testing.assert_allclose(by_start, [r[1] for r in rows], rtol=1e-9)
    shared = wg.grad(lambda k: np.sum(wg.vmap(loss, (None, 0))(k, starts)), mode="reverse")(4.0)
    assert shared == pytest.approx(sum(gradient(4.0, y0)[0] for y0 in starts), rel=1e-9)


def end_of_oscillation(k):
    return FORWARD((0.0, 1.5), START, {"k": k, "c": [0.3]})[0]


FORWARD = wg.ode_solution(oscillator, **TIGHT)
ADJOINT = wg.ode_solution(oscillator, sensitivity="adjoint", **TIGHT)


@pytest.mark.parametrize("solution", [FORWARD, ADJOINT], ids=["forward", "adjoint"])
def test_pickle_and_save(tmp_path, solution):
    again = pickle.loads(pickle.dumps(solution))
    np.testing.assert_array_equal(again((0.0, 1.0), START, P), solution((0.0, 1.0), START, P))
    f = wg.grad(lambda k: solution((0.0, 1.5), START, {"k": k, "c": [0.3]})[0], mode="reverse")
    expected = f(4.0)
    assert pickle.loads(pickle.dumps(f))(4.0) == expected
    with pytest.raises(SaveError, match="as it is"):
        f.save(tmp_path / "ode")


# -- refusals -------------------------------------------------------------------------------------

def test_what_the_adjoint_refuses():
    def end(k):
        return ADJOINT((0.0, 1.0), START, {"k": k, "c": [0.3]})[0]
    for transform in (lambda f: wg.grad(f, mode="forward"), wg.hessian,
                      lambda f: wg.grad(wg.grad(f, mode="reverse"), mode="reverse"),
                      lambda f: lambda k: wg.jvp(f)(k, 1.0)):
        with pytest.raises(NotDifferentiableError, match='sensitivity="forward"') as caught:
            transform(end)(4.0)
        assert caught.value.where.file == __file__


def test_integration_that_fails_is_loud():
    blow_up = wg.ode_solution(lambda t, y, k: k * y ** 2)
    with np.errstate(all="ignore"):
        with pytest.raises(ConvergenceError, match=r"from t = 0 to 2 stopped at t = ") as caught:
            blow_up((0.0, 2.0), np.array([1.0]), 1.0)
        with pytest.raises(ConvergenceError):
            wg.grad(lambda k: blow_up((0.0, 2.0), np.array([1.0]), k)[0])(1.0)
    assert caught.value.where.file == __file__


@pytest.mark.parametrize(("rate", "y0", "options", "kind", "message"), [
    (lambda t, y: y[:1], np.ones(2), {}, ShapeError, r"shape \(1,\), the state has shape \(2,\)"),
    (lambda t, y: y, np.ones((2, 2)), {}, InputTypeError, "a vector of real numbers"),
    (lambda t, y: y, np.ones(2, complex), {}, InputTypeError, "a vector of real numbers"),
    (lambda t, y: y, np.ones(1), {"t_eval": np.ones((2, 2))}, ShapeError, r"times have shape"),
    (lambda t, y: y, np.ones(1), {"t_eval": [0.5, 2.0]}, TimesError, r"a span from 0 to 1"),
    (lambda t, y: y, np.ones(1), {"t_eval": [-0.5]}, TimesError, r"a span from 0 to 1"),
    (lambda t, y: y, np.ones(1), {"t_eval": [1.0, 0.0]}, TimesError, r"do not go one way"),
    (lambda t, y: y, np.ones(1), {"t_eval": [0.5, 0.5]}, TimesError, r"do not go one way"),
])
def test_what_does_not_fit(rate, y0, options, kind, message):
    with pytest.raises(kind, match=message):
        wg.ode_solution(rate)((0.0, 1.0), y0, **options)


def test_times_that_are_traced_go_one_way():
    slope = wg.grad(lambda s: np.sum(wg.ode_solution(oscillator)(
        (0.0, 1.0), START, P, t_eval=s * np.array([0.5, 1.0]))))
    assert np.isfinite(slope(1.0))
    with pytest.raises(TimesError, match="do not go one way"):
        slope(0.0)


def test_no_times():
    assert wg.ode_solution(oscillator)((0.0, 1.0), START, P, t_eval=[]).shape == (len(START), 0)


def test_unknown_sensitivity():
    with pytest.raises(InputTypeError, match='neither "forward" nor "adjoint"'):
        wg.ode_solution(oscillator, sensitivity="both")


@pytest.mark.parametrize("method", ["BDF", "Radau"])
def test_many_states_have_sparse_jacobians(method, monkeypatch):
    n = 240

    def heat(t, y, p):
        padded = np.pad(y, 1)
        return p * n * n * (padded[2:] - 2.0 * y + padded[:-2]) - y ** 3

    def mean(p, solution):
        return np.mean(solution((0.0, 0.5), np.sin(np.linspace(0.0, np.pi, n)), p) ** 2)
    solution = wg.ode_solution(heat, method=method, rtol=1e-8, atol=1e-11, sensitivity="adjoint")
    found = wg.value_and_grad(lambda p: mean(p, solution), mode="reverse")(0.01)
    assert solution.sparse_jacobian.colors == 3
    dense = wg.ode_solution(heat, method=method, rtol=1e-8, atol=1e-11, sensitivity="adjoint")
    monkeypatch.setattr(ode, "LEAST", 10 ** 9)
    expected = wg.value_and_grad(lambda p: mean(p, dense), mode="reverse")(0.01)
    assert not dense.sparse_jacobian.programs
    np.testing.assert_allclose(found, expected, rtol=1e-7)
