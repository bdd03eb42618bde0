import numpy as np


def pairwise_distances_vjp(a, b, ct):
    # return np.sqrt(((a[:, None] - b[None]) ** 2).sum(-1))
    t = a[:, None] - b
    t_1 = np.sqrt(np.sum(t ** 2, axis=2))
    t_2 = 2 * (0.5 * ct / np.where(t_1 == 0, np.inf, t_1))[:, :, None] * t
    return t_1, np.sum(t_2, axis=1), -np.sum(t_2, axis=0)
