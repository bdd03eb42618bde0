import numpy as np


def layer_norm_vjp(x, gamma, beta, ct):
    # mu = x.mean(axis=-1, keepdims=True)
    mu = np.sum(x, axis=1, keepdims=True) / 5
    # var = x.var(axis=-1, keepdims=True)
    t = x - mu
    var = np.sum(t ** 2, axis=1, keepdims=True) / 5
    # return gamma * (x - mu) / np.sqrt(var + 1e-5) + beta
    t_1 = np.sqrt(var + 1e-05)
    t_2 = gamma * t / t_1
    t_3 = ct / t_1
    # var = x.var(axis=-1, keepdims=True)
    x_bar = t_3 * gamma - 0.2 * np.sum(ct * (t_2 / t_1), axis=1)[:, None] / t_1 * t
    return (t_2 + beta, x_bar - 0.2 * np.sum(x_bar, axis=1)[:, None], np.sum(t_3 * t, axis=0),
            np.sum(ct, axis=0))
