"""A two-point boundary value problem: Bratu's equation u″ + λ exp(u) = 0, u(0) = u(1) = 0.

SciPy's collocation solver takes the Jacobians of right-hand side and boundary conditions. On a grid
of its own the same equation is an implicit function, whose derivative by λ no solver gives.
"""

import numpy as np
import wengert as wg
from scipy.integrate import solve_bvp
from scipy.optimize import brentq


def rate(x, u, p):
    return np.vstack((u[1], -p[0] * np.exp(u[0])))


def ends(left, right, p):
    """The third condition makes λ an unknown: the slope at the left end."""
    return np.array([left[0], right[0], left[1] - SLOPE])


def residual(u, strength):
    """The equation on a uniform grid, by Numerov's formula (fourth order)."""
    h = 1.0 / (len(u) + 1)
    padded = np.concatenate([[0.0], u, [0.0]])
    f = strength * np.exp(padded)
    curvature = padded[2:] - 2.0 * padded[1:-1] + padded[:-2]
    return curvature / h ** 2 + (f[2:] + 10.0 * f[1:-1] + f[:-2]) / 12.0


def theta(strength):
    """Of the closed form u = 2 ln(cosh(θ/4) / cosh((x − ½) θ/2))."""
    return brentq(lambda t: t - np.sqrt(2.0 * strength) * np.cosh(t / 4.0), 0.1, 4.0, xtol=1e-14)


SLOPE = theta(1.0) * np.tanh(theta(1.0) / 4.0)


def counted(function):
    """The function, and a list that grows with each call of it."""
    calls = []

    def counting(*args):
        calls.append(1)
        return function(*args)
    return counting, calls


def main() -> None:
    x = np.linspace(0.0, 1.0, 7)
    guess = np.vstack((x * (1.0 - x), 1.0 - 2.0 * x))
    with_jacobian, calls = counted(rate)
    plain, plain_calls = counted(rate)
    found = solve_bvp(with_jacobian, ends, x, guess, p=[0.5], tol=1e-9,
                      fun_jac=wg.bvp_jacobian(rate), bc_jac=wg.jacobian(ends, (0, 1, 2)))
    without = solve_bvp(plain, ends, x, guess, p=[0.5], tol=1e-9)
    print(f"λ from the slope at the end: {found.p[0]:.9f}")
    print(f"evaluations: {len(calls)} with Jacobians, {len(plain_calls)} without")
    assert found.success
    assert without.success
    np.testing.assert_allclose(found.p[0], 1.0, rtol=1e-8)
    middle = 2.0 * np.log(np.cosh(theta(1.0) / 4.0))
    np.testing.assert_allclose(found.sol(0.5)[0], middle, rtol=1e-8)
    assert len(calls) < len(plain_calls)

    solution = wg.implicit_root(residual)
    u = solution(np.zeros(99), 1.0)
    np.testing.assert_allclose(u[49], middle, rtol=1e-8)
    slope = wg.grad(lambda strength: solution(np.zeros(99), strength)[49])
    # dθ/dλ from θ = √(2λ) cosh(θ/4), and du(½)/dθ = tanh(θ/4)/2
    t = theta(1.0)
    closed = np.tanh(t / 4.0) / 2.0 * (t / 2.0) / (1.0 - t / 4.0 * np.tanh(t / 4.0))
    print(f"u(1/2) = {u[49]:.6f}, du(1/2)/dλ = {slope(1.0):.6f}, closed form {closed:.6f}")
    np.testing.assert_allclose(slope(1.0), closed, rtol=1e-7)


if __name__ == "__main__":
    main()
