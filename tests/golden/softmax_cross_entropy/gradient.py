import numpy as np
from scipy import special

table = np.arange(5)


def softmax_cross_entropy_vjp(logits, labels, ct):
    # z = logits - np.max(logits, axis=1, keepdims=True)
    max_logits = np.max(logits, axis=1, keepdims=True)
    z = logits - max_logits
    # log_p = z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
    logsumexp_z = special.logsumexp(z, axis=1, keepdims=True)
    log_p = z - logsumexp_z
    # return -np.mean(log_p[np.arange(5), labels])
    t = np.full(5, -(0.2 * ct))
    log_p_bar = np.zeros((5, 4))
    np.add.at(log_p_bar, (table, labels), t)
    # log_p = z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
    t_1 = np.sum(log_p_bar,
           axis=1)[:, None] * np.exp(z - np.where(np.isfinite(logsumexp_z), logsumexp_z, 0.0))
    z_bar = -t_1
    np.add.at(z_bar, (table, labels), t)
    # z = logits - np.max(logits, axis=1, keepdims=True)
    t_2 = logits == max_logits
    logits_bar = (z_bar
                  - np.where(t_2,
                  np.sum(z_bar, axis=1)[:, None] / np.sum(t_2, axis=1, keepdims=True), 0.0))
    return -(np.sum(log_p[table, labels]) / 5), logits_bar
