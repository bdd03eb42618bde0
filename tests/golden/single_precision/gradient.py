import numpy as np


def single_precision_vjp(x, scale):
    # return np.mean(np.tanh(2.0 * x) ** 2) * scale
    t = np.tanh(2.0 * x)
    t_1 = np.sum(t ** 2) / 4
    return t_1 * scale, 2.0 * (0.5 * scale * t * (1.0 - t * t)), t_1
