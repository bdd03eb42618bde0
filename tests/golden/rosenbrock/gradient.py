import numpy as np


def rosenbrock_vjp(x, ct):
    # return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    x_part = x[:4]
    t = x[1:] - x_part ** 2
    t_1 = 1 - x_part
    t_2 = 200.0 * ct * t
    x_bar = np.zeros(5)
    x_bar[:4] = -(2 * ct * t_1) - 2 * t_2 * x_part
    x_bar[1:] += t_2
    return np.sum(100.0 * t ** 2 + t_1 ** 2), x_bar
