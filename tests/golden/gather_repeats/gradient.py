import numpy as np


def gather_repeats_vjp(x, index, ct):
    # return x[index] ** 2
    t = x[index]
    x_bar = np.zeros(4)
    np.add.at(x_bar, index, 2 * ct * t)
    return t ** 2, x_bar
