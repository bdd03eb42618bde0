"""A damped pendulum is fitted to measurements through 2,000 steps of its simulation.

The loop stays a loop in the generated code, and keeps twenty states for the way back.
"""

import numpy as np
import wengert as wg

STEPS, H = 2000, 0.005


def simulate(length, damping):
    """The angle at every 100th step, by the semi-implicit Euler method."""
    def step(i, state):
        angle, speed = state
        speed = speed - H * (9.81 / length * np.sin(angle) + damping * speed)
        return angle + H * speed, speed

    def sample(state, _):
        state = wg.fori_loop(0, STEPS // 20, step, state)
        return state, state[0]
    return wg.scan(sample, (1.0, 0.0), length=20, snapshots=4)[1]


MEASURED = simulate(1.3, 0.25)


def misfit(parameters):
    return np.sum((simulate(parameters[0], parameters[1]) - MEASURED) ** 2)


def main() -> None:
    residuals = wg.jacobian(lambda p: simulate(p[0], p[1]) - MEASURED)
    gradient = wg.grad(misfit)
    p = np.array([1.2, 0.1])
    differences = [(misfit(p + h) - misfit(p - h)) / 2e-6 for h in 1e-6 * np.eye(2)]
    np.testing.assert_allclose(gradient(p), differences, rtol=1e-6)
    print(f"gradient of the misfit at {p}: {np.round(gradient(p), 6)}")
    for n in range(1, 6):                                   # Gauss and Newton
        J = residuals(p)
        p = p - np.linalg.lstsq(J, simulate(p[0], p[1]) - MEASURED)[0]
        print(f"iteration {n}: length {p[0]:.9f}, damping {p[1]:.9f}, misfit {misfit(p):.1e}")
    np.testing.assert_allclose(p, [1.3, 0.25], rtol=1e-9)
    lines = gradient.source.splitlines()
    assert len(lines) < 200
    print(f"the gradient's module has {len(lines)} lines for {STEPS} steps")


if __name__ == "__main__":
    main()
