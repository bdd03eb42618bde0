"""The corpus: small programs as scientists write them, each run in every mode by the tests.

A program is a plain NumPy function with example arguments. Arguments whose leaves are all of
floating point are differentiated. ``order=1`` marks programs that are not smooth enough, or too
large, for second derivatives by differences.
"""

from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special


@dataclass(frozen=True)
class Program:
    """A function and its example arguments."""

    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    argnums: tuple[int, ...]
    order: int = 2


PROGRAMS: list[Program] = []


def program(*args: Any, order: int = 2) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the decorated function to the corpus."""
    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        argnums = tuple(i for i, a in enumerate(args) if _is_float(a))
        PROGRAMS.append(Program(function.__name__, function, args, argnums, order))
        return function
    return add


def _is_float(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_is_float, value.values()))
    if isinstance(value, (tuple, list)):
        return all(map(_is_float, value))
    return np.asarray(value).dtype.kind == "f"


_rng = np.random.default_rng(20240501)


def normal(*shape: int) -> np.ndarray:
    """Standard normal numbers."""
    return _rng.standard_normal(shape)


def positive(*shape: int) -> np.ndarray:
    """Numbers between 0.5 and 1.5."""
    return _rng.uniform(0.5, 1.5, shape)


Parameters = namedtuple("Parameters", "scale offset")

# -- statistics and learning ------------------------------------------------------------------


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


# -- classical test functions, mechanics, kinetics ----------------------------------------------


@program(normal(5))
def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


@program(normal(2))
def rosenbrock_scalar(x):
    a, b = x
    return (1 - a) ** 2 + 100 * (b - a ** 2) ** 2


@program(2.0, 5.0)
def lecture(x1, x2):
    return np.log(x1) + x1 * x2 - np.sin(x2)


@program(2.0)
def square_times_sum(x):
    return x ** 2 * (x + 1)


@program(normal(3), 10.0, 28.0, 8 / 3)
def lorenz(state, sigma, rho, beta):
    x, y, z = state
    return np.stack([sigma * (y - x), x * (rho - z) - y, x * y - beta * z])


@program(normal(4), 1.0, 0.7)
def double_pendulum(state, length, mass):
    a, b, p, q = state
    g = 9.81
    c, s = np.cos(a - b), np.sin(a - b)
    m = mass * length ** 2
    d = 1 + s ** 2
    da = (p - c * q) / (m * d)
    db = (2 * q - c * p) / (m * d)
    h = p * q * s / (m * d) - (p ** 2 + 2 * q ** 2 - 2 * p * q * c) * np.sin(2 * (a - b)) / (
        2 * m * d ** 2)
    return np.stack([da, db, -2 * mass * g * length * np.sin(a) - h,
                     -mass * g * length * np.sin(b) + h])


@program(positive(3), 0.04, 3.0, 1.0)
def robertson(y, k1, k2, k3):
    r1, r2, r3 = k1 * y[0], k2 * y[1] ** 2, k3 * y[1] * y[2]
    return np.stack([-r1 + r3, r1 - r2 - r3, r2])


@program(positive(8))
def hires(y):
    return np.stack([
        -1.71 * y[0] + 0.43 * y[1] + 8.32 * y[2] + 0.0007,
        1.71 * y[0] - 8.75 * y[1],
        -10.03 * y[2] + 0.43 * y[3] + 0.035 * y[4],
        8.32 * y[1] + 1.71 * y[2] - 1.12 * y[3],
        -1.745 * y[4] + 0.43 * y[5] + 0.43 * y[6],
        -280.0 * y[5] * y[7] + 0.69 * y[3] + 1.71 * y[4] - 0.43 * y[5] + 0.69 * y[6],
        280.0 * y[5] * y[7] - 1.81 * y[6],
        -280.0 * y[5] * y[7] + 1.81 * y[6]])


@program(normal(2), 1.5)
def van_der_pol(y, mu):
    return np.stack([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])


@program(positive(2), 0.9, 0.05, 4)
def lotka_volterra_rk4(y, a, h, n):
    def f(y):
        prey, predator = y
        return np.stack([a * prey - prey * predator, prey * predator - predator])
    for _ in range(n):
        k1 = f(y)
        k2 = f(y + 0.5 * h * k1)
        k3 = f(y + 0.5 * h * k2)
        k4 = f(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


@program(normal(4, 3))
def coulomb_energy(positions):
    i, j = np.triu_indices(4, 1)
    d = positions[i] - positions[j]
    return np.sum(1 / np.sqrt(np.sum(d ** 2, axis=-1)))


@program(1.2, 0.3, 0.8)
def kepler_newton(mean_anomaly, eccentricity, start):
    e = start
    for _ in range(5):
        e = e - (e - eccentricity * np.sin(e) - mean_anomaly) / (1 - eccentricity * np.cos(e))
    return e


@program(3.0)
def newton_sqrt(a):
    x = a
    for _ in range(6):
        x = 0.5 * (x + a / x)
    return x


@program(np.array([0.1, -0.4, 0.3, 1.0]), 0.7)
def horner(coefficients, x):
    total = 0.0
    for c in coefficients:
        total = total * x + c
    return total


@program(positive(6))
def product_chain(x):
    out = x[0]
    for i in range(1, 6):
        out = out * x[i]
    return out


@program(0.4, 3)
def repeated_sine(x, n):
    for _ in range(n):
        x = np.sin(x) + x
    return x


@program(300.0, 1.0e5, Parameters(1.2, 0.5))
def arrhenius(temperature, energy, parameters):
    return parameters.scale * np.exp(-energy / (8.314 * temperature) / 40) + parameters.offset


@program(1.4, 0.2, 2.0, 0.05, 1.0)
def black_scholes(spot, volatility, strike, rate, time):
    root = volatility * np.sqrt(time)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility ** 2) * time) / root
    d2 = d1 - root
    return spot * special.ndtr(d1) - strike * np.exp(-rate * time) * special.ndtr(d2)


# -- fields and stencils ------------------------------------------------------------------------


@program(normal(8), 0.1)
def heat_step(u, r):
    new = u.copy()
    new[1:-1] = u[1:-1] + r * (u[2:] - 2 * u[1:-1] + u[:-2])
    return new


@program(normal(6), 0.2, 3)
def heat_steps_in_place(u, r, n):
    u = u.copy()
    for _ in range(n):
        u[1:-1] += r * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


@program(normal(5, 4))
def periodic_laplacian(u):
    return (np.roll(u, 1, axis=0) + np.roll(u, -1, axis=0) + np.roll(u, 1, axis=1)
            + np.roll(u, -1, axis=1) - 4 * u)


@program(normal(8), 0.1, 0.2)
def burgers(u, dt, nu):
    forward, backward = np.roll(u, -1), np.roll(u, 1)
    return u - dt * u * (forward - backward) / 2 + nu * dt * (forward - 2 * u + backward)


@program(positive(4, 4), positive(4, 4), 0.04, 0.06)
def gray_scott(u, v, f, k):
    def laplacian(a):
        p = np.pad(a, 1, mode="wrap")
        return p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * a
    reaction = u * v * v
    return (u + 0.16 * laplacian(u) - reaction + f * (1 - u),
            v + 0.08 * laplacian(v) + reaction - (f + k) * v)


@program(normal(5, 4))
def total_variation(image):
    dx = np.diff(image, axis=0)
    dy = np.diff(image, axis=1)
    return np.sum(np.sqrt(dx[:, :-1] ** 2 + dy[:-1, :] ** 2 + 1e-3))


@program(normal(10), 3)
def moving_average(x, n):
    c = np.cumsum(x)
    return (c[n:] - c[:-n]) / n


@program(normal(7))
def autocorrelation(x):
    x = x - np.mean(x)
    return np.stack([np.sum(x[k:] * x[:len(x) - k]) for k in range(3)]) / np.sum(x ** 2)


@program(normal(6), normal(3))
def convolution(x, kernel):
    out = np.zeros_like(x[2:])
    for i in range(3):
        out = out + kernel[i] * x[i:i + 4]
    return out


@program(positive(5), positive(5))
def trapezoid(y, dx):
    return np.sum(0.5 * (y[1:] + y[:-1]) * dx[1:])


@program(0.9, 0.5, normal(5))
def kalman_scalar(a, noise, z):
    x, p = 0.0, 1.0
    total = 0.0
    for i in range(5):
        x, p = a * x, a * a * p + noise
        s = p + 1.0
        total = total + (z[i] - x) ** 2 / s + np.log(s)
        gain = p / s
        x, p = x + gain * (z[i] - x), (1 - gain) * p
    return total


# -- distances, products, contractions ------------------------------------------------------------


@program(normal(4, 2), normal(3, 2))
def pairwise_distances(a, b):
    return np.sqrt(((a[:, None] - b[None]) ** 2).sum(-1))


@program(normal(4, 2), 0.8)
def rbf_kernel(x, length):
    n = np.sum(x ** 2, axis=1)
    d2 = n[:, None] + n[None, :] - 2 * x @ x.T
    return np.exp(-0.5 * d2 / length ** 2)


@program(normal(3, 3), normal(3))
def quadratic_form(A, x):
    return x @ A @ x


@program(normal(2, 3), normal(3, 4), normal(4))
def matrix_chain(a, b, c):
    return a @ b @ c


@program(normal(2, 3, 4), normal(2, 4, 2))
def batched_matmul(a, b):
    return np.matmul(a, b)


@program(normal(2, 1, 2, 3), normal(3, 3, 2))
def broadcast_matmul(a, b):
    return a @ b


@program(normal(3), normal(2, 3, 2))
def vector_times_stack(x, a):
    return x @ a


@program(normal(2, 3), normal(3, 2), normal(2))
def einsum_bilinear(a, b, c):
    return np.einsum("ij,jk,k->i", a, b, c)


@program(normal(3, 3), normal(3, 3))
def einsum_traces(a, b):
    return np.einsum("ii", a) * np.einsum("ij,ji->", a, b) + np.einsum("ii->i", b).sum()


@program(normal(2, 3, 4), normal(2, 4))
def einsum_batched(a, b):
    return np.einsum("bij,bj->bi", a, b)


@program(normal(2, 3), normal(3, 2, 2))
def tensor_products(a, b):
    return np.tensordot(a, b, axes=([1], [0])) + np.outer(a[0, :2], a[1, :2])


@program(normal(2, 2), normal(2, 3))
def kronecker(a, b):
    return np.kron(a, b)


@program(normal(2, 3), normal(2, 3))
def cross_products(a, b):
    return np.cross(a, b)


@program(normal(5))
def norms(x):
    return np.linalg.norm(x) + np.linalg.norm(x, 1) + np.linalg.norm(x, 3)


@program(normal(4, 3))
def normalized_rows(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


@program(normal(3, 1, 4), normal(2, 1), normal(4))
def broadcasting_3d(a, b, c):
    return np.sum(a * b + c, axis=(0, 2)) * b[:, 0]


@program(normal(3, 4))
def logsumexp_by_hand(x):
    top = x.max(axis=1, keepdims=True)
    return np.log(np.sum(np.exp(x - top), axis=1)) + top[:, 0]


@program(normal(3, 4))
def logsumexp_columns(x):
    return special.logsumexp(x, axis=0)


# -- selection, indexing, kinks -------------------------------------------------------------------


@program(normal(4), np.array([0, 2, 2, 1, 3, 0]))
def gather_repeats(x, index):
    return x[index] ** 2


@program(normal(4, 3), np.array([3, 0, 3]), np.array([1, 1, 2]))
def fancy_pairs(x, rows, columns):
    return np.sin(x[rows, columns]) + x[rows][:, 0]


@program(normal(6), np.array([True, False, True, True, False, True]))
def boolean_selection(x, keep):
    return x[keep] ** 2


@program(normal(6))
def boolean_mask_of_values(x):
    return np.sum(x[x > 0] ** 2)


@program(normal(6), 0.1)
def leaky_relu(x, slope):
    return np.where(x > 0, x, slope * x)


@program(np.array([-1.0, 0.5, 2.0, 4.0]))
def clipped(x):
    return np.clip(x, 0.0, 3.0) ** 2


@program(normal(5), normal(5))
def max_and_min(x, y):
    return np.maximum(x, y) * np.minimum(x, 0.5)


@program(np.array([-1.5, -0.5, 0.3, 1.7]))
def piecewise(x):
    return np.select([x < -1, x < 1], [x ** 2, 2 + x], np.exp(-x))


@program(normal(3, 4), order=1)
def extrema(x):
    return np.max(x, axis=1) - np.min(x, axis=1)


@program(normal(6))
def sorted_weights(x):
    return np.sort(x) * np.arange(6.0)


@program(np.array([2.0, 0.0, -1.0, 3.0]))
def product_with_zero(x):
    return np.prod(x)


@program(np.array([[2.0, 0.0, -1.0], [0.5, 3.0, 0.0]]))
def cumulative_products(x):
    return np.cumprod(x, axis=1)


@program(np.array([0.5, np.nan, 2.0]), np.array([1.0, 2.0, 3.0]), order=1)
def masked_loss(y, x):
    valid = ~np.isnan(y)
    return np.sum((x[valid] - y[valid]) ** 2)


@program(np.array([-1.0, 2.0, 0.5]))
def guarded_log(x):
    return np.where(x > 0, np.log(np.where(x > 0, x, 1.0)), 0.0)


@program(positive(5))
def fill_by_slices(x):
    y = np.zeros_like(x)
    y[1:] = x[:-1] * 2
    y[0] = x[-1] ** 2
    return y


@program(normal(4))
def update_in_place(x):
    y = x * 2
    y += x ** 2
    y *= x
    y[::2] -= 1.0
    return y


@program(normal(5))
def recurrence_in_array(x):
    y = np.zeros_like(x)
    y[0] = x[0]
    for i in range(1, 5):
        y[i] = 0.5 * y[i - 1] + x[i]
    return y


@program(normal(4), normal(3))
def joined(a, b):
    both = np.concatenate([a, b, a[::-1]])
    return np.vstack([both[:4], both[-4:] ** 2])


@program(normal(2, 6))
def reshaped(x):
    return x.reshape(3, 4).T[1:, ::2] * np.swapaxes(x, 0, 1)[:3, :1]


# -- containers, dtypes, degenerate shapes --------------------------------------------------------


@program({"a": 2.0, "nested": (normal(3), [normal(2)])}, 0.5)
def nested_arguments(tree, x):
    first, (second,) = tree["nested"]
    return tree["a"] * np.sum(first) * x + np.sum(second ** 2)


@program(Parameters(normal(3), 0.5), normal(3))
def affine_named(parameters, x):
    return {"value": parameters.scale * x + parameters.offset, "size": np.sum(x ** 2)}


@program(normal(4).astype(np.float32), np.float32(0.5))
def single_precision(x, scale):
    return np.mean(np.tanh(2.0 * x) ** 2) * scale


@program(normal(3, 2).astype(np.float32), normal(2).astype(np.float32))
def single_precision_layer(x, w):
    return 1 / (1 + np.exp(-(x @ w) / 3))


@program(np.array(0.7))
def zero_dimensional(x):
    return np.sin(x) * x


@program(np.zeros((0, 3)), normal(3))
def empty_batch(x, w):
    return np.sum((x @ w) ** 2) + np.sum(w)


@program(0.3, 2)
def python_numbers(x, n):
    return x ** n + 2 / x - x / 4


@program(normal(3), normal(3))
def complex_inside(a, b):
    z = a + 1j * b
    return np.sum(np.abs(z * np.exp(1j * a)) ** 2)
