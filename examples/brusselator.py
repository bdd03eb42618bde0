"""A reaction with diffusion on a grid: sparse Jacobian of a right-hand side as one writes it."""

import numpy as np
import wengert as wg
from scipy.integrate import solve_ivp

N, A, B, DIFFUSION = 16, 3.4, 1.0, 0.002 * 16 ** 2


def rhs(t, y):
    """The Brusselator with periodic borders (Hairer and Wanner, *Solving ODEs II*, IV.10)."""
    u, v = y.reshape(2, N, N)

    def laplacian(w):
        return (np.roll(w, 1, 0) + np.roll(w, -1, 0) + np.roll(w, 1, 1) + np.roll(w, -1, 1)
                - 4.0 * w)
    reaction = u * u * v
    du = B + reaction - (A + 1.0) * u + DIFFUSION * laplacian(u)
    dv = A * u - reaction + DIFFUSION * laplacian(v)
    return np.concatenate([du.ravel(), dv.ravel()])


def main() -> None:
    x = np.arange(N) / N
    u = 22.0 * (x * (1.0 - x))[None, :] ** 1.5 * np.ones((N, 1))
    v = 27.0 * (x * (1.0 - x))[:, None] ** 1.5 * np.ones((1, N))
    y = np.concatenate([u.ravel(), v.ravel()])
    jac = wg.jacobian(rhs, 1, sparse=True)
    jac.specialize(0.0, y)
    print(f"{len(y)} states, {jac.pattern.nnz} entries, {jac.colors} colours")
    assert jac.pattern.nnz == 6 * len(y)

    direction = np.cos(np.arange(len(y)))
    step = 1e-6
    difference = (rhs(0.0, y + step * direction) - rhs(0.0, y - step * direction)) / (2 * step)
    np.testing.assert_allclose(jac(0.0, y) @ direction, difference, rtol=1e-6, atol=1e-6)

    options = {"method": "BDF", "rtol": 1e-6, "atol": 1e-8}
    exact = solve_ivp(rhs, (0.0, 2.0), y, jac=jac, **options)
    pattern = solve_ivp(rhs, (0.0, 2.0), y, jac_sparsity=jac.pattern, **options)
    tight = solve_ivp(rhs, (0.0, 2.0), y, method="DOP853", rtol=1e-10, atol=1e-12)
    for name, found in (("jac", exact), ("jac_sparsity", pattern)):
        gap = np.max(np.abs(found.y[:, -1] - tight.y[:, -1]))
        print(f"{name}: {found.nfev} evaluations, {found.njev} Jacobians")
        assert found.success
        assert gap < 1e-4
    print("largest difference from a solution at tight tolerance below 1e-4")


if __name__ == "__main__":
    main()
