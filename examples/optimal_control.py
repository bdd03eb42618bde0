"""Optimal control by direct collocation: Newton's method with the Lagrangian's sparse Hessian.

A pendulum is swung to a point with the least effort. The stationary points of the Lagrangian are
found in a few steps; the conditions of Pontryagin's principle, solved as a boundary value problem,
are the reference.
"""

import numpy as np
import wengert as wg
from scipy.integrate import solve_bvp
from scipy.sparse.linalg import spsolve

N, END, TARGET = 200, 2.0, 1.5
H = END / N


def dynamics(angle, speed, torque):
    return speed, torque - np.sin(angle)


def lagrangian(z):
    """Effort, plus multipliers times the defects of the trapezoidal rule and of the ends."""
    angle, speed, torque = z[:3 * (N + 1)].reshape(3, N + 1)
    multipliers = z[3 * (N + 1):]
    defects = [x[1:] - x[:-1] - H / 2.0 * (slope[1:] + slope[:-1]) for x, slope in zip(
        (angle, speed), dynamics(angle, speed, torque), strict=True)]
    ends = np.array([angle[0], speed[0], angle[-1] - TARGET, speed[-1]])
    effort = torque ** 2
    return (H / 2.0 * np.sum(effort[1:] + effort[:-1]) / 2.0
            + np.sum(multipliers * np.concatenate([*defects, ends])))


def principle(t, s):
    """Pontryagin: the torque is minus the second multiplier."""
    angle, speed, p, q = s
    return np.stack([speed, -q - np.sin(angle), q * np.cos(angle), -p])


def main() -> None:
    gradient, hessian = wg.grad(lagrangian), wg.hessian(lagrangian, sparse="csc")
    z = np.zeros(3 * (N + 1) + 2 * N + 4)
    hessian.specialize(z)
    hessian.require_solvable()
    print(f"{len(z)} unknowns, {hessian.pattern.nnz} entries, {hessian.colors} colours")
    assert hessian.pattern.nnz < 20 * len(z)
    steps = 0
    while np.max(np.abs(gradient(z))) > 1e-10:
        z = z - spsolve(hessian(z), gradient(z))
        steps += 1
        assert steps < 20, "Newton's method does not converge"
    angle, _, torque = z[:3 * (N + 1)].reshape(3, N + 1)

    t = np.linspace(0.0, END, N + 1)
    guess = np.zeros((4, N + 1))
    guess[0] = TARGET * t / END
    reference = solve_bvp(principle, lambda a, b: np.array([a[0], a[1], b[0] - TARGET, b[1]]), t,
                          guess, tol=1e-8)
    assert reference.success
    gap = np.max(np.abs(angle - reference.sol(t)[0]))
    print(f"Newton: {steps} steps; largest distance from Pontryagin's solution below 1e-3")
    assert gap < 1e-3
    np.testing.assert_allclose(torque[5:-5], -reference.sol(t)[3][5:-5], atol=5e-3)


if __name__ == "__main__":
    main()
