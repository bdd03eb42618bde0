"""Newton's method: the minimum of Rosenbrock's function in seven steps, with exact derivatives."""

import numpy as np
import wengert as wg


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


gradient = wg.grad(rosenbrock)
hessian = wg.hessian(rosenbrock)


def newton(start, tolerance=1e-10, limit=50):
    """The points Newton's method visits, until the gradient vanishes."""
    path = [start]
    while np.linalg.norm(gradient(path[-1])) > tolerance:
        assert len(path) <= limit, "Newton's method does not converge"
        path.append(path[-1] - np.linalg.solve(hessian(path[-1]), gradient(path[-1])))
    return path


def main() -> None:
    path = newton(np.array([-1.2, 1.0]))
    for n, x in enumerate(path):
        print(f"step {n}: x = [{x[0]:+.6f}, {x[1]:+.6f}], f = {rosenbrock(x):.3e}")
    np.testing.assert_allclose(path[-1], [1.0, 1.0], atol=1e-12)
    assert len(path) <= 8

    many = newton(np.full(6, 0.8))
    np.testing.assert_allclose(many[-1], np.ones(6), atol=1e-10)
    print(f"in six dimensions: {len(many) - 1} steps")

    at_minimum = hessian(np.ones(2))
    np.testing.assert_allclose(at_minimum, [[802.0, -400.0], [-400.0, 200.0]])
    vector = np.array([1.0, 2.0])
    np.testing.assert_allclose(wg.hvp(rosenbrock)(np.ones(2), vector), at_minimum @ vector)
    print(f"Hessian at the minimum: {at_minimum.tolist()}")


if __name__ == "__main__":
    main()
