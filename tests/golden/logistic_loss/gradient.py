import numpy as np
from scipy import special


def logistic_loss_vjp(w, b, x, y):
    # p = 1 / (1 + np.exp(-(x @ w + b)))
    t = x @ w + b
    # return np.mean(-(y * np.log(p) + (1 - y) * np.log(1 - p)))
    log_expit_t = special.log_expit(t)
    t_1 = special.log_expit(-t)
    # p = 1 / (1 + np.exp(-(x @ w + b)))
    t_2 = (special.expit(t) - y) / 6
    return (-(np.sum(y * log_expit_t + (1 - y) * t_1) / 6), x.T @ t_2, np.sum(t_2),
            t_2[:, None] * w, t_1 / 6 - log_expit_t / 6)
