import numpy as np


def single_precision_vjp(x, scale, ct):
    # return np.mean(np.tanh(2.0 * x) ** 2) * scale
    t = np.tanh(2.0 * x)
    t_1 = np.sum(t ** 2)
    return t_1 / 4 * scale, 2.0 * (0.5 * (ct * scale) * t * (1.0 - t * t)), ct * t_1 / 4
