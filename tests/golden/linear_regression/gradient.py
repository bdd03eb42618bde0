import numpy as np


def linear_regression_vjp(w, b, x, y):
    # return np.mean((w * x + b - y) ** 2)
    t = w * x + b - y
    t_1 = 0.25 * t
    return np.sum(t ** 2) / 8, np.sum(t_1 * x), np.sum(t_1), t_1 * w, -t_1
