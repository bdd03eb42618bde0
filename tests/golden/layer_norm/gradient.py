import numpy as np


def layer_norm_vjp(x, gamma, beta, ct):
    # deviation = a - centre
    deviation = x - np.sum(x, axis=1, keepdims=True) / 5
    # square = np.real(deviation * np.conj(deviation)) if a.dtype.kind == "c" else deviation ** 2
    square = deviation ** 2
    # return gamma * (x - mu) / np.sqrt(var + 1e-5) + beta
    t = np.sqrt(np.sum(square, axis=1, keepdims=True) / 5 + 1e-05)
    t_1 = gamma * deviation / t
    t_2 = ct / t
    # square = np.real(deviation * np.conj(deviation)) if a.dtype.kind == "c" else deviation ** 2
    deviation_bar = t_2 * gamma + 0.4 * (0.5 * np.sum(ct * (-t_1 / t), axis=1)[:, None] / t) * deviation
    return (t_1 + beta,
                deviation_bar + 0.2 * np.sum(-deviation_bar, axis=1)[:, None],
                np.sum(t_2 * deviation, axis=0),
                np.sum(ct, axis=0))
