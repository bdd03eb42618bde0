"""Stiff chemistry: Robertson's three species and the eight of HIRES, with exact Jacobians.

The right-hand sides are written species by species, so each entry of the Jacobian gets a formula
of its own. Reference values are those of the Test Set for IVP Solvers (Mazzia and Magherini, 2008).
"""

import numpy as np
import wengert as wg
from scipy.integrate import solve_ivp


def robertson(t, y):
    slow, fast, back = 0.04 * y[0], 3e7 * y[1] ** 2, 1e4 * y[1] * y[2]
    return np.array([back - slow, slow - back - fast, fast])


def hires(t, y):
    return np.array([
        -1.71 * y[0] + 0.43 * y[1] + 8.32 * y[2] + 0.0007,
        1.71 * y[0] - 8.75 * y[1],
        -10.03 * y[2] + 0.43 * y[3] + 0.035 * y[4],
        8.32 * y[1] + 1.71 * y[2] - 1.12 * y[3],
        -1.745 * y[4] + 0.43 * y[5] + 0.43 * y[6],
        -280.0 * y[5] * y[7] + 0.69 * y[3] + 1.71 * y[4] - 0.43 * y[5] + 0.69 * y[6],
        280.0 * y[5] * y[7] - 1.81 * y[6],
        -280.0 * y[5] * y[7] + 1.81 * y[6]])


PROBLEMS = {
    robertson: ((1.0, 0.0, 0.0), 1e11,
                (0.2083340149701255e-7, 0.8333360770334713e-13, 0.9999999791665050)),
    hires: ((1.0, 0, 0, 0, 0, 0, 0, 0.0057), 321.8122,
            (0.7371312573325668e-3, 0.1442485726316185e-3, 0.5888729740967575e-4,
             0.1175651343283149e-2, 0.2386356198831331e-2, 0.6238968252742796e-2,
             0.2849998395185769e-2, 0.2850001604814231e-2)),
}


def main() -> None:
    for rhs, (start, end, reference) in PROBLEMS.items():
        y = np.array(start)
        jac = wg.jacobian(rhs, 1, sparse=True)
        jac.specialize(0.0, y)
        n = len(y)
        print(f"{rhs.__name__}: {jac.pattern.nnz} of {n * n} entries may differ from zero")
        options = {"method": "Radau", "rtol": 1e-8, "atol": 1e-8 * np.array(reference)}
        exact = solve_ivp(rhs, (0.0, end), y, jac=jac, **options)
        assert exact.success
        np.testing.assert_allclose(exact.y[:, -1], reference, rtol=1e-6)
        print(f"  relative error below 1e-6 at t = {end:g}")
    print(wg.jacobian(robertson, 1, sparse=True).specialize(0.0, np.ones(3)).source.text)


if __name__ == "__main__":
    main()
