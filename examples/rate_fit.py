"""Parameter fitting through a stiff differential equation: Robertson's three rate constants.

The residuals' Jacobian comes from forward sensitivities; the gradient of the sum of squares from
the adjoint equation. Unknown are the logarithms of the constants, which span nine decades.
"""

import numpy as np
import wengert as wg
from scipy.optimize import least_squares


def robertson(t, y, k):
    slow, fast, mixed = k[0] * y[0], k[1] * y[1] ** 2, k[2] * y[1] * y[2]
    return [mixed - slow, slow - mixed - fast, fast]


TRUE = np.log([0.04, 3e7, 1e4])
TIMES = np.geomspace(1e-3, 1e3, 15)
START = np.array([1.0, 0.0, 0.0])
SPREAD = np.array([[1e-2], [1e-7], [1e-2]])          # of the measurements
OPTIONS = {"rtol": 1e-9, "atol": 1e-13}

forward = wg.ode_solution(robertson, **OPTIONS)
adjoint = wg.ode_solution(robertson, sensitivity="adjoint", **OPTIONS)


def measured():
    noise = np.random.default_rng(seed=11).standard_normal((3, len(TIMES)))
    return forward((0.0, TIMES[-1]), START, np.exp(TRUE), t_eval=TIMES) + SPREAD * noise


DATA = measured()


def residuals(logs):
    states = forward((0.0, TIMES[-1]), START, np.exp(logs), t_eval=TIMES)
    return np.ravel((states - DATA) / SPREAD)


def misfit(logs):
    states = adjoint((0.0, TIMES[-1]), START, np.exp(logs), t_eval=TIMES)
    return np.sum(((states - DATA) / SPREAD) ** 2) / 2.0


def main() -> None:
    jacobian = wg.jacobian(residuals)
    start = TRUE + np.array([0.5, -0.7, 0.4])
    fit = least_squares(residuals, start, jac=jacobian, xtol=1e-12, ftol=1e-12)
    deviations = np.sqrt(np.diag(np.linalg.inv(fit.jac.T @ fit.jac)))
    for name, found, true, deviation in zip("abc", fit.x, TRUE, deviations, strict=True):
        print(f"ln {name} = {found:8.4f} ± {deviation:.4f}   true {true:8.4f}")
    assert fit.success
    assert np.all(np.abs(fit.x - TRUE) < 3.0 * deviations)

    matrix, h = jacobian(start), 1e-4
    for i in range(3):
        step = h * np.eye(3)[i]
        column = (residuals(start + step) - residuals(start - step)) / (2.0 * h)
        np.testing.assert_allclose(matrix[:, i], column, atol=1e-3 * np.abs(column).max())
    gradient = wg.grad(misfit, mode="reverse")(start)
    np.testing.assert_allclose(gradient, matrix.T @ residuals(start), rtol=1e-5)
    print("adjoint gradient agrees with forward sensitivities:",
          " ".join(f"{g:.1f}" for g in gradient))
    np.testing.assert_allclose(wg.grad(misfit, mode="reverse")(fit.x), 0.0, atol=1e-2)


if __name__ == "__main__":
    main()
