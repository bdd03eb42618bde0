import numpy as np

table = np.arange(5)


def softmax_cross_entropy_vjp(logits, labels):
    # z = logits - np.max(logits, axis=1, keepdims=True)
    z = logits - np.max(logits, axis=1, keepdims=True)
    # log_p = z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
    exp_z = np.exp(z)
    sum_exp_z = np.sum(exp_z, axis=1, keepdims=True)
    log_p = z - np.log(sum_exp_z)
    # return -np.mean(log_p[np.arange(5), labels])
    log_p_bar = np.zeros((5, 4))
    np.add.at(log_p_bar, (table, labels), np.full(5, -0.2))
    return (-(np.sum(log_p[table, labels]) / 5),
            log_p_bar - np.sum(log_p_bar, axis=1)[:, None] / sum_exp_z * exp_z)
