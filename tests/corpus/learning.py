"""Statistics and learning."""

import numpy as np

from .base import normal, positive, program

# -- statistics and learning ---------------------------------------------------------------------


@program(0.5, 0.1, normal(8), normal(8))
def linear_regression(w, b, x, y):
    return np.mean((w * x + b - y) ** 2)


@program(normal(3), normal(7, 3), normal(7))
def least_squares(w, X, y):
    r = X @ w - y
    return 0.5 * r @ r


@program(normal(3), normal(7, 3), normal(7), 0.1)
def ridge(w, X, y, alpha):
    return np.sum((X @ w - y) ** 2) + alpha * np.sum(w ** 2)


@program(normal(2), 0.1, normal(6, 2), np.array([1.0, 0.0, 0.0, 1.0, 1.0, 0.0]))
def logistic_loss(w, b, x, y):
    p = 1 / (1 + np.exp(-(x @ w + b)))
    return np.mean(-(y * np.log(p) + (1 - y) * np.log(1 - p)))


@program(normal(2), normal(6, 2), np.array([1, -1, -1, 1, 1, -1]))
def hinge_like_loss(w, x, sign):
    return np.sum(np.log(1 + np.exp(-sign * (x @ w))))


@program(normal(5, 4), np.array([0, 3, 1, 1, 2]))
def softmax_cross_entropy(logits, labels):
    z = logits - np.max(logits, axis=1, keepdims=True)
    log_p = z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
    return -np.mean(log_p[np.arange(5), labels])


@program(normal(4, 3), normal(3))
def softmax_rows(x, b):
    e = np.exp(x + b)
    return e / e.sum(axis=-1, keepdims=True)


@program({"W1": normal(3, 4), "b1": normal(4), "W2": normal(4, 2), "b2": normal(2)},
         normal(5, 3), normal(5, 2))
def mlp(params, x, y):
    h = np.tanh(x @ params["W1"] + params["b1"])
    out = h @ params["W2"] + params["b2"]
    return np.mean(np.sum((out - y) ** 2, axis=1))


@program(normal(3, 5), normal(5), normal(5))
def layer_norm(x, gamma, beta):
    mu = x.mean(axis=-1, keepdims=True)
    var = x.var(axis=-1, keepdims=True)
    return gamma * (x - mu) / np.sqrt(var + 1e-5) + beta


@program(normal(3, 4), normal(3, 4), normal(3, 2))
def attention(q, k, v):
    s = q @ k.T / np.sqrt(4.0)
    s = s - s.max(axis=1, keepdims=True)
    a = np.exp(s)
    a = a / a.sum(axis=1, keepdims=True)
    return a @ v


@program(normal(4), normal(4, 2), normal(6, 2))
def gaussian_mixture(log_weights, means, x):
    d2 = np.sum((x[:, None, :] - means) ** 2, axis=2)
    log_w = log_weights - np.log(np.sum(np.exp(log_weights)))
    return np.sum(np.log(np.sum(np.exp(log_w - 0.5 * d2), axis=1)))


@program(normal(3, 2), normal(8, 2))
def k_means(centres, points):
    d2 = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
    return d2.min(axis=1).sum()


@program(normal(5, 3), np.array([0, 2, 2, 4, 0, 2]), normal(3))
def embedding(table, words, w):
    return np.tanh(table[words] @ w)


@program(0.3, 0.7, positive(6))
def gaussian_log_likelihood(mu, log_sigma, x):
    sigma = np.exp(log_sigma)
    return -np.sum(0.5 * ((x - mu) / sigma) ** 2 + np.log(sigma) + 0.5 * np.log(2 * np.pi))


@program(normal(3), normal(6, 3), np.array([0, 2, 1, 4, 0, 3]))
def poisson_regression(w, X, counts):
    eta = X @ w
    return np.sum(np.exp(eta) - counts * eta)


@program(normal(6), 1.3)
def huber(r, delta):
    size = np.abs(r)
    return np.sum(np.where(size < delta, 0.5 * r ** 2, delta * (size - 0.5 * delta)))


@program(normal(6, 3))
def covariance(x):
    centred = x - x.mean(axis=0)
    return centred.T @ centred / (len(x) - 1)


@program(normal(7), normal(7))
def correlation(x, y):
    x = x - x.mean()
    y = y - y.mean()
    return np.sum(x * y) / np.sqrt(np.sum(x * x) * np.sum(y * y))


@program(normal(4), normal(4))
def elbo_kl(mean, log_var):
    return -0.5 * np.sum(1 + log_var - mean ** 2 - np.exp(log_var))
