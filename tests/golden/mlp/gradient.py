import numpy as np


def mlp_vjp(params_W1, params_W2, params_b1, params_b2, x, y):
    # h = np.tanh(x @ params["W1"] + params["b1"])
    h = np.tanh(x @ params_W1 + params_b1)
    # out = h @ params["W2"] + params["b2"]
    out = h @ params_W2 + params_b2
    # return np.mean(np.sum((out - y) ** 2, axis=1))
    t = out - y
    out_bar = 0.4 * t
    # h = np.tanh(x @ params["W1"] + params["b1"])
    t_1 = out_bar @ params_W2.T * (1.0 - h * h)
    return (np.sum(np.sum(t ** 2, axis=1)) / 5, x.T @ t_1, h.T @ out_bar, np.sum(t_1, axis=0),
            np.sum(out_bar, axis=0), t_1 @ params_W1.T, -out_bar)
