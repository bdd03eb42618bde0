"""Logistic regression: the compiler finds the gradient that is found by hand, xᵀ(p − y)/n.

The loss is written as in a textbook, with a sigmoid and two logarithms. Multiplying all local
derivatives would divide by p·(1 − p), which is zero for confident predictions; the simplified
gradient does not, and loss and gradient stay finite however far the data are from the boundary.
"""

import numpy as np
import wengert as wg

X = np.array([[1.0, 2.0], [2.0, -1.0], [-1.0, -3.0], [0.5, 0.5]])
Y = np.array([1.0, 0.0, 0.0, 1.0])


def logistic_loss(w, b, x, y):
    p = 1 / (1 + np.exp(-(x @ w + b)))
    return np.mean(-(y * np.log(p) + (1 - y) * np.log(1 - p)))


step = wg.value_and_grad(logistic_loss, argnums=(0, 1))


def main() -> None:
    w, b = np.array([0.3, -0.2]), 0.1
    loss, (dw, db) = step(w, b, X, Y)
    np.testing.assert_allclose([loss, *dw, db], [0.867068, 0.022982, -0.934574, 0.086767],
                               atol=5e-7)
    print(f"loss {loss:.6f}, dw = [{dw[0]:.6f}, {dw[1]:.6f}], db = {db:.6f}")

    p = 1 / (1 + np.exp(-(X @ w + b)))
    np.testing.assert_allclose(dw, X.T @ (p - Y) / 4, rtol=1e-13)

    gradient = wg.grad(logistic_loss)
    gradient(w, b, X, Y)
    print(gradient.source)
    assert "x.T @ (0.25 * (special.expit(x @ w + b) - y))" in gradient.source

    for far in (1000.0, -1000.0):
        loss, (dw, db) = step(np.zeros(2), far, X, Y)
        assert loss == 500.0, loss
        np.testing.assert_allclose(db, 0.5 * np.sign(far))
        print(f"x·w + b = {far:+.0f}: loss {loss:.1f}, dw = {dw}, db = {db:+.1f}")


if __name__ == "__main__":
    main()
