import numpy as np


def rosenbrock_vjp(x, ct):
    getitem_x = x[:4]
    # return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    t = x[1:] - getitem_x ** 2
    t_1 = 1 - getitem_x
    t_2 = 200.0 * np.full(4, ct) * t
    x_bar = np.zeros(5)
    x_bar[:4] += -(2 * ct * t_1) - 2 * t_2 * getitem_x
    x_bar[1:] += t_2
    return np.sum(100.0 * t ** 2 + t_1 ** 2), x_bar
