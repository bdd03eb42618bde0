import numpy as np


def rosenbrock_vjp(x):
    # return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    x_part = x[:-1]
    t = x[1:] - x_part ** 2
    t_1 = 1 - x_part
    x_bar = np.zeros(5)
    x_bar[:-1] = -2 * t_1 - 400.0 * t * x_part
    x_bar[1:] += 200.0 * t
    return np.sum(100.0 * t ** 2 + t_1 ** 2), x_bar
